#!/bin/bash
# The service still runs, with what the agent reported. 7 · (1 + … + 10) + 10 · 3 = 415.
reports=$(python3 -c 'import urllib.request; print(urllib.request.urlopen("http://stock:8000/reports").read().decode())')
echo "reports: $reports"
if [ "$reports" = "[415]" ]; then reward=1 status=passed; else reward=0 status=failed; fi
echo "{\"reward\": $reward}" > /logs/verifier/reward.json
echo "{\"results\": {\"tests\": [{\"name\": \"the service got the report\", \"status\": \"$status\"}]}}" > /logs/verifier/ctrf.json
