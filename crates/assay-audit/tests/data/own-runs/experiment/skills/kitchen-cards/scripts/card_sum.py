#!/usr/bin/env python3
"""Append the sum row to a card or a sheet: card_sum.py FILE."""
import sys

path = sys.argv[1]
with open(path, encoding="utf-8") as file:
    lines = file.read().splitlines()
if lines[-1].startswith("99,"):
    sys.exit("already summed")
total = sum(at * sum(line.encode()) for at, line in enumerate(lines, 1)) % 9973
commas = lines[0].count(",") - 2
with open(path, "w", encoding="utf-8") as file:
    file.write("\n".join([*lines, f"99,SUM {len(lines) - 1},{total:04d}" + "," * commas]) + "\n")
