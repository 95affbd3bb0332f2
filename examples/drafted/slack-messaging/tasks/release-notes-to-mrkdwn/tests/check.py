import html
import json
import os
import re

PATH = "/app/message.txt"
FENCE = "`" * 3

EXPECTED = [
    "*Ledgerline 4.7.0*",
    "Invoice runs are *up to three times faster*, and this is the _last_ release that answers calls to API v1. "
    "Thanks to <@U04MK7Q1ZD> and <@U03JN55TPA>, who reported most of the faults below.",
    "*Breaking changes*",
    "- *Rounding:* amounts &lt; 0.01 are no longer dropped but carried over, so a plan of 3 * 12 months adds up.",
    "- `GET /v1/invoices?from=A&amp;to=B` is _deprecated_; use "
    "<https://docs.ledgerline.example/v2/list?type=all&amp;page=1|invoices &amp; credits> instead.",
    "- The setting retry_limit_ms is now called `retry.limit`:",
    "  - old values *must* be converted by hand, see "
    "<https://docs.ledgerline.example/wiki/Retry_(concept)|Retry (concept)>",
    "  - the ~beta~ converter is finished, and <@U05JS91WEB> answers questions about it",
    "*Fixed faults*",
    "1. Credit notes with amount &gt; 10,000 are exported again (_thanks_ to @dependabot for the tip).",
    "2. *<https://tracker.ledgerline.example/LED-2291|LED-2291>*: the pattern `*.draft` and the package "
    "`@jonas/ledger-cli` load again.",
    "3. Mail to billing@jon.example is no longer bounced; @lea-m watches the queue.",
    "> Note: customers of Smith &amp; Sons keep the _old_ layout until *30 June*.",
    "*Rules for `invoice.*` events*",
    "This is the new format of the file:",
    FENCE,
    "# matches every **draft** of @jonas",
    "rules:",
    '  - match: "invoice.*.paid"',
    '    only_if: "amount &gt; 0 &amp;&amp; amount &lt; 5000"',
    '    status: "list[0] or ~~none~~"',
    '    docs: "[rules](https://docs.ledgerline.example/rules)"',
    FENCE,
    "Questions go to <@U04MK7Q1ZD>, and the status page is "
    "<https://status.ledgerline.example/?svc=billing&amp;view=all>",
]
BLOCK_LINES = EXPECTED[16:22]
HEADINGS = ["Ledgerline 4.7.0", "Breaking changes", "Fixed faults", "Rules for `invoice.*` events"]
STATUS = "https://status.ledgerline.example/?svc=billing&view=all"
BLOCK = re.compile(FENCE + r"(.*?)" + FENCE, re.S)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"<(https?://[^|>\s]+)\|([^>\n]*)>")


def load():
    with open(PATH, encoding="utf-8-sig") as handle:
        return handle.read().replace("\r\n", "\n")


def outside(text):
    """The text without its code blocks."""
    return BLOCK.sub("\n", text)


def prose(text):
    """The text without the content of any code."""
    return SPAN.sub("`x`", outside(text))


def body(text):
    """Prose without headings and without addresses of links."""
    known = {SPAN.sub("`x`", h).replace("*", "") for h in HEADINGS}
    lines = [l for l in prose(text).split("\n") if l.replace("*", "").strip() not in known]
    return LINK.sub(lambda m: "<" + m.group(2) + ">", "\n".join(lines))


def visible(text):
    """What a reader sees, without any formatting."""
    result = []
    text = LINK.sub(lambda m: m.group(2), text)
    text = re.sub(r"<(https?://[^>\s]+)>", lambda m: m.group(1), text)
    text = re.sub(r"<@[A-Z0-9]+>", "@", text)
    for line in html.unescape(text).split("\n"):
        line = re.sub(r"(?<![\w.])@[\w-]+", "@", line)
        line = re.sub(r"^\s*(?:[-•◦▪>]|#+)\s*", "", line)
        line = re.sub(r"[*_~`]", "", line)
        line = " ".join(line.split())
        if re.search(r"\w", line):
            result.append(line)
    return result


def test_headings(text):
    lines = [l.strip() for l in outside(text).split("\n")]
    if any(re.match(r"#{1,6}\s", l) for l in lines):
        return False
    for heading in HEADINGS:
        accepted = {"*" + heading + "*"}
        if "`" in heading:
            accepted.add("*Rules for* `invoice.*` *events*")
        if sum(l in accepted for l in lines) != 1:
            return False
    return True


