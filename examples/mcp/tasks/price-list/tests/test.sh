#!/bin/bash
# 18.50 · 1.19 = 22.015, rounded half up.
price=$(tr -d '[:space:]' < /app/price.txt)
echo "price: $price"
if [ "$price" = 22.02 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
