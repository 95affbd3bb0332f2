"""The drift report, worked out again from the two configurations."""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, same

CLASSES = ["missing", "changed", "type", "extra"]
SECONDS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
BYTES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def tidy(node, key=""):
    """Without what is left out, with units as numbers."""
    if isinstance(node, dict):
        kept = {k: v for k, v in node.items() if k[:1] != "_" and not k.endswith("_at") and k != "runtime"}
        return {k: tidy(v, k) for k, v in kept.items()}
    if isinstance(node, list):
        return [tidy(item) for item in node]
    if isinstance(node, str) and key.endswith(("_timeout", "_interval", "_ttl")):
        if re.fullmatch(r"(\d+(d|h|ms|m|s))+", node):
            parts = re.findall(r"(\d+)(d|h|ms|m|s)", node)
            return -(-sum(int(n) * SECONDS[u] for n, u in parts) // 1000)
    if isinstance(node, str) and key.endswith("_size"):
        match = re.fullmatch(r"(\d+)(Ki|[kMG]i?|(?=B))B?", node)
        if match:
            return int(match[1]) * BYTES[match[2]]
    return node


def compact(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def mask(value):
    if isinstance(value, dict):
        return {key: mask(item) for key, item in value.items()}
    if isinstance(value, list):
        return [mask(item) for item in value]
    return "***" if isinstance(value, str) and value.startswith("vault:") else value


def as_text(value):
    return value if isinstance(value, str) else compact(value)


def by_id(items):
    return isinstance(items, list) and items and all(isinstance(i, dict) and "id" in i for i in items)


def compare(wanted, running, path, rows):
    if isinstance(wanted, dict) and isinstance(running, dict):
        step = lambda key: (path + "." if path else "") + key.replace(".", "\\.")
        pairs = wanted, running
    elif by_id(wanted) and by_id(running):
        step = lambda key: f"{path}[id={key}]"
        pairs = {item["id"]: item for item in wanted}, {item["id"]: item for item in running}
    else:
        if isinstance(wanted, list) and isinstance(running, list):
            equal = sorted(map(compact, wanted)) == sorted(map(compact, running))
        else:
            equal = compact(wanted) == compact(running)
        if not equal:
            scalars = not isinstance(wanted, (dict, list)) and not isinstance(running, (dict, list))
            alike = scalars and as_text(wanted) == as_text(running)
            rows.append(["type" if alike else "changed", path, compact(mask(wanted)), compact(mask(running))])
        return
    for key in {**pairs[0], **pairs[1]}:
        if key not in pairs[1]:
            rows.append(["missing", step(key), compact(mask(pairs[0][key])), "-"])
        elif key not in pairs[0]:
            rows.append(["extra", step(key), "-", compact(mask(pairs[1][key]))])
        else:
            compare(pairs[0][key], pairs[1][key], step(key), rows)


def expected():
    sides = [json.loads((harness.INPUTS / f"{n}.json").read_text(encoding="utf-8")) for n in ("wanted", "running")]
    rows = []
    compare(tidy(sides[0]), tidy(sides[1]), "", rows)
    rows.sort(key=lambda row: (not row[1].startswith("security."), CLASSES.index(row[0]), row[1]))
    return rows


WANT = expected()


def lines():
    return harness.read("out/drift.tsv").decode("utf-8").split("\n")[:-1]


def rows():
    return [line.split("\t") for line in lines()[1:-1]]


def of(start):
    same([r for r in rows() if r[1].startswith(start)], [r for r in WANT if r[1].startswith(start)], start)


@check
def nothing_else_in_out():
    same(harness.listing("out"), ["drift.tsv"])


@check
def header():
    same(lines()[0], "class\tpath\twanted\trunning")


@check
def four_columns():
    same({len(row) for row in rows()}, {4})


@check
def number_of_rows():
    same(len(rows()), len(WANT))


@check
def order_of_rows():
    same([row[:2] for row in rows()], [row[:2] for row in WANT])


@check
def wanted_values():
    same([row[2] for row in rows()], [row[2] for row in WANT])


@check
def running_values():
    same([row[3] for row in rows()], [row[3] for row in WANT])


@check
def noise_is_left_out():
    assert not [row for row in rows() if re.search(r"(^|\.)(_|runtime)|_at$", row[1])]


@check
def units_are_compared_as_numbers():
    of("limits")
    of("cache")


@check
def lists_without_order():
    of("modules")
    of("log")


@check
def items_matched_by_id():
    of("servers")


@check
def full_stops_in_keys():
    of("hosts")


@check
def types_that_differ():
    of("service")


@check
def secrets_are_masked():
    assert b"vault:" not in harness.read("out/drift.tsv")
    of("security")


@check
def closing_line():
    same(lines()[-1], f"drift\t{sum(row[0] != 'extra' for row in WANT)}")


harness.run()
