//! What `assay lint` takes.

use assay_lint::client::Client;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;

/// Lint skills: per-client validity, safety and quality rules
///
/// Reports what each client does with a skill, whether it is safe to install, and how it can be improved. Nothing is
/// executed. Besides terminal and json, --format takes sarif, junit and github. Exits with 1 on errors, and on warnings
/// that --deny or --max-warnings does not accept.
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
pub(crate) struct LintArgs {
    #[command(subcommand)]
    pub(crate) what: Option<LintWhat>,
    /// Skill packages, libraries, repositories, or single SKILL.md files
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Lint for this client; repeatable [default: all]
    #[arg(long = "client", value_name = "CLIENT", value_parser = PossibleValuesParser::new(assay_lint::client::CLIENTS.map(Client::name)))]
    pub(crate) clients: Vec<String>,
    /// Report only these rules; repeatable
    ///
    /// RULE is a code, the beginning of one, `safety`, or `all` (also rules that are off by default).
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Do not report these rules, named as for --select
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// Report suppressed findings as well
    #[arg(long)]
    pub(crate) ignore_suppressions: bool,
    /// Exit with 1 on warnings as well
    #[arg(long, value_name = "WHAT")]
    pub(crate) deny: Option<Deny>,
    /// Exit with 1 on more than N warnings
    #[arg(long, value_name = "N")]
    pub(crate) max_warnings: Option<usize>,
    /// Read the configuration from FILE instead of assay.toml
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) config: Option<PathBuf>,
    /// Ignore assay.toml
    #[arg(long)]
    pub(crate) no_config: bool,
    /// Exit with 0 if every skill is excluded
    #[arg(long)]
    pub(crate) allow_excluded: bool,
    /// Apply safe fixes, then report the rest
    #[arg(long)]
    pub(crate) fix: bool,
    /// Report only findings that are not in FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write all findings to the baseline file and accept them
    #[arg(long, requires = "baseline")]
    pub(crate) update_baseline: bool,
    /// Show every finding with its excerpt
    #[arg(long)]
    pub(crate) full: bool,
    /// Context window of the model; 0 if unknown [default: 200000]
    ///
    /// Clients limit their list of skills by it.
    #[arg(long, value_name = "TOKENS", value_parser = parse_window)]
    pub(crate) context_window: Option<usize>,
    /// Count the packages with findings of each rule
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

/// A context window: 0 where it is not known, else one that a model could have.
pub(crate) fn parse_window(text: &str) -> Result<usize, String> {
    let least = assay_lint::Budgets::LEAST_WINDOW;
    let tokens = text.parse::<usize>().ok().filter(|tokens| *tokens == 0 || *tokens >= least);
    tokens.ok_or_else(|| format!("expected 0, or a whole number of tokens from {least}"))
}

/// Explain a rule
///
/// Shows what it finds, in which clients, its sources, and how to fix a finding. docs/RULES.md has all rules.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lint explain name-mismatch
  assay lint explain safety")]
pub(crate) struct ExplainArgs {
    /// A rule's code; the beginning of one, `safety` or `all` lists rules [default: all]
    #[arg(value_name = "RULE")]
    pub(crate) rule: Option<String>,
}
