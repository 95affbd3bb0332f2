"""The bursts of failed logins, worked out again from the log."""
import csv
import ipaddress
import json
import pathlib
import re
import sys
from datetime import datetime, timedelta

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, same

LINE = re.compile(r"(\S+) (\S+) sshd: (Failed|Accepted|Account) \S+ for (\S+)(?: from (\S+))?")
KEYS = ["user", "start", "end", "failures", "networks", "verdict", "flag"]
TEN, FIFTEEN = timedelta(minutes=10), timedelta(minutes=15)


def show(time):
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03d}Z"


def network(address):
    if not address:
        return None
    return str(ipaddress.ip_network(f"{address}/{64 if ':' in address else 24}", strict=False))


def events():
    with open(harness.INPUTS / "clocks.csv", newline="") as file:
        ahead = {row["host"]: int(row["offset_ms"]) for row in csv.DictReader(file)}
    users = {}
    for number, line in enumerate((harness.INPUTS / "auth.log").read_text().splitlines()):
        stamp, host, kind, user, address = LINE.fullmatch(line).groups()
        time = datetime.fromisoformat(stamp) - timedelta(milliseconds=ahead.get(host, 0))
        entry = (time, host, number, kind, network(address), host in ahead)
        users.setdefault(user.lower().removeprefix("corp\\"), []).append(entry)
    return {user: sorted(entries) for user, entries in users.items()}


def bursts_of(run):
    """The bursts of one run of failures."""
    found, index = [], 0
    while index + 4 < len(run):
        if run[index + 4][0] - run[index][0] > TEN:
            index += 1
            continue
        end = index + 5
        while end < len(run) and run[end][0] - run[end - 1][0] <= TEN:
            end += 1
        found.append(run[index:end])
        index = end
    return found


def judge(burst, closing):
    if closing is None or closing[0] - burst[-1][0] > FIFTEEN:
        return "open", []
    if closing[3] == "Account":
        return "locked", [closing]
    inside = closing[4] in {entry[4] for entry in burst}
    return ("breach" if inside else "recovered"), [closing]


def expected():
    rows = []
    for user, entries in events().items():
        run = []
        for entry in [*entries, None]:
            if entry and entry[3] == "Failed":
                run.append(entry)
                continue
            found = bursts_of(run)
            for burst in found:
                verdict, deciding = judge(burst, entry if burst is found[-1] else None)
                rows.append(
                    {
                        "user": user,
                        "start": show(burst[0][0]),
                        "end": show(burst[-1][0]),
                        "failures": len(burst),
                        "networks": sorted({e[4] for e in burst}),
                        "verdict": verdict,
                        "flag": "-" if all(e[5] for e in burst + deciding) else "u",
                    }
                )
            run = []
    return sorted(rows, key=lambda row: (row["start"], row["user"]))


WANT = expected()


def bursts():
    return json.loads(harness.read("out/logins.json"))["bursts"]


def compare(key):
    same([row[key] for row in bursts()], [row[key] for row in WANT], key)


def of(user):
    same([r for r in bursts() if r["user"] == user], [r for r in WANT if r["user"] == user], user)


@check
def one_key_at_the_top():
    same(list(json.loads(harness.read("out/logins.json"))), ["bursts"])


@check
def keys_of_a_burst():
    same({tuple(sorted(row)) for row in bursts()}, {tuple(sorted(KEYS))})


@check
def number_of_bursts():
    same(len(bursts()), len(WANT))


@check
def users_in_order():
    compare("user")


@check
def starts():
    compare("start")


@check
def ends():
    compare("end")


@check
def failures():
    compare("failures")


@check
def networks():
    compare("networks")


@check
def verdicts():
    compare("verdict")


@check
def flags():
    compare("flag")


@check
def ten_minutes_are_inclusive():
    of("ivo")
    of("jana")


@check
def skew_is_taken_out_before_runs_are_cut():
    of("kim")
    of("leo")


@check
def two_bursts_of_one_run():
    of("mia")


@check
def service_accounts_stay_in():
    of("svc-sync")


harness.run()
