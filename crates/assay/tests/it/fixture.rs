//! A fixture: a temporary folder with tasks, skills, a script and an experiment, and `assay` to run on them.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The longest that a command may take before its test fails. The machine may be busy with other things.
const PATIENCE: Duration = Duration::from_mins(3);

pub(crate) use assay_test::needs_bubblewrap;

/// Whether a program that cargo built is missing or older than a file that it was built from, by the list of these files:
/// beside it after `cargo build`, and only beside the file in `deps` that it is a link to after `cargo test`.
pub(crate) fn is_outdated(program: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|found| found.modified());
    let is_program = |path: &Path| {
        let [link, file] = [path, program].map(|path| fs::metadata(path).map(|found| found.ino()));
        link.is_ok_and(|link| file.is_ok_and(|file| link == file))
    };
    let linked = || {
        let entries = fs::read_dir(program.parent()?.join("deps")).ok()?;
        entries.flatten().map(|entry| entry.path()).find(|path| is_program(path))
    };
    let list = fs::read_to_string(program.with_extension("d"))
        .or_else(|error| fs::read_to_string(linked().ok_or(error)?.with_extension("d")));
    let (Ok(built), Ok(list)) = (time(program), list) else { return true };
    // `program: file file`, a space in a name behind a backslash.
    let files = list.split_once(": ").map_or("", |(_, files)| files).replace("\\ ", "\0");
    files
        .split_whitespace()
        .any(|file| time(Path::new(&file.replace('\0', " "))).is_ok_and(|changed| changed > built))
}

/// Builds the program of the laboratory, if the tests were built without it: it is no default member of the workspace.
pub(crate) fn build_laboratory() {
    static BUILT: Once = Once::new();
    let beside = Path::new(env!("CARGO_BIN_EXE_assay")).parent().unwrap();
    BUILT.call_once(|| {
        if !is_outdated(&beside.join("assay-lab")) {
            return;
        }
        let mut build = Command::new(env!("CARGO"));
        // The features of a test of the whole workspace, so that little is built twice.
        build.args(["build", "--locked", "--workspace", "--features", "assay/full", "--bin", "assay-lab"]);
        build.arg("--target-dir");
        build.arg(beside.parent().unwrap());
        if beside.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success(), "assay-lab cannot be built");
    });
}

