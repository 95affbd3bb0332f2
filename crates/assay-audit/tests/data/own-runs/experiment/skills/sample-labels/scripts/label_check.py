#!/usr/bin/env python3
"""label_check.py LABEL… prints labels with their check letter; label_check.py --seal FILE writes FILE.seal."""
import sys

LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"  # 23, without I, O and Q


def letter(label):
    return LETTERS[sum((at + 3) * ord(c) for at, c in enumerate(label)) % 23]


def seal(path):
    with open(path, "rb") as file:
        data = file.read()
    total = 17
    for byte in data:
        total = (total * 31 + byte) % 999961
    rows = data.count(b"\n") - 1
    with open(path + ".seal", "w") as file:
        file.write(f"SEAL/2 {rows} {total:06d}\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--seal"]:
        seal(sys.argv[2])
    else:
        for label in sys.argv[1:]:
            print(label + letter(label))
