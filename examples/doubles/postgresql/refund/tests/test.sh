#!/bin/bash
# The tables after the agent has ended.
python3 -I - <<'PROGRAM'
import json
import sys

shop = json.load(open("/logs/postgresql.json"))["shop"]
print(shop, file=sys.stderr)
status = {row["id"]: row["status"] for row in shop.get("orders", [])}
payments = sorted((row["order_id"], row["cents"], row["kind"]) for row in shop.get("payments", []))
expected = [(1, 1250, "card"), (2, -900, "card"), (2, -450, "voucher"), (2, 450, "voucher"), (2, 900, "card")]
checks = {
    "status of the orders": status == {1: "paid", 2: "refunded", 3: "open"},
    "payments": payments == expected,
}
tests = [{"name": name, "status": "passed" if passed else "failed"} for name, passed in checks.items()]
json.dump({"results": {"tests": tests}}, open("/logs/verifier/ctrf.json", "w"))
json.dump({"reward": int(all(checks.values()))}, open("/logs/verifier/reward.json", "w"))
PROGRAM
