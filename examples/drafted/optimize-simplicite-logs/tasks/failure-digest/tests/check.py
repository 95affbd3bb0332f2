import json, os
names = ['pairs_in_order', 'counts', 'first', 'last', 'users', 'frames']
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

def digest(path):
    groups = {}
    for entry in parse(path)[0]:
        if entry["level"] not in ("ERROR", "FATAL"):
            continue
        lines = entry["body"].split("\n")
        frames = sum(line.startswith("\tat ") for line in lines)
        group = groups.setdefault((entry["app"], lines[0]), {"application": entry["app"], "message": lines[0], "count": 0, "first": entry["timestamp"], "users": set(), "frames": 0})
        group["count"] += 1
        group["last"] = entry["timestamp"]
        group["users"].add(entry["user"])
        group["frames"] = max(group["frames"], frames)
    for group in groups.values():
        group["users"] = sorted(group["users"])
    return sorted(groups.values(), key=lambda group: -group["count"])
expected = digest("/tests/given/server.txt")
result = None
try:
    result = json.load(open("/app/digest.json"))
except (OSError, ValueError):
    pass
def column(name):
    return lambda: len(result) > 0 and [row[name] for row in result] == [row[name] for row in expected]
check("pairs_in_order", lambda: [(row["application"], row["message"]) for row in result] == [(row["application"], row["message"]) for row in expected])
check("counts", column("count"))
check("first", column("first"))
check("last", column("last"))
check("users", column("users"))
check("frames", column("frames"))

os.makedirs("/logs/verifier", exist_ok=True)
json.dump(rewards, open("/logs/verifier/reward.json", "w"))
