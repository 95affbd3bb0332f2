#!/usr/bin/env python3
"""Judge LX3 files as the general ledger's gate does: lx_check.py FILE... (prints file,code,line)."""
import calendar
import os
import re
import sys

DIGITS = {"JPY": 0, "KRW": 0, "BHD": 3, "KWD": 3, "TND": 3}
DETAIL = re.compile(
    r"D\|(\d{4})\|(\d{4}\.\d\d)\|(\d{8})\|([1-9]\d*|\([1-9]\d*\))\|([A-Z0-9]{1,10})\|((?:[^|]{0,23}[^| ])?)"
)
TRAILER = re.compile(r"T\|(0|[1-9]\d*)\|(0|[1-9]\d*)\|(0|[1-9]\d*)\|(\d{6})")


def first_and_last(period):
    year, number = 2000 + int(period[2:4]), int(period[5:])
    month = (number + 2) % 12 + 1
    year -= number <= 9
    head = f"{year:04d}{month:02d}"
    return head + "01", f"{head}{calendar.monthrange(year, month)[1]:02d}"


def judge(raw):
    if not raw.endswith(b"\n") or b"\r" in raw or any(byte > 127 for byte in raw):
        return "R01", 0
    lines = raw.decode("ascii")[:-1].split("\n")
    head = lines[0].split("|")
    if (
        len(head) != 6
        or head[:2] != ["H", "LX3"]
        or not re.fullmatch(r"[A-Z]{2}\d\d", head[2])
        or not re.fullmatch(r"[A-Z]{3}", head[4])
        or head[5] != str(DIGITS.get(head[4], 2))
    ):
        return "R02", 1
    if not re.fullmatch(r"FY\d\dP(0[1-9]|1[0-2])", head[3]):
        return "R03", 1
    rows = []
    for number, line in enumerate(lines[1:-1], 2):
        match = DETAIL.fullmatch(line)
        if not match:
            return "R04", number
        rows.append(match.groups())
    end = TRAILER.fullmatch(lines[-1])
    if not end or len(lines) < 2:
        return "R04", len(lines)
    for number, row in enumerate(rows, 2):
        if int(row[0]) != 10 * (number - 1):
            return "R05", number
    keys = [(row[1], row[3].startswith("("), row[2], row[4]) for row in rows]
    for number in range(1, len(keys)):
        if keys[number] < keys[number - 1]:
            return "R06", number + 2
    first, last = first_and_last(head[3])
    for number, row in enumerate(rows, 2):
        if not first <= row[2] <= last:
            return "R07", number
    debit = sum(int(row[3]) for row in rows if row[3][0] != "(")
    credit = sum(int(row[3][1:-1]) for row in rows if row[3][0] == "(")
    if debit != credit:
        return "R08", 0
    if [int(x) for x in end.groups()[:3]] != [len(rows), debit, credit]:
        return "R09", len(lines)
    total = sum(int(row[0]) * int(row[1].replace(".", "")) for row in rows) % 999983
    if int(end[4]) != total:
        return "R10", len(lines)
    for number, row in enumerate(rows, 2):
        if row[1] == "9999.99" and row[4] == "SUSPENSE" and int(row[3].strip("()")) > 100:
            return "A01", number
    return "A00", 0


def main(paths):
    if not paths:
        print("usage: lx_check.py FILE...", file=sys.stderr)
        return 2
    print("file,code,line")
    worst = 0
    for path in sorted(paths, key=os.path.basename):
        with open(path, "rb") as file:
            code, line = judge(file.read())
        worst |= code[0] == "R"
        print(f"{os.path.basename(path)},{code},{line}")
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
