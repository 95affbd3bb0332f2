use std::fs;

use assay_task::{LoginMount, NetworkWish};
use serde_json::json;

use super::*;
use crate::plan::feasible::network;
use crate::run::env::{expand, serves_login};
use crate::run::route::CliAgentContext;
use crate::testing::{Fixture, SKILL};
use crate::{NetworkGrant, Permissions, Sandboxes};

#[test]
fn variables_expand_only_if_allowed() {
    let env = |name: &str| (name == "HOME" || name == "SECRET").then(|| "value".to_owned());
    let allowed = ["HOME".to_owned(), "UNSET".to_owned()];
    let check = |text: &str, expected: Result<&str, &str>| match (expand(text, &allowed, &env), expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
        (Err(found), Err(expected)) => assert!(found.to_string().contains(expected), "{text}: {found}"),
        (found, _) => panic!("{text}: {found:?}"),
    };
    check("plain $HOME", Ok("plain $HOME"));
    check("${HOME}/x/${HOME}", Ok("value/x/value"));
    check("${UNSET:-other}", Ok("other"));
    check("${SECRET:-hidden}", Ok("hidden"));
    check("${SECRET}", Err("`SECRET`"));
    check("${UNSET}", Err("`UNSET`"));
    check("${HOME", Err("closing brace"));
}

#[test]
fn network_policy_is_the_intersection_of_task_and_experiment() {
    let hosts = |list: &[&str]| list.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>();
    let org = || hosts(&["example.org"]);
    let check = |wish: NetworkWish, grant: NetworkGrant, expected: Option<NetworkPolicy>| {
        assert_eq!(network(&wish, &grant).ok(), expected, "{wish:?} {grant:?}");
    };
    check(NetworkWish::Public, NetworkGrant::None, Some(NetworkPolicy::None));
    check(NetworkWish::Public, NetworkGrant::Public, Some(NetworkPolicy::Public));
    check(NetworkWish::None, NetworkGrant::Public, Some(NetworkPolicy::None));
    check(NetworkWish::Allowlist(org()), NetworkGrant::None, Some(NetworkPolicy::None));
    check(NetworkWish::Allowlist(org()), NetworkGrant::Public, Some(NetworkPolicy::Hosts(org())));
    check(NetworkWish::Public, NetworkGrant::Hosts(org()), Some(NetworkPolicy::Hosts(org())));
    let two = || hosts(&["example.org", "example.net"]);
    check(NetworkWish::Allowlist(two()), NetworkGrant::Hosts(org()), Some(NetworkPolicy::Hosts(org())));
    check(NetworkWish::Allowlist(org()), NetworkGrant::Hosts(hosts(&["a.test"])), Some(NetworkPolicy::None));
    check(NetworkWish::Allowlist(hosts(&["http://x"])), NetworkGrant::Public, None);
    // These words are part of the identities of trials.
    let words =
        [NetworkPolicy::None, NetworkPolicy::Public, NetworkPolicy::Hosts(org())].map(|reach| json!(reach));
    assert_eq!(words, [json!("none"), json!("public"), json!({ "hosts": ["example.org"] })]);
}

/// The trials of a plan in order of its cells, by condition, and those of its checks.
fn identities(fixture: &Fixture) -> BTreeMap<&'static str, Vec<TrialId>> {
    let plan = fixture.plan();
    assert!(plan.excluded.is_empty(), "{:?}", plan.excluded);
    let of = |condition: &str| {
        let cells = plan.cells.iter().filter(|cell| cell.condition == condition);
        cells.map(|cell| cell.trial.clone()).collect::<Vec<_>>()
    };
    BTreeMap::from([
        ("none", of("none")),
        ("curated", of("curated")),
        ("oracle", plan.checks.iter().map(|check| check.oracle.as_ref().unwrap().id.clone()).collect()),
        ("nop", plan.checks.iter().map(|check| check.nop.id.clone()).collect()),
    ])
}

