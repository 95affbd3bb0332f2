#!/bin/bash
# Works the total out from the file as it was, and compares.
want=$(python3 -I /tests/total.py)
if [ -f /app/total.txt ] && [ "$(head -c 100 /app/total.txt | tr -d '[:space:]')" = "$want" ]; then
  reward=1 status=passed
else
  reward=0 status=failed
fi
echo "{\"reward\": $reward}" > /logs/verifier/reward.json
echo "{\"results\": {\"tests\": [{\"name\": \"total\", \"status\": \"$status\"}]}}" > /logs/verifier/ctrf.json
