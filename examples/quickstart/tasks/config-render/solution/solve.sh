#!/bin/bash
mkdir -p out
python3 - <<'PY'
import copy, glob, hashlib, json, math, os, re
target = json.load(open("data/target.json"))
conf, src = {}, {}
TIME = {"d": 86400, "h": 3600, "m": 60, "s": 1, "ms": 0.001}

def leaves(x, at=""):
    if isinstance(x, dict) and x:
        for k, v in x.items():
            yield from leaves(v, f"{at}.{k}" if at else k)
    else:
        yield at

def put(into, layer, who, at):
    touched = set()
    for k, v in sorted(layer.items(), key=lambda kv: "!-+".find(kv[0][-1])):
        op = k[-1] if k[-1] in "!-+" else ""
        k = k.rstrip("!-+")
        here = f"{at}.{k}" if at else k
        if op in ("-", "+"):
            was = into.get(k)
            new = [i for i in was or [] if op == "+" or i not in v]
            for i in v if op == "+" else []:
                if i not in new:
                    new.append(i)
            if new != was:
                into[k] = new
                touched.add(here)
        elif v is None:
            into.pop(k, None)
        elif isinstance(v, dict):
            if op == "!" or not isinstance(into.get(k), dict):
                into[k] = {}
            touched |= put(into[k], v, who, here)
            if not into[k]:
                touched.add(here)
        else:
            into[k] = v
            touched.add(here)
    return touched

names = [os.path.basename(p)[:-5].split("-", 1) for p in glob.glob("data/layers/*.json")]
for number, who in sorted(names, key=lambda n: (int(n[0]), n[1])):
    layer = json.load(open(f"data/layers/{number}-{who}.json"))
    when = layer.pop("@when", {})
    if all(k in target and (target[k] in v if isinstance(v, list) else target[k] == v) for k, v in when.items()):
        for path in put(conf, layer, who, ""):
            src[path] = who
src = {p: src[p] for p in leaves(conf)}
merged = copy.deepcopy(conf)

def get(path):
    x = merged
    for k in path.split("."):
        x = x[k]
    return expand(x) if isinstance(x, str) else x

def expand(s):
    if re.fullmatch(r"\$\{[^}]*\}", s):
        return get(s[2:-1])
    text = lambda v: v if isinstance(v, str) else json.dumps(v)
    return re.sub(r"\$?\$\{([^}]*)\}", lambda m: m[0][1:] if m[0][1] == "$" else text(get(m[1])), s)

def unit(k, s):
    if re.search("_(timeout|interval|ttl)$", k):
        parts = re.findall(r"(\d+)(ms|[dhms])", s)
        if s == "off" or parts and "".join(map("".join, parts)) == s:
            return math.ceil(round(sum(int(n) * TIME[u] for n, u in parts), 3))
    m = k.endswith("_size") and re.fullmatch(r"(\d+)(?=\D)([kKMG]?)(i?)B?", s)
    return int(m[1]) * (1024 if m[3] else 1000) ** ["", "k", "M", "G"].index(m[2].replace("K", "k")) if m else s

missing, secrets = [], []

def walk(x, at):
    for k, v in list(x.items() if isinstance(x, dict) else enumerate(x)):
        here = f"{at}.{k}" if at else k
        if isinstance(v, str):
            try:
                v = expand(v)
            except (KeyError, TypeError):
                missing.append(here)
                del x[k]
                continue
            v = x[k] = unit(str(k), v) if isinstance(v, str) else v
            if str(v).startswith("vault:"):
                secrets.append(here)
        elif isinstance(v, (dict, list)):
            walk(v, here)

walk(conf, "")
conf |= {"_missing": sorted(missing), "_secrets": sorted(secrets)}
line = json.dumps(conf, sort_keys=True, separators=(",", ":"))
conf["_sources"] = {p: w for p, w in src.items() if p not in missing}
open("out/config.json", "w").write(json.dumps(conf, sort_keys=True, indent=2) + "\n")
open("out/config.json.sum", "w").write(hashlib.sha256(line.encode()).hexdigest()[:16] + "  config.json\n")
PY
