//! `experiment.toml`: the comparison, as its author wrote it.

pub(crate) mod agent_keys;
mod conditions;
mod file;
pub(crate) mod foreign;
#[cfg(test)]
mod fuzz;
mod judge;
mod key_places;
mod metrics;
mod mistake;
mod requests;
mod retries;
mod stopping;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_agent::Disclosure;
use assay_diagnostic::{ConfigErrors, ConfigReader};
use assay_store::{
    AgentSpec, ConditionRole, ConditionSettings, JudgeSpec, MetricSpec, OutcomeRule, SandboxChoice, Stopping,
};

use self::file::read_experiment;
use self::requests::Requests;
pub use self::retries::{Retries, RetriesLeft};
pub(crate) use self::stopping::FEWEST_TASKS;
use crate::condition::Pairing;

/// The format read here.
const SCHEMA: &str = "assay.experiment/1";

/// Most bytes of an experiment: as a table it takes some hundred times as many.
const LONGEST: u64 = 1 << 20;

/// Default repetitions of a cell. For the same number of trials more tasks find more than more
/// repetitions do (docs/STATISTICS.md); three show how much of a difference is run-to-run noise.
const REPETITIONS: u32 = 3;

/// The default equivalence margin.
const MARGIN: f64 = 0.10;

/// The default number of concurrent trials.
const CONCURRENCY: u16 = 2;

/// The default seed.
const SEED: u64 = 1;

/// The default number of consecutive trials that one provider may fail.
const STOP_AFTER: u32 = 3;

/// An experiment, read and checked.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// The path of the file.
    pub path: PathBuf,
    /// Its folder: patterns and scripts are relative to it.
    pub directory: PathBuf,
    /// The original text.
    pub source: String,
    /// The run's name.
    pub name: String,
    /// Patterns of task folders.
    pub suite: Vec<String>,
    /// Patterns of skill folders.
    pub library: Vec<String>,
    /// Names of conditions; the first is the baseline.
    pub conditions: Vec<String>,
    /// How the skills are disclosed.
    pub disclosure: Disclosure,
    /// Trials of each cell.
    pub repetitions: u32,
    /// When comparisons are decided, if they are decided after each round.
    pub stopping: Option<Stopping>,
    /// The seed of everything drawn at random.
    pub seed: u64,
    /// The equivalence margin.
    pub margin: f64,
    /// The condition whose comparison with the baseline is judged at the full level, apart from the
    /// family of the others.
    pub primary: Option<String>,
    /// The value of a trial that comparisons are made of.
    pub outcome: OutcomeRule,
    /// The models whose attempts without the skill selected the tasks.
    pub selected_by: Vec<String>,
    /// The kind of sandbox, and replacements for images.
    pub sandbox: SandboxChoice,
    /// The hosts that may be reached, if the task requests it.
    pub network: NetworkGrant,
    /// Whether verifiers may reach the network, for verifiers that fetch packages.
    pub verifier_network: bool,
    /// Variables of the host that `${VAR}` in a task may name.
    pub allow_env: Vec<String>,
    /// The number of concurrent trials.
    pub concurrency: usize,
    /// Memory of every task's sandboxes in place of the tasks' own, in bytes.
    pub memory_bytes: Option<u64>,
    /// Processors of every task's sandboxes in place of the tasks' own.
    pub cpus: Option<f64>,
    /// How often a trial that broke is tried again within a run.
    pub retries: Retries,
    /// How many consecutive trials may fail because of one provider before the run stops; 0 for any
    /// number.
    pub stop_after: u32,
    /// The agent.
    pub agents: Vec<AgentSpec>,
    /// Conditions with settings of their own, by name.
    pub settings: BTreeMap<String, ConditionSettings>,
    /// The metrics that conditions are compared by, beside the score; in order of name.
    pub metrics: Vec<MetricSpec>,
    /// Who decides the rubrics of tasks that have one.
    pub judge: Option<JudgeSpec>,
    /// A table of labeled items, by which reports correct the scores of the judges.
    pub calibration: Option<PathBuf>,
    /// Servers whose results count as those of the agents' own: not of the file, but of who runs it.
    pub same_server: Vec<String>,
    /// Which skills belong to which task, unless the task names them.
    pub pairings: BTreeMap<String, Pairing>,
    /// What its text requests outside of itself.
    requests: Requests,
}

/// The network that an experiment grants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum NetworkGrant {
    /// Nothing.
    #[default]
    None,
    /// Everything.
    Public,
    /// These hosts.
    Hosts(Vec<String>),
}

