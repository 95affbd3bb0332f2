#!/bin/bash
# The file, and the orders that the supplier got.
python3 -I - <<'PROGRAM'
import json
import sys

try:
    written = open("/app/orders.csv").read().split()
except OSError:
    written = []
calls = [json.loads(line) for line in open("/logs/doubles.jsonl")]
orders = [json.loads(call["request"]["body"]) for call in calls if call["request"]["method"] == "POST" and call["known"]]
print(written, orders, file=sys.stderr)
ordered = sorted((order["sku"], order["packs"]) for order in orders)
checks = {
    "orders.csv": written == ["D-40,2,501", "A-10,2,502"],
    "orders at the supplier": ordered == [("A-10", 2), ("D-40", 2)],
}
tests = [{"name": name, "status": "passed" if passed else "failed"} for name, passed in checks.items()]
json.dump({"results": {"tests": tests}}, open("/logs/verifier/ctrf.json", "w"))
json.dump({"reward": int(all(checks.values()))}, open("/logs/verifier/reward.json", "w"))
PROGRAM
