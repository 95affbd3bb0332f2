//! A runner for the pipeline that ships for GitLab: jobs and variables as GitLab documents them, with a bare repository as the
//! project, folders in place of caches and artifacts, and `curl`, `cargo` and `apt-get` that record what they are asked for.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::delivery::{code_and_text, git, template};
use super::runner::{CARGO, RECORD_KEY};
use super::{POLICY, repository, save, skill};
use crate::fixture::{Fixture, needs_bubblewrap};

/// The server that the variables name, and what its token is.
const SERVER: &str = "https://gitlab.example";
const TOKEN: &str = "CANARY-token-of-the-gate";

/// GitLab's API: one user, and the comments of one merge request.
const CURL: &str = r#"#!/bin/bash
set -e
method=GET; url=; body=
while [ $# -gt 0 ]; do
  case "$1" in
  --request) method=$2; shift ;;
  --header) [ "$2" = "PRIVATE-TOKEN: $STATE_TOKEN" ] || exit 22; shift ;;
  --data-urlencode) body=${2#body@}; shift ;;
  --output) shift ;;
  http*) url=$1 ;;
  esac
  shift
done
echo "$method ${url%%\?*}" >> "$STATE/calls"
case "$method $url" in
"GET "*/api/v4/user) echo '{"id":5}' ;;
"GET "*/notes?*) cat "$STATE/notes.json" ;;
"POST "*/merge_requests/*/notes)
  jq --rawfile body "$body" '. + [{id: 91, author: {id: 5}, body: $body}]' "$STATE/notes.json" > "$STATE/next"
  mv "$STATE/next" "$STATE/notes.json" ;;
"PUT "*/notes/91)
  jq --rawfile body "$body" 'map(if .id == 91 then .body = $body else . end)' "$STATE/notes.json" > "$STATE/next"
  mv "$STATE/next" "$STATE/notes.json" ;;
*) echo "$method $url" >&2; exit 22 ;;
esac
"#;

/// A merge request as the variables of its pipeline describe it.
struct MergeRequest<'a> {
    iid: u32,
    head: &'a str,
    /// Whether the pipeline tests the merge, as merged results pipelines do.
    is_merged: bool,
    labels: &'a str,
    /// Variables of the project: a fork has none.
    is_in_project: bool,
}

/// What became of a pipeline.
struct Pipeline {
    jobs: BTreeMap<String, i32>,
    log: String,
    calls: Vec<String>,
    /// The comment of the gate.
    comment: String,
}

impl Pipeline {
    fn codes(&self) -> [Option<i32>; 3] {
        ["assay-open", "assay-gate", "assay-report"].map(|job| self.jobs.get(job).copied())
    }
}

/// A project at its base, and a clone of it.
struct Project {
    lab: Fixture,
    remote: PathBuf,
    template: Value,
    pipelines: usize,
}

