//! `assay health`: how the documents of a library fare by a profile's rules.

use std::path::PathBuf;

use assay_corpus::health::context_engineering::{self, HealthError, Revision};
use assay_corpus::health::{Health, SkillHealth};
use assay_report::clean;
use clap::ValueEnum;
use serde::Serialize;

use crate::failure::{Failure, Status};
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct HealthArgs {
    /// The library: a folder of skills, or one that holds it as `skills`
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Claims, mechanisms and activation cases of the library [default: DIR/researcher]
    #[arg(long, value_name = "DIR")]
    fixtures: Option<PathBuf>,
    /// By whose rules
    #[arg(long, value_name = "NAME", default_value = "context-engineering")]
    profile: Profile,
    /// Exit with 1 when a skill is flagged
    #[arg(long)]
    strict: bool,
}

/// By whose rules health is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Profile {
    /// The script of the context-engineering collection, in the revision that the library was written for
    ContextEngineering,
    /// The same, with its six sections of release 2.3.0
    #[value(name = "context-engineering-6")]
    Six,
    /// The same, with its eight sections of later
    #[value(name = "context-engineering-8")]
    Eight,
}

/// What `--format json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    profile: &'a str,
    corpus_score: f64,
    flagged: usize,
    skills: &'a [SkillHealth],
}

pub(crate) fn run(args: &HealthArgs, ui: &Ui) -> Result<Status, Failure> {
    let revision = match args.profile {
        Profile::ContextEngineering => None,
        Profile::Six => Some(Revision::V230),
        Profile::Eight => Some(Revision::Hardened),
    };
    let (health, warnings) = context_engineering::check(&args.dir, args.fixtures.as_deref(), revision)?;
    for warning in warnings {
        ui.note(&format!("warning: {warning}"));
    }
    if ui.json() {
        ui.document(&Document {
            schema: "assay.health/1",
            profile: &health.profile,
            corpus_score: health.corpus_score,
            flagged: health.flagged,
            skills: &health.skills,
        })?;
    } else {
        ui.out(&lay_out(&health))?;
    }
    Ok(if args.strict && health.flagged > 0 { Status::DidNotHold } else { Status::Done })
}

fn lay_out(health: &Health) -> String {
    let mut text = format!(
        "corpus {:.4}, {} of {} flagged; {}\n\n",
        health.corpus_score,
        health.flagged,
        health.skills.len(),
        health.profile
    );
    let width = health.skills.iter().map(|skill| clean(&skill.name).chars().count()).max().unwrap_or(0);
    for skill in &health.skills {
        let flag = if skill.flagged { "flag" } else { "ok" };
        text.push_str(&format!("{flag:4}  {:width$}  {:.4}", clean(&skill.name), skill.score));
        if !skill.reasons.is_empty() {
            text.push_str(&format!("  {}", clean(&skill.reasons.join("; "))));
        }
        text.push('\n');
    }
    text.push_str("\nA lint score: it has not been correlated with what skills do for agents.\n");
    text
}

impl From<HealthError> for Failure {
    fn from(error: HealthError) -> Self {
        let message = error.to_string();
        match error {
            HealthError::NoSkills { .. } => {
                Self::bad_input(message).hint("name a folder whose folders hold SKILL.md")
            }
            HealthError::Read { source, .. } => {
                Self::BadInput { message, hint: None, source: Some(source.into()), details: Vec::new() }
            }
        }
    }
}
