//! A policy for a repository that has none: one that its experiment can meet.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assay_diagnostic::counted;
use assay_trial::Experiment;

use crate::{
    ENOUGH, ExperimentSize, MARGIN, Policy, PolicyError, SkillTerms, Terms, WIDEST_MARGIN, level,
    written_margin,
};

/// The error budget of the policy that is written.
const BUDGET: f64 = 0.05;

/// Folders are searched to this depth.
const DEPTH: usize = 8;

/// Files in which the repository's experiments and skills are sought, at most.
const MOST_FILES: usize = 100_000;

/// What was found of a repository.
#[derive(Debug, Default)]
pub struct RepositoryContents {
    /// Files that are experiments.
    pub experiments: Vec<PathBuf>,
    /// Folders with a SKILL.md.
    pub skills: Vec<PathBuf>,
}

/// What the policy says of the suite.
#[derive(Debug)]
pub struct FittedPolicy {
    /// Patterns of skills.
    skills: Vec<String>,
    experiment: String,
    margin: f64,
    /// Whether undecided skills are only reported.
    warns: bool,
    /// What the suite supports.
    pub comment: Vec<String>,
}

/// Why no policy can be written.
#[derive(Debug, thiserror::Error)]
pub enum ScaffoldError {
    /// There is no skill.
    #[error("{} has no SKILL.md", .0.display())]
    NoSkill(PathBuf),
    /// No skill has enough tasks.
    #[error(
        "{experiment} measures none of {} with five tasks or more, so that no policy can be met",
        counted(*skills, "skill", "skills")
    )]
    TooFewTasks {
        /// The experiment.
        experiment: String,
        /// How many skills there are.
        skills: usize,
    },
    /// The terms of the experiment cannot be read.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

/// Finds experiments and skills below a folder. Folders of tasks, of stores and of Git are left out.
pub fn find_contents(dir: &Path) -> RepositoryContents {
    let mut found = RepositoryContents::default();
    search(dir, 0, &mut found, &mut 0);
    found
}

fn search(folder: &Path, depth: usize, found: &mut RepositoryContents, files: &mut usize) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        *files += 1;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_skipped = name.starts_with('.') || matches!(&*name, "node_modules" | "target");
        if is_skipped || path.is_symlink() || *files > MOST_FILES {
            continue;
        }
        if path.is_dir() {
            if depth < DEPTH && !path.join("task.toml").is_file() {
                search(&path, depth + 1, found, files);
            }
        } else if name == "SKILL.md" {
            found.skills.push(folder.to_owned());
        } else if path.extension().is_some_and(|extension| extension == "toml")
            && Experiment::load(&path).is_ok()
        {
            found.experiments.push(path);
        }
    }
}

/// The policy for a repository's experiment.
///
/// # Errors
/// There are no skills, or the experiment measures none of them with enough tasks.
pub fn fit_policy(
    dir: &Path,
    experiment: &Path,
    found: &RepositoryContents,
) -> Result<FittedPolicy, ScaffoldError> {
    let name = relative_name(dir, experiment);
    let all: Vec<String> = found.skills.iter().map(|skill| relative_name(dir, skill)).collect();
    let terms = terms_of(dir, &all, &name)?;
    let sizes: Vec<(String, ExperimentSize)> =
        terms.skills.iter().filter_map(|(skill, of)| Some((skill.clone(), size(of)?))).collect();
    let first = level(BUDGET, 1, 1);
    let measured: Vec<(&str, &ExperimentSize, f64)> = sizes
        .iter()
        .filter_map(|(skill, size)| Some((skill.as_str(), size, size.supported_margin(first)?)))
        .collect();
    let widest = measured.iter().max_by(|one, other| one.2.total_cmp(&other.2));
    let Some((smallest, size, supported)) = widest else {
        return Err(ScaffoldError::TooFewTasks { experiment: name, skills: all.len() });
    };
    let written = written_margin(*supported);
    let (warns, margin) = (written.is_none(), written.unwrap_or(MARGIN));
    let needed = size.tasks_for_equal(MARGIN, first);
    let mut comment = vec![format!(
        "{smallest}: {} × {} support a margin of {supported:.2}: a version that is equal passes with {:.0}% probability. A margin of {MARGIN:.2} takes about {}",
        counted(size.clusters.len(), "task", "tasks"),
        counted(size.repetitions, "repetition", "repetitions"),
        100.0 * ENOUGH,
        needed.map_or("2,000 tasks or more".to_owned(), |needed| counted(needed, "task", "tasks")),
    )];
    if warns {
        comment.push(format!(
            "No margin up to {WIDEST_MARGIN:.2} is supported, so undecided skills are reported and do not fail (`on_undecided`)"
        ));
    }
    let kept: BTreeSet<&str> = measured.iter().map(|(skill, _, _)| *skill).collect();
    let missing: Vec<&String> = all.iter().filter(|skill| !kept.contains(skill.as_str())).collect();
    if !missing.is_empty() {
        comment.push(format!(
            "{} with fewer than five tasks {} not covered: {}",
            counted(missing.len(), "skill", "skills"),
            if missing.len() == 1 { "is" } else { "are" },
            missing.iter().map(|skill| skill.as_str()).collect::<Vec<_>>().join(", ")
        ));
    }
    let skills = patterns(&all, &kept);
    Ok(FittedPolicy { skills, experiment: name, margin, warns, comment })
}

