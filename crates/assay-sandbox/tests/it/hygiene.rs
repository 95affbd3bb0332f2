//! What leaves a sandbox.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_diagnostic::escape_path;
use assay_fs::{Caps, Change, ChangeKind, FileKind, FsError, Manifest, copy_tree, read_beneath, remove_tree};
use assay_sandbox::{Exit, changed_lines, unified_diff};

use rustix::fs::{Mode, OFlags, mkdirat, openat};

use crate::common::{command, exec, mount, needs_bubblewrap, spec, start};

/// A folder with every kind of hostile entry.
fn bad_folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("in/sub")).unwrap();
    fs::write(at("secret"), "secret").unwrap();
    fs::write(at("in/file"), "content").unwrap();
    fs::write(at("in/sub/file"), "deep").unwrap();
    fs::write(at("in/empty"), "").unwrap();
    fs::File::create(at("in/huge")).unwrap().set_len(1 << 40).unwrap();
    symlink("../secret", at("in/out")).unwrap();
    symlink("file", at("in/same")).unwrap();
    symlink("sub", at("in/subs")).unwrap();
    symlink("/", at("in/root")).unwrap();
    symlink("loop", at("in/loop")).unwrap();
    symlink("/proc/self/root", at("in/magic")).unwrap();
    assert!(Command::new("mkfifo").arg(at("in/pipe")).status().unwrap().success());
    drop(UnixListener::bind(at("in/socket")).unwrap());
    dir
}

#[test]
fn reads_regular_files_beneath_only() {
    let dir = bad_folder();
    for (path, expected) in [
        ("file", "Some(content)"),
        ("./sub/./file", "Some(deep)"),
        ("empty", "Some()"),
        ("missing", "None"),
        ("missing/deeper", "None"),
        ("file/deeper", "None"),
        ("out", "a symbolic link"),
        ("same", "a symbolic link"),
        ("loop", "a symbolic link"),
        ("magic", "a symbolic link"),
        ("subs/file", "leads out"),
        ("root/etc/passwd", "leads out"),
        ("../secret", "leads out"),
        ("sub/../../secret", "leads out"),
        ("/etc/passwd", "leads out"),
        ("sub", "a folder"),
        (".", "a folder"),
        ("pipe", "a pipe"),
        ("socket", "a socket"),
        ("huge", "larger than 1000 bytes"),
    ] {
        let found = match read_beneath(&dir.path().join("in"), Path::new(path), 1000) {
            Ok(found) => {
                format!("{:?}", found.map(|bytes| String::from_utf8(bytes).unwrap())).replace('"', "")
            }
            Err(error) => error.to_string(),
        };
        assert!(found.contains(expected), "{path}: {found}");
    }
    assert!(read_beneath(&dir.path().join("gone"), Path::new("x"), 10).unwrap().is_none());
    // A file of exactly `cap` bytes is accepted.
    let read = |cap| read_beneath(dir.path(), Path::new("secret"), cap);
    assert!(read(6).is_ok());
    assert!(matches!(read(5), Err(FsError::TooLarge { cap: 5, .. })));
}

