use std::os::unix::fs::symlink;

use super::*;

/// A tree in memory: links, and everything else is a folder.
struct Planted(BTreeMap<PathBuf, PathBuf>);

impl Tree for Planted {
    fn node(&self, path: &Path) -> Result<Node, Broken> {
        Ok(self.0.get(path).map_or(Node::Other, |target| Node::Link(target.clone())))
    }
}

/// The fault of the last of these links, in a tree with the links of an image.
fn fault_of_last(links: &[(&str, &str)]) -> Option<String> {
    let image = [("/var/run", "/run"), ("/bin", "usr/bin"), ("/srv/up", "/usr"), ("/loop", "loop")];
    let all = image.iter().chain(links).map(|(path, target)| (PathBuf::from(path), PathBuf::from(target)));
    let tree = Planted(all.collect());
    let work = [PathBuf::from("/app"), PathBuf::from("/data/in")];
    let links_of = Links::new(&tree, &work, &[]).unwrap();
    let (path, target) = links.last().unwrap();
    let link = AgentLink { path: PathBuf::from(path), target: PathBuf::from(target) };
    links_of.fault(&link, false).unwrap()
}

#[test]
fn links_are_followed_as_the_kernel_does() {
    let tests = "a link into /tests";
    let logs = "a link into /logs/verifier";
    let leaves = "leaves the work folder";
    for (links, expected) in [
        // Plain ones.
        (&[("/app/x", "/tests/expected.csv")][..], tests),
        (&[("/app/x", "../tests/expected.csv")], tests),
        (&[("/app/a/x", "../../logs/verifier/reward.txt")], logs),
        (&[("/app/x", "/solution/solve.sh")], "a link into /solution"),
        (&[("/app/x", "/")], tests),
        (&[("/app/x", "..")], tests),
        (&[("/app/x", "/logs")], logs),
        (&[("/app/x", "/proc/self/root/tests/a")], "a link into /proc"),
        (&[("/app/x", "/proc/self/cwd")], "a link into /proc"),
        // `..` after a link of the agent or of the image.
        (&[("/app/up", "/tmp"), ("/app/x", "up/../tests/a")], tests),
        (&[("/app/up", "/usr"), ("/app/x", "up/../tests/a")], tests),
        (&[("/app/up", "/usr"), ("/app/x", "up/../logs/verifier/reward.json")], logs),
        (&[("/app/x", "/var/run/../tests/a")], tests),
        (&[("/app/x", "/bin/../../tests/a")], tests),
        (&[("/app/x", "/srv/up/../tests/a")], tests),
        // A chain, and a link in a folder above.
        (&[("/app/c", "b"), ("/app/b", "a"), ("/app/a", "/tests"), ("/app/x", "c/expected")], tests),
        (&[("/app/d", "/srv"), ("/app/x", "d/up/../tests")], tests),
        // Outside the work folder, too.
        (&[("/root/x", "/tests/a")], tests),
        (&[("/opt/here", "/"), ("/app/x", "/opt/here/tests/a")], tests),
        // What does not exist yet counts as a folder.
        (&[("/app/x", "ghost/../../tests/a")], tests),
        (&[("/app/x", "/nowhere/../tests/a")], tests),
        // Through a folder of the verifier and out of it again.
        (&[("/app/x", "/tests/../app/in.txt")], tests),
        // Elsewhere.
        (&[("/app/x", "/etc/passwd")], leaves),
        (&[("/app/x", "/usr/bin/python3")], leaves),
        (&[("/app/x", "/applied/a")], leaves),
        (&[("/app/x", "../tmp/a")], leaves),
        (&[("/app/up", "/srv/up"), ("/app/x", "up/share")], leaves),
        (&[("/app/x", "/data/other")], leaves),
        // Inside.
        (&[("/app/x", "data/in.csv")], ""),
        (&[("/app/x", "/app/data/in.csv")], ""),
        (&[("/app/x", "../app/data")], ""),
        (&[("/app/x", "/usr/../app/data")], ""),
        (&[("/app/x", "/data/in/a")], ""),
        (&[("/app/x", "tests/a")], ""),
        (&[("/app/x", "/app/tests/a")], ""),
        (&[("/app/x", "ghost")], ""),
        (&[("/app/sub", "data"), ("/app/x", "sub/../other")], ""),
        (&[("/app/x", "x")], ""),
        (&[("/app/x", "/nonexistent/a")], ""),
        (&[("/app/x", "/nonexistent/../tests/a")], tests),
        (&[("/app/x", "/nonexistents")], leaves),
        // The image's folders may have any links but those.
        (&[("/usr/local/bin/x", "/opt/x/bin/x")], ""),
    ] {
        let found = fault_of_last(links).unwrap_or_default();
        let right = if expected.is_empty() { found.is_empty() } else { found.contains(expected) };
        assert!(right, "{links:?}: {found:?}");
    }
}

#[test]
fn real_folders_are_found_behind_links_of_the_image() {
    let tree =
        Planted([("/task", "/srv/app"), ("/logs", "/var/logs")].map(|(a, b)| (a.into(), b.into())).into());
    let links = Links::new(&tree, &[PathBuf::from("/task")], &[PathBuf::from("/scratch/tests")]).unwrap();
    for (path, target, expected) in [
        ("/srv/app/x", "../logs", "leaves"),
        ("/srv/app/x", "data", ""),
        ("/srv/app/x", "/task/data", ""),
        ("/srv/app/x", "/var/logs/verifier/reward.txt", "a link into /logs/verifier"),
        ("/srv/app/x", "/scratch/tests/a", "a link into /scratch/tests"),
    ] {
        let link = AgentLink { path: path.into(), target: target.into() };
        let found = links.fault(&link, false).unwrap().unwrap_or_default();
        let right = if expected.is_empty() { found.is_empty() } else { found.contains(expected) };
        assert!(right, "{path} → {target}: {found:?}");
        let may = links.fault(&link, true).unwrap().unwrap_or_default();
        assert!(expected != "leaves" || may.is_empty(), "{may}");
    }
}

#[test]
fn mounted_folders_are_one_tree() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for name in ["root/usr/bin", "root/srv", "app/sub", "data"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    symlink("usr/bin", at("root/bin")).unwrap();
    symlink("/usr", at("app/up")).unwrap();
    symlink("x", at("data/link")).unwrap();
    let mount =
        |source: &str, target: &str| Mount { source: at(source), target: target.into(), writable: true };
    let mounts = [mount("app", "/app"), mount("data", "/app/sub/data")];
    let root = Root::Dir(at("root"));
    let check = |root: Option<&Root>, path: &str, expected: Option<&str>| {
        let tree = MountedTree { root, mounts: &mounts };
        let expected = expected.map_or(Node::Other, |target| Node::Link(target.into()));
        assert_eq!(tree.node(Path::new(path)).unwrap(), expected, "{path}");
    };
    check(Some(&root), "/bin", Some("usr/bin"));
    check(Some(&root), "/app/up", Some("/usr"));
    check(Some(&root), "/app/sub/data/link", Some("x"));
    check(Some(&root), "/app/sub/data", None);
    check(Some(&root), "/app/nothing", None);
    check(Some(&root), "/srv", None);
    // Only a few folders of this machine are inside.
    check(Some(&Root::Host), &at("app/up").display().to_string(), None);
    check(None, &at("app/up").display().to_string(), Some("/usr"));
}
