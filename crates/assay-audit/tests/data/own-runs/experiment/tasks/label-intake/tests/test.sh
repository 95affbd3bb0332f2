#!/bin/bash
# Checks what the agent left in /app; leaves reward.txt and ctrf.json in /logs/verifier. A verifier that cannot run
# leaves no reward: that is no result, and not a failure of the agent's.
mkdir -p /logs/verifier
python=/usr/bin/python3
[ -x "$python" ] || python=/usr/local/bin/python3
exec "$python" -I -B /tests/check.py
