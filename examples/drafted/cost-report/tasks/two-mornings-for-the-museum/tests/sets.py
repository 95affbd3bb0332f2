"""Runs the checks of the items in items.json, and writes their results. assay writes this file.

A check is a function in check.py under @check("ITEM"), which raises an error if the item is not met. The folder
counterfactual/ has the same checks and items for the copy of the skill with other names and numbers.
"""
import json
import os
import signal

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, os.pardir, "logs", "verifier")
COPY = os.path.join(HERE, "counterfactual")
KEYS = ("set", "line", "file", "class", "answer", "canary")
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


def run_check(item):
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


def run_checks(folder):
    """Runs the checks in a folder: a test for each of its items, and whether each was met."""
    with open(os.path.join(folder, "items.json"), encoding="utf-8") as file:
        items = json.load(file)["items"]
    broken = ""
    CHECKS.clear()
    try:
        with open(os.path.join(folder, "check.py"), encoding="utf-8") as file:
            # Files beside the checks are in this folder for both.
            place = os.path.join(HERE, "check.py")
            exec(compile(file.read(), place, "exec"), {"__name__": "checks", "__file__": place})
    except BaseException as error:
        broken = "check.py cannot be loaded: %s: %s" % (type(error).__name__, error)
    tests = []
    for item in items:
        status, message = ("failed", broken) if broken else run_check(item)
        extra = {key: item[key] for key in KEYS if key in item}
        extra["item"] = item["id"]
        tests.append({"name": item["id"], "status": status, "message": message, "extra": extra})
    return items, tests


def share(items, tests, keep):
    """The share of items that were met, and 1 if there is none to meet. A reminder is a control and decides nothing."""
    met = [test["status"] == "passed" for item, test in zip(items, tests)
           if keep(item) and item.get("class") != "reminder"]
    return sum(met) / len(met) if met else 1.0


def main():
    items, tests = run_checks(HERE)
    rewards = {}
    if os.path.isdir(COPY):
        other_items, other_tests = run_checks(COPY)
        replaced = {item["id"] for item in other_items if item.get("replaced")}
        own, other = (share(one, two, lambda item: item["id"] in replaced)
                      for one, two in ((items, tests), (other_items, other_tests)))
        rewards["if_counterfactual"] = other
        if other > own:  # who worked with the copy is graded by the copy
            items, tests = other_items, other_tests
    rewards["gc"] = share(items, tests, lambda item: item["set"] == "gc")
    rewards["if"] = share(items, tests, lambda item: item["set"] == "if")
    rewards["reward"] = 1 if items and rewards["gc"] == 1 and rewards["if"] == 1 else 0
    for test in tests:
        print(test["name"], test["status"], test["message"])
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(OUT, "ctrf.json"), "w", encoding="utf-8") as file:
        json.dump({"results": {"tests": tests}}, file)
    with open(os.path.join(OUT, "reward.json"), "w", encoding="utf-8") as file:
        json.dump(rewards, file)


if __name__ == "__main__":
    import sets  # the module in which check.py registers its functions
    sets.main()
