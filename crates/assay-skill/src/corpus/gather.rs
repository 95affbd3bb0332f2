//! From folders, checkouts and JSON Lines to one record per package.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Diagnostic, FileKind, Library, Package};
use rayon::prelude::*;

use super::license::{Declared, declared, of_text};
use super::{File, Record};

/// Files that contain a licence, in the order in which they are searched for.
const LICENSE_FILES: [&str; 7] =
    ["LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "COPYING", "license", "License.txt"];
/// Most bytes of such a file that are read.
const LICENSE_CAP: u64 = 256 << 10;

/// The records of every package below a folder, with diagnostics. If the folder is in a Git
/// checkout, repository and revision are read from its files, and paths are those of the checkout;
/// no program is started.
///
/// The licence is the front matter's as an SPDX identifier, `Other:` with the declared text, or
/// that of the file it points to; else the nearest licence file's, from the package up to the
/// checkout's root (or to the folder).
pub fn folder(root: &Path) -> (Vec<Record>, Vec<Diagnostic>) {
    let library = Library::load(&[root.to_path_buf()]);
    let real = fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
    let checkout = Checkout::around(&real);
    let base = checkout.as_ref().map_or(real.as_path(), |checkout| checkout.root.as_path());
    let mut records: Vec<Record> =
        library.packages.par_iter().map(|package| record(package, base, checkout.as_ref())).collect();
    records.sort_by(|a, b| a.path.cmp(&b.path));
    (records, library.diagnostics)
}

fn record(package: &Package, base: &Path, checkout: Option<&Checkout>) -> Record {
    let real = fs::canonicalize(&package.root).unwrap_or_else(|_| package.root.clone());
    let inside = real.strip_prefix(base).unwrap_or(Path::new(""));
    let mut path = inside.to_string_lossy().into_owned();
    if !path.is_empty() {
        path.push('/');
    }
    let document = package.files.iter().find(|file| file.path.eq_ignore_ascii_case("SKILL.md"));
    path.push_str(document.map_or("SKILL.md", |file| file.path.as_str()));
    let mut record = Record {
        repo: checkout.and_then(|checkout| checkout.repo.clone()).unwrap_or_default(),
        commit: checkout.and_then(|checkout| checkout.commit.clone()),
        path,
        name: package.name.clone(),
        description: package.description.clone(),
        license: license(package, &real, base),
        skill_md: package.document.clone(),
        files: Some(
            package
                .files
                .iter()
                .filter(|file| file.kind == FileKind::File)
                .map(|file| File { path: file.path.clone(), size: file.size })
                .collect(),
        ),
        digest: Some(package.digest.to_string()),
        ..Record::default()
    };
    record.id = record.key();
    record
}

fn license(package: &Package, real: &Path, base: &Path) -> Option<String> {
    let mut named = None;
    if let Some(text) = package.front_matter.get("license").and_then(|value| value.as_str())
        && !text.trim().is_empty()
    {
        match declared(text) {
            Declared::Spdx(id) => return Some(id),
            Declared::Other => return Some(format!("Other:{}", text.trim())),
            Declared::Elsewhere(file) => named = file,
        }
    }
    // The file that the skill names counts before those that licences usually are in.
    let own = named.iter().map(|file| (real, file.as_str()));
    let around = real.ancestors().scan(false, |done, folder| {
        let last = std::mem::replace(done, folder == base);
        (!last).then_some(folder)
    });
    let usual = around.flat_map(|folder| LICENSE_FILES.map(|name| (folder, name)));
    let text = own.chain(usual).find_map(|(folder, name)| {
        assay_fs::read_within(folder, Path::new(name), LICENSE_CAP).ok().map(|content| content.bytes)
    })?;
    Some(of_text(&String::from_utf8_lossy(&text)).unwrap_or("Other").to_owned())
}

/// The revision of the checkout that a folder is in, read from its files.
pub fn revision(folder: &Path) -> Option<String> {
    Checkout::around(&fs::canonicalize(folder).ok()?)?.commit
}

/// The repository and revision in the files of a Git checkout.
#[derive(Debug)]
struct Checkout {
    root: PathBuf,
    repo: Option<String>,
    commit: Option<String>,
}

impl Checkout {
    /// The checkout that a folder is in.
    fn around(folder: &Path) -> Option<Self> {
        let root = folder.ancestors().find(|folder| folder.join(".git").exists())?.to_path_buf();
        let mut git = root.join(".git");
        // A worktree's `.git` is a file that names the folder.
        if git.is_file() {
            let text = small(&git)?;
            git = root.join(text.trim().strip_prefix("gitdir:")?.trim());
        }
        let common = small(&git.join("commondir")).map_or_else(|| git.clone(), |path| git.join(path.trim()));
        let head = small(&git.join("HEAD")).unwrap_or_default();
        let commit = match head.trim().strip_prefix("ref:") {
            None => Some(head.trim().to_owned()),
            Some(name) => {
                let name = name.trim();
                small(&git.join(name))
                    .or_else(|| small(&common.join(name)))
                    .map(|text| text.trim().to_owned())
                    .or_else(|| {
                        let packed = small(&common.join("packed-refs"))?;
                        let line = packed.lines().find(|line| line.ends_with(&format!(" {name}")))?;
                        line.split(' ').next().map(str::to_owned)
                    })
            }
        };
        let commit =
            commit.filter(|commit| commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let config = small(&common.join("config")).unwrap_or_default();
        let repo = config
            .lines()
            .skip_while(|line| line.trim() != "[remote \"origin\"]")
            .skip(1)
            .take_while(|line| !line.trim_start().starts_with('['))
            .find_map(|line| line.trim().strip_prefix("url")?.trim_start().strip_prefix('='))
            .and_then(owner_and_name);
        Some(Self { root, repo, commit })
    }
}

/// `owner/name` of a remote's address.
fn owner_and_name(url: &str) -> Option<String> {
    let url = url.trim().trim_end_matches('/');
    let url = url.strip_suffix(".git").unwrap_or(url);
    let mut parts = url.rsplit(['/', ':']);
    let (name, owner) = (parts.next()?, parts.next()?);
    (!name.is_empty() && !owner.is_empty()).then(|| format!("{owner}/{name}"))
}

/// A small text file.
fn small(path: &Path) -> Option<String> {
    let content = assay_fs::read_within(path.parent()?, Path::new(path.file_name()?), 16 << 20).ok()?;
    String::from_utf8(content.bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_becomes_records() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let commit = "0123456789abcdef0123456789abcdef01234567";
        write(".git/HEAD", "ref: refs/heads/main\n");
        write(".git/packed-refs", &format!("# pack-refs\n{commit} refs/heads/main\n"));
        write(".git/config", "[core]\n\turl = no\n[remote \"origin\"]\n\turl = git@host:owner/name.git\n");
        let mit = "Permission is hereby granted, free of charge … THE SOFTWARE IS PROVIDED \"AS IS\"";
        write("LICENSE", mit);
        write("skills/a/SKILL.md", "---\nname: a\ndescription: What a does.\n---\nBody.\n");
        write("skills/a/scripts/run.sh", "ls\n");
        write("skills/b/SKILL.md", "---\nname: b\ndescription: B.\nlicense: Apache 2.0\n---\n");
        write("skills/c/SKILL.md", "---\nname: c\ndescription: C.\nlicense: See the LICENSE file\n---\n");
        write("skills/c/LICENSE.txt", "All rights reserved.");
        write("skills/d/SKILL.md", "---\nname: d\ndescription: D.\nlicense: BSD-3-Clause\n---\n");
        write("skills/e/SKILL.md", "---\nname: e\ndescription: E.\nlicense: Apache-2.0 license\n---\n");
        write(
            "skills/f/SKILL.md",
            "---\nname: f\ndescription: F.\nlicense: Complete terms in LICENSE.txt\n---\n",
        );
        write("skills/f/LICENSE.txt", "Apache License\nVersion 2.0, January 2004\n");
        write("skills/g/SKILL.md", "---\nname: g\ndescription: G.\nlicense: LICENSE\n---\n");
        write("skills/h/SKILL.md", "---\nname: h\ndescription: H.\nlicense: terms in docs/LICENSE.md\n---\n");
        write("skills/h/docs/LICENSE.md", "Redistribution and use in source and binary forms");
        write(
            "skills/i/SKILL.md",
            "---\nname: i\ndescription: I.\nlicense: Proprietary. LICENSE.txt has the terms\n---\n",
        );
        let (records, _) = super::folder(&folder.path().join("skills"));
        let found: Vec<_> = records.iter().map(|r| (r.path.as_str(), r.license.as_deref())).collect();
        assert_eq!(
            found,
            [
                ("skills/a/SKILL.md", Some("MIT")),
                ("skills/b/SKILL.md", Some("Apache-2.0")),
                ("skills/c/SKILL.md", Some("Other")),
                ("skills/d/SKILL.md", Some("BSD-3-Clause")),
                ("skills/e/SKILL.md", Some("Apache-2.0")),
                ("skills/f/SKILL.md", Some("Apache-2.0")),
                ("skills/g/SKILL.md", Some("MIT")),
                ("skills/h/SKILL.md", Some("BSD-2-Clause")),
                ("skills/i/SKILL.md", Some("Other:Proprietary. LICENSE.txt has the terms")),
            ]
        );
        let a = &records[0];
        assert_eq!((a.repo.as_str(), a.commit.as_deref()), ("owner/name", Some(commit)));
        assert_eq!((a.name.as_str(), a.description.as_str(), a.id.len()), ("a", "What a does.", 16));
        let files: Vec<_> = a.files.iter().flatten().map(|file| (file.path.as_str(), file.size)).collect();
        assert_eq!(files, [("SKILL.md", 48), ("scripts/run.sh", 3)]);
    }

    #[test]
    fn a_plain_folder_has_no_repository() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("SKILL.md"), "Words.\n").unwrap();
        let (records, _) = super::folder(folder.path());
        assert_eq!(records.len(), 1);
        assert_eq!(
            (records[0].repo.as_str(), records[0].path.as_str(), &records[0].license),
            ("", "SKILL.md", &None)
        );
    }
}
