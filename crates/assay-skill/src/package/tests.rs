//! Packages on disk.

use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;

const PLAIN: &str = "---\nname: a\ndescription: b\n---\nbody\n";

/// A package in a folder called `a`.
fn package(files: &[(&str, &str)]) -> (TempDir, PathBuf) {
    let temp = TempDir::new().unwrap();
    let root = temp.path().join("a");
    fs::create_dir(&root).unwrap();
    for (path, text) in files {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    (temp, root)
}

fn codes(loaded: &Loaded) -> Vec<&'static str> {
    loaded.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

#[test]
fn a_package_is_read() {
    let (_temp, root) = package(&[("SKILL.md", PLAIN), ("scripts/run.sh", "#!/bin/sh\n"), (".hidden", "x")]);
    fs::create_dir(root.join("assets")).unwrap();
    fs::set_permissions(root.join("scripts/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("scripts/run.sh", root.join("run")).unwrap();
    let loaded = Package::load(&root);
    assert_eq!(codes(&loaded), [""; 0], "{:?}", loaded.diagnostics);
    let package = loaded.package.unwrap();
    assert_eq!(
        (package.name.as_str(), package.description.as_str(), package.directory.as_str()),
        ("a", "b", "a")
    );
    assert_eq!(
        (package.body.as_str(), package.document.as_str(), package.body_tokens()),
        ("body\n", PLAIN, 2)
    );
    assert_eq!(package.front_matter["description"], "b");
    let files: Vec<_> =
        package.files.iter().map(|f| (f.path.as_str(), f.kind, f.size, f.executable)).collect();
    assert_eq!(
        files,
        [
            (".hidden", FileKind::File, 1, false),
            ("SKILL.md", FileKind::File, PLAIN.len() as u64, false),
            ("assets", FileKind::Directory, 0, false),
            ("run", FileKind::Link, 14, false),
            ("scripts/run.sh", FileKind::File, 10, true),
        ]
    );
    assert_eq!(package.files[1].digest, Digest::of(PLAIN.as_bytes()));
}

#[test]
fn missing_fields_have_fallbacks() {
    let check = |text: &str, name: &str, description: &str, expected: &[&str]| {
        let (_temp, root) = package(&[("SKILL.md", text)]);
        let loaded = Package::load(&root);
        assert_eq!(codes(&loaded), expected, "{text:?}");
        let package = loaded.package.unwrap();
        assert_eq!((package.name.as_str(), package.description.as_str()), (name, description), "{text:?}");
    };
    check(
        "# T\n\nFirst words.\n",
        "a",
        "First words.",
        &["front-matter-missing", "name-missing", "description-missing"],
    );
    check("---\ndescription: b\n---\n", "a", "b", &["name-missing"]);
    check("---\nname: a\n---\nWords.\n", "a", "Words.", &["description-missing"]);
    check("---\nname: a\ndescription: ''\n---\n", "a", "", &["description-empty", "description-missing"]);
    check("---\nname: z\ndescription: b\n---\n", "z", "b", &["name-directory"]);
    check("", "a", "", &["front-matter-missing", "name-missing", "description-missing"]);
}

#[test]
fn document_path_is_found() {
    let check = |make: &dyn Fn(&Path), loads: bool, expected: &[&str]| {
        let (temp, root) = package(&[]);
        fs::write(temp.path().join("outside.md"), PLAIN).unwrap();
        make(&root);
        let loaded = Package::load(&root);
        assert_eq!(
            (loaded.package.is_some(), codes(&loaded)),
            (loads, expected.to_vec()),
            "{:?}",
            loaded.diagnostics
        );
        assert!(loaded.diagnostics.iter().all(|diagnostic| diagnostic.hint.is_some()));
    };
    check(&|_| (), false, &["document-missing"]);
    check(&|root| fs::remove_dir(root).unwrap(), false, &["folder-unreadable"]);
    check(&|root| fs::write(root.join("skill.md"), PLAIN).unwrap(), true, &["document-case"]);
    check(&|root| fs::write(root.join("Skill.md"), PLAIN).unwrap(), false, &["document-case"]);
    check(&|root| fs::create_dir(root.join("SKILL.md")).unwrap(), false, &["document-unreadable"]);
    check(&|root| symlink("nowhere", root.join("SKILL.md")).unwrap(), false, &["document-unreadable"]);
    check(&|root| symlink("SKILL.md", root.join("SKILL.md")).unwrap(), false, &["document-unreadable"]);
    check(&|root| symlink("../outside.md", root.join("SKILL.md")).unwrap(), false, &["document-unreadable"]);
    check(&|root| symlink("/dev/zero", root.join("SKILL.md")).unwrap(), false, &["document-unreadable"]);
    let twice = |root: &Path| {
        fs::write(root.join("SKILL.md"), PLAIN).unwrap();
        fs::write(root.join("skill.md"), PLAIN).unwrap();
    };
    check(&twice, true, &["document-twice"]);
    let inner = |root: &Path| {
        fs::write(root.join("real.md"), PLAIN).unwrap();
        symlink("real.md", root.join("SKILL.md")).unwrap();
    };
    check(&inner, true, &[]);
    let escaping = |root: &Path| {
        fs::write(root.join("SKILL.md"), PLAIN).unwrap();
        symlink("/etc/passwd", root.join("passwords")).unwrap();
        symlink("../../up", root.join("up")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
    };
    check(&escaping, true, &["link-escapes", "link-escapes"]);
}

#[test]
fn pipes_and_unusual_names_are_handled() {
    let (_temp, root) = package(&[("SKILL.md", PLAIN)]);
    rustix::fs::mknodat(rustix::fs::CWD, root.join("pipe"), rustix::fs::FileType::Fifo, 0o644.into(), 0)
        .unwrap();
    fs::write(root.join(tree::path_from(b"\xff\xfe")), "x").unwrap();
    let loaded = Package::load(&root);
    assert_eq!(codes(&loaded), ["special-file", "path-encoding"]);
    assert_eq!(loaded.package.unwrap().files.len(), 3);
}

#[test]
fn pipe_as_document_is_rejected_immediately() {
    let (_temp, root) = package(&[]);
    rustix::fs::mknodat(rustix::fs::CWD, root.join("SKILL.md"), rustix::fs::FileType::Fifo, 0o644.into(), 0)
        .unwrap();
    assert_eq!(codes(&Package::load(&root)), ["document-unreadable"]);
}

#[test]
fn huge_document_is_cut_but_digested_completely() {
    let (_temp, root) = package(&[]);
    let text = |last: &str| format!("{PLAIN}{}{last}", "words \n".repeat(1_300_000));
    let load = |last: &str| {
        fs::write(root.join("SKILL.md"), text(last)).unwrap();
        Package::load(&root)
    };
    let (one, two) = (load("x"), load("y"));
    assert_eq!(codes(&one), ["document-too-large"]);
    let (one, two) = (one.package.unwrap(), two.package.unwrap());
    assert_eq!(one.document.len() as u64, DOCUMENT_CAP);
    assert_ne!(one.digest, two.digest);
}

#[test]
fn folder_may_be_given_in_any_form() {
    let (temp, root) = package(&[("SKILL.md", PLAIN), ("sub/x", "")]);
    symlink("a", temp.path().join("link")).unwrap();
    let plain = Package::load(&root).package.unwrap();
    let check = |given: PathBuf, directory: &str| {
        let package = Package::load(&given).package.unwrap();
        assert_eq!(
            (package.directory.as_str(), package.digest),
            (directory, plain.digest),
            "{}",
            given.display()
        );
    };
    check(root.join("sub/.."), "a");
    check(root.join("."), "a");
    check(temp.path().join("link"), "link");
}
