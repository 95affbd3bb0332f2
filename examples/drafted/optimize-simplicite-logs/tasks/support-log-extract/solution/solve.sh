#!/bin/bash
set -e
python3 - <<'END'
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
entries, skipped = parse("/app/server.txt")
out = [{"timestamp": e["timestamp"], "level": e["level"], "message": e["body"]} for e in entries]
json.dump({"entries": out, "processed": len(out), "skipped": skipped}, open("/app/entries.json", "w"), indent=1)
END