/// A machine with bubblewrap, which is not tried.
fn with_bubblewrap<T>(work: impl FnOnce(&MachineContext<'_>) -> T) -> T {
    let bubblewrap = Arc::new(assay_sandbox::Bubblewrap::new("/bin/false".into(), Vec::new()));
    let sandboxes = Sandboxes::new(
        Ok(bubblewrap),
        Err(crate::SandboxUnavailable::NotOffered("no Docker in these tests")),
    );
    work(&MachineContext {
        env: &|_| None,
        sandboxes: &sandboxes,
        dry: false,
        permissions: Permissions::ALL,
        cli_agents: None,
    })
}

#[test]
fn resolved_trials_keep_the_planned_content() {
    let fixture = Fixture::new();
    fixture.write("turns.jsonl", "{\"say\": \"done\"}\n");
    fixture.write("root/etc/os-release", "ID=one\n");
    fixture.experiment("name = \"nop\"", "name = \"loop\"\nmodel = \"scripted:turns.jsonl\"");
    fixture.experiment("sandbox = \"none\"", "[sandbox]\nkind = \"bubblewrap\"\nroots = { host = \"root\" }");
    let experiment = Experiment::load(&fixture.path("experiment.toml")).unwrap();
    let plan = with_bubblewrap(|machine| Plan::build(experiment, &fixture.store, machine)).unwrap();
    assert!(plan.excluded.is_empty() && !plan.trials.is_empty(), "{:?}", plan.excluded);
    fixture.write("turns.jsonl", "{\"say\": \"another\"}\n");
    fixture.write("root/etc/os-release", "ID=another\n");
    for spec in plan.trials.values().chain(plan.checks.iter().map(|check| &check.nop)) {
        let resolved = with_bubblewrap(|machine| plan.resolver(&fixture.store, machine).resolve(spec));
        assert_eq!(resolved.map(|trial| trial.id).map_err(|error| error.to_string()), Ok(spec.id.clone()));
        // Only the plan has their original content.
        let anew = with_bubblewrap(|machine| {
            let sources = Sources { made: fixture.store.made_folder(), ..Sources::default() };
            Resolver::new(machine, sources).resolve(spec).map(|trial| trial.id)
        });
        assert!(anew.unwrap_err().to_string().contains("would differ from the plan here"));
    }
}

#[test]
fn hosts_are_listed_only_if_enforceable() {
    let fixture = Fixture::new();
    fixture.experiment("sandbox = \"none\"", "sandbox = \"bubblewrap\"\nnetwork = [\"example.org\"]");
    fixture.edit("tasks/a/task.toml", "[metadata]", "[environment]\nallow_internet = true\n[metadata]");
    let experiment = Experiment::load(&fixture.path("experiment.toml")).unwrap();
    let plan = with_bubblewrap(|machine| {
        let (cache, forwarder) = (fixture.path("cache"), PathBuf::from("/bin/false"));
        let cli_agents = CliAgentContext {
            cache,
            forwarder,
            forwarder_args: Vec::new(),
            double_args: Vec::new(),
            replay: None,
        };
        Plan::build(experiment, &fixture.store, &MachineContext { cli_agents: Some(cli_agents), ..*machine })
    });
    let plan = plan.unwrap();
    let spec = plan.trials.values().next().unwrap();
    assert_eq!(spec.network, NetworkPolicy::Hosts(vec!["example.org".to_owned()]));
    let error = with_bubblewrap(|machine| plan.resolver(&fixture.store, machine).resolve(spec).err());
    assert!(error.unwrap().to_string().contains("which this sandbox cannot enforce"));
}

#[test]
fn a_root_is_read_once() {
    let fixture = Fixture::new();
    fixture.write("root/file", "1");
    let roots = BTreeMap::from([("host".to_owned(), "root".to_owned())]);
    let choice = SandboxChoice { kind: crate::SandboxKind::Bubblewrap, roots, ..SandboxChoice::default() };
    with_bubblewrap(|machine| {
        let base = |sandboxes: &Sandboxes| {
            let backend = Backend::choose(&fixture.load_task("a"), &choice, &fixture.path(""), sandboxes);
            backend.unwrap().base().clone()
        };
        let first = base(machine.sandboxes);
        fixture.write("root/file", "22");
        assert_eq!(base(machine.sandboxes), first);
        assert_ne!(with_bubblewrap(|other| base(other.sandboxes)), first);
    });
}

/// Which identities an edit changes: all of a kind, or none of it.
fn check(edit: impl Fn(&Fixture), expected: &[&str]) {
    let fixture = Fixture::new();
    fixture.write("turns.jsonl", "{\"say\": \"done\"}\n");
    fixture.experiment("name = \"nop\"", "name = \"loop\"\nmodel = \"scripted:turns.jsonl\"");
    compare(&fixture, edit, expected);
}

fn compare(fixture: &Fixture, edit: impl Fn(&Fixture), expected: &[&str]) {
    let before = identities(fixture);
    edit(fixture);
    let after = identities(fixture);
    let mut changed = Vec::new();
    for (kind, old) in &before {
        let new = &after[kind];
        assert!(!old.is_empty() && old.len() == new.len(), "{kind}");
        let differ = old.iter().zip(new).filter(|(old, new)| old != new).count();
        assert!(differ == 0 || differ == old.len(), "{differ} of {} {kind} trials changed", old.len());
        if differ > 0 {
            changed.push(*kind);
        }
    }
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(changed, expected);
}

const ALL: [&str; 4] = ["none", "curated", "oracle", "nop"];
const ARMS: [&str; 2] = ["none", "curated"];

#[test]
fn outcome_inputs_change_the_trial_id() {
    let task = |file: &'static str, from: &'static str, to: &'static str| {
        move |fixture: &Fixture| fixture.edit(&format!("tasks/a/{file}"), from, to)
    };
    let experiment =
        |from: &'static str, to: &'static str| move |fixture: &Fixture| fixture.experiment(from, to);
    check(task("instruction.md", "a", "b"), &ALL);
    check(task("tests/test.sh", "echo 1", "echo  1"), &ALL);
    check(task("environment/data/in.txt", "1", "2"), &ALL);
    check(task("environment/Dockerfile", "FROM host", "FROM guest"), &ALL);
    check(task("task.toml", "version", "[verifier]\ntimeout_sec = 9\n[environment]\nmemory_mb = 9\n#"), &ALL);
    check(task("solution/solve.sh", "true", "false"), &["oracle"]);
    // A skill: its text, its files, their names and modes, and where it is mounted.
    check(|fixture| fixture.edit("skills/one/SKILL.md", "minor", "major"), &["curated"]);
    check(|fixture| fixture.write("skills/one/scripts/x.py", ""), &["curated"]);
    check(
        |fixture| {
            fs::rename(fixture.path("skills/one"), fixture.path("skills/uno")).unwrap();
        },
        &["curated"],
    );
    // The experiment.
    check(experiment("seed = 1", "seed = 2"), &ALL);
    check(experiment("margin = 0.10", "disclosure = \"told\""), &["none", "curated", "oracle", "nop"]);
    check(experiment("margin = 0.10", "verifier_network = true"), &ALL);
    check(experiment("timeout = 300", "timeout = 299"), &ARMS);
    for option in [
        "max_turns = 7",
        "max_tokens = 7",
        "command_timeout = 7.5",
        "context_tokens = 7",
        "max_output_tokens = 7",
        "temperature = 0.7",
    ] {
        check(|fixture| fixture.experiment("timeout = 300", &format!("timeout = 300\n{option}")), &ARMS);
    }
    check(|fixture| fixture.write("turns.jsonl", "{\"say\": \"done.\"}\n"), &ARMS);
    let fixture = Fixture::new();
    fixture.experiment("name = \"nop\"", "name = \"loop\"\nmodel = \"openai:one\"");
    compare(&fixture, experiment("openai:one", "openai:two"), &ARMS);
}

