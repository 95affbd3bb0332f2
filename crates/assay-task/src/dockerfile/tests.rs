//! Dockerfiles read and carried out.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const HEAD: &str = "FROM python:3.12-slim\nWORKDIR /app\n";

#[test]
fn supported_instructions_are_parsed() {
    let file = Dockerfile::parse(
        "# syntax=docker/dockerfile:1\nFROM python:3.12-slim AS base\nENV A=1 B=\"two words\"\nENV C $A/x y\nWORKDIR /app\nWORKDIR $A\n\
         COPY a.txt b.txt ./\nCOPY [\"c d\", \"/e/\"]\nCOPY --chmod=755 --link run.sh /usr/bin/run\nUSER nobody\nENV A=3\n",
    );
    assert!(file.plain(), "{:?}", file.unsupported);
    assert_eq!(
        (file.from.as_str(), file.workdir.as_path(), file.user.as_deref()),
        ("python:3.12-slim", Path::new("/app/1"), Some("nobody"))
    );
    let env: Vec<_> = file.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(env, [("A", "3"), ("B", "two words"), ("C", "1/x y")]);
    assert_eq!(file.workdirs, [PathBuf::from("/app"), PathBuf::from("/app/1")]);
    let copies: Vec<_> = file
        .copies
        .iter()
        .map(|c| (c.line, c.sources.join("+"), c.target.to_str().unwrap(), c.is_directory_target, c.mode))
        .collect();
    assert_eq!(
        copies,
        [
            (7, "a.txt+b.txt".to_owned(), "/app/1", true, None),
            (8, "c d".to_owned(), "/e", true, None),
            (9, "run.sh".to_owned(), "/usr/bin/run", false, Some(0o755)),
        ]
    );
}

#[test]
fn unsupported_instructions_are_reported() {
    let check = |text: &str, expected: &[(usize, &str)]| {
        let file = Dockerfile::parse(text);
        let found: Vec<_> = file.unsupported.iter().map(|u| (u.line, u.instruction.as_str())).collect();
        assert_eq!(found, expected, "{text}");
        assert_eq!(file.plain(), expected.is_empty());
    };
    check("FROM x\n", &[]);
    check("", &[(0, "no FROM")]);
    check("FROM x\nRUN pip install a \\\n  b\nCMD [\"x\"]\n", &[(2, "RUN"), (4, "CMD")]);
    check("ARG V=1\nFROM x:$V\n", &[(1, "ARG"), (2, "FROM with a variable")]);
    check("FROM --platform=linux/amd64 x\n", &[(1, "FROM with a platform")]);
    check("FROM x AS a\nFROM y\n", &[(2, "a second FROM")]);
    check("FROM x\nCOPY --from=a /b /c\nCOPY --chown=u a b\n", &[(2, "COPY --from"), (3, "COPY --chown")]);
    check("FROM x\nCOPY --chmod=u+x a b\n", &[(2, "COPY --chmod other than three octal digits")]);
    check("FROM x\nENV PATH=/opt:$PATH\n", &[(2, "ENV with $PATH, which the Dockerfile does not set")]);
    check("FROM x\nWORKDIR $HOME\n", &[(2, "WORKDIR with $HOME, which the Dockerfile does not set")]);
    check("FROM x\nCOPY ../up /a\n", &[(2, "COPY from outside the build context")]);
    check(
        "FROM x\nCOPY a\nCOPY\n",
        &[(2, "COPY without a source and a target"), (3, "COPY without a source and a target")],
    );
    check("FROM x\nCOPY <<EOF /a\nhello\nEOF\n", &[(2, "COPY with a here-document")]);
    check("# escape=`\nFROM x\n", &[(1, "a parser directive")]);
    check(
        "FROM x\nADD a b\nHEALTHCHECK NONE\nGIBBERISH\n",
        &[(2, "ADD"), (3, "HEALTHCHECK"), (4, "GIBBERISH")],
    );
}

