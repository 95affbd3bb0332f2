#!/bin/bash
mkdir -p out
python3 - <<'PY'
import csv
order = [f"{r}{c}" for c in range(1, 7) for r in "ABCDEF" if f"{r}{c}" not in ("A1", "F1", "A6", "F6")]
stores = {}
for r in csv.DictReader(open("data/tubes.csv")):
    stores.setdefault("QTN" if "TX" in r["flag"] else r["store"], []).append((r["drawn"], r["label"]))
rows = []
for store in ("F80-A", "F80-B", "C04", "QTN"):
    tubes = sorted(stores.get(store, []))
    for n, at in enumerate(range(0, len(tubes), 12), 1):
        free = [p for p in order if p != "D4"]
        held = {p: t[1] for p, t in zip(free, tubes[at:at + 12])} | {"D4": "BLK-00000-000"}
        rows += [(f"RK-{store}-{n:02d}", p, held[p]) for p in order if p in held]
text = "rack,position,label\n" + "".join(",".join(r) + "\n" for r in rows)
open("out/racks.csv", "w").write(text)
total = 17
for byte in text.encode():
    total = (total * 31 + byte) % 999961
open("out/racks.csv.seal", "w").write(f"SEAL/2 {len(rows)} {total:06d}\n")
PY
