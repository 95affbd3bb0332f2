//! Extreme content of a file system: each case gives a diagnostic, and the run continues.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use assay_lint::client::{AGENTS, CLIENTS};
use assay_lint::{LintedSkill, Options, Outcome, lint, render};

const GOOD: &str =
    "---\nname: good\ndescription: Fills in forms. Use when a form is empty.\n---\n# T\n\nText.\n";

fn write_file(root: &Path, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("created");
    fs::write(&path, content).expect("written");
    path
}

fn skill<'a>(outcome: &'a Outcome, folder: &str) -> &'a LintedSkill {
    outcome
        .skills
        .iter()
        .find(|skill| skill.path.ends_with(folder))
        .unwrap_or_else(|| panic!("{folder} was passed over"))
}

fn codes(outcome: &Outcome, folder: &str) -> Vec<&'static str> {
    skill(outcome, folder).diagnostics.iter().map(|found| found.code).collect()
}

#[test]
fn each_hostile_case_has_a_diagnostic_and_the_run_continues() {
    let temp = tempfile::tempdir().expect("a folder");
    let root = temp.path();
    write_file(root, "good/SKILL.md", GOOD);
    write_file(root, "latin/SKILL.md", b"---\nname: latin\ndescription: caf\xe9 forms\n---\n");
    write_file(root, "wide/SKILL.md", GOOD.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>());
    write_file(root, "mark/SKILL.md", format!("\u{feff}{GOOD}"));
    write_file(root, "returns/SKILL.md", GOOD.replace('\n', "\r\n"));
    write_file(
        root,
        "huge/SKILL.md",
        GOOD.replace("---\n# T", &format!("a: {}\n---\n# T", "x".repeat(300_000))),
    );
    write_file(root, "nul/SKILL.md", GOOD.replace("forms", "for\0ms"));
    write_file(root, "dashes/SKILL.md", GOOD.replace("forms", "forms --- all"));
    write_file(root, "colon/SKILL.md", GOOD.replace("forms.", "forms: all"));
    write_file(root, "twice/SKILL.md", GOOD.replace("---\n# T", "name: other\n---\n# T"));
    let mut laughs = String::from("---\nname: bomb\na0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let parts = vec![format!("*a{}", level - 1); 9].join(", ");
        laughs.push_str(&format!("a{level}: &a{level} [{parts}]\n"));
    }
    write_file(root, "bomb/SKILL.md", laughs + "---\n");
    write_file(root, "deep/SKILL.md", format!("---\nname: {}\n---\n", "[".repeat(100_000)));
    write_file(root, "deeper/SKILL.md", format!("---\n{}x\n---\n", "- ".repeat(50_000)));
    write_file(root, "quotes/SKILL.md", format!("{GOOD}{}", "> ".repeat(50_000)));
    write_file(root, "brackets/SKILL.md", format!("{GOOD}{}", "[".repeat(100_000)));
    fs::create_dir_all(root.join("folder/SKILL.md")).expect("created");
    fs::create_dir_all(root.join("dangling")).expect("created");
    symlink("nowhere", root.join("dangling/SKILL.md")).expect("linked");
    fs::create_dir_all(root.join("round")).expect("created");
    symlink("SKILL.md", root.join("round/SKILL.md")).expect("linked");
    write_file(root, "cycle/SKILL.md", GOOD);
    symlink("..", root.join("cycle/up")).expect("linked");
    write_file(root, "escape\u{1b}[2J/SKILL.md", GOOD.replace("name: good", "name: \"\\e]0;t\\a\\u202e\""));
    write_file(root, "socket/SKILL.md", GOOD);
    let _socket = UnixListener::bind(root.join("socket/pipe")).expect("bound");
    write_file(root, "bytes/SKILL.md", GOOD);
    fs::write(root.join("bytes").join(OsStr::from_bytes(b"\xff.md")), "x").expect("written");
    // 300 MB that take no room on the disk.
    let large = write_file(root, "large/SKILL.md", GOOD);
    File::options().append(true).open(large).expect("opened").set_len(300 << 20).expect("grown");

    let outcome = lint(&[root.to_path_buf()], &Options::default());
    let check = |folder: &str, code: &str| {
        let found = codes(&outcome, folder);
        assert!(found.contains(&code), "{folder}: {found:?}");
    };
    check("latin", "encoding");
    check("wide", "encoding");
    check("mark", "byte-order-mark");
    check("returns", "line-ends");
    check("huge", "yaml-invalid");
    check("nul", "nul-character");
    check("dashes", "front-matter-dashes");
    check("colon", "yaml-unquoted");
    check("twice", "yaml-duplicate-key");
    check("bomb", "yaml-unquoted");
    check("deep", "yaml-unquoted");
    check("deeper", "yaml-invalid");
    check("folder", "document-unreadable");
    check("dangling", "document-unreadable");
    check("round", "document-unreadable");
    check("cycle", "link-escapes");
    check("escape\u{1b}[2J", "name-characters");
    check("socket", "special-file");
    check("bytes", "path-encoding");
    check("large", "document-too-large");
    assert_eq!(codes(&outcome, "good"), ["name-clash", "description-duplicate"]);
    assert!(
        skill(&outcome, "good")
            .clients
            .iter()
            .all(|(_, load_result)| load_result.valid && load_result.listed && !load_result.truncated)
    );
    // The names clash, so that no agent can load more than one: but nothing else is lost.
    assert_eq!(outcome.summary.skills, 23);

    // No one's text makes a message long.
    let all = || outcome.skills.iter().flat_map(|skill| &skill.diagnostics);
    let longest = all().map(|found| found.message.chars().count()).max();
    assert!(longest.is_some_and(|longest| longest <= 501), "{longest:?}");

    // Nothing that a terminal, a parser of XML or a workflow would act on.
    let view = render::View { advice: true, full: true, ..render::View::default() };
    let human = render::human(&outcome, &CLIENTS, view);
    assert!(!human.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "escapes got through");
    let junit = render::junit(&outcome, &AGENTS);
    assert!(!junit.chars().any(|c| c.is_control() && c != '\n'));
    assert!(render::github(&outcome, root).lines().all(|line| line.starts_with("::")));
}

