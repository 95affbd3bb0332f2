//! Copying files into and out of a container.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assay_fs::{Caps, ChangeKind, Manifest};
use assay_sandbox::Session;
use assay_sandbox::docker::{Container, ContainerSpec, Owner};

use super::{base, both, container, docker, ok, sh};

const ROOT: Owner = Owner { uid: 0, gid: 0 };

#[test]
#[ignore = "needs Docker"]
fn copies_folders_and_files_in() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("from");
    fs::create_dir_all(from.join("sub/empty")).unwrap();
    fs::write(from.join("run.sh"), "#!/bin/sh\necho ran\n").unwrap();
    fs::set_permissions(from.join("run.sh"), fs::Permissions::from_mode(0o4755)).unwrap();
    let long = "n".repeat(150);
    fs::write(from.join("sub").join(&long), "long\n").unwrap();
    std::os::unix::fs::symlink("../run.sh", from.join("sub/link")).unwrap();
    std::os::unix::net::UnixListener::bind(from.join("socket")).unwrap();
    let mut container = container("put");
    let report = container
        .copy_in(&from, Path::new("/a/b/tests"), Owner { uid: 7, gid: 8 }, &Caps::default())
        .unwrap();
    assert_eq!((report.files, report.left_out.len()), (2, 1), "{report:?}");
    let script = "cd /a/b/tests && ./run.sh && stat -c '%a %u %g' run.sh . && cat sub/n* && readlink sub/link && ls sub | wc -l";
    assert_eq!(sh(&mut container, script), ok("ran\n755 7 8\n755 7 8\nlong\n../run.sh\n3\n"));
    // An existing folder keeps its metadata.
    container.put_bytes(b"x\n", Path::new("/tmp/new"), 0o640, ROOT).unwrap();
    assert_eq!(sh(&mut container, "stat -c %a /tmp /tmp/new; cat /tmp/new"), ok("1777\n640\nx\n"));
    container.copy_in(&from.join("run.sh"), Path::new("/solve"), ROOT, &Caps::default()).unwrap();
    assert_eq!(sh(&mut container, "/solve"), ok("ran\n"));
    container.halt().unwrap();
    container.put_bytes(b"late\n", Path::new("/late"), 0o600, ROOT).unwrap();
    container.restart().unwrap();
    assert_eq!(sh(&mut container, "cat /late"), ok("late\n"));
    assert!(container.put_bytes(b"", Path::new("/"), 0o600, ROOT).is_err());
    assert!(container.copy_in(Path::new("/nonexistent"), Path::new("/x"), ROOT, &Caps::default()).is_err());
}

#[test]
#[ignore = "needs Docker"]
fn fetches_without_following_links() {
    let dir = tempfile::tempdir().unwrap();
    let mut container = container("fetch");
    let hostile = "mkdir -p /out/sub && cd /out && echo plain > plain && echo deep > sub/deep && ln plain twin && \
                   ln -s /etc/passwd absolute && ln -s ../../../.. up && mkfifo pipe && chmod 4777 plain && \
                   truncate -s 20M large && python3 -c \"open(b'sub/\\xff\\n', 'w')\"; \
                   python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('/out/socket')\"";
    assert_eq!(sh(&mut container, hostile), ok(""));
    let caps = Caps { file_bytes: 1 << 20, ..Caps::default() };
    for halted in [false, true] {
        if halted {
            container.halt().unwrap();
        }
        let to = dir.path().join(format!("to-{halted}"));
        let report = container.fetch(Path::new("/out"), &to, &caps).unwrap().unwrap();
        assert_eq!(fs::read_to_string(to.join("plain")).unwrap(), "plain\n");
        assert_eq!(fs::read_to_string(to.join("twin")).unwrap(), "plain\n");
        assert_eq!(fs::read_to_string(to.join("sub/deep")).unwrap(), "deep\n");
        assert_eq!(fs::metadata(to.join("plain")).unwrap().permissions().mode() & 0o7777, 0o777);
        assert_eq!(fs::read_link(to.join("absolute")).unwrap(), Path::new("/etc/passwd"));
        let left: Vec<_> =
            report.left_out.iter().map(|left| left.path.to_str().unwrap().to_owned()).collect();
        assert!(left.contains(&"large".to_owned()) && left.contains(&"pipe".to_owned()), "{left:?}");
        assert!(!to.join("socket").exists() && !to.join("pipe").exists());
    }
    let few = Caps { entries: 3, links: false, ..caps };
    let report = container.fetch(Path::new("/out"), &dir.path().join("few"), &few).unwrap().unwrap();
    assert!(report.left_out.iter().any(|left| left.reason.contains("more than 3 entries")), "{report:?}");

    let one = dir.path().join("one");
    container.fetch(Path::new("/out/sub/deep"), &one, &Caps::default()).unwrap().unwrap();
    assert_eq!(fs::read_to_string(one.join("deep")).unwrap(), "deep\n");
    assert_eq!(container.fetch(Path::new("/nothing"), &one, &Caps::default()).unwrap(), None);

    assert_eq!(container.read(Path::new("/out/plain"), 100).unwrap().unwrap(), b"plain\n");
    assert_eq!(container.read(Path::new("/out/none"), 100).unwrap(), None);
    for refused in ["/out/absolute", "/out/sub", "/out/pipe", "/out/large"] {
        assert!(container.read(Path::new(refused), 100).is_err(), "{refused}");
    }
}

