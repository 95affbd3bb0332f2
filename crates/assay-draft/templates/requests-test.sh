#!/bin/bash
# Whether there is any result. Whether a skill was opened is in the report, as its exposure.
if [ -n "$(find /app -type f -size +0c -print -quit)" ]; then
    reward=1 status=passed
else
    reward=0 status=failed
fi
echo "{\"reward\": $reward}" > /logs/verifier/reward.json
echo "{\"results\": {\"tests\": [{\"name\": \"there is a result\", \"status\": \"$status\"}]}}" > /logs/verifier/ctrf.json