/// A folder of its own for each test. Store and home lie in it too.
pub(crate) struct Fixture {
    folder: TempDir,
    env: Vec<(&'static str, String)>,
    /// Whether `assay run` refuses designs without a possible verdict, as it does for users.
    needs_verdict: bool,
    /// Whether experiments may run without a sandbox.
    allows_unsandboxed: bool,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("assay-lab-").tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder, env: Vec::new(), needs_verdict: false, allows_unsandboxed: false }
    }

    /// A variable in the environment of every `assay` of this fixture.
    pub(crate) fn env(mut self, name: &'static str, value: &str) -> Self {
        self.env.push((name, value.to_owned()));
        self
    }

    /// The same without `--allow-no-verdict`, which other fixtures pass to `assay run`: most have fewer tasks than a verdict
    /// needs.
    pub(crate) fn needs_verdict(self) -> Self {
        Self { needs_verdict: true, ..self }
    }

    /// The same, whose experiments may have sandbox `none`.
    pub(crate) fn allow_unsandboxed(self) -> Self {
        Self { allows_unsandboxed: true, ..self }
    }

    /// The same with output for a terminal of so many columns.
    pub(crate) fn columns(self, columns: u16) -> Self {
        self.env("COLUMNS", &columns.to_string())
    }

    /// A file, relative to the folder.
    pub(crate) fn file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        self.write(path, text);
        self
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if path.extension().is_some_and(|extension| extension == "sh") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// A task that passes where `answer.txt` says `right`, unless `shape` makes it another.
    pub(crate) fn task(self, name: &str, shape: impl FnOnce(TaskFolder<'_>) -> TaskFolder<'_>) -> Self {
        let task = TaskFolder { fixture: &self, folder: format!("tasks/{name}") }
            .toml("version = \"1.0\"\n")
            .instruction(&format!("End the report {name}: write the agreed word into answer.txt.\n"))
            .dockerfile("FROM debian:12-slim\nWORKDIR /app\n")
            .test_sh("[ \"$(cat /app/answer.txt)\" = right ] && reward 1 || reward 0\n")
            .solve_sh("echo right > /app/answer.txt\n");
        shape(task);
        self
    }

    /// A skill in the library.
    pub(crate) fn skill(self, name: &str, description: &str, body: &str) -> Self {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}\n");
        self.file(&format!("skills/{name}/SKILL.md"), text)
    }

    /// What the model `scripted:turns.jsonl` plays; "Done." where no rule applies.
    pub(crate) fn script(self, rules: &[Value]) -> Self {
        let done = json!({ "say": "Done." });
        let lines: Vec<String> = rules.iter().chain([&done]).map(Value::to_string).collect();
        self.file("turns.jsonl", lines.join("\n"))
    }

    /// The experiment. Comes last: it takes in what lies there.
    pub(crate) fn experiment(self, shape: impl FnOnce(Design) -> Design) -> Self {
        let design = shape(Design::new(self.path("skills").exists()));
        self.file("experiment.toml", design.text())
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder().join(path)
    }

    /// `assay` with arguments, in the folder, with a clean environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        if args.contains(&"lab") || args.contains(&"completions") {
            build_laboratory();
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.args(args);
        let is_run = matches!(args, ["run", ..] | ["--store", _, "run", ..]);
        if is_run && !self.needs_verdict && !args.contains(&"--help") {
            command.arg("--allow-no-verdict");
        }
        if self.allows_unsandboxed && (is_run || args.first() == Some(&"plan")) {
            command.arg("--allow-unsandboxed");
        }
        command.current_dir(self.folder()).env_clear().stdin(Stdio::null());
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin").env("HOME", self.path("home"));
        // So that what mounts a part of the fixture is found by its name, and leftovers are.
        command.env("ASSAY_SCRATCH", self.path(".assay/scratch"));
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs `assay` to its end.
    pub(crate) fn assay(&self, args: &[&str]) -> Ran {
        self.start(args).wait()
    }

    /// Starts `assay`.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        Running::start(&mut self.command(args))
    }

    /// `assay run --format json` with more arguments: its document and its status.
    pub(crate) fn run(&self, args: &[&str]) -> (Value, i32) {
        let ran = self.assay(&[&["run", "experiment.toml", "--format", "json"], args].concat());
        (ran.json(), ran.code)
    }

    /// Changes all records; their signatures are removed.
    pub(crate) fn edit_records(&self, edit: impl Fn(&mut Value)) {
        for trial in self.trials() {
            let path = trial.join("record.json");
            let Some(mut record) = read_json(&path) else { continue };
            edit(&mut record);
            record.as_object_mut().unwrap().remove("signature");
            std::fs::write(&path, record.to_string()).unwrap();
        }
    }

    /// The folders of the store's trials.
    pub(crate) fn trials(&self) -> Vec<PathBuf> {
        let list = |path: &Path| -> Vec<PathBuf> {
            fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
        };
        let mut trials: Vec<PathBuf> =
            list(&self.path(".assay/trials")).iter().flat_map(|shelf| list(shelf)).collect();
        trials.sort();
        trials
    }

    /// The records of the agent `loop`, each with its trial's folder as `folder`, by task, condition and repetition.
    pub(crate) fn records(&self) -> Vec<Value> {
        self.records_of("loop")
    }

    /// The same of an agent of a name.
    pub(crate) fn records_of(&self, agent: &str) -> Vec<Value> {
        let mut records: Vec<Value> = self
            .trials()
            .into_iter()
            .filter_map(|folder| {
                let mut record = read_json(&folder.join("record.json"))?;
                record["folder"] = json!(folder);
                Some(record)
            })
            .filter(|record| record["agent"]["name"] == agent)
            .collect();
        records.sort_by_key(|record| {
            [&record["task"], &record["condition"], &record["repetition"]].map(Value::to_string)
        });
        records
    }

    /// The one record of a task.
    pub(crate) fn record(&self, task: &str) -> Value {
        let mut found: Vec<Value> =
            self.records().into_iter().filter(|record| record["task"] == task).collect();
        assert_eq!(found.len(), 1, "records of {task}: {found:#?}");
        found.remove(0)
    }
}

/// A file of the last attempt of a recorded trial.
pub(crate) fn attempt(record: &Value, file: &str) -> PathBuf {
    let folder = Path::new(record["folder"].as_str().unwrap());
    folder.join("attempts").join(record["attempt"].to_string()).join(file)
}

