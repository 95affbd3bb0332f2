//! Reading a package with its scripts.

use std::path::Path;

use assay_skill::{Diagnostic, Document, FileKind, Package};

use super::Script;

/// The most bytes of a script that are read.
const SCRIPT_CAP: u64 = 256 << 10;
/// The most scripts of a package that are read.
const SCRIPTS: usize = 200;
/// What the names of scripts end in.
const EXTENSIONS: [&str; 9] = ["sh", "bash", "zsh", "py", "js", "mjs", "cjs", "ts", "rb"];
/// Folders whose scripts a skill does not run: tests of the skill itself, and copies of packages.
const SKIPPED: [&str; 6] = ["test", "tests", "evals", "fixtures", "node_modules", "__tests__"];

/// A skill as the finders read it.
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    /// The package's name.
    pub name: String,
    /// Its `SKILL.md`.
    pub document: Document,
    /// Its scripts, by path.
    pub scripts: Vec<Script>,
}

/// The result of reading a package.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The skill; `None` if its `SKILL.md` cannot be read.
    pub skill: Option<Skill>,
    /// What is wrong with the package.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a package and its scripts. Scripts that cannot be read are left out.
pub fn load(folder: &Path) -> Loaded {
    let loaded = Package::load(folder);
    let (Some(package), Some(document)) = (loaded.package, loaded.document) else {
        return Loaded { skill: None, diagnostics: loaded.diagnostics };
    };
    let is_script = |path: &&str| {
        path.rsplit_once('.').is_some_and(|(_, extension)| EXTENSIONS.contains(&extension))
            && !path.split('/').any(|part| SKIPPED.contains(&part))
    };
    let scripts = package
        .files
        .iter()
        .filter(|file| file.kind == FileKind::File)
        .map(|file| file.path.as_str())
        .filter(is_script)
        .take(SCRIPTS)
        .filter_map(|path| {
            let content = assay_fs::read_within(folder, Path::new(path), SCRIPT_CAP).ok()?;
            Some(Script { path: path.to_owned(), text: String::from_utf8_lossy(&content.bytes).into_owned() })
        })
        .collect();
    Loaded { skill: Some(Skill { name: package.name, document, scripts }), diagnostics: loaded.diagnostics }
}
