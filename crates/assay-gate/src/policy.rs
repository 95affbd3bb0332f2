//! `gate.toml`: what a pull request must show.

use std::path::{Path, PathBuf};

use assay_diagnostic::ConfigReader;
use serde::{Deserialize, Serialize};

use crate::error::PolicyError;
use crate::paths::clean;

/// The format read here.
const SCHEMA: &str = "assay.gate-policy/1";

/// The default error budget of a campaign.
const ERROR_BUDGET: f64 = 0.05;

/// The default margin of `not-harmful` and `non-inferior`.
const MARGIN: f64 = 0.10;

/// The lift whose power is printed for `helps` by default.
const LIFT: f64 = 0.20;

/// The default of the lowest power for an equal version with which a gate runs.
const MIN_POWER: f64 = 0.5;

/// A policy, read and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// The path of the file.
    pub path: PathBuf,
    /// Its folder: patterns and paths are relative to it.
    pub directory: PathBuf,
    /// The original bytes.
    pub source: String,
    /// The probability of passing a skill that does not meet its requirement, shared by all versions of the skill and
    /// all looks at them, and with [`BudgetScope::PullRequest`] by all skills of a pull request.
    pub error_budget: f64,
    /// Whose budget it is.
    pub budget_scope: BudgetScope,
    /// What happens to a changed skill without an experiment.
    pub without_experiment: Missing,
    /// What happens to a new skill whose tasks are not trusted yet.
    pub new_skill: Missing,
    /// What happens to a claim that is neither shown nor refuted.
    pub on_undecided: OnUndecided,
    /// The gate runs no trial of a `non-inferior` claim that an equal version would pass with a lower probability.
    pub min_power: f64,
    /// Whether agents, verifiers and solutions may run outside a sandbox.
    pub allow_unsandboxed: bool,
    /// Where looks are counted.
    pub ledger: Option<LedgerSpec>,
    /// Whether recorded trials of the baseline may be used again.
    pub reuse: Option<Reuse>,
    /// In order: the first whose patterns match a skill applies to it.
    pub rules: Vec<Rule>,
}

/// What happens to a changed skill without an experiment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// A warning.
    Warn,
    /// The gate fails.
    #[default]
    Fail,
}

/// What happens to a claim that is neither shown nor refuted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnUndecided {
    /// The gate exits with the status of an undecided gate.
    #[default]
    Fail,
    /// It is printed, and does not change the exit status.
    Warn,
    /// Trials are executed in rounds until the claim is decided; what is undecided after the last round is as `fail`.
    Extend,
}

/// Who shares an error budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetScope {
    /// Each skill has it.
    #[default]
    Skill,
    /// The claims of `helps` of a pull request share it, by Holm's procedure.
    PullRequest,
}

/// What a rule requires of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Requirement {
    /// The lift over the baseline is above −margin.
    NotHarmful,
    /// The lift over the version of the skill at the reference is above −margin.
    NonInferior,
    /// The lift over the baseline is above 0.
    Helps,
}

impl Requirement {
    /// The word in policies and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotHarmful => "not-harmful",
            Self::NonInferior => "non-inferior",
            Self::Helps => "helps",
        }
    }
}

/// What is required of the skills in some folders.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Patterns of skill folders, relative to the policy; `!` leaves out.
    pub skills: Vec<String>,
    /// The experiment that measures them, relative to the policy. `{skill}` stands for the folder's name.
    pub experiment: Option<String>,
    /// What must be shown.
    pub require: Requirement,
    /// The largest lift to the worse that is accepted by `not-harmful` and `non-inferior`.
    #[serde(default = "default_margin")]
    pub margin: f64,
    /// The lift whose power is printed for `helps` before any trial.
    #[serde(default = "default_lift")]
    pub lift: f64,
    /// The condition compared with, if not the experiment's first.
    pub baseline: Option<String>,
    /// A limit of the two-sided p of McNemar's exact test over paired trials.
    pub exact_p: Option<f64>,
    /// Trials of the baseline that passed, and all, of an earlier run: for the arithmetic of what can be attained.
    pub expected_baseline: Option<[u64; 2]>,
    /// Requirements beside the lift.
    #[serde(default)]
    pub guards: Guards,
}

