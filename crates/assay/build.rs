//! Tells the program from which commit it is built, for the workflows that it writes.

use std::path::Path;
use std::process::Command;

fn main() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    print_directive("rerun-if-changed=build.rs");
    print_directive("rerun-if-env-changed=ASSAY_COMMIT");
    let given = std::env::var("ASSAY_COMMIT").ok();
    // Builds for development follow no commit: each would compile the program anew.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let found = given.or_else(|| of_package(own)).or_else(|| is_release.then(|| of_checkout(own)).flatten());
    if let Some(commit) = found.filter(|commit| is_commit(commit)) {
        print_directive(&format!("rustc-env=ASSAY_COMMIT={commit}"));
    }
}

fn print_directive(text: &str) {
    println!("cargo::{text}");
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What Cargo notes in a package that it has made.
fn of_package(own: &Path) -> Option<String> {
    let text = std::fs::read_to_string(own.join(".cargo_vcs_info.json")).ok()?;
    let rest = text.split("\"sha1\"").nth(1)?;
    rest.split('"').nth(1).map(str::to_owned)
}

/// The commit that is checked out, if the checkout is one of this program, without changes.
fn of_checkout(own: &Path) -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").arg("-C").arg(own).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    for name in ["HEAD", "index", "packed-refs"] {
        if let Some(path) = git(&["rev-parse", "--path-format=absolute", "--git-path", name])
            && Path::new(&path).exists()
        {
            print_directive(&format!("rerun-if-changed={path}"));
        }
    }
    if let Some(branch) = git(&["symbolic-ref", "--quiet", "HEAD"])
        && let Some(path) = git(&["rev-parse", "--path-format=absolute", "--git-path", &branch])
        && Path::new(&path).exists()
    {
        print_directive(&format!("rerun-if-changed={path}"));
    }
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    changed.is_empty().then(|| git(&["rev-parse", "HEAD"])).flatten()
}
