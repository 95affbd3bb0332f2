mkdir -p out
python3 - <<'PY'
import json

def flat(x, at=""):
    if isinstance(x, (dict, list)):
        out = {}
        for k, v in x.items() if isinstance(x, dict) else enumerate(x):
            out |= flat(v, f"{at}.{k}" if at else str(k))
        return out
    return {at: x}

a, b = (flat(json.load(open(f"data/{n}.json"))) for n in ("wanted", "running"))
with open("out/drift.tsv", "w") as out:
    print("class", "path", "wanted", "running", sep="\t", file=out)
    rows = 0
    for path in sorted(a | b):
        if a.get(path) != b.get(path):
            rows += 1
            kind = "extra" if path not in a else "missing" if path not in b else "changed"
            print(kind, path, json.dumps(a.get(path)), json.dumps(b.get(path)), sep="\t", file=out)
    print("drift", rows, sep="\t", file=out)
PY
