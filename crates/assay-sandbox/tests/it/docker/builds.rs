//! Images: found, built, refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_sandbox::docker::{ContainerSpec, Docker, Image, ImageError, ImageSource};

use super::{BASE, ok, options, sh};
use crate::common::{processes_with, within};

fn with_map(test: &str) -> Docker {
    let mut options = options(test);
    options.image_map = BTreeMap::from([("debian:12-slim".to_owned(), BASE.to_owned())]);
    Docker::connect(options).unwrap()
}

fn context(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn build(docker: &Docker, dir: &Path) -> Result<Image, ImageError> {
    docker.image(&ImageSource::build(dir), &AtomicBool::new(false))
}

fn run(docker: &Docker, image: &Image, script: &str) -> (assay_sandbox::Exit, String) {
    sh(&mut docker.create(&ContainerSpec::new(image.clone(), "test")).unwrap(), script)
}

#[test]
#[ignore = "needs Docker"]
fn builds_with_the_image_map_and_once() {
    let docker = with_map("build");
    let unique = format!("RUN echo {} > /unique\n", std::process::id());
    let dockerfile = format!(
        "FROM docker.io/library/debian:12-slim AS first\nRUN echo 1 > /one\nFROM debian:12-slim\nWORKDIR /app\n\
         ENV A=b\nUSER nobody\nCOPY . .\nCOPY --from=first /one /one\nUSER root\n{unique}USER nobody\n"
    );
    let dir = context(&[
        ("Dockerfile", &dockerfile),
        (".dockerignore", "*.log\n!keep.log\n"),
        ("a.log", "no"),
        ("keep.log", "yes"),
        ("sub/b", "b"),
    ]);
    std::os::unix::fs::symlink("/etc/hostname", dir.path().join("link")).unwrap();
    let image = build(&docker, dir.path()).unwrap();
    assert!(image.log.text().contains("Step"), "{}", image.log.text());
    assert_eq!(image.config.user.as_deref(), Some("nobody"));
    assert_eq!(image.config.workdir.as_deref(), Some(Path::new("/app")));
    let script = "pwd; id -un; echo $A; cat /one; ls; readlink link";
    assert_eq!(
        run(&docker, &image, script),
        ok("/app\nnobody\nb\n1\nDockerfile\nkeep.log\nlink\nsub\n/etc/hostname\n")
    );
    // The user's file is unchanged, and the image has what was built.
    assert_eq!(fs::read_to_string(dir.path().join("Dockerfile")).unwrap(), dockerfile);

    let again = build(&docker, dir.path()).unwrap();
    assert_eq!((&again.id, &again.name, again.log.total), (&image.id, &image.name, 0));
    fs::write(dir.path().join("sub/b"), "c").unwrap();
    let other = build(&docker, dir.path()).unwrap();
    assert_ne!(other.name, image.name);
    // Files that are not sent make no difference.
    fs::write(dir.path().join("b.log"), "no").unwrap();
    assert_eq!(build(&docker, dir.path()).unwrap().name, other.name);

    // The first image was used last.
    fs::write(dir.path().join("sub/b"), "b").unwrap();
    build(&docker, dir.path()).unwrap();
    let removed = docker.prune(other.size.max(image.size)).unwrap();
    assert_eq!(removed.images, [other.id]);
    assert_eq!(docker.prune(0).unwrap().images, [image.id]);
}

#[test]
#[ignore = "needs Docker"]
fn reports_why_there_is_no_image() {
    let docker = with_map("missing");
    let never = AtomicBool::new(false);
    let source = ImageSource::Prebuilt { name: "no-such-image:1".to_owned() };
    let error = docker.image(&source, &never).unwrap_err();
    assert!(matches!(error, ImageError::Missing { .. }) && error.to_string().contains("map"), "{error}");
    let mapped = ImageSource::Prebuilt { name: "debian:12-slim".to_owned() };
    assert_eq!(docker.image(&mapped, &never).unwrap().name, BASE);
    for (dockerfile, words) in [
        ("FROM no-such-image:2\n", "no image no-such-image:2 on this machine"),
        ("FROM debian:12-slim\nRUN echo before; exit 3\n", "returned a non-zero code: 3"),
        ("FROM debian:12-slim\nNONSENSE\n", "unknown instruction"),
        ("FROM debian:12-slim\nCOPY ../../etc/passwd /x\n", "the build failed"),
        ("FROM debian:12-slim\nRUN --security=insecure true\n", "privileges"),
        ("# syntax=evil/frontend\nFROM debian:12-slim\n", "evil/frontend"),
        ("FROM debian:12-slim\nRUN --network=host true\n", "host's network"),
        ("FROM debian:12-slim\nADD http://127.0.0.1/x /x\n", "no network"),
        ("FROM debian:12-slim\nRUN <<EOF\ntrue\nEOF\n", "needs BuildKit"),
    ] {
        let dir = context(&[("Dockerfile", dockerfile)]);
        let error = build(&docker, dir.path()).unwrap_err();
        assert!(error.to_string().contains(words), "{dockerfile:?}: {error}");
        assert!(!error.is_infrastructure(), "{error:?}");
        if let ImageError::Failed { log, .. } = &error
            && dockerfile.contains("before")
        {
            assert!(log.text().contains("before"), "{}", log.text());
        }
    }
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(build(&docker, empty.path()), Err(ImageError::Context(_))));
    std::os::unix::fs::symlink("/etc/passwd", empty.path().join("Dockerfile")).unwrap();
    assert!(matches!(build(&docker, empty.path()), Err(ImageError::Context(_))));
}

