//! Digests and walks of folders.

use std::os::unix::fs::{PermissionsExt, symlink};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn digest(root: &Path) -> Digest {
    let tree = Tree::read(root);
    assert!(tree.problems.is_empty(), "{:?}", tree.problems);
    tree.digest()
}

#[test]
fn the_canonical_form_is_fixed() {
    let temp = TempDir::new().unwrap();
    fs::write(temp.path().join("a"), "x").unwrap();
    // Stored identities depend on it: should this change, the form has changed and needs a new
    // domain name.
    let mut intervals_match_hand_computation = blake3::Hasher::new();
    intervals_match_hand_computation.update(&12_u64.to_le_bytes()).update(b"assay.tree/1");
    intervals_match_hand_computation
        .update(&1_u64.to_le_bytes())
        .update(b"a")
        .update(b"f\0")
        .update(&1_u64.to_le_bytes());
    intervals_match_hand_computation.update(blake3::hash(b"x").as_bytes());
    assert_eq!(digest(temp.path()).as_bytes(), intervals_match_hand_computation.finalize().as_bytes());
}

#[test]
fn nothing_is_omitted() {
    let temp = TempDir::new().unwrap();
    let root = temp.path().join("root");
    fs::create_dir_all(root.join("sub")).unwrap();
    fs::write(root.join("sub/file"), "x").unwrap();
    let mut seen = BTreeSet::from([digest(&root)]);
    let mut check = |what: &str, change: &dyn Fn()| {
        change();
        assert!(seen.insert(digest(&root)), "{what} changed nothing");
    };
    check("a byte", &|| fs::write(root.join("sub/file"), "y").unwrap());
    check("a hidden file", &|| fs::write(root.join(".env"), "").unwrap());
    check("an empty folder", &|| fs::create_dir(root.join("empty")).unwrap());
    check("a git folder", &|| fs::create_dir_all(root.join(".git/refs")).unwrap());
    check("a link", &|| symlink("sub", root.join("link")).unwrap());
    check("a link's target", &|| {
        fs::remove_file(root.join("link")).unwrap();
        symlink("sub/", root.join("link")).unwrap();
    });
    check("an execute bit", &|| {
        fs::set_permissions(root.join("sub/file"), fs::Permissions::from_mode(0o744)).unwrap();
    });
    check("a name", &|| fs::rename(root.join("sub/file"), root.join("sub/fil")).unwrap());
    check("a name of other bytes", &|| {
        fs::rename(root.join("sub/fil"), root.join(path_from(b"sub/\xff"))).unwrap();
    });
    check("a pipe", &|| {
        rustix::fs::mknodat(rustix::fs::CWD, root.join("pipe"), rustix::fs::FileType::Fifo, 0o644.into(), 0)
            .unwrap();
    });
}

#[test]
fn irrelevant_properties_are_not_in_the_digest() {
    let temp = TempDir::new().unwrap();
    let make = |name: &str, mode| {
        let root = temp.path().join(name);
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(root.join("sub/file"), "x").unwrap();
        fs::set_permissions(root.join("sub/file"), fs::Permissions::from_mode(mode)).unwrap();
        digest(&root)
    };
    assert_eq!(make("one", 0o644), make("two", 0o600));
    assert_eq!(make("three", 0o755), make("four", 0o700));
}

#[test]
fn digest_of_a_part_equals_its_own() {
    let temp = TempDir::new().unwrap();
    let (whole, part) = (temp.path().join("whole"), temp.path().join("part"));
    for root in [&whole.join("tests"), &part] {
        fs::create_dir_all(root.join("a-b")).unwrap();
        fs::create_dir_all(root.join("a/c")).unwrap();
        fs::write(root.join("a/x"), "1").unwrap();
    }
    fs::write(whole.join("tests.md"), "1").unwrap();
    let tree = Tree::read(&whole);
    assert_eq!(tree.digest_beneath(Path::new("tests"), |_| true), digest(&part));
    // Leaving entries out is as if they were not there.
    let kept =
        tree.digest_where(|entry| !entry.path.starts_with("tests/a") && entry.path != Path::new("tests.md"));
    fs::remove_dir_all(whole.join("tests/a")).unwrap();
    fs::remove_file(whole.join("tests.md")).unwrap();
    assert_eq!(kept, digest(&whole));
    let emptied = Tree::read(&whole).digest_where(|entry| entry.path == Path::new("tests"));
    fs::remove_dir(whole.join("tests/a-b")).unwrap();
    assert_eq!(emptied, digest(&whole));
}

#[test]
fn walks_are_bounded() {
    let temp = TempDir::new().unwrap();
    let mut deep = temp.path().to_path_buf();
    for _ in 0..100 {
        deep.push("d");
        fs::create_dir(&deep).unwrap();
    }
    let walked = walk(temp.path());
    assert_eq!((walked.nodes.len(), walked.problems.len()), (MAX_DEPTH, 1));
    // A sparse file of terabytes is refused, not read.
    let sparse = TempDir::new().unwrap();
    fs::File::create(sparse.path().join("big")).unwrap().set_len(4 << 40).unwrap();
    assert_eq!(Tree::read(sparse.path()).problems.len(), 1);
    assert_eq!(walk(&temp.path().join("none")).problems.len(), 1);
}

#[test]
fn leaves_are_files_and_empty_folders() {
    let temp = TempDir::new().unwrap();
    fs::create_dir_all(temp.path().join("a/b")).unwrap();
    fs::write(temp.path().join("a-c"), "").unwrap();
    let tree = Tree::read(temp.path());
    let leaves: Vec<_> = tree.leaves().map(|entry| entry.path.to_str().unwrap()).collect();
    assert_eq!(leaves, ["a-c", "a/b"]);
    assert_eq!(tree.get(Path::new("a/b")).map(|entry| entry.kind), Some(FileKind::Directory));
    assert!(tree.get(Path::new("a/x")).is_none());
}

#[test]
fn paths_are_normalised() {
    let check = |path: &str, expected: Option<&str>| {
        assert_eq!(normalize(Path::new(path)), expected.map(PathBuf::from), "{path}");
    };
    check("a/./b//c/", Some("a/b/c"));
    check("a/../b", Some("b"));
    check("../a", None);
    check("a/../../b", None);
    check("/a/../../b", Some("/b"));
    check("/", Some("/"));
    check(".", Some(""));
}

proptest! {
    #[test]
    fn the_order_of_writing_does_not_matter(names in proptest::collection::btree_set("[a-z./-]{1,6}", 1..8)) {
        // `a` and `./a` are one file, whose content would depend on the order.
        let names: BTreeSet<PathBuf> = names
            .iter()
            .filter_map(|name| normalize(Path::new(name)))
            .filter(|path| !path.as_os_str().is_empty() && path.is_relative())
            .collect();
        let write = |names: &mut dyn Iterator<Item = &PathBuf>| {
            let temp = TempDir::new().unwrap();
            for name in names {
                let path = temp.path().join(name);
                // A name may be a folder of another: anyone who comes first wins, so that only sets
                // without such pairs are compared.
                fs::create_dir_all(path.parent().unwrap()).and_then(|()| fs::write(&path, bytes(name))).ok()?;
            }
            Some(Tree::read(temp.path()).digest())
        };
        let (forth, back) = (write(&mut names.iter()), write(&mut names.iter().rev()));
        if let (Some(forth), Some(back)) = (forth, back) {
            prop_assert_eq!(forth, back);
        }
    }
}
