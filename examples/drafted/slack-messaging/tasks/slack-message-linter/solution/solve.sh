#!/bin/bash
set -e
cat > /tmp/lint.py <<'PY'
import csv
import json
import re

FENCE = "`" * 3
CODE = re.compile(FENCE + r".+?" + FENCE + r"|`[^`\n]+`")
BOLD = re.compile(r"(?<![^\W_])(?<![/*.])\*\*(?![\s*/])(.+?)(?<![\s/])\*\*(?![^\W_])(?![/*])")
STRIKE = re.compile(r"~~(?=\S)(.+?)(?<=\S)~~")
LINK = re.compile(r"(?<![\w\]])\[([^\]\n]+)\]\((https?://(?:[^()\s]|\([^()\s]*\))+)\)")
DIVIDER = re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*")
HEADING = re.compile(r"#{1,6}\s+(\S.*)")


def lint(text):
    faults = []
    result = []
    in_block = False
    for number, line in enumerate(text.split("\n"), 1):
        if in_block:
            result.append(line)
            in_block = FENCE not in line
            continue
        codes = []

        def hide(match):
            codes.append(match.group(0))
            return chr(0xE000 + len(codes) - 1)

        line = CODE.sub(hide, line)
        if FENCE in line:
            in_block = True
            if re.fullmatch(FENCE + r"\w+\s*", line):
                faults.append((number, "CODELANG"))
                line = FENCE
            result.append(line)
            continue
        if DIVIDER.fullmatch(line):
            faults.append((number, "DIVIDER"))
            continue
        kinds = set()
        heading = HEADING.fullmatch(line)
        if heading:
            kinds.add("HEADING")
            line = heading.group(1).rstrip()
        line, count = LINK.subn(r"<\2|\1>", line)
        if count:
            kinds.add("LINK")
        line, count = STRIKE.subn(r"~\1~", line)
        if count:
            kinds.add("STRIKE")
        line, count = BOLD.subn(r"\1" if heading else r"*\1*", line)
        if count:
            kinds.add("BOLD")
        if heading:
            line = "*" + line + "*"
        line = re.sub("[\ue000-\uf8ff]", lambda m: codes[ord(m.group(0)) - 0xE000], line)
        faults.extend((number, kind) for kind in sorted(kinds))
        result.append(line)
    return faults, re.sub(r"\n{3,}", "\n\n", "\n".join(result)).rstrip("\n")


rows = []
lines = []
with open("/app/outbox.jsonl", encoding="utf-8") as handle:
    for raw in handle.read().split("\n"):
        if not raw.strip():
            continue
        message = json.loads(raw)
        faults, text = lint(message["text"])
        if faults:
            rows.extend((message["id"], number, code) for number, code in faults)
            message["text"] = text
            raw = json.dumps(message, ensure_ascii=False)
        lines.append(raw)

with open("/app/report.csv", "w", encoding="utf-8", newline="") as handle:
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(["id", "line", "code"])
    writer.writerows(rows)
with open("/app/fixed.jsonl", "w", encoding="utf-8") as handle:
    handle.write("\n".join(lines) + "\n")
PY
python3 /tmp/lint.py
