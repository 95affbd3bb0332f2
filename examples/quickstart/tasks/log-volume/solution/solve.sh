#!/bin/bash
mkdir -p out
python3 - <<'PY'
import csv
n, size = {}, {}
for r in csv.DictReader(open("data/events.csv")):
    for host in (r["host"], "total"):
        n[host] = n.get(host, 0) + 1
        size[host] = size.get(host, 0) + int(r["bytes"])
with open("out/volume.csv", "w") as out:
    print("host,events,bytes", file=out)
    for host in sorted(set(n) - {"total"}) + ["total"]:
        print(host, n[host], size[host], sep=",", file=out)
PY
