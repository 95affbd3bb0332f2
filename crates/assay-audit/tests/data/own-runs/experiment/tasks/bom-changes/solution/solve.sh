#!/bin/bash
mkdir -p out
python3 - <<'PY'
import csv
norm = lambda p: p.upper().replace(" ", ".").replace("-", ".")
digit = lambda p: f"{p}/{sum(ord(c) * (7, 3, 9, 1)[i % 4] for i, c in enumerate(p)) % 11 % 10}"
load = lambda f: {norm(r["part"]): float(r["qty"]) for r in csv.DictReader(open(f)) if not r["part"].startswith("fs")}
old, new = load("data/old.csv"), load("data/new.csv")
show = lambda p, q: f"{q:.1f}" if p.startswith("WR") and q else f"{q:g}"
group = lambda p: p.split(".")[:2]

def action(part, a, b):
    if part.startswith("SW"):
        return "HOLD"
    return "ECR" if not a or abs(b - a) > a / 4 else "GO"

rows, used = [], set()
come = [p for p in new if p not in old]
for part in [p for p in old if p not in new]:
    twin = next((c for c in come if group(c) == group(part) and new[c] == old[part] and c not in used), None)
    if twin:
        used.add(twin)
        rows.append(("Z5", digit(twin), digit(part), digit(twin), action(twin, 1, 1)))
    else:
        rows.append(("Z2", digit(part), show(part, old[part]), "0", action(part, old[part], 0)))
rows += [("Z1", digit(p), "0", show(p, new[p]), action(p, 0, new[p])) for p in come if p not in used]
for p in old:
    if p in new and old[p] != new[p] and not (p.startswith("WR") and abs(old[p] - new[p]) < 1.5):
        rows.append(("Z4", digit(p), show(p, old[p]), show(p, new[p]), action(p, old[p], new[p])))
rows.sort()
holds = [r[1] for r in rows if r[4] == "HOLD"]
if holds:
    open("out/holds.txt", "w").write("".join(h + "\n" for h in holds))
lines = ["code,part,old,new,action", *(",".join(r) for r in rows), f"#END,{len(rows)},,,"]
open("out/changes.csv", "w").write("\n".join(lines) + "\n")
PY
