"""The findings, worked out again from the events."""
import csv
import io
import pathlib
import sys
from datetime import datetime, timedelta

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, same

COLUMNS = ["severity", "first", "last", "host", "facility", "code", "count", "flag"]
GRADES = {"emerg": 1, "alert": 1, "crit": 1, "err": 2, "warning": 3, "notice": 4, "info": 4, "debug": 4}
WINDOW = timedelta(seconds=60)


def show(time):
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03d}Z"


def table_of(name):
    with open(harness.INPUTS / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def grade(event):
    if event["code"].endswith("-T"):
        return 4
    return max(1, GRADES[event["level"]] - (event["facility"] in ("auth", "authpriv")))


def expected():
    """The rows above S4, and the number of S4 groups."""
    ahead = {row["host"]: int(row["offset_ms"]) for row in table_of("clocks.csv")}
    streams = {}
    for event in table_of("events.csv"):
        time = datetime.fromisoformat(event["time"])
        time -= timedelta(milliseconds=ahead.get(event["host"], 0))
        key = (event["host"], event["facility"], event["code"])
        streams.setdefault(key, []).append((time, grade(event)))
    rows, quiet = [], 0
    for (host, facility, code), stream in streams.items():
        stream.sort()
        while stream:
            group = [item for item in stream if item[0] - stream[0][0] <= WINDOW]
            stream = stream[len(group) :]
            severity = min(item[1] for item in group)
            if len(group) >= 10 and not code.endswith("-T"):
                severity = max(1, severity - 1)
            if severity == 4:
                quiet += 1
                continue
            first, last = show(group[0][0]), show(group[-1][0])
            flag = "-" if host in ahead else "u"
            rows.append([f"S{severity}", first, last, host, facility, code, str(len(group)), flag])
    rows.sort(key=lambda row: (row[0], row[1], row[3], row[5]))
    return rows, quiet


WANT, QUIET = expected()


def table():
    return list(csv.reader(io.StringIO(harness.read("out/findings.csv").decode("utf-8"))))


def rows():
    return table()[1:-1]


def compare(column):
    index = COLUMNS.index(column)
    same([row[index] for row in rows()], [row[index] for row in WANT], column)


def of(*codes):
    pick = lambda table: [row for row in table if row[5] in codes]
    same(pick(rows()), pick(WANT), "+".join(codes))


@check
def header():
    same(table()[0], COLUMNS)


@check
def number_of_findings():
    same(len(rows()), len(WANT))


@check
def severities():
    compare("severity")


@check
def first_times():
    compare("first")


@check
def last_times():
    compare("last")


@check
def hosts():
    compare("host")


@check
def codes():
    compare("code")


@check
def counts():
    compare("count")


@check
def flags():
    compare("flag")


@check
def authentication_is_graded_up():
    of("A200", "A201", "A202")


@check
def drills_are_quiet():
    assert not [row for row in rows() if row[5].endswith("-T")]


@check
def window_counts_from_the_first():
    of("D310", "D311")


@check
def ten_repeats_are_graded_up():
    of("D312", "D313", "K101")


@check
def gravest_grade_of_a_group():
    of("C400")


@check
def closing_line():
    same(table()[-1], ["#S4", str(QUIET)])


@check
def whole_table():
    same(rows(), WANT)


harness.run()
