import json, os
names = ['document', 'operations', 'path_parameters', 'required_strings', 'query_parameters', 'bodies', 'statuses', 'descriptions']
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

expected = routes("/tests/given")
spec = {}
try:
    spec = json.load(open("/app/openapi.json"))
except (OSError, ValueError):
    pass
def operations():
    return {(path, method): operation for path, item in spec["paths"].items() for method, operation in item.items() if method in ("get", "post", "put", "delete", "patch")}
def parameters(kind):
    def own(key, operation):
        shared = spec["paths"][key[0]].get("parameters", [])
        return sorted(p["name"] for p in operation.get("parameters", []) + shared if p["in"] == kind)
    return lambda: set(operations()) == set(expected) and all(own(key, operation) == sorted(expected[key][kind]) for key, operation in operations().items())
def bodies():
    for key, operation in operations().items():
        body = operation.get("requestBody")
        fields = sorted(body["content"]["application/json"]["schema"]["properties"]) if body else []
        if fields != expected[key]["body"]:
            return False
    return set(operations()) == set(expected)
def required():
    all = [p for (path, _), op in operations().items() for p in op.get("parameters", []) + spec["paths"][path].get("parameters", []) if p["in"] == "path"]
    return len(all) > 0 and all and [p for p in all if p.get("required") is not True or p["schema"]["type"] != "string"] == []
check("document", lambda: spec["openapi"].startswith("3.0") and spec["info"]["title"] and spec["info"]["version"])
check("operations", lambda: set(operations()) == set(expected))
check("path_parameters", parameters("path"))
check("required_strings", required)
check("query_parameters", parameters("query"))
check("bodies", bodies)
check("statuses", lambda: set(operations()) == set(expected) and all(sorted(op["responses"]) == expected[key]["statuses"] for key, op in operations().items()))
check("descriptions", lambda: len(operations()) > 0 and all(r["description"].strip() for op in operations().values() for r in op["responses"].values()))

os.makedirs("/logs/verifier", exist_ok=True)
json.dump(rewards, open("/logs/verifier/reward.json", "w"))
