//! Damaged tasks: a task.toml, and a Dockerfile.

use std::fs;

use assay_test::{fuzz, shared_seeds};

use crate::Task;

fn check(file: &str, seeds: &[Vec<u8>]) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("task.toml", "version = \"1.0\"\n"),
        ("instruction.md", "Count the words.\n"),
        ("environment/Dockerfile", "FROM debian:12-slim\nWORKDIR /app\n"),
        ("tests/test.sh", "exit 0\n"),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fuzz(seeds, |bytes| {
        fs::write(folder.path().join(file), bytes).unwrap();
        drop(Task::load(folder.path()));
    });
}

#[test]
fn damaged_task_tables_never_panic() {
    let mut seeds = shared_seeds("tasks", &["task.toml"], 60);
    seeds.push(
        b"version = \"1.0\"\n[metadata]\ndifficulty = \"easy\"\n[agent]\ntimeout_sec = 60.5\n[verifier]\ntimeout_sec = 30\n\
          [environment]\ncpus = 2\nmemory_mb = 512\nallow_internet = true\n[environment.env]\nA = \"${B}\"\n"
            .to_vec(),
    );
    check("task.toml", &seeds);
}

#[test]
fn damaged_dockerfiles_never_panic() {
    let mut seeds = shared_seeds("tasks", &["Dockerfile"], 60);
    seeds.push(b"FROM debian:12-slim AS a\nARG X=1\nRUN <<EOF\necho $X\nEOF\nCOPY --from=a [\"b\", \"/app/\"]\nWORKDIR /app\n".to_vec());
    check("environment/Dockerfile", &seeds);
}
