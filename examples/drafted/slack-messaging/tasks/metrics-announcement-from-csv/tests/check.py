import csv
import html
import json
import os
import re
import statistics

HERE = os.path.dirname(os.path.abspath(__file__))
RESULT = "/app/announcement.json"
CHANNEL = "C06SUA2M8"
HELP = "C06SHE7K5"
PEOPLE = {"U04JWE1B2", "U06TAC3S8"}
DEADLINE = "12 March 2026"
DASHBOARD = "https://bi.example.org/d/support?week=2026-W10&team=all"
MARKERS = {"-", "•"}
TEAMS = ["Billing", "Shipping", "Returns & Claims", "Accounts"]
BOLD = re.compile(r"(?<![^\W_])(?<!\*)\*(?=[^\s*])([^*\n]*?)(?<=\S)\*(?![^\W_])(?!\*)")
LINK = re.compile(r"<(https?://[^|>\s]+)\|([^>\n]+)>")


def tickets():
    found = {}
    with open(os.path.join(HERE, "tickets.csv"), encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            if not row["duplicate_of"] and not row["reopens"]:
                found[row["id"]] = row
    return list(found.values())


def week(first, after):
    return [t for t in tickets() if first <= t["created"] < after]


NOW = week("2026-03-02", "2026-03-09")
BEFORE = week("2026-02-23", "2026-03-02")
CHANGE = "%.1f" % abs(100 * (len(NOW) - len(BEFORE)) / len(BEFORE))


def load():
    with open(RESULT, encoding="utf-8-sig") as handle:
        return json.load(handle)


def text():
    value = load()["text"]
    if not isinstance(value, str) or not value.strip():
        raise ValueError("no text")
    return value.replace("\r\n", "\n").strip()


def paragraphs():
    return [p for p in re.split(r"\n[ \t]*\n\s*", text()) if p.strip()]


def numbers(line):
    """All numbers of a line outside of mentions and addresses."""
    parts = [p.strip(".") for p in re.split(r"[^\d.]+", re.sub(r"<[^>]*>", "", line))]
    return [p for p in parts if p]


def team_items():
    """Name and numbers of the items that begin with the name of a team."""
    result = []
    for line in text().split("\n"):
        marker, _, rest = line.strip().partition(" ")
        if marker not in MARKERS:
            continue
        item = html.unescape(rest.strip().lstrip("*_"))
        for team in TEAMS:
            if item.startswith(team):
                result.append((team, numbers(item)))
    return result


def test_object():
    value = load()
    return set(value) == {"channel", "text"} and value["channel"] == CHANNEL and len(value["text"]) <= 1500


def test_first_line():
    line = text().split("\n")[0]
    found = numbers(line)
    bold = [n for b in BOLD.findall(line) for n in numbers(b)]
    return str(len(NOW)) in found and CHANGE in found and str(len(NOW)) in bold


def test_team_figures():
    expected = {}
    for team in TEAMS:
        own = [t for t in NOW if t["team"] == team]
        median = statistics.median(float(t["first_reply_min"]) for t in own if t["first_reply_min"])
        expected[team] = [str(len(own)), "%.1f" % median]
    items = team_items()
    return len(items) == len(TEAMS) and dict(items) == expected


def test_team_order():
    count = {team: sum(t["team"] == team for t in NOW) for team in TEAMS}
    return [team for team, _ in team_items()] == sorted(TEAMS, key=lambda team: -count[team])


def test_people():
    last = paragraphs()[-1]
    everybody = re.findall(r"<@([A-Z0-9]+)>", text())
    return (set(everybody) == PEOPLE and set(re.findall(r"<@([A-Z0-9]+)>", last)) == PEOPLE
            and re.search(r"<!|<@[^A-Z]", text()) is None)


def test_deadline():
    return any(DEADLINE in b for b in BOLD.findall(paragraphs()[-1]))


def test_links():
    links = [(html.unescape(u), t) for u, t in LINK.findall(text())]
    return (len(links) == 1 and links[0][0] == DASHBOARD and "://" not in links[0][1]
            and re.findall(r"<#([A-Z0-9]+)(?:\|[^>]*)?>", text()) == [HELP])


def test_markup():
    value = text()
    rest = re.sub(r"<(?:https?://[^>\n]*|[@#][A-Z0-9]+(?:\|[^>\n]*)?)>", "", value)
    rest = re.sub(r"(?m)^\s*>", "", rest)
    if "**" in value or "~~" in value or "](" in value or "<" in rest or ">" in rest:
        return False
    if re.search(r"&(?!(?:amp|lt|gt);)", rest):
        return False
    if re.search(r"(?m)^\s*#{1,6}\s", value):
        return False
    return re.search(r"(?m)^\s*(?:[-*_][ \t]*){3,}$", value) is None


def test_parts():
    return len(paragraphs()) >= 3


TESTS = [test_object, test_first_line, test_team_figures, test_team_order, test_people, test_deadline, test_links,
         test_markup, test_parts]


def main():
    reward = {}
    for test in TESTS:
        try:
            reward[test.__name__] = 1 if test() else 0
        except Exception as error:
            print(test.__name__, repr(error))
            reward[test.__name__] = 0
    os.makedirs("/logs/verifier", exist_ok=True)
    with open("/logs/verifier/reward.json", "w") as handle:
        json.dump(reward, handle, indent=1)
    print(reward)


main()