impl Project {
    fn new() -> Self {
        let lab = repository();
        git(lab.folder(), &["checkout", "--quiet", "-B", "main", "base"]);
        lab.write("gate.toml", POLICY.replace("path = \"ledger.jsonl\"", "git_ref = \"refs/assay/gate\""));
        lab.write(".gitignore", ".assay\nhome\nremote.git\nrunner\n");
        save(&lab, "Count looks in a reference");
        git(lab.folder(), &["clone", "--quiet", "--bare", ".", "remote.git"]);
        let remote = lab.path("remote.git");
        git(lab.folder(), &["remote", "add", "origin", &remote.display().to_string()]);
        for (name, text) in [("curl", CURL), ("cargo", CARGO), ("apt-get", "#!/bin/sh\n")] {
            let path = lab.path("runner/bin").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        // Somebody else wrote a comment with the mark of the gate.
        let foreign =
            json!([{ "id": 7, "author": { "id": 6 }, "body": "<!-- assay gate -->\n**assay gate: pass**" }]);
        lab.write("runner/state/notes.json", foreign.to_string());
        Self { lab, remote, template: template("gitlab.yml"), pipelines: 0 }
    }

    /// A commit on main, offered as a merge request: its head is a reference of the server, as for a fork.
    fn offer(&self, iid: u32, change: impl FnOnce(&Fixture)) -> String {
        let folder = self.lab.folder();
        git(folder, &["checkout", "--quiet", "--detach", "main"]);
        change(&self.lab);
        git(folder, &["add", "--all"]);
        git(folder, &["commit", "--quiet", "--message", "Change"]);
        let head = git(folder, &["rev-parse", "HEAD"]);
        git(
            folder,
            &["push", "--quiet", "--force", "origin", &format!("HEAD:refs/merge-requests/{iid}/head")],
        );
        // GitLab keeps the merge into the target beside it.
        git(folder, &["checkout", "--quiet", "--detach", "main"]);
        git(folder, &["merge", "--quiet", "--no-ff", "--no-edit", &head]);
        git(
            folder,
            &["push", "--quiet", "--force", "origin", &format!("HEAD:refs/merge-requests/{iid}/merge")],
        );
        head
    }

    /// How many looks are opened and completed in the project.
    fn looks(&self) -> [usize; 2] {
        let output = Command::new("git")
            .current_dir(&self.remote)
            .args(["ls-tree", "-r", "--name-only", "refs/assay/gate"])
            .output()
            .unwrap();
        let names = String::from_utf8(output.stdout).unwrap();
        ["opened", "completed"].map(|kind| names.lines().filter(|name| name.contains(kind)).count())
    }

    /// A job with what it extends: tables are merged, lists replaced.
    fn job(&self, name: &str) -> Value {
        fn merge(base: &mut Value, own: &Value) {
            match (base, own) {
                (Value::Object(base), Value::Object(own)) => {
                    for (key, value) in own {
                        merge(base.entry(key.clone()).or_insert(Value::Null), value);
                    }
                }
                (base, own) => *base = own.clone(),
            }
        }
        let own = &self.template[name];
        let mut job = self.template[own["extends"].as_str().unwrap()].clone();
        merge(&mut job, own);
        job
    }

    fn run(&mut self, request: &MergeRequest<'_>) -> Pipeline {
        self.pipelines += 1;
        let state = self.lab.path("runner/state");
        let _ = fs::remove_file(state.join("calls"));
        let (mut jobs, mut log): (BTreeMap<String, i32>, String) = (BTreeMap::new(), String::new());
        for name in ["assay-open", "assay-gate", "assay-report"] {
            let job = self.job(name);
            assert_eq!(job["rules"][0]["if"], json!("$CI_PIPELINE_SOURCE == \"merge_request_event\""));
            let needs: Vec<&str> = match job["needs"].as_array() {
                Some(needs) => {
                    needs.iter().filter_map(|need| need.as_str().or(need["job"].as_str())).collect()
                }
                None => Vec::new(),
            };
            let is_always = job["rules"][0]["when"] == json!("always");
            if is_always || needs.iter().all(|need| jobs.get(*need) == Some(&0)) {
                let (code, text) = self.run_job(name, &job, &needs, request);
                log.push_str(&format!("== {name}: {code}\n{text}"));
                jobs.insert(name.to_owned(), code);
            }
        }
        let calls = fs::read_to_string(state.join("calls")).unwrap_or_default();
        let notes: Value = serde_json::from_slice(&fs::read(state.join("notes.json")).unwrap()).unwrap();
        let notes = notes.as_array().unwrap();
        // The foreign one is as it was.
        assert_eq!(notes[0]["body"], json!("<!-- assay gate -->\n**assay gate: pass**"));
        assert!(notes.len() <= 2, "{notes:#?}");
        let comment = notes.get(1).map_or(String::new(), |note| note["body"].as_str().unwrap().to_owned());
        Pipeline { jobs, log, calls: calls.lines().map(str::to_owned).collect(), comment }
    }

    fn run_job(&self, name: &str, job: &Value, needs: &[&str], request: &MergeRequest<'_>) -> (i32, String) {
        let folder = self.lab.path(&format!("runner/{}-{name}", self.pipelines));
        let project = folder.join("project");
        let home = folder.join("home");
        fs::create_dir_all(&home).unwrap();
        let artifacts = |job: &str| self.lab.path(&format!("runner/artifacts/{}-{job}", self.pipelines));
        // The token of the job reads, and may not push; that of the gate may.
        let remote = self.remote.display();
        let config = format!(
            "[url \"file://{remote}\"]\n\tinsteadOf = {SERVER}/o/r.git\n\tinsteadOf = {}\n[url \"file:///nowhere\"]\n\tpushInsteadOf = {SERVER}/o/r.git\n",
            SERVER.replace("://", &format!("://oauth2:{TOKEN}@")) + "/o/r.git",
        );
        fs::write(home.join(".gitconfig"), config).unwrap();
        let kind = if request.is_merged { "merge" } else { "head" };
        let fetch = format!(
            "+refs/merge-requests/{0}/{kind}:refs/remotes/origin/merge-requests/{0}/{kind}",
            request.iid
        );
        fs::create_dir_all(&project).unwrap();
        let checkout = |args: &[&str]| {
            let output =
                Command::new("git").current_dir(&project).env("HOME", &home).args(args).output().unwrap();
            assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        checkout(&["init", "--quiet"]);
        checkout(&["remote", "add", "origin", &format!("{SERVER}/o/r.git")]);
        checkout(&["fetch", "--quiet", "origin", &fetch]);
        let commit = checkout(&["rev-parse", "FETCH_HEAD"]);
        checkout(&["checkout", "--force", "--quiet", &commit]);

        let mut variables: BTreeMap<String, String> = BTreeMap::new();
        let mut set = |name: &str, value: &str| variables.insert(name.to_owned(), value.to_owned());
        for table in [&self.template["variables"], &job["variables"]] {
            for (name, value) in table.as_object().unwrap() {
                set(
                    name,
                    &value.as_str().unwrap().replace("$CI_PROJECT_DIR", &project.display().to_string()),
                );
            }
        }
        set("ASSAY", "0123456789abcdef0123456789abcdef01234567");
        set("CI", "true");
        set("GITLAB_CI", "true");
        set("CI_PIPELINE_SOURCE", "merge_request_event");
        set("CI_PROJECT_DIR", &project.display().to_string());
        set("CI_COMMIT_SHA", &commit);
        set("CI_SERVER_PROTOCOL", "https");
        set("CI_SERVER_HOST", "gitlab.example");
        set("CI_PROJECT_PATH", "o/r");
        set("CI_PROJECT_ID", "11");
        set("CI_API_V4_URL", &format!("{SERVER}/api/v4"));
        set("CI_JOB_URL", &format!("{SERVER}/o/r/-/jobs/{}", 100 + self.pipelines));
        set("CI_MERGE_REQUEST_IID", &request.iid.to_string());
        set("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main");
        set("CI_MERGE_REQUEST_LABELS", request.labels);
        if request.is_merged {
            set("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", request.head);
        }
        let scope = job["environment"]["name"].as_str().unwrap();
        if request.is_in_project {
            // As the documentation limits them.
            set("ASSAY_RECORD_KEY", RECORD_KEY);
            match scope {
                "assay-ledger" => set("ASSAY_GATE_TOKEN", TOKEN),
                "assay-gate" => set("ANTHROPIC_API_KEY", "CANARY-not-a-key"),
                other => panic!("{other}"),
            };
        }
        for need in needs {
            let from = artifacts(need);
            copy(&from.join("result"), &project.join("result"));
            for line in fs::read_to_string(from.join("result/target.env")).unwrap_or_default().lines() {
                let (name, value) = line.split_once('=').unwrap();
                set(name, value);
            }
        }
        let caches = self.caches(job, request);
        for (cache, path, _) in &caches {
            copy(&cache.join(path), &project.join(path));
        }
        let script = folder.join("script.sh");
        let lines =
            |part: &str| job[part].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned());
        let text: Vec<String> = lines("before_script").chain(lines("script")).collect();
        fs::write(&script, format!("set -eo pipefail\nset +o noclobber\n{}\n", text.join("\n"))).unwrap();
        let mut command = Command::new("bash");
        command.arg(&script).current_dir(&project).env_clear().envs(&variables).stdin(Stdio::null());
        let bin = self.lab.path("runner/bin");
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", bin.display()));
        command.env("HOME", &home).env("ASSAY_SCRATCH", folder.join("scratch"));
        command.env("STATE", self.lab.path("runner/state")).env("STATE_TOKEN", TOKEN);
        command.env("ASSAY_UNDER_TEST", env!("CARGO_BIN_EXE_assay"));
        let (code, text) = code_and_text(&command.output().unwrap());
        // What GitLab keeps after a job, whatever became of it.
        let keeps = job["artifacts"]["when"] == json!("always") || code == 0;
        if keeps && job["artifacts"]["paths"] == json!(["result"]) {
            copy(&project.join("result"), &artifacts(name).join("result"));
        }
        for (cache, path, when) in &caches {
            if when == "always" || (when == "on_success" && code == 0) {
                copy(&project.join(path), &cache.join(path));
            }
        }
        (code, text)
    }

    /// The folder, the path and the condition of saving of each cache of a job.
    fn caches(&self, job: &Value, request: &MergeRequest<'_>) -> Vec<(PathBuf, String, String)> {
        let mut caches = Vec::new();
        for cache in job["cache"].as_array().unwrap() {
            let key =
                cache["key"].as_str().unwrap().replace("$CI_MERGE_REQUEST_IID", &request.iid.to_string());
            let when = if cache["policy"] == json!("pull") {
                "never"
            } else {
                cache["when"].as_str().unwrap_or("on_success")
            };
            for path in cache["paths"].as_array().unwrap() {
                let folder = self.lab.path("runner/caches").join(key.replace('$', ""));
                caches.push((folder, path.as_str().unwrap().to_owned(), when.to_owned()));
            }
        }
        caches
    }
}

/// Replaces a folder by another one, if that is there.
fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        return;
    }
    if to.exists() {
        fs::remove_dir_all(to).unwrap();
    }
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    assert!(Command::new("cp").arg("-r").args([from, to]).status().unwrap().success());
}

