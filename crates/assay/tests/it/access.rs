//! What can be reached from inside a sandbox. The agent looks, and the test reads what it saw.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::{Fixture, Running, needs_bubblewrap, observed, within};
use crate::server::{Answer, Server};
use crate::suite;

/// A fixture with one task whose agent, with the skill `reports`, runs these commands.
fn probing(commands: &[String]) -> Fixture {
    suite::lab(1)
        .skill(
            "letters",
            "Ends letters with the agreed word. Use it for letters.",
            &suite::body("LETTERS-ONLY"),
        )
        .script(&[json!({ "turn": 0, "run": commands })])
        .task("t1", |task| {
            task.file("tests/expected", "EXPECTED-ANSWER\n")
                .solve_sh("echo THE-SOLUTION; echo right > /app/answer.txt\n")
        })
        .experiment(|e| e.conditions(&["curated"]).pair("t1", &["reports"]).pair("t2", &["letters"]))
}

/// What each command gave.
fn seen(lab: &Fixture) -> Vec<String> {
    lab.assay(&["run", "experiment.toml", "--no-checks", "--only", "task=t1"]).ok();
    observed(&lab.record("t1"))
}

/// With a second task, so that there is a second skill that some agent gets.
fn command_outputs<const N: usize>(commands: [&str; N]) -> [String; N] {
    let lab = probing(&commands.map(str::to_owned)).task("t2", |task| task);
    seen(&lab).try_into().unwrap()
}

#[test]
fn the_root_is_an_allow_list() {
    needs_bubblewrap!();
    let [top, run, var, home, root, tmp, etc] = command_outputs([
        "ls -A /",
        "ls -A /run; ls -d /run/docker.sock /var/run/docker.sock /run/containerd 2>&1 | grep -v 'No such'",
        "find /var -mindepth 1",
        "ls -A /home 2>&1",
        "ls -A /root",
        "ls -A /tmp /var/tmp",
        "cat /etc/shadow /etc/machine-id /etc/hostname 2>&1 | grep -v 'No such'; ls -d /etc/ssh /etc/sudoers 2>&1; cat /etc/passwd",
    ]);
    let known = [
        "app", "bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "logs", "proc", "root", "run", "sbin",
        "skills", "tmp", "usr", "var",
    ];
    for name in top.lines().filter(|line| !line.starts_with('[')) {
        assert!(known.contains(&name), "/{name} is seen inside: {top}");
    }
    // Beneath /run lies the first process, and nothing of the host.
    let run: Vec<&str> = run.lines().filter(|line| !line.starts_with('[')).collect();
    assert!(run.iter().all(|name| name.contains("assay")), "{run:?}");
    assert_eq!(var, "/var/tmp\n[exit status 0]");
    assert!(home.contains("No such file") || home == "[exit status 0]", "{home}");
    assert_eq!(root, "[exit status 0]");
    assert_eq!(tmp, "/tmp:\n\n/var/tmp:\n[exit status 0]");
    assert_eq!(etc.matches("No such file").count(), 2, "{etc}");
    assert!(etc.lines().filter(|line| line.contains(":x:") || line.contains(":*:")).count() <= 3, "{etc}");
}

