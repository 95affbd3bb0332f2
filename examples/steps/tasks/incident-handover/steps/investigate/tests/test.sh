#!/bin/bash
# Are there notes? Whether they are of use shows in the next step.
. "$(dirname "$0")/reward.sh"
if [ -s HANDOVER.md ] && [ "$(wc -c < HANDOVER.md)" -le 2000 ]; then reward 1 "short notes"; else reward 0 "short notes"; fi