fn better(lab: &Fixture) {
    lab.write("skills/reports/SKILL.md", skill("reports", "right"));
}

#[test]
fn pipeline_gates_merge_requests() {
    needs_bubblewrap!();
    let mut project = Project::new();
    let head = project.offer(4, better);
    let request = |is_merged: bool, is_in_project: bool| MergeRequest {
        iid: 4,
        head: &head,
        is_merged,
        labels: "",
        is_in_project,
    };

    // In a fork: without variables nothing is opened, and nothing is pushed.
    let ran = project.run(&request(false, false));
    assert_eq!(ran.codes(), [Some(3), None, Some(3)], "{}", ran.log);
    assert!(ran.log.contains("ASSAY_GATE_TOKEN is missing") && ran.calls.is_empty(), "{}", ran.log);
    assert_eq!(project.looks(), [0, 0]);

    // The same head in the project, where GitLab tests its merge into the target.
    let ran = project.run(&request(true, true));
    assert_eq!(ran.codes(), [Some(0); 3], "{}", ran.log);
    assert!(ran.comment.contains("**assay gate: pass**"), "{}", ran.comment);
    assert!(ran.comment.contains("| `skills/reports` | pass | +100 pp ("), "{}", ran.comment);
    let view = "[Trials and transcripts](https://gitlab.example/o/r/-/jobs/102/artifacts/browse/result/view)";
    assert!(ran.comment.contains(view), "{}", ran.comment);
    let exported = project.lab.path("runner/artifacts/2-assay-gate/result/view/index.html");
    assert!(exported.is_file(), "{}", ran.log);
    let notes = "https://gitlab.example/api/v4/projects/11/merge_requests/4/notes";
    assert_eq!(ran.calls.last().unwrap(), &format!("POST {notes}"), "{:?}", ran.calls);
    assert!(!ran.log.contains("CANARY"), "{}", ran.log);
    assert_eq!(project.looks(), [1, 1]);

    // Another pipeline, of the head alone, has the trials of the first and updates its comment.
    let ran = project.run(&request(false, true));
    assert_eq!(ran.codes(), [Some(0); 3], "{}", ran.log);
    assert!(ran.log.contains("36 recorded, 0 to execute"), "{}", ran.log);
    assert_eq!(ran.calls.last().unwrap(), &format!("PUT {notes}/91"), "{:?}", ran.calls);
    assert_eq!(project.looks(), [1, 1]);
}