#[test]
fn the_experiment_is_out_of_reach() {
    needs_bubblewrap!();
    let lab = probing(&[]).task("t2", |task| task);
    let folder = lab.folder().canonicalize().unwrap();
    let (folder, checkout) = (folder.display(), env!("CARGO_MANIFEST_DIR"));
    let commands = [
        format!("ls -A {folder} {folder}/.assay {checkout} 2>&1"),
        "ls -A /tests /solution /logs/verifier 2>&1; ls /logs".to_owned(),
        "ls -A /skills /skills/reports".to_owned(),
        "echo more >> /skills/reports/SKILL.md; touch /skills/new /usr/new /etc/new /new; ls -d /skills/new"
            .to_owned(),
        // Whatever can be read of what there is: no word of answers, solutions or other skills.
        "grep -rsla -e EXPECTED-ANSWER -e THE-SOLUTION -e LETTERS-ONLY --exclude-dir=sys --exclude-dir=usr \
         --exclude-dir=proc /; true"
            .to_owned(),
        "cat /proc/1/environ /proc/1/cmdline 2>/dev/null | tr '\\0' '\\n'; cat /proc/self/mountinfo"
            .to_owned(),
    ];
    let lab = lab.script(&[json!({ "turn": 0, "run": commands })]);
    let [paths, task, skills, writing, answers, names] = <[String; 6]>::try_from(seen(&lab)).unwrap();
    assert_eq!(paths.matches("No such file").count(), 3, "{paths}");
    assert_eq!(task.matches("No such file").count(), 3, "{task}");
    assert!(task.ends_with("agent\nartifacts\n[exit status 0]"), "{task}");
    assert_eq!(skills, "/skills:\nreports\n\n/skills/reports:\nSKILL.md\nscripts\n[exit status 0]");
    assert_eq!(writing.matches("Read-only file system").count(), 5, "{writing}");
    assert_eq!(answers, "[exit status 0]");
    assert!(!names.contains("experiment.toml") && !names.contains("EXPECTED"), "{names}");
}

