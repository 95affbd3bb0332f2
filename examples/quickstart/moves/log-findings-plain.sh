mkdir -p out
python3 - <<'PY'
import csv
off = {r["host"]: int(r["offset_ms"]) for r in csv.DictReader(open("data/clocks.csv"))}
groups = {}
for r in csv.DictReader(open("data/events.csv")):
    key = (r["level"], r["host"], r["facility"], r["code"])
    groups.setdefault(key, []).append(r["time"])
order = "emerg alert crit err warning notice info debug".split()
out = csv.writer(open("out/findings.csv", "w", newline=""))
out.writerow("severity first last host facility code count flag".split())
for (level, host, facility, code), times in sorted(groups.items(), key=lambda g: (order.index(g[0][0]), min(g[1]))):
    out.writerow([level, min(times), max(times), host, facility, code, len(times), "" if host in off else "no clock"])
out.writerow(["total", len(groups)])
PY
