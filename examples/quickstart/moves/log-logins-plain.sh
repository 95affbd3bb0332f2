mkdir -p out
python3 - <<'PY'
import json, re
from datetime import datetime, timedelta
fails, ok = {}, {}
for line in open("data/auth.log"):
    t = datetime.fromisoformat(line.split()[0])
    m = re.search(r"(Failed|Accepted) \S+ for (\S+) from (\S+)", line)
    if m:
        (fails if m[1] == "Failed" else ok).setdefault(m[2], []).append((t, m[3]))
bursts = []
for user, events in fails.items():
    events.sort()
    if len(events) >= 5 and not user.startswith("svc-"):
        end = events[-1][0]
        after = [s for t, s in ok.get(user, []) if timedelta(0) <= t - end <= timedelta(minutes=15)]
        bursts.append({"user": user, "start": events[0][0].isoformat(), "end": end.isoformat(), "failures": len(events),
                       "networks": sorted({s for _, s in events}), "verdict": "breach" if after else "open", "flag": ""})
json.dump({"bursts": bursts}, open("out/logins.json", "w"), indent=2)
PY