/// What the agent's commands gave, in order.
pub(crate) fn observed(record: &Value) -> Vec<String> {
    let trajectory = read_json(&attempt(record, "trajectory.json")).unwrap();
    let steps = trajectory["steps"].as_array().unwrap();
    let results = steps.iter().filter_map(|step| step["observation"]["results"].as_array()).flatten();
    results.map(|result| result["content"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn read_json(path: &Path) -> Option<Value> {
    Some(serde_json::from_slice(&fs::read(path).ok()?).unwrap())
}

/// Waits until `done`; false after `wait`.
pub(crate) fn within(wait: Duration, mut done: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + wait;
    while !done() {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// The parts of a task.
pub(crate) struct TaskFolder<'a> {
    fixture: &'a Fixture,
    folder: String,
}

impl TaskFolder<'_> {
    pub(crate) fn instruction(self, text: &str) -> Self {
        self.file("instruction.md", text)
    }

    /// The verifier. `reward N` writes a reward.
    pub(crate) fn test_sh(self, script: &str) -> Self {
        let head = "#!/bin/bash\nreward() { echo \"$1\" > /logs/verifier/reward.txt; }\n";
        self.file("tests/test.sh", &format!("{head}{script}"))
    }

    pub(crate) fn solve_sh(self, script: &str) -> Self {
        self.file("solution/solve.sh", &format!("#!/bin/bash\n{script}"))
    }

    pub(crate) fn dockerfile(self, text: &str) -> Self {
        self.file("environment/Dockerfile", text)
    }

    pub(crate) fn toml(self, text: &str) -> Self {
        self.file("task.toml", text)
    }

    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        self.fixture.write(&format!("{}/{path}", self.folder), text);
        self
    }
}

/// An experiment in the making: `loop` with a script in bubblewrap, conditions `none`, one repetition.
pub(crate) struct Design {
    conditions: Vec<&'static str>,
    repetitions: u32,
    concurrency: u32,
    model: String,
    has_library: bool,
    top: String,
    agent: String,
    pairs: String,
    sandbox: &'static str,
}

impl Design {
    fn new(has_library: bool) -> Self {
        Self {
            conditions: vec!["none"],
            repetitions: 1,
            concurrency: 2,
            model: "scripted:turns.jsonl".to_owned(),
            has_library,
            top: String::new(),
            agent: "timeout = 60\n".to_owned(),
            pairs: String::new(),
            sandbox: "sandbox = \"bubblewrap\"\n",
        }
    }

    /// Without the line that names bubblewrap: a table says what else.
    pub(crate) fn no_sandbox(self) -> Self {
        Self { sandbox: "", ..self }
    }

    /// A table after all others.
    pub(crate) fn table(self, text: &str) -> Self {
        Self { pairs: format!("{}{text}", self.pairs), ..self }
    }

    pub(crate) fn conditions(self, conditions: &[&'static str]) -> Self {
        Self { conditions: conditions.to_vec(), ..self }
    }

    pub(crate) fn repetitions(self, repetitions: u32) -> Self {
        Self { repetitions, ..self }
    }

    pub(crate) fn concurrency(self, concurrency: u32) -> Self {
        Self { concurrency, ..self }
    }

    /// `provider:model`, served at an address.
    pub(crate) fn served(self, model: &str, base_url: &str) -> Self {
        let agent = format!("{}base_url = \"{base_url}\"\n", self.agent);
        Self { model: model.to_owned(), agent, ..self }
    }

    /// Lines of the table `[[agents]]`; they replace those that are there.
    pub(crate) fn agent(self, lines: &str) -> Self {
        Self { agent: format!("{lines}\n"), ..self }
    }

    /// A line above all tables.
    pub(crate) fn top(self, line: &str) -> Self {
        Self { top: format!("{}{line}\n", self.top), ..self }
    }

    /// The skills of a task.
    pub(crate) fn pair(self, task: &str, skills: &[&str]) -> Self {
        Self { pairs: format!("{}[tasks.\"{task}\"]\ncurated = {skills:?}\n", self.pairs), ..self }
    }

    fn text(&self) -> String {
        let Self { conditions, repetitions, concurrency, model, top, agent, pairs, sandbox, .. } = self;
        let library = if self.has_library { "library = [\"skills/*\"]\n" } else { "" };
        format!(
            "schema = \"assay.experiment/1\"\nname = \"lab\"\nsuite = [\"tasks/*\"]\n{library}\
             conditions = {conditions:?}\nrepetitions = {repetitions}\nconcurrency = {concurrency}\n\
             {sandbox}{top}[[agents]]\nname = \"loop\"\nmodel = \"{model}\"\n{agent}{pairs}"
        )
    }
}

/// A command under way. Its streams go to files, so that nothing waits for a reader.
pub(crate) struct Running {
    child: Child,
    streams: TempDir,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let streams = tempfile::tempdir().unwrap();
        let file = |name: &str| fs::File::create(streams.path().join(name)).unwrap();
        let child = command.stdout(file("out")).stderr(file("err")).spawn().unwrap();
        Self { child, streams }
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn stderr(&self) -> String {
        self.stream("err")
    }

    pub(crate) fn wait(self) -> Ran {
        self.wait_for(PATIENCE)
    }

    pub(crate) fn wait_for(mut self, patience: Duration) -> Ran {
        if !within(patience, || self.has_ended()) {
            self.child.kill().unwrap();
            panic!("no end within {patience:?}; it said:\n{}{}", self.stream("out"), self.stream("err"));
        }
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        Ran { code, stdout: self.stream("out"), stderr: self.stream("err") }
    }

    /// What it has said on standard error so far.
    pub(crate) fn said(&self) -> String {
        self.stream("err")
    }

    fn stream(&self, name: &str) -> String {
        String::from_utf8(fs::read(self.streams.path().join(name)).unwrap()).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a command ended, and what it said.
#[derive(Debug)]
pub(crate) struct Ran {
    /// -1 where a signal ended it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// It ended well.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.ended(0)
    }

    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}
