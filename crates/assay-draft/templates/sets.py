"""Runs the checks of the items in items.json, and writes their results. assay writes this file.

A check is a function in check.py under @check("ITEM"), which raises an error if the item is not met.
"""
import json
import os
import signal

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, os.pardir, "logs", "verifier")
SECONDS = 10  # for one check
CHECKS = {}


def check(item):
    """Makes a function the check of an item."""
    def register(function):
        CHECKS[item] = function
        return function
    return register


def too_long(_signal, _frame):
    raise TimeoutError("the check took more than %d s" % SECONDS)


def run(item):
    """Runs the check of an item: its status and message."""
    if item["id"] not in CHECKS:
        return "failed", "no check has this id"
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(SECONDS)
    try:
        CHECKS[item["id"]]()
        return "passed", ""
    except BaseException as error:  # an error of one check must not end the others
        return "failed", ("%s: %s" % (type(error).__name__, error))[:500]
    finally:
        signal.alarm(0)


def run_all(broken=""):
    """Runs the checks of all items, and writes ctrf.json and reward.json."""
    with open(os.path.join(HERE, "items.json"), encoding="utf-8") as file:
        items = json.load(file)["items"]
    tests, met = [], {"gc": [], "if": []}
    for item in items:
        status, message = ("failed", broken) if broken else run(item)
        extra = {key: item[key] for key in ("set", "line", "file", "class", "answer", "canary") if key in item}
        extra["item"] = item["id"]
        tests.append({"name": item["id"], "status": status, "message": message, "extra": extra})
        if item.get("class") != "reminder":  # a control decides nothing
            met[item["set"]].append(status == "passed")
        print(item["id"], status, message)
    share = {name: sum(found) / len(found) if found else 1.0 for name, found in met.items()}
    reward = 1 if all(met["gc"]) and all(met["if"]) and tests else 0
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(OUT, "ctrf.json"), "w", encoding="utf-8") as file:
        json.dump({"results": {"tests": tests}}, file)
    with open(os.path.join(OUT, "reward.json"), "w", encoding="utf-8") as file:
        json.dump({"reward": reward, "gc": share["gc"], "if": share["if"]}, file)


def main():
    """Loads check.py, whose functions register themselves, and runs all checks."""
    try:
        import check  # noqa: F401
    except BaseException as error:
        run_all("check.py cannot be imported: %s: %s" % (type(error).__name__, error))
    else:
        run_all()


if __name__ == "__main__":
    import sets  # the module in which check.py registers its functions
    sets.main()
