//! What `assay lab` takes: experiments on assay itself and on published methods.

pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod corpus;
pub(crate) mod cta;
pub(crate) mod draft;
pub(crate) mod health;
pub(crate) mod judge;
pub(crate) mod replay;
pub(crate) mod route;
pub(crate) mod scale;
pub(crate) mod search;
pub(crate) mod self_test;
pub(crate) mod simulate;
pub(crate) mod taxonomy;

use clap::Subcommand;

use self::audit::LabAuditArgs;
use self::bench::BenchArgs;
use self::corpus::CorpusArgs;
use self::cta::CtaArgs;
use self::draft::LabDraftArgs;
use self::health::HealthArgs;
use self::judge::LabJudgeArgs;
use self::replay::ReplayArgs;
use self::route::LabRouteArgs;
use self::scale::ScaleArgs;
use self::search::LabSearchArgs;
use self::self_test::SelfTestArgs;
use self::simulate::SimulateArgs;
use self::taxonomy::TaxonomyArgs;

/// Evaluate assay itself and reproduce published results
///
/// For developers of assay and researchers. No command here is needed to evaluate a skill. docs/lab
/// has the results.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay lab simulate --suites 4000
  assay lab search bench --corpus corpus.jsonl --queries queries.jsonl")]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) what: LabWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabWhat {
    Simulate(SimulateArgs),
    Replay(ReplayArgs),
    Draft(LabDraftArgs),
    Judge(LabJudgeArgs),
    Bench(BenchArgs),
    Search(LabSearchArgs),
    Route(LabRouteArgs),
    Corpus(CorpusArgs),
    Taxonomy(TaxonomyArgs),
    Audit(LabAuditArgs),
    Health(HealthArgs),
    #[command(name = "cta-2026")]
    Cta(CtaArgs),
    Scale(ScaleArgs),
    SelfTest(SelfTestArgs),
}
