#!/bin/bash
# Runs after the agent has exited. Checks the files in /app and writes 1 or 0. Keep everything that the check needs in
# /tests: the agent can change all other files.
if [ "$(cat /app/result.txt 2>/dev/null)" = "the expected result" ]; then
    echo 1 > /logs/verifier/reward.txt
else
    echo 0 > /logs/verifier/reward.txt
fi
