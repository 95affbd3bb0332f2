#!/bin/bash
set -e
python3 - <<'END'
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
sessions, rows = waste("/app/sessions.jsonl")
reasons = {name: sum(name in why for _, why, _ in rows) for name in ("abandoned", "duplicate", "rejected", "too_short")}
json.dump({"sessions": {i: why for i, why, _ in rows}, "reasons": reasons, "wasted": len(rows), "wasted_seconds": sum(s for _, _, s in rows)}, open("/app/waste.json", "w"), indent=1)
END
