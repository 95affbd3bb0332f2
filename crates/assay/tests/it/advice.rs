//! Every command that a message prints works in the situation that prints it.
//!
//! A situation is made, the messages of some commands are read in it, and each `assay …` in backticks is executed there by a shell,
//! word for word, or completed where the message leaves that to the reader: with the arguments of a command that it names, or
//! with what a placeholder stands for. Each command in the sources is printed and executed in a situation.

mod drafts;
mod hints;
mod people;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::fixture::{Fixture, build_laboratory, needs_bubblewrap};
use crate::suite;

/// What is executed for a command that a message leaves open: `assay run EXPERIMENT`, or the name of a command.
type Completion = Box<dyn Fn(&Fixture) -> String>;

/// A situation, the commands whose messages are read in it, and what must be said.
struct Situation {
    name: &'static str,
    lab: Fixture,
    /// Commands that make the situation, each with its exit code.
    made_by: Vec<(Vec<&'static str>, i32)>,
    /// Commands whose messages are read too, each with its exit code.
    read: Vec<(Vec<&'static str>, i32)>,
    /// Words that the messages contain.
    says: Vec<&'static str>,
    /// Words that they do not contain.
    never: Vec<&'static str>,
    /// Exit codes of executed commands other than 0, by a part of the command.
    codes: Vec<(&'static str, i32)>,
    /// What is executed for printed commands that leave something open.
    completions: Vec<(&'static str, Completion)>,
    /// Texts that are read too: pages, files.
    texts: Vec<String>,
    /// Commands that work once the printed ones were executed.
    afterwards: Vec<Vec<&'static str>>,
}

impl Situation {
    fn new(name: &'static str, lab: Fixture) -> Self {
        Self {
            name,
            lab,
            made_by: Vec::new(),
            read: Vec::new(),
            says: Vec::new(),
            never: Vec::new(),
            codes: Vec::new(),
            completions: Vec::new(),
            texts: Vec::new(),
            afterwards: Vec::new(),
        }
    }

    /// A table of scores, imported and reported.
    fn table(name: &'static str, rows: &str) -> Self {
        let lab = Fixture::new().file("t.csv", format!("task,condition,score\n{rows}"));
        Self::new(name, lab).made(&["import", "table", "t.csv", "--name", "t"], 0).read(&["report", "t"], 0)
    }

    /// An experiment, executed and reported.
    fn run(name: &'static str, lab: Fixture, code: i32) -> Self {
        let report = ["report", "lab"];
        Self::new(name, lab).made(&["run", "experiment.toml", "--no-checks"], code).read(&report, 0)
    }

    fn made(mut self, args: &[&'static str], code: i32) -> Self {
        self.made_by.push((args.to_vec(), code));
        self
    }

    fn read(mut self, args: &[&'static str], code: i32) -> Self {
        self.read.push((args.to_vec(), code));
        self
    }

    fn says(mut self, words: &'static str) -> Self {
        self.says.push(words);
        self
    }

    fn never(mut self, words: &'static str) -> Self {
        self.never.push(words);
        self
    }

    fn ends(mut self, part: &'static str, code: i32) -> Self {
        self.codes.push((part, code));
        self
    }

    /// What is executed where a message prints `printed`, which leaves something open.
    fn complete(self, printed: &'static str, command: &'static str) -> Self {
        self.complete_with(printed, move |_| command.to_owned())
    }

    fn complete_with(
        mut self,
        printed: &'static str,
        command: impl Fn(&Fixture) -> String + 'static,
    ) -> Self {
        self.completions.push((printed, Box::new(command)));
        self
    }

    /// A text that is read too.
    fn text(mut self, text: impl Into<String>) -> Self {
        self.texts.push(text.into());
        self
    }

    /// Changes the folder before anything is executed.
    fn change(self, change: impl FnOnce(&Fixture)) -> Self {
        change(&self.lab);
        self
    }

    /// Executes the commands that make the situation.
    fn make(mut self) -> Self {
        for (args, code) in std::mem::take(&mut self.made_by) {
            let ran = self.lab.assay(&args).ended(code);
            self.texts.push(ran.stdout + &ran.stderr);
        }
        self
    }

    /// Executes the commands that make the situation, and does not read what they say.
    fn make_quietly(self) -> Self {
        let texts = self.texts.clone();
        Self { texts, ..self.make() }
    }

    fn then(mut self, args: &[&'static str]) -> Self {
        self.afterwards.push(args.to_vec());
        self
    }

    /// Makes the situation and executes what it prints, in the order in which it is printed. The printed commands.
    fn check(self) -> BTreeSet<String> {
        let mut said = self.texts.join("\n");
        for (args, code) in self.made_by.iter().chain(&self.read) {
            let ran = self.lab.assay(args);
            assert_eq!(ran.code, *code, "{}: {args:?}: {ran:#?}", self.name);
            said.push_str(&ran.stdout);
            said.push_str(&ran.stderr);
        }
        // The terminal breaks lines.
        let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in &self.says {
            assert!(flat.contains(words), "{}: {words:?} is not in:\n{said}", self.name);
        }
        for words in &self.never {
            assert!(!flat.contains(words), "{}: {words:?} is in:\n{said}", self.name);
        }
        let mut executed = BTreeSet::new();
        for printed in commands_in(&flat) {
            if !executed.insert(printed.clone()) {
                continue;
            }
            let command = self.completed(&printed);
            let code =
                self.codes.iter().find(|(part, _)| command.contains(part)).map_or(0, |(_, code)| *code);
            let (found, output) = self.execute(&command);
            assert_eq!(found, code, "{}: `{command}`:\n{output}", self.name);
        }
        for (printed, _) in &self.completions {
            assert!(executed.contains(*printed), "{}: `{printed}` is not printed:\n{said}", self.name);
        }
        for args in &self.afterwards {
            self.lab.assay(args).ok();
        }
        executed
    }

    /// The command to execute for a printed one.
    fn completed(&self, printed: &str) -> String {
        let Some((_, completion)) = self.completions.iter().find(|(own, _)| *own == printed) else {
            assert!(!has_placeholder(printed), "{}: `{printed}` has a placeholder", self.name);
            return printed.to_owned();
        };
        let command = completion(&self.lab);
        // It is the printed command, with its placeholders filled and more after it.
        let mut words = command.split_whitespace();
        for word in printed.split_whitespace().filter(|word| !has_placeholder(word)) {
            assert!(words.any(|own| own == word), "{}: `{command}` is not `{printed}`", self.name);
        }
        command
    }

    fn execute(&self, command: &str) -> (i32, String) {
        let output = in_shell(&self.lab, command).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
    }
}

/// A command line for a shell in the folder, with the variables of the fixture, and first of all programs `assay` and those
/// in its folder `bin`.
pub(crate) fn in_shell(lab: &Fixture, command: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_assay"));
    let own = lab.path("bin");
    let path = format!(
        "{}:{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        program.parent().unwrap().display(),
        own.display()
    );
    if command.contains("assay lab") {
        build_laboratory();
    }
    let mut shell = Command::new("bash");
    shell.args(["-c", command]).current_dir(lab.folder()).env_clear().stdin(Stdio::null());
    for (name, value) in lab.command(&[]).get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    shell.env("PATH", path);
    shell
}

/// What begins with `assay` between backticks.
pub(crate) fn commands_in(text: &str) -> Vec<String> {
    let quoted = text.match_indices("`assay ").filter_map(|(at, _)| text[at + 1..].split('`').next());
    quoted.map(|command| command.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Whether a command says itself that a word of it stands for another: RUN, skills/NAME.
fn has_placeholder(command: &str) -> bool {
    let is_capital = |part: &str| part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase());
    command.split(|c: char| !c.is_ascii_alphanumeric()).any(is_capital)
}

/// Rows of a table: for each task the scores without and with the skill.
fn rows(tasks: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) -> String {
    let mut text = String::new();
    for (number, (base, own)) in tasks.into_iter().enumerate() {
        for (condition, scores) in [("none", base), ("curated", own)] {
            for score in scores {
                text.push_str(&format!("t{number},{condition},{score}\n"));
            }
        }
    }
    text
}

/// One to three passes in four trials: no task is at the ceiling or the floor, or clearly better.
fn some_of_four(task: u8) -> Vec<u8> {
    match task % 3 {
        0 => vec![1, 1, 1, 0],
        1 => vec![0, 1, 0, 0],
        _ => vec![1, 0, 0, 1],
    }
}

fn tables() -> Vec<Situation> {
    vec![
        Situation::table("no headroom", &rows((0..12).map(|_| (vec![1], vec![1]))))
            .says("the baseline passes all tasks: they cannot show help")
            .never("tasks would be needed")
            .never("≈"),
        Situation::table("floor", &rows((0..12).map(|_| (vec![0], vec![0]))))
            .says("no trial scores anything under either condition")
            .never("≈"),
        Situation::table("little headroom", &rows((0..20).map(|n| (vec![1], vec![u8::from(n > 2)]))))
            .says("the baseline passes all tasks")
            .never("≈"),
        Situation::table("negligible", &rows((0..150).map(|n| (vec![n % 2, 1, 0, 0], vec![n % 2, 0, 1, 0]))))
            .says("has a negligible effect")
            .says("drop it, or test it on tasks that the baseline fails"),
        Situation::table("harms", &rows((0..12).map(|n| (vec![1], vec![u8::from(n > 9)]))))
            .says("harms")
            .says("lost most")
            .never("audit corpus"),
        Situation::table("few tasks", &rows((0..3).map(|_| (vec![0], vec![1]))))
            .says("a verdict needs at least 5 tasks or effective clusters, and this comparison has 3"),
        Situation::table("noise", &rows((0..10).map(|n| (vec![0, 1, 0, 1], some_of_four(n)))))
            .says("the differences between tasks are too large for their number"),
        Situation::table(
            "effects of both signs",
            &rows(
                (0..10).map(|n| if n % 2 == 0 { (vec![0; 5], vec![1; 5]) } else { (vec![1; 5], vec![0; 5]) }),
            ),
        )
        .says("effects of both signs"),
    ]
}

/// Six tasks with the skill, under these rules of the script.
fn lab(rules: &[serde_json::Value], word: &str) -> Fixture {
    let tasks = 6;
    let lab =
        (1..=tasks).fold(Fixture::new().needs_verdict(), |lab, n| lab.task(&format!("t{n}"), |task| task));
    lab.skill("reports", "Ends reports with the agreed word. Use it for every report.", &suite::body(word))
        .script(rules)
        .experiment(|design| suite::paired(design.conditions(&["none", "curated"]), tasks))
}

fn runs() -> Vec<Situation> {
    let passes = json!({ "turn": 0, "run": "echo right > answer.txt" });
    let reads = json!({ "turn": 0, "seen": "Skills are folders", "run": "cat /skills/reports/SKILL.md" });
    let follows = json!({ "turn": 1, "seen": "kind of report is `wrong`", "run": "echo wrong > answer.txt" });
    let half = json!({ "turn": 0, "seen": "report t1", "run": "echo right > answer.txt" });
    let broken =
        "[ -e /app/answer.txt ] || exit 1\n[ \"$(cat /app/answer.txt)\" = right ] && reward 1 || reward 0\n";
    let network = "echo 'curl: (6) Could not resolve host: example.org'\nexit 6\n";
    vec![
        Situation::run("helps", lab(&suite::diligent(), "right"), 0).says("helps"),
        Situation::run("passes without the skill", lab(std::slice::from_ref(&passes), "right"), 0)
            .says("the baseline passes all tasks")
            .says("a skill was opened in only 0% of the trials"),
        Situation::run("nothing passes", lab(&[], "right"), 0).says("no trial scores anything"),
        Situation::run("harms with transcripts", lab(&[reads, follows, passes.clone()], "wrong"), 0)
            .says("`assay audit corpus lab`"),
        Situation::run("one task of six", lab(&[half, suite::diligent()[0].clone()], "right"), 0)
            .read(&["report", "lab", "--format", "markdown", "--short"], 0),
        Situation::new("some of it", lab(&suite::diligent(), "right"))
            .made(&["run", "experiment.toml", "--no-checks", "--max-trials", "3"], 0)
            .read(&["report", "lab"], 0)
            .says("`assay run experiment.toml` executes only these"),
        Situation::run(
            "lost trials",
            lab(&suite::diligent(), "right").task("t6", |task| task.test_sh(broken)),
            3,
        )
        // The checks, which the first run left out, exclude its task: no trial is lost any more.
        .says("`assay run experiment.toml`"),
        Situation::new(
            "a solution without its network",
            lab(&[passes], "right").task("t6", |task| task.solve_sh(network)),
        )
        .made(&["run", "experiment.toml"], 0)
        .read(&["report", "lab"], 0)
        .says("the solution of `t6` needs the network, which the task forbids"),
        Situation::new("another store", lab(&[], "right"))
            .made(&["--store", "my store", "run", "experiment.toml", "--no-checks"], 0)
            .read(&["--store", "my store", "report", "lab"], 0)
            .says("`assay --store 'my store' show "),
        Situation::run("a treatment that was not there", without_skills(), 0)
            .says("`self-generated` was not tested: its treatment was available in 0% of its trials only"),
        Situation::run("a placebo that helps as well", any_skill(), 0)
            .says("`curated` helps, and so does `placebo`")
            .says("`assay run experiment.toml` then compares `curated` with it"),
        Situation::run("a negligible effect", without_effect(), 0)
            .says("`curated` has a negligible effect")
            .says("drop it, or test it on tasks that the baseline fails (`assay init task --help`)"),
        Situation::new("a decided run", decided())
            .made(&["run", "experiment.toml", "--no-checks"], 0)
            .read(&["run", "longer.toml", "--no-checks"], 2)
            .says("was decided after its rounds"),
    ]
}

/// An agent that is to write skills first, and writes none.
fn without_skills() -> Fixture {
    let rule =
        json!({ "turn": 0, "seen": "reusable skills into the folder", "run": "echo right > answer.txt" });
    lab(&[rule], "right").experiment(|design| design.conditions(&["none", "self-generated"]))
}

/// An agent that passes with any skill.
fn any_skill() -> Fixture {
    let reads = json!({ "turn": 0, "seen": "Skills are folders", "run": "cat /skills/*/SKILL.md" });
    let passes = json!({ "turn": 1, "seen": "name: reports", "run": "echo right > answer.txt" });
    lab(&[reads, passes], "right").experiment(|design| {
        suite::paired(design.conditions(&["none", "curated", "placebo"]).top("primary = \"curated\""), 6)
    })
}

/// An agent that reads its skill and passes half of the tasks with and without it, under a wide margin.
fn without_effect() -> Fixture {
    let mut rules =
        vec![json!({ "turn": 0, "seen": "Skills are folders", "run": "cat /skills/reports/SKILL.md" })];
    for turn in [0, 1] {
        for task in ["t1", "t2", "t3"] {
            rules.push(json!({ "task": task, "turn": turn, "run": "echo right > answer.txt" }));
        }
    }
    lab(&rules, "right")
        .experiment(|design| suite::paired(design.conditions(&["none", "curated"]).top("margin = 0.45"), 6))
}

/// A design with rounds, and `longer.toml`, which is the same with more of them.
fn decided() -> Fixture {
    let lab = lab(&suite::diligent(), "right").experiment(|design| {
        suite::paired(design.conditions(&["none", "curated"]).repetitions(5), 6)
            .table("[stopping]\nmax_repetitions = 6\n")
    });
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    lab.file("longer.toml", text.replace("max_repetitions = 6", "max_repetitions = 9"))
}

fn others() -> Vec<Situation> {
    vec![
        Situation::new("nothing yet", lab(&suite::diligent(), "right"))
            .read(&["show"], 0)
            .read(&["show", "--history"], 0)
            .read(&["report", "x"], 2)
            .read(&["plan", "x.toml"], 2)
            .read(&["gate", "gate.toml"], 2)
            .complete("assay run EXPERIMENT", "assay run experiment.toml --no-checks")
            .complete("assay init ci", "assay init ci --experiment experiment.toml")
            .complete("assay init experiment", "assay init experiment mine"),
        // The model of the skeleton is to be replaced.
        Situation::new("a new experiment", suite::lab(0))
            .made(&["init", "experiment", "mine"], 0)
            .complete(
                "assay init task mine/skills/NAME --out mine/tasks/NAME",
                "cp -r skills/reports mine/skills/ && assay init task mine/skills/reports --out mine/tasks/reports",
            )
            .ends("run mine/experiment.toml", 2),
        // It names no skill yet.
        // There is no skill that its policy could cover.
        Situation::new("a new gate", Fixture::new()).made(&["init", "ci"], 0).ends("gate gate.toml", 2),
        Situation::new(
            "a new task",
            Fixture::new().skill("reports", "Ends reports with the agreed word.", &suite::body("right")),
        )
        // The solution of the skeleton passes its tests.
        .made(&["init", "task", "skills/reports"], 0),
    ]
}

#[test]
fn commands_in_messages_about_tables_work() {
    let executed: BTreeSet<String> = tables().into_iter().flat_map(Situation::check).collect();
    assert_executed(&executed, OF_TABLES);
}

#[test]
fn commands_in_messages_about_runs_work() {
    needs_bubblewrap!();
    let executed: BTreeSet<String> = runs().into_iter().flat_map(Situation::check).collect();
    assert_executed(&executed, OF_RUNS);
}

#[test]
fn commands_in_other_messages_work() {
    needs_bubblewrap!();
    let executed: BTreeSet<String> = others().into_iter().flat_map(Situation::check).collect();
    assert_executed(&executed, OF_OTHERS);
}

/// A plan with the lift that a report names gives the number of tasks that the report names.
#[test]
fn plan_answers_with_the_number_of_the_report() {
    needs_bubblewrap!();
    let flip = |n: usize, condition: &str| match (n % 4, condition) {
        (0, _) | (1, "none") | (2, "curated") => "right",
        _ => "wrong",
    };
    let tasks = 8;
    let mut rules =
        vec![json!({ "turn": 0, "seen": "Skills are folders", "run": "cat /skills/reports/SKILL.md" })];
    for n in 1..=tasks {
        let task = format!("report t{n}:");
        let own = format!("echo {} > answer.txt", flip(n, "curated"));
        let base = format!("echo {} > answer.txt", flip(n, "none"));
        rules.push(json!({ "turn": 1, "seen": task, "run": own }));
        rules.push(json!({ "turn": 0, "seen": task, "run": base }));
    }
    let lab = suite::lab(tasks)
        .script(&rules)
        .experiment(|design| suite::paired(design.conditions(&["none", "curated"]), tasks));
    let (document, code) = lab.run(&["--no-checks"]);
    assert_eq!(code, 0, "{document:#}");
    let comparison = &document["report"]["comparisons"][0];
    assert_eq!(comparison["verdict"], "inconclusive", "{comparison:#}");
    let needed = comparison["tasks_needed"].as_u64().unwrap();
    let plan = lab.assay(&["plan", "experiment.toml", "--lift", "0.1", "--format", "json"]).ok().json();
    assert_eq!(plan["requested"]["tasks_for_lift"], needed, "{plan:#}");
    assert_eq!(plan["requested"]["tasks_for_lift_from"], "records");
}

#[test]
fn a_design_without_a_possible_verdict_is_refused_before_its_first_trial() {
    needs_bubblewrap!();
    let four = || {
        let lab =
            (1..=4).fold(Fixture::new().needs_verdict(), |lab, n| lab.task(&format!("t{n}"), |task| task));
        lab.skill("reports", "Ends reports with the agreed word.", &suite::body("right"))
            .script(&suite::diligent())
            .experiment(|design| suite::paired(design.conditions(&["none", "curated"]), 4))
    };
    let run = ["run", "experiment.toml", "--no-checks"];
    let check = |more: &[&str], code: i32, trials: usize| {
        let lab = four();
        let ran = lab.assay(&[&run[..], more].concat()).ended(code);
        assert_eq!(lab.records().len(), trials, "{more:?}: {ran:#?}");
        ran
    };
    let ran = check(&[], 2, 0);
    let expected = "no verdict is possible: a confidence interval needs at least 5 tasks, and `curated` against `none` has 4";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert!(ran.stderr.contains("--allow-no-verdict"), "{}", ran.stderr);
    check(&["--allow-no-verdict"], 0, 8);
    check(&["--only", "task=t1"], 0, 2);
    check(&["--max-trials", "3"], 0, 3);
    check(&["--dry-run"], 0, 0);
    // What is recorded costs nothing.
    let lab = four();
    lab.assay(&[&run[..], &["--allow-no-verdict"]].concat()).ok();
    lab.assay(&run).ok();
    // One condition has no comparison, and so no verdict to miss.
    let alone =
        Fixture::new().needs_verdict().task("t1", |task| task).script(&[]).experiment(|design| design);
    alone.assay(&run).ok();
}

/// Commands that other tests take from the output and execute: the command, and the file with the test, which names it.
const ELSEWHERE: &[(&str, &str)] = &[
    ("assay --store {} gateway serve --run {run}", "limiter.rs"),
    ("assay --store {} worker --run {run}", "worker.rs"),
];

/// Those that the situations print, as they stand in the sources.
const OF_TABLES: &[&str] =
    &["assay report {run} --details", "assay report {run} --tests", "assay report {}", "assay show {}"];
const OF_RUNS: &[&str] =
    &["assay audit corpus {run}", "assay init task --help", "assay report {run}", "assay show {run}"];
const OF_OTHERS: &[&str] = &[
    "assay show",
    "assay init experiment",
    "assay init ci",
    "assay run {}",
    "assay task check {}",
    "assay run EXPERIMENT",
    "assay init task {} --out {}",
    "assay gate gate.toml",
];

/// Fails unless each of the commands, as it is written in the sources, is among the executed ones.
#[track_caller]
fn assert_executed(executed: &BTreeSet<String>, commands: &[&str]) {
    for command in commands {
        let is_it = |executed: &String| {
            let mut parts =
                command.split('{').map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
            let rest = executed.strip_prefix(parts.next().unwrap_or_default());
            let end = parts.try_fold(rest.unwrap_or_default(), |rest, part| {
                rest.find(part).map(|at| &rest[at + part.len()..])
            });
            rest.is_some() && end.is_some_and(|end| end.is_empty() || command.ends_with('}'))
        };
        assert!(executed.iter().any(is_it), "`{command}` was not printed: {executed:#?}");
    }
}

#[test]
fn commands_in_sources_are_covered_or_listed() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut files);
    }
    let mut found = BTreeSet::new();
    for file in files {
        found.extend(commands_of(&fs::read_to_string(file).unwrap()));
    }
    let groups =
        [OF_TABLES, OF_RUNS, OF_OTHERS, hints::COMMANDS, drafts::COMMANDS, people::COMMANDS].concat();
    let elsewhere = ELSEWHERE.iter().map(|(command, file)| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(file);
        let text = fs::read_to_string(path).unwrap();
        let end = command.rsplit('}').nth(1).unwrap_or_default().split('{').next().unwrap_or_default().trim();
        assert!(
            text.contains("advice::printed(") && text.contains(end),
            "{file} does not execute `{command}`"
        );
        *command
    });
    let tested: BTreeSet<&str> = groups.iter().copied().chain(elsewhere).collect();
    let new: Vec<&String> = found.iter().filter(|command| !tested.contains(command.as_str())).collect();
    assert!(new.is_empty(), "add a situation that prints these commands: {new:#?}");
    let gone: Vec<&&str> = tested.iter().filter(|command| !found.contains(**command)).collect();
    assert!(gone.is_empty(), "no message prints these commands any more: {gone:#?}");
}

/// The command in a message that begins with these words, as it is printed.
#[track_caller]
pub(crate) fn printed(text: &str, words: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let found = commands_in(&flat).into_iter().find(|command| command.contains(words));
    found.unwrap_or_else(|| panic!("no command with {words:?} in:\n{text}"))
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            sources(&path, files);
        } else if std::path::Path::new(&*name).extension().is_some_and(|kind| kind == "rs")
            && name != "tests.rs"
        {
            files.push(path);
        }
    }
}

/// The commands in a source's strings. Comments, and the tests at the end, are left out.
fn commands_of(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines = code.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    // A string that goes on in the next line.
    let text: String = lines
        .map(|line| line.strip_suffix('\\').map_or_else(|| format!("{line}\n"), str::to_owned))
        .collect();
    commands_in(&text).into_iter().filter(|command| !command.contains('"')).collect()
}