#[test]
#[ignore = "needs Docker"]
fn reports_the_status_of_a_path() {
    let mut container = container("stat");
    sh(&mut container, "echo 12345 > /f; chmod 640 /f; ln -s /f /l; mkdir -m 700 /d; mkfifo /p");
    let stat = |path: &str| container.stat(Path::new(path)).unwrap();
    let file = stat("/f").unwrap();
    assert_eq!((file.size, file.is_file, file.is_dir, file.mode), (6, true, false, 0o640));
    let folder = stat("/d").unwrap();
    assert_eq!((folder.is_file, folder.is_dir, folder.mode), (false, true, 0o700));
    assert_eq!(stat("/l").unwrap().link.as_deref(), Some(Path::new("/f")));
    assert!(!stat("/l").unwrap().is_file && !stat("/p").unwrap().is_file);
    assert_eq!(stat("/none"), None);
}

/// Removed, replaced, linked and recreated: every way to hide a lower layer.
const CHANGES: &str = "cd /root && mkdir -p a/b && echo new > a/b/file && ln -s /etc a/link && mkfifo a/pipe && \
    rm /etc/issue && echo more >> /etc/passwd && chmod 600 /etc/group && \
    rm /etc/skel/.profile && mkdir /etc/skel/.profile && echo x > /etc/skel/.profile/x && \
    mv /etc/pam.d /root/moved && chown 7:8 /usr/share/doc && \
    rm -r /etc/cron.d /etc/dpkg/dpkg.cfg.d && touch /etc/cron.d";

fn listing(container: &Container) -> Vec<(String, ChangeKind)> {
    let changes = container.changes().unwrap();
    changes.into_iter().map(|change| (change.path.display().to_string(), change.kind)).collect()
}

#[test]
#[ignore = "needs Docker"]
fn direct_access_agrees_with_the_daemon() {
    let dir = tempfile::tempdir().unwrap();
    let mut told = Vec::new();
    for (number, mut container) in both("same").into_iter().enumerate() {
        assert_eq!(sh(&mut container, CHANGES), ok(""));
        container.halt().unwrap();
        let mut fetched = Vec::new();
        for (at, path) in [
            "/etc/apt",
            "/root",
            "/root/moved",
            "/etc/skel",
            "/etc/dpkg",
            "/etc/cron.d",
            "/etc/passwd",
            "/usr/share/doc",
        ]
        .iter()
        .enumerate()
        {
            let to = dir.path().join(format!("{number}-{at}"));
            let mut report = container.fetch(Path::new(path), &to, &Caps::default()).unwrap().unwrap();
            report.left_out.sort_by(|a, b| a.path.cmp(&b.path));
            fetched.push((report, Manifest::scan(&to, &Caps::default()).unwrap()));
        }
        let stats: Vec<_> =
            ["/root/a/link", "/root/a/pipe", "/etc/passwd", "/etc/issue", "/root/a", "/bin/sh"]
                .iter()
                .map(|path| container.stat(Path::new(path)).unwrap())
                .collect();
        let read: Vec<_> = ["/etc/passwd", "/etc/issue", "/etc/skel/.profile/x", "/bin/sh"]
            .iter()
            .map(|path| container.read(Path::new(path), 1 << 12).map_err(|error| error.to_string()))
            .collect();
        told.push((listing(&container), fetched, stats, read));
    }
    let (archives, direct) = (told.pop().unwrap(), told.pop().unwrap());
    assert_eq!(direct.0, archives.0);
    for (direct, archives) in direct.1.iter().zip(&archives.1) {
        assert_eq!(direct, archives);
    }
    assert_eq!(direct.2, archives.2);
    assert_eq!(direct.3, archives.3);
}

