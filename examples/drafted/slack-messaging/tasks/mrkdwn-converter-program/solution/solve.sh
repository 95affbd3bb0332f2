#!/bin/bash
set -e
cat > /app/md2slack.py <<'PY'
"""Convert a Markdown report to text for Slack."""
import re
import sys

CODE = r"`[^`\n]+`"
TOKEN = re.compile(
    r"(?P<code>" + CODE + r")"
    r"|(?P<auto><https?://[^>\s]+>)"
    r"|\[(?P<label>[^\]\n]+)\]\((?P<url>(?:[^()\s]|\([^()\s]*\))+)\)"
    r"|(?P<bare>https?://[^\s<>*]+)"
    r"|\*\*\*(?![\s*])(?P<both>(?:" + CODE + r"|[^*\n])+?)(?<=\S)\*\*\*(?!\*)"
    r"|\*\*(?=\S)(?P<bold1>(?:" + CODE + r"|[^\n])+?)(?<=\S)\*\*(?!\*)"
    r"|(?<!\w)__(?=\S)(?P<bold2>(?:" + CODE + r"|[^\n])+?)(?<=\S)__(?!\w)"
    r"|(?<![\w*])\*(?![\s*])(?P<ital1>(?:" + CODE + r"|\*\*[^*\n]+\*\*|[^*\n])+?)(?<=\S)\*(?![\w*])"
    r"|(?<!\w)_(?![\s_])(?P<ital2>(?:" + CODE + r"|__[^_\n]+__|[^_\n])+?)(?<=\S)_(?!\w)"
    r"|~~(?=\S)(?P<strike>(?:" + CODE + r"|[^\n])+?)(?<=\S)~~"
)


def esc(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def inline(text, bold=False):
    out = []
    pos = 0
    for m in TOKEN.finditer(text):
        out.append(esc(text[pos:m.start()]))
        pos = m.end()
        strong = m["bold1"] or m["bold2"]
        slanted = m["ital1"] or m["ital2"]
        if m["code"] or m["bare"]:
            out.append(esc(m.group(0)))
        elif m["auto"]:
            out.append("<" + esc(m["auto"][1:-1]) + ">")
        elif m["url"]:
            out.append("<" + esc(m["url"]) + "|" + esc(m["label"]) + ">")
        elif m["both"]:
            inner = "_" + inline(m["both"], True) + "_"
            out.append(inner if bold else "*" + inner + "*")
        elif strong:
            inner = inline(strong, True)
            out.append(inner if bold else "*" + inner + "*")
        elif slanted:
            out.append("_" + inline(slanted, bold) + "_")
        else:
            out.append("~" + inline(m["strike"], bold) + "~")
    out.append(esc(text[pos:]))
    return "".join(out)


def convert(text):
    result = []
    fence = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        opening = re.match(r"(`{3}|~{3})", line)
        if fence:
            if line.rstrip() == fence:
                fence = ""
                result.append("`" * 3)
            else:
                result.append(esc(line))
            continue
        if opening:
            fence = opening.group(1)
            result.append("`" * 3)
            continue
        if re.fullmatch(r"\s*([-*_])(?:\s*\1){2,}\s*", line):
            continue
        heading = re.match(r"#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$", line)
        item = re.match(r"(\s*)([-*+]|\d+\.)[ \t]+(.*)", line)
        quote = re.match(r">[ \t]?(.*)", line)
        if heading:
            result.append("*" + inline(heading.group(1), True) + "*")
        elif quote:
            result.append("> " + inline(quote.group(1)))
        elif item:
            marker = item.group(2) if item.group(2)[0].isdigit() else "-"
            result.append(item.group(1) + marker + " " + inline(item.group(3)))
        else:
            result.append(inline(line))
    return "\n".join(result)


sys.stdout.buffer.write(convert(sys.stdin.buffer.read().decode("utf-8")).encode("utf-8"))
PY
