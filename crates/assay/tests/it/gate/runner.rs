//! A runner for the workflow that ships: jobs and steps as GitHub starts them, with a bare repository as the remote, folders in
//! place of caches and artifacts, and `gh`, `cargo` and `sudo` that record what they are asked for.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};

use super::delivery::{code_and_text, git};

/// The key that signs records and looks.
pub(super) const RECORD_KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// What `gh` does here. Runs are folders of artifacts; there is one comment at most.
const GH: &str = r#"#!/bin/bash
set -e
after() { local name=$1; shift; while [ $# -gt 0 ]; do if [ "$1" = "$name" ]; then echo "$2"; return; fi; shift; done; }
case "$1 $2" in
"run list")
  [ "$(after --event "$@")" = pull_request_target ] || exit 1
  tac "$STATE/runs" 2> /dev/null || true ;;
"run download")
  from="$STATE/artifacts/$3/$(after --name "$@")"
  [ -d "$from" ] || exit 1
  to=$(after --dir "$@"); mkdir -p "$to"; cp -r "$from/." "$to" ;;
"api --paginate")
  if [ -f "$STATE/comment.md" ]; then echo 77; fi ;;
"api --method")
  echo "$3 $4 $(printf '%s ' "${@:5}" | grep -o 'state=[a-z]*' || true)" >> "$STATE/calls"
  for argument in "$@"; do case "$argument" in body=@*) cp "${argument#body=@}" "$STATE/comment.md" ;; esac; done ;;
*) echo "gh $*" >&2; exit 1 ;;
esac
"#;

/// Installs the program under test in place of a build.
pub(super) const CARGO: &str = r#"#!/bin/bash
root=; while [ $# -gt 0 ]; do if [ "$1" = --root ]; then root=$2; fi; shift; done
mkdir -p "$root/bin" && ln -s "$ASSAY_UNDER_TEST" "$root/bin/assay"
"#;

/// What became of a run of the workflow.
pub(super) struct Ran {
    /// `success`, `failure` or `skipped` of each job.
    pub(super) jobs: BTreeMap<String, String>,
    /// What the steps printed.
    pub(super) log: String,
    /// Calls of the API that write.
    pub(super) calls: Vec<String>,
    /// The comment of the pull request.
    pub(super) comment: String,
}

pub(super) struct Runner {
    folder: PathBuf,
    workflow: Value,
    remote: PathBuf,
    runs: usize,
}

/// A pull request as its event describes it.
pub(super) struct Pull<'a> {
    pub(super) number: u32,
    pub(super) head: &'a str,
    pub(super) action: &'a str,
    pub(super) label: &'a str,
}

