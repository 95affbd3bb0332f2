//! Libraries on disk.

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

fn skill(root: &Path, folder: &str, name: &str, body: &str) {
    let folder = root.join(folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), format!("---\nname: {name}\ndescription: d\n---\n{body}")).unwrap();
}

fn found(library: &Library) -> Vec<&str> {
    library.packages.iter().map(|package| package.directory.as_str()).collect()
}

#[test]
fn packages_are_found_at_any_path() {
    let temp = TempDir::new().unwrap();
    let root = temp.path();
    for folder in ["b", "a", "group/deep/c", "a/nested", ".git/x", "node_modules/y", ".agents/skills/e"] {
        skill(root, folder, "n", "");
    }
    skill(root, "1/2/3/4/5/six", "n", "");
    skill(root, "1/2/3/4/5/6/seven", "n", "");
    fs::create_dir(root.join("not-a-skill")).unwrap();
    fs::write(root.join("README.md"), "").unwrap();
    let library = Library::load(&[root.to_path_buf()]);
    assert_eq!(found(&library), ["a", "b", "c", "e", "six"]);
    // A single package, and the same one twice.
    assert_eq!(found(&Library::load(&[root.join("a"), root.join("a/../a"), root.join("b")])), ["a", "b"]);
}

#[test]
fn links_are_followed_within_the_root_only() {
    let temp = TempDir::new().unwrap();
    let root = temp.path().join("library");
    skill(temp.path(), "outside", "outside", "");
    skill(&root, "real/a", "a", "");
    symlink("../outside", root.join("out")).unwrap();
    symlink(".", root.join("loop")).unwrap();
    symlink("/", root.join("everything")).unwrap();
    symlink("real", root.join("again")).unwrap();
    let library = Library::load(&[root]);
    assert_eq!(found(&library), ["a"]);
    let outside = library.diagnostics.iter().find(|found| found.code == "links-outside").unwrap();
    assert_eq!(outside.message, "2 links lead out of it and are not followed: everything, out");
}

#[test]
fn links_to_skills_of_the_project_are_followed() {
    let check = |links: &str, repository: bool, expected: &[&str], outside: usize| {
        let temp = TempDir::new().unwrap();
        let project = temp.path().join("project");
        skill(&project, ".agents/skills/tides", "tides", "");
        skill(temp.path(), "elsewhere/knots", "knots", "");
        fs::create_dir_all(project.join("docs")).unwrap();
        if repository {
            fs::create_dir(project.join(".git")).unwrap();
        }
        let root = project.join(links);
        fs::create_dir_all(&root).unwrap();
        symlink(project.join(".agents/skills/tides"), root.join("tides")).unwrap();
        symlink(temp.path().join("elsewhere/knots"), root.join("knots")).unwrap();
        symlink(project.join("docs"), root.join("docs")).unwrap();
        symlink("nowhere", root.join("broken")).unwrap();
        let library = Library::load(&[root]);
        assert_eq!(found(&library), expected, "{links} {repository}");
        let said = library.diagnostics.iter().find(|found| found.code == "links-outside").unwrap();
        assert!(said.message.starts_with(&outside.to_string()), "{said:?}");
    };
    check(".claude/skills", false, &["tides"], 2);
    check(".claude/skills", true, &["tides"], 2);
    check("tools/mine", true, &["tides"], 2);
    // What belongs to the project is not known.
    check("tools/mine", false, &[], 3);
}

#[test]
fn problems_of_the_search_are_reported() {
    let temp = TempDir::new().unwrap();
    let codes =
        |roots: &[PathBuf]| Library::load(roots).diagnostics.iter().map(|d| d.code).collect::<Vec<_>>();
    assert_eq!(codes(&[temp.path().join("none")]), ["library-missing"]);
    assert_eq!(codes(&[temp.path().to_path_buf()]), ["library-empty"]);
    fs::create_dir(temp.path().join("x")).unwrap();
    fs::write(temp.path().join("x/Skill.md"), "").unwrap();
    assert_eq!(codes(&[temp.path().to_path_buf()]), ["document-case"]);
}

#[test]
fn names_are_looked_up() {
    let temp = TempDir::new().unwrap();
    let root = temp.path();
    skill(root, "ledger-export", "ledger-export", "");
    skill(root, "dir-name", "front-name", "");
    skill(root, "x/twin", "twin", "one");
    skill(root, "y/twin", "twin", "two");
    skill(root, "x/copy", "copy", "same");
    skill(root, "y/copy", "copy", "same");
    let library = Library::load(&[root.to_path_buf()]);
    assert_eq!(library.get("front-name").unwrap().directory, "dir-name");
    assert_eq!(library.get("dir-name").unwrap().directory, "dir-name");
    assert_eq!(library.get("copy").unwrap().root, root.join("x/copy"));
    let paths = vec![root.join("x/twin"), root.join("y/twin")];
    assert_eq!(library.get("twin").unwrap_err(), LookupError::Ambiguous { name: "twin".into(), paths });
    let missing = |name: &str| match library.get(name) {
        Err(LookupError::Missing { near, .. }) => near,
        other => panic!("{other:?}"),
    };
    assert_eq!(missing("ledger-exprot"), ["ledger-export"]);
    assert_eq!(missing("Ledger"), ["ledger-export"]);
    assert_eq!(missing("zzzzzzzzzz"), [""; 0]);
}
