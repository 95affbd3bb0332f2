//! What remains of a dead process, and its removal.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use assay_sandbox::docker::{ContainerSpec, Docker, DockerOptions};

use super::{base, docker, needs_docker_beside, options, sh};
use crate::common::{processes_with, within};

/// The store of the process that this test starts from itself, to be killed.
const HOLD: &str = "ASSAY_TEST_HOLD";

#[test]
#[ignore = "needs Docker"]
fn nothing_outlives_its_owner_and_cleanup_removes_the_rest() {
    needs_docker_beside!();
    if let Some(store) = std::env::var_os(HOLD) {
        return keep_container(store.to_str().unwrap());
    }
    let store = format!("test-hold-{}", std::process::id());
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "docker::owner::nothing_outlives_its_owner_and_cleanup_removes_the_rest",
            "--nocapture",
            "--include-ignored",
        ])
        .env(HOLD, &store)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines().map_while(Result::ok);
    let id = lines.into_iter().find_map(|line| Some(line.split_once("held ")?.1.to_owned())).unwrap();
    assert_eq!(processes_with("302.25").len(), 1);
    holder.kill().unwrap();
    holder.wait().unwrap();
    // Its first process ends with the connection, and with it all others.
    assert!(within(Duration::from_secs(5), || processes_with("302.25").is_empty()));

    let docker = Docker::connect(DockerOptions::new(store.clone(), "another")).unwrap();
    let mut mine = docker.create(&ContainerSpec::new(base(&docker), "test")).unwrap();
    let removed = docker.remove_stale(&store, &|owner| owner == "another").unwrap();
    assert_eq!(removed.containers, [id]);
    assert_eq!(sh(&mut mine, "echo on").1, "on\n");
    let mine_id = mine.id().to_owned();
    assert_eq!(docker.remove_stale("some other store", &|_| false).unwrap().containers, Vec::<String>::new());
    assert_eq!(docker.remove_stale(&store, &|_| false).unwrap().containers, [mine_id]);
    // A container that is already gone is tolerated.
    mine.remove().unwrap();
}

fn keep_container(store: &str) {
    let docker = Docker::connect(DockerOptions::new(store, "holder")).unwrap();
    let mut container = docker.create(&ContainerSpec::new(base(&docker), "test")).unwrap();
    sh(&mut container, "setsid sleep 302.25 & sleep 0.1");
    println!("held {}", container.id());
    std::io::stdout().flush().unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
#[ignore = "needs Docker"]
fn dropped_container_is_removed() {
    let docker = docker("drop");
    let container = docker.create(&ContainerSpec::new(base(&docker), "test")).unwrap();
    drop(container);
    let removed = docker.remove_stale(&options("drop").store_label, &|_| false).unwrap();
    assert_eq!(removed.containers, Vec::<String>::new());
}

#[test]
#[ignore = "needs Docker"]
fn container_is_removed_in_the_background() {
    let docker = docker("leave");
    let mut container = docker.create(&ContainerSpec::new(base(&docker), "test")).unwrap();
    sh(&mut container, "setsid sleep 302.5 &");
    let usage = container.remove_in_background();
    assert!(usage.cpu_seconds.is_none_or(|seconds| seconds > 0.0), "{usage:?}");
    docker.wait_for_removals();
    let removed = docker.remove_stale(&options("leave").store_label, &|_| false).unwrap();
    assert_eq!(removed.containers, Vec::<String>::new());
}

#[test]
fn names_the_socket_without_a_daemon() {
    let mut options = options("absent");
    options.socket = Some("/nonexistent/docker.sock".into());
    options.image_map = BTreeMap::new();
    let error = Docker::connect(options).unwrap_err().to_string();
    assert!(error.contains("/nonexistent/docker.sock"), "{error}");
}