#[test]
fn pipeline_of_a_fork_is_judged_by_the_rules_of_the_target() {
    needs_bubblewrap!();
    let mut project = Project::new();
    let marker = project.lab.path("executed").display().to_string();
    let head = project.offer(9, |lab| {
        lab.write("skills/invoices/SKILL.md", skill("invoices", "wrong"));
        for number in 1..=6 {
            lab.write(&format!("tasks/invoices-{number}/tests/test.sh"), "reward 1\n");
        }
        lab.write(".gitlab-ci.yml", format!("a: {{ script: ['touch {marker}'] }}\n"));
        lab.write(".gitattributes", "* filter=own\n");
    });
    let ran =
        project.run(&MergeRequest { iid: 9, head: &head, is_merged: false, labels: "", is_in_project: true });
    assert_eq!(ran.codes(), [Some(0), Some(4), Some(0)], "{}", ran.log);
    assert!(ran.comment.contains("| `skills/invoices` | undecided |"), "{}", ran.comment);
    assert!(ran.comment.contains("`tasks/invoices-1/tests/test.sh`"), "{}", ran.comment);
    assert!(!project.lab.path("executed").exists() && !ran.log.contains("CANARY"));
    // What was paid for is kept for the next pipeline.
    assert!(project.lab.path("runner/caches/assay-store-9/store/store.tar").is_file());
    assert_eq!(project.looks(), [1, 1]);
}

