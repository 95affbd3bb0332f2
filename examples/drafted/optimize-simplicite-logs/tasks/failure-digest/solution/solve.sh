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
groups = {}
for entry in parse("/app/server.txt")[0]:
    if entry["level"] in ("ERROR", "FATAL"):
        lines = entry["body"].split("\n")
        groups.setdefault((entry["app"], lines[0]), []).append((entry, sum(line.startswith("\tat ") for line in lines)))
rows = [{"application": app, "message": message, "count": len(all), "first": all[0][0]["timestamp"], "last": all[-1][0]["timestamp"],
         "users": sorted({entry["user"] for entry, _ in all}), "frames": max(frames for _, frames in all)} for (app, message), all in groups.items()]
rows.sort(key=lambda row: -row["count"])
json.dump(rows, open("/app/digest.json", "w"), indent=1)
END
