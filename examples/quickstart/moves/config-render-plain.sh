mkdir -p out
python3 - <<'PY'
import glob, hashlib, json
target = json.load(open("data/target.json"))

def merge(a, b):
    for k, v in b.items():
        if isinstance(v, dict) and isinstance(a.get(k), dict):
            merge(a[k], v)
        elif k.endswith("+"):
            a[k[:-1]] = a.get(k[:-1], []) + v
        else:
            a[k] = v

conf = {}
for path in sorted(glob.glob("data/layers/*.json")):
    layer = json.load(open(path))
    when = layer.pop("@when", {})
    if all(target.get(k) == v or isinstance(v, list) and target.get(k) in v for k, v in when.items()):
        merge(conf, layer)
text = json.dumps(conf, indent=2)
open("out/config.json", "w").write(text)
open("out/config.json.sum", "w").write(hashlib.sha256(text.encode()).hexdigest() + "  config.json\n")
PY