#[test]
fn task_skills_count_for_the_oracle_only() {
    let fixture = Fixture::new();
    fixture.edit(
        "tasks/a/environment/Dockerfile",
        "WORKDIR /app",
        "WORKDIR /app\nCOPY skills /root/.claude/skills",
    );
    fixture.write("tasks/a/environment/skills/two/SKILL.md", SKILL);
    fixture.write("tasks/a/environment/skills/two/run.py", "1");
    // `curated` provides them itself, and `none` has no use for them.
    compare(
        &fixture,
        |fixture| fixture.write("tasks/a/environment/skills/two/run.py", "2"),
        &["curated", "oracle"],
    );
    let plan = fixture.plan();
    let holds = |trial: &TrialSpec| trial.specification.get("task_skills").is_some();
    assert!(holds(plan.checks[0].oracle.as_ref().unwrap()) && !holds(&plan.checks[0].nop));
    assert!(plan.trials.values().all(|trial| !holds(trial)));
}

/// MCP servers are services, of transports that every agent of the experiment supports.
#[test]
fn tasks_with_mcp_servers_are_excluded_with_the_reason() {
    let compose = "services:\n  main: { build: . }\n  web: { image: x, hostname: front }\n";
    let check = |server: &str, part: &str| {
        let fixture = Fixture::new();
        fixture.experiment("name = \"nop\"", "name = \"loop\"\nmodel = \"openai:one\"");
        fixture.write("tasks/a/environment/docker-compose.yaml", compose);
        let servers = format!("[[environment.mcp_servers]]\n{server}\n[metadata]");
        fixture.edit("tasks/a/task.toml", "[metadata]", &servers);
        let excluded = fixture.plan().excluded;
        assert!(excluded[0].reason.contains(part), "{server}: {excluded:?}");
    };
    let server =
        |transport: &str, url: &str| format!("name = \"m\"\ntransport = \"{transport}\"\nurl = \"{url}\"");
    check(
        &server("http", "http://web:80/mcp"),
        "`m` cannot be given to the agent `loop`, which supports no MCP over http",
    );
    check(&server("http", "http://front"), "which supports no MCP over http");
    check(&server("stdio", ""), "`m` has the transport `stdio`");
    check(&server("sse", "http://other:80/"), "`m` is at http://other:80/, which is none of its services");
    check(&server("sse", "https://web/"), "which is none of its services");
    check(&server("sse", "http://web:80@other/"), "which is none of its services");
    check(&server("sse", "http://main/"), "which is none of its services");
    check("url = \"http://web/\"", "has no name");
    check("name = \"a b\"\nurl = \"http://web/\"", "has no name");
    check("name = \"m\"\nurl = \"http://web/\"\nheaders = { A = \"1\" }", "`m` has `headers`");
}