#[test]
fn pipeline_applies_changed_rules_with_a_label_of_the_head() {
    needs_bubblewrap!();
    let mut project = Project::new();
    let weaker = |lab: &Fixture| {
        let policy = fs::read_to_string(lab.path("gate.toml")).unwrap();
        lab.write("gate.toml", policy.replace("[ledger]", "error_budget = 0.2\n[ledger]"));
    };
    let head = project.offer(3, weaker);
    let mut check = |head: &str, labels: &str, is_merged: bool, codes: [Option<i32>; 3]| {
        let ran = project.run(&MergeRequest { iid: 3, head, is_merged, labels, is_in_project: true });
        assert_eq!(ran.codes(), codes, "{labels}: {}", ran.log);
        assert_eq!(ran.comment.contains("--trust-changes"), codes[0] != Some(0), "{}", ran.comment);
    };
    let blocked = [Some(3), None, Some(0)];
    check(&head, "", false, blocked);
    let own = format!("assay-trust-{head}");
    let short = format!("assay-trust-{}", &head[..12]);
    for label in
        ["assay-trust", "bug,assay-trust-", short.as_str(), &format!("{own}0"), &format!("not-{own}")]
    {
        check(&head, label, false, blocked);
    }
    for (labels, is_merged) in [(own.clone(), false), (format!("bug,{own},later"), true)] {
        check(&head, &labels, is_merged, [Some(0); 3]);
    }
    // Void after the next push, although the label stays.
    let next = project.offer(3, |lab| {
        weaker(lab);
        lab.write("README.md", "more\n");
    });
    let ran = project.run(&MergeRequest {
        iid: 3,
        head: &next,
        is_merged: false,
        labels: &own,
        is_in_project: true,
    });
    assert_eq!(ran.codes(), blocked, "{}", ran.log);
}
