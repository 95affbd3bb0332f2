#!/usr/bin/env python3
"""Stamp release notes: notes_stamp.py FILE."""
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read().rstrip("\n")
lines = text.split("\n")
if not lines[-1].startswith("Listed: "):
    sys.exit("the last line must be the count")
state = 7
for byte in text.encode():
    state = (state * 131 + byte) % 1_000_003
entries = sum(line.startswith("- (NB-") for line in lines)
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write(f"{text}\n<!-- nb {entries} {state:06d} -->\n")
