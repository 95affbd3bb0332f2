"""The production card."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, lines, same, table

WANT = """10,K,leek,13.45,kg
20,K,cream,4.40,kg
30,K,butter,3.90,kg
40,K,egg,3.45,kg
50,K,mountain cheese,3.15,kg
60,T,wheat flour,6.70,kg
70,T,breadcrumbs,735,g
80,T,baking powder,77,g
90,G,salt,160,g
100,G,black pepper,39,g
110,G,nutmeg,27,g"""
WANT = [line.split(",") for line in WANT.splitlines()]

def sum_row(rows):
    total = sum(at * sum(line.encode()) for at, line in enumerate(rows, 1)) % 9973
    return f"99,SUM {len(rows) - 1},{total:04d}" + "," * (rows[0].count(",") - 2)


def ingredients():
    return [row for row in table("out/card.csv") if row[0] not in ("00", "99")]


@check
def header():
    same(lines("out/card.csv")[0], "line,station,ingredient,quantity,unit")


@check
def card_row():
    same(lines("out/card.csv")[1], "00,CARD,KC-135-7T,,")


@check
def ingredients_without_water():
    same(sorted(row[2] for row in ingredients()), sorted(row[2] for row in WANT))


@check
def stations_in_order():
    same([(row[1], row[2]) for row in ingredients()], [(row[1], row[2]) for row in WANT])


@check
def line_numbers():
    same([row[0] for row in ingredients()], [row[0] for row in WANT])


@check
def quantities():
    same({row[2]: row[3:] for row in ingredients()}, {row[2]: row[3:] for row in WANT})


@check
def sum_at_the_end():
    rows = lines("out/card.csv")
    same(rows[-1], sum_row(rows[:-1]))


harness.run()
