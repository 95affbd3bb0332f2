"""The plan of a release."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, lines, read, same

STEPS = ["01: freeze 26.2.18", "02: notes", "03: hold 252h", "04: announce ops-early+all-users", "05: open amber"]


def plan():
    return json.loads(read("out/release.json"))


@check
def keys():
    same(sorted(plan()), ["announce", "channel", "hold_hours", "version"])


@check
def version():
    same(plan()["version"], "26.2.18")


@check
def channel():
    same(plan()["channel"], "amber")


@check
def hold_hours():
    same(plan()["hold_hours"], 252)


@check
def announce():
    same(plan()["announce"], ["ops-early", "all-users"])


@check
def rollout():
    same(lines("out/ROLLOUT.txt"), STEPS)


harness.run()
