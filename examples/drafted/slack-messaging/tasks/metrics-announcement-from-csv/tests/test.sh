#!/bin/bash
mkdir -p /logs/verifier
cd /app 2>/dev/null
python3 "$(dirname "$0")/check.py"
exit 0