#[test]
fn cpus_are_capped_to_the_machine() {
    let here = std::thread::available_parallelism().unwrap().get() as f64;
    let check = |experiment: &str, task: &str, cpus: Option<f64>, is_capped: bool| {
        let fixture = Fixture::new();
        fixture.experiment("margin = 0.10", &format!("margin = 0.10\n{experiment}"));
        fixture.edit("tasks/a/task.toml", "[metadata]", &format!("{task}\n[metadata]"));
        let plan = fixture.plan();
        let trial = plan.trials.values().next().unwrap();
        assert_eq!((trial.limits.cpus, trial.warnings.is_empty()), (cpus, !is_capped), "{experiment} {task}");
        assert_eq!(plan.warnings().count(), usize::from(is_capped), "{:?}", plan.diagnostics);
        let run = plan.begin_run(&fixture.store).unwrap();
        assert_eq!(run.warnings.len(), usize::from(is_capped));
    };
    check("", "", None, false);
    check("", "[environment]\ncpus = 0.5", Some(0.5), false);
    check("", "[environment]\ncpus = 1000", Some(here), true);
    check("cpus = 0.25", "[environment]\ncpus = 1000", Some(0.25), false);
    check("cpus = 1", "", Some(1.0), false);
    check("cpus = 1000", "", Some(here), true);
}

