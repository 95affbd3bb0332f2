//! Valid and invalid content of `task.toml`.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::TaskError;

fn read(text: &str) -> Parsed {
    parse(text, Path::new("task.toml")).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn codes(text: &str) -> Vec<&'static str> {
    read(text).diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

const MODERN: &str = "schema_version = \"1.4\"\n[task]\nname = \"group/name\"\n";

#[test]
fn an_empty_file_has_the_defaults() {
    let config = read("").config;
    assert_eq!(
        (config.agent_timeout, config.verifier_timeout, config.environment.build_timeout),
        (None, 600.0, 600.0)
    );
    assert_eq!(
        (config.environment.network, config.verifier_mode, config.steps.is_empty()),
        (NetworkWish::Public, VerifierMode::Shared, true)
    );
    assert_eq!(
        (config.environment.memory_bytes, config.environment.cpus, config.environment.gpus),
        (None, None, 0)
    );
    assert_eq!(codes(""), ["schema-version", "task-table"]);
}

#[test]
fn every_key_is_read() {
    let text = r#"
schema_version = "1.4"
source = "somewhere"
artifacts = ["out.csv", { source = "/a", destination = "b" }]
[task]
name = "group/name"
keywords = ["x"]
[metadata]
difficulty = "easy"
tags = ["a"]
required_skills = ["ledger", "audit"]
[metadata.assay]
writable = ["/data", "out/"]
expected = ["conftest.py"]
keep = ["/etc/nginx", "/usr/./lib/x"]
cluster = "ledgers"
pids = 64
[agent]
timeout_sec = 120
user = 1000
network_mode = "allowlist"
allowed_hosts = ["*.example.org", "10.0.0.0/8"]
[verifier]
timeout_sec = 30.5
user = "root"
env = { TOKEN = "${TOKEN:-none}", N = 3 }
network_mode = "public"
environment_mode = "separate"
[environment]
docker_image = "python:3.12"
cpus = 2
memory_mb = 2048
storage_mb = 10240
gpus = 1
env = { A = "1" }
workdir = "/app/./x"
skills_dir = "/skills"
network_mode = "no-network"
build_timeout_sec = 60
mcp_servers = [{ name = "m", transport = "streamable-http", url = "http://m:80/mcp" }, { url = "https://m" }]
[environment.healthcheck]
command = "true"
retries = 9
[solution]
env = { S = "1" }
"#;
    let parsed = read(text);
    let (config, environment) = (&parsed.config, &parsed.config.environment);
    assert_eq!(config.name.as_deref(), Some("group/name"));
    assert_eq!(config.artifacts.len(), 2);
    assert_eq!(config.metadata["difficulty"].as_str(), Some("easy"));
    assert_eq!(
        (parsed.required_skills, parsed.expected),
        (vec!["ledger".to_owned(), "audit".to_owned()], vec!["conftest.py".to_owned()])
    );
    assert_eq!(parsed.keep, ["/etc/nginx", "/usr/lib/x"].map(PathBuf::from));
    assert_eq!(
        (parsed.writable, parsed.cluster.as_deref()),
        (vec![PathBuf::from("/data"), PathBuf::from("out")], Some("ledgers"))
    );
    assert_eq!((config.agent_timeout, config.agent_user.as_deref()), (Some(120.0), Some("1000")));
    let hosts = vec!["*.example.org".to_owned(), "10.0.0.0/8".to_owned()];
    assert_eq!(config.agent_network, Some(NetworkWish::Allowlist(hosts)));
    assert_eq!((config.verifier_timeout, config.verifier_user.as_deref()), (30.5, Some("root")));
    assert_eq!(
        (config.verifier_env["TOKEN"].as_str(), config.verifier_env["N"].as_str()),
        ("${TOKEN:-none}", "3")
    );
    assert_eq!(
        (&config.verifier_network, config.verifier_mode),
        (&Some(NetworkWish::Public), VerifierMode::Separate)
    );
    assert_eq!(
        (environment.docker_image.as_deref(), environment.cpus, environment.gpus),
        (Some("python:3.12"), Some(2.0), 1)
    );
    assert_eq!((environment.memory_bytes, environment.storage_bytes), (Some(2 << 30), Some(10 << 30)));
    assert_eq!((environment.pids, environment.env["A"].as_str()), (Some(64), "1"));
    assert_eq!(
        (environment.workdir.as_deref(), environment.skills_dir.as_deref()),
        (Some(Path::new("/app/x")), Some(Path::new("/skills")))
    );
    assert_eq!(
        (&environment.network, environment.build_timeout, environment.mcp_servers.len()),
        (&NetworkWish::None, 60.0, 2)
    );
    let [server, other] = &environment.mcp_servers[..] else { panic!("{environment:?}") };
    assert_eq!(
        (server.name.as_str(), server.transport.as_str(), server.host()),
        ("m", "streamable-http", Some("m"))
    );
    assert_eq!((other.name.as_str(), other.transport.as_str(), other.host()), ("", "sse", None));
    let check = environment.healthcheck.as_ref().unwrap();
    assert_eq!((check.command.as_str(), check.interval, check.retries), ("true", 5.0, 9));
    assert_eq!(config.solution_env["S"], "1");
    assert_eq!((&config.unknown, config.steps.len()), (&Vec::<String>::new(), 0));
    assert_eq!(codes(text), ["text-without-quotes"]);
}

#[test]
fn leniencies_are_reported() {
    let check = |text: &str, expected: &[&str]| {
        let found = codes(text);
        assert_eq!(found, expected, "{text}");
    };
    check(MODERN, &[]);
    check("version = \"1.0\"\n[task]\nname = \"a/b\"\n", &["schema-version"]);
    check("version = 1.0\n[task]\nname = \"a/b\"\n", &["schema-version"]);
    check("schema_version = \"1.4\"\n[task]\nname = \"My free name\"\n", &["task-name"]);
    check("schema_version = \"1.4\"\n[task]\n", &["task-name"]);
    check(
        &format!("{MODERN}[environment]\nmemory = \"2G\"\nstorage = \"10G\"\n"),
        &["legacy-key", "legacy-key"],
    );
    check(&format!("{MODERN}[environment]\nallow_internet = false\n"), &["legacy-key"]);
    check(&format!("{MODERN}[environment]\nallow_internet = true\n"), &[]);
    check(&format!("{MODERN}[agent]\ntimeout_sec = \"600\"\n"), &["number-as-text"]);
    check(&format!("{MODERN}[agent]\ntimeout = 600\n"), &["unknown-key"]);
    check(&format!("{MODERN}[metadata]\nanything = 1\nrequired_skills = \"one\"\n"), &["list-as-text"]);
    check(&format!("{MODERN}[environment]\nallowed_hosts = [\"a\"]\n"), &["allowed-hosts"]);
}

#[test]
fn verifier_inputs_are_read() {
    let text = r#"
artifacts = ["out.csv", { source = "/a//b", destination = "c", exclude = ["*.tmp"], service = "db" }]
[[verifier.collect]]
command = "dump > /logs/artifacts/dump"
user = 1000
[[verifier.collect]]
command = "x"
timeout_sec = 5
[verifier.environment]
docker_image = "verifier:1"
memory = "1G"
"#;
    let config = read(text).config;
    let sources: Vec<_> = config.artifacts.iter().map(|artifact| artifact.source.to_str().unwrap()).collect();
    assert_eq!(sources, ["out.csv", "/a/b"]);
    assert_eq!(config.artifacts[1].destination.as_deref(), Some(Path::new("c")));
    assert_eq!(
        (config.artifacts[1].exclude.as_slice(), config.artifacts[1].service.as_deref()),
        (&["*.tmp".to_owned()][..], Some("db"))
    );
    let collect: Vec<_> = config.collect.iter().map(|one| (one.timeout, one.user.as_deref())).collect();
    assert_eq!(collect, [(60.0, Some("1000")), (5.0, None)]);
    assert_eq!(config.verifier_mode, VerifierMode::Separate);
    let environment = config.verifier_environment.unwrap();
    assert_eq!(
        (environment.docker_image.as_deref(), environment.memory_bytes),
        (Some("verifier:1"), Some(1 << 30))
    );
}

#[test]
fn unknown_keys_are_kept() {
    let parsed = read(
        "novelty = 1\n[agent]\nmood = \"good\"\n[environment.deep]\nx = 1\n[metadata.assay]\nwriteable = []\n[extra]\ny = 2\n",
    );
    assert_eq!(
        parsed.config.unknown,
        ["agent.mood", "environment.deep", "extra", "metadata.assay.writeable", "novelty"]
    );
    assert_eq!(parsed.config.raw["agent"]["mood"].as_str(), Some("good"));
}

#[test]
fn sizes_have_units() {
    let check = |text: &str, expected: Option<u64>| {
        let found = parse(&format!("[environment]\nmemory = {text}\n"), Path::new("t")).ok();
        assert_eq!(found.map(|parsed| parsed.config.environment.memory_bytes), expected.map(Some), "{text}");
    };
    check("\"2G\"", Some(2 << 30));
    check("\"512M\"", Some(512 << 20));
    check("\"1.5 GiB\"", Some(3 << 29));
    check("\"64kb\"", Some(64 << 10));
    check("\"2048\"", None);
    check("2048", None);
    check("\"G\"", None);
    check("\"-1G\"", None);
    check("\"2X\"", None);
}

#[test]
fn steps_are_read_with_their_gates() {
    let text = "multi_step_reward_strategy = \"final\"\n\
        [[steps]]\nname = \"one\"\nmin_reward = 0.5\nartifacts = [\"a.txt\"]\n\
        [steps.agent]\ntimeout_sec = 30\n[steps.verifier.env]\nX = \"1\"\n\
        [steps.healthcheck]\ncommand = \"true\"\ninterval_sec = 2\nretries = 7\n\
        [[steps]]\nname = \"two\"\nmin_reward = { right = 1, fast = 0.25 }\n\
        [steps.verifier]\ntimeout_sec = 9\nenvironment_mode = \"separate\"\n\
        [[steps]]\nname = \"three\"\n";
    let found = read(text);
    assert_eq!(found.config.unknown, Vec::<String>::new());
    assert_eq!(found.config.reward_strategy, RewardStrategy::Final);
    let [one, two, three] = &found.config.steps[..] else { panic!("{:?}", found.config.steps) };
    assert_eq!((one.name.as_str(), one.agent_timeout, one.verifier_timeout), ("one", Some(30.0), None));
    assert_eq!((one.verifier_env["X"].as_str(), one.artifacts.len()), ("1", 1));
    let check = one.healthcheck.as_ref().unwrap();
    assert_eq!((check.interval, check.timeout, check.retries), (2.0, 30.0, 7));
    assert_eq!(one.min_reward, BTreeMap::from([("reward".to_owned(), 0.5)]));
    assert_eq!(two.min_reward, BTreeMap::from([("fast".to_owned(), 0.25), ("right".to_owned(), 1.0)]));
    assert_eq!((two.verifier_timeout, two.verifier_mode), (Some(9.0), Some(VerifierMode::Separate)));
    assert_eq!((three.verifier_mode, &three.min_reward), (None, &BTreeMap::new()));
    assert_eq!(read("").config.reward_strategy, RewardStrategy::Mean);
}

#[test]
fn mistakes_have_a_position_and_a_hint() {
    let check = |text: &str, place: (usize, usize), part: &str| match parse(text, Path::new("x/task.toml")) {
        Err(error @ TaskError::Line { .. }) => {
            let shown = error.to_string();
            let TaskError::Line { line, column, .. } = error else { unreachable!() };
            assert_eq!((line, column), place, "{shown}");
            assert!(shown.contains(part) && shown.starts_with("x/task.toml:"), "{shown}");
            assert!(!error.hint().is_empty());
        }
        other => panic!("{text}: {other:?}"),
    };
    check("a = \n", (1, 5), "");
    check("[agent]\ntimeout_sec = 1\n[agent]\n", (3, 2), "duplicate");
    check("x = 99999999999999999999999\n", (1, 5), "");
    check("[agent]\ntimeout_sec = \"soon\"\n", (2, 15), "`agent.timeout_sec` is a TOML string");
    check("[agent]\ntimeout_sec = -1\n", (2, 15), "above 0");
    check("[agent]\ntimeout_sec = nan\n", (2, 15), "number");
    check("[verifier]\ntimeout_sec = inf\n", (2, 15), "must be finite");
    for (table, key) in [
        ("agent", "timeout_sec"),
        ("verifier", "timeout_sec"),
        ("environment", "build_timeout_sec"),
        ("environment", "cpus"),
        ("environment", "memory_mb"),
        ("environment", "storage_mb"),
        ("environment.healthcheck", "command = \"true\"\ninterval_sec"),
        ("environment.healthcheck", "command = \"true\"\ntimeout_sec"),
        ("environment.healthcheck", "command = \"true\"\nstart_period_sec"),
        ("environment.healthcheck", "command = \"true\"\nstart_interval_sec"),
        ("verifier.collect", "command = \"true\"\ntimeout_sec"),
        ("verifier.environment", "cpus"),
        ("steps.agent", "timeout_sec"),
        ("steps.verifier", "timeout_sec"),
        ("steps.healthcheck", "command = \"true\"\ninterval"),
    ] {
        let header = match table {
            "verifier.collect" => "[[verifier.collect]]".to_owned(),
            table if table.starts_with("steps") => format!("[[steps]]\nname = \"a\"\n[{table}]"),
            table => format!("[{table}]"),
        };
        let line = header.lines().count() + key.lines().count();
        let column = key.lines().last().unwrap().len() + 4;
        for number in ["1e300", "\"1e300\"", "9223372036854775807"] {
            check(&format!("{header}\n{key} = {number}\n"), (line, column), "expected at most");
        }
        check(&format!("{header}\n{key} = -1\n"), (line, column), "expected a number");
        check(&format!("{header}\n{key} = nan\n"), (line, column), "number");
        if !table.ends_with("agent") {
            check(&format!("{header}\n{key} = inf\n"), (line, column), "must be finite");
        }
    }
    check("[agent]\ntimeout_sec = 604801\n", (2, 15), "expected at most 604,800");
    check("[environment]\nmemory = \"99999999T\"\n", (2, 10), "a size such as");
    for key in
        ["environment]\ngpus", "metadata.assay]\npids", "environment.healthcheck]\ncommand = \"a\"\nretries"]
    {
        let (line, column) = (key.lines().count(), key.lines().last().unwrap().len() + 4);
        check(&format!("[{key} = 1e300\n"), (line, column), "an integer from 0 to 1,000,000,000");
    }
    check("[[steps]]\nname = \"a\"\nmin_reward = 1e300\n", (3, 14), "a number");
    check("agent = 3\n", (1, 9), "a table");
    check("[environment]\nnetwork_mode = \"some\"\n", (2, 16), "network mode");
    check("[environment]\nworkdir = \"app\"\n", (2, 11), "absolute");
    check("[environment]\nenv = { A = [1] }\n", (2, 13), "environment.env.A");
    check("[environment]\ngpus = 1.5\n", (2, 8), "an integer");
    check("artifacts = [\"../x\"]\n", (1, 14), "valid `source`");
    check(
        "artifacts = [{ source = \"/a\", destination = \"/b\" }]\n",
        (1, 14),
        "outside the artifacts folder",
    );
    check("artifacts = [1]\n", (1, 14), "strings or tables");
    check("[[verifier.collect]]\ntimeout_sec = 1\n", (1, 1), "without a `command`");
    check("[verifier]\nenvironment_mode = \"own\"\n", (2, 20), "separate");
    check("[metadata]\nrequired_skills = [\"a\", 2]\n", (2, 25), "required_skills");
    check("[metadata]\nassay = 1\n", (2, 9), "metadata.assay");
    check("[metadata.assay]\nwritable = [\"../up\"]\n", (2, 13), "outside the work folder");
    check("[metadata.assay]\nwritable = [\"/logs/verifier\"]\n", (2, 13), "/logs");
    check("[metadata.assay]\nwritable = [\"/\"]\n", (2, 13), "everywhere");
    check("[metadata.assay]\nkeep = [\"etc/nginx\"]\n", (2, 9), "not absolute");
    check("[metadata.assay]\nkeep = [\"/\"]\n", (2, 9), "not absolute, or is the root");
    check("steps = [1]\n", (1, 10), "a list of strings or tables");
    check("steps = [\"one\"]\n", (1, 10), "not a table");
    check("[[steps]]\n[steps.agent]\n", (1, 1), "without a `name`");
    check("[[steps]]\nname = \"a/b\"\n", (1, 1), "without a `name`");
    check("[[steps]]\nname = \"..\"\n", (1, 1), "without a `name`");
    check("[[steps]]\nname = \"a\"\n[[steps]]\nname = \"A\"\n", (3, 1), "two steps are called A");
    check("[[steps]]\nname = \"a\"\nmin_reward = \"much\"\n", (3, 14), "a number, or a table");
    check("multi_step_reward_strategy = \"last\"\n", (1, 30), "neither `mean` nor `final`");
    check("[environment.healthcheck]\ninterval = 1\n", (1, 1), "no `command`");
    check("steps = 1\n", (1, 9), "a list");
}

#[test]
fn agent_without_a_timeout_is_allowed() {
    assert_eq!(read("[agent]\ntimeout_sec = inf\n").config.agent_timeout, None);
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(pieces in proptest::collection::vec(prop_oneof![
        Just("[agent]\n".to_owned()), Just("[environment]\n".to_owned()), Just("[metadata.assay]\n".to_owned()),
        Just("timeout_sec = ".to_owned()), Just("memory = ".to_owned()), Just("writable = [".to_owned()), Just("env = {".to_owned()),
        Just("1e400\n".to_owned()), Just("\"\"\"".to_owned()), Just("[[steps]]\n".to_owned()), "[\\PC\n]{0,10}",
    ], 0..16)) {
        let text = pieces.concat();
        if let Err(error) = parse(&text, Path::new("task.toml")) {
            prop_assert!(!error.hint().is_empty(), "{}", error);
        }
    }

    #[test]
    fn deep_nesting_is_rejected_or_read(depth in 1_usize..5_000) {
        let _ = parse(&format!("a = {}{}", "[".repeat(depth), "]".repeat(depth)), Path::new("t"));
        let _ = parse(&format!("[{}]\n", vec!["a"; depth].join(".")), Path::new("t"));
    }
}

#[test]
fn negative_control_is_read() {
    let control = |text: &str| read(&format!("{MODERN}{text}")).negative_control;
    assert!(control("[metadata.assay]\nnegative_control = true\n"));
    assert!(!control("[metadata.assay]\nnegative_control = false\n"));
    assert!(!control(""));
    let wrong = format!("{MODERN}[metadata.assay]\nnegative_control = \"yes\"\n");
    let error = parse(&wrong, Path::new("task.toml")).unwrap_err().to_string();
    assert!(error.starts_with("task.toml:5:20: ") && error.contains("`true` or `false`"), "{error}");
}
