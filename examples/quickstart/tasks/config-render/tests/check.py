"""The configuration, rendered again from the layers."""
import hashlib
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, same

SECONDS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
BYTES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
REFERENCE = re.compile(r"(\$)?\$\{([^}]*)\}")


def fits(when, target):
    return all(key in target and target[key] in (v if isinstance(v, list) else [v]) for key, v in when.items())


def merge(base, layer, name, sources, path=()):
    """Puts a layer into `base`, and the layer's name beside every leaf it sets."""

    def forget(full):
        for known in [known for known in sources if known[: len(full)] == full]:
            del sources[known]

    for mark in ("", "!", "-", "+"):
        for key, value in layer.items():
            bare, own = (key[:-1], key[-1]) if key[-1] in "!-+" else (key, "")
            if own != mark:
                continue
            full = (*path, bare)
            if mark in ("-", "+"):
                old = base.get(bare, [])
                keep = [item for item in old if item not in value] if mark == "-" else list(old)
                for item in value if mark == "+" else ():
                    if item not in keep:
                        keep.append(item)
                if keep != old or bare not in base:
                    base[bare] = keep
                    sources[full] = name
            elif value is None:
                base.pop(bare, None)
                forget(full)
            elif isinstance(value, dict):
                if mark == "!" or not isinstance(base.get(bare), dict):
                    forget(full)
                    base[bare] = {}
                merge(base[bare], value, name, sources, full)
                sources.pop(full, None)
                if not base[bare]:
                    sources[full] = name
            else:
                forget(full)
                base[bare] = value
                sources[full] = name


def value_at(document, path):
    for part in path.split("."):
        document = document[part]
    return document


def resolve(text, document):
    whole = REFERENCE.fullmatch(text)
    if whole and not whole[1]:
        found = value_at(document, whole[2])
        return resolve(found, document) if isinstance(found, str) else found

    def insert(match):
        if match[1]:
            return match[0][1:]
        found = resolve("${" + match[2] + "}", document)
        return found if isinstance(found, str) else json.dumps(found)

    return REFERENCE.sub(insert, text)


def units(key, text):
    if key.endswith(("_timeout", "_interval", "_ttl")):
        if text == "off":
            return 0
        if re.fullmatch(r"(\d+(d|h|ms|m|s))+", text):
            return -(-sum(int(n) * SECONDS[u] for n, u in re.findall(r"(\d+)(d|h|ms|m|s)", text)) // 1000)
    if key.endswith("_size"):
        match = re.fullmatch(r"(\d+)([kMG]i?|Ki|)B?", text)
        if match and not text.isdigit():
            return int(match[1]) * BYTES[match[2]]
    return text


def finish(node, document, missing, secrets, path=()):
    items = list(node.items()) if isinstance(node, dict) else list(enumerate(node))
    for key, value in items:
        full = (*path, str(key))
        if isinstance(value, str):
            try:
                value = resolve(value, document)
            except (KeyError, TypeError):
                missing.append(".".join(full))
                del node[key]
                continue
            if isinstance(value, str):
                value = units(str(key), value)
            if isinstance(value, str) and value.startswith("vault:"):
                secrets.append(".".join(full))
            node[key] = value
        elif isinstance(value, (dict, list)):
            finish(value, document, missing, secrets, full)


def expected():
    target = json.loads((harness.INPUTS / "target.json").read_text())
    order = lambda p: (int(p.stem.split("-")[0]), p.stem.split("-", 1)[1])
    base, sources = {}, {}
    for file in sorted((harness.INPUTS / "layers").iterdir(), key=order):
        layer = json.loads(file.read_text(encoding="utf-8"))
        if fits(layer.pop("@when", {}), target):
            merge(base, layer, order(file)[1], sources)
    missing, secrets = [], []
    finish(base, json.loads(json.dumps(base)), missing, secrets)
    named = {".".join(path): name for path, name in sources.items()}
    base["_sources"] = {path: name for path, name in named.items() if path not in missing}
    base["_missing"], base["_secrets"] = sorted(missing), sorted(secrets)
    return base


WANT = expected()


def got():
    return json.loads(harness.read("out/config.json"))


def part(*keys):
    mine, want = got(), WANT
    for key in keys:
        mine, want = mine[key], want[key]
    same(mine, want, ".".join(keys))


@check
def only_the_two_files():
    same(harness.listing("out"), ["config.json", "config.json.sum"])


@check
def canonical_form():
    raw = harness.read("out/config.json").decode("utf-8")
    same(raw, json.dumps(json.loads(raw), indent=2, sort_keys=True) + "\n")


@check
def top_level_keys():
    same(sorted(got()), sorted(WANT))


@check
def layers_in_order():
    part("service")


@check
def lists_and_marks():
    part("modules")
    part("cache", "store")


@check
def objects_replaced_as_a_whole():
    same(sorted(got()["upstreams"]), ["near"])


@check
def references():
    part("upstreams")
    part("log", "file", "path")
    part("limits", "note")


@check
def plain_dollar_braces():
    part("cache", "key")


@check
def units_of_time():
    for key in ("read_timeout", "idle_timeout", "drain_timeout"):
        part("limits", key)
    part("log", "file", "rotate_interval")
    part("cache", "entry_ttl")


@check
def units_of_size():
    for key in ("body_size", "header_size"):
        part("limits", key)
    part("cache", "min_size")


@check
def keys_taken_away():
    assert "max_size" not in got()["cache"] and "motd" not in got()["service"]
    assert "burst" not in got()["limits"]


@check
def missing():
    part("_missing")


@check
def secrets():
    part("_secrets")
    part("security")


@check
def sources():
    part("_sources")


@check
def whole_document():
    same(got(), WANT)


@check
def sum_of_the_document():
    rest = {key: value for key, value in WANT.items() if key != "_sources"}
    line = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    want = hashlib.sha256(line.encode()).hexdigest()[:16] + "  config.json\n"
    same(harness.read("out/config.json.sum").decode(), want)


harness.run()
