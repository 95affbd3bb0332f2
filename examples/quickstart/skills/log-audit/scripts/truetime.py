#!/usr/bin/env python3
"""Put events of several hosts in true time: truetime.py EVENTS CLOCKS [--stamp COLUMN] [--host COLUMN].

EVENTS is a CSV file with a header or a JSON Lines file. Prints JSON Lines, sorted, with the keys `true` and `flag`.
"""
import argparse
import csv
import json
from datetime import datetime, timedelta, timezone


def load(path):
    with open(path, encoding="utf-8", newline="") as file:
        if path.endswith(".csv"):
            return list(csv.DictReader(file))
        return [json.loads(line) for line in file if line.strip()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("events")
    parser.add_argument("clocks")
    parser.add_argument("--stamp", default="ts")
    parser.add_argument("--host", default="host")
    args = parser.parse_args()
    ahead = {row["host"]: int(row["offset_ms"]) for row in load(args.clocks)}
    rows = []
    for number, event in enumerate(load(args.events)):
        host = event[args.host]
        stamp = datetime.fromisoformat(event[args.stamp]).astimezone(timezone.utc)
        stamp -= timedelta(milliseconds=ahead.get(host, 0))
        true = stamp.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        rows.append((true, host, number, event | {"true": true, "flag": "-" if host in ahead else "u"}))
    for *_, event in sorted(rows, key=lambda row: row[:3]):
        print(json.dumps(event, ensure_ascii=False))


if __name__ == "__main__":
    main()
