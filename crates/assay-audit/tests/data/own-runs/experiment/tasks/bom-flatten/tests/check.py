"""The order list."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, lines, same, table

WANT = """0030,HP.610.20/2,1,pc,H2
0040,AS.310.05/3,1,pc,A5
0050,SW.020.3P/7,2,pc,E2
0060,SW.025.1P/9,4,pc,E2
0070,KL.204.07/4,36,pc,E1
0080,KL.208.01/7,5,pc,E1
0090,WR.150.BK/0,9.5,m,W6
0100,WR.250.GY/5,3.5,m,W6
0110,FS.004.16/4,75,pc,F9
0120,FS.005.20/0,25,pc,F9"""
WANT = [line.split(",") for line in WANT.splitlines()]


def column(at):
    same([row[at] for row in table("out/bom.csv")], [row[at] for row in WANT])


def quantities(prefix):
    plain = lambda part: part.upper().replace(" ", ".").replace("-", ".").split("/")[0]
    found = {plain(row[1]): row[2] for row in table("out/bom.csv")}
    wanted = {plain(row[1]): row[2] for row in WANT}
    keep = lambda rows: {part: qty for part, qty in rows.items() if part.startswith(prefix)}
    same(keep(found), keep(wanted))


@check
def header():
    same(lines("out/bom.csv")[0], "pos,part,qty,unit,class")


@check
def positions():
    column(0)


@check
def parts_in_order():
    column(1)


@check
def units_and_classes():
    column(3)
    column(4)


@check
def terminals():
    quantities("KL")


@check
def wire_with_allowance():
    quantities("WR")


@check
def screws_in_packs():
    quantities("FS")


@check
def bought_assembly():
    same([row for row in table("out/bom.csv") if "310" in row[1]], [WANT[1]])


harness.run()
