//! What only the laboratory uses is in no crate of the product (`scripts/lab-only`).

use std::fs;
use std::path::Path;
use std::process::Command;

/// Pages of figures with the plots of reports, whose drawing is private to `assay-report`. May only become fewer.
const EXCEPTIONS: [&str; 2] = ["assay-report/src/exhibit.rs", "assay-report/src/plot/bars.rs"];

/// The files that `scripts/lab-only` lists, and whether it found any by its status.
fn list(crates: Option<&Path>) -> (Vec<String>, bool) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(root.join("scripts/lab-only"));
    if let Some(crates) = crates {
        command.arg("--crates").arg(crates);
    }
    let ran = command.output().unwrap();
    let error = String::from_utf8_lossy(&ran.stderr);
    assert!(error.is_empty() && ran.status.code().is_some_and(|code| code < 2), "{error}");
    let listed = String::from_utf8(ran.stdout).unwrap();
    (listed.lines().map(str::to_owned).collect(), !ran.status.success())
}

#[test]
fn the_product_has_nothing_for_the_laboratory_alone() {
    let (listed, _) = list(None);
    assert_eq!(listed, EXCEPTIONS, "move them to crates/assay-lab, or use them in a command of the product");
}

/// A file is used through re-exports, across crates, by the methods of an item that is used, and by no test.
#[test]
fn files_that_the_product_does_not_reach_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("assay/src/lib.rs", "use assay_part::Used;\npub fn main(used: Used) { used.count() }\n"),
        ("assay-lab/src/lib.rs", "pub fn main() { assay_part::figures(); assay_part::Used::new(); }\n"),
        (
            "assay-part/src/lib.rs",
            "mod methods;\nmod only;\nmod tested;\nmod used;\npub use only::figures;\npub use tested::probe;\npub use used::Used;\n",
        ),
        ("assay-part/src/used.rs", "pub struct Used;\n#[cfg(test)]\nmod tests { use crate::probe; }\n"),
        (
            "assay-part/src/methods.rs",
            "use crate::Used;\nfn help() {}\nimpl Used { pub fn count(self) {} }\n",
        ),
        ("assay-part/src/only.rs", "pub fn figures() {}\n"),
        ("assay-part/src/tested.rs", "pub fn probe() {}\n"),
    ];
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let expected = ["assay-part/src/only.rs", "assay-part/src/tested.rs"].map(str::to_owned).to_vec();
    assert_eq!(list(Some(folder.path())), (expected, true));
    fs::write(folder.path().join("assay/src/lib.rs"), "use assay_part::{Used, figures, probe};\n").unwrap();
    assert_eq!(list(Some(folder.path())), (Vec::new(), false));
}
