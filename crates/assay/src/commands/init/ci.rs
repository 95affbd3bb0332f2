//! `assay init ci`: a policy that the repository's suite can meet, and workflows that run it.

use std::path::Path;

use assay_gate::scaffold::{ScaffoldError, find_contents, fit_policy, relative_name, write_policy};

use super::files::{ignore_store, write};
use crate::failure::Failure;
use crate::ui::Ui;

const POLICY: &str = include_str!("../../templates/gate.toml");
const GITHUB: &str = include_str!("../../templates/github.yml");
const GITLAB: &str = include_str!("../../templates/gitlab.yml");

pub(super) fn run(
    dir: &Path,
    experiment: Option<&Path>,
    revision: Option<&str>,
    ui: &Ui,
) -> Result<(), Failure> {
    let revision = revision.or(option_env!("ASSAY_COMMIT")).unwrap_or_default();
    // It becomes part of a command.
    if !revision.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte))
        || revision.starts_with('-')
    {
        return Err(Failure::bad_input(format!("`--revision {revision}` is not the name of a commit")));
    }
    let found = find_contents(dir);
    let experiment = match (experiment, found.experiments.as_slice()) {
        (Some(given), _) => {
            Some(if given.is_dir() { given.join("experiment.toml") } else { given.to_owned() })
        }
        (None, []) => None,
        (None, [one]) => Some(one.clone()),
        (None, several) => {
            let names: Vec<String> = several.iter().map(|path| relative_name(dir, path)).collect();
            let message = format!("{} has several experiments: {}", dir.display(), names.join(", "));
            return Err(Failure::bad_input(message)
                .hint("name the one that measures the skills: assay init ci --experiment PATH"));
        }
    };
    let suite = experiment.as_deref().map(|path| fit_policy(dir, path, &found)).transpose()?;
    let policy = write_policy(POLICY, suite.as_ref());
    // A commit cannot be moved, as a tag can.
    let pinned = |text: &str| text.replace("{revision}", revision);
    let (github, gitlab) = (pinned(GITHUB), pinned(GITLAB));
    for (path, text) in [
        ("gate.toml", policy.as_str()),
        (".github/workflows/assay-gate.yml", github.as_str()),
        ("assay-gate.gitlab-ci.yml", gitlab.as_str()),
    ] {
        write(&dir.join(path), text, false, ui)?;
    }
    ignore_store(dir, ui)?;
    if revision.is_empty() {
        ui.note(
            "this program does not know its commit: set ASSAY in the workflows to a commit of assay (`--revision`)",
        );
    }
    for line in suite.iter().flat_map(|suite| &suite.comment) {
        ui.note(line);
    }
    ui.note(if suite.is_some() {
        "next: try `assay gate gate.toml`, then commit the files to the default branch: a gate applies the rules that it has"
    } else {
        "next: no experiment found: write one with `assay init experiment`, name it in gate.toml, then try `assay gate gate.toml`"
    });
    Ok(())
}

impl From<ScaffoldError> for Failure {
    fn from(error: ScaffoldError) -> Self {
        let message = error.to_string();
        match error {
            ScaffoldError::NoSkill(_) => {
                Self::bad_input(message).hint("run it at the root of the repository with the skills")
            }
            ScaffoldError::TooFewTasks { .. } => Self::bad_input(message)
                .hint("write tasks with `assay init task`, and pair them with the skill in the experiment"),
            ScaffoldError::Policy(error) => error.into(),
        }
    }
}
