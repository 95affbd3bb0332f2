//! An experiment from the suite of a plugin.

use std::path::{Path, PathBuf};

use assay_diagnostic::{Io, Severity, clean_start, counted};
use assay_skill::Package;
use assay_task::plugin_eval::{EvalArm, EvalArms, EvalCase, EvalSuite, EvalSuiteError, Evidence, grade_run};

const TEMPLATE: &str = include_str!("template.toml");

/// The image of the tasks.
const IMAGE: &str = "debian:12-slim";

/// The judges of a suite that needs some.
const JUDGE: &str = r#"
[judge]                               # decides graders of the types llm and baseline, by three votes
models = ["anthropic:claude-haiku-4-5"]  # of another family than the agent's model
"#;

/// Fewest cases of an interval.
const FEW: usize = 5;

/// The files of an experiment that is made of a plugin's suite.
#[derive(Debug, Clone)]
pub struct PluginExperiment {
    /// The content of `experiment.toml`.
    pub experiment: String,
    /// The tasks, each with its name and its files, relative to its folder.
    pub tasks: Vec<PluginTask>,
    /// The plugin's skills, each with the name of its folder. Experiments read what is below their own folder only.
    pub skills: Vec<PluginSkill>,
    /// How many cases have no task.
    pub left_out: usize,
    /// What cannot be read, and what an experiment does not have of a suite.
    pub notes: Vec<String>,
}

/// A skill of the plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginSkill {
    /// The name of its folder.
    pub folder: String,
    /// Where it is.
    pub path: PathBuf,
}

/// The task of a case.
#[derive(Debug, Clone)]
pub struct PluginTask {
    /// Its name.
    pub name: String,
    /// Its files, by their paths in its folder.
    pub files: Vec<(PathBuf, Vec<u8>)>,
}

/// Why there is no experiment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PluginExperimentError {
    /// There is no suite.
    #[error(transparent)]
    Suite(#[from] EvalSuiteError),
    /// A skill cannot be read.
    #[error("{} contains no readable SKILL.md", .0.display())]
    Skill(PathBuf),
    /// The plugin has no skill, so that no condition provides one.
    #[error("the plugin {0} has no skill")]
    NoSkill(String),
    /// A file of a case cannot be read.
    #[error(transparent)]
    Read(#[from] Io),
}

impl PluginExperimentError {
    /// What to do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Suite(EvalSuiteError::NoPlugin(_)) => {
                "use the folder of a plugin, which has .claude-plugin/plugin.json"
            }
            Self::Suite(EvalSuiteError::Manifest { .. }) => "correct the manifest",
            Self::Suite(_) => "`claude plugin eval init` writes cases",
            Self::Skill(_) | Self::NoSkill(_) => "conditions provide skills: an experiment needs one",
            Self::Read(_) => "make the file readable",
        }
    }
}

/// Makes an experiment of the suite of a plugin. `name` is that of its run.
///
/// # Errors
/// The plugin has no suite or no skill. Cases that cannot be used are left out, and named in the notes.
pub fn make_plugin_experiment(name: &str, plugin: &Path) -> Result<PluginExperiment, PluginExperimentError> {
    let suite = EvalSuite::load(plugin)?;
    let skills = skill_names(&suite)?;
    let cases: Vec<&EvalCase> = suite.cases.iter().filter(|case| case.check_expressible().is_ok()).collect();
    let mut tasks = Vec::new();
    for case in &cases {
        let files = suite.task_files(case, &skills, IMAGE)?;
        tasks.push(PluginTask { name: case.name.clone(), files });
    }
    Ok(PluginExperiment {
        experiment: experiment(&suite, &cases, name),
        tasks,
        skills: suite.plugin.skills.iter().filter_map(|folder| skill(&suite, folder)).collect(),
        left_out: suite.unread.len() + suite.cases.len() - cases.len(),
        notes: notes(&suite),
    })
}

fn skill(suite: &EvalSuite, folder: &Path) -> Option<PluginSkill> {
    let name = folder.file_name()?.to_string_lossy().into_owned();
    Some(PluginSkill { folder: name, path: suite.plugin.root.join(folder) })
}

/// The names of the plugin's skills.
fn skill_names(suite: &EvalSuite) -> Result<Vec<String>, PluginExperimentError> {
    let mut names = Vec::new();
    for folder in &suite.plugin.skills {
        let path = suite.plugin.root.join(folder);
        let Some(package) = Package::load(&path).package else {
            return Err(PluginExperimentError::Skill(path));
        };
        names.push(package.name);
    }
    if names.is_empty() {
        return Err(PluginExperimentError::NoSkill(suite.plugin.name.clone()));
    }
    Ok(names)
}

fn notes(suite: &EvalSuite) -> Vec<String> {
    let mut notes = Vec::new();
    for found in suite.diagnostics.iter().filter(|found| found.severity >= Severity::Warning) {
        notes.push(found.to_string());
        notes.extend(found.hint.iter().map(|hint| format!("  hint: {hint}")));
    }
    for case in &suite.cases {
        let (folder, name) = (case.dir.display(), clean_start(&case.name, 80));
        if let Err(why) = case.check_expressible() {
            notes.push(format!("{folder}: the case {name} is left out: {why}"));
        } else if passes_idle(case) {
            notes.push(format!("{folder}: an agent that does nothing passes the case {name}"));
        }
    }
    let models = suite.cases.iter().filter(|case| case.model.is_some()).count();
    if models > 0 {
        let cases = counted(models, "case names a model", "cases name a model");
        notes.push(format!("{cases}: the agents of the experiment decide"));
    }
    if !suite.plugin.others.is_empty() {
        let others = suite.plugin.others.join(", ");
        notes.push(format!("conditions provide the plugin's skills, and not its {others}"));
    }
    let usable = suite.cases.iter().filter(|case| case.check_expressible().is_ok()).count();
    if usable < FEW {
        let cases = counted(usable, "case", "cases");
        notes.push(format!("{cases}: under {FEW} every verdict is inconclusive"));
    }
    notes
}

/// Whether a case passes without any work.
fn passes_idle(case: &EvalCase) -> bool {
    grade_run(case, &Evidence::default(), EvalArms::WithAndWithout, EvalArm::Without).passed
}

fn experiment(suite: &EvalSuite, cases: &[&EvalCase], name: &str) -> String {
    let turns = cases.iter().map(|case| case.max_turns).max().unwrap_or(10);
    let judge = if cases.iter().any(|case| case.is_judged()) { JUDGE } else { "" };
    TEMPLATE
        .replace("{name}", name)
        .replace("{plugin}", &clean_start(&suite.plugin.name, 80))
        .replace("{max_turns}", &turns.to_string())
        .replace("{judge}", judge)
}
