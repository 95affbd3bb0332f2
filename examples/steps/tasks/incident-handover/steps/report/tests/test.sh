#!/bin/bash
. "$(dirname "$0")/reward.sh"
if python3 - <<'PYTHON'
import json, sys

expected = {"release": "4.18.0", "code": "E-CARD-3311", "failed": 7, "first_failure": "2026-03-02T07:04:00Z"}
try:
    report = json.load(open("report.json"))
except (OSError, ValueError) as error:
    sys.exit(f"report.json: {error}")
wrong = [key for key, value in expected.items() if report.get(key) != value]
if wrong:
    sys.exit("wrong: " + ", ".join(wrong))
PYTHON
then reward 1 report; else reward 0 report; fi
