//! `assay run --executor slurm`, with Slurm's own daemons: three nodes on this machine, each with its own mount, PID
//! and UTS namespaces, so that nothing of a node outlives it.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::{Fixture, Running, within};
use crate::suite;

const NODES: [&str; 3] = ["n1", "n2", "n3"];
/// Of each node.
const CPUS: usize = 4;
/// Of [`lab`]: tasks, conditions and repetitions.
const TRIALS: usize = 4 * 2 * 6;
/// Slurm starts a requeued job after two minutes at the earliest.
const PATIENCE: Duration = Duration::from_mins(5);

/// Daemons of a cluster. They end with this.
struct Cluster {
    folder: TempDir,
    munged: Child,
    controller: Option<Child>,
    nodes: Vec<Child>,
}

impl Cluster {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        // munged and slurmd refuse folders that others may write to, or that jobs cannot enter.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["munge", "state", "spool", "logs"] {
            fs::create_dir(path(name)).unwrap();
        }
        fs::set_permissions(path("munge"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(path("munge/key"), [7; 64]).unwrap();
        fs::set_permissions(path("munge/key"), fs::Permissions::from_mode(0o400)).unwrap();
        fs::write(path("slurm.conf"), conf(&folder)).unwrap();
        let munged = Command::new("/usr/sbin/munged")
            .args(["--force", "--foreground"])
            .arg(format!("--key-file={}", path("munge/key").display()))
            .arg(format!("--socket={}", path("munge/socket").display()))
            .arg(format!("--pid-file={}", path("munge/pid").display()))
            .arg(format!("--log-file={}", path("munge/log").display()))
            .arg(format!("--seed-file={}", path("munge/seed").display()))
            .stdout(Stdio::null())
            .stderr(fs::File::create(path("logs/munged")).unwrap())
            .spawn()
            .unwrap();
        let mut cluster = Self { folder, munged, controller: None, nodes: Vec::new() };
        let socket = cluster.path("munge/socket");
        assert!(within(Duration::from_secs(20), || socket.exists()), "{}", cluster.logs());
        cluster.start_controller();
        for node in NODES {
            cluster.start_node(node);
        }
        let idle = || cluster.command("sinfo", &["--noheader", "--format=%D %t"]).trim() == "3 idle";
        assert!(within(Duration::from_mins(1), idle), "{}", cluster.logs());
        cluster
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start_controller(&mut self) {
        let controller = Command::new("/usr/sbin/slurmctld")
            .args(["-D", "-f"])
            .arg(self.path("slurm.conf"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.controller = Some(controller.unwrap());
    }

    fn kill_controller(&mut self) {
        let mut controller = self.controller.take().unwrap();
        controller.kill().unwrap();
        controller.wait().unwrap();
    }

    fn start_node(&mut self, name: &str) {
        let script = "hostname \"$1\" && exec /usr/sbin/slurmd -D -N \"$1\" -f \"$2\"";
        let node = Command::new("unshare")
            .args(["--mount", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc"])
            .args(["sh", "-c", script, "sh", name])
            .arg(self.path("slurm.conf"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.nodes.push(node.unwrap());
    }

    /// Kills a node with all that it executes.
    fn kill_node(&mut self, number: usize) {
        self.nodes[number].kill().unwrap();
        self.nodes[number].wait().unwrap();
    }

    /// The output of one of Slurm's commands; what it prints on failure otherwise.
    fn command(&self, name: &str, args: &[&str]) -> String {
        let output =
            Command::new(name).args(args).env("SLURM_CONF", self.path("slurm.conf")).output().unwrap();
        let text = if output.status.success() { output.stdout } else { output.stderr };
        String::from_utf8(text).unwrap()
    }

    /// The states of all jobs but those of `sleep`.
    fn states(&self) -> Vec<String> {
        let text = self.command("squeue", &["--noheader", "--array", "--states=all", "--format=%T %j"]);
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(_, name)| name.starts_with("assay-"))
            .map(|(state, _)| state.to_owned())
            .collect()
    }

    /// The jobs that were not finished, and have been requeued.
    fn requeued(&self) -> usize {
        let text = self.command("squeue", &["--json"]);
        let document: Value = serde_json::from_str(&text).unwrap_or_default();
        let jobs = document["jobs"].as_array().cloned().unwrap_or_default();
        jobs.iter().filter(|job| job["restart_cnt"].as_u64().is_some_and(|count| count > 0)).count()
    }

    fn logs(&self) -> String {
        let files = fs::read_dir(self.path("logs")).unwrap().map(|entry| entry.unwrap().path());
        files
            .map(|path| {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let lines: Vec<&str> = text.lines().rev().take(15).collect();
                let lines: Vec<&str> = lines.into_iter().rev().collect();
                format!("{}:\n{}\n", path.display(), lines.join("\n"))
            })
            .collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let controller = self.controller.as_mut();
        for child in self.nodes.iter_mut().chain(controller).chain([&mut self.munged]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn conf(folder: &TempDir) -> String {
    let listeners: [TcpListener; 4] = std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let [controller, ports @ ..] = listeners.each_ref().map(|listener| listener.local_addr().unwrap().port());
    let system = rustix::system::uname();
    let host = system.nodename().to_str().unwrap().split('.').next().unwrap().to_owned();
    let at = folder.path().display();
    let nodes: Vec<String> = NODES
        .iter()
        .zip(ports)
        .map(|(name, port)| {
            format!("NodeName={name} NodeHostname={name} NodeAddr=127.0.0.1 Port={port} CPUs={CPUS}\n")
        })
        .collect();
    let nodes = nodes.concat();
    format!(
        "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={controller}\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/munge\nAuthInfo=socket={at}/munge/socket\n\
         StateSaveLocation={at}/state\nSlurmdSpoolDir={at}/spool/%n\n\
         SlurmctldPidFile={at}/slurmctld.pid\nSlurmdPidFile={at}/%n.pid\n\
         SlurmctldLogFile={at}/logs/slurmctld\nSlurmdLogFile={at}/logs/%n\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none\n\
         SlurmdParameters=config_overrides\nReturnToService=2\nSlurmdTimeout=10\nSlurmctldTimeout=10\nKillWait=5\n\
         SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n\
         SchedulerParameters=batch_sched_delay=1,sched_interval=2\n\
         PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n\
         {nodes}PartitionName=low Nodes=n[1-3] Default=YES State=UP PriorityTier=1 PreemptMode=REQUEUE\n\
         PartitionName=high Nodes=n[1-3] State=UP PriorityTier=10 PreemptMode=OFF\n"
    )
}

/// Trials of about a second each, run by a cluster.
fn lab(cluster: &Cluster) -> Fixture {
    local_lab().env("SLURM_CONF", cluster.path("slurm.conf").to_str().unwrap())
}

fn local_lab() -> Fixture {
    let mut rules = suite::diligent();
    rules[1]["run"] = json!(["sleep 0.8", rules[1]["run"]]);
    rules.push(json!({ "turn": 0, "run": "sleep 0.8" }));
    let lab = suite::lab(4).env("ASSAY_LEASE_SECONDS", "3").script(&rules);
    lab.experiment(|e| suite::paired(e.conditions(&["none", "curated"]).repetitions(6).concurrency(2), 4))
}

const RUN: [&str; 8] = ["run", "experiment.toml", "--executor", "slurm", "--jobs", "12", "--format", "json"];

/// The hosts on which trials are being executed.
fn hosts(lab: &Fixture) -> BTreeSet<String> {
    let open = lab.trials().into_iter().filter(|folder| !folder.join("record.json").exists());
    open.filter_map(|folder| serde_json::from_slice::<Value>(&fs::read(folder.join("lease")).ok()?).ok())
        .map(|lease| lease["host"].to_string())
        .collect()
}

/// Waits until all nodes execute trials, the tasks having been checked.
#[track_caller]
fn wait_for_nodes(cluster: &Cluster, lab: &Fixture, run: &Running) {
    let all = within(Duration::from_mins(1), || lab.records().len() >= 4 && hosts(lab).len() == NODES.len());
    assert!(all, "{:?}\n{}\n{:?}\n{}", hosts(lab), run.stderr(), cluster.states(), cluster.logs());
}

/// Every trial has one record and no lease, and the report is that of one machine but for times.
#[track_caller]
fn is_whole(lab: &Fixture, document: &Value) {
    let records = lab.records();
    let distinct: BTreeSet<String> = records.iter().map(|record| record["trial"].to_string()).collect();
    assert_eq!((records.len(), distinct.len()), (TRIALS, TRIALS));
    assert!(lab.trials().iter().all(|folder| !folder.join("lease").exists()));
    assert_eq!((&document["executed"], &document["checks_executed"]), (&json!(TRIALS), &json!(8)));
    let (alone, code) = local_lab().run(&["--jobs", "12"]);
    assert_eq!(code, 0, "{alone:#}");
    assert_eq!(suite::comparisons_but_for_times(document), suite::comparisons_but_for_times(&alone));
}

#[test]
#[ignore = "needs Slurm"]
fn slurm_executes_a_run_while_a_node_fails() {
    let mut cluster = Cluster::start();
    let lab = lab(&cluster);
    let run = lab.start(&RUN);
    wait_for_nodes(&cluster, &lab, &run);
    cluster.kill_node(1);
    let ran = run.wait_for(PATIENCE).ok();
    assert!(ran.stderr.contains("submitted 8 workers to Slurm: job 1; logs in "), "{ran:#?}");
    is_whole(&lab, &ran.json());
    // Some trials were begun twice, and nothing is left in the queue.
    let begun = |folder: &PathBuf| fs::read_dir(folder.join("attempts")).unwrap().count();
    assert!(lab.trials().iter().any(|folder| begun(folder) == 2), "the node was not killed in a trial");
    let over =
        |state: &String| ["COMPLETED", "CANCELLED", "COMPLETING", "NODE_FAIL"].contains(&state.as_str());
    assert!(within(Duration::from_mins(1), || cluster.states().iter().all(over)), "{:?}", cluster.states());
}

#[test]
#[ignore = "needs Slurm"]
fn preempted_workers_are_requeued() {
    let cluster = Cluster::start();
    let lab = lab(&cluster);
    let run = lab.start(&RUN);
    wait_for_nodes(&cluster, &lab, &run);
    cluster.command("sbatch", &["--partition=high", "--nodelist=n3", "--exclusive", "--wrap=sleep 5"]);
    assert!(within(Duration::from_secs(30), || cluster.requeued() >= 2), "{:?}", cluster.states());
    let ran = run.wait_for(PATIENCE).ok();
    is_whole(&lab, &ran.json());
}

#[test]
#[ignore = "needs Slurm"]
fn run_goes_on_while_the_controller_is_away() {
    let mut cluster = Cluster::start();
    let lab = lab(&cluster);
    let run = lab.start(&RUN);
    wait_for_nodes(&cluster, &lab, &run);
    cluster.kill_controller();
    let before = lab.records().len();
    assert!(within(Duration::from_mins(1), || run.stderr().contains(" failed: ")), "{}", run.stderr());
    assert!(lab.records().len() > before, "{before}");
    cluster.start_controller();
    let ran = run.wait_for(PATIENCE).ok();
    is_whole(&lab, &ran.json());
}

#[test]
#[ignore = "needs Slurm"]
fn another_shell_follows_the_jobs_of_an_interrupted_run() {
    let cluster = Cluster::start();
    let lab = lab(&cluster);
    let first = lab.start(&RUN);
    wait_for_nodes(&cluster, &lab, &first);
    first.signal(Signal::INT);
    let ended = first.wait().ended(130);
    assert!(ended.stderr.contains("cancel them with `scancel "), "{ended:#?}");
    assert!(cluster.states().iter().any(|state| state == "RUNNING"));
    let second = lab.start(&RUN);
    assert!(
        within(Duration::from_secs(30), || second.stderr().contains("following ")),
        "{}",
        second.stderr()
    );
    second.wait_for(PATIENCE).ok();
    assert_eq!(lab.records().len(), TRIALS);

    // The next one is to take its jobs with it.
    let lab = self::lab(&cluster);
    let run =
        lab.start(&[RUN.as_slice(), &["--cancel-on-interrupt", "--sbatch", "--comment 'a b'"]].concat());
    wait_for_nodes(&cluster, &lab, &run);
    run.signal(Signal::INT);
    let ended = run.wait().ended(130);
    assert!(ended.stderr.contains("cancelled the Slurm jobs "), "{ended:#?}");
    let runs = || cluster.states().iter().any(|state| state == "RUNNING");
    assert!(within(Duration::from_secs(30), || !runs()), "{:?}", cluster.states());
    // Interrupted workers give their trials back.
    let held = || lab.trials().iter().any(|folder| folder.join("lease").exists());
    assert!(within(Duration::from_secs(10), || !held()));
    let left = lab.records().len();
    assert!(left < TRIALS);
    // Cancelled from outside.
    let run = lab.start(&RUN);
    assert!(within(Duration::from_mins(1), || lab.records().len() > left), "{}", run.stderr());
    cluster.command("scancel", &["--user=root"]);
    let ended = run.wait_for(PATIENCE).ended(3);
    assert!(ended.stderr.contains("the Slurm jobs were cancelled"), "{ended:#?}");
}

#[test]
#[ignore = "needs Slurm"]
fn a_run_stops_if_its_workers_fail_again_and_again() {
    let cluster = Cluster::start();
    let lab = lab(&cluster);
    let bad = lab.assay(&[RUN.as_slice(), &["--sbatch", "--partition=none"]].concat()).ended(3);
    assert!(bad.stderr.contains("sbatch failed") && bad.stderr.contains("partition"), "{bad:#?}");
    // What the workers are told is wrong.
    let run = lab.start(&[RUN.as_slice(), &["--sbatch", "--export=ASSAY_LEASE_SECONDS=x"]].concat());
    let ran = run.wait_for(PATIENCE).ended(3);
    assert!(ran.stderr.contains("workers failed after 3 submissions without a finished trial"), "{ran:#?}");
    assert!(ran.stderr.contains("ASSAY_LEASE_SECONDS"), "{ran:#?}");
    assert!(ran.stderr.contains(", not on n"), "{ran:#?}");
}

#[test]
fn bad_options_for_slurm_are_reported() {
    let lab = local_lab();
    let check = |args: &[&str], code: i32, expected: &str| {
        let ran = lab.assay(&[&["run", "experiment.toml"], args].concat()).ended(code);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    };
    check(&["--sbatch", "-p x"], 2, "need `--executor slurm`");
    check(&["--cancel-on-interrupt"], 2, "need `--executor slurm`");
    check(&["--executor", "slurm", "--sbatch", "'x"], 2, "a quote without its end");
    check(&["--executor", "slurm", "--sbatch", "-p x --array=0-3"], 2, "cannot contain --array=0-3");
}

#[test]
fn slurm_is_looked_for_before_anything_is_executed() {
    if ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|folder| Path::new(folder).join("sbatch").exists()) {
        assay_test::report_skip("Slurm is installed here");
        return;
    }
    let lab = local_lab();
    let ran = lab.assay(&["run", "experiment.toml", "--executor", "slurm"]).ended(3);
    assert!(ran.stderr.contains("cannot find sbatch on the PATH"), "{}", ran.stderr);
    assert!(lab.trials().is_empty());
}

/// The ratio of the times is printed by the same command; docs/lab/PERFORMANCE.md has it.
#[test]
#[ignore = "needs Slurm"]
fn five_hundred_trials_on_three_nodes_give_the_report_of_one_process() {
    let cluster = Cluster::start();
    let lab = Fixture::new().env("SLURM_CONF", cluster.path("slurm.conf").to_str().unwrap());
    let bench = ["lab", "bench", "workers", "--slurm", "--seconds", "0.2", "--format", "json"];
    let document = lab.start(&bench).wait_for(PATIENCE).ok().json();
    assert_eq!(document["trials"], 500, "{document:#}");
    let rows = document["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["executor"].as_str().unwrap()).collect();
    assert_eq!(names, ["local", "3 workers", "slurm"]);
    assert!(rows.iter().all(|row| row["same_report"] == true), "{document:#}");
}
