import json, os
names = ['undocumented', 'obsolete', 'queries', 'statuses_concerned', 'statuses_missing', 'statuses_extra']
rewards = dict.fromkeys(names, 0)

def check(name, test):
    try:
        rewards[name] = int(bool(test()))
    except Exception:
        rewards[name] = 0

import json, re
def routes(base):
    text = open(base + "/app.js").read()
    mounts = re.findall(r'app\.use\("([^"]+)", require\("\./([^"]+)"\)\)', text)
    found = collect("app", "", text)
    for prefix, path in mounts:
        found.update(collect("router", prefix, open(f"{base}/{path}.js").read()))
    return found
def collect(name, prefix, text):
    text = re.sub(r"(?m)^\s*//.*$", "", text)
    marks = []
    for match in re.finditer(r'\b%s\s*\.(get|post|put|delete|patch)\("([^"]+)"' % name, text):
        marks.append((match.start(), match[1], match[2]))
    for match in re.finditer(r'\b%s\s*\.route\("([^"]+)"\)' % name, text):
        end = text.index(";\n\n", match.end()) if ";\n\n" in text[match.end():] else len(text)
        for inner in re.finditer(r"(?m)^  \.(get|post|put|delete|patch)\(", text[match.end():end]):
            marks.append((match.end() + inner.start(), inner[1], match[1]))
    marks.sort()
    found = {}
    for at, (start, method, path) in enumerate(marks):
        code = text[start:marks[at + 1][0] if at + 1 < len(marks) else len(text)]
        def names(what):
            match = re.search(r"const \{([^}]*)\} = req\.%s" % what, code)
            return sorted(name.strip() for name in match[1].split(",")) if match else []
        statuses = set(re.findall(r"res\.status\((\d+)\)", code))
        if re.search(r"(?<!return )res\.json\(", code):
            statuses.add("200")
        full = (prefix + path).rstrip("/") or "/"
        full = re.sub(r":(\w+)", r"{\1}", full)
        found[(full, method)] = {"path": re.findall(r"\{(\w+)\}", full), "query": names("query"), "body": names("body"), "statuses": sorted(statuses)}
    return found

DRIFT = None
def drift(base):
    code = routes(base)
    spec = json.load(open(base + "/openapi.json"))
    told = {(path, method): op for path, item in spec["paths"].items() for method, op in item.items()}
    name = lambda key: key[1].upper() + " " + key[0]
    report = {"undocumented": sorted(name(k) for k in code if k not in told), "obsolete": sorted(name(k) for k in told if k not in code), "queries": {}, "statuses": {}}
    for key in sorted(set(code) & set(told)):
        queries = {p["name"] for p in told[key].get("parameters", []) if p["in"] == "query"}
        for what, own, its in [("queries", set(code[key]["query"]), queries), ("statuses", set(code[key]["statuses"]), set(told[key]["responses"]))]:
            if own != its:
                report[what][name(key)] = {"missing": sorted(own - its), "extra": sorted(its - own)}
    return report
expected = drift("/tests/given")
result = {}
try:
    result = json.load(open("/app/drift.json"))
except (OSError, ValueError):
    pass
check("undocumented", lambda: result["undocumented"] == expected["undocumented"])
check("obsolete", lambda: result["obsolete"] == expected["obsolete"])
check("queries", lambda: result["queries"] == expected["queries"])
check("statuses_concerned", lambda: sorted(result["statuses"]) == sorted(expected["statuses"]))
check("statuses_missing", lambda: {k: v["missing"] for k, v in result["statuses"].items()} == {k: v["missing"] for k, v in expected["statuses"].items()})
check("statuses_extra", lambda: {k: v["extra"] for k, v in result["statuses"].items()} == {k: v["extra"] for k, v in expected["statuses"].items()})

os.makedirs("/logs/verifier", exist_ok=True)
json.dump(rewards, open("/logs/verifier/reward.json", "w"))
