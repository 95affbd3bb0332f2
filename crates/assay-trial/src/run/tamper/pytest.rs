//! The modules that pytest imports from installed packages: its own, those that it requires, and
//! those of its plugins with theirs.
//!
//! `python -m pytest` looks for every module in its working folder first, so that a file of such a
//! name takes it over. Which packages there are is read from their metadata (PyPA, "Core metadata"
//! and "Recording installed projects"), because requirements differ between versions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use assay_sandbox::Root;

/// Modules of requirements of pytest 6 to 9, for a verifier that installs pytest itself.
const USUAL: [&str; 19] = [
    "_pytest",
    "argcomplete",
    "atomicwrites",
    "attr",
    "attrs",
    "colorama",
    "exceptiongroup",
    "importlib_metadata",
    "iniconfig",
    "more_itertools",
    "packaging",
    "pluggy",
    "py",
    "pygments",
    "pytest",
    "toml",
    "tomli",
    "typing_extensions",
    "zipp",
];

/// The group of entry points with pytest's plugins, all of which it imports when it starts.
const PLUGINS: &str = "[pytest11]";

/// Most bytes of a file of metadata.
pub(crate) const METADATA: u64 = 4 << 20;

/// Folders with packages for Python below a root; `*` is any name.
const PACKAGES: [&str; 7] = [
    "usr/lib/python3/dist-packages",
    "usr/lib/python3.*/site-packages",
    "usr/lib/python3.*/dist-packages",
    "usr/lib64/python3.*/site-packages",
    "usr/local/lib/python3.*/dist-packages",
    "usr/local/lib/python3.*/site-packages",
    "opt/*/lib/python3.*/site-packages",
];

/// An installed package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Distribution {
    /// The packages that it requires, as normalized names.
    requires: BTreeSet<String>,
    /// Its top modules.
    modules: BTreeSet<String>,
    /// Whether pytest imports it when it starts.
    is_plugin: bool,
}

/// The modules of pytest in a root filesystem.
pub(crate) fn modules_in(root: &Root) -> BTreeSet<String> {
    let top = match root {
        Root::Host => Path::new("/"),
        Root::Dir(folder) => folder,
    };
    let folders: Vec<PathBuf> = PACKAGES.iter().flat_map(|pattern| matching(top, pattern)).collect();
    let metadata = folders.iter().flat_map(|folder| entries(folder)).filter(|path| is_metadata(path));
    modules(metadata, &|path| {
        assay_fs::read_within(top, path.strip_prefix(top).ok()?, METADATA).ok().map(|content| content.bytes)
    })
}

/// The modules of pytest, given the folders of metadata of all installed packages.
pub(crate) fn modules(
    metadata: impl IntoIterator<Item = PathBuf>,
    read: &dyn Fn(&Path) -> Option<Vec<u8>>,
) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = USUAL.map(str::to_owned).into();
    let mut installed: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for folder in metadata {
        if let Some(name) = named(&folder) {
            installed.entry(name).or_default().push(folder);
        }
    }
    if !installed.contains_key("pytest") {
        return found;
    }
    let known: BTreeMap<&String, Distribution> =
        installed.iter().map(|(name, folders)| (name, distribution(name, folders, read))).collect();
    let plugins = known.iter().filter(|(_, package)| package.is_plugin).map(|(name, _)| (*name).clone());
    let mut waiting: Vec<String> = plugins.chain(["pytest".to_owned()]).collect();
    let mut seen = BTreeSet::new();
    while let Some(name) = waiting.pop() {
        let Some(package) = known.get(&name) else { continue };
        if seen.insert(name) {
            found.extend(package.modules.iter().cloned());
            waiting.extend(package.requires.iter().cloned());
        }
    }
    found
}

/// Whether a path is a folder of metadata.
pub(crate) fn is_metadata(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "dist-info" || ending == "egg-info")
}

/// The normalized name of the package that a folder of metadata describes.
fn named(folder: &Path) -> Option<String> {
    let stem = folder.file_stem()?.to_str()?;
    Some(normalized(stem.split('-').next()?))
}

