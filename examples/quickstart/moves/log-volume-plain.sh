mkdir -p out
python3 - <<'PY'
hosts = {}
for line in list(open("data/events.csv"))[1:]:
    fields = line.split(",")
    events, size = hosts.get(fields[1], (0, 0))
    hosts[fields[1]] = (events + 1, size + int(fields[5]))
with open("out/volume.csv", "w") as out:
    print("host,events,bytes", file=out)
    for host in sorted(hosts, key=str.lower):
        print(host, *hosts[host], sep=",", file=out)
PY