/// Why an experiment cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The file is not there, or not readable.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Its content is invalid.
    #[error(transparent)]
    Invalid(#[from] ConfigErrors),
}

impl Experiment {
    /// The condition that a name in `conditions` stands for.
    pub fn condition_of<'a>(&'a self, name: &'a str) -> &'a str {
        self.settings.get(name).and_then(|settings| settings.is.as_deref()).unwrap_or(name)
    }

    /// What a condition is, whatever its name.
    pub fn role_of(&self, name: &str) -> ConditionRole {
        ConditionRole::of(self.condition_of(name))
    }

    /// How skills are disclosed under a condition.
    pub fn disclosure_of(&self, name: &str) -> Disclosure {
        self.settings.get(name).and_then(|settings| settings.disclosure).unwrap_or(self.disclosure)
    }

    /// Trials of each cell under a condition; with `[stopping]`, the most.
    pub fn repetitions_of(&self, name: &str) -> u32 {
        let own = self.settings.get(name).and_then(|settings| settings.repetitions);
        own.or(self.stopping.map(|stopping| stopping.rounds)).unwrap_or(self.repetitions)
    }

    /// Trials of the cells that have the most.
    pub fn most_repetitions(&self) -> u32 {
        self.conditions.iter().map(|name| self.repetitions_of(name)).max().unwrap_or(self.repetitions)
    }

    /// One without a file: no task, skill, condition or agent yet, one repetition, and defaults for
    /// the rest.
    pub fn new(name: &str, directory: &Path) -> Self {
        Self {
            path: directory.join("experiment.toml"),
            directory: directory.to_owned(),
            source: String::new(),
            name: name.to_owned(),
            suite: Vec::new(),
            library: Vec::new(),
            conditions: Vec::new(),
            disclosure: Disclosure::default(),
            repetitions: 1,
            stopping: None,
            seed: SEED,
            margin: MARGIN,
            primary: None,
            outcome: OutcomeRule::default(),
            selected_by: Vec::new(),
            sandbox: SandboxChoice::default(),
            network: NetworkGrant::default(),
            verifier_network: false,
            allow_env: Vec::new(),
            concurrency: usize::from(CONCURRENCY),
            memory_bytes: None,
            cpus: None,
            retries: Retries::default(),
            stop_after: STOP_AFTER,
            agents: Vec::new(),
            settings: BTreeMap::new(),
            metrics: Vec::new(),
            judge: None,
            calibration: None,
            same_server: Vec::new(),
            pairings: BTreeMap::new(),
            requests: Requests::default(),
        }
    }

    /// Reads and checks an experiment. A folder means the `experiment.toml` in it.
    pub fn load(path: &Path) -> Result<Self, ExperimentError> {
        let path = if path.is_dir() { path.join("experiment.toml") } else { path.to_owned() };
        let source = assay_fs::read_text(&path, LONGEST)
            .map_err(|source| ExperimentError::Read { path: path.clone(), source })?;
        Self::parse(&path, &source)
    }

    /// Checks the text of an experiment that was read from `path`.
    ///
    /// # Errors
    /// With all that is wrong in it, each at its place.
    pub fn parse(path: &Path, source: &str) -> Result<Self, ExperimentError> {
        let mut reader = ConfigReader::new(source);
        let experiment = read_experiment(path, source, &mut reader);
        Ok(reader.finish(path, experiment)?)
    }
}

#[cfg(test)]
mod tests {
    use assay_store::SandboxKind;

    use super::*;

    const WHOLE: &str = r#"schema = "assay.experiment/1"
name = "quickstart"
suite = ["tasks/*"]
library = ["skills/*"]
conditions = ["none", "curated"]
repetitions = 5
seed = 1
margin = 0.10
network = "none"
concurrency = 2
retry = { infrastructure = 2 }
[[agents]]
name = "loop"
model = "scripted:turns.jsonl"
timeout = 300
[tasks."ledger-export"]
curated = ["ledger-export"]
[sandbox]
kind = "bubblewrap"
[sandbox.roots]
"python:3.12-slim" = "host"
"#;

