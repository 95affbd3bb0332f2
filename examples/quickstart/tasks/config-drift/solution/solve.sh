#!/bin/bash
mkdir -p out
python3 - <<'PY'
import json, math, re
T = {"d": 86400, "h": 3600, "m": 60, "s": 1, "ms": 0.001}
js = lambda v: re.sub(r'"vault:[^"]*"', '"***"', json.dumps(v, sort_keys=True, separators=(",", ":")))
plain = lambda v: json.dumps(v, sort_keys=True)

def unit(k, s):
    if not isinstance(s, str):
        return s
    if re.search("_(timeout|interval|ttl)$", k) and re.fullmatch(r"(\d+(ms|[dhms]))+|off", s):
        return math.ceil(round(sum(int(n) * T[u] for n, u in re.findall(r"(\d+)(ms|[dhms])", s)), 3))
    m = k.endswith("_size") and re.fullmatch(r"(\d+)(?=\D)([kKMG]?)(i?)B?", s)
    return int(m[1]) * (1024 if m[3] else 1000) ** ["", "k", "M", "G"].index(m[2].replace("K", "k")) if m else s

def flat(x):
    if isinstance(x, dict):
        return {k: unit(k, flat(v)) for k, v in x.items() if not re.search("^_|_at$|^runtime$", k)}
    return [flat(v) for v in x] if isinstance(x, list) else x

rows = []

def diff(a, b, at):
    ids = lambda l: isinstance(l, list) and l != [] and all(isinstance(v, dict) and "id" in v for v in l)
    if ids(a) and ids(b):
        name = lambda k: f"{at}[id={k}]"
        a, b = ({v["id"]: v for v in l} for l in (a, b))
    elif isinstance(a, dict) and isinstance(b, dict):
        name = lambda k: ".".join(filter(None, [at, k.replace(".", "\\.")]))
    else:
        if isinstance(a, list) and isinstance(b, list):
            same = sorted(a, key=plain) == sorted(b, key=plain)
        else:
            same = plain(a) == plain(b)
        if not same:
            text = [v if isinstance(v, str) else plain(v) for v in (a, b)]
            kind = "type" if text[0] == text[1] and not isinstance(a, (list, dict)) else "changed"
            rows.append((kind, at, js(a), js(b)))
        return
    for k in a | b:
        if k not in b:
            rows.append(("missing", name(k), js(a[k]), "-"))
        elif k not in a:
            rows.append(("extra", name(k), "-", js(b[k])))
        else:
            diff(a[k], b[k], name(k))

diff(*(flat(json.load(open(f"data/{n}.json"))) for n in ("wanted", "running")), "")
rank = ["missing", "changed", "type", "extra"].index
rows.sort(key=lambda r: (r[1].split(".")[0] != "security", rank(r[0]), r[1]))
with open("out/drift.tsv", "w") as out:
    for row in [("class", "path", "wanted", "running"), *rows, ("drift", sum(r[0] != "extra" for r in rows))]:
        print(*row, sep="\t", file=out)
PY
