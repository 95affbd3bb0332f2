"""Writes patterns.json: what CPython's re finds with the expressions of the released auditor on random text."""
import json, random, re, sys

L = [r"\b(?:\d+\.\d+(?:\.\d+){0,2}|v\d+(?:\.\d+){0,3}|\d+\.\d+\.\d+[-+][\w.]+)\b", r"\b[A-Za-z_][\w-]*[/.][\w./-]+\b",
     r"""["'][^"'\n]{4,80}["']""", r"\b[A-Z][A-Z0-9_]{3,}\b"]
EDGE = [r"\btry\s*[:{(]", r"\bexcept\b", r"\bcatch\s*\(", r"\bif\s+[^:\n]{0,40}\b(?:is\s+None|== ?None|!= ?None)\b",
        r"(?i)\bnull\s*(?:check|guard)\b", r"\bassert\b", r"\braise\s+\w+", r"(?i)\bedge\s*case\b", r"(?i)\bboundary\b"]
SPLIT = r"(?<=[.!?])\s+(?=[A-Z\"'`])|\n{2,}"
PIECES = ["try", "except", "catch", "if", "is", "None", "==", "!=", "null", "NULL", "check", "guard", "chec\u212a", "assert", "asserts",
          "raise", "edge", "Edge", "case", "ca\u017fe", "cases", "boundary", "Boundary", "v1", "v", "1.2", "3.14.1", "2.0.0-rc.1", "1.",
          "src/main.rs", "a.b", "foo-bar", "foo-", "_x", "MAX_LEN", "ABCD", "A", "\"hello world\"", "'x'", "'", "\"", ".", "/", "-", ":",
          "(", "{", " ", "  ", "\n", "\n\n", "\t", "\u00a0", "\x1c", "\u3000", "\u00e9", "\u00b2", "\u0301", "\u212a", "\u0130", "\u03a3",
          "\u4e2d", "\u2460", "\u0663", "_", ",", "!", "?", "`", "x", "9", "The", "then", "\u0391\u03a3", "\U0001f600", "\ufe0f"]

def literals(t):
    out = {m.group(0) for m in re.finditer(L[0], t)}
    for p in L[1:]:
        out |= {s for m in re.finditer(p, t) if len(s := m.group(0).strip("\"'")) >= 6}
    return sorted(out)

def sentences(t):
    parts = re.split(SPLIT, t)
    if len(parts) == 1 and "." in t:
        parts = [p for p in t.split(".") if p.strip()]
    return [s for p in parts if len(s := p.strip()) >= 12]

def sections(t):
    starts = [m.start() for m in re.finditer(r"(?m)^#{1,6}\s+.+$", t)]
    parts = [t[a:b] for a, b in zip([0] + starts, starts + [len(t)])]
    return [p.strip() for p in parts if p.strip()]

r = random.Random(20260725)
cases = []
for i in range(500):
    t = "".join(r.choice(PIECES) for _ in range(r.randint(1, 24)))
    if i % 5 == 0:
        t = "".join(r.choice(["# ", "## A", "#", "\n", "\n", " ", "b", "####### c", "\t", "\x0b"]) for _ in range(r.randint(1, 14)))
    low = t.lower()
    cases.append({"text": t, "literals": literals(t), "edge": sum(len(re.findall(p, t)) for p in EDGE), "words": re.findall(r"\w+", low),
                  "terms": re.findall(r"\b[a-zA-Z][a-zA-Z0-9_-]+\b", low), "sentences": sentences(t), "sections": sections(t)})
print(json.dumps({"python": sys.version.split()[0], "seed": 20260725, "cases": cases}, ensure_ascii=True, separators=(",", ":")).replace('},{"text', '},\n{"text'))