#[test]
fn copies_harmless_entries() {
    let dir = bad_folder();
    let (from, to) = (dir.path().join("in"), dir.path().join("copy"));
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&from.join("file"), 0o4755);
    mode(&from.join("sub/file"), 0o400);
    mode(&from.join("sub"), 0o500);
    let caps = Caps { file_bytes: 1000, ..Caps::default() };
    let report = copy_tree(&from, &to, &caps).unwrap();
    assert_eq!((report.files, report.bytes), (3, 11));
    let left: Vec<_> =
        report.left_out.iter().map(|l| (l.path.to_str().unwrap(), l.reason.as_str())).collect();
    assert_eq!(left, [("huge", "larger than 1000 bytes"), ("pipe", "a pipe"), ("socket", "a socket")]);
    assert_eq!(fs::read_to_string(to.join("sub/file")).unwrap(), "deep");
    assert_eq!(fs::read_link(to.join("out")).unwrap(), Path::new("../secret"));
    let found = |path: &str| fs::metadata(to.join(path)).unwrap();
    assert_eq!(found("file").mode() & 0o7777, 0o755);
    assert_eq!(found("sub/file").mode() & 0o7777, 0o400);
    assert_eq!(found("sub").mode() & 0o7777, 0o700);
    assert_eq!(found("file").mtime(), fs::metadata(from.join("file")).unwrap().mtime());

    // Links are left out if not allowed, and existing entries are not overwritten.
    let report = copy_tree(&from, &to, &Caps { links: false, ..caps }).unwrap();
    assert_eq!(report.files, 0);
    assert!(report.left_out.iter().any(|l| l.path == Path::new("out") && l.reason == "a symbolic link"));
    assert!(report.left_out.iter().any(|l| l.path == Path::new("file") && l.reason == "already exists"));
}

#[test]
fn copies_up_to_its_limits() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("from");
    fs::create_dir_all(from.join("a/b/c")).unwrap();
    for name in ["a/1", "a/b/2", "a/b/c/3", "4", "5"] {
        fs::write(from.join(name), "12345").unwrap();
    }
    let all = Caps::default();
    for (n, (caps, files, reason)) in [
        (Caps { total_bytes: 12, ..all }, 2, "the limit is reached after 10 bytes"),
        (Caps { depth: 1, ..all }, 3, "more than 1 folders deep"),
        (Caps { depth: 0, ..all }, 2, "more than 0 folders deep"),
        (Caps { entries: 3, ..all }, 2, "more than 3 entries"),
        (Caps { entries: 2, ..all }, 2, "more than 2 entries"),
    ]
    .into_iter()
    .enumerate()
    {
        let report = copy_tree(&from, &dir.path().join(n.to_string()), &caps).unwrap();
        assert_eq!(report.files, files, "{caps:?} {report:?}");
        assert!(report.left_out.iter().any(|left| left.reason == reason), "{caps:?} {report:?}");
    }
    assert!(matches!(copy_tree(&dir.path().join("no"), dir.path(), &all), Err(FsError::Io { .. })));
}

