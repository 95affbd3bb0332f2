#!/bin/bash
mkdir -p out
python3 - <<'PY'
import json
changes = [json.loads(line) for line in open("data/changes.jsonl")]

def section(c):
    if c["breaking"]:
        return "Act first"
    return {"feature": "New", "fix": "Mended", "security": "Mended"}.get(
        c["type"], "Under the floor" if c["component"] == "installer" else None)

lines, listed = ["# Nimbus 26.1.9"], 0
for name in ("Act first", "New", "Mended", "Under the floor"):
    those = [c for c in changes if section(c) == name]
    safe = lambda c: name == "Mended" and c["type"] == "security"
    those.sort(key=lambda c: (not safe(c), c["component"], c["id"]))
    lines += ["", f"## {name}"] if those else []
    for c in those:
        title = c["title"].rstrip(".")
        title = title[:47] + "…" if len(title) > 48 else title
        lines.append(f"- (NB-{c['id']:04d}) {'[S] ' if safe(c) else ''}{title} {{{c['component']}}}")
        listed += 1
text = "\n".join([*lines, "", f"Listed: {listed} of {len(changes)}"])
state = 7
for byte in text.encode():
    state = (state * 131 + byte) % 1_000_003
open("out/NOTES.md", "w").write(f"{text}\n<!-- nb {listed} {state:06d} -->\n")
PY