def test_bold(text):
    found = re.findall(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])", body(text))
    return "**" not in prose(text) and found == [
        "up to three times faster", "Rounding:", "must", "<LED-2291>", "30 June"]


def test_italic_and_strike(text):
    part = body(text)
    italic = re.findall(r"(?<![\w_])_(?=\S)([^_\n]+?)(?<=\S)_(?![\w_])", part)
    strike = re.findall(r"(?<![\w~])~(?=\S)([^~\n]+?)(?<=\S)~(?![\w~])", part)
    return ("~~" not in part and italic == ["last", "deprecated", "thanks", "old"] and strike == ["beta"]
            and "3 * 12" in part and "retry_limit_ms" in part)


def test_links(text):
    part = prose(text)
    links = [(html.unescape(u), html.unescape(t)) for u, t in LINK.findall(part)]
    links = [l for l in links if l[0] != STATUS]
    return ("](" not in part and STATUS in html.unescape(part) and links == [
        ("https://docs.ledgerline.example/v2/list?type=all&page=1", "invoices & credits"),
        ("https://docs.ledgerline.example/wiki/Retry_(concept)", "Retry (concept)"),
        ("https://tracker.ledgerline.example/LED-2291", "LED-2291")])


def test_escaping(text):
    part = prose(text)
    if re.search(r"&(?:amp;)+(?:amp|lt|gt);", part):
        return False
    labels = [t for _, t in LINK.findall(part)]
    rest = re.sub(r"<(?:https?://[^>\n]*|@[A-Z0-9]+)>", "", part)
    rest = re.sub(r"(?m)^\s*>", "", rest)
    rest = re.sub(r"https?://\S+", "", rest)
    if "<" in rest or ">" in rest:
        return False
    if any(re.search(r"&(?!(?:amp|lt|gt);)", t) for t in labels + [rest]):
        return False
    return (re.findall(r"(\S+) &(\w+); (\S+)", rest) ==
            [("amounts", "lt", "0.01"), ("amount", "gt", "10,000"), ("Smith", "amp", "Sons")])


def test_mentions(text):
    part = prose(text)
    known = re.findall(r"<@([^>]*)>", text)
    plain = re.findall(r"(?<![\w.<])@[\w-]+", part)
    return (known == ["U04MK7Q1ZD", "U03JN55TPA", "U05JS91WEB", "U04MK7Q1ZD"]
            and plain == ["@dependabot", "@lea-m"] and "billing@jon.example" in part)


def test_inline_code(text):
    return SPAN.findall(outside(text)) == [
        "GET /v1/invoices?from=A&amp;to=B", "retry.limit", "*.draft", "@jonas/ledger-cli", "invoice.*"]


def test_code_block(text):
    blocks = BLOCK.findall(text)
    if len(blocks) != 1:
        return False
    lines = [l.rstrip() for l in blocks[0].strip("\n").split("\n")]
    return lines == BLOCK_LINES


def test_lists_and_quote(text):
    lines = [l.rstrip() for l in outside(text).split("\n") if l.strip()]
    if any(re.fullmatch(r"\s*(?:[-*_]\s*){3,}", l) for l in lines):
        return False
    shape = []
    for line in lines:
        m = re.match(r"(\s*)(?:([-•◦▪])|(\d+)\.)\s+\S", line)
        if m:
            indent = len(m.group(1).expandtabs(4))
            shape.append((m.group(3) or "-", 0 if indent == 0 else 1 if indent >= 2 else -1))
    quotes = [l for l in lines if re.match(r"(?:>|&gt;)\s*Note: ", l)]
    return (shape == [("-", 0), ("-", 0), ("-", 0), ("-", 1), ("-", 1), ("1", 0), ("2", 0), ("3", 0)]
            and len(quotes) == 1)


def test_complete_text(text):
    return visible(text) == visible("\n".join(EXPECTED))


TESTS = [test_headings, test_bold, test_italic_and_strike, test_links, test_escaping, test_mentions,
         test_inline_code, test_code_block, test_lists_and_quote, test_complete_text]


def main():
    reward = {}
    for test in TESTS:
        try:
            reward[test.__name__] = 1 if test(load()) else 0
        except Exception as error:
            print(test.__name__, repr(error))
            reward[test.__name__] = 0
    os.makedirs("/logs/verifier", exist_ok=True)
    with open("/logs/verifier/reward.json", "w") as handle:
        json.dump(reward, handle, indent=1)
    print(reward)


main()