#[test]
fn irrelevant_inputs_keep_the_trial_id() {
    let experiment =
        |from: &'static str, to: &'static str| move |fixture: &Fixture| fixture.experiment(from, to);
    check(experiment("margin = 0.10", "margin = 0.20"), &[]);
    check(experiment("margin = 0.10", "concurrency = 7\nretry = { infrastructure = 2 }"), &[]);
    check(experiment("name = \"test\"", "name = \"other\""), &[]);
    check(experiment("margin", "allow_env = [\"HOME\"]\nmargin"), &[]);
    check(experiment("timeout = 300", "timeout = 300\nprice = { input = 1.0, output = 2.0 }"), &[]);
    check(|fixture| fixture.write("tasks/a/README.md", "for reviewers"), &[]);
    check(|fixture| fixture.write("skills/two/SKILL.md", &SKILL.replacen("one", "two", 1)), &[]);
    // A script may have any path and name.
    check(
        |fixture| {
            fs::rename(fixture.path("turns.jsonl"), fixture.path("moved.jsonl")).unwrap();
            fixture.experiment("turns.jsonl", "moved.jsonl");
        },
        &[],
    );
    // Suite, library and store elsewhere: equal content in another fixture.
    assert_eq!(identities(&Fixture::new()), identities(&Fixture::new()));
    check(
        |fixture| {
            fs::create_dir(fixture.path("elsewhere")).unwrap();
            fs::rename(fixture.path("tasks/a"), fixture.path("elsewhere/a")).unwrap();
            fixture.experiment("tasks/*", "elsewhere/*");
        },
        &[],
    );
}

#[test]
fn experiment_limits_override_task_limits() {
    let fixture = Fixture::new();
    fixture.edit("tasks/a/task.toml", "version", "[agent]\ntimeout_sec = 10\n[x]\nversion");
    let seconds = |fixture: &Fixture| fixture.plan().trials.values().next().unwrap().agent_seconds;
    assert!((seconds(&fixture) - 300.0).abs() < 1e-12, "{}", seconds(&fixture));
    let limits = fixture.plan().limits();
    assert_eq!((limits[0].agent_seconds.value, limits[0].agent_seconds.overrides), (300.0, Some(10.0)));
    // It is the agent's alone: solution and doing nothing have the task's time.
    let plan = fixture.plan();
    let checked: Vec<f64> =
        plan.checks[0].oracle.iter().chain([&plan.checks[0].nop]).map(|t| t.agent_seconds).collect();
    assert_eq!(checked, [10.0, 10.0]);
    fixture.experiment("timeout = 300", "");
    assert!((seconds(&fixture) - 10.0).abs() < 1e-12, "{}", seconds(&fixture));
}

#[test]
fn secrets_are_not_part_of_a_trial() {
    let fixture = Fixture::new();
    fixture.edit("tasks/a/task.toml", "version", "[environment.env]\nTOKEN = \"${A_KEY}\"\n[x]\nversion");
    fixture.experiment("margin", "allow_env = [\"A_KEY\"]\nmargin");
    let plan = fixture.plan();
    let trial = plan.trials.values().next().unwrap();
    let env = fixture.resolve(&plan, trial).env.agent.clone();
    assert_eq!(env, [("TOKEN".to_owned(), "key".to_owned())]);
    assert!(!trial.specification.to_string().contains("\"key\""), "{}", trial.specification);
    // Unless the experiment allows it, the task is excluded with the reason.
    fixture.experiment("allow_env = [\"A_KEY\"]\n", "");
    let plan = fixture.plan();
    assert!(plan.cells.is_empty() && plan.excluded[0].reason.contains("`A_KEY`"), "{:?}", plan.excluded);
}

#[test]
fn more_repetitions_keep_existing_trials() {
    let fixture = Fixture::new();
    let few = fixture.plan();
    fixture.experiment("repetitions = 2", "repetitions = 5");
    let many = fixture.plan();
    assert_eq!((few.trials.len(), many.trials.len()), (4, 10));
    assert!(few.trials.keys().all(|id| many.trials.contains_key(id)));
    // All arms take turns.
    let turns: Vec<(u32, &str)> =
        few.cells.iter().map(|cell| (cell.repetition, cell.condition.as_str())).collect();
    assert_eq!(turns, [(1, "none"), (1, "curated"), (2, "none"), (2, "curated")]);
}

