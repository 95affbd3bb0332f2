#!/bin/bash
# Works the total out from the file as it was, and compares.
want=$(python3 -I /tests/total.py)
if [ -f /app/total.txt ] && [ "$(head -c 100 /app/total.txt | tr -d '[:space:]')" = "$want" ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
