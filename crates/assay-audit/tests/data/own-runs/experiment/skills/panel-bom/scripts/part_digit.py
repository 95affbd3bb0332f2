#!/usr/bin/env python3
"""Print part numbers with their check digit: part_digit.py PART…"""
import sys


def digit(part):
    return sum(ord(c) * (7, 3, 9, 1)[at % 4] for at, c in enumerate(part)) % 11 % 10


if __name__ == "__main__":
    for part in sys.argv[1:]:
        print(f"{part}/{digit(part)}")
