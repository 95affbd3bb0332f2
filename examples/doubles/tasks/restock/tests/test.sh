#!/bin/bash
# The file, and the orders that the supplier got.
python3 -I - <<'PROGRAM' > /logs/verifier/reward.txt
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
right = written == ["D-40,2,501", "A-10,2,502"] and ordered == [("A-10", 2), ("D-40", 2)]
print(int(right))
PROGRAM
