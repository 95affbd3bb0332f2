#!/bin/bash
set -e
python3 - <<'END'
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
found, counts, unused = report("/app/providers.csv")
json.dump({"status": found, "counts": counts, "unused_percent": unused}, open("/app/seats.json", "w"), indent=1)
END
