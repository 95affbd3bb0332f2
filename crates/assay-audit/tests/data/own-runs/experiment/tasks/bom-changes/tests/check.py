"""The changes between two revisions."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, lines, same, table

WANT = """Z1,KL.215.03/8,0,4,ECR
Z1,SW.020.3P/7,0,2,HOLD
Z2,KL.230.02/0,10,0,ECR
Z2,SW.016.3P/7,2,0,HOLD
Z4,KL.204.07/4,36,40,GO
Z4,KL.208.01/7,5,8,ECR
Z4,SW.025.1P/9,4,5,HOLD
Z4,WR.250.GY/5,3.5,5.5,ECR
Z4,WR.400.RD/1,4.0,5.5,ECR
Z5,KL.204.12/3,KL.204.11/7,KL.204.12/3,GO"""
WANT = [line.split(",") for line in WANT.splitlines()]


def changes():
    return [row for row in table("out/changes.csv") if row[0] != "#END"]


def column(at):
    same([row[at] for row in changes()], [row[at] for row in WANT])


@check
def header():
    same(lines("out/changes.csv")[0], "code,part,old,new,action")


@check
def codes():
    column(0)


@check
def parts():
    column(1)


@check
def quantities():
    same([row[2:4] for row in changes()], [row[2:4] for row in WANT])


@check
def actions():
    column(4)


@check
def end():
    same(lines("out/changes.csv")[-1], "#END,10,,,")


@check
def holds():
    same(sorted(lines("out/holds.txt")), sorted(row[1] for row in WANT if row[4] == "HOLD"))


harness.run()