#[test]
#[ignore = "needs Docker"]
fn builds_without_a_network() {
    let docker = with_map("closed");
    let dockerfile = format!("FROM debian:12-slim\nRUN ls /sys/class/net > /net; : {}\n", std::process::id());
    let dir = context(&[("Dockerfile", &dockerfile)]);
    let image = build(&docker, dir.path()).unwrap();
    assert_eq!(run(&docker, &image, "cat /net"), ok("lo\n"));
    docker.prune(0).unwrap();
}

#[test]
#[ignore = "needs Docker"]
fn ends_a_build_on_timeout_and_on_cancel() {
    let docker = with_map("slow");
    let dockerfile = format!("FROM debian:12-slim\nRUN echo begun; sleep 303.5; : {}\n", std::process::id());
    let dir = context(&[("Dockerfile", &dockerfile)]);
    let ImageSource::Build { context, dockerfile, args, network, .. } = ImageSource::build(dir.path()) else {
        panic!("a build");
    };
    let source = ImageSource::Build { context, dockerfile, args, network, timeout: Duration::from_secs(3) };
    let begin = Instant::now();
    let error = docker.image(&source, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, ImageError::TimedOut { .. }), "{error:?}");
    assert!(begin.elapsed() < Duration::from_secs(30));
    assert!(within(Duration::from_secs(15), || processes_with("303.5").is_empty()));

    let cancel = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&cancel);
    let thread = std::thread::spawn(move || {
        within(Duration::from_secs(20), || !processes_with("303.5").is_empty());
        set.store(true, Ordering::Relaxed);
    });
    let error = docker.image(&ImageSource::build(dir.path()), &cancel).unwrap_err();
    assert!(matches!(error, ImageError::Cancelled), "{error:?}");
    thread.join().unwrap();
    assert!(within(Duration::from_secs(15), || processes_with("303.5").is_empty()));
}

#[test]
#[ignore = "needs Docker"]
fn builds_equal_concurrent_contexts_once() {
    let docker = with_map("at-once");
    let dockerfile = format!("FROM debian:12-slim\nRUN sleep 1; echo at once {}\n", std::process::id());
    let dir = context(&[("Dockerfile", &dockerfile)]);
    let built: Vec<Image> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| build(&docker, dir.path()).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(built.iter().filter(|image| image.log.total > 0).count(), 1);
    assert!(built.iter().all(|image| image.id == built[0].id));
    docker.prune(0).unwrap();
}

#[test]
#[ignore = "needs Docker"]
fn builds_buildkit_dockerfiles_with_the_program() {
    let mut options = options("buildkit");
    options.image_map = BTreeMap::from([("*".to_owned(), BASE.to_owned())]);
    // Debian's client includes what newer ones need a plugin for.
    let debian = Path::new("/usr/bin/docker");
    options.program = Some(if debian.exists() { debian } else { Path::new("docker") }.to_owned());
    let docker = Docker::connect(options.clone()).unwrap();
    let dockerfile =
        format!("FROM any\nRUN --mount=type=tmpfs,target=/fast echo {} > /built\n", std::process::id());
    let dir = context(&[("Dockerfile", &dockerfile)]);
    match build(&docker, dir.path()) {
        Ok(image) => {
            assert_eq!(run(&docker, &image, "cat /built"), ok(&format!("{}\n", std::process::id())));
            docker.prune(0).unwrap();
        }
        // A client without its plugin: reported, and not counted as the task's failure.
        Err(error) => {
            assert!(matches!(error, ImageError::NeedsBuildKit { .. }), "{error:?}");
            assert!(error.to_string().contains("buildx"), "{error}");
        }
    }
    options.program = Some("/nonexistent/docker".into());
    let error = build(&Docker::connect(options).unwrap(), dir.path()).unwrap_err();
    assert!(matches!(error, ImageError::NeedsBuildKit { .. }), "{error:?}");
}
