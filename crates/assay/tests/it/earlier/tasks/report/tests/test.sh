#!/bin/bash
verifier="$(dirname "$0")/../logs/verifier"
mkdir -p "$verifier"
if [ "$(cat answer.txt 2>/dev/null)" = right ]; then echo 1; else echo 0; fi > "$verifier/reward.txt"