/// PyPA, "Names and normalization".
fn normalized(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

fn distribution(name: &str, folders: &[PathBuf], read: &dyn Fn(&Path) -> Option<Vec<u8>>) -> Distribution {
    let mut found = Distribution::default();
    for folder in folders {
        let text = |file: &str| {
            let bytes = read(&folder.join(file)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        for file in ["METADATA", "PKG-INFO"] {
            found.requires.extend(text(file).lines().filter_map(required));
        }
        found.modules.extend(text("top_level.txt").lines().map(|line| line.trim().to_owned()));
        found.modules.extend(text("RECORD").lines().filter_map(top_module));
        found.is_plugin |= text("entry_points.txt").lines().any(|line| line.trim() == PLUGINS);
    }
    found.modules.retain(|module| !module.is_empty());
    if found.modules.is_empty() {
        found.modules.insert(name.replace('-', "_"));
    }
    found
}

/// The package that a line of metadata requires, but not for an optional feature.
fn required(line: &str) -> Option<String> {
    let line = line.strip_prefix("Requires-Dist:")?.trim();
    let (what, condition) = line.split_once(';').unwrap_or((line, ""));
    if condition.contains("extra") {
        return None;
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let end = what.find(|c| !is_name(c)).unwrap_or(what.len());
    Some(normalized(what.get(..end)?)).filter(|name| !name.is_empty())
}

/// The top module of a file in a list of installed files.
fn top_module(line: &str) -> Option<String> {
    let path = Path::new(line.split(',').next()?);
    let ending = path.extension()?;
    if !["py", "so", "pyc"].iter().any(|code| ending == *code) {
        return None;
    }
    let first = path.iter().next()?.to_str()?;
    let is_plain = !first.contains("..") && first != "__pycache__" && !first.contains("-info");
    is_plain.then(|| first.split('.').next().unwrap_or_default().to_owned())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// The folders that match a pattern below a folder.
fn matching(top: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![top.to_owned()];
    for part in pattern.split('/') {
        found = match part.split_once('*') {
            None => {
                found.into_iter().map(|folder| folder.join(part)).filter(|folder| folder.is_dir()).collect()
            }
            Some((start, _)) => {
                let fits = |path: &PathBuf| {
                    path.file_name()
                        .and_then(|name| name.to_str())
                        .is_some_and(|name| name.starts_with(start))
                };
                found.iter().flat_map(|folder| entries(folder)).filter(fits).collect()
            }
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn requirements_are_read_from_the_metadata_of_what_is_installed() {
        let folder = tempfile::tempdir().unwrap();
        let site = |path: &str, text: &str| {
            write(folder.path(), &format!("usr/local/lib/python3.12/site-packages/{path}"), text);
        };
        let requires = "Name: pytest\nRequires-Dist: iniconfig\nRequires-Dist: New.Parser_lib (>=1.5)\n\
                        Requires-Dist: tomli >=1 ; python_version < \"3.11\"\n\
                        Requires-Dist: hypothesis >=3 ; extra == 'dev'\n";
        site("pytest-9.9.dist-info/METADATA", requires);
        site(
            "pytest-9.9.dist-info/RECORD",
            "_pytest/__init__.py,x,1\npy.py,,\npytest/__main__.py,,\n../../bin/py.test,,\n",
        );
        site("new_parser_lib-2.dist-info/METADATA", "Requires-Dist: deep~=1\n");
        site(
            "new_parser_lib-2.dist-info/RECORD",
            "newparser/__init__.py,,\n_newparser.cpython-312.so,,\nreadme.md,,\n",
        );
        site("deep-1.dist-info/top_level.txt", "deeper\n");
        site("hypothesis-6.dist-info/top_level.txt", "hypothesis\n");
        site("pytest_extra-1.dist-info/entry_points.txt", "[pytest11]\nextra = pytest_extra\n");
        site("pytest_extra-1.dist-info/METADATA", "Requires-Dist: helper-of-extra\n");
        write(
            folder.path(),
            "usr/lib/python3/dist-packages/helper_of_extra-1.egg-info/PKG-INFO",
            "Name: x\n",
        );
        site("unrelated-1.dist-info/top_level.txt", "unrelated\n");
        let found = modules_in(&Root::Dir(folder.path().to_owned()));
        for module in
            ["newparser", "_newparser", "deeper", "pytest_extra", "helper_of_extra", "_pytest", "py"]
        {
            assert!(found.contains(module), "{module}: {found:?}");
        }
        for module in ["unrelated", "hypothesis", "readme", ""] {
            assert!(!found.contains(module), "{module}: {found:?}");
        }
    }

    #[test]
    fn usual_requirements_are_known_without_metadata() {
        let folder = tempfile::tempdir().unwrap();
        let found = modules_in(&Root::Dir(folder.path().to_owned()));
        assert_eq!(found, USUAL.map(str::to_owned).into());
        assert!(USUAL.is_sorted());
    }
}
