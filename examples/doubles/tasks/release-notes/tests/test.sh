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
if [ "$written" = "$expected" ] && [ "$asked" -gt 0 ] && [ "$unknown" -eq 0 ]; then echo 1; else echo 0; fi \
  > /logs/verifier/reward.txt
