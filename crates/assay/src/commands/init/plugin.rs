//! `assay init experiment --from-plugin`: an experiment from the suite of a plugin.

use std::path::{Component, Path, PathBuf};

use assay_diagnostic::{Severity, chain, clean_start, counted};
use assay_gate::scaffold::escape_toml;
use assay_report::shell_word;
use assay_skill::Package;
use assay_task::plugin_eval::{
    EvalArm, EvalArms, EvalCase, EvalSuite, EvalSuiteError, Evidence, grade_run, write_new_folder,
};

use super::files::{ignore_store, write};
use super::run_name;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

const EXPERIMENT: &str = include_str!("../../templates/plugin_experiment.toml");

/// The image of the tasks.
const IMAGE: &str = "debian:12-slim";

/// The judges of a suite that needs some.
const JUDGE: &str = r#"
[judge]                               # decides graders of the types llm and baseline, by three votes
models = ["anthropic:claude-haiku-4-5"]  # of another family than the agent's model
"#;

/// Fewest cases of an interval.
const FEW: usize = 5;

pub(super) fn run(dir: &Path, plugin: &Path, ui: &Ui) -> Result<Status, Failure> {
    let suite = EvalSuite::load(plugin).map_err(|error| refuse(&error))?;
    let skills = skill_names(&suite)?;
    let cases: Vec<&EvalCase> =
        suite.cases.iter().filter(|case| case.check_expressible().is_ok()).collect();
    report(&suite, ui);
    if cases.is_empty() {
        let message = format!("no case of {} can be run", suite.dir.display());
        return Err(Failure::bad_input(message).hint("correct the cases named above"));
    }
    let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let name = run_name(&absolute.file_name().unwrap_or_default().to_string_lossy());
    write(&dir.join("experiment.toml"), &experiment(&suite, &cases, &name, &absolute), false, ui)?;
    for case in &cases {
        let folder = dir.join("tasks").join(&case.name);
        let files = suite.task_files(case, &skills, IMAGE);
        let written = files.and_then(|files| write_new_folder(&folder, &files));
        written.map_err(|error| Failure::infrastructure(chain(&error)))?;
        ui.out(&format!("{}/\n", folder.display()))?;
    }
    ignore_store(dir, ui)?;
    let left_out = suite.unread.len() + suite.cases.len() - cases.len();
    let file = dir.join("experiment.toml");
    let file = file.strip_prefix(".").unwrap_or(&file).to_string_lossy();
    let written = counted(cases.len(), "case", "cases");
    ui.note(&format!("{written} of {}, {left_out} left out", suite.plugin.name));
    ui.note(&format!("next: set the model in {file}, then `assay run {}`", shell_word(&file)));
    Ok(if left_out > 0 { Status::DidNotHold } else { Status::Done })
}

fn refuse(error: &EvalSuiteError) -> Failure {
    let hint = match error {
        EvalSuiteError::NoPlugin(_) => "use the folder of a plugin, which has .claude-plugin/plugin.json",
        EvalSuiteError::Manifest { .. } => "correct the manifest",
        _ => "`claude plugin eval init` writes cases",
    };
    Failure::bad_input(chain(error)).hint(hint)
}

/// The names of the plugin's skills.
fn skill_names(suite: &EvalSuite) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for folder in &suite.plugin.skills {
        let path = suite.plugin.root.join(folder);
        let package = Package::load(&path).package;
        let package = package
            .ok_or_else(|| Failure::bad_input(format!("{} contains no readable SKILL.md", path.display())))?;
        names.push(package.name);
    }
    if names.is_empty() {
        let message = format!("the plugin {} has no skill", suite.plugin.name);
        return Err(Failure::bad_input(message).hint("conditions provide skills: an experiment needs one"));
    }
    Ok(names)
}

/// Says what cannot be read, and what an experiment does not have of a suite.
fn report(suite: &EvalSuite, ui: &Ui) {
    for found in suite.diagnostics.iter().filter(|found| found.severity >= Severity::Warning) {
        ui.note(&found.to_string());
        if let Some(hint) = &found.hint {
            ui.note(&format!("  hint: {hint}"));
        }
    }
    for case in &suite.cases {
        if let Err(why) = case.check_expressible() {
            ui.note(&format!("{}: the case {} is left out: {why}", case.dir.display(), case.name));
        } else if passes_idle(case) {
            let name = clean_start(&case.name, 80);
            ui.note(&format!("{}: an agent that does nothing passes the case {name}", case.dir.display()));
        }
    }
    let named = |what: &dyn Fn(&EvalCase) -> bool| suite.cases.iter().filter(|case| what(case)).count();
    let models = named(&|case| case.model.is_some());
    if models > 0 {
        ui.note(&format!("{} a model: the agents of the experiment decide", says(models, "names", "name")));
    }
    if !suite.plugin.others.is_empty() {
        ui.note(&format!(
            "conditions provide the plugin's skills, and not its {}",
            suite.plugin.others.join(", ")
        ));
    }
    if suite.cases.len() < FEW {
        ui.note(&format!("under {FEW} cases every verdict is inconclusive: {}", suite.cases.len()));
    }
}

fn says(count: usize, one: &str, several: &str) -> String {
    format!("{} {}", counted(count, "case", "cases"), if count == 1 { one } else { several })
}

/// Whether a case passes without any work.
fn passes_idle(case: &EvalCase) -> bool {
    grade_run(case, &Evidence::default(), EvalArms::WithAndWithout, EvalArm::Without).passed
}

fn experiment(suite: &EvalSuite, cases: &[&EvalCase], name: &str, dir: &Path) -> String {
    let library: Vec<String> = suite
        .plugin
        .skills
        .iter()
        .map(|folder| format!("\"{}\"", escape_toml(&relative(dir, &suite.plugin.root.join(folder)))))
        .collect();
    let turns = cases.iter().map(|case| case.max_turns).max().unwrap_or(10);
    let judge = if cases.iter().any(|case| case.is_judged()) { JUDGE } else { "" };
    EXPERIMENT
        .replace("{name}", name)
        .replace("{plugin}", &clean_start(&suite.plugin.name, 80))
        .replace("{library}", &library.join(", "))
        .replace("{max_turns}", &turns.to_string())
        .replace("{judge}", judge)
}

/// A path as seen from a folder; absolute if they have nothing in common.
fn relative(folder: &Path, path: &Path) -> String {
    let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    let (Ok(folder), Ok(path)) = (real(folder), real(path)) else { return path.display().to_string() };
    let (own, other): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (folder.components().collect(), path.components().collect());
    let common = own.iter().zip(&other).take_while(|(a, b)| a == b).count();
    if common <= 1 {
        return path.display().to_string();
    }
    let up = std::iter::repeat_n(Component::ParentDir, own.len() - common);
    let parts: PathBuf = up.chain(other.into_iter().skip(common)).collect();
    parts.display().to_string()
}
