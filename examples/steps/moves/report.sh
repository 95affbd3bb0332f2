python3 - <<'PYTHON'
import json
lines = [line.split(": ", 1) for line in open("HANDOVER.md").read().splitlines() if ": " in line]
report = {key: value for key, value in lines}
report["failed"] = int(report["failed"])
json.dump(report, open("report.json", "w"))
PYTHON
cat report.json