#[test]
fn equal_provision_shares_trials_across_conditions() {
    let fixture = Fixture::new();
    // The library consists of the one skill of the task.
    fixture.experiment("\"curated\"]", "\"curated\", \"full\"]");
    let plan = fixture.plan();
    assert_eq!((plan.cells.len(), plan.trials.len()), (6, 4));
    assert_eq!(plan.equal_conditions(), [("curated".to_owned(), "full".to_owned(), 1)]);
    // A script that reads the condition's name makes them differ.
    fixture.write("turns.jsonl", "{\"condition\": \"full\", \"say\": \"x\"}\n{\"say\": \"done\"}\n");
    fixture.experiment("name = \"nop\"", "name = \"loop\"\nmodel = \"scripted:turns.jsonl\"");
    let plan = fixture.plan();
    assert_eq!((plan.cells.len(), plan.trials.len()), (6, 6));
    assert_eq!(plan.equal_conditions(), []);
}

#[test]
fn equal_tasks_with_two_names_share_trials() {
    let fixture = Fixture::new();
    fixture.task("b");
    fixture.edit("tasks/b/instruction.md", "b", "a");
    let plan = fixture.plan();
    assert_eq!((plan.cells.len(), plan.trials.len(), plan.equal_conditions().len()), (4, 4, 0));
    let excluded: Vec<_> = plan.excluded.iter().map(|it| (it.task.as_str(), it.reason.as_str())).collect();
    assert_eq!(excluded, [("b", "it is a copy of the task `a`")]);
}

#[test]
fn infeasible_tasks_are_excluded_with_a_reason() {
    let exclusion = |edit: &dyn Fn(&Fixture)| {
        let fixture = Fixture::new();
        edit(&fixture);
        let plan = fixture.plan();
        let excluded = plan.excluded.first().expect("something is left out");
        (excluded.condition.clone(), excluded.reason.clone(), plan.cells.len())
    };
    let check = |toml: &str, expected: &str| {
        let (condition, reason, cells) = exclusion(&|fixture| {
            fixture.edit("tasks/a/task.toml", "[metadata]", &format!("{toml}\n[metadata]"));
        });
        assert_eq!((condition, cells), (None, 0), "{toml}");
        assert!(reason.contains(expected), "{toml}: {reason}");
    };
    check("[environment]\ngpus = 1", "needs a GPU");
    check("[environment]\nos = \"windows\"", "needs Windows");
    check("[verifier]\nenvironment_mode = \"separate\"", "a separate environment");
    let (condition, reason, cells) =
        exclusion(&|fixture| fixture.edit("tasks/a/task.toml", "required_skills = [\"one\"]", ""));
    assert_eq!((condition.as_deref(), cells), (Some("curated"), 2));
    assert!(reason.contains("no curated skill: pair it in the experiment"), "{reason}");
    let (_, reason, cells) =
        exclusion(&|fixture| fixture.experiment("sandbox = \"none\"", "sandbox = \"bubblewrap\""));
    assert_eq!((reason.as_str(), cells), ("not in these tests", 0));
}

#[test]
fn unknown_names_fail_planning() {
    let check = |from: &str, to: &str, expected: &str| {
        let fixture = Fixture::new();
        fixture.experiment(from, to);
        let error = fixture.try_plan().err().expect("no plan").to_string();
        assert!(error.contains(expected), "{to}: {error}");
    };
    check("tasks/*", "taks/*", "1 problem in the suite");
    check(
        "timeout = 300",
        "timeout = 300\n[tasks.\"c\"]\ncurated = [\"one\"]",
        "refers to a task that is not",
    );
    check(
        "name = \"nop\"",
        "name = \"loop\"\nmodel = \"openai\"",
        "agent \"loop\": invalid model \"openai\": missing",
    );
    check("name = \"nop\"", "name = \"loop\"\nmodel = \"scripted:none.jsonl\"", "none.jsonl");
}

