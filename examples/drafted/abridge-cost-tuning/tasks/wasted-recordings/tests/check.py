import json, os
names = ['abandoned', 'duplicate', 'rejected', 'too_short', 'sorted_lists', 'each_once', 'seconds']
rewards = dict.fromkeys(names, 0)

def check(name, test):
    try:
        rewards[name] = int(bool(test()))
    except Exception:
        rewards[name] = 0

import json
def waste(path):
    sessions = [json.loads(line) for line in open(path)]
    seen, rows = set(), []
    for s in sessions:
        why = []
        if s["note"] is None and s["segments"] > 0:
            why.append("abandoned")
        if s["encounter"] in seen:
            why.append("duplicate")
        if s["note"] == "rejected":
            why.append("rejected")
        if s["seconds"] < 30:
            why.append("too_short")
        seen.add(s["encounter"])
        if why:
            rows.append((s["id"], why, s["seconds"]))
    return sessions, rows

sessions, rows = waste("/tests/given/sessions.jsonl")
result = {}
try:
    result = json.load(open("/app/waste.json"))
except (OSError, ValueError):
    pass
def of(reason):
    return lambda: {i for i, why in result["sessions"].items() if reason in why} == {i for i, why, _ in rows if reason in why} and result["reasons"][reason] == sum(reason in why for _, why, _ in rows)
for reason in ("abandoned", "duplicate", "rejected", "too_short"):
    check(reason, of(reason))
check("sorted_lists", lambda: result["sessions"] == {i: why for i, why, _ in rows})
check("each_once", lambda: result["wasted"] == len(rows))
check("seconds", lambda: result["wasted_seconds"] == sum(seconds for _, _, seconds in rows))

os.makedirs("/logs/verifier", exist_ok=True)
json.dump(rewards, open("/logs/verifier/reward.json", "w"))
