"""The statement in the customer's layout, worked out again from the journal."""
import csv
import json
import pathlib
import sys
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, same

OUT = "out/statement.csv"


def german(amount):
    return f"{amount:.2f}".replace(".", ",")


def expected():
    ask = json.loads((harness.INPUTS / "request.json").read_text())
    balance, rows = Decimal(ask["opening_balance"]), []
    with open(harness.INPUTS / "journal.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["account"] == ask["account"] and ask["from"] <= row["date"] <= ask["to"]:
                amount = Decimal(row["amount"])
                balance += amount
                year, month, day = row["date"].split("-")
                text = row["text"].replace(";", ",")
                rows.append([f"{day}.{month}.{year}", row["ref"], text, german(amount)])
    return rows, german(balance)


ROWS, BALANCE = expected()


def lines():
    return harness.read(OUT).decode("utf-8").split("\n")


def column(index):
    return [line.split(";")[index] for line in lines()[1:-2]]


@check
def nothing_else_in_out():
    same(harness.listing("out"), ["statement.csv"])


@check
def line_ends():
    raw = harness.read(OUT)
    assert raw.endswith(b"\n") and b"\r" not in raw and b"\n\n" not in raw


@check
def no_byte_order_mark_and_no_quotes():
    raw = harness.read(OUT)
    assert not raw.startswith(b"\xef\xbb\xbf") and b'"' not in raw


@check
def header():
    same(lines()[0], "Datum;Beleg;Text;Betrag")


@check
def number_of_lines():
    same(len(lines()) - 3, len(ROWS))


@check
def four_fields_everywhere():
    same({line.count(";") for line in lines()[:-1]}, {3})


@check
def dates():
    same(column(0), [row[0] for row in ROWS])


@check
def documents():
    same(column(1), [row[1] for row in ROWS])


@check
def texts():
    same(column(2), [row[2] for row in ROWS])


@check
def amounts():
    same(column(3), [row[3] for row in ROWS])


@check
def balance():
    same(lines()[-2], f"Saldo;;;{BALANCE}")


harness.run()
