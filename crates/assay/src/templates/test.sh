#!/bin/bash
# Runs after the agent is gone. Checks what it left in /app and writes 1 or 0. Everything the check needs lies in /tests:
# what the agent could have changed proves nothing.
if [ "$(cat /app/result.txt 2>/dev/null)" = "the expected result" ]; then
    echo 1 > /logs/verifier/reward.txt
else
    echo 0 > /logs/verifier/reward.txt
fi
