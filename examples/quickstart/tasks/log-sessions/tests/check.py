"""The sessions, worked out again from the events."""
import csv
import io
import ipaddress
import json
import pathlib
import sys
from datetime import datetime, timedelta, timezone

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, same

COLUMNS = ["session", "user", "network", "start", "end", "events", "hosts", "flag"]
GAP = timedelta(minutes=20)


def show(time):
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03d}Z"


def events():
    """Per (user, network): the events in true time."""
    with open(harness.INPUTS / "clocks.csv", newline="") as file:
        ahead = {row["host"]: int(row["offset_ms"]) for row in csv.DictReader(file)}
    streams = {}
    for number, line in enumerate((harness.INPUTS / "access.jsonl").read_text().splitlines()):
        event = json.loads(line)
        user = event["user"].lower().removeprefix("corp\\")
        if user.startswith("svc-") or event["path"].startswith("/health"):
            continue
        time = datetime.fromisoformat(event["ts"]).astimezone(timezone.utc)
        time -= timedelta(milliseconds=ahead.get(event["host"], 0))
        bits = 64 if ":" in event["src"] else 24
        network = str(ipaddress.ip_network(f"{event['src']}/{bits}", strict=False))
        entry = (time, event["host"], number, event["event"] == "logout", event["host"] in ahead)
        streams.setdefault((user, network), []).append(entry)
    return streams


def expected():
    found = []
    for (user, network), stream in events().items():
        session = []
        for entry in sorted(stream):
            if session and (session[-1][3] or entry[0] - session[-1][0] > GAP):
                found.append((user, network, session))
                session = []
            session.append(entry)
        found.append((user, network, session))
    found.sort(key=lambda item: (item[2][0][0], item[1]))
    counts, rows = {}, []
    for user, network, session in found:
        day = session[0][0].strftime("%Y%m%d")
        counts[user, day] = counts.get((user, day), 0) + 1
        rows.append(
            {
                "session": f"{user}-{day}-{counts[user, day]:02d}",
                "user": user,
                "network": network,
                "start": show(session[0][0]),
                "end": show(session[-1][0]),
                "events": str(len(session)),
                "hosts": "+".join(sorted({entry[1] for entry in session})),
                "flag": "-" if all(entry[4] for entry in session) else "u",
            }
        )
    return sorted(rows, key=lambda row: (row["start"], row["session"]))


WANT = expected()


def table():
    return list(csv.reader(io.StringIO(harness.read("out/sessions.csv").decode("utf-8"))))


def rows(user=None):
    got = [dict(zip(COLUMNS, row)) for row in table()[1:]]
    return [row for row in got if user in (None, row["user"])]


def compare(column):
    same([row[column] for row in rows()], [row[column] for row in WANT], column)


def of(user):
    same(rows(user), [row for row in WANT if row["user"] == user], user)


@check
def header():
    same(table()[0], COLUMNS)


@check
def number_of_sessions():
    same(len(rows()), len(WANT))


@check
def users_in_order():
    compare("user")


@check
def session_ids():
    compare("session")


@check
def networks():
    compare("network")


@check
def starts():
    compare("start")


@check
def ends():
    compare("end")


@check
def numbers_of_events():
    compare("events")


@check
def hosts():
    compare("hosts")


@check
def flags():
    compare("flag")


@check
def a_gap_of_exactly_twenty_minutes_goes_on():
    of("ana")


@check
def skewed_clocks_and_logouts():
    of("bo")


@check
def midnight_and_long_addresses():
    of("cleo")
    of("dirk")


@check
def services_and_health_checks_are_left_out():
    assert not [row for row in rows() if row["user"].startswith("svc-")]
    of("finn")


harness.run()
