//! Gives the rules of the audit a version: a digest of the source that decides what an audit finds. Kept results name it,
//! so that results of other rules are not used.

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The crates that read skills, commands and traces for this one, beside it in the workspace.
const CRATES: [&str; 4] = ["assay-skill", "assay-stats", "assay-syntax", "assay-trace"];

fn main() -> io::Result<()> {
    let own = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let beside = CRATES.iter().map(|name| own.join("..").join(name).join("src"));
    let folders: Vec<PathBuf> =
        [own.join("src"), own.join("data")].into_iter().chain(beside).filter(|path| path.is_dir()).collect();
    let mut hasher = DefaultHasher::new();
    hasher.write(std::env::var("CARGO_PKG_VERSION").unwrap_or_default().as_bytes());
    print_directive("rerun-if-changed=build.rs");
    for folder in &folders {
        print_directive(&format!("rerun-if-changed={}", folder.display()));
        add_folder(folder, folder, &mut hasher)?;
    }
    print_directive(&format!("rustc-env=ASSAY_AUDIT_RULES={:016x}", hasher.finish()));
    Ok(())
}

fn print_directive(text: &str) {
    println!("cargo::{text}");
}

/// Adds the files below a folder in the order of their names, each with its path and its length.
fn add_folder(root: &Path, folder: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let mut paths = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<PathBuf>, io::Error>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add_folder(root, &path, hasher)?;
            continue;
        }
        let (bytes, name) = (fs::read(&path)?, path.strip_prefix(root).unwrap_or(&path));
        for part in [name.to_string_lossy().as_bytes(), bytes.as_slice()] {
            hasher.write_usize(part.len());
            hasher.write(part);
        }
    }
    Ok(())
}
