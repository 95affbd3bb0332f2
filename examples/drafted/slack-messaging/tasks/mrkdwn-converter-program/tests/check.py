import json
import os
import re
import subprocess
import sys

PROGRAM = "/app/md2slack.py"
F = "`" * 3


def convert(source):
    done = subprocess.run([sys.executable, PROGRAM], input=source.encode("utf-8"), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=20)
    if done.returncode != 0:
        raise ValueError("status %d: %s" % (done.returncode, done.stderr[-300:]))
    return done.stdout.decode("utf-8")


def normal(text):
    """The text without the differences that the requirements allow."""
    result = []
    in_code = False
    for line in text.replace("\r\n", "\n").split("\n"):
        line = line.rstrip()
        if line.startswith(F):
            in_code = not in_code
            result.append(line)
            continue
        if not in_code:
            line = re.sub(r"https?://[^\s|>]+", lambda m: m.group(0).replace("&amp;", "&"), line)
            line = re.sub(r"^&gt; ?", "> ", line)
            line = re.sub(r"^>(?=\S)", "> ", line)
            m = re.match(r"(\s*)[-•◦▪]\s+(.*)", line)
            if m:
                indent = len(m.group(1).expandtabs(4))
                line = ("  " if indent >= 2 else m.group(1)) + "- " + m.group(2)
            if not line.strip():
                continue
        result.append(line)
    while result and not result[-1]:
        result.pop()
    return result


def check(cases):
    good = True
    for source, *accepted in cases:
        found = normal(convert(source))
        if found not in [normal(a) for a in accepted]:
            print("INPUT", repr(source), "FOUND", found)
            good = False
    return good


def test_emphasis():
    return check([
        ("**Build 118** failed in **lint** and __unit tests__.\n", "*Build 118* failed in *lint* and *unit tests*."),
        ("The *nightly* run was _slow_, **not** broken.\n", "The _nightly_ run was _slow_, *not* broken."),
        ("~~Skipped~~ **Done** *soon*\n", "~Skipped~ *Done* _soon_"),
        ("(*maybe*), (**surely**), (~~never~~)\n", "(_maybe_), (*surely*), (~never~)"),
    ])


def test_nested_emphasis():
    return check([
        ("This is ***urgent***.\n", "This is *_urgent_*.", "This is _*urgent*_."),
        ("**Deploy *today* please**, thanks\n", "*Deploy _today_ please*, thanks"),
        ("*Deploy **today** please*, thanks\n", "_Deploy *today* please_, thanks"),
        ("**one _two_** and ~~old **and bold**~~\n", "*one _two_* and ~old *and bold*~"),
    ])


def test_headings():
    return check([
        ("# Report 7\n\ntext\n", "*Report 7*\n\ntext"),
        ("## **Result** of run 7\n", "*Result of run 7*"),
        ("### **All bold**\n", "*All bold*"),
        ("## Status of *main* ##\n", "*Status of _main_*"),
        ("###### __Last__ level\n", "*Last level*"),
        ("#7 is no heading\n", "#7 is no heading"),
        ("# See [log 7](https://ci.example/7) & more\n", "*See <https://ci.example/7|log 7> &amp; more*"),
    ])


def test_links():
    return check([
        ("See [the log](https://ci.example/l?a=1&b=2).\n", "See <https://ci.example/l?a=1&b=2|the log>."),
        ("**[Run 12](https://ci.example/12)** and *[Run 13](https://ci.example/13)*\n",
         "*<https://ci.example/12|Run 12>* and _<https://ci.example/13|Run 13>_"),
        ("(as in [x](https://wiki.example/Foo_(bar)))\n", "(as in <https://wiki.example/Foo_(bar)|x>)"),
        ("[notes](https://ci.example/_new_/a_b_c) and **done**\n", "<https://ci.example/_new_/a_b_c|notes> and *done*"),
        ("[R&D <log>](https://ci.example/1)\n", "<https://ci.example/1|R&amp;D &lt;log&gt;>"),
        ("At <https://ci.example/x_y_z?p=1&q=2> now\n", "At <https://ci.example/x_y_z?p=1&q=2> now"),
        ("At https://ci.example/_x_/y now\n", "At https://ci.example/_x_/y now", "At <https://ci.example/_x_/y> now"),
        ("the array [0] (first) stays\n", "the array [0] (first) stays"),
    ])


