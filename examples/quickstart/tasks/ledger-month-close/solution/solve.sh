#!/bin/bash
mkdir -p out
python3 - <<'PY'
import csv, json, re
from decimal import Decimal
c = json.load(open("data/closing.json"))
y, m = map(int, c["month"].split("-"))
first, last = "20241101", "20241130"
rows = []
for r in csv.DictReader(open("data/journal.csv", encoding="utf-8")):
    n, d, t = int(round(Decimal(r["amount"]) * 100)), r["date"].replace("-", ""), r["text"]
    if n == 0 or d > last:
        continue
    if d < first:
        d, t = first, "LATE " + t
    t = t.replace("|", "/").encode("ascii", "replace").decode()[:24].rstrip()
    rows.append((r["account"], n < 0, d, re.sub(r"\W", "", r["ref"].upper())[-10:], n, t))
rows.sort(key=lambda r: r[:4])
off = sum(r[4] for r in rows)
if off:
    rows.append(("999999", off > 0, last, "SUSPENSE", -off, "Out of balance"))
out = [f"H|LX3|{c['entity']}|FY{(y + (m > 3)) % 100}P{(m - 4) % 12 + 1:02}|{c['currency']}|2"]
h = 0
for i, (a, cr, d, ref, n, t) in enumerate(rows, 1):
    h += i * 10 * int(a)
    out.append(f"D|{i * 10:04}|{a[:4]}.{a[4:]}|{d}|{f'({-n})' if cr else n}|{ref}|{t}")
deb, cre = sum(r[4] for r in rows if r[4] > 0), -sum(r[4] for r in rows if r[4] < 0)
out.append(f"T|{len(rows)}|{deb}|{cre}|{h % 999983:06}")
open("out/ledger.lx", "w", newline="").write("\n".join(out) + "\n")
PY
