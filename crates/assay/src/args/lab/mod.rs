//! What `assay lab` takes: experiments on assay itself and on published methods.

pub(crate) mod bench;
pub(crate) mod corpus;
pub(crate) mod cta;
pub(crate) mod health;
pub(crate) mod route;
pub(crate) mod search;
pub(crate) mod self_test;
pub(crate) mod simulate;

use clap::Subcommand;

use self::bench::BenchArgs;
use self::corpus::CorpusArgs;
use self::cta::CtaArgs;
use self::health::HealthArgs;
use self::route::LabRouteArgs;
use self::search::LabSearchArgs;
use self::self_test::SelfTestArgs;
use self::simulate::SimulateArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) what: LabWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabWhat {
    /// Simulate suites with known effects and count verdicts
    Simulate(SimulateArgs),
    /// Measure the cost and the error rates of assay itself
    Bench(BenchArgs),
    /// Evaluate, train and probe retrievers
    Search(LabSearchArgs),
    /// Evaluate routers on labelled requests
    Route(LabRouteArgs),
    /// Build, deduplicate and summarize skill corpora
    Corpus(CorpusArgs),
    /// Score the documents of a library by a published script
    Health(HealthArgs),
    /// Audit traces with the published Counterfactual Trace Auditor
    #[command(name = "cta-2026")]
    Cta(CtaArgs),
    /// Measure the error rates of lint's safety rules
    SelfTest(SelfTestArgs),
}