def test_inline_code():
    return check([
        ("Use `**kwargs`, `a_b_c`, `_x_` or `[x](y)` **here**\n", "Use `**kwargs`, `a_b_c`, `_x_` or `[x](y)` *here*"),
        ("`a < b && c` is **wrong**\n", "`a &lt; b &amp;&amp; c` is *wrong*"),
        ("**use `x**y` now**\n", "*use `x**y` now*"),
        ("## The `--fast` flag\n", "*The `--fast` flag*", "*The* `--fast` *flag*"),
    ])


def test_code_blocks():
    inside = "# no heading\nx = a**b * c  # <tag> & [l](u)\n---\n* item\n> q\n~~old~~"
    shown = "# no heading\nx = a**b * c  # &lt;tag&gt; &amp; [l](u)\n---\n* item\n&gt; q\n~~old~~"
    return check([
        ("Before\n\n" + F + "python\n" + inside + "\n" + F + "\n\n**After**\n",
         "Before\n\n" + F + "\n" + shown + "\n" + F + "\n\n*After*"),
        ("~~~\n" + inside + "\n~~~\n", F + "\n" + shown + "\n" + F),
        (F + "\n  indented\n\n    more __init__\n" + F + "\n", F + "\n  indented\n\n    more __init__\n" + F),
    ])


def test_escaping():
    return check([
        ("if a < b && c > d then AT&T\n", "if a &lt; b &amp;&amp; c &gt; d then AT&amp;T"),
        ("**a < b** & *c*\n", "*a &lt; b* &amp; _c_"),
        ("write to <!channel> or <@U123>\n", "write to &lt;!channel&gt; or &lt;@U123&gt;"),
        ("- x -> y\n", "- x -&gt; y"),
    ])


def test_dividers_and_quotes():
    return check([
        ("a\n\n---\n\nb\n\n***\n\nc\n\n_ _ _\n\nd\n\n- - -\n", "a\n\nb\n\nc\n\nd"),
        ("> **Note:** see *below*, a > b & c\n> second line\n", "> *Note:* see _below_, a &gt; b &amp; c\n> second line"),
    ])


def test_lists():
    return check([
        ("* one\n* **two**\n  * nested *x*\n+ three\n", "- one\n- *two*\n  - nested _x_\n- three"),
        ("1. first\n2. *second*\n10. `third`\n", "1. first\n2. _second_\n10. `third`"),
        ("- a * b\n- **c** - d\n", "- a * b\n- *c* - d"),
    ])


def test_plain_text():
    same = ["Run 2 * 3 * 4 in build_all_targets and keep a-b.", "Größe: 1.5 GB – fertig; path/to_the/file_name.txt",
            "a_b and c_d, 5 - 3 = 2, 100 % (done)"]
    return convert("").strip() == "" and check([(s + "\n", s) for s in same] + [("\n".join(same) + "\n", "\n".join(same))])


TESTS = [test_emphasis, test_nested_emphasis, test_headings, test_links, test_inline_code, test_code_blocks,
         test_escaping, test_dividers_and_quotes, test_lists, test_plain_text]


def main():
    reward = {}
    for test in TESTS:
        try:
            reward[test.__name__] = 1 if test() else 0
        except Exception as error:
            print(test.__name__, repr(error))
            reward[test.__name__] = 0
    os.makedirs("/logs/verifier", exist_ok=True)
    with open("/logs/verifier/reward.json", "w") as handle:
        json.dump(reward, handle, indent=1)
    print(reward)


main()
