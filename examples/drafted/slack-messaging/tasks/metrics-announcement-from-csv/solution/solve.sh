#!/bin/bash
set -e
cat > /tmp/announce.py <<'PY'
import csv
import datetime
import json
import re
import statistics

brief = open("/app/brief.txt", encoding="utf-8").read()
users = json.load(open("/app/users.json", encoding="utf-8"))
channels = {c["name"]: c["id"] for c in json.load(open("/app/channels.json", encoding="utf-8")) if not c["archived"]}

tickets = {}
with open("/app/tickets.csv", encoding="utf-8", newline="") as handle:
    for row in csv.DictReader(handle):
        if not row["duplicate_of"] and not row["reopens"]:
            tickets[row["id"]] = row

start = datetime.date(2026, 3, 2)


def week(first):
    after = first + datetime.timedelta(days=7)
    return [t for t in tickets.values() if first <= datetime.date.fromisoformat(t["created"][:10]) < after]


def person(name, team):
    found = [u["id"] for u in users if u["active"] and u["name"].split()[0] == name and u["team"] == team]
    if len(found) != 1:
        raise SystemExit("not unique: " + name)
    return "<@" + found[0] + ">"


def esc(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


now = week(start)
before = week(start - datetime.timedelta(days=7))
change = 100 * (len(now) - len(before)) / len(before)

closed = {datetime.date(2026, 3, 10)}
deadline = start + datetime.timedelta(days=6)
left = 3
while left:
    deadline += datetime.timedelta(days=1)
    if deadline.weekday() < 5 and deadline not in closed:
        left -= 1
months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December"]
days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
date = "%s, %d %s %d" % (days[deadline.weekday()], deadline.day, months[deadline.month - 1], deadline.year)

teams = {}
for ticket in now:
    teams.setdefault(ticket["team"], []).append(ticket)
items = []
for team, own in sorted(teams.items(), key=lambda pair: -len(pair[1])):
    median = statistics.median(float(t["first_reply_min"]) for t in own if t["first_reply_min"])
    items.append("- *%s*: %d tickets, first reply after %.1f minutes" % (esc(team), len(own), median))

address = re.search(r"https?://\S+", brief).group(0)
text = "\n".join([
    "*%d tickets* last week, %.1f %% %s than in the week before" % (
        len(now), abs(change), "more" if change >= 0 else "fewer"),
    "",
    "Tickets of each team and its median time to the first reply:",
    "",
    *items,
    "",
    "All details are on the <%s|dashboard of the week>. Questions are welcome in <#%s>." % (
        esc(address), channels["support-help"]),
    "",
    "%s and %s, please enter the reasons of late replies into the dashboard by *%s, noon*." % (
        person("Jana", "Billing"), person("Tim", "Shipping"), date),
])
with open("/app/announcement.json", "w", encoding="utf-8") as handle:
    json.dump({"channel": channels["support-all"], "text": text}, handle, ensure_ascii=False, indent=1)
PY
python3 /tmp/announce.py
