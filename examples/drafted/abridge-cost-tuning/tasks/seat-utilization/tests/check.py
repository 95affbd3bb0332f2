import json, os
names = ['everybody', 'active', 'low_usage', 'dormant', 'never_used', 'counts', 'unused']
rewards = dict.fromkeys(names, 0)

def check(name, test):
    try:
        rewards[name] = int(bool(test()))
    except Exception:
        rewards[name] = 0

import json
import csv, datetime
END = datetime.date(2025, 6, 30)
def classify(row):
    sessions = int(row["sessions_in_june"])
    if sessions == 0:
        return "dormant" if row["last_session"] else "never_used"
    enrolled = (END - datetime.date.fromisoformat(row["enrolled"])).days + 1
    return "low_usage" if sessions < min(enrolled, 30) else "active"
def report(path):
    rows = list(csv.DictReader(open(path)))
    found = {row["provider"]: classify(row) for row in rows}
    counts = {name: sum(status == name for status in found.values()) for name in ("active", "low_usage", "dormant", "never_used")}
    unused = round(100 * (counts["dormant"] + counts["never_used"]) / len(rows), 1)
    return found, counts, unused

found, counts, unused = report("/tests/given/providers.csv")
result = {}
try:
    result = json.load(open("/app/seats.json"))
except (OSError, ValueError):
    pass
def of(name):
    return lambda: {p for p, s in result["status"].items() if s == name} == {p for p, s in found.items() if s == name}
check("everybody", lambda: set(result["status"]) == set(found))
check("active", of("active"))
check("low_usage", of("low_usage"))
check("dormant", of("dormant"))
check("never_used", of("never_used"))
check("counts", lambda: result["counts"] == counts)
check("unused", lambda: abs(result["unused_percent"] - unused) < 1e-9)

os.makedirs("/logs/verifier", exist_ok=True)
json.dump(rewards, open("/logs/verifier/reward.json", "w"))
