"""The export of one month, worked out again from the journal."""
import calendar
import csv
import json
import pathlib
import re
import sys
from decimal import ROUND_HALF_EVEN, Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, same

OUT = "out/ledger.lx"


def expected():
    closing = json.loads((harness.INPUTS / "closing.json").read_text())
    year, month = map(int, closing["month"].split("-"))
    first = f"{year}{month:02d}01"
    last = f"{year}{month:02d}{calendar.monthrange(year, month)[1]}"
    found = []
    with open(harness.INPUTS / "journal.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            date, text = row["date"].replace("-", ""), row["text"]
            cents = int((Decimal(row["amount"]) * 100).quantize(Decimal(1), ROUND_HALF_EVEN))
            if not cents or date > last:
                continue
            if date < first:
                date, text = first, "LATE " + text
            ref = re.sub("[^A-Z0-9]", "", row["ref"].upper())[-10:]
            text = "".join(c if ord(c) < 128 else "?" for c in text).replace("|", "/")
            found.append([row["account"], cents < 0, date, ref, cents, text[:24].rstrip()])
    found.sort(key=lambda line: line[:4])
    rest = -sum(line[4] for line in found)
    if rest:
        found.append(["999999", rest < 0, last, "SUSPENSE", rest, "Out of balance"])
    fiscal, number = (year + 1, month - 3) if month > 3 else (year, month + 9)
    head = f"H|LX3|{closing['entity']}|FY{fiscal % 100:02d}P{number:02d}|{closing['currency']}|2"
    details, total = [], 0
    for index, (account, _, date, ref, cents, text) in enumerate(found, 1):
        total += 10 * index * int(account)
        amount = str(cents) if cents > 0 else f"({-cents})"
        shown = f"{account[:4]}.{account[4:]}"
        details.append(["D", f"{10 * index:04d}", shown, date, amount, ref, text])
    debit = sum(line[4] for line in found if line[4] > 0)
    trailer = f"T|{len(found)}|{debit}|{debit}|{total % 999983:06d}"
    return head, details, trailer


HEAD, DETAILS, TRAILER = expected()


def lines():
    return harness.read(OUT).decode("ascii").split("\n")[:-1]


def column(index):
    return [line.split("|")[index] for line in lines() if line.startswith("D|")]


def compare(index, what):
    same(column(index), [row[index] for row in DETAILS], what)


@check
def nothing_else_in_out():
    same(harness.listing("out"), ["ledger.lx"])


@check
def bytes_are_ascii_with_lf():
    raw = harness.read(OUT)
    assert raw.isascii() and b"\r" not in raw and raw.endswith(b"\n") and b"\n\n" not in raw


@check
def kinds_of_lines():
    same("".join(line[:2] for line in lines()), "H|" + "D|" * len(DETAILS) + "T|")


@check
def header():
    same(lines()[0], HEAD)


@check
def number_of_fields():
    same({line.count("|") for line in lines()[1:-1]}, {6})


@check
def sequence():
    compare(1, "seq")


@check
def accounts_in_order():
    compare(2, "account")


@check
def dates():
    compare(3, "date")


@check
def amounts():
    compare(4, "amount")


@check
def references():
    compare(5, "ref")


@check
def texts():
    compare(6, "text")


@check
def entries_after_the_month_are_left_out():
    assert not any("Chairs" in line for line in lines())
    same(len(column(0)), len(DETAILS))


@check
def late_entries_are_marked():
    same(sum(text.startswith("LATE ") for text in column(6)), 2)


@check
def suspense_line():
    same(lines()[-2].split("|"), DETAILS[-1])


@check
def trailer():
    same(lines()[-1], TRAILER)


harness.run()