#[test]
fn a_library_pattern_without_a_match_is_an_error() {
    let check = |pattern: &str, expected: &str| {
        let fixture = Fixture::new();
        fixture.experiment("skills/*", pattern);
        let error = fixture.try_plan().err().unwrap().to_string();
        assert!(
            error.contains(&format!("library pattern {pattern:?} matches no folder{expected}")),
            "{error}"
        );
    };
    check("skils/*", "; did you mean `skills/*`?");
    check("skills/zz*/none", "");
    check("elsewhere/of/mine", "");
}

#[test]
fn ten_thousand_cells_can_be_planned() {
    let fixture = Fixture::new();
    for number in 1..50 {
        fixture.task(&format!("t{number}"));
    }
    fixture.experiment("repetitions = 2", "repetitions = 100");
    let plan = fixture.plan();
    assert_eq!((plan.cells.len(), plan.trials.len(), plan.checks.len()), (10_000, 10_000, 50));
}

#[test]
fn unreadable_task_does_not_affect_others() {
    let fixture = Fixture::new();
    fixture.task("b");
    fixture.write("tasks/b/task.toml", "[task\n");
    fixture.write("tasks/c/README.md", "not yet\n");
    // A pairing for it is not a mistake: the task was intended.
    fixture.experiment("[[agents]]", "[tasks.b]\ncurated = [\"one\"]\n[[agents]]");
    let plan = fixture.plan();
    assert!(!plan.cells.is_empty() && plan.cells.iter().all(|cell| cell.task == "a"));
    assert_eq!(plan.unreadable, ["b", "c"]);
    let reasons: Vec<&str> = plan.excluded.iter().map(|excluded| excluded.reason.as_str()).collect();
    assert!(reasons[0].starts_with("invalid task: tasks/b/task.toml:1:"), "{reasons:?}");
    assert!(reasons[1].starts_with("invalid task: tasks/c is not a task"), "{reasons:?}");
    // Where nothing is left there is nothing to plan.
    fixture.write("tasks/a/task.toml", "[task\n");
    assert!(matches!(fixture.try_plan(), Err(PlanError::Tasks(problems)) if problems.len() == 3));
}

#[test]
fn suite_can_exclude_tasks() {
    let fixture = Fixture::new();
    fixture.task("b");
    fixture.write("tasks/b/task.toml", "[task\n");
    fixture.experiment("suite = [\"tasks/*\"]", "suite = [\"tasks/*\", \"!tasks/b\"]");
    let plan = fixture.plan();
    assert_eq!((plan.tasks.len(), plan.excluded.len(), plan.unreadable.len()), (1, 0, 0));
    assert!(plan.diagnostics.iter().any(|note| note.message.starts_with("1 task excluded")));
}

#[test]
fn mounts_of_logins_can_be_dropped() {
    let fixture = Fixture::new();
    let compose =
        "services:\n  main:\n    build: .\n    volumes: [\"~/.config/cloud:/root/.config/cloud:ro\"]\n";
    fixture.write("tasks/a/environment/docker-compose.yaml", compose);
    let reason = |fixture: &Fixture| fixture.plan().excluded[0].reason.clone();
    assert!(reason(&fixture).contains("(`drop_login_mounts = true` under `[sandbox]` omits it)"));
    fixture.experiment("sandbox = \"none\"", "sandbox = { kind = \"none\", drop_login_mounts = true }");
    assert_eq!(reason(&fixture), "it has a compose file, which only Docker supports");
    // Other access to the host is still refused.
    fixture.write(
        "tasks/a/environment/docker-compose.yaml",
        &compose.replace("build: .", "build: .\n    privileged: true"),
    );
    assert!(reason(&fixture).contains("is privileged"));

    let login = LoginMount {
        service: "main".to_owned(),
        source: "~/.config/cloud".to_owned(),
        target: "/root/.config/cloud".to_owned(),
    };
    for (value, expected) in [
        ("/root/.config/cloud/key.json", true),
        ("${CLOUD_PROJECT}", true),
        ("${ALLOWED}", false),
        ("/root/.config/clouds", false),
        ("${CLOUD_PROJECT:-none}", false),
        ("plain", false),
    ] {
        assert_eq!(
            serves_login(value, std::slice::from_ref(&login), &["ALLOWED".to_owned()]),
            expected,
            "{value}"
        );
    }
}