#[test]
fn detects_changes() {
    let dir = bad_folder();
    let at = |name: &str| dir.path().join("in").join(name);
    let caps = Caps { file_bytes: 1000, ..Caps::default() };
    let before = Manifest::scan(&dir.path().join("in"), &caps).unwrap();
    let entry = |name: &str| &before.entries[Path::new(name)];
    assert_eq!(entry("file").digest, Some(*blake3::hash(b"content").as_bytes()));
    assert_eq!((entry("file").kind, entry("file").size), (FileKind::File, 7));
    assert_eq!(entry("sub").kind, FileKind::Directory);
    assert_eq!(
        (entry("out").kind, entry("out").target.as_deref()),
        (FileKind::Link, Some(Path::new("../secret")))
    );
    assert_eq!((entry("pipe").kind, entry("pipe").digest), (FileKind::Other, None));
    assert_eq!((entry("huge").size, entry("huge").digest), (1 << 40, None));
    assert_eq!(before.left_out.len(), 1, "{:?}", before.left_out);
    assert_eq!(before.diff(&before), []);

    fs::write(at("file"), "CONTENT").unwrap();
    fs::write(at("sub/new"), "").unwrap();
    fs::remove_file(at("empty")).unwrap();
    fs::set_permissions(at("sub/file"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(at("out")).unwrap();
    symlink("elsewhere", at("out")).unwrap();
    fs::remove_file(at("same")).unwrap();
    fs::create_dir(at("same")).unwrap();
    let after = Manifest::scan(&dir.path().join("in"), &caps).unwrap();
    let expected = [
        ("empty", ChangeKind::Removed),
        ("file", ChangeKind::Modified),
        ("out", ChangeKind::Modified),
        ("same", ChangeKind::Modified),
        ("sub/file", ChangeKind::Modified),
        ("sub/new", ChangeKind::Added),
    ];
    assert_eq!(before.diff(&after), expected.map(|(path, kind)| Change { path: PathBuf::from(path), kind }));
}

#[test]
fn shows_changes() {
    let dir = tempfile::tempdir().unwrap();
    let (before, after) = (dir.path().join("before"), dir.path().join("after"));
    for side in [&before, &after] {
        fs::create_dir(side).unwrap();
    }
    let big: String = (0..6000).map(|n| format!("old {n}\n")).collect();
    let other = big.replace("old", "new");
    for (name, old, new) in [
        ("text", Some(&b"1\n2\n3\n4\n5\n6\n"[..]), Some(&b"1\n2\n3\nfour\n5\n6\n"[..])),
        ("gone", Some(b"bye"), None),
        ("made\n\x1b[31m", None, Some(b"hi\n")),
        ("binary", Some(b"\0\x01"), Some(b"\0\x02")),
        ("latin", Some(b"a\n"), Some(b"\xe9\n")),
        ("big", Some(big.as_bytes()), Some(other.as_bytes())),
    ] {
        for (side, content) in [(&before, old), (&after, new)] {
            if let Some(content) = content {
                fs::write(side.join(name), content).unwrap();
            }
        }
    }
    symlink("/etc/shadow", after.join("link")).unwrap();
    fs::write(before.join("tool"), "x").unwrap();
    fs::write(after.join("tool"), "x").unwrap();
    fs::set_permissions(before.join("tool"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(after.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    let caps = Caps::default();
    let changes = Manifest::scan(&before, &caps).unwrap().diff(&Manifest::scan(&after, &caps).unwrap());
    let (bigs, others): (Vec<_>, Vec<_>) = changes.iter().cloned().partition(|c| c.path == Path::new("big"));
    let text = String::from_utf8(unified_diff(&before, &after, &others, 1 << 20)).unwrap();
    assert_eq!(
        text,
        "modified binary\nbinary to binary\n\
         removed gone\n--- gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n\\ No newline at end of file\n\
         modified latin\na text of 2 bytes to binary\n\
         added link\nnothing to a link to /etc/shadow\n\
         added \"made\\n\\033[31m\"\n--- /dev/null\n+++ \"made\\n\\033[31m\"\n@@ -0,0 +1 @@\n+hi\n\
         modified text\n--- text\n+++ text\n@@ -1,6 +1,6 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n\
         modified tool\nmode 0644 to 0755\n"
    );
    assert_eq!(changed_lines(text.as_bytes()), Some(4));
    // Too many pairs of lines to compare: replaced as a whole, at once.
    let text = String::from_utf8(unified_diff(&before, &after, &bigs, 1 << 20)).unwrap();
    assert!(text.contains("@@ -1,6000 +1,6000 @@\n-old 0\n") && text.ends_with("+new 5999\n"));
    assert_eq!(changed_lines(text.as_bytes()), Some(12_000));
    // Whole lines only, within the cap.
    let cut = unified_diff(&before, &after, &changes, 200);
    assert_eq!(changed_lines(&cut), None);
    let text = String::from_utf8(cut).unwrap();
    assert!(text.len() <= 200 && text.ends_with("[cut at 200 bytes; 7 more changes]\n"), "{text}");
    assert!(unified_diff(&before, &after, &changes, 5).len() <= 5);
}

#[test]
fn escapes_names() {
    use std::os::unix::ffi::OsStrExt;
    for (name, expected) in [
        (&b"plain/name.txt"[..], "plain/name.txt"),
        ("grüße".as_bytes(), "grüße"),
        (b"a\"b\\c", "\"a\\\"b\\\\c\""),
        (b"a\nb", "\"a\\nb\""),
        (b"\x1b[2J", "\"\\033[2J\""),
        (b"\xff", "\"\\377\""),
        ("x\u{202e}y".as_bytes(), "\"x\\342\\200\\256y\""),
    ] {
        assert_eq!(escape_path(Path::new(std::ffi::OsStr::from_bytes(name))), expected);
    }
}

/// A folder that is hard to remove.
fn stubborn(dir: &Path) {
    fs::create_dir_all(dir.join("a/b")).unwrap();
    fs::write(dir.join("a/b/file"), "x").unwrap();
    fs::write(dir.join("a/file"), "x").unwrap();
    symlink("/", dir.join("a/root")).unwrap();
    symlink("../keep", dir.join("a/keep")).unwrap();
    // Much deeper than a path can be long, or a process can have folders open.
    let mut at = rustix::fs::open(dir, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..1000 {
        mkdirat(&at, "deeper", Mode::RWXU).unwrap();
        at = openat(&at, "deeper", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    openat(&at, "file", OFlags::WRONLY | OFlags::CREATE, Mode::RWXU).unwrap();
    for name in ["a/b", "a"] {
        fs::set_permissions(dir.join(name), fs::Permissions::from_mode(0o000)).unwrap();
    }
}

#[test]
fn removes_everything_that_was_left() {
    let dir = tempfile::tempdir().unwrap();
    let (tree, keep) = (dir.path().join("tree"), dir.path().join("keep"));
    fs::create_dir_all(&keep).unwrap();
    fs::write(keep.join("file"), "kept").unwrap();
    stubborn(&tree);
    remove_tree(&tree).unwrap();
    assert!(!tree.exists());
    assert_eq!(fs::read_to_string(keep.join("file")).unwrap(), "kept");
    remove_tree(&tree).unwrap();
    // A link is removed, and not its target.
    symlink(&keep, &tree).unwrap();
    remove_tree(&tree).unwrap();
    assert!(fs::symlink_metadata(&tree).is_err() && keep.join("file").exists());
    remove_tree(&keep.join("file")).unwrap();
    assert!(!keep.join("file").exists());
}

/// Not a test by itself: what [`removes_without_privilege`] runs inside.
#[test]
fn remover() {
    if let Some(path) = std::env::var_os("ASSAY_TEST_REMOVE") {
        stubborn(Path::new(&path));
        let mine = fs::read_dir(Path::new(&path).join("a"));
        assert!(mine.is_err(), "modes bind us here");
        remove_tree(Path::new(&path)).unwrap();
        assert!(!Path::new(&path).exists());
    }
}

#[test]
fn removes_without_privilege() {
    needs_bubblewrap!();
    // Root can enter any folder; no process inside can.
    let mut spec = spec();
    spec.mounts = vec![mount(&std::env::current_exe().unwrap(), "/remover", false)];
    spec.env.push(("ASSAY_TEST_REMOVE".to_owned(), "/tmp/tree".to_owned()));
    let mut session = start(&spec);
    let outcome = exec(&mut *session, &command(&["/remover", "--exact", "hygiene::remover"])).unwrap();
    assert_eq!(outcome.exit, Exit::Code(0), "{}", outcome.stdout.text());
    assert!(outcome.stdout.text().contains("1 passed"), "{}", outcome.stdout.text());
    session.stop().unwrap();
}

#[test]
fn copies_and_scans_small_trees_quickly() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("from");
    for n in 0..20 {
        fs::create_dir_all(from.join(format!("d{n}"))).unwrap();
        for m in 0..10 {
            fs::write(from.join(format!("d{n}/f{m}")), vec![b'x'; 2000]).unwrap();
        }
    }
    let begin = std::time::Instant::now();
    let report = copy_tree(&from, &dir.path().join("to"), &Caps::default()).unwrap();
    assert_eq!(report.files, 200);
    let manifests = [&from, &dir.path().join("to")].map(|d| Manifest::scan(d, &Caps::default()).unwrap());
    assert_eq!(manifests[0].diff(&manifests[1]).iter().filter(|c| !c.path.starts_with("d")).count(), 0);
    println!("copy and two scans of 200 files: {:?}", begin.elapsed());
}
