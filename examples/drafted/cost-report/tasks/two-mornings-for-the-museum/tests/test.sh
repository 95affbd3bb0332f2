#!/bin/bash
# Runs the checks of the items. assay writes this file.
PYTHONDONTWRITEBYTECODE=1 exec python3 -s "$(dirname "$0")/sets.py"
