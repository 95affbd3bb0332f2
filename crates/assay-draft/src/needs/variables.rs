//! Environment variables by their names.

use super::Category::{Auth, Network};
use super::Signal;
use super::clues::{Clue, Clues};

/// Whether a variable's name is that of a credential; if so, it is a clue for one.
pub(super) fn credential(name: &str, line: usize, clues: &mut Clues) -> bool {
    const ENDS: [&str; 11] = [
        "_API_KEY",
        "_TOKEN",
        "_SECRET",
        "_PASSWORD",
        "_ACCESS_KEY",
        "_APIKEY",
        "_CREDENTIALS",
        "_SECRET_KEY",
        "_PAT",
        "_API_TOKEN",
        "_KEY_ID",
    ];
    let is = ENDS.iter().any(|end| name.ends_with(end)) || ["API_KEY", "TOKEN"].contains(&name);
    if is {
        clues.push(Clue::new(Auth, 3, line, Signal::Variable, name).named(name));
        clues.push(Clue::new(Network, 1, line, Signal::Variable, "credential").named(name));
    }
    is
}

/// Variables that a command uses but the shell or an agent sets.
pub(super) const ORDINARY: [&str; 38] = [
    "HOME",
    "PATH",
    "PWD",
    "USER",
    "SHELL",
    "TERM",
    "LANG",
    "TMPDIR",
    "OLDPWD",
    "EDITOR",
    "HOSTNAME",
    "RANDOM",
    "LINENO",
    "SECONDS",
    "IFS",
    "PS1",
    "ARGUMENTS",
    "BASH_SOURCE",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_SKILL_DIR",
    "CLAUDE_PROJECT_DIR",
    "SKILL_DIR",
    "SKILL_ROOT",
    "PLUGIN_ROOT",
    "USERPROFILE",
    "APPDATA",
    "PIPESTATUS",
    "FUNCNAME",
    "UID",
    "LC_ALL",
    "XDG_CONFIG_HOME",
    "PYTHONPATH",
    "NODE_ENV",
    "CI",
    "GITHUB_ENV",
    "GITHUB_OUTPUT",
    "GITHUB_PATH",
    "GITHUB_STEP_SUMMARY",
];
