#!/bin/bash
mkdir -p out
python3 - <<'PY'
import csv, json
from datetime import datetime as D, timedelta as T, timezone as Z
from ipaddress import ip_interface as net
off = {r["host"]: int(r["offset_ms"]) for r in csv.DictReader(open("data/clocks.csv"))}
ev = []
for n, line in enumerate(open("data/access.jsonl")):
    e = json.loads(line)
    u, h = e["user"].lower().replace("corp\\", ""), e["host"]
    if u[:4] != "svc-" and not e["path"].startswith("/health"):
        t = D.fromisoformat(e["ts"]).astimezone(Z.utc) - T(milliseconds=off.get(h, 0))
        ev.append((t, h, n, u, str(net(e["src"] + ("/64" if ":" in e["src"] else "/24")).network), e["event"]))
last, all_ = {}, []
for t, h, n, u, w, kind in sorted(ev):
    s = last.get((u, w))
    if s is None or s["closed"] or t - s["end"] > T(minutes=20):
        s = last[u, w] = {"u": u, "w": w, "start": t, "n": 0, "hosts": set(), "flag": "-"}
        all_.append(s)
    s |= {"end": t, "n": s["n"] + 1, "closed": kind == "logout"}
    s["hosts"].add(h)
    if h not in off:
        s["flag"] = "u"
seen, rows = {}, []
iso = lambda t: t.isoformat(timespec="milliseconds")[:-6] + "Z"
for s in sorted(all_, key=lambda s: (s["start"], s["w"])):
    k = f"{s['u']}-{s['start']:%Y%m%d}"
    seen[k] = seen.get(k, 0) + 1
    hosts = "+".join(sorted(s["hosts"]))
    rows.append([f"{k}-{seen[k]:02}", s["u"], s["w"], iso(s["start"]), iso(s["end"]), s["n"], hosts, s["flag"]])
out = csv.writer(open("out/sessions.csv", "w", newline=""), lineterminator="\n")
out.writerow("session user network start end events hosts flag".split())
out.writerows(sorted(rows, key=lambda r: (r[3], r[0])))
PY