/// Requirements beside the lift.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guards {
    /// The largest ratio of costs that is accepted.
    pub cost_ratio: Option<f64>,
    /// The lowest severity of lint findings that fails: `error` or `warning`.
    pub lint: Option<String>,
    /// The lowest severity of findings of the safety rules that fails.
    pub scanner: Option<String>,
    /// The largest median rank of the skill among the skills of the experiment, for the instructions of its tasks.
    pub discovery_rank: Option<usize>,
}

/// Where looks are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerSpec {
    /// Where it is kept.
    pub place: LedgerPlace,
    /// The remote that `git_ref` is fetched from and pushed to, if not `origin`.
    pub remote: Option<String>,
    /// Whether a missing ledger blocks the gate.
    pub required: bool,
}

/// Where a ledger is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerPlace {
    /// A file, relative to the policy.
    File(PathBuf),
    /// A Git reference whose commits hold the ledger, such as `refs/assay/gate`.
    GitRef(String),
    /// A file that the CI system restores before the gate and keeps after it.
    Artifact(PathBuf),
}

/// Use of recorded trials of the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reuse {
    /// The share of the baseline's tasks that is executed again, to compare with the recorded trials.
    #[serde(default = "default_sentinel")]
    pub sentinel: f64,
    /// The standard deviation of the baseline's mean score between sessions, for stores with fewer than
    /// six sessions.
    pub drift_sd: Option<f64>,
}

fn default_margin() -> f64 {
    MARGIN
}

fn default_lift() -> f64 {
    LIFT
}

fn default_sentinel() -> f64 {
    0.1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: toml::Spanned<String>,
    error_budget: Option<toml::Spanned<f64>>,
    #[serde(default)]
    budget_scope: BudgetScope,
    #[serde(default)]
    without_experiment: Missing,
    #[serde(default)]
    new_skill: Missing,
    #[serde(default)]
    on_undecided: OnUndecided,
    min_power: Option<toml::Spanned<f64>>,
    #[serde(default)]
    allow_unsandboxed: bool,
    ledger: Option<toml::Spanned<LedgerTable>>,
    reuse_baseline: Option<toml::Spanned<Reuse>>,
    rules: toml::Spanned<Vec<toml::Spanned<Rule>>>,
}

/// A mistake in a table of a policy, with what is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum Mistake {
    #[error("`git_ref` must begin with `refs/`")]
    GitRef,
    #[error("`[ledger]` takes one of `path`, `git_ref` and `artifact`")]
    LedgerPlace,
    #[error("`remote` is that of a `git_ref`")]
    RemoteOfFile,
    #[error("`remote` must be the name of a Git remote, such as \"origin\"")]
    Remote,
    #[error("`skills` names no folder: write `skills = [\"skills/*\"]`")]
    Skills,
    #[error("`margin` must be between 0 and 1: the largest deterioration that is accepted")]
    Margin,
    #[error("`lift` must be above 0 and at most 1")]
    Lift,
    #[error("`exact_p` must be between 0 and 1")]
    ExactP,
    #[error("`expected_baseline` takes trials passed, and all trials, such as [15, 18]")]
    ExpectedBaseline,
    #[error("`cost_ratio` must be at least 1")]
    CostRatio,
    #[error("the guard `{0}` takes \"error\" or \"warning\"")]
    Severity(&'static str),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LedgerTable {
    path: Option<PathBuf>,
    git_ref: Option<String>,
    remote: Option<String>,
    artifact: Option<PathBuf>,
    #[serde(default = "default_required")]
    required: bool,
}

fn default_required() -> bool {
    true
}

impl LedgerTable {
    fn check(self) -> Result<LedgerSpec, Mistake> {
        let Self { path, git_ref, remote, artifact, required } = self;
        let place = match (path, git_ref, artifact) {
            (Some(path), None, None) => LedgerPlace::File(path),
            (None, Some(name), None) if name.starts_with("refs/") => LedgerPlace::GitRef(name),
            (None, Some(_), None) => return Err(Mistake::GitRef),
            (None, None, Some(path)) => LedgerPlace::Artifact(path),
            _ => return Err(Mistake::LedgerPlace),
        };
        match &remote {
            Some(_) if !matches!(place, LedgerPlace::GitRef(_)) => {
                return Err(Mistake::RemoteOfFile);
            }
            Some(name) if name.is_empty() || name.starts_with('-') => {
                return Err(Mistake::Remote);
            }
            _ => {}
        }
        Ok(LedgerSpec { place, remote, required })
    }
}

