#!/bin/bash
mkdir -p out
python3 - <<'PY'
import csv, json, re
from datetime import datetime as D, timedelta as T
from ipaddress import ip_interface as net
off = {r["host"]: int(r["offset_ms"]) for r in csv.DictReader(open("data/clocks.csv"))}
ev = []
for i, line in enumerate(open("data/auth.log")):
    t, h, _, kind, *rest = line.split()
    user = re.search(r"for (\S+)", line)[1].lower().replace("corp\\", "")
    ip = rest[-1] if "from" in rest else None
    ip = ip and str(net(ip + ("/64" if ":" in ip else "/24")).network)
    ev.append((D.fromisoformat(t) - T(milliseconds=off.get(h, 0)), h, i, user, kind, ip))
runs, out = {}, []
iso = lambda t: t.isoformat(timespec="milliseconds")[:23] + "Z"

def close(user, end):
    run, last = runs.pop(user, []), None
    while len(run) >= 5:
        if run[4][0] - run[0][0] > T(minutes=10):
            run = run[1:]
            continue
        n = 5
        while n < len(run) and run[n][0] - run[n - 1][0] <= T(minutes=10):
            n += 1
        b, run = run[:n], run[n:]
        nets = sorted({e[5] for e in b})
        last = {"user": user, "start": iso(b[0][0]), "end": iso(b[-1][0]), "failures": n, "networks": nets,
                "verdict": "open", "flag": "-" if all(e[1] in off for e in b) else "u"}
        out.append(last)
        when = b[-1][0]
    if last and end and end[0] - when <= T(minutes=15):
        last["verdict"] = "locked" if end[4] == "Account" else "breach" if end[5] in last["networks"] else "recovered"
        if end[1] not in off:
            last["flag"] = "u"

for e in sorted(ev):
    if e[4] == "Failed":
        runs.setdefault(e[3], []).append(e)
    else:
        close(e[3], e)
for user in list(runs):
    close(user, None)
out.sort(key=lambda b: (b["start"], b["user"]))
json.dump({"bursts": out}, open("out/logins.json", "w"), indent=1)
PY