impl Runner {
    /// For a bare repository. `folder` is this runner's own.
    pub(super) fn new(folder: &Path, workflow: Value, remote: &Path) -> Self {
        let runner = Self { folder: folder.to_owned(), workflow, remote: remote.to_owned(), runs: 0 };
        for (name, text) in [("gh", GH), ("cargo", CARGO), ("sudo", "#!/bin/sh\n")] {
            let path = runner.folder.join("bin").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::create_dir_all(runner.state()).unwrap();
        runner
    }

    fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    fn artifacts(&self) -> PathBuf {
        self.state().join("artifacts").join(self.runs.to_string())
    }

    /// Runs the workflow for an event of a pull request.
    pub(super) fn run(&mut self, pull: &Pull<'_>, secrets: &Value) -> Ran {
        self.runs += 1;
        fs::create_dir_all(self.artifacts()).unwrap();
        let event = json!({
            "action": pull.action,
            "label": { "name": pull.label },
            "pull_request": { "number": pull.number, "base": { "ref": "main" }, "head": { "sha": pull.head } },
        });
        let github = json!({ "event_name": "pull_request_target", "event": event, "token": "token", "ref_name": "main" });
        let env = self.workflow["env"].clone();
        let mut context = json!({ "github": github, "secrets": secrets, "needs": {}, "env": env });
        let _ = fs::remove_file(self.state().join("calls"));
        let (mut jobs, mut log) = (BTreeMap::new(), String::new());
        for (name, job) in self.workflow["jobs"].as_object().unwrap().clone() {
            let needs = match &job["needs"] {
                Value::String(one) => vec![one.clone()],
                Value::Array(all) => all.iter().map(|one| one.as_str().unwrap().to_owned()).collect(),
                _ => Vec::new(),
            };
            let fine = needs.iter().all(|need| jobs.get(need).is_some_and(|result| result == "success"));
            context["needs"] = Value::Object(
                needs.iter().map(|need| (need.clone(), context["jobs"][need].clone())).collect(),
            );
            let result = if holds(job["if"].as_str(), fine, &context) {
                let (result, outputs) = self.job(&name, &job, &mut context, &mut log);
                context["jobs"][&name] = json!({ "result": result, "outputs": outputs });
                result
            } else {
                context["jobs"][&name] = json!({ "result": "skipped", "outputs": {} });
                "skipped"
            };
            jobs.insert(name, result.to_owned());
        }
        let runs = self.state().join("runs");
        let before = fs::read_to_string(&runs).unwrap_or_default();
        fs::write(runs, format!("{before}{}\n", self.runs)).unwrap();
        let read = |name: &str| fs::read_to_string(self.state().join(name)).unwrap_or_default();
        let calls = read("calls").lines().map(|line| line.trim().to_owned()).collect();
        Ran { jobs, log, calls, comment: read("comment.md") }
    }

    fn job(&self, name: &str, job: &Value, context: &mut Value, log: &mut String) -> (&'static str, Value) {
        let folder = self.folder.join(format!("{}-{name}", self.runs));
        let (workspace, temp) = (folder.join("work"), folder.join("temp"));
        for made in [&workspace, &temp, &folder.join("home")] {
            fs::create_dir_all(made).unwrap();
        }
        context["runner"] = json!({ "temp": temp });
        context["steps"] = json!({});
        let (mut fine, mut path) = (true, String::new());
        for step in job["steps"].as_array().unwrap() {
            if !holds(step["if"].as_str(), fine, context) {
                continue;
            }
            let (passed, outputs) = match step["uses"].as_str() {
                Some(uses) => (self.action(uses, &step["with"], &workspace, context), json!({})),
                None => self.script(&folder, job, step, context, &mut path, log),
            };
            fine &= passed || step["continue-on-error"] == json!(true);
            if let Some(id) = step["id"].as_str() {
                let outcome = if passed { "success" } else { "failure" };
                context["steps"][id] = json!({ "outcome": outcome, "outputs": outputs });
            }
        }
        let outputs: Map<String, Value> = job["outputs"].as_object().map_or_else(Map::new, |outputs| {
            let value = |text: &Value| Value::String(filled(text.as_str().unwrap(), context));
            outputs.iter().map(|(name, text)| (name.clone(), value(text))).collect()
        });
        (if fine { "success" } else { "failure" }, Value::Object(outputs))
    }

    /// The actions that the workflow uses; another one fails the test.
    fn action(&self, uses: &str, with: &Value, workspace: &Path, context: &Value) -> bool {
        let get = |name: &str| with[name].as_str().map(|text| filled(text, context));
        match uses.split('@').next().unwrap() {
            "actions/checkout" => {
                assert_eq!(with["persist-credentials"], json!(false));
                assert_eq!((&with["ref"], &with["repository"]), (&Value::Null, &Value::Null));
                let to = workspace.join(get("path").unwrap());
                git(
                    workspace,
                    &["clone", "--quiet", &self.remote.display().to_string(), &to.display().to_string()],
                );
                true
            }
            "actions/cache/restore" | "actions/cache/save" => true,
            "actions/upload-artifact" => {
                let (from, to) =
                    (PathBuf::from(get("path").unwrap()), self.artifacts().join(get("name").unwrap()));
                if !from.exists() {
                    return true;
                }
                fs::create_dir_all(&to).unwrap();
                let from =
                    if from.is_dir() { format!("{}/.", from.display()) } else { from.display().to_string() };
                Command::new("cp").args(["-r", &from]).arg(&to).status().unwrap().success()
            }
            "actions/download-artifact" => {
                let to = PathBuf::from(get("path").unwrap());
                fs::create_dir_all(&to).unwrap();
                let name = get("name");
                let from = name.as_ref().map_or_else(|| self.artifacts(), |name| self.artifacts().join(name));
                from.is_dir()
                    && Command::new("cp").arg("-r").arg(from.join(".")).arg(&to).status().unwrap().success()
            }
            other => panic!("{other}"),
        }
    }

    /// A step with a script, as `bash -e`, in an environment of its own.
    fn script(
        &self,
        folder: &Path,
        job: &Value,
        step: &Value,
        context: &Value,
        path: &mut String,
        log: &mut String,
    ) -> (bool, Value) {
        let (script, output, paths) = (folder.join("step.sh"), folder.join("output"), folder.join("path"));
        fs::write(&script, step["run"].as_str().unwrap()).unwrap();
        fs::write(&output, "").unwrap();
        fs::write(&paths, "").unwrap();
        let at = step["working-directory"]
            .as_str()
            .map_or_else(|| folder.join("work"), |name| folder.join("work").join(name));
        let own = format!(
            "{path}{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            self.folder.join("bin").display()
        );
        let mut command = Command::new("bash");
        command.arg("-e").arg(&script).current_dir(at).env_clear().stdin(Stdio::null());
        command.envs([
            ("PATH", own.as_str()),
            ("CI", "true"),
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_RUN_ID", "1"),
        ]);
        command.envs([("GITHUB_REPOSITORY", "o/r"), ("GITHUB_SERVER_URL", "https://github.com")]);
        command
            .env("HOME", folder.join("home"))
            .env("RUNNER_TEMP", folder.join("temp"))
            .env("STATE", self.state());
        command
            .env("GITHUB_OUTPUT", &output)
            .env("GITHUB_PATH", &paths)
            .env("ASSAY_SCRATCH", folder.join("scratch"));
        command.env("ASSAY_UNDER_TEST", env!("CARGO_BIN_EXE_assay"));
        for env in [&self.workflow["env"], &job["env"], &step["env"]] {
            for (name, value) in env.as_object().into_iter().flatten() {
                command.env(name, filled(value.as_str().unwrap(), context));
            }
        }
        let (code, text) = code_and_text(&command.output().unwrap());
        let name = step["name"].as_str().unwrap_or("run");
        log.push_str(&format!("== {name}: {code}\n{text}"));
        for line in fs::read_to_string(&paths).unwrap().lines() {
            path.insert_str(0, &format!("{line}:"));
        }
        let pairs = fs::read_to_string(&output).unwrap();
        let pairs = pairs.lines().filter_map(|line| line.split_once('='));
        (code == 0, Value::Object(pairs.map(|(name, value)| (name.to_owned(), json!(value))).collect()))
    }
}

/// Secrets of the environments that the documentation asks for.
pub(super) fn secrets() -> Value {
    json!({ "ASSAY_RECORD_KEY": RECORD_KEY, "ANTHROPIC_API_KEY": "CANARY-not-a-key" })
}

/// Whether a job or a step runs. Without a status function it needs that all before it went well.
fn holds(condition: Option<&str>, fine: bool, context: &Value) -> bool {
    let Some(condition) = condition else { return fine };
    let condition = condition.trim().trim_start_matches("${{").trim_end_matches("}}");
    let met = truthy(&evaluate(condition, context));
    met && (fine || condition.contains("always()"))
}

/// A text with its expressions replaced.
fn filled(text: &str, context: &Value) -> String {
    let mut parts = text.split("${{");
    let mut filled = parts.next().unwrap().to_owned();
    for part in parts {
        let (expression, rest) = part.split_once("}}").unwrap();
        match evaluate(expression, context) {
            Value::String(text) => filled.push_str(&text),
            Value::Null => {}
            other => filled.push_str(&other.to_string()),
        }
        filled.push_str(rest);
    }
    filled
}

fn truthy(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && *value != json!("")
}

/// The part of GitHub's expressions that the workflow uses: `||`, `&&`, parentheses around the whole, `==`, `!=`, text, `always()` and
/// names of the contexts.
fn evaluate(expression: &str, context: &Value) -> Value {
    let expression = expression.trim();
    for (operator, stops) in [("||", true), ("&&", false)] {
        if let Some((left, right)) = split(expression, operator) {
            let left = evaluate(left, context);
            return if truthy(&left) == stops { left } else { evaluate(right, context) };
        }
    }
    if let Some(inner) = expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        return evaluate(inner, context);
    }
    for (operator, equal) in [("==", true), ("!=", false)] {
        if let Some((left, right)) = split(expression, operator) {
            return json!((evaluate(left, context) == evaluate(right, context)) == equal);
        }
    }
    if expression == "always()" {
        return json!(true);
    }
    if let Some(text) = expression.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return json!(text);
    }
    let mut value = context;
    for name in expression.split('.') {
        value = &value[name];
    }
    value.clone()
}

/// At the first operator outside of parentheses and quotes.
fn split<'a>(text: &'a str, operator: &str) -> Option<(&'a str, &'a str)> {
    let (mut depth, mut quoted) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ if depth == 0 && !quoted && text[at..].starts_with(operator) => {
                return Some((&text[..at], &text[at + operator.len()..]));
            }
            _ => {}
        }
    }
    None
}

#[test]
fn expressions_are_evaluated_as_by_a_runner() {
    let context =
        json!({ "github": { "event": { "action": "labeled", "label": { "name": "x" } } }, "a": "" });
    let check = |text: &str, expected: &str| assert_eq!(filled(text, &context), expected, "{text}");
    check("a ${{ github.event.action }} b", "a labeled b");
    check("${{ github.event.action == 'labeled' && github.event.label.name || '' }}", "x");
    check("${{ github.event.action == 'opened' && github.event.label.name || '' }}", "");
    check("${{ a || github.nothing || 'main' }}", "main");
    let condition = Some("github.event.action != 'labeled' || (github.event.label.name == 'x')");
    assert!(holds(condition, true, &context) && !holds(condition, false, &context));
    assert!(holds(Some("always() && a != 'skipped'"), false, &context));
}
