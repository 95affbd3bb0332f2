import json, os
names = ['counts', 'keys', 'order_and_times', 'levels', 'single_lines', 'multi_lines']
rewards = dict.fromkeys(names, 0)

def check(name, test):
    try:
        rewards[name] = int(bool(test()))
    except Exception:
        rewards[name] = 0

import json, re
FIELDS = ["timestamp", "level", "app", "endpoint", "contextPath", "event", "user", "class", "function", "rowId", "body"]
HEAD = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\|")
def parse(path):
    entries, skipped = [], 0
    for line in open(path, encoding="utf-8").read().split("\n"):
        if HEAD.match(line):
            parts = line.split("|", len(FIELDS) - 1)
            if len(parts) == len(FIELDS):
                entries.append(dict(zip(FIELDS, parts)))
                continue
        if entries:
            entries[-1]["body"] += "\n" + line
        elif line.strip():
            skipped += 1
    for entry in entries:
        entry["body"] = entry["body"].rstrip("\n")
    return entries, skipped

expected, skipped = parse("/tests/given/server.txt")
result = {}
try:
    result = json.load(open("/app/entries.json"))
except (OSError, ValueError):
    pass
entries = result.get("entries") if isinstance(result, dict) else None
check("counts", lambda: (result["processed"], result["skipped"]) == (len(expected), skipped))
check("keys", lambda: len(entries) > 0 and all(set(entry) == {"timestamp", "level", "message"} for entry in entries))
check("order_and_times", lambda: [entry["timestamp"] for entry in entries] == [entry["timestamp"] for entry in expected])
check("levels", lambda: [entry["level"] for entry in entries] == [entry["level"] for entry in expected])
check("single_lines", lambda: all(a["message"] == b["body"] for a, b in zip(entries, expected) if "\n" not in b["body"]) and len(entries) == len(expected))
check("multi_lines", lambda: all(a["message"] == b["body"] for a, b in zip(entries, expected) if "\n" in b["body"]) and len(entries) == len(expected))

os.makedirs("/logs/verifier", exist_ok=True)
json.dump(rewards, open("/logs/verifier/reward.json", "w"))
