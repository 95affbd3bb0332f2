#!/bin/bash
mkdir -p out
python3 - <<'PY'
import json
from datetime import date
last = json.load(open("data/last.json"))
changes = [json.loads(line) for line in open("data/changes.jsonl")]
day = date.fromisoformat(last["day"])
year, quarter, number = map(int, last["last"].split("."))
breaking = any(c["breaking"] for c in changes)
types = {c["type"] for c in changes}
now = (day.year % 100, (day.month + 2) // 3)
number = (number if (year, quarter) == now else 0) + (5 if breaking else 1)
number += number % 10 == 7
version = f"{now[0]}.{now[1]}.{number}"
amber = breaking or len({c["component"] for c in changes}) > 6
channel = "amber" if amber else "violet" if "security" in types else "blue" if "feature" in types else "green"
hold = {"amber": 216, "violet": 6, "blue": 96, "green": 0}[channel] + (36 if day.weekday() == 4 else 0)
announce = {"amber": ["ops-early", "all-users"], "violet": ["duty-desk"]}.get(channel, ["all-users"])
steps = [f"freeze {version}", "notes", *([f"hold {hold}h"] if hold else []), "announce " + "+".join(announce), f"open {channel}"]
open("out/ROLLOUT.txt", "w").write("".join(f"{n:02d}: {s}\n" for n, s in enumerate(steps, 1)))
json.dump({"version": version, "channel": channel, "hold_hours": hold, "announce": announce}, open("out/release.json", "w"))
PY