/// A context with these files (a path that ends in `/` is a folder) and the result of a Dockerfile:
/// paths with content, without modes.
fn context(files: &[(&str, &str)]) -> TempDir {
    let temp = TempDir::new().unwrap();
    for (path, text) in files {
        let file = temp.path().join("context").join(path);
        if path.ends_with('/') {
            fs::create_dir_all(file).unwrap();
        } else {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
    }
    fs::create_dir_all(temp.path().join("root")).unwrap();
    temp
}

fn run(temp: &TempDir, dockerfile: &str) -> Result<(Vec<String>, Vec<String>), TaskError> {
    let file = Dockerfile::parse(&format!("{HEAD}{dockerfile}"));
    assert!(file.plain(), "{:?}", file.unsupported);
    let written = file.materialize(&temp.path().join("context"), &temp.path().join("root"))?;
    let written = written.iter().map(|path| path.to_str().unwrap().to_owned()).collect();
    let tree = assay_fs::tree::Tree::read(&temp.path().join("root"));
    Ok((tree.leaves().map(|entry| entry.path.to_str().unwrap().to_owned()).collect(), written))
}

const FILES: [(&str, &str); 5] =
    [("a.txt", "A"), ("b.txt", "B"), ("dir/c.txt", "C"), ("dir/empty/", ""), ("dir/sub/d.txt", "D")];

#[test]
fn copies_match_the_builder() {
    let check = |dockerfile: &str, files: &[&str], written: &[&str]| {
        let found = run(&context(&FILES), dockerfile).unwrap();
        assert_eq!(
            (&found.0[..], &found.1[..]),
            (&files.map_to()[..], &written.map_to()[..]),
            "{dockerfile}"
        );
    };
    check("", &["app"], &[]);
    check("COPY a.txt .\n", &["app/a.txt"], &["/app"]);
    check("COPY a.txt /x\n", &["app", "x"], &["/x"]);
    check("COPY a.txt /x/\n", &["app", "x/a.txt"], &["/x"]);
    check("COPY a.txt /app\n", &["app/a.txt"], &["/app"]);
    check("COPY a.txt /root\n", &["app", "root/a.txt"], &["/root"]);
    check("COPY a.txt b.txt data\n", &["app/data/a.txt", "app/data/b.txt"], &["/app/data"]);
    check("COPY dir .\n", &["app/c.txt", "app/empty", "app/sub/d.txt"], &["/app"]);
    check("COPY dir /data\n", &["app", "data/c.txt", "data/empty", "data/sub/d.txt"], &["/data"]);
    check(
        "COPY dir a.txt /data/\n",
        &["app", "data/a.txt", "data/c.txt", "data/empty", "data/sub/d.txt"],
        &["/data"],
    );
    check("COPY *.txt /data/\n", &["app", "data/a.txt", "data/b.txt"], &["/data"]);
    check("COPY dir/* .\n", &["app/c.txt", "app/d.txt"], &["/app"]);
    check("COPY /dir/./sub/../c.txt y\n", &["app/y"], &["/app/y"]);
    check(
        "COPY dir /data\nCOPY a.txt /data\n",
        &["app", "data/a.txt", "data/c.txt", "data/empty", "data/sub/d.txt"],
        &["/data"],
    );
    check(
        "COPY . .\n",
        &["app/a.txt", "app/b.txt", "app/dir/c.txt", "app/dir/empty", "app/dir/sub/d.txt"],
        &["/app"],
    );
}

trait MapTo {
    fn map_to(&self) -> Vec<String>;
}

impl MapTo for [&str] {
    fn map_to(&self) -> Vec<String> {
        self.iter().map(|&text| text.to_owned()).collect()
    }
}

#[test]
fn modes_are_kept_and_set() {
    let temp = context(&FILES);
    let source = temp.path().join("context");
    fs::set_permissions(source.join("a.txt"), fs::Permissions::from_mode(0o6750)).unwrap();
    fs::set_permissions(source.join("dir"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(source.join("dir/sub"), fs::Permissions::from_mode(0o500)).unwrap();
    run(&temp, "COPY a.txt /x\nCOPY --chmod=600 b.txt /y\nCOPY dir /z\n").unwrap();
    let mode =
        |path: &str| fs::metadata(temp.path().join("root").join(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("x"), mode("y"), mode("z/sub")), (0o750, 0o600, 0o500));
    fs::set_permissions(source.join("dir/sub"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(temp.path().join("root/z/sub"), fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn skills_are_left_out() {
    let skill = "---\nname: x\n---\n";
    let check = |files: &[(&str, &str)], dockerfile: &str, left: &[&str], copies: &[(usize, &str, &str)]| {
        let temp = context(files);
        let found = run(&temp, dockerfile).unwrap().0;
        assert_eq!(found, left.map_to(), "{dockerfile}");
        let file = Dockerfile::parse(&format!("{HEAD}{dockerfile}"));
        let said = file.skill_copies(&temp.path().join("context")).unwrap();
        let said: Vec<_> =
            said.iter().map(|s| (s.line, s.source.to_str().unwrap(), s.target.to_str().unwrap())).collect();
        assert_eq!(said, copies, "{dockerfile}");
    };
    let harbor =
        [("a.txt", ""), ("skills/x/SKILL.md", skill), ("skills/x/run.sh", ""), ("skills/README.md", "")];
    check(&harbor, "COPY skills /root/.claude/skills\n", &["app"], &[(3, "skills", "/root/.claude/skills")]);
    check(&harbor, "COPY skills/ /opt/s/\nCOPY a.txt .\n", &["app/a.txt"], &[(3, "skills", "/opt/s")]);
    check(&harbor, "COPY skills/x /opt/x\n", &["app"], &[(3, "skills/x", "/opt/x")]);
    check(&harbor, "COPY skills/x/run.sh /opt/\n", &["app"], &[(3, "skills/x/run.sh", "/opt/run.sh")]);
    let both = [(3, "skills/README.md", "/opt/s/README.md"), (3, "skills/x", "/opt/s")];
    check(&harbor, "COPY skills/* /opt/s/\n", &["app"], &both);
    check(&harbor, "COPY skills/*/SKILL.md /opt/\n", &["app"], &[(3, "skills/x/SKILL.md", "/opt/SKILL.md")]);
    check(&harbor, "COPY . .\n", &["app/a.txt"], &[(3, "skills", "/app/skills")]);
    check(&harbor, "COPY a.txt .\n", &["app/a.txt"], &[]);
    // No SKILL.md: data like any other.
    check(&[("skills/table.csv", "")], "COPY . .\n", &["app/skills/table.csv"], &[]);
    // Elsewhere only the packages themselves.
    let nested = [("src/skills/list.json", ""), ("src/skills/x/skill.md", skill), ("src/skills/x/y", "")];
    check(&nested, "COPY . .\n", &["app/src/skills/list.json"], &[(3, "src/skills/x", "/app/src/skills/x")]);
    // By their targets.
    let plain = [("packs/x/SKILL.md", skill), ("packs/x/y", ""), ("packs/z", "")];
    check(
        &plain,
        "COPY packs /root/.codex/skills\n",
        &["app", "root/.codex/skills/z"],
        &[(3, "packs/x", "/root/.codex/skills/x")],
    );
    check(
        &plain,
        "COPY packs/x /root/.codex/skills/x/\n",
        &["app"],
        &[(3, "packs/x", "/root/.codex/skills/x")],
    );
    check(
        &plain,
        "COPY packs/* /root/skills/\n",
        &["app", "root/skills/z"],
        &[(3, "packs/x", "/root/skills")],
    );
    check(
        &plain,
        "COPY packs/x/SKILL.md /a/skills/x/\n",
        &["app"],
        &[(3, "packs/x/SKILL.md", "/a/skills/x/SKILL.md")],
    );
    check(&plain, "COPY packs /doc\n", &["app", "doc/x/SKILL.md", "doc/x/y", "doc/z"], &[]);
}

#[test]
fn skills_behind_links_are_left_out() {
    let temp = context(&[("packs/x/SKILL.md", ""), ("packs/x/y", ""), ("a", "")]);
    symlink("packs", temp.path().join("context/linked")).unwrap();
    let empty = ["app", "root/.claude/skills"];
    assert_eq!(run(&temp, "COPY linked /root/.claude/skills\n").unwrap().0, empty);
    fs::create_dir(temp.path().join("context/skills")).unwrap();
    symlink("../packs/x", temp.path().join("context/skills/x")).unwrap();
    assert_eq!(run(&temp, "COPY skills /opt/skills\n").unwrap().0, empty);
}

#[test]
fn links_are_not_followed_out() {
    let temp = context(&[("real/a", "A"), ("b", "B")]);
    let source = temp.path().join("context");
    fs::write(temp.path().join("secret"), "S").unwrap();
    symlink("real", source.join("inner")).unwrap();
    symlink("../secret", source.join("outer")).unwrap();
    symlink("/etc", source.join("real/etc")).unwrap();
    let (files, _) = run(&temp, "COPY inner /x\n").unwrap();
    assert_eq!(files, ["app", "x/a", "x/etc"]);
    assert_eq!(fs::read_link(temp.path().join("root/x/etc")).unwrap(), Path::new("/etc"));
    let check = |dockerfile: &str, part: &str| {
        let error = run(&temp, dockerfile).unwrap_err();
        assert!(error.to_string().contains(part) && !error.hint().is_empty(), "{dockerfile}: {error}");
    };
    check("COPY outer /x\n", "context/Dockerfile:3:1: COPY outer: a link that leaves the build context");
    check("COPY missing /x\n", "COPY missing: no such file");
    check("COPY *.none /x/\n", "no such file");
    // An earlier COPY left a link to /etc: a later one must not write through it.
    check("COPY b /x/etc/passwd\n", "cannot write");
    check("COPY real /x/etc\n", "cannot write");
    assert_eq!(fs::read(temp.path().join("secret")).unwrap(), b"S");
}

#[test]
fn special_files_are_refused() {
    let temp = context(&[("a", "")]);
    let pipe = temp.path().join("context/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(run(&temp, "COPY . .\n").is_err());
}

#[test]
fn dockerignore_excludes_sources() {
    let temp =
        context(&[("a", ""), ("data/x", ""), ("data/keep", ""), (".dockerignore", "a\ndata\n!data/keep\n")]);
    assert_eq!(run(&temp, "COPY data /d\n").unwrap().0, ["app", "d/keep"]);
    assert!(run(&temp, "COPY a /d\n").is_err());
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(pieces in proptest::collection::vec(prop_oneof![
        Just("FROM ".to_owned()), Just("COPY ".to_owned()), Just("COPY [\"".to_owned()), Just("ENV ".to_owned()), Just("WORKDIR ".to_owned()),
        Just(" \\\n".to_owned()), Just("\n".to_owned()), Just("<<EOF\n".to_owned()), Just("${A:-".to_owned()), Just("--chmod=".to_owned()),
        Just("../..".to_owned()), Just("skills/*".to_owned()), "[\\PC]{0,8}",
    ], 0..24)) {
        let file = Dockerfile::parse(&pieces.concat());
        prop_assert!(file.workdir.is_absolute());
        prop_assert!(file.copies.iter().all(|copy| copy.target.is_absolute() && !copy.sources.is_empty()));
    }

    #[test]
    fn copies_stay_below_the_root(words in proptest::collection::vec("[a-c./*\\[]{1,6}", 2..4)) {
        let temp = context(&[("a", "1"), ("b/c", "2"), ("c/a/b", "3")]);
        let file = Dockerfile::parse(&format!("{HEAD}COPY {}\n", words.join(" ")));
        let before = assay_fs::tree::Tree::read(&temp.path().join("context")).digest();
        if let Ok(written) = file.materialize(&temp.path().join("context"), &temp.path().join("root")) {
            prop_assert!(written.iter().all(|path| path.is_absolute()));
        }
        prop_assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 2);
        prop_assert_eq!(assay_fs::tree::Tree::read(&temp.path().join("context")).digest(), before);
    }
}
