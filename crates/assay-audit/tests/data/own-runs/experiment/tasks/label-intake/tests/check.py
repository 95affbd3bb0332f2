"""The labels of one delivery."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, lines, read, same, table

WANT = """CSF-26047-101E,*0033,CSF,F80-A,ok
CSF-26047-102W,*0033,CSF,QTN,QNS+TX
SRM-26047-101R,*8841,SRM,F80-B,ok
SRM-26047-102G,*1276,SRM,F80-B,ok
PLX-26047-101P,*8841,PLX,F80-B,QNS
URD-26047-101Y,*1276,URD,QTN,QNS+TX
URD-26047-102P,*4410,URD,C04,ok
SWK-26047-101B,*9107,SWK,C04,ok
SWK-26047-102T,*4410,SWK,QTN,TX"""
WANT = [line.split(",") for line in WANT.splitlines()]

def seal_of(data):
    total = 17
    for byte in data:
        total = (total * 31 + byte) % 999961
    return f"SEAL/2 {data.count(10) - 1} {total:06d}\n"


def column(at):
    same([row[at] for row in table("out/labels.csv")], [row[at] for row in WANT])


@check
def header():
    same(lines("out/labels.csv")[0], "label,donor,material,store,flag")


@check
def labels():
    column(0)


@check
def donors_are_masked():
    column(1)


@check
def materials():
    column(2)


@check
def stores():
    column(3)


@check
def flags():
    column(4)


@check
def refused():
    same(read("out/refused.tsv").decode(), "6\tR3\n8\tR7\n11\tR7\n")


@check
def sealed():
    same(read("out/labels.csv.seal").decode(), seal_of(read("out/labels.csv")))


harness.run()
