#!/bin/bash
set -e
python3 - <<'END'
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
paths = {}
for (path, method), own in sorted(routes("/app").items()):
    parameters = [{"in": "path", "name": name, "required": True, "schema": {"type": "string"}} for name in own["path"]]
    parameters += [{"in": "query", "name": name, "schema": {"type": "string"}} for name in own["query"]]
    operation = {"parameters": parameters, "responses": {code: {"description": "Reply " + code} for code in own["statuses"]}}
    if own["body"]:
        schema = {"type": "object", "properties": {name: {} for name in own["body"]}}
        operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    paths.setdefault(path, {})[method] = operation
json.dump({"openapi": "3.0.3", "info": {"title": "Orders", "version": "1.0.0"}, "paths": paths}, open("/app/openapi.json", "w"), indent=1)
END
