"""Named checks, and the two files a verifier leaves. The same file lies in every task of this suite.

A check is a function that raises AssertionError. The reward is 1 when all of them hold, else 0.
"""
import csv
import json
import os
import pathlib
import stat
import time

APP = pathlib.Path("/app")
LOGS = pathlib.Path("/logs/verifier")
LIMIT = 1 << 20
_CHECKS = []


def check(function):
    _CHECKS.append(function)
    return function


def read(name):
    """The bytes of a regular file of the agent's, without following a link, up to a limit."""
    fd = os.open(APP / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        info = os.fstat(fd)
        assert stat.S_ISREG(info.st_mode), f"{name} is not a regular file"
        assert info.st_size <= LIMIT, f"{name} is larger than {LIMIT} bytes"
        return file.read(LIMIT)


def same(got, want, what="value"):
    assert got == want, f"{what}: got {got!r:.300}, want {want!r:.300}"


def lines(name):
    """The lines of a text file."""
    return read(name).decode().splitlines()


def table(name):
    """The rows of a CSV file below its header."""
    return list(csv.reader(lines(name)))[1:]


def run():
    tests = []
    for function in _CHECKS:
        begin = time.monotonic()
        row = {"name": function.__name__, "status": "passed"}
        try:
            function()
        except Exception as error:  # whatever the agent wrote, the report is written too
            row["status"] = "failed"
            row["message"] = f"{type(error).__name__}: {error}"[:600]
        row["duration"] = round(1000 * (time.monotonic() - begin))
        tests.append(row)
        print(row["status"], row["name"], row.get("message", ""), sep="\t")
    passed = sum(row["status"] == "passed" for row in tests)
    summary = {"tests": len(tests), "passed": passed, "failed": len(tests) - passed}
    summary |= {"pending": 0, "skipped": 0, "other": 0, "start": 0, "stop": 0}
    report = {"tool": {"name": "assay-own-runs"}, "summary": summary, "tests": tests}
    (LOGS / "ctrf.json").write_text(json.dumps({"results": report}, indent=1) + "\n")
    (LOGS / "reward.txt").write_text("1\n" if tests and passed == len(tests) else "0\n")
