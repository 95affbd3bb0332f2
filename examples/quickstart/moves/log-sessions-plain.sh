mkdir -p out
python3 - <<'PY'
import csv, json
from datetime import datetime, timedelta
by = {}
for line in open("data/access.jsonl"):
    e = json.loads(line)
    by.setdefault((e["user"], e["src"]), []).append((datetime.fromisoformat(e["ts"]), e["host"]))
out = csv.writer(open("out/sessions.csv", "w", newline=""))
out.writerow("session user network start end events hosts flag".split())
n = 0
for (user, src), events in sorted(by.items()):
    events.sort()
    group = []
    for e in events + [None]:
        if group and (e is None or e[0] - group[-1][0] > timedelta(minutes=30)):
            n += 1
            hosts = " ".join(sorted({h for _, h in group}))
            out.writerow([f"s{n}", user, src, group[0][0].isoformat(), group[-1][0].isoformat(), len(group), hosts, ""])
            group = []
        group.append(e)
PY
