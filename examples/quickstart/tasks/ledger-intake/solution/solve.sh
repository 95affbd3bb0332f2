#!/bin/bash
mkdir -p out
python3 - <<'PY'
import pathlib, re

def gate(raw):
    if not raw.isascii() or b"\r" in raw or raw[-1:] != b"\n":
        return "R01", 0
    head, *body = raw.decode().splitlines()
    h = re.fullmatch(r"H\|LX3\|[A-Z]{2}\d\d\|(.*)\|([A-Z]{3})\|(\d)", head)
    if not h or int(h[3]) != {"JPY": 0, "KRW": 0, "KWD": 3, "BHD": 3, "TND": 3}.get(h[2], 2):
        return "R02", 1
    p = re.fullmatch(r"FY(\d\d)P(0[1-9]|1[0-2])", h[1])
    if not p:
        return "R03", 1
    d, end = [], len(body) + 1
    for i, line in enumerate(body[:-1], 2):
        m = re.fullmatch(r"D\|(\d{4})\|(\d{4}\.\d\d)\|(\d{8})\|(\(?)([1-9]\d*)(\)?)\|([A-Z0-9]{1,10})\|([^|]{0,24})", line)
        if not m or bool(m[4]) != bool(m[6]) or m[8].endswith(" "):
            return "R04", i
        d.append((int(m[1]), m[2], m[4] == "(", m[3], m[7], int(m[5])))
    t = re.fullmatch(r"T\|(\d+)\|(\d+)\|(\d+)\|(\d{6})", body[-1])
    if not t or any(re.match(r"0\d", x) for x in t.groups()[:3]):
        return "R04", end
    for i, row in enumerate(d):
        if row[0] != i * 10 + 10:
            return "R05", i + 2
    for i, (a, b) in enumerate(zip(d, d[1:])):
        if b[1:5] < a[1:5]:
            return "R06", i + 3
    n = int(p[2])
    month = 12 * (1999 + int(p[1])) + n + 2
    days = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month % 12]
    days += month % 12 == 1 and month // 12 % 4 == 0
    for i, row in enumerate(d):
        if row[3][:6] != f"{month // 12}{month % 12 + 1:02}" or not 1 <= int(row[3][6:]) <= days:
            return "R07", i + 2
    deb, cre = (sum(r[5] for r in d if r[2] == side) for side in (False, True))
    if deb != cre:
        return "R08", 0
    if (int(t[1]), int(t[2]), int(t[3])) != (len(d), deb, cre):
        return "R09", end
    if int(t[4]) != sum(r[0] * int(r[1].replace(".", "")) for r in d) % 999983:
        return "R10", end
    for i, row in enumerate(d):
        if row[1] == "9999.99" and row[5] > 100:
            return "A01", i + 2
    return "A00", 0

with open("out/intake.csv", "w") as out:
    print("file,code,line", file=out)
    for path in sorted(pathlib.Path("data/incoming").iterdir()):
        print(path.name, *gate(path.read_bytes()), sep=",", file=out)
PY