/// What each of the skills would be measured by.
fn terms_of(dir: &Path, skills: &[String], experiment: &str) -> Result<Terms, ScaffoldError> {
    let quoted: Vec<String> = skills.iter().map(|skill| quote(&escape(skill))).collect();
    let text = format!(
        "schema = \"assay.gate-policy/1\"\n[[rules]]\nskills = [{}]\nexperiment = {}\nrequire = \"non-inferior\"\n",
        quoted.join(", "),
        quote(experiment)
    );
    if skills.is_empty() {
        return Err(ScaffoldError::NoSkill(dir.to_path_buf()));
    }
    Ok(Terms::of(&Policy::parse(&dir.join("gate.toml"), &text)?))
}

/// The size of a skill's experiment; `None` without tasks.
fn size(terms: &SkillTerms) -> Option<ExperimentSize> {
    let experiment = terms.experiment.as_ref()?;
    let mut names: Vec<&str> = Vec::new();
    let clusters: Vec<Option<u64>> = terms
        .tasks
        .values()
        .filter(|task| !task.negative_control)
        .map(|task| {
            let cluster = task.cluster.as_deref()?;
            let at = names.iter().position(|known| *known == cluster).unwrap_or_else(|| {
                names.push(cluster);
                names.len() - 1
            });
            Some(at as u64)
        })
        .collect();
    let repetitions = experiment.repetitions as usize;
    (!clusters.is_empty()).then(|| ExperimentSize { clusters, ..ExperimentSize::of(0, repetitions) })
}

/// The skills as patterns: a folder whose skills are all measured is one.
fn patterns(all: &[String], kept: &BTreeSet<&str>) -> Vec<String> {
    let parent = |skill: &str| skill.rsplit_once('/').map_or(String::new(), |(parent, _)| parent.to_owned());
    let parents: BTreeSet<String> = kept.iter().map(|skill| parent(skill)).collect();
    let mut found = Vec::new();
    for folder in parents {
        let inside: Vec<&String> = all.iter().filter(|skill| parent(skill) == folder).collect();
        if !folder.is_empty() && inside.iter().all(|skill| kept.contains(skill.as_str())) {
            found.push(format!("{}/*", escape(&folder)));
        } else {
            found.extend(
                inside.iter().filter(|skill| kept.contains(skill.as_str())).map(|skill| escape(skill)),
            );
        }
    }
    found
}

/// The text of a policy by a template; one to fill in without an experiment.
pub fn write_policy(template: &str, suite: Option<&FittedPolicy>) -> String {
    let comment = |suite: &FittedPolicy| {
        suite.comment.iter().map(|line| format!("# {}.\n", line.trim_end_matches('.'))).collect::<String>()
    };
    let quoted = |skills: &[String]| skills.iter().map(|skill| quote(skill)).collect::<Vec<_>>().join(", ");
    let (skills, experiment, margin, undecided, about, without) = match suite {
        None => {
            let (skills, experiment) = (quote("skills/*"), quote("experiment.toml"));
            (skills, experiment, MARGIN, "fail", String::new(), "fail")
        }
        Some(suite) => {
            let word = if suite.warns { "warn" } else { "fail" };
            let without =
                if suite.comment.iter().any(|line| line.contains("not covered")) { "warn" } else { "fail" };
            (quoted(&suite.skills), quote(&suite.experiment), suite.margin, word, comment(suite), without)
        }
    };
    let least = if suite.is_some_and(|suite| suite.warns) { "min_power = 0.0\n" } else { "" };
    template
        .replace("{skills}", &skills)
        .replace("{experiment}", &experiment)
        .replace("{margin}", &format!("{margin:.2}"))
        .replace("{undecided}", undecided)
        .replace("{min_power}", least)
        .replace("{without}", without)
        .replace("{about}", &about)
}

/// The inside of a TOML string.
pub fn escape_toml(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect::<String>().replace('\\', "\\\\").replace('"', "\\\"")
}

fn quote(text: &str) -> String {
    format!("\"{}\"", escape_toml(text))
}

/// A path as a pattern that matches nothing else.
fn escape(path: &str) -> String {
    path.chars()
        .map(
            |c| if matches!(c, '*' | '?' | '[' | ']' | '{' | '}') { format!("[{c}]") } else { c.to_string() },
        )
        .collect()
}

/// A path as seen from the root of the repository.
pub fn relative_name(dir: &Path, path: &Path) -> String {
    path.strip_prefix(dir).unwrap_or(path).display().to_string()
}
