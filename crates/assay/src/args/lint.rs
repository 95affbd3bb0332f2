//! What `assay lint` takes.

use assay_lint::client::Client;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;

/// Lint skills: per-client validity, safety and quality rules
///
/// A client is a program that loads or validates skills, such as Claude Code. Lint reports how each
/// client treats a skill, whether the skill is safe to install, and how it can be improved. Nothing
/// is executed.
///
/// Besides terminal and json, --format accepts sarif, junit and github. Exits with 1 if there are
/// errors. Warnings do not affect the exit status, unless --deny warnings or --max-warnings is
/// given.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:
  assay lint skills
  assay lint skills/xlsx --client claude-code --fix
  assay lint explain safety"
)]
pub struct LintArgs {
    #[command(subcommand)]
    pub(crate) what: Option<LintWhat>,
    /// SKILL.md files, or folders that contain skills at any depth
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Report only what concerns this client; repeatable [default: every client]
    ///
    /// `spec` checks against the text of the Agent Skills specification, `skills-ref` is the
    /// specification's reference validator, and `upload` is Anthropic's check of uploaded skills.
    /// `lenient` is any client that follows the specification's guide for implementers.
    /// `claude-code`, `codex`, `gemini-cli` and `opencode` are agents.
    #[arg(long = "client", value_name = "CLIENT", value_parser = PossibleValuesParser::new(assay_lint::client::CLIENTS.map(Client::name)))]
    pub(crate) clients: Vec<String>,
    /// Report only these rules; repeatable, or separated by commas
    ///
    /// RULE is a rule code, a code prefix, the group `safety`, or `all` (including rules that are
    /// off by default).
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Do not report these rules; RULE has the same forms as for --select
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// Report suppressed findings as well
    ///
    /// Findings are suppressed by comments in a skill and by [[lint.allow]] in assay.toml.
    #[arg(long)]
    pub(crate) ignore_suppressions: bool,
    /// Exit with 1 if there are warnings
    #[arg(long, value_name = "WHAT")]
    pub(crate) deny: Option<Deny>,
    /// Exit with 1 if there are more than N warnings
    #[arg(long, value_name = "N")]
    pub(crate) max_warnings: Option<usize>,
    /// Read the configuration from FILE instead of assay.toml
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) config: Option<PathBuf>,
    /// Do not read assay.toml
    #[arg(long)]
    pub(crate) no_config: bool,
    /// Exit with 0 instead of 2 if the configuration excludes every skill
    #[arg(long)]
    pub(crate) allow_excluded: bool,
    /// Apply safe fixes to the files, then report the remaining findings
    #[arg(long)]
    pub(crate) fix: bool,
    /// Report only findings that are not in the baseline FILE
    ///
    /// A baseline lists findings that you accept for now; findings of safety rules are reported all the same, and
    /// [[lint.allow]] in assay.toml accepts them. --update-baseline writes FILE; without it, FILE must exist.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write all current findings to the file of --baseline, and exit with 0; needs --baseline
    #[arg(long, requires = "baseline")]
    pub(crate) update_baseline: bool,
    /// Show every finding with its excerpt, even if the list is long
    #[arg(long)]
    pub(crate) full: bool,
    /// Context window of the model, in tokens; 0 if unknown [default: 200000]
    ///
    /// Some clients limit their list of skills to a share of the context window.
    #[arg(long, value_name = "TOKENS", value_parser = parse_window)]
    pub(crate) context_window: Option<usize>,
    /// Print only a table: for each rule, the number of skills with a finding
    ///
    /// With --stats, findings do not affect the exit status.
    #[arg(long)]
    pub(crate) stats: bool,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum LintWhat {
    Explain(ExplainArgs),
}

/// What fails beside errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Deny {
    /// Any warning
    Warnings,
}

/// A text that is no context window.
#[derive(Debug, Clone, thiserror::Error)]
#[error("expected 0, or a whole number of tokens from {least}")]
pub(crate) struct WindowError {
    least: usize,
}

/// A context window: 0 where it is not known, else one that a model could have.
pub(crate) fn parse_window(text: &str) -> Result<usize, WindowError> {
    let least = assay_lint::Budgets::LEAST_WINDOW;
    let tokens = text.parse::<usize>().ok().filter(|tokens| *tokens == 0 || *tokens >= least);
    tokens.ok_or(WindowError { least })
}

/// Explain a rule, or list the rules of a group
///
/// For one rule, shows what the rule finds, which clients it concerns, its sources, and how to fix
/// a finding. docs/RULES.md has all rules.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lint explain name-mismatch
  assay lint explain safety")]
pub(crate) struct ExplainArgs {
    /// Rule code to explain; or a code prefix, `safety` or `all`, to list rules [default: all]
    #[arg(value_name = "RULE")]
    pub(crate) rule: Option<String>,
}
