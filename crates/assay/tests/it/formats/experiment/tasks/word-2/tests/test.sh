#!/bin/bash
reward() { echo "$1" > /logs/verifier/reward.txt; }
[ "$(cat /app/answer.txt)" = right ] && reward 1 || reward 0
