//! Packages of PyPI, for the Python in sandboxes. They are in a separate folder that only the
//! agent's process reads: commands of the agent use the sandbox's Python unchanged.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::tool::{InstallError, run};
use crate::cli_agents::package::LAUNCHER;

/// The Pythons of this machine that a sandbox with its `/usr` has too.
const PYTHONS: [&str; 2] = ["/usr/local/bin/python3", "/usr/bin/python3"];

/// The platforms of accepted wheels, newest first; `scripts/lock-python-agent` has the same list.
const GLIBCS: [u8; 7] = [28, 27, 26, 24, 17, 12, 5];

/// The names of the same platforms in older wheels.
const YEARS: [&str; 3] = ["2014", "2010", "1"];

/// Installs the packages of the lock; with `other`, a name and a version, that package in that
/// version, and the others from the lock.
pub(super) fn install_package(
    package: &str,
    lock: &str,
    other: Option<(&str, &str)>,
    entry: &str,
    to: &Path,
) -> Result<(), InstallError> {
    let python = PYTHONS
        .into_iter()
        .find(|python| Path::new(python).exists())
        .ok_or_else(|| InstallError::NoPython(format!("{package} needs Python 3 in /usr/bin")))?;
    let mut ask = Command::new(python);
    ask.args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]);
    let version = String::from_utf8_lossy(&run(ask, "python3", package)?.stdout).trim().to_owned();
    let has_pip = |python: &&str| {
        let mut pip = Command::new(python);
        pip.args(["-m", "pip", "--version"]);
        run(pip, "pip", package).is_ok()
    };
    let pip = [python, "python3"].into_iter().find(has_pip).ok_or_else(|| {
        InstallError::NoPython(format!(
            "{package} is installed with pip, which python3 does not have (hint: on Debian, install python3-pip)"
        ))
    })?;
    let write = |path: &Path, text: &str| {
        fs::write(path, text).map_err(|source| InstallError::Io { path: path.to_owned(), source })
    };
    let locked = match other {
        None => lock.to_owned(),
        Some((name, _)) => without_package(lock, name),
    };
    write(&to.join("requirements.txt"), &locked)?;
    let site = to.join("site");
    let install = |packages: &[&str]| {
        let mut install = Command::new(pip);
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        install.args(["--root-user-action", "ignore"]);
        install.args(["--no-deps", "--no-compile", "--only-binary", ":all:"]);
        install.args(["--implementation", "cp", "--python-version", &version]);
        install.args(
            GLIBCS.iter().flat_map(|minor| ["--platform".to_owned(), format!("manylinux_2_{minor}_x86_64")]),
        );
        install
            .args(YEARS.iter().flat_map(|year| ["--platform".to_owned(), format!("manylinux{year}_x86_64")]));
        install.arg("--target").arg(&site).args(packages);
        run(install, "pip", package)
    };
    let requirements = to.join("requirements.txt").display().to_string();
    install(&["--require-hashes", "-r", &requirements])?;
    if let Some((name, version)) = other {
        install(&[&format!("{name}=={version}")])?;
    }
    // A sandbox cannot store compiled files, and would compile them again each time.
    let mut compile = Command::new(python);
    compile.args(["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]).arg(&site);
    // Packages contain templates that are not valid Python; everything else is compiled.
    let _ = run(compile, "python3", package);
    let launcher = to.join(LAUNCHER);
    write(&launcher, &script(package, &version, entry))?;
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755))
        .map_err(|source| InstallError::Io { path: launcher.clone(), source })
}

/// A lock file without one of its packages.
fn without_package(lock: &str, name: &str) -> String {
    let own = format!("{name}==");
    lock.lines().filter(|line| !line.starts_with(&own)).map(|line| format!("{line}\n")).collect()
}

fn script(package: &str, version: &str, entry: &str) -> String {
    let (module, function) = entry.split_once(':').unwrap_or((entry, "main"));
    format!(
        r#"#!/bin/sh
site="${{0%/*}}/site"
for python in python{version} python3; do
  if [ "$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = {version} ]; then
    exec "$python" -I -S -c 'import sys
sys.path.insert(0, sys.argv.pop(1))
from {module} import {function}
sys.exit({function}())' "$site" "$@"
  fi
done
echo "{package} is installed for Python {version}, and this sandbox has none" >&2
exit 127
"#
    )
}
