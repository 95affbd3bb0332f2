//! Errors in single values of an experiment.

use assay_agent::cli_agents::InexactVersion;
use assay_gateway::HostsError;

/// An error in one value of an experiment. The reader of the file adds the position.
#[derive(Debug, thiserror::Error)]
pub(super) enum Mistake {
    #[error("set either `{one}` or `{several}` for an agent, not both")]
    Both { one: &'static str, several: &'static str },
    #[error("an agent has no `name`")]
    NoName,
    #[error(transparent)]
    InexactVersion(#[from] InexactVersion),
    #[error("the agent {0:?} is built in: its version cannot be chosen")]
    NoVersion(String),
    #[error("`{key}` has no effect for the agent {agent:?}: {why}")]
    KeyWithoutEffect { agent: String, key: &'static str, why: &'static str },
    #[error(
        "`server` is {0:?}, which is not a name: use letters, digits, `-`, `_` and `.`, at most 80; an address belongs in `base_url`"
    )]
    ServerName(String),
    #[error("`primary` is {0:?}, which is the baseline: name a condition that is compared with it")]
    PrimaryIsBaseline(String),
    #[error("`primary` is {0:?}, which `conditions` does not list")]
    PrimaryIsNotListed(String),
    #[error("`primary` must be the name of a condition, or false")]
    Primary,
    #[error("`[condition.{0}]` is not in `conditions`")]
    ConditionIsNotListed(String),
    #[error("{0:?} is a condition already: give the one with `is` another name")]
    ConditionHides(String),
    #[error("{0:?} is not a name: use letters, digits, `-`, `_` and `.`, at most 80")]
    ConditionName(String),
    #[error("`repetitions` of the condition {name:?} must be between 1 and {most}")]
    ConditionRepetitions { name: String, most: u32 },
    #[error(
        "`[stopping]` needs `repetitions` of at least {fewest}, not {repetitions}: with fewer, rounds save no trials at equal power. Without it all comparisons are decided once, at the end"
    )]
    FewRounds { repetitions: u32, fewest: u32 },
    #[error("`[stopping]` needs a second condition to compare with the baseline")]
    NothingToDecide,
    #[error(
        "`[stopping]` needs equal repetitions of all conditions: remove `repetitions` from `[condition.{0}]`"
    )]
    UnequalRounds(String),
    #[error("`max_repetitions` must be between {repetitions} and {most}: at least `repetitions`")]
    Rounds { repetitions: u32, most: u32 },
    #[error(
        "`more_tasks` must be between {fewest} and {most}: so many tasks of the suite take part in no round, and a comparison that the rounds leave open is decided with them"
    )]
    MoreTasks { fewest: u32, most: u32 },
    #[error("`[judge]` needs at least one model, such as `models = [\"openai:gpt-5\"]`")]
    NoJudge,
    #[error("`[judge]` lists {0:?} twice: `repeats` asks one judge several times")]
    JudgeTwice(String),
    #[error("`repeats` of `[judge]` must be between 1 and {0}")]
    JudgeRepeats(u32),
    #[error("`material` of `[judge]` is empty: use answer, workspace, diff or trajectory")]
    NoMaterial,
    #[error(
        "`[judge]` needs `max_turns` of at least 1 and a `timeout` above 0 and at most 86,400 seconds (a day)"
    )]
    JudgeLimits,
    #[error("unknown sandbox {0:?}: expected auto, bubblewrap, docker or none")]
    NoSandbox(String),
    #[error(
        "`[sandbox]` takes `kind` (auto, bubblewrap, docker or none), `roots`, `images`, `pull`, `build_network` and `drop_login_mounts`: {}",
        assay_diagnostic::reword_serde(.0.message())
    )]
    SandboxTable(Box<toml::de::Error>),
    #[error("`sandbox` must be auto, bubblewrap, docker or none, or a table with `kind` and `roots`")]
    Sandbox,
    #[error("`network` must be \"none\", \"public\" or a list of hosts")]
    Network,
    #[error(transparent)]
    Hosts(#[from] HostsError),
}
