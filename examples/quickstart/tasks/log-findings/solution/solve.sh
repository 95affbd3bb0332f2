#!/bin/bash
mkdir -p out
python3 - <<'PY'
import csv
from datetime import datetime as D, timedelta as T
off = {r["host"]: int(r["offset_ms"]) for r in csv.DictReader(open("data/clocks.csv"))}
base = dict(zip("emerg alert crit err warning notice info debug".split(), (1, 1, 1, 2, 3, 4, 4, 4)))
ev = [(D.fromisoformat(r["time"]) - T(milliseconds=off.get(r["host"], 0)), r["host"], i, r)
      for i, r in enumerate(csv.DictReader(open("data/events.csv")))]
open_, groups = {}, []
for t, h, i, r in sorted(ev, key=lambda e: e[:3]):
    g = open_.get((h, r["facility"], r["code"]))
    if g is None or t - g[1] > T(seconds=60):
        g = open_[h, r["facility"], r["code"]] = [4, t, t, h, r["facility"], r["code"], 0]
        groups.append(g)
    s = max(1, base[r["level"]] - r["facility"].startswith("auth"))
    g[0], g[2], g[6] = min(g[0], 4 if r["code"].endswith("-T") else s), t, g[6] + 1
for g in groups:
    if g[6] >= 10 and not g[5].endswith("-T"):
        g[0] = max(1, g[0] - 1)
iso = lambda t: t.isoformat(timespec="milliseconds")[:23] + "Z"
out = csv.writer(open("out/findings.csv", "w", newline=""), lineterminator="\n")
out.writerow("severity first last host facility code count flag".split())
for s, a, b, h, f, c, n in sorted(groups, key=lambda g: (g[0], g[1], g[3], g[5])):
    if s < 4:
        out.writerow([f"S{s}", iso(a), iso(b), h, f, c, n, "-" if h in off else "u"])
out.writerow(["#S4", sum(g[0] == 4 for g in groups)])
PY
