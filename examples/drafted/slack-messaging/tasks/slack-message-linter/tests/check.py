import csv
import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
REPORT = "/app/report.csv"
FIXED = "/app/fixed.jsonl"

# One object for each message: its line in the queue, the repaired text (null if nothing is wrong), the faults
EXPECTED = []
with open(os.path.join(HERE, "expected.jsonl"), encoding="utf-8") as source:
    for text_line in source.read().split("\n"):
        if text_line:
            EXPECTED.append(json.loads(text_line))
ROWS = [(e["id"], str(line), code) for e in EXPECTED for line, code in e["faults"]]


def report():
    with open(REPORT, encoding="utf-8-sig", newline="") as handle:
        rows = [tuple(cell.strip() for cell in row) for row in csv.reader(handle) if row]
    if not rows or rows[0] != ("id", "line", "code"):
        raise ValueError("wrong header")
    if len(rows) < 2:
        raise ValueError("no rows")
    return rows[1:]


def fixed():
    with open(FIXED, encoding="utf-8") as handle:
        lines = [line for line in handle.read().split("\n") if line.strip()]
    if len(lines) != len(EXPECTED):
        raise ValueError("%d messages" % len(lines))
    return lines


def normal(text):
    return re.sub(r"\n(?:[ \t]*\n)+", "\n\n", text).strip("\n")


def found(*codes):
    return (sorted(r for r in report() if r[2] in codes) == sorted(r for r in ROWS if r[2] in codes))


def repaired(*codes):
    """Whether all messages that have a fault of these kinds have the right text."""
    for line, entry in zip(fixed(), EXPECTED):
        if any(code in codes for _, code in entry["faults"]):
            if normal(json.loads(line)["text"]) != normal(entry["fixed"]):
                print("WRONG", entry["id"], line)
                return False
    return True


def test_report_is_complete_and_in_order():
    return report() == ROWS


def test_no_false_alarms():
    good = {e["id"] for e in EXPECTED if not e["faults"]}
    return not any(row[0] in good for row in report())


def test_emphasis_found():
    return found("BOLD", "STRIKE")


def test_headings_and_dividers_found():
    return found("HEADING", "DIVIDER")


def test_links_and_languages_found():
    return found("LINK", "CODELANG")


def test_good_messages_unchanged():
    return all(line.rstrip("\r") == e["line"] for line, e in zip(fixed(), EXPECTED) if not e["faults"])


def test_emphasis_repaired():
    return repaired("BOLD", "STRIKE")


def test_headings_and_dividers_repaired():
    return repaired("HEADING", "DIVIDER")


def test_links_and_languages_repaired():
    return repaired("LINK", "CODELANG")


def test_other_fields_kept():
    for line, entry in zip(fixed(), EXPECTED):
        new = json.loads(line)
        old = json.loads(entry["line"])
        text = new.pop("text")
        old_text = old.pop("text")
        if new != old or (entry["faults"] and text == old_text):
            return False
    return True


TESTS = [test_report_is_complete_and_in_order, test_no_false_alarms, test_emphasis_found,
         test_headings_and_dividers_found, test_links_and_languages_found, test_good_messages_unchanged,
         test_emphasis_repaired, test_headings_and_dividers_repaired, test_links_and_languages_repaired,
         test_other_fields_kept]


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
