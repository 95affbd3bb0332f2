#!/bin/bash
# 18.50 · 1.19 = 22.015, rounded half up.
price=$(tr -d '[:space:]' < /app/price.txt)
echo "price: $price"
if [ "$price" = 22.02 ]; then reward=1 status=passed; else reward=0 status=failed; fi
echo "{\"reward\": $reward}" > /logs/verifier/reward.json
echo "{\"results\": {\"tests\": [{\"name\": \"price\", \"status\": \"$status\"}]}}" > /logs/verifier/ctrf.json
