"""The gate's answers. Every incoming file was built sound and then broken in one known way (or two)."""
import csv
import io
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, same

WANT = {
    "a01": ("A00", "0"),  # sound
    "a02": ("R01", "0"),  # an accented letter
    "a03": ("R02", "1"),  # two decimals for a currency with three
    "a04": ("R03", "1"),  # a thirteenth period
    "a05": ("R04", "4"),  # a minus sign
    "a06": ("R05", "8"),  # a number out of step; the hash is wrong too
    "a07": ("R06", "9"),  # two references swapped
    "a08": ("R07", "2"),  # the calendar month as the period
    "b01": ("R08", "0"),  # four cents missing
    "b02": ("R04", "11"),  # parentheses in the trailer
    "b03": ("R09", "11"),  # the trailer counts every line
    "b04": ("R10", "11"),  # hash off by one
    "b05": ("A00", "0"),  # suspense of exactly 100
    "b06": ("A01", "11"),  # suspense of 101
    "b07": ("A00", "0"),  # March is the twelfth period
    "b08": ("R07", "2"),  # April opens the next fiscal year
    "c01": ("R01", "0"),  # no line feed at the end
    "c02": ("A00", "0"),  # yen without decimals
    "c03": ("R07", "9"),  # the thirty-first of November
    "c04": ("R04", "7"),  # a blank at the end of a text
}


def rows():
    text = harness.read("out/intake.csv").decode("ascii").replace("\r\n", "\n")
    return list(csv.reader(io.StringIO(text)))


def answers():
    return {row[0]: tuple(row[1:]) for row in rows()[1:]}


@check
def header():
    same(rows()[0], ["file", "code", "line"])


@check
def every_file_once_in_order():
    same([row[0] for row in rows()[1:]], [f"{name}.lx" for name in WANT])


@check
def inputs_cover_the_table():
    same(sorted(p.stem for p in (harness.INPUTS / "incoming").iterdir()), list(WANT))


def one(name, want):
    def test():
        same(answers()[f"{name}.lx"], want, name)

    test.__name__ = f"answer_for_{name}"
    return test


for name, want in WANT.items():
    check(one(name, want))

harness.run()
