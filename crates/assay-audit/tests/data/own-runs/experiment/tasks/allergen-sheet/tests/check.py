"""The allergen sheet."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, lines, same, table

WANT = """CAESAR SALAD,GX/MK/EE/FS~cy,N3
WALNUT PASTA,GX/NT~ee,N3
BARLEY PILAF,GX~sy,N1
BEEF STEW,FS,N1
LEEK SOUP,MK/CY~gx,N1
NOODLE BOWL,GX/SY~nt,N1
POTATO SALAD,EE/CY~fs,N1
FRUIT PLATE,00~nt,N0
TOMATO SALAD,00,N0"""
WANT = [line.split(",") for line in WANT.splitlines()]

def sum_row(rows):
    total = sum(at * sum(line.encode()) for at, line in enumerate(rows, 1)) % 9973
    return f"99,SUM {len(rows) - 1},{total:04d}" + "," * (rows[0].count(",") - 2)


def dishes():
    return [row for row in table("out/sheet.csv") if row[0] != "99"]


@check
def header():
    same(lines("out/sheet.csv")[0], "dish,codes,notice")


@check
def every_dish_once():
    same(sorted(row[0].upper() for row in dishes()), sorted(row[0] for row in WANT))


@check
def dishes_in_order():
    same([row[0] for row in dishes()], [row[0] for row in WANT])


@check
def codes():
    same({row[0].upper(): row[1].split("~")[0] for row in dishes()}, {row[0]: row[1].split("~")[0] for row in WANT})


@check
def traces():
    same({row[0].upper(): row[1].partition("~")[2] for row in dishes()}, {row[0]: row[1].partition("~")[2] for row in WANT})


@check
def notices():
    same({row[0].upper(): row[2] for row in dishes()}, {row[0]: row[2] for row in WANT})


@check
def sum_at_the_end():
    rows = lines("out/sheet.csv")
    same(rows[-1], sum_row(rows[:-1]))


harness.run()
