#!/bin/bash
mkdir -p out
python3 - <<'PY'
import json, re
from decimal import Decimal
book = json.load(open("data/postings.json", encoding="utf-8"))
by = {}
for p in book["postings"]:
    exp = {"JPY": 0, "KWD": 3}.get(p["currency"], 2)
    n = int(round((Decimal(p["debit"] or 0) - Decimal(p["credit"] or 0)) * 10**exp))
    d, t = p["posted"].replace("-", ""), p["memo"]
    if n == 0 or d > "20250331":
        continue
    if d < "20250301":
        d, t = "20250301", "LATE " + t
    t = t.replace("|", "/").encode("ascii", "replace").decode()[:24].rstrip()
    row = (p["account"], n < 0, d, re.sub("[^A-Z0-9]", "", p["doc"].upper())[-10:], n, t)
    by.setdefault((p["currency"], exp), []).append(row)
for (ccy, exp), rows in by.items():
    rows.sort(key=lambda r: r[:4])
    off = sum(r[4] for r in rows)
    if off:
        rows.append(("999999", off > 0, "20250331", "SUSPENSE", -off, "Out of balance"))
    out, h = [f"H|LX3|{book['entity']}|FY25P12|{ccy}|{exp}"], 0
    for i, (a, cr, d, ref, n, t) in enumerate(rows, 1):
        h += i * 10 * int(a)
        out.append(f"D|{i * 10:04}|{a[:4]}.{a[4:]}|{d}|{f'({-n})' if cr else n}|{ref}|{t}")
    deb = sum(r[4] for r in rows if r[4] > 0)
    out.append(f"T|{len(rows)}|{deb}|{deb}|{h % 999983:06}")
    open(f"out/{ccy}.lx", "w", newline="").write("\n".join(out) + "\n")
PY