#[test]
fn unreadable_entries_are_reported() {
    let temp = tempfile::tempdir().expect("a folder");
    let root = temp.path();
    write_file(root, "good/SKILL.md", GOOD);
    let closed = write_file(root, "closed/SKILL.md", GOOD);
    let part = write_file(root, "part/secret.md", "x");
    write_file(root, "part/SKILL.md", GOOD);
    fs::create_dir_all(root.join("shut")).expect("created");
    for path in [&closed, &part, &root.join("shut")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).expect("closed");
    }
    if fs::read(&closed).is_ok() {
        assay_test::report_skip("this user may read everything");
        return;
    }
    let outcome = lint(&[root.to_path_buf()], &Options::default());
    assert!(codes(&outcome, "closed").contains(&"document-unreadable"));
    assert!(codes(&outcome, "part").contains(&"entry-unreadable"));
    assert!(outcome.diagnostics.iter().any(|found| found.code == "folder-unreadable"));
    assert!(codes(&outcome, "good").iter().all(|code| code.starts_with("name-") || code.starts_with("desc")));
    fs::set_permissions(root.join("shut"), fs::Permissions::from_mode(0o755)).expect("opened");
}

#[test]
fn a_large_package_cannot_be_uploaded() {
    let temp = tempfile::tempdir().expect("a folder");
    write_file(temp.path(), "good/SKILL.md", GOOD);
    let asset = write_file(temp.path(), "good/assets/film.bin", b"\0");
    let check = |size: u64, expected: bool| {
        File::options().write(true).open(&asset).expect("opened").set_len(size).expect("grown");
        let outcome = lint(&[temp.path().to_path_buf()], &Options::default());
        assert_eq!(codes(&outcome, "good").contains(&"package-size"), expected, "{size}");
    };
    check(8 << 20, true);
    check((8 << 20) - 1000, false);
}

#[test]
fn path_may_be_a_document_or_missing() {
    let temp = tempfile::tempdir().expect("a folder");
    let file = write_file(temp.path(), "good/SKILL.md", GOOD);
    let outcome = lint(&[file, temp.path().join("good")], &Options::default());
    assert_eq!((outcome.skills.len(), outcome.summary.errors), (1, 0));
    let outcome = lint(&[temp.path().join("nowhere")], &Options::default());
    assert_eq!(outcome.diagnostics[0].code, "library-missing");
}

/// A file outside the plugin that a manifest names is neither read nor quoted, however it is named.
#[test]
fn manifest_reads_only_inside_its_plugin() {
    let messages = |build: &dyn Fn(&Path, &Path)| {
        let temp = tempfile::tempdir().expect("a folder");
        let secret = write_file(
            temp.path(),
            "secret/s.json",
            "{\"hooks\": {\"TopSecretKey\": [1]}, \"name\": \"Top Secret\"}",
        );
        let plugin = temp.path().join("plugin");
        write_file(&plugin, "skills/good/SKILL.md", GOOD);
        fs::create_dir_all(plugin.join(".claude-plugin")).expect("created");
        fs::create_dir_all(plugin.join("hooks")).expect("created");
        build(&plugin, &secret);
        let outcome = lint(&[plugin], &Options::default());
        let messages: Vec<String> = outcome.diagnostics.iter().map(|found| found.message.clone()).collect();
        assert!(!messages.iter().any(|message| message.contains("Secret")), "{messages:?}");
        messages
    };
    let named = |path: &str| {
        let manifest = format!("{{\"name\": \"p\", \"hooks\": \"{path}\"}}");
        messages(&|plugin, _| drop(write_file(plugin, ".claude-plugin/plugin.json", &manifest)))
    };
    let leaves = |path: &str| vec![format!("`hooks`: `{path}` leaves the plugin's folder")];
    assert_eq!(named("../secret/s.json"), leaves("../secret/s.json"));
    assert_eq!(named("./hooks/../../secret/s.json"), leaves("./hooks/../../secret/s.json"));
    let absolute = messages(&|plugin, secret| {
        let manifest = format!("{{\"name\": \"p\", \"hooks\": \"{}\"}}", secret.display());
        write_file(plugin, ".claude-plugin/plugin.json", manifest);
    });
    assert!(absolute.len() == 1 && absolute[0].ends_with("leaves the plugin's folder"), "{absolute:?}");
    let link = "cannot be read: a link that leaves the folder";
    assert_eq!(
        messages(
            &|plugin, secret| symlink(secret, plugin.join(".claude-plugin/plugin.json")).expect("linked")
        ),
        [link]
    );
    let hooks = |fill: &dyn Fn(&Path, &Path)| {
        messages(&|plugin, secret| {
            write_file(plugin, ".claude-plugin/plugin.json", "{\"name\": \"p\"}");
            fill(&plugin.join("hooks/hooks.json"), secret);
        })
    };
    assert_eq!(hooks(&|file, secret| symlink(secret, file).expect("linked")), [link]);
    let huge = hooks(&|file, _| {
        File::create(file).and_then(|file| file.set_len(64 << 20)).expect("a sparse file");
    });
    assert_eq!(huge, ["cannot be read: larger than 1 MiB"]);
}