    #[test]
    fn a_whole_experiment_is_read() {
        let experiment = Experiment::parse(Path::new("dir/experiment.toml"), WHOLE).unwrap();
        assert_eq!(experiment.directory, Path::new("dir"));
        assert_eq!(experiment.sandbox.kind, SandboxKind::Bubblewrap);
        assert_eq!(experiment.sandbox.roots["python:3.12-slim"], "host");
        assert_eq!(experiment.selected_by, Vec::<String>::new());
        let selected = WHOLE.replacen("seed = 1", "seed = 1\nselected_by = [\"openai:one\"]", 1);
        let selected = Experiment::parse(Path::new("e.toml"), &selected).unwrap();
        assert_eq!(selected.selected_by, ["openai:one"]);
        assert_eq!((experiment.retries, experiment.stop_after), (Retries::of(2), 3));
        assert_eq!(
            experiment.pairings["ledger-export"].curated.as_deref(),
            Some(&["ledger-export".to_owned()][..])
        );
    }

    #[test]
    fn the_primary_comparison_is_named_or_curated() {
        let check_all = |conditions: &str, tables: &str, line: &str, expected: Result<Option<&str>, &str>| {
            let text = WHOLE.replace(r#"["none", "curated"]"#, conditions).replace("seed = 1", line) + tables;
            let found = Experiment::parse(Path::new("e.toml"), &text).map(|experiment| experiment.primary);
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.as_deref(), expected, "{conditions} {line}"),
                (Err(found), Err(expected)) => assert!(found.to_string().contains(expected), "{found}"),
                (found, _) => panic!("{conditions} {line}: {found:?}"),
            }
        };
        let check = |conditions: &str, line: &str, expected| check_all(conditions, "", line, expected);
        let three = r#"["none", "curated", "placebo"]"#;
        check(three, "", Ok(Some("curated")));
        check(three, "primary = \"placebo\"", Ok(Some("placebo")));
        check(three, "primary = false", Ok(None));
        check(r#"["none", "full", "placebo"]"#, "", Ok(None));
        let renamed = r#"["bare", "skill", "sham"]"#;
        let is = "[condition.bare]\nis = \"none\"\n[condition.skill]\nis = \"curated\"\n[condition.sham]\nis = \"placebo\"\n";
        check_all(renamed, is, "", Ok(Some("skill")));
        check_all(renamed, is, "primary = \"sham\"", Ok(Some("sham")));
        check(r#"["curated", "full", "placebo"]"#, "", Ok(None));
        // One comparison an agent is all there is.
        check(r#"["none", "curated"]"#, "", Ok(None));
        check(three, "primary = \"none\"", Err("e.toml:7:11: `primary` is \"none\", which is the baseline"));
        check(three, "primary = \"full\"", Err("`conditions` does not list"));
        check(three, "primary = 1", Err("`primary` must be the name of a condition"));
    }

    #[test]
    fn repetitions_default_to_three() {
        let text = WHOLE.replace("repetitions = 5\n", "");
        assert_eq!(Experiment::parse(Path::new("e.toml"), &text).unwrap().repetitions, 3);
    }

    #[test]
    fn names_and_models_are_spread() {
        type Agent<'a> = (&'a str, Option<&'a str>, Option<f64>);
        let check = |agents: &str, expected: Result<&[Agent<'_>], &str>| {
            let (head, _) = WHOLE.split_once("[[agents]]").unwrap();
            let found = Experiment::parse(Path::new("e.toml"), &format!("{head}{agents}"));
            let found = found.map_err(|error| error.to_string());
            match (found, expected) {
                (Ok(found), Ok(expected)) => {
                    let found: Vec<_> = found
                        .agents
                        .iter()
                        .map(|agent| {
                            let price = agent.price.map(|price| price.input);
                            (agent.name.as_str(), agent.model.as_deref(), price)
                        })
                        .collect();
                    assert_eq!(found, expected, "{agents}");
                }
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{agents}: {found}"),
                (found, _) => panic!("{agents}: {found:?}"),
            }
        };
        let prices = "[prices.\"openai:b\"]\ninput = 1.0\noutput = 2.0\n";
        check("[[agents]]\nname = \"nop\"\n", Ok(&[("nop", None, None)]));
        check(
            &format!(
                "[[agents]]\nnames = [\"loop\", \"codex\"]\nmodels = [\"openai:a\", \"openai:b\"]\n{prices}"
            ),
            Ok(&[
                ("loop", Some("openai:a"), None),
                ("loop", Some("openai:b"), Some(1.0)),
                ("codex", Some("openai:a"), None),
                ("codex", Some("openai:b"), Some(1.0)),
            ]),
        );
        check(
            &format!(
                "[[agents]]\nname = \"loop\"\nmodel = \"openai:b\"\nprice = {{ input = 3.0, output = 4.0 }}\n{prices}"
            ),
            Ok(&[("loop", Some("openai:b"), Some(3.0))]),
        );
        check("[[agents]]\nmodel = \"openai:a\"\n", Err("an agent has no `name`"));
        let versions = "names = [\"codex\", \"codex@0.1.0\"]\nmodel = \"openai:a\"\n";
        let both = [("codex", Some("openai:a"), None); 2];
        check(&format!("[[agents]]\n{versions}"), Ok(&both));
        check("[[agents]]\nname = \"codex@latest\"\n", Err("not an exact version"));
        check("[[agents]]\nname = \"loop@2\"\nmodel = \"a:b\"\n", Err("its version cannot be chosen"));
        check("[[agents]]\nname = \"nop\"\nnames = [\"nop\"]\n", Err("either `name` or `names`"));
        check(
            "[[agents]]\nname = \"loop\"\nmodel = \"a:b\"\nmodels = [\"a:b\"]\n",
            Err("either `model` or `models`"),
        );
        check("[[agents]]\nname = \"loop\"\nmodels = [\"a:b\", \"a:b\"]\n", Err("duplicate agent"));
        check(
            &format!("[[agents]]\nname = \"loop\"\nmodel = \"a:b\"\n{prices}"),
            Err("no agent uses that model"),
        );
    }

    #[test]
    fn metrics_are_read_with_the_defaults_of_their_source() {
        let check = |table: &str, expected: Result<&str, &str>| {
            let found = Experiment::parse(Path::new("e.toml"), &format!("{WHOLE}{table}"));
            match (found, expected) {
                (Ok(found), Ok(expected)) => {
                    assert_eq!(found.metrics, [expected.parse::<MetricSpec>().unwrap()], "{table}");
                }
                (Err(found), Err(expected)) => assert_eq!(found.to_string(), expected, "{table}"),
                (found, _) => panic!("{table}: {found:?}"),
            }
        };
        check("[metrics.cost_usd]\nguard = 1.1\n", Ok("cost_usd,guard=1.1"));
        check("[metrics.turns]\nscale = \"linear\"\nmargin = 2\n", Ok("turns,linear,margin=2"));
        check(
            "[metrics.\"reward:speed\"]\ndirection = \"higher\"\nunit = \"MB/s\"\n",
            Ok("reward:speed,higher,unit=MB/s"),
        );
        check(
            "[metrics.speed]\nsource = \"reward:speed\"\n",
            Err("e.toml:22:1: the metric \"speed\" needs a direction: `lower` or `higher` is better"),
        );
        check(
            "[metrics.turns]\nguard = 0.9\n",
            Err("e.toml:22:1: the guard of the metric \"turns\" must be a ratio above 1, such as 1.1"),
        );
        check("[metrics.\"pass^3\"]\nmargin = 0.1\n", Ok("pass^3,margin=0.1"));
        check(
            "[metrics.\"pass@6\"]\n",
            Err(
                "e.toml:22:1: the metric \"pass@6\" needs 6 trials of each task under each condition, and `repetitions` is 5",
            ),
        );
        check(
            "[metrics.turns]\nlimit = 2\n",
            Err(
                "e.toml:23:1: unknown key `limit`: known keys are source, unit, direction, scale, margin, guard",
            ),
        );
    }

    #[test]
    fn conditions_have_settings_of_their_own() {
        let parse = |conditions: &str, tables: &str| {
            let text = WHOLE.replace(r#"["none", "curated"]"#, conditions) + tables;
            Experiment::parse(Path::new("e.toml"), &text)
        };
        let tables =
            "[condition.none]\nrepetitions = 9\n[condition.told]\nis = \"curated\"\ndisclosure = \"told\"\n";
        let found = parse(r#"["none", "curated", "told"]"#, tables).unwrap();
        let settings = |name: &'static str| {
            (found.condition_of(name), found.disclosure_of(name), found.repetitions_of(name))
        };
        let offered = Disclosure::Offered;
        assert_eq!(settings("none"), ("none", offered, 9));
        assert_eq!(settings("curated"), ("curated", offered, 5));
        assert_eq!(settings("told"), ("curated", Disclosure::Told, 5));
        assert_eq!(found.most_repetitions(), 9);

        let check = |conditions: &str, table: &str, expected: &str| {
            assert_eq!(parse(conditions, table).unwrap_err().to_string(), expected, "{table}");
        };
        let two = r#"["none", "curated"]"#;
        check(
            two,
            "[condition.plain]\nrepetitions = 2\n",
            "e.toml:22:1: `[condition.plain]` is not in `conditions`",
        );
        check(
            two,
            "[condition.curated]\nis = \"plain\"\n",
            "e.toml:22:1: \"curated\" is a condition already: give the one with `is` another name",
        );
        check(
            two,
            "[condition.none]\nrepetitions = 0\n",
            "e.toml:22:1: `repetitions` of the condition \"none\" must be between 1 and 10000",
        );
        let unknown = parse(r#"["none", "x"]"#, "[condition.x]\nis = \"y\"\n").unwrap_err().to_string();
        assert!(
            unknown.starts_with("e.toml:5:14: unknown condition \"y\": expected one of none, "),
            "{unknown}"
        );
        check(
            r#"["none", "a b"]"#,
            "[condition.\"a b\"]\nis = \"plain\"\n",
            "e.toml:22:1: \"a b\" is not a name: use letters, digits, `-`, `_` and `.`, at most 80",
        );
    }

    #[test]
    fn mistakes_are_reported_with_their_position() {
        let check = |from: &str, to: &str, expected: &str| {
            let text = WHOLE.replacen(from, to, 1);
            assert_ne!(text, WHOLE, "{from}");
            let error = Experiment::parse(Path::new("e.toml"), &text).unwrap_err().to_string();
            assert!(error.contains(expected), "{from} → {to}: {error}");
        };
        check(
            "assay.experiment/1",
            "assay.experiment/2",
            "e.toml:1:10: unsupported schema \"assay.experiment/2\"",
        );
        check("\"quickstart\"", "\"../up\"", "e.toml:2:8: `name` becomes a folder");
        check("[\"tasks/*\"]", "[]", "e.toml:3:9: `suite` names no task");
        check("\"curated\"]", "\"currated\"]", "e.toml:5:14: unknown condition \"currated\"");
        check("\"curated\"]", "\"version\"]", "e.toml:5:14: the condition \"version\" needs an argument");
        check("\"curated\"]", "\"plain:x\"]", "e.toml:5:14: the condition \"plain\" takes no argument");
        check("\"curated\"]", "\"none\"]", "duplicate condition");
        check("repetitions = 5", "repetitions = 0", "e.toml:6:15: `repetitions` must be between");
        check("margin = 0.10", "margin = 0.0", "e.toml:8:10: `margin` must be");
        check("margin = 0.10", "margin = nan", "`margin` must be");
        check("\"none\"\nconc", "\"some\"\nconc", "`network` must be \"none\"");
        check("timeout = 300", "timeout = -1", "must be above 0");
        check(
            "timeout = 300",
            "timeuot = 300",
            "e.toml:15:1: unknown key `timeuot`: did you mean `timeout`?",
        );
        check("name = \"loop\"", "name = \"lop\"", "unknown agent \"lop\"");
        check("model = \"scripted:turns.jsonl\"", "", "needs a model");
        check("kind = \"bubblewrap\"", "kind = \"firejail\"", "`[sandbox]` takes `kind`");
        for models in ["[]", "[\" \"]", "[\"openai:one\", \"\"]"] {
            let key = format!("seed = 1\nselected_by = {models}");
            check("seed = 1", &key, "e.toml:8:15: `selected_by` must list the models");
        }
        check("seed = 1", "seed = = 1", "e.toml:7:");
    }

    #[test]
    fn all_mistakes_are_reported_at_their_lines() {
        let changes = [
            ("assay.experiment/1", "assay.experiment/0"),
            ("\"curated\"]", "\"currated\"]"),
            ("repetitions = 5", "repetitions = 0"),
            ("margin = 0.10", "mragin = 0.10"),
            ("concurrency = 2", "concurrency = \"two\""),
            ("name = \"loop\"", "name = \"lop\""),
            ("timeout = 300", "timeout = -1"),
            ("kind = \"bubblewrap\"", "kind = \"firejail\""),
        ];
        let mut text = WHOLE.to_owned();
        for (from, to) in changes {
            text = text.replacen(from, to, 1);
        }
        let error = Experiment::parse(Path::new("e.toml"), &text).unwrap_err().to_string();
        let places: Vec<&str> =
            error.lines().map(|line| line.split(' ').next().unwrap_or_default()).collect();
        let expected = ["1:10", "5:14", "6:15", "8:1", "10:15", "13:1", "15:1", "18:1"];
        let expected = expected.map(|place| format!("e.toml:{place}:"));
        assert_eq!(places, expected, "{error}");
    }
}
