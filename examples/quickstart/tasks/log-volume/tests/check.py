"""Events and bytes of each host, counted again."""
import csv
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, same


def expected():
    hosts = {}
    with open(harness.INPUTS / "events.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            events, size = hosts.get(row["host"], (0, 0))
            hosts[row["host"]] = events + 1, size + int(row["bytes"])
    rows = [[host, str(events), str(size)] for host, (events, size) in sorted(hosts.items())]
    total = [str(sum(int(row[i]) for row in rows)) for i in (1, 2)]
    return rows, ["total", *total]


WANT, TOTAL = expected()


def rows():
    return [line.split(",") for line in harness.read("out/volume.csv").decode().split("\n")[:-1]]


@check
def nothing_else_in_out():
    same(harness.listing("out"), ["volume.csv"])


@check
def line_ends():
    raw = harness.read("out/volume.csv")
    assert raw.endswith(b"\n") and b"\r" not in raw and b"\n\n" not in raw


@check
def no_quotation_marks():
    assert b'"' not in harness.read("out/volume.csv")


@check
def header():
    same(rows()[0], ["host", "events", "bytes"])


@check
def three_fields_everywhere():
    same({len(row) for row in rows()}, {3})


@check
def number_of_rows():
    same(len(rows()), len(WANT) + 2)


@check
def hosts_in_order():
    same([row[0] for row in rows()[1:-1]], [row[0] for row in WANT])


@check
def events():
    same([row[1] for row in rows()[1:-1]], [row[1] for row in WANT])


@check
def sizes():
    same([row[2] for row in rows()[1:-1]], [row[2] for row in WANT])


@check
def total():
    same(rows()[-1], TOTAL)


harness.run()
