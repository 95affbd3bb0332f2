#!/bin/bash
reward() { echo "$1" > /logs/verifier/reward.txt; }
[ -f /app/answer.txt ] && reward 1
