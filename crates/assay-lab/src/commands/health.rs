//! `assay lab health`: scores of a library's documents by the rules of a published script.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_corpus::health::context_engineering::{self, Revision};
use assay_corpus::health::history::{self, Line, Trend};
use assay_corpus::health::links::{self, LinkCheck};
use assay_corpus::health::{Health, SkillHealth};
use assay_report::clean;
use assay_skill::Library;
use assay_skill::corpus::gather;
use serde::Serialize;

use crate::args::health::{HealthArgs, Profile, ScriptRevision};
use crate::failure::health_failure;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// What `--format json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    profile: &'a str,
    corpus_score: f64,
    flagged: usize,
    skills: &'a [SkillHealth],
    #[serde(skip_serializing_if = "Option::is_none")]
    trend: Option<&'a Trend>,
    #[serde(skip_serializing_if = "Option::is_none")]
    urls: Option<&'a [LinkCheck]>,
}

pub(super) fn run(args: &HealthArgs, ui: &Ui) -> Result<Status, Failure> {
    let health = scored(args, ui)?;
    let urls = args.check_urls.then(|| {
        let library = Library::load(&[skills(&args.dir)]);
        let addresses: BTreeSet<String> = library.packages.iter().flat_map(links::addresses).collect();
        links::check_links(&addresses, Duration::from_secs(args.url_timeout))
    });
    let trend =
        args.history.as_deref().map(|path| append_history(path, &args.dir, &health)).transpose()?.flatten();
    if ui.json() {
        ui.document(&Document {
            schema: "assay.health/1",
            profile: &health.profile,
            corpus_score: health.corpus_score,
            flagged: health.flagged,
            skills: &health.skills,
            trend: trend.as_ref(),
            urls: urls.as_deref(),
        })?;
    } else {
        ui.out(&render_health(&health, trend.as_ref(), urls.as_deref()))?;
    }
    Ok(if args.strict && health.flagged > 0 { Status::DidNotHold } else { Status::Done })
}

/// The folder that holds the skills.
fn skills(dir: &Path) -> PathBuf {
    Some(dir.join("skills")).filter(|skills| skills.is_dir()).unwrap_or_else(|| dir.to_path_buf())
}

fn scored(args: &HealthArgs, ui: &Ui) -> Result<Health, Failure> {
    let revision = match (args.revision, args.profile) {
        (Some(ScriptRevision::SixLines), _) | (None, Profile::Six) => Some(Revision::V230),
        (Some(ScriptRevision::EightLines), _) => Some(Revision::EightByLines),
        (Some(ScriptRevision::EightYaml), _) | (None, Profile::Eight) => Some(Revision::Hardened),
        (None, Profile::ContextEngineering) => None,
    };
    let (health, warnings) =
        context_engineering::check(&args.dir, args.fixtures.as_deref(), revision).map_err(health_failure)?;
    for warning in warnings {
        ui.note(&format!("warning: {warning}"));
    }
    Ok(health)
}

/// Adds a line to the history; what changed since the last one of the same profile.
fn append_history(path: &Path, dir: &Path, health: &Health) -> Result<Option<Trend>, Failure> {
    let failed = |error: std::io::Error| Failure::BadInput {
        message: format!("cannot keep the history {}", path.display()),
        hint: Some("name a file in a folder that exists".to_owned()),
        source: Some(error.into()),
        details: Vec::new(),
    };
    let line = Line::of(health, jiff::Timestamp::now().to_string(), gather::revision(dir));
    let trend = history::last(path, &health.profile).map_err(failed)?.map(|last| line.since(&last));
    history::append(path, &line).map_err(failed)?;
    Ok(trend)
}

/// The trend in words.
fn changes(trend: &Trend) -> String {
    let revision = trend.revision.as_deref().unwrap_or("no revision");
    let mut text =
        format!("\nsince {} ({}): corpus {:+.4}\n", trend.since, clean(revision), trend.corpus_score);
    for (name, change) in &trend.changed {
        text.push_str(&format!("  {}  {change:+.4}\n", clean(name)));
    }
    let lists = [("edited, same score", &trend.edited), ("added", &trend.added), ("removed", &trend.removed)];
    for (what, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
        text.push_str(&format!("  {what}: {}\n", clean(&names.join(", "))));
    }
    text
}

fn render_health(health: &Health, trend: Option<&Trend>, urls: Option<&[LinkCheck]>) -> String {
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
    if let Some(trend) = trend {
        text.push_str(&changes(trend));
    }
    if let Some(urls) = urls {
        let dead: Vec<&LinkCheck> = urls.iter().filter(|asked| !asked.alive()).collect();
        text.push_str(&format!("\n{} external links, {} without an answer\n", urls.len(), dead.len()));
        for asked in dead {
            let why = asked.status.map_or_else(|| asked.error.clone().unwrap_or_default(), |s| s.to_string());
            text.push_str(&format!("  {}: {}\n", clean(&asked.url), clean(&why)));
        }
    }
    text.push_str("\nA lint score: it has not been correlated with what skills do for agents.\n");
    text
}
