#!/bin/bash
# The announcement, and the calls to the test doubles: the user was asked, and nothing unknown was called.
expected='# Ledger 2.4

- Start twice as fast (#112)
- Round totals half up (#119)'
written=$(cat /app/announcement.md)
printf '%s\n' "$written"
asked=$(grep -c '"double":"user"' /logs/doubles.jsonl)
unknown=$(grep -c '"known":false' /logs/doubles.jsonl)
echo "questions: $asked, unknown calls: $unknown"
reward=1
results=
check() {
  local name=$1 status=passed
  shift
  "$@" || { status=failed; reward=0; }
  results="$results${results:+, }{\"name\": \"$name\", \"status\": \"$status\"}"
}
check announcement [ "$written" = "$expected" ]
check "the user was asked" [ "$asked" -gt 0 ]
check "no unknown call" [ "$unknown" -eq 0 ]
echo "{\"reward\": $reward}" > /logs/verifier/reward.json
echo "{\"results\": {\"tests\": [$results]}}" > /logs/verifier/ctrf.json