impl Rule {
    /// The first mistake of a rule.
    fn check(&self) -> Result<(), Mistake> {
        let check = |holds: bool, mistake: Mistake| if holds { Ok(()) } else { Err(mistake) };
        check(!self.skills.is_empty(), Mistake::Skills)?;
        check(self.margin > 0.0 && self.margin < 1.0, Mistake::Margin)?;
        check(self.lift > 0.0 && self.lift <= 1.0, Mistake::Lift)?;
        check(self.exact_p.is_none_or(|p| p > 0.0 && p < 1.0), Mistake::ExactP)?;
        check(
            self.expected_baseline.is_none_or(|[passed, all]| passed <= all && all > 0),
            Mistake::ExpectedBaseline,
        )?;
        check(
            self.guards.cost_ratio.is_none_or(|ratio| ratio.is_finite() && ratio >= 1.0),
            Mistake::CostRatio,
        )?;
        for (name, severity) in [("lint", &self.guards.lint), ("scanner", &self.guards.scanner)] {
            check(
                severity.as_deref().is_none_or(|word| matches!(word, "error" | "warning")),
                Mistake::Severity(name),
            )?;
        }
        Ok(())
    }
}

impl Policy {
    /// Reads and checks a policy.
    ///
    /// # Errors
    /// An unreadable file, or content that is not a policy, with its line.
    pub fn load(path: &Path) -> Result<Self, PolicyError> {
        let source = assay_fs::read_text(path, assay_fs::DOCUMENT_CAP)
            .map_err(|source| PolicyError::Read { path: path.to_owned(), source })?;
        Self::parse(path, &source)
    }

    /// Checks the text of a policy that was read from `path`.
    ///
    /// # Errors
    /// As [`Policy::load`].
    pub fn parse(path: &Path, source: &str) -> Result<Self, PolicyError> {
        let mut reader = ConfigReader::new(source);
        let policy = reader.deserialize::<File>().map(|file| Self::of_file(path, source, file, &mut reader));
        Ok(reader.finish(path, policy)?)
    }

    fn of_file(path: &Path, source: &str, file: File, reader: &mut ConfigReader<'_>) -> Self {
        let schema = file.schema.get_ref();
        reader.check(
            schema == SCHEMA,
            file.schema.span().start,
            format!("unsupported schema {schema:?}: this version of assay reads {SCHEMA:?}"),
        );
        let (error_budget, at) =
            file.error_budget.map_or((ERROR_BUDGET, 0), |given| (*given.get_ref(), given.span().start));
        let holds = error_budget > 0.0 && error_budget <= 0.5;
        reader.check(holds, at, "`error_budget` must be above 0 and at most 0.5");
        let (min_power, at) =
            file.min_power.map_or((MIN_POWER, 0), |given| (*given.get_ref(), given.span().start));
        reader.check((0.0..=1.0).contains(&min_power), at, "`min_power` must be between 0 and 1");
        let ledger = file.ledger.and_then(|table| {
            let at = table.span().start;
            reader.value_or_report(table.into_inner().check(), at)
        });
        let reuse = file.reuse_baseline.map(|table| {
            let at = table.span().start;
            let reuse = table.into_inner();
            reader.check(
                reuse.sentinel > 0.0 && reuse.sentinel <= 1.0,
                at,
                "`sentinel` must be above 0 and at most 1: the share of the baseline's tasks that is executed again",
            );
            let holds = reuse.drift_sd.is_none_or(|sd| sd > 0.0 && sd <= 1.0);
            reader.check(holds, at, "`drift_sd` must be above 0 and at most 1");
            reuse
        });
        reader.check(
            !file.rules.get_ref().is_empty(),
            file.rules.span().start,
            "no rules: add a `[[rules]]` table",
        );
        let rules = file.rules.into_inner().into_iter().map(|table| {
            let at = table.span().start;
            let rule = table.into_inner();
            reader.value_or_report(rule.check(), at);
            rule
        });
        let rules = rules.collect();
        let directory =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Self {
            path: path.to_owned(),
            directory: directory.to_owned(),
            source: source.to_owned(),
            error_budget,
            budget_scope: file.budget_scope,
            without_experiment: file.without_experiment,
            new_skill: file.new_skill,
            on_undecided: file.on_undecided,
            min_power,
            allow_unsandboxed: file.allow_unsandboxed,
            ledger,
            reuse,
            rules,
        }
    }

