"""What is right for each case of scripts/cases.

A check gets a copy of the case's folder, does what its expected.txt says, and raises `NotYet` with what it saw, or `NotRun` with
what it needs. Ports of the cases' own servers differ from case to case, so that two may run at once: base-url 18651 and 18659,
gate-key-to-a-server 18653, caps-in-flight 18661 to 18666, two-viewers 18671 and 18672, gateway-serve-idle 7411, paid-loopback
18790.
"""

import csv
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time

RIGHT, NOT_YET, NOT_RUN = "right", "not yet", "not run"
CHECKS = {}


class NotYet(Exception):
    """The program does something else."""


class NotRun(Exception):
    """Something that the case needs is not here."""


def case(name, seconds=5):
    """Registers the check of a case that takes about so many seconds."""

    def register(check):
        CHECKS[name] = (check, seconds)
        return check

    return register


def seconds_of(name):
    """About how long a case takes, in seconds."""
    return CHECKS[name][1] if name in CHECKS else 0


def need(holds, seen):
    """Ends the check if the right thing did not happen."""
    if not holds:
        raise NotYet(" ".join(str(seen).split())[:160])


def plain(text):
    """Text without the commas in numbers and with the signs of ASCII."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", text.replace("−", "-").replace("\u202f", " ").replace("\u00a0", " "))


class Done:
    """A command that has ended: its exit status, standard output, and both outputs together."""

    def __init__(self, code, out, err, peak_kib=0):
        self.code, self.out, self.err, self.peak_kib = code, plain(out), plain(err), peak_kib
        self.text = self.out + "\n" + self.err


class Suite:
    """The program under test, and what cases share."""

    def __init__(self, binary, root, shared, scratch):
        self.binary, self.root, self.shared, self.scratch = binary, root, shared, scratch
        (scratch / "bin").mkdir()
        (scratch / "bin" / "assay").symlink_to(binary)
        self.lock, self.kept = threading.Lock(), {}

    def environment(self, home):
        """The variables of a case: no keys of this machine, a home of its own, and no hosted job, whatever runs the checks."""
        home.mkdir(exist_ok=True)
        keep = {name: value for name, value in os.environ.items() if not re.search(r"_API_KEY$|^ASSAY_RECORD_KEY|^XDG_|^CI$", name)}
        own = {"PATH": f"{self.scratch / 'bin'}:{os.environ['PATH']}", "HOME": str(home), "NO_COLOR": "1", "COLUMNS": "160"}
        cache = os.environ.get("ASSAY_CACHE") or str(pathlib.Path(os.environ.get("HOME", "/root")) / ".cache" / "assay")
        identity = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "ASSAY_CACHE": cache}
        return {**keep, **own, **identity, "PYTHONDONTWRITEBYTECODE": "1"}

    def check(self, name):
        """The state of a case, and why."""
        if name not in CHECKS:
            return NOT_RUN, "no check is written for it"
        at = self.scratch / name
        shutil.copytree(self.shared / "data" / "cases" / name, at, symlinks=True)
        try:
            CHECKS[name][0](Case(self, name, at))
            return RIGHT, ""
        except NotRun as reason:
            return NOT_RUN, str(reason)
        except NotYet as reason:
            return NOT_YET, str(reason)
        except (OSError, ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
            return NOT_YET, f"{type(error).__name__}: {error}"[:160]
        finally:
            shutil.rmtree(at, ignore_errors=True)

    def once(self, name, make):
        """What several cases use, made by the first that asks."""
        with self.lock:
            if name not in self.kept:
                self.kept[name] = make()
            return self.kept[name]


class Case:
    """A copy of a case's folder."""

    def __init__(self, suite, name, at):
        self.suite, self.name, self.at = suite, name, at
        self.env = suite.environment(suite.scratch / f"home-{name}")

    def run(self, *command, limit=90, within=".", env=None, shell=False):
        """Runs a command to its end, or for so many seconds at most, together with what it starts."""
        process = subprocess.Popen(
            command[0] if shell else [str(part) for part in command], shell=shell, executable="/bin/bash" if shell else None,
            cwd=self.at / within, env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise NotYet(f"still running after {limit} s") from None
        finally:
            # What a script left in the background.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return Done(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def assay(self, *arguments, **options):
        """Runs the program under test."""
        return self.run("assay", *arguments, **options)

    def script(self, limit=90, **options):
        """Runs the case's own script."""
        return self.run("bash", "run.sh", limit=limit, **options)

    def text(self, path):
        """A file's text; empty if there is none."""
        file = self.at / path
        return plain(file.read_text(errors="replace")) if file.is_file() else ""

    def replace(self, path, pattern, text):
        """Changes a file."""
        file = self.at / path
        file.write_text(re.sub(pattern, text, file.read_text()))

    def records(self, store="s"):
        """The records of a store's trials."""
        return [json.loads(file.read_text()) for file in sorted((self.at / store / "trials").glob("*/*/record.json"))]

    def looped(self, store="s"):
        """Records of trials of the loop (not of the oracle and the no-op) by task."""
        return {record["task"]: record for record in self.records(store) if "loop" in json.dumps(record.get("agent"))}

    def report(self, run, store="s", *more):
        """A run's report as JSON."""
        done = self.assay("--store", store, "report", run, "--format", "json", *more)
        need(done.code == 0, f"report {run}: exit {done.code}: {done.err}")
        return json.loads(done.out)

    def server(self, port):
        """Starts the case's server, and gives the function that ends it."""
        process = subprocess.Popen(["python3", "server.py", str(port)], cwd=self.at, env=self.env, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(1)
        return lambda: (os.killpg(process.pid, signal.SIGKILL), process.wait())


def executed(text):
    """Trials executed and cached, of each summary in a text."""
    return [(int(one), int(other)) for one, other in re.findall(r"(\d+) executed, (\d+) (?:cached|reused)", text)]


def verdict_words(text):
    """The verdicts that a text states as such."""
    return re.findall(r"\b(helps|harms|negligible|inconclusive)\b", text)


def example(c, name):
    """A copy of an example's folder in which its experiment has been run, made once: the copy's folder."""

    def make():
        at = c.suite.scratch / f"example-{name}"
        shutil.copytree(c.suite.root / "examples", at, symlinks=True, ignore=shutil.ignore_patterns(".assay"))
        done = c.assay("run", f"{name}/experiment.toml", within=at, limit=240)
        return at, done

    at, done = c.suite.once(f"example {name}", make)
    need(done.code == 0, f"the example ends with {done.code}: {done.err[-150:]}")
    return at


def need_docker():
    """Leaves the case out where no Docker daemon answers."""
    try:
        found = subprocess.run(["docker", "info"], capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        found = False
    if not found:
        raise NotRun("needs Docker")


def need_module(interpreter, *modules):
    """Leaves the case out where a Python module is missing."""
    found = subprocess.run([interpreter, "-c", f"import {', '.join(modules)}"], capture_output=True, check=False).returncode == 0
    if not found:
        raise NotRun(f"needs {' and '.join(modules)} for {interpreter}")


# Agents, servers, caps.


@case("agent-keys-ignored")
def _(c):
    keys = ("temperature", "context_tokens", "command_timeout")
    whole = (c.at / "experiment.toml").read_text()
    for key in keys:
        others = "|".join(other for other in keys if other != key)
        (c.at / "one.toml").write_text(re.sub(rf"(?m)^(?:{others}) = .*\n", "", whole))
        done = c.assay("plan", "one.toml", env={"OPENAI_API_KEY": "k"})
        if "is not installed" in done.text and key not in done.text:
            raise NotRun("needs Codex (`assay agent install codex`)")
        if key == "temperature" and done.code in (0, 1):
            # The gateway puts it into each request, whatever the agent asks for.
            end = c.server(18790)
            try:
                c.assay("run", "one.toml", "--no-checks", "--no-cap", "--allow-no-verdict", "--max-trials", "1", env={"OPENAI_API_KEY": "k"}, limit=120)
            finally:
                end()
            seen = [json.loads(line) for line in c.text("seen.log").splitlines()]
            need(seen and all(request["temperature"] == 0 for request in seen), f"requests with {key}: {seen[:2]}")
            continue
        need(done.code != 0 and key in done.text, f"plan with {key}: exit {done.code}")


@case("base-url", 8)
def _(c):
    done = c.script()
    second = c.text("2.txt")
    reused = [cached for _, cached in executed(second)]
    says = "18651" in second
    need(says or (reused and max(reused) == 0) or ("exit 0" not in done.out and not reused), second[-160:])


@case("caps-in-flight", 12)
def _(c):
    done = c.script()
    sent = [int(count) for count in re.findall(r"sent upstream: (\d+)", done.out)]
    need(len(sent) == 3 and all(0 < count <= 10 for count in sent), f"sent: {sent} {done.err[-100:]}")


@case("paid-loopback", 8)
def _(c):
    key = {"OPENAI_API_KEY": "k"}
    end = c.server(18790)
    try:
        plan = c.assay("plan", "experiment.toml", env=key)
        need("cost unknown" not in plan.text and re.search(r"\$\d", plan.text), "plan: cost unknown")
        run = c.assay("run", "experiment.toml", "--no-checks", env=key)
        need(run.code != 0 and not c.records(".assay") and "cap" in run.text.lower() + "--max-usd", f"run: exit {run.code}")
        need("--max-usd" in run.text, run.err)
        capped = c.assay("run", "experiment.toml", "--no-checks", "--max-usd", "1", env=key)
        need(c.records(".assay"), f"with a cap: exit {capped.code}: {capped.err[-120:]}")
    finally:
        end()


@case("gateway-serve-idle", 12)
def _(c):
    done = c.script()
    need(re.search(r"request before:.*200", done.out), f"before: {done.out[-150:]}")
    need(re.search(r"request now:.*200", done.out), done.out[-120:])


@case("slurm-foreign-job", 17)
def _(c):
    done = c.script()
    found = re.search(r"submitted: (\d+)", done.out)
    need(found and int(found.group(1)) >= 1, done.out[-160:])


@case("two-viewers", 6)
def _(c):
    done = c.script()
    names = re.findall(r"(?i)set-cookie: *([^=;\s]+)=", done.out)
    need(len(names) == 2 and len(set(names)) == 2, f"cookies {names}")


@case("timeout-panic")
def _(c):
    done = c.script()
    need("exit 101" not in done.out and "panicked" not in c.text("1.txt"), done.out)
    need("huge" in c.text("1.txt"), "the task is not named")
    loops = [record for record in c.records() if record["task"] != "huge"]
    need(len(loops) >= 8, f"{len(loops)} records")


@case("documents-outside")
def _(c):
    done = c.script()
    need("exit 0" not in done.out and "the prompt holds the text" not in done.out, done.out)


@case("unsandboxed")
def _(c):
    done = c.script()
    need("exit 0" not in done.out, done.out)
    kept = c.run("grep", "-rl", "NOT-A-KEY-CANARY", "s")
    need(not kept.out.strip(), f"the command ran: {kept.out}")


# Identity and what is executed again.


@case("cluster-reexecutes", 10)
def _(c):
    done = c.script()
    found = executed(done.out)
    need(len(found) == 2 and found[1][0] == 0, done.out)


@case("imported-as-own", 8)
def _(c):
    done = c.script()
    found = executed(c.text("1.txt"))
    refused = "export: exit 0" not in done.out or "import: exit 0" not in done.out
    says = re.search(r"(?i)import", c.text("1.txt"))
    need(refused or (found and found[-1][1] == 0) or says, done.out)
    need(done.out.strip().splitlines()[-1].strip() == "0", "the skill's text is that of the archive")


@case("duplicate-trial-ids")
def _(c):
    done = c.script()
    need(re.search(r"(?i)twice|duplicate|two rows|more than once|same (id|trial)|already|both rows|rows? \d+ and", done.text), done.text)


@case("plan-edited")
def _(c):
    done = c.script()
    need("exit 0" not in done.out or re.search(r"(?i)changed|edited|altered|digest|does not match", done.text), done.out[-120:])
    need("±1 percentage" not in done.out or re.search(r"(?i)(changed|edited|altered).*|digest", done.text), done.out[:160])


@case("reimport-cluster")
def _(c):
    done = c.script()
    second = c.assay("--store", "s", "import", "table", "t.csv", "--name", "x", "--cluster", "repo")
    named = re.findall(r"`assay (?:--store \S+ )?report (\S+?)`", second.text)
    if second.code == 0:
        need(named and named[-1] != "x", f"the run is {named}")
        report = c.assay("--store", "s", "report", named[-1])
        need("clusters" in report.text and "helps," not in report.text.split("Comparisons")[0], report.out[:160])
    else:
        need(re.search(r"(?i)cluster|analysis|other", second.text), second.text)
    need("clusters" in done.text, done.text[-160:])


@case("compare-shared-trials", 8)
def _(c):
    done = c.script()
    need(re.search(r"shared|same", done.text), done.text[-160:])
    stated = re.findall(r"(?m)^\s*(?:curated|none)\b[^\n]*\b(helps|harms|negligible|inconclusive)\b", done.out)
    need(not stated, f"verdicts {stated}")


# Looks and questions.


@case("four-seeds", 14)
def _(c):
    c.script()
    text = c.text("4.txt")
    counted = re.search(r"(?i)run 4 of this question|4th run of this question", text)
    named = all(re.search(rf"\b{name}\b", text) for name in ("s1", "s2", "s3"))
    need(counted or named, "the fourth report names none of the earlier runs")


@case("four-tasks")
def _(c):
    c.script()
    need(not c.records(), f"{len(c.records())} trials executed")
    need(re.search(r"at least 5|Impossible|five", c.text("1.txt")), c.text("1.txt"))


@case("partial-run", 8)
def _(c):
    c.script()
    text = c.text("1.txt")
    need(re.search(r"(?i)no verdict yet|incomplete", text), text[-160:])
    need(not re.search(r"\bhelps\b[^\n]*\+9", text), "a verdict of 40 trials of 80")


@case("stopping-removed", 14)
def _(c):
    done = c.script()
    marks = re.findall(r'"extended_after_look": *(\S+)', done.out)
    report = c.report("lab-2")
    mark = json.dumps(report)
    # A first run that used all its rounds leaves nothing to add: the second analyzes the same trials again.
    found = re.search(r'"(extended_after_look|reanalyzes)": (true|\[")', mark) is not None
    need(found or (marks and all(value not in ("false", "null", "[]") for value in marks)), f"extended_after_look {marks}")


@case("two-p-values")
def _(c):
    c.script()
    head = next((line for line in c.text("1.txt").splitlines() if "lift" in line and "CI" in line and "condition" in line), "")
    comparison = c.report("lab")["comparisons"][0]
    # What the terminal calls p is what the document calls p; another test has another name in both.
    one = not {"p", "p_interval"} <= set(comparison) or abs(comparison["p"] - comparison["p_interval"]) < 1e-9
    named = re.search(r"\bp \(|\bp of\b|interval p|p, interval", head)
    need(one or named, f"p {comparison.get('p')}, p_interval {comparison.get('p_interval')}, both called p")


# Outcomes, checks, and what is unknown.


@case("drafted-score", 25)
def _(c):
    done = c.script(limit=150)
    before = done.out.split("---")[0]
    need(re.search(r"\bhelps\b", before) and "+100" in before, before[:160])
    need(re.search(r"(?i)baseline pass rate: *0 ?%", before), re.findall(r"(?i)baseline pass rate[^\n]*", before))
    need("No verifier of this run reported" not in done.out, "report --tests knows no check")
    rows = re.search(r"(\d+) d/checks.csv", done.out)
    need(rows and int(rows.group(1)) > 1, "checks.csv has no row")
    need("shows adoption" not in done.out or "none of" not in done.out, "adoption without a measurement")


@case("checks-in-rewards", 8)
def _(c):
    run = c.assay("run", "experiment.toml")
    need(run.code == 0, run.text[-160:])
    tests = c.assay("report", "checks-in-rewards", "--tests")
    # Only checks whose result differs are listed.
    need("house_format" in tests.out and "report 10 checks" in tests.out, "report --tests lists no check")
    audit = c.assay("audit", "corpus", "checks-in-rewards")
    need("no check passed" not in audit.text, "a finding of inertia")
    c.assay("export", "data", "checks-in-rewards", "--as", "csv", "--out", "data")
    rows = list(csv.reader((c.at / "data" / "checks.csv").open()))
    need(len(rows) == 21 and all(any(name in row for row in rows) for name in ("exists", "house_format")), "rows of checks.csv")
    lift = c.report("checks-in-rewards", ".assay")["comparisons"][0]
    need("+100" in c.assay("report", "checks-in-rewards").out, f"lift {json.dumps(lift)[:80]}")


@case("unknown-is-zero", 6)
def _(c):
    c.assay("import", "table", "table.jsonl", "--name", "u")
    report = json.dumps(c.report("u", ".assay"))
    need('"turns": 0.0' not in report and '"opened": 0.0' not in report, "zeros in the report")
    text = c.assay("report", "u", "--details").out
    need(not re.search(r"turns[^\n]*\b0\.0", text), "turns 0.0")
    c.assay("export", "data", "u", "--as", "csv", "--out", "data")
    rows = list(csv.DictReader((c.at / "data" / "trials.csv").open()))
    need(rows and all(row.get("turns", "") == "" for row in rows), "turns in trials.csv")
    years = [value for row in rows for name, value in row.items() if value and value.startswith("1970")]
    need(not years, f"{years[:1]}")
    shown = c.assay("show", rows[0]["trial"] if "trial" in rows[0] else rows[0]["id"])
    need(not re.search(r"(?i)skill opened: no|\bturns:? +0\b", shown.text), shown.text[:160])


@case("graded-scores")
def _(c):
    done = c.script()
    stated = done.out.split("Verdicts")[-1]
    need(re.search(r"\bhelps\b", stated), stated[:160])


@case("loss-bounds")
def _(c):
    c.assay("import", "table", "table.jsonl", "--name", "lossb")
    text = " ".join(c.assay("report", "lossb").out.split())
    bounds = re.search(r"would be ([+-]?\d+) (?:or|to|and) ([+-]?\d+)", text)
    point = re.search(r"([+-]\d+) pp", text)
    inside = bounds and point and int(bounds.group(1)) <= int(point.group(1)) <= int(bounds.group(2))
    need(inside or re.search(r"(?i)task[^.]*without a valid trial|left out of the (lift|point)", text), bounds and bounds.group(0))


@case("normalized-gain-loss")
def _(c):
    c.assay("import", "table", "table.jsonl", "--name", "gainloss")
    text = c.assay("report", "gainloss", "--details").out
    need(re.search(r"-\.08|-0\.08", text), re.findall(r"-0?\.1[78]", text))


@case("import-other-verdict")
def _(c):
    imported = c.assay("import", "table", "trials.csv", "--name", "imported", "--primary", "curated")
    need(imported.code == 0, imported.err)
    text = c.assay("report", "imported").out
    need(re.search(r"\+15 to \+79", text), re.findall(r"curated[^\n]*\(.*? to [^)]*\)", text)[:1])


@case("import-passed")
def _(c):
    done = c.script()
    need("--score passed" in done.text or "exit 0" in done.out, done.text)


@case("no-headroom")
def _(c):
    done = c.script()
    need(re.search(r"(?i)baseline passes (all|every)", done.out), "the ceiling is not named")
    need("tasks in total would be needed" not in done.out, "a number of tasks")


@case("negligible")
def _(c):
    done = c.script()
    steps = re.split(r"(?i)next steps?", done.out)[-1] if re.search(r"(?i)next steps?", done.out) else ""
    need(re.search(r"(?i)drop|remove|leave out|without the skill|baseline fails|harder", steps), steps or done.out[-160:])


@case("harms-of-a-table")
def _(c):
    done = c.script()
    shown = c.assay("--store", "s", "report", "harm")
    steps = re.findall(r"`(assay [^`]+)`", shown.out)
    need(re.search(r"(?i)next", shown.out), "no next step")
    for step in steps:
        # A command names the store, if it is another than the default one.
        ran = c.assay(*step.split()[1:])
        need(ran.code == 0, f"{step}: exit {ran.code}")
    need(steps or "audit corpus" not in done.out.split("error")[0], "no command")


@case("plan-lift-dead-end", 15)
def _(c):
    c.script()
    steps = re.findall(r"`(assay plan [^`]+)`", c.text("1.txt"))
    for step in steps:
        words = step.replace("EXPERIMENT", "experiment.toml").split()[1:]
        done = c.assay("--store", "s", *words)
        need(done.code == 0 and "Impossible" not in done.text, f"{step}: {re.findall('Impossible[^.]*', done.text)}")
    need(steps or not re.search(r"assay plan", c.text("1.txt")), c.text("1.txt")[-160:])


@case("plan-cost-zero", 6)
def _(c):
    shutil.copytree(c.suite.root / "examples", c.at / "examples", ignore=shutil.ignore_patterns(".assay"))
    done = c.assay("--store", "new", "plan", "examples/quickstart/experiment.toml")
    need(done.code == 0, done.err)
    need(not ("cost unknown" in done.out and re.search(r"Estimated cost:[^\n]*\$0\.00", done.out)), "a sum of zero of unknown parts")


@case("empty-arm")
def _(c):
    plan, run = c.assay("plan", "experiment.toml"), c.assay("run", "experiment.toml")
    need(plan.code != 0 and run.code != 0, f"plan: exit {plan.code}, run: exit {run.code}")
    need(not c.records(".assay"), f"{len(c.records('.assay'))} trials executed")


@case("toml-keys")
def _(c):
    found = c.assay("plan", "experiment.toml").text
    need("did you mean `repetitions`" in found, found)
    c.run("git init -q . && git add -A && git -c user.name=t -c user.email=t@localhost commit -qm x", shell=True)
    found = c.assay("gate", "gate.toml", "--changed-since", "HEAD").text
    need("did you mean `skills`" in found, found)
    found = c.assay("plan", "second-agent.toml").text
    need(re.search(r"second-agent\.toml:12\b", found), found)


@case("report-on-a-full-disk")
def _(c):
    c.script()
    new, old = (c.at / "r.html").read_bytes(), (c.at / "before.html").read_bytes()
    need(new == old or new.rstrip().endswith(b"</html>"), f"{len(new)} of {len(old)} bytes")


# The audit.


@case("audit-merged-copies", 40)
def _(c):
    store = example(c, "quickstart") / ".assay"
    text = c.assay("--store", store, "audit", "corpus", "quickstart", limit=120).text
    seen = re.findall(r"\d+ runs with[^\n]*", text)
    need(re.search(r"60 runs with the skill, 60 without", text) and re.search(r"(?i)identical|once|copies", text), seen[:1])


@case("audit-name-and-folder", 3)
def _(c):
    done = c.assay("audit", "corpus", "quickstart", within=example(c, "quickstart"), limit=120)
    both = re.search(r"(?i)\brun\b", done.text) and re.search(r"(?i)folder|\./quickstart", done.text)
    need(done.code == 0 or (both and "both" in done.text.lower()), done.err)


@case("residual-failures-order", 3)
def _(c):
    store = example(c, "quickstart") / ".assay"
    done = c.assay("--store", store, "report", "quickstart", "--format", "html", "--out", "r.html")
    need(done.code == 0, done.err)
    sections = re.findall(r"(?s)Remaining failures</h\d>.*?(?=<h2|\Z)", c.text("r.html"))
    need(sections, "no section of remaining failures")
    rows = [re.sub(r"<[^>]+>", " ", row) for row in re.findall(r"(?s)<tr[^>]*>(.*?)</tr>", sections[0])]
    rows = [row for row in rows if re.search(r"curated|placebo|customer-statement", row)]
    need(rows and "placebo" not in rows[0], f"first row: {rows[:1]}")
    need(any("customer-statement" in row for row in rows), "customer-statement is missing")


@case("two-counts-of-followed", 20)
def _(c):
    store = c.at / "twelve"
    store.mkdir()
    done = c.run("tar", "--zstd", "-xf", c.suite.shared / "data" / "runs" / "twelve.tar.zst", "-C", store)
    need(done.code == 0, done.err)
    stores = [path.parent for path in store.rglob("trials") if path.is_dir()]
    done = c.assay("--store", stores[0], "view", "--export", "site", limit=120)
    need(done.code == 0, done.err)
    pages = {kind: set() for kind in ("skills", "pairs")}
    labels = False
    for kind, counts in pages.items():
        for page in (c.at / "site").glob(f"runs/*/{kind}/**/*.html"):
            text = " ".join(re.sub(r"<[^>]+>", " ", page.read_text(errors="replace")).split())
            if "config-drift" not in text:
                continue
            labels = labels or re.search(r"(SKILL\.md only|with (its )?references)\W*\d+ of", text) is not None
            wanted = r"config-drift curated [^A-Za-z]*step \d+ [\d.]+ (\d+ of \d+)" if kind == "skills" else r"directives followed (\d+ of \d+)"
            counts.update(re.findall(wanted, text))
    need(pages["skills"] and pages["pairs"], f"pages that count what was followed: {pages}")
    need(labels or pages["skills"] & pages["pairs"], f"{pages}")


@case("tabs-in-audit")
def _(c):
    done = c.assay("audit", "show", "--with", "with.jsonl", "--without", "without.jsonl", "--skill", "SKILL.md")
    need("\ufffd" not in done.text, "U+FFFD for tabs")
    need(re.search(r"\\t|→|⇥|␉", done.out), "no sign for a tab")


@case("inertia-without-verifier")
def _(c):
    at = c.suite.shared / "data" / "cases" / "obedience-called-violation" / "select-star"
    done = c.assay("audit", "show", "--with", at / "innocent.jsonl", "--without", at / "without.jsonl", "--skill", at / "SKILL.md")
    need(done.code == 0, done.err)
    stated = re.search(r"no check passed that fails", done.text)
    need(not stated or re.search(r"(?i)neither run", done.text), "inertia is stated")


@case("obedience-called-violation")
def _(c):
    def show(folder, file):
        done = c.assay("audit", "show", "--with", f"{folder}/{file}", "--without", f"{folder}/without.jsonl", "--skill",
                       f"{folder}/SKILL.md")
        return done.text

    def violated(text):
        return [int(count) for count in re.findall(r"directives violated:? +(\d+)", text)] or [len(re.findall(r"violated \(", text))]

    for folder in ("docker-privileged", "pip-user", "push-force", "rm-build", "select-star"):
        innocent, guilty = show(folder, "innocent.jsonl"), show(folder, "guilty.jsonl")
        need(violated(innocent)[0] == 0 and "violated (" not in innocent, f"{folder}: the innocent act is a violation")
        need(violated(guilty)[0] > 0 or "violated (" in guilty, f"{folder}: the forbidden act is none")
    text = show("pip-no-deps", "disobedient.jsonl")
    need(not re.search(r"\bfollowed \(step", text), "half of an instruction is followed")


@case("judge-diagnose-template", 15)
def _(c):
    example_at = c.at / "judged"
    shutil.copytree(c.suite.root / "examples" / "judged", example_at, ignore=shutil.ignore_patterns(".assay"))
    run = c.assay("run", "experiment.toml", within="judged")
    need(run.code == 0, run.text[-160:])
    done = c.assay("judge", "diagnose", "judged", within="judged")
    need(done.code == 0, done.err)
    blocks = done.out.split("\n\n")
    bad = [line for line in done.out.splitlines() + blocks if re.search(r"VERSION|\(#17\)", line) and "followed in 0" in line]
    need(not bad, bad[:1])


# Judges.


@case("judge-one-big-file")
def _(c):
    # The size at which the big file takes all of the room depends on the length of what stands beside it.
    c.replace("turns.jsonl", "159920", "159999")
    c.script()
    found = list((c.at / "s" / "trials").glob("*/*/attempts/*/judgement.json"))
    need(found, "no judgement")
    shown = found[0].read_text()
    for name, text in (("notes.md", "# Release 2.4.0 (2025-03-11)"), ("changes.txt", None)):
        part = re.search(rf"--- file {re.escape(name)}.{{0,120}}", shown)
        need(part and "too long" not in part.group(0), f"{name} is not shown")
        need(text is None or text in part.group(0), f"{name}: {part and part.group(0)}")


@case("judge-parts")
def _(c):
    done = c.script()
    rewards = [record.get("reward") for record in c.records() if record["task"] == "release-1" and record.get("judgement") is not None]
    need(rewards and all(reward is not None and reward < 0.5 for reward in rewards), f"rewards {rewards} {done.out[:90]}")


@case("judge-quotes-the-attack")
def _(c):
    done = c.script()
    rewards = [record.get("reward") for record in c.records() if record.get("judgement") is not None]
    need(rewards and all(reward == 0 for reward in rewards), f"rewards {rewards} {done.out[:90]}")


@case("judge-unequal-errors")
def _(c):
    done = c.assay("judge", "correct", "verdicts.jsonl", "--calibration", "labels.jsonl")
    if done.code != 0:
        need(re.search(r"(?i)unequal|differ", done.text), done.err)
        return
    lines = [line for line in done.out.splitlines() if re.search(r"(?i)differ|lift|minus|corrected", line)]
    ends = re.findall(r"\(?([+-]?\.?\d+\.?\d*) to ([+-]?\.?\d+\.?\d*)", "\n".join(lines))
    need(ends, done.out[:160])
    low, high = (float(end) for end in ends[-1])
    scale = 100.0 if max(abs(low), abs(high)) > 1.5 else 1.0
    need(low / scale <= -0.043 <= high / scale, lines[-1:])


@case("reuse-baseline")
def _(c):
    raise NotRun("a simulation of formulas, which does not run the program")


# Imports, exports, traces, search.


@case("cache-write-1h")
def _(c):
    six = r"\$6\.00|\b6\.00+ USD"
    text = c.assay("trace", "stats", "session.jsonl", "--prices", "prices.toml").out
    need(re.search(six, text) or re.search(r"(?i)lower bound|at least|≥", text), re.findall(r"[\d.]+ USD", text)[:1])
    done = c.assay("trace", "stats", "session.jsonl", "--prices", "prices1h.toml")
    need(done.code == 0 and re.search(six, done.out), f"own price: exit {done.code} {re.findall('[0-9.]+ USD', done.out)[:1]}")


@case("claude-workflow-subagents")
def _(c):
    session = next(file.name for file in c.at.glob("*.jsonl"))
    tokens = r"tokens: 1121 input, 2242 output"
    alone = c.assay("trace", "stats", session).out
    need(re.search(tokens, alone), f"the session alone: {re.findall('tokens: .*', alone)[:1]}")
    folder = c.assay("trace", "stats", ".").out
    need(re.search(tokens, folder), f"the folder: {re.findall('tokens: .*', folder)[-1:]}")
    need(not re.search(r"(?m)^\S*agent-bbbb2222\.jsonl$", folder), "the agent is listed as a session of its own")


@case("codex-fork-replay")
def _(c):
    text = c.assay("trace", "stats", "sessions").out
    tokens = re.findall(r"tokens: .*", text)
    need(tokens and "7200 input, 450 output, 1200 cache read" in tokens[-1], tokens[-1:])
    child = next((c.at / "sessions").rglob("*00c.jsonl"))
    tokens = re.findall(r"tokens: .*", c.assay("trace", "stats", child).out)
    need(tokens and "5000 input, 300 output" in tokens[-1], f"a child alone: {tokens[-1:]}")


@case("inspect-messages")
def _(c):
    text = c.assay("trace", "show", "inspect-messages.json").out
    need("web_search" in text, text[:120])


@case("cjk-search", 6)
def _(c):
    queries = {"帮我分析一下上个月的销售数据": "shuju", "请把这份合同翻译成英文": "fanyi", "今日の会議の議事録を作成して": "huiyi", "销售额": "shuju"}
    for query, expected in queries.items():
        done = c.assay("search", query, "--library", "cjk")
        found = re.findall(r"\b(shuju|fanyi|huiyi)\b", done.out)
        need(found and found[0] == expected, f"{expected}: {found} {done.out[:60]}")


@case("claude-colon-description")
def _(c):
    text = c.assay("lint", "colon", "-v").text
    own = [line for line in text.splitlines() if "claude-code" in line and "characters" in line]
    need(any("53 characters" in line for line in own), own[:2])
    text = c.assay("lint", "hint", "-v").text
    # The description has 81 characters, not the 86 of expected.txt.
    need("81 characters" in text and not re.search(r"error[^\n]*yaml-invalid", text), re.findall(r"claude-code[^\n]*", text)[:1])


@case("promptfoo-vars-and-files")
def _(c):
    found = {name: c.assay("import", "rubric", name, "--out", f"out-{name}") for name in "abcde"}
    need(found["a"].code == 0, f"a: {found['a'].err}")
    for name in "cde":
        need(found[name].code != 0 and re.search(r"(?i)file|scenario", found[name].text), f"{name}: {found[name].text}")
        need("expected sequence" not in found[name].text and "expected mapping" not in found[name].text, f"{name}: a parser's words")
    written = "\n".join(path.read_text(errors="replace") for path in (c.at / "out-b").rglob("*") if path.is_file())
    if found["b"].code == 0:
        need('["German' not in written and "file://" not in written and "| upper" not in written, "b: text is not filled")
        need("German" in written and "French" in written, "b: a language is missing")
    need(re.search(r"(?i)threshold|prompt", found["b"].text), "b: nothing is said of what is left out")


@case("harbor-exception-classes")
def _(c):
    done = c.assay("--store", "s", "import", "harbor", "jobs/exc-no-skills", "jobs/exc-with-skills")
    need(done.code == 0, done.err)
    own = {record["task"]: record for record in c.records() if record["condition"] == "none"}
    for task in ("t0", "t1"):
        need(own[task]["outcome"] == "failed", f"{task}: {own[task]['outcome']}")


@case("harbor-step-timeout")
def _(c):
    done = c.assay("--store", "s", "import", "harbor", "jobs/multi-no-skills", "jobs/multi-with-skills")
    need(done.code == 0, done.err)
    own = {record["task"]: record for record in c.records() if record["condition"] == "none"}
    deploy = next(record for task, record in own.items() if "deploy" in task)
    report = next(record for task, record in own.items() if "report" in task)
    need(deploy["outcome"] == "passed" and report["outcome"] == "failed", f"{deploy['outcome']}, {report['outcome']}")
    need(report.get("reward") == 0.5, f"reward {report.get('reward')}")


@case("import-bombs", 12)
def _(c):
    for size, what, command in ((20, "manifest", ("import", "run", "m.run.tar.zst")), (200, "csv", ("import", "table", "b.csv.zst"))):
        c.run("python3", "make.py", size, what)
        measured = c.run(
            "python3", "-c", "import resource, subprocess, sys\n"
            "code = subprocess.run(sys.argv[1:]).returncode\n"
            "print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 'exit', code)", "assay", "--store", "s", *command)
        peak, code = re.search(r"peak (\d+) exit (-?\d+)", measured.out).groups()
        need(int(code) == 2 and int(peak) <= 128 * 1024, f"{what}: exit {code}, {int(peak) // 1024} MiB")


# Lint, tasks.


@case("exfil-api-doc")
def _(c):
    done = c.assay("lint", "auth2", "--select", "safety")
    need(done.code == 0 and not re.search(r"error[^\n]*exfil", done.text), re.findall(r"[^\n]*exfil[^\n]*", done.text)[:1])


@case("lint-baseline-of-the-pr")
def _(c):
    done = c.script()
    codes = re.findall(r"exit (\d+)", done.out)
    need(codes and codes[-1] == "1", f"exits {codes}")


@case("symlinked-skills")
def _(c):
    c.run("sh", "make.sh")
    done = c.assay("lint", ".claude/skills")
    found = re.search(r"(\d+) skills?:", done.text)
    says = re.search(r"(?i)(\d+|two) (symbolic )?links?", done.text)
    need((found and found.group(1) == "3" and done.code == 1) or says, f"{found and found.group(0)} exit {done.code}")
    search = c.assay("search", "low water times for a harbour", "--library", ".claude/skills")
    need("tide-tables" in search.out or re.search(r"(?i)links?", search.text), search.out)


@case("shipped-yaml")
def _(c):
    interpreter = next((path for path in ("/usr/bin/python3", "python3") if subprocess.run(
        [path, "-c", "import yaml"], capture_output=True, check=False).returncode == 0), None)
    if interpreter is None:
        raise NotRun("needs PyYAML")
    for file in ("action.yml", ".github/workflows/ci.yml"):
        done = c.run(interpreter, "-c", "import sys, yaml; yaml.safe_load(open(sys.argv[1]))", c.suite.root / file)
        need(done.code == 0, f"{file}: {done.err.strip()[-200:]}")


@case("length-classes", 6)
def _(c):
    words = r"\b(compact|detailed|standard|comprehensive)\b"
    c.assay("run", "experiment.toml", "--no-checks")
    lines = c.assay("report", "length-classes", "--details").out.splitlines()
    at = next((number for number, line in enumerate(lines) if "By length of" in line), None)
    need(at is not None, "no row of lengths")
    heads = next(line for line in lines[at + 1:] if line.strip().startswith("condition"))
    own = set(re.findall(words, heads))
    stats = c.assay("lab", "corpus", "stats", "corpus.jsonl").out
    corpus = {word for word, count in re.findall(rf"(?m)^\s*{words} +(\d+)", stats) if int(count)}
    need(len(corpus) == 1 and corpus <= own, f"report {sorted(own)}, corpus {sorted(corpus)}")


@case("test-parsimony")
def _(c):
    text = c.assay("task", "check", "t5", "t40", "--static", "--verbose").text
    need("few-tests" not in text, "few-tests for five tests with fifteen assertions")
    need(re.search(r"(?i)40 tests|many-tests", text), "nothing on forty tests")


# Verifiers.


def tampered(c, honest="honest-not", others=None, allowed=("tampered",)):
    """The honest failure failed; everything else was noticed."""
    done = c.script(limit=150)
    found = {task: record["outcome"] for task, record in c.looped().items()}
    need(found, done.out)
    if honest in found:
        need(found[honest] == "failed", f"{honest} {found[honest]}")
    wrong = {task: outcome for task, outcome in found.items() if task != honest and (others is None or task in others) and outcome not in allowed}
    need(not wrong, wrong)


@case("discard-trial")
def _(c):
    done = c.script()
    found = {task: record["outcome"] for task, record in c.looped().items()}
    for task in ("chmod-app", "answer-is-a-folder", "honest-not"):
        need(found.get(task) in ("failed", "tampered"), f"{task} {found.get(task)} {done.out[:60]}")


@case("git-hook", 8)
def _(c):
    tampered(c, others=("post-index-change",))


@case("links-into-tests", 8)
def _(c):
    tampered(c)


@case("links-into-tests-docker", 10)
def _(c):
    need_docker()
    tampered(c)


@case("pytest-shadows", 8)
def _(c):
    need_module("/usr/bin/python3", "pytest")
    tampered(c)


@case("root-in-docker", 30)
def _(c):
    need_docker()
    tampered(c, allowed=("tampered", "failed"))


# The gate.


def exits(done):
    """The exit statuses that a script printed."""
    return [int(code) for code in re.findall(r"exit (\d+)", done.out)]


def looks(c, state):
    """The files of opened or completed looks in the ledger of the case's repository."""
    listed = subprocess.run(
        ["git", "-C", str(c.at / "repo"), "ls-tree", "--name-only", "refs/assay/gate"], capture_output=True, text=True, check=False
    )
    return [name for name in listed.stdout.split() if name.endswith(f".{state}.json")]


@case("gate-at-once", 15)
def _(c):
    done = c.script()
    # The first, three at once, and the last, which has a store of its own.
    need(len(looks(c, "opened")) == 5, f"{len(looks(c, 'opened'))} opened")
    need(len(looks(c, "completed")) == 5, f"{len(looks(c, 'completed'))} completed")
    need(exits(done)[-1] in (0, 1, 4) and "gnored" not in done.out, done.out[-120:])


@case("gate-behind-main", 6)
def _(c):
    done = c.script()
    need(exits(done)[-1] == 0 and "Weaker" not in done.out, done.out[-160:])


@case("gate-blank-line", 15)
def _(c):
    done = c.script()
    looks = re.findall(r'"look": (\d+)', done.out)
    need(looks == ["1", "2", "3", "4"], f"looks {looks}")


@case("gate-clusters", 8)
def _(c):
    done = c.script()
    executed_trials = [record for store in ("s", ".assay") for record in c.records(store)]
    need(not executed_trials, f"{len(executed_trials)} executed")
    need(exits(done)[-1] == 2, done.out[-160:])


@case("gate-committed-store", 10)
def _(c):
    done = c.script()
    need(exits(done)[-1] != 0, done.out[-160:])


@case("gate-interrupted", 9)
def _(c):
    done = c.script()
    need(len(looks(c, "opened")) == 1, f"{len(looks(c, 'opened'))} opened")
    need(not looks(c, "completed"), "completed")
    runs = sorted(path.name for path in (c.at / "repo" / ".assay" / "runs").iterdir())
    text = c.assay("report", runs[0], within="repo").text
    need(re.search(r"(?i)interrupted|no verdict", text), text[:160])


@case("gate-key-to-a-server", 8)
def _(c):
    done = c.script()
    need("CANARY" not in done.out and "CANARY" not in c.text("requests.log"), "the key was sent")
    need(exits(done)[-1] != 0, done.out[-120:])


@case("gate-ledger-emptied", 15)
def _(c):
    done = c.script()
    last = done.out.split("ledger emptied")[-1]
    need(not re.search(r'"look": 1\b', last), last)


@case("gate-model-changed", 6)
def _(c):
    done = c.script()
    need(exits(done)[-1] != 0, done.out[-160:])


@case("gate-no-match")
def _(c):
    done = c.script()
    need(exits(done)[-1] != 0, done.out[-160:])


@case("gate-not-harmful-12x3", 15)
def _(c):
    done = c.script()
    need(exits(done)[:1] == [0], done.out[:160])


@case("gate-skill-moved", 6)
def _(c):
    done = c.script()
    # 4: not shown to help, nor shown not to.
    need(exits(done)[-1] in (1, 4) and "Gate: pass" not in done.out, done.out[-160:])


@case("gate-tests-replaced", 6)
def _(c):
    done = c.script()
    # 4: not shown to help, nor shown not to.
    need(exits(done)[-1] in (1, 4) and "Gate: pass" not in done.out, done.out[-160:])


@case("gate-torn-line", 8)
def _(c):
    done = c.script()
    need(exits(done)[-1] in (0, 1, 4) and "not an entry" not in done.out, done.out[-160:])


@case("gate-two-pull-requests", 15)
def _(c):
    done = c.script()
    need("CONFLICT" not in "\n".join(line for line in done.out.splitlines() if "ledger" in line), "a conflict in the ledger")
    need(exits(done)[-1] in (0, 1, 4), done.out[-160:])
    need(len(looks(c, "opened")) == len(looks(c, "completed")) == 3, f"{len(looks(c, 'opened'))} opened")


@case("gate-unsandboxed", 6)
def _(c):
    done = c.script()
    need("CANARY" not in c.text("leak.txt"), "the key leaked")
    need(exits(done)[-1] != 0, done.out[-120:])