#[test]
fn sockets_and_the_network_are_out_of_reach() {
    needs_bubblewrap!();
    let server = Server::start(|_, _| Answer::done("reached"));
    let socket_folder = tempfile::Builder::new().prefix("assay-socket-").tempdir_in("/var/tmp").unwrap();
    let socket = socket_folder.path().join("host.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let port = server.port;
    let commands = [
        format!("(echo > /dev/tcp/127.0.0.1/{port}) 2>&1; curl -sS -m 5 http://127.0.0.1:{port}/ 2>&1"),
        "ls /sys/class/net 2>/dev/null; tail -n +3 /proc/net/dev".to_owned(),
        format!("ls {} 2>&1; find / -xdev -type s 2>/dev/null", socket.display()),
    ];
    let lab = probing(&commands).task("t2", |task| task);
    // The host reaches it.
    let host =
        Command::new("bash").args(["-c", &format!("echo > /dev/tcp/127.0.0.1/{port}")]).status().unwrap();
    assert!(host.success() && within(Duration::from_secs(10), || server.connections() == 1));
    let [network, devices, sockets] = <[String; 3]>::try_from(seen(&lab)).unwrap();
    assert!(network.contains("Connection refused") || network.contains("unreachable"), "{network}");
    assert_eq!(server.connections(), 1, "the server was reached from inside");
    let devices: Vec<&str> =
        devices.lines().filter_map(|line| line.trim().split_once(':')).map(|(name, _)| name).collect();
    assert_eq!(devices, ["lo"]);
    assert!(
        sockets.contains("No such file") && !sockets.lines().any(|line| line.starts_with('/')),
        "{sockets}"
    );
}

#[test]
fn nothing_can_be_done_with_power() {
    needs_bubblewrap!();
    let [capabilities, spaces, others, escape] = command_outputs([
        "grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs' /proc/self/status | tr -s '[:space:]' ' '",
        "unshare -Ur true 2>&1; mount -t tmpfs x /mnt 2>&1; echo 1 > /proc/sys/kernel/core_pattern",
        "ls /proc | grep -c '^[0-9]'",
        "kill -9 1; echo still here; hostname x 2>&1; dmesg 2>&1 | head -1; chroot / true 2>&1",
    ]);
    let none = "0000000000000000";
    assert!(
        capabilities.starts_with(&format!(
            "CapInh: {none} CapPrm: {none} CapEff: {none} CapBnd: {none} CapAmb: {none} NoNewPrivs: 1"
        )),
        "{capabilities}"
    );
    assert!(!spaces.contains("[exit status 0]"), "{spaces}");
    assert!(spaces.contains("unshare") && spaces.contains("mount"), "both were refused: {spaces}");
    let count: u32 = others.lines().next().unwrap().parse().unwrap();
    assert!(count < 10, "processes of others are seen: {others}");
    assert!(escape.starts_with("still here"), "{escape}");
}

/// What the caller of `assay` has open is not handed on.
#[test]
fn open_files_are_out_of_reach() {
    needs_bubblewrap!();
    let lab = probing(&["ls /proc/self/fd; cat <&9".to_owned()]).task("t2", |task| task);
    let assay = lab.command(&["run", "experiment.toml", "--no-checks", "--only", "task=t1"]);
    let mut command = Command::new("bash");
    command
        .args(["-c", "exec 9< experiment.toml; exec \"$@\"", "bash"])
        .arg(assay.get_program())
        .args(assay.get_args());
    command.current_dir(lab.folder()).env("HOME", lab.path("home"));
    Running::start(&mut command).wait().ok();
    let seen = &observed(&lab.record("t1"))[0];
    assert!(seen.starts_with("0\n1\n2\n3\n") && seen.contains("Bad file descriptor"), "{seen}");
}

/// Files of a folder and of those in it.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

/// A key reaches the provider, and nobody else: not the sandbox, not the store, not the screen.
#[test]
fn a_key_reaches_the_provider_only() {
    needs_bubblewrap!();
    let secret = "sk-do-not-keep-me-5f2b8c71";
    // The provider is so rude as to say the key aloud.
    let server = Server::start(move |_, asked| match asked.turn() {
        0 => Answer::bash("env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'"),
        1 => Answer::of(429, json!({ "error": { "message": format!("key {secret} is slow") } }))
            .with("x-should-retry", "false"),
        _ => Answer::done(&format!("Your key is {}.", asked.authorization.as_deref().unwrap_or_default())),
    });
    let lab = suite::lab(1)
        .env("OPENAI_API_KEY", secret)
        .env("OTHER_SECRET", secret)
        .experiment(|e| e.served("openai:test-1", &server.url()));
    let ran = lab.assay(&["run", "experiment.toml", "-v"]).ended(3);
    assert_eq!(server.requests()[0].authorization, Some(format!("Bearer {secret}")));
    assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{ran:#?}");
    let record = lab.record("t1");
    assert!(record["reason"].as_str().unwrap().contains("key [key] is slow"), "{record:#}");
    let env = &observed(&record)[0];
    let names: Vec<&str> =
        env.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(names.contains(&"PATH") && names.contains(&"HOME"), "{env}");
    for name in names {
        let known = ["PATH", "HOME", "LANG", "TERM", "PWD", "SHLVL", "_", "OLDPWD"];
        assert!(known.contains(&name), "{name} is in the sandbox's environment: {env}");
    }
    for file in files(&lab.path(".assay")) {
        let bytes = fs::read(&file).unwrap();
        let holds = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!holds, "{} holds the key", file.display());
    }
}

/// `${VAR}` in a task expands to what the experiment allows; what a task hides in a file of its own it has to hide itself.
#[test]
fn a_task_gets_the_variables_that_are_allowed() {
    needs_bubblewrap!();
    let asks = "version = \"1.0\"\n[environment]\nenv = { TOKEN = \"${LAB_TOKEN}\" }\n";
    let lab = |allowed: &str| {
        Fixture::new()
            .env("LAB_TOKEN", "lent")
            .task("t1", |task| task.toml(asks))
            .script(&[json!({ "turn": 0, "run": "echo token=$TOKEN" })])
            .experiment(|e| e.top(allowed))
    };
    let refused = lab("").assay(&["run", "experiment.toml"]).ended(3);
    assert!(
        refused
            .stderr
            .contains("it needs the environment variable `LAB_TOKEN`: set it and add it to `allow_env`"),
        "{}",
        refused.stderr
    );
    let lab = lab("allow_env = [\"LAB_TOKEN\"]");
    lab.assay(&["run", "experiment.toml", "--no-checks"]).ok();
    assert_eq!(observed(&lab.record("t1"))[0], "token=lent\n[exit status 0]");
    let digests: Vec<Value> = lab.records().iter().map(|record| record["trial"].clone()).collect();
    let lab = lab.env("LAB_TOKEN", "another");
    assert_eq!(
        lab.run(&["--no-checks"]).0["cached"],
        json!(digests.len()),
        "a secret is part of a trial's identity"
    );
}