    /// The folders of the skills of a rule, sorted, without those that an earlier rule has.
    pub fn skills(&self) -> Vec<(PathBuf, &Rule)> {
        let mut found: Vec<(PathBuf, &Rule)> = Vec::new();
        for rule in &self.rules {
            let folders = |pattern: &str| assay_task::folders(pattern, &self.directory);
            let left_out: Vec<PathBuf> = rule
                .skills
                .iter()
                .filter_map(|pattern| pattern.strip_prefix('!'))
                .flat_map(folders)
                .collect();
            let patterns = rule.skills.iter().filter(|pattern| !pattern.starts_with('!'));
            for folder in patterns.flat_map(|pattern| folders(pattern)) {
                let is_known = found.iter().any(|(known, _)| *known == folder);
                if folder.join("SKILL.md").is_file() && !is_known && !left_out.contains(&folder) {
                    found.push((folder, rule));
                }
            }
        }
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found
    }

    /// The same policy for the same files in another folder.
    #[must_use]
    pub fn in_folder(&self, directory: &Path) -> Self {
        let name = self.path.file_name().unwrap_or_default();
        Self { path: directory.join(name), directory: directory.to_owned(), ..self.clone() }
    }

    /// The folders that patterns of rules match, with a skill or without one.
    pub fn folders(&self) -> Vec<PathBuf> {
        let left_out = self.left_out();
        let patterns = self.rules.iter().flat_map(|rule| &rule.skills);
        let matched = patterns
            .filter(|pattern| !pattern.starts_with('!'))
            .flat_map(|pattern| assay_task::folders(pattern, &self.directory));
        matched.filter(|folder| !left_out.contains(folder)).map(|folder| clean(&folder)).collect()
    }

    /// The folders that rules leave out with `!`.
    pub fn left_out(&self) -> Vec<PathBuf> {
        let patterns = self.rules.iter().flat_map(|rule| &rule.skills);
        patterns
            .filter_map(|pattern| pattern.strip_prefix('!'))
            .flat_map(|pattern| assay_task::folders(pattern, &self.directory))
            .collect()
    }

    /// The patterns of rules that match no skill in any of some copies of the policy's folder.
    pub fn unmatched(&self, directories: &[&Path]) -> Vec<&str> {
        let matches = |pattern: &str| {
            directories.iter().any(|directory| {
                let folders = assay_task::folders(pattern, directory);
                folders.iter().any(|folder| folder.join("SKILL.md").is_file())
            })
        };
        let patterns = self.rules.iter().flat_map(|rule| &rule.skills).map(String::as_str);
        patterns.filter(|pattern| !pattern.starts_with('!') && !matches(pattern)).collect()
    }

