//! Packages of npm, without their install scripts.

use std::path::Path;
use std::process::Command;

use super::tool::{InstallError, run};

pub(super) fn install_package(package: &str, beside: &[&str], to: &Path) -> Result<(), InstallError> {
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--prefix"])
        .arg(to)
        .arg(package.replacen(' ', "@", 1))
        .args(beside);
    run(npm, "npm", package).map(drop)
}
