"""One export a currency, worked out again from the postings."""
import calendar
import json
import pathlib
import sys
from decimal import ROUND_HALF_EVEN, Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, same

EXPONENT = {"JPY": 0, "KWD": 3}


def detail(posting, exponent, first, last):
    """The sort key, the minor units and the text of a posting, or None where it is left out."""
    major = Decimal(posting["debit"] or 0) - Decimal(posting["credit"] or 0)
    minor = int(major.scaleb(exponent).quantize(Decimal(1), ROUND_HALF_EVEN))
    date, text = posting["posted"].replace("-", ""), posting["memo"]
    if minor == 0 or date > last:
        return None
    if date < first:
        date, text = first, "LATE " + text
    text = "".join("?" if ord(c) > 127 else "/" if c == "|" else c for c in text)
    ref = "".join(c for c in posting["doc"].upper() if c.isascii() and c.isalnum())[-10:]
    return (posting["account"], minor < 0, date, ref), minor, text[:24].rstrip()


def expected():
    book = json.loads((harness.INPUTS / "postings.json").read_text(encoding="utf-8"))
    year, month = map(int, book["month"].split("-"))
    first = f"{year}{month:02d}01"
    last = f"{year}{month:02d}{calendar.monthrange(year, month)[1]}"
    files = {}
    for currency in sorted({p["currency"] for p in book["postings"]}):
        exponent = EXPONENT.get(currency, 2)
        mine = [p for p in book["postings"] if p["currency"] == currency]
        rows = [row for p in mine if (row := detail(p, exponent, first, last))]
        if not rows:
            continue
        rows.sort(key=lambda row: row[0])
        off = sum(row[1] for row in rows)
        if off:
            rows.append((("999999", off > 0, last, "SUSPENSE"), -off, "Out of balance"))
        lines = [f"H|LX3|{book['entity']}|FY{year % 100}P{month + 9:02d}|{currency}|{exponent}"]
        total = debits = 0
        for index, ((account, credit, date, ref), minor, text) in enumerate(rows, 1):
            total += 10 * index * int(account)
            debits += max(minor, 0)
            amount = f"({-minor})" if credit else str(minor)
            lines.append(f"D|{index * 10:04d}|{account[:4]}.{account[4:]}|{date}|{amount}|{ref}|{text}")
        lines.append(f"T|{len(rows)}|{debits}|{debits}|{total % 999983:06d}")
        files[currency] = lines
    return files


WANT = expected()


def lines(currency):
    return harness.read(f"out/{currency}.lx").decode("ascii").split("\n")[:-1]


def compare(currency, *fields):
    got, want = ([line.split("|") for line in side] for side in (lines(currency), WANT[currency]))
    same(len(got), len(want), f"{currency}: number of lines")
    for row, other in zip(got[1:-1], want[1:-1]):
        same([row[i] for i in fields], [other[i] for i in fields], f"{currency}: line {other[1]}")


def for_all(function):
    for currency in WANT:
        function(currency)


@check
def the_right_files():
    same(harness.listing("out"), [f"{currency}.lx" for currency in WANT])


@check
def bytes_are_ascii_with_lf():
    for currency in WANT:
        raw = harness.read(f"out/{currency}.lx")
        assert raw.isascii() and b"\r" not in raw and raw.endswith(b"\n") and b"\n\n" not in raw, currency


@check
def headers():
    for_all(lambda c: same(lines(c)[0], WANT[c][0]))


@check
def yen_amounts():
    compare("JPY", 4)


@check
def dinar_amounts():
    compare("KWD", 4)


@check
def dollar_amounts():
    compare("USD", 4)


@check
def sequences_and_accounts():
    for_all(lambda c: compare(c, 0, 1, 2))


@check
def dates():
    for_all(lambda c: compare(c, 3))


@check
def references():
    for_all(lambda c: compare(c, 5))


@check
def texts():
    for_all(lambda c: compare(c, 6))


@check
def suspense_lines():
    for_all(lambda c: same("9999.99" in lines(c)[-2], "9999.99" in WANT[c][-2], c))


@check
def trailers():
    for_all(lambda c: same(lines(c)[-1], WANT[c][-1]))


@check
def whole_files():
    for_all(lambda c: same(lines(c), WANT[c], c))


harness.run()