#[test]
#[ignore = "needs Docker"]
fn recreated_folder_hides_its_old_content() {
    let mut container = container("opaque");
    assert_eq!(sh(&mut container, "rm -r /etc/skel; mkdir /etc/skel; echo 1 > /etc/skel/own"), ok(""));
    container.halt().unwrap();
    let found = listing(&container);
    assert!(found.contains(&("/etc/skel/own".to_owned(), ChangeKind::Added)), "{found:?}");
    assert!(container.stat(Path::new("/etc/skel/.bashrc")).unwrap().is_none());
    let dir = tempfile::tempdir().unwrap();
    let report = container.fetch(Path::new("/etc/skel"), dir.path(), &Caps::default()).unwrap().unwrap();
    assert_eq!(report.files, 1);
}

#[test]
#[ignore = "needs Docker"]
fn copies_in_the_same_before_and_after_start() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("sub/open")).unwrap();
    fs::set_permissions(dir.path().join("sub/open"), fs::Permissions::from_mode(0o777)).unwrap();
    fs::write(dir.path().join("sub/file"), "1\n").unwrap();
    fs::set_permissions(dir.path().join("sub/file"), fs::Permissions::from_mode(0o4755)).unwrap();
    std::os::unix::fs::symlink("sub/file", dir.path().join("link")).unwrap();
    let look = "cd /; stat -c '%n %a %u %g %F' new new/a new/a/sub new/a/sub/open new/a/sub/file new/a/link tmp tmp/b etc \
                etc/passwd root var/tmp root/c/sub/file bin/put; cat new/a/link etc/passwd tmp/b bin/put; ls /etc | wc -l";
    let mut told = Vec::new();
    for mut container in both("plant") {
        container.halt().unwrap();
        let own = Owner { uid: 7, gid: 8 };
        let caps = Caps::default();
        container.copy_in(dir.path(), Path::new("/new/a"), own, &caps).unwrap();
        container.copy_in(dir.path(), Path::new("/root/c"), ROOT, &caps).unwrap();
        container.copy_in(&dir.path().join("sub/file"), Path::new("/tmp/b"), ROOT, &caps).unwrap();
        container.put_bytes(b"root:x:0:0::/:/bin/sh\n", Path::new("/etc/passwd"), 0o644, ROOT).unwrap();
        // Through a link of the image.
        container.put_bytes(b"linked\n", Path::new("/bin/put"), 0o755, ROOT).unwrap();
        container.restart().unwrap();
        told.push(sh(&mut container, look));
    }
    assert!(told[0].1.contains("new/a/sub/file 755 7 8 regular file"), "{}", told[0].1);
    assert_eq!(told[0], told[1]);

    let docker = docker("unstarted");
    let mut container = docker.create_stopped(&ContainerSpec::new(base(&docker), "test")).unwrap();
    container.put_bytes(b"early\n", Path::new("/logs/first/early"), 0o600, ROOT).unwrap();
    assert!(!container.is_running().unwrap());
    container.restart().unwrap();
    assert_eq!(sh(&mut container, "cat /logs/first/early; stat -c %a /logs"), ok("early\n755\n"));
    assert!(Box::new(container).stop().is_ok());
}
