"""The release notes."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, lines, read, same

WANT = """# Nimbus 26.1.9

## Act first
- (NB-0405) Read settings from one file instead of three {agent}
- (NB-0421) Show times in the time zone of the server {dashboard}

## New
- (NB-0015) Install without administrator rights on all sys… {installer}
- (NB-0412) Pause a queue from the dashboard {scheduler}

## Mended
- (NB-0118) [S] Hide tokens in crash reports {agent}
- (NB-0099) [S] Reject certificates that were issued for anothe… {tunnel}
- (NB-0087) Restart after a full disk {agent}
- (NB-0366) Close the log when it rotates {agent}
- (NB-0377) Count skipped jobs once {scheduler}

## Under the floor
- (NB-0420) Sign packages with the new key {installer}

Listed: 10 of 12
"""
WANT = WANT.splitlines()
AUTHORS = ("ekholm", "oyelaran", "castellan", "brandvold", "guest")


def section(rows, name):
    start = rows.index(f"## {name}") + 1
    end = next((at for at in range(start, len(rows)) if not rows[at]), len(rows))
    return rows[start:end]


@check
def title():
    same(lines("out/NOTES.md")[0], WANT[0])


@check
def sections():
    same([row for row in lines("out/NOTES.md") if row.startswith("#")], [row for row in WANT if row.startswith("#")])


@check
def breaking_changes_first():
    same(section(lines("out/NOTES.md"), "Act first"), section(WANT, "Act first"))


@check
def features():
    same(section(lines("out/NOTES.md"), "New"), section(WANT, "New"))


@check
def fixes():
    same(section(lines("out/NOTES.md"), "Mended"), section(WANT, "Mended"))


@check
def no_names():
    text = read("out/NOTES.md").decode()
    same([name for name in AUTHORS if name in text], [])


@check
def count():
    same([row for row in lines("out/NOTES.md") if row.startswith("Listed")], ["Listed: 10 of 12"])


@check
def stamp():
    *text, last = lines("out/NOTES.md")
    state = 7
    for byte in "\n".join(text).encode():
        state = (state * 131 + byte) % 1_000_003
    same(last, f"<!-- nb {sum(row.startswith('- (NB-') for row in text)} {state:06d} -->")


harness.run()
