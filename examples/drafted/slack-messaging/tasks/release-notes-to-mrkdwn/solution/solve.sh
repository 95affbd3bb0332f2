#!/bin/bash
set -e
cat > /tmp/convert.py <<'PY'
import json
import re

people = json.load(open("/app/people.json", encoding="utf-8"))
lines = open("/app/CHANGELOG.md", encoding="utf-8").read().split("\n")

TOKEN = re.compile(
    r"(?P<code>`[^`]+`)"
    r"|(?P<auto><https?://[^>\s]+>)"
    r"|\[(?P<label>[^\]]+)\]\((?P<url>(?:[^()\s]|\([^()\s]*\))+)\)"
    r"|\*\*(?P<bold>.+?)\*\*"
    r"|(?<![\w*])\*(?=\S)(?P<ital>[^*]+?)(?<=\S)\*(?![\w*])"
    r"|~~(?P<strike>.+?)~~"
    r"|(?<![\w.@/-])@(?P<user>[A-Za-z0-9](?:-?[A-Za-z0-9])*)"
)


def esc(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def inline(text, bold=False):
    out = []
    pos = 0
    for m in TOKEN.finditer(text):
        out.append(esc(text[pos:m.start()]))
        pos = m.end()
        if m["code"]:
            out.append(esc(m["code"]))
        elif m["auto"]:
            out.append("<" + esc(m["auto"][1:-1]) + ">")
        elif m["url"]:
            out.append("<" + esc(m["url"]) + "|" + esc(m["label"]) + ">")
        elif m["bold"]:
            inner = inline(m["bold"], True)
            out.append(inner if bold else "*" + inner + "*")
        elif m["ital"]:
            out.append("_" + inline(m["ital"], bold) + "_")
        elif m["strike"]:
            out.append("~" + inline(m["strike"], bold) + "~")
        else:
            user = m["user"]
            out.append("<@" + people[user] + ">" if user in people else m.group(0))
    out.append(esc(text[pos:]))
    return "".join(out)


result = []
fence = "`" * 3
in_code = False
for line in lines:
    if line.startswith(fence):
        in_code = not in_code
        result.append(fence)
        continue
    if in_code:
        result.append(esc(line))
        continue
    if re.fullmatch(r"\s*([-*_])(?:\s*\1){2,}\s*", line):
        continue
    heading = re.match(r"#{1,6}\s+(.*)", line)
    item = re.match(r"(\s*)([-*+]|\d+\.)\s+(.*)", line)
    if heading:
        result.append("*" + inline(heading.group(1).strip(), True) + "*")
    elif line.startswith("> "):
        result.append("> " + inline(line[2:]))
    elif item:
        marker = item.group(2) if item.group(2)[0].isdigit() else "-"
        result.append(item.group(1) + marker + " " + inline(item.group(3)))
    else:
        result.append(inline(line))

message = re.sub(r"\n{3,}", "\n\n", "\n".join(result)).strip() + "\n"
with open("/app/message.txt", "w", encoding="utf-8") as handle:
    handle.write(message)
PY
python3 /tmp/convert.py