    /// The experiment of a skill, if the rule names one that exists.
    pub fn experiment(&self, rule: &Rule, skill: &Path) -> Option<PathBuf> {
        let name = skill.file_name()?.to_string_lossy().into_owned();
        let path = self.directory.join(rule.experiment.as_ref()?.replace("{skill}", &name));
        let path = if path.is_dir() { path.join("experiment.toml") } else { path };
        path.is_file().then_some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "[[rules]]\nskills = [\"skills/*\"]\nexperiment = \"e.toml\"\nrequire = \"helps\"\n";

    fn check(text: &str, expected: &str) {
        let text = format!("schema = \"assay.gate-policy/1\"\n{text}");
        let found = Policy::parse(Path::new("ci/gate.toml"), &text).map_err(|error| error.to_string());
        assert!(found.as_ref().is_err_and(|error| error.contains(expected)), "{found:?}");
    }

    #[test]
    fn all_mistakes_are_reported_at_their_lines() {
        let text = "schema = \"assay.gate-policy/2\"\nerror_budget = 0.9\nmin_pwoer = 0.5\n\
            [[rules]]\nskills = []\nexperiment = \"e.toml\"\nrequire = \"helps\"\n\
            [[rules]]\nskills = [\"a/*\"]\nexperiment = \"e.toml\"\nrequire = \"helps\"\nmargin = \"wide\"\n";
        let error = Policy::parse(Path::new("gate.toml"), text).unwrap_err().to_string();
        let places: Vec<&str> =
            error.lines().map(|line| line.split(' ').next().unwrap_or_default()).collect();
        let expected =
            ["gate.toml:1:10:", "gate.toml:2:16:", "gate.toml:3:1:", "gate.toml:4:1:", "gate.toml:12:10:"];
        assert_eq!(places, expected, "{error}");
    }

    #[test]
    fn a_policy_has_defaults() {
        let text = format!("schema = \"assay.gate-policy/1\"\n[ledger]\npath = \"l.jsonl\"\n{RULE}");
        let policy = Policy::parse(Path::new("ci/gate.toml"), &text).unwrap();
        assert_eq!((policy.error_budget, policy.without_experiment), (0.05, Missing::Fail));
        assert_eq!((policy.rules[0].margin, policy.directory.as_path()), (0.1, Path::new("ci")));
        assert!(policy.ledger.as_ref().is_some_and(|ledger| ledger.required && ledger.remote.is_none()));
        assert_eq!((policy.budget_scope, policy.new_skill), (BudgetScope::Skill, Missing::Fail));
        assert_eq!((policy.on_undecided, policy.min_power), (OnUndecided::Fail, 0.5));
        assert!(!policy.allow_unsandboxed && (policy.rules[0].lift - 0.2).abs() < 1e-12);
    }

    #[test]
    fn every_key_is_read() {
        let text = format!(
            "schema = \"assay.gate-policy/1\"
budget_scope = \"pull-request\"
new_skill = \"warn\"
on_undecided = \"extend\"
min_power = 0.6
allow_unsandboxed = true
[ledger]
git_ref = \"refs/assay/gate\"
remote = \"upstream\"
{RULE}lift = 0.15
"
        );
        let policy = Policy::parse(Path::new("gate.toml"), &text).unwrap();
        assert_eq!((policy.budget_scope, policy.new_skill), (BudgetScope::PullRequest, Missing::Warn));
        assert_eq!((policy.on_undecided, policy.min_power), (OnUndecided::Extend, 0.6));
        assert!(policy.allow_unsandboxed && (policy.rules[0].lift - 0.15).abs() < 1e-12);
        let ledger = policy.ledger.unwrap();
        assert_eq!(ledger.remote.as_deref(), Some("upstream"));
        assert_eq!(ledger.place, LedgerPlace::GitRef("refs/assay/gate".to_owned()));
    }

    #[test]
    fn mistakes_have_a_line() {
        check("", "missing key `rules`");
        check(
            &RULE.replace("skills =", "skils ="),
            "gate.toml:3:1: unknown key `skils`: did you mean `skills`?",
        );
        check(&format!("error_budget = 0\n{RULE}"), "gate.toml:2:16: `error_budget`");
        check(&format!("[ledger]\n{RULE}"), "takes one of `path`, `git_ref` and `artifact`");
        check(&format!("[ledger]\ngit_ref = \"main\"\n{RULE}"), "must begin with `refs/`");
        check(&RULE.replace("helps", "wins"), "gate.toml:5:");
        check(
            &format!("[ledger]\npath = \"l\"\nremote = \"origin\"\n{RULE}"),
            "`remote` is that of a `git_ref`",
        );
        check(&format!("[ledger]\ngit_ref = \"refs/a\"\nremote = \"-x\"\n{RULE}"), "name of a Git remote");
        check(&format!("min_power = 1.5\n{RULE}"), "gate.toml:2:13: `min_power`");
        check(&format!("on_undecided = \"pass\"\n{RULE}"), "gate.toml:2:");
        check(&format!("budget_scope = \"week\"\n{RULE}"), "gate.toml:2:");
        check(&format!("{RULE}lift = 0\n"), "`lift` must be above 0");
        check(&format!("{RULE}margin = 1.0\n"), "`margin` must be between 0 and 1");
        check(&format!("{RULE}expected_baseline = [19, 18]\n"), "such as [15, 18]");
        check(&format!("{RULE}guards = {{ lint = \"all\" }}\n"), "takes \"error\" or \"warning\"");
        check(&format!("[reuse_baseline]\nsentinel = 0\n{RULE}"), "`sentinel` must be above 0");
    }
}
