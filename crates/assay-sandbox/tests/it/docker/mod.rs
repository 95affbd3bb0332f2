//! Containers of a real daemon.

use std::sync::atomic::AtomicBool;

use assay_sandbox::Exit;
use assay_sandbox::docker::{Container, ContainerSpec, Docker, DockerOptions, Image, ImageSource};

use crate::common::{command, exec};

mod builds;
mod commands;
mod daemon;
mod files;
mod freeze;
mod limits;
mod owner;

/// The base image of the tests, built by `scripts/base-image`.
pub(crate) const BASE: &str = "base:bookworm";

/// Ends the test if the daemon's processes are not visible: it runs in another process namespace.
macro_rules! needs_docker_beside {
    () => {
        if !crate::docker::daemon_is_seen() {
            assay_test::report_skip("the Docker daemon runs in another process namespace");
            return;
        }
    };
}
pub(crate) use needs_docker_beside;

pub(crate) fn daemon_is_seen() -> bool {
    let is_daemon = |entry: std::fs::DirEntry| {
        std::fs::read_to_string(entry.path().join("comm")).is_ok_and(|name| name.trim() == "dockerd")
    };
    std::fs::read_dir("/proc").unwrap().flatten().any(is_daemon)
}

/// Options with a store that no other test uses.
pub(crate) fn options(test: &str) -> DockerOptions {
    DockerOptions::new(format!("test-{test}-{}", std::process::id()), "tester")
}

pub(crate) fn docker(test: &str) -> Docker {
    Docker::connect(options(test)).unwrap()
}

fn image_of(docker: &Docker, name: &str) -> Result<Image, String> {
    let source = ImageSource::Prebuilt { name: name.to_owned() };
    docker.image(&source, &AtomicBool::new(false)).map_err(|error| error.to_string())
}

pub(crate) fn base(docker: &Docker) -> Image {
    image_of(docker, BASE).unwrap()
}

/// A container of the base image.
pub(crate) fn container(test: &str) -> Container {
    let docker = docker(test);
    docker.create(&ContainerSpec::new(base(&docker), "test")).unwrap()
}

/// Two containers of the base image: one with direct access to the daemon's folder, one with
/// archives only.
pub(crate) fn both(test: &str) -> [Container; 2] {
    [true, false].map(|direct| {
        let docker = Docker::connect(DockerOptions { direct, ..options(test) }).unwrap();
        docker.create(&ContainerSpec::new(base(&docker), "test")).unwrap()
    })
}

/// Runs a shell script; returns how it ended, and its merged output.
pub(crate) fn sh(container: &mut Container, script: &str) -> (Exit, String) {
    let outcome = exec(container, &command(&["sh", "-c", script])).unwrap();
    (outcome.exit, outcome.stdout.text())
}

pub(crate) fn ok(text: &str) -> (Exit, String) {
    (Exit::Code(0), text.to_owned())
}
