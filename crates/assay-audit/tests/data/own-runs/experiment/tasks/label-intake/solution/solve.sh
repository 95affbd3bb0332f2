#!/bin/bash
mkdir -p out
python3 - <<'PY'
import csv
from datetime import datetime
MAT = {"csf": ("CSF", "F80-A", 120), "serum": ("SRM", "F80-B", 350), "plasma": ("PLX", "F80-B", 350),
       "urine": ("URD", "C04", 900), "swab": ("SWK", "C04", 0)}
refused, rows, count = [], [], {}
for n, r in enumerate(csv.DictReader(open("data/intake.csv")), 1):
    if "leak" in r["note"] or "crack" in r["note"]:
        refused.append((n, "R7"))
        continue
    if not r["donor"]:
        refused.append((n, "R3"))
        continue
    code, store, least = MAT[r["material"]]
    count[code] = count.get(code, 100) + 1
    label = f"{code}-{datetime.fromisoformat(r['received']):%y%j}-{count[code]}"
    label += "ABCDEFGHJKLMNPRSTUVWXYZ"[sum((i + 3) * ord(c) for i, c in enumerate(label)) % 23]
    flags = ["QNS"] * (int(r["volume_ul"]) < least) + ["TX"] * (float(r["temp_c"]) > (25 if code == "SWK" else 8.5))
    rank = list(MAT).index(r["material"])
    rows.append((rank, label, "*" + r["donor"][-4:], code, "QTN" if "TX" in flags else store, "+".join(flags) or "ok"))
open("out/refused.tsv", "w").write("".join(f"{n}\t{c}\n" for n, c in refused))
text = "label,donor,material,store,flag\n" + "".join(",".join(r[1:]) + "\n" for r in sorted(rows))
open("out/labels.csv", "w").write(text)
total = 17
for byte in text.encode():
    total = (total * 31 + byte) % 999961
open("out/labels.csv.seal", "w").write(f"SEAL/2 {len(rows)} {total:06d}\n")
PY
