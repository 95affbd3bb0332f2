#!/bin/bash
# The service still runs, with what the agent reported. 7 · (1 + … + 10) + 10 · 3 = 415.
reports=$(python3 -c 'import urllib.request; print(urllib.request.urlopen("http://stock:8000/reports").read().decode())')
echo "reports: $reports"
if [ "$reports" = "[415]" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
