#!/bin/bash
mkdir -p out
python3 - <<'PY'
import csv, json, math
from fractions import Fraction as F
norm = lambda p: p.upper().replace(" ", ".").replace("-", ".")
digit = lambda p: f"{p}/{sum(ord(c) * (7, 3, 9, 1)[i % 4] for i, c in enumerate(p)) % 11 % 10}"
gone = {norm(r["part"]): norm(r["replacement"]) for r in csv.DictReader(open("data/obsolete.csv"))}
CLASS = {"KL": "E1", "SW": "E2", "WR": "W6", "FS": "F9", "HP": "H2"}
total = {}

def walk(node, times):
    for item in node["contents"]:
        many = times * F(str(item["qty"]))
        if "contents" in item and not item.get("bought"):
            walk(item, many)
            continue
        part = norm(item["part"])
        part = gone.get(part, part)
        key = (["H2", "A5", "E2", "E1", "W6", "F9"].index("A5" if item.get("bought") else CLASS[part[:2]]), part)
        total[key] = total.get(key, 0) + many

walk(json.load(open("data/assembly.json")), F(1))
lines = ["pos,part,qty,unit,class"]
for n, ((rank, part), qty) in enumerate(sorted(total.items())):
    name = ["H2", "A5", "E2", "E1", "W6", "F9"][rank]
    if name == "W6":
        qty, unit = f"{math.ceil(qty * F('1.06') * 2) / 2:.1f}", "m"
    elif name == "F9":
        qty, unit = math.ceil(qty * F("1.1") / 25) * 25, "pc"
    else:
        unit = "pc"
    lines.append(f"{30 + 10 * n:04d},{digit(part)},{qty},{unit},{name}")
open("out/bom.csv", "w").write("\n".join(lines) + "\n")
PY
