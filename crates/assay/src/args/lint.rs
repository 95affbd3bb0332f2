//! What `assay lint` takes.

use assay_lint::client::Client;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;

/// What can be typed.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[command(
    after_help = "More formats: sarif, junit, github\n\n\
                  Exit status: 0 no errors, 1 errors (or warnings that --deny or --max-warnings does not accept), 2 bad usage",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct LintArgs {
    #[command(subcommand)]
    pub(crate) what: Option<LintWhat>,
    /// Packages, libraries, repositories, or single documents
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The clients that count; may be given several times [default: all]
    #[arg(long = "client", value_name = "CLIENT", value_parser = PossibleValuesParser::new(assay_lint::client::CLIENTS.map(Client::name)))]
    pub(crate) clients: Vec<String>,
    /// Report only these rules: a code, its beginning, `safety`, or `all`, rules that are off by default among them; may be given several times
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Do not report these rules; named as for --select
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// Report what comments and [[lint.allow]] suppress, too
    #[arg(long)]
    pub(crate) ignore_suppressions: bool,
    /// Fail on warnings, too
    #[arg(long, value_name = "WHAT")]
    pub(crate) deny: Option<Deny>,
    /// Fail on more than N warnings
    #[arg(long, value_name = "N")]
    pub(crate) max_warnings: Option<usize>,
    /// Read the configuration from FILE, whichever assay.toml there is
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) config: Option<PathBuf>,
    /// Read no assay.toml for the rules
    #[arg(long)]
    pub(crate) no_config: bool,
    /// Exit with 0 where every skill is excluded, as when a hook passes changed files
    #[arg(long)]
    pub(crate) allow_excluded: bool,
    /// Fix what is safe to fix, then report what is left
    #[arg(long)]
    pub(crate) fix: bool,
    /// Report only findings that are not in FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write the findings of this run to the baseline, new or not, and accept them
    #[arg(long, requires = "baseline")]
    pub(crate) update_baseline: bool,
    /// Show every finding with its excerpt, however many there are
    #[arg(long)]
    pub(crate) full: bool,
    /// The model's context window, which clients' listings of skills depend on; 0: not known [default: 200000]
    #[arg(long, value_name = "TOKENS", value_parser = parse_window)]
    pub(crate) context_window: Option<usize>,
    /// Count the packages in which each rule finds something, instead of reporting findings
    #[arg(long)]
    pub(crate) stats: bool,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum LintWhat {
    /// Explain a rule: what it finds, for which clients, who says so, and how to fix it
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

/// What can be typed.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// A rule's code; the beginning of codes, `safety` or `all` list the rules [default: all]
    #[arg(value_name = "RULE")]
    pub(crate) rule: Option<String>,
}
