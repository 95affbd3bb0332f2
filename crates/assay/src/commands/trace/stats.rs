//! `assay trace stats`: transcripts in figures.

use std::path::Path;

use assay_report::{may_be_read, session_title, token_lines, trace_cost_words, trace_stats_text};
use assay_skill::Package;
use assay_trace::{
    Cost, Counting, KnownUsage, OfferedSkill, Prices, Stats, Tally, duplicate, fuller, partial_duplicate,
    repeated, stats_of,
};
use serde_json::{Value, json};

use super::input::Troubles;
use crate::args::trace::StatsArgs;
use crate::failure::{Failure, Status};
use crate::prices;
use crate::ui::Ui;

pub(super) fn run(args: &StatsArgs, ui: &Ui) -> Result<Status, Failure> {
    let reader = args.inputs.reader()?;
    let packages = args.skills.iter().map(|path| package(path)).collect::<Result<Vec<_>, _>>()?;
    let files: Vec<Vec<String>> = packages.iter().map(files).collect();
    let skills: Vec<OfferedSkill<'_>> =
        packages.iter().zip(&files).map(|(package, files)| offered(package, files)).collect();
    let prices = args.prices.as_deref().map(prices::read).transpose()?;
    let mut troubles = Troubles::default();
    let mut all = Vec::new();
    for source in args.inputs.sources(&mut troubles, ui) {
        match stats_of(&source, reader, &skills) {
            Ok(stats) => all.extend(stats),
            Err(error) => troubles.unread(&error, ui),
        }
    }
    // Of several snapshots of a session the fullest counts, and it may be the last one.
    let fuller = fuller(&all);
    let repeated = repeated(&all, &fuller);
    let names: Vec<String> = all.iter().map(|stats| session_title(&stats.file, stats.part)).collect();
    // Where some cost is known, that of the others is said to be unknown.
    let is_priced = prices.is_some() || all.iter().any(|stats| stats.cost(None).usd.is_some());
    let mut total = Total::default();
    let mut traces = Vec::new();
    for (at, stats) in all.iter_mut().enumerate() {
        let cost = stats.cost(prices.as_ref());
        if let Some(other) = fuller[at] {
            stats.diagnostics.push(duplicate(&names[at], &names[other]));
        } else {
            let own = &repeated[at];
            total.add(&stats.tally_without(own), stats.cost_without(own, prices.as_ref()));
            let note = own.by.and_then(|other| partial_duplicate(&names[at], own, &names[other]));
            stats.diagnostics.extend(note);
        }
        troubles.report(&stats.diagnostics, ui);
        if ui.json() {
            traces.push(document(stats, cost, fuller[at].is_some(), args.control, prices.as_ref())?);
        } else {
            ui.out(&trace_stats_text(stats, cost, args.control, is_priced))?;
        }
    }
    if ui.json() {
        let total = total.document(!all.is_empty());
        ui.document(&json!({ "schema": "assay.trace-stats/2", "traces": traces, "total": total }))?;
    } else if !all.is_empty() {
        let cost = total.cost().map_or(String::new(), |cost| format!(", {cost}"));
        ui.out(&format!("all sessions, each once{cost}\n{}", token_lines(&total.tally)))?;
    }
    Ok(troubles.status(args.inputs.strict))
}

/// What the sessions add up to.
#[derive(Default)]
struct Total {
    tally: Tally,
    usd: Option<f64>,
    /// Sessions whose cost is unknown, or known in part.
    uncosted: usize,
}

impl Total {
    fn add(&mut self, tally: &Tally, cost: Cost) {
        self.tally.add(tally);
        if let Some(usd) = cost.usd {
            *self.usd.get_or_insert_default() += usd;
        }
        let is_free = cost.usd.is_none() && tally.is_complete() && tally.usage.total() == 0;
        self.uncosted += usize::from(!is_free && (cost.usd.is_none() || cost.is_at_least));
    }

    fn cost(&self) -> Option<String> {
        Some(trace_cost_words(Cost { usd: Some(self.usd?), is_at_least: self.uncosted > 0 }))
    }

    fn document(&self, any: bool) -> Value {
        let counted = if any { count_tokens(&self.tally) } else { Value::Null };
        let tokens = if any { json!(self.tally.known()) } else { Value::Null };
        json!({
            "tokens": tokens,
            "at_least": self.tally.lower_bounds(),
            "counted": counted,
            "cost_usd": self.usd.filter(|_| self.uncosted == 0),
            "cost_usd_at_least": self.usd,
        })
    }
}

pub(in crate::commands) fn package(path: &Path) -> Result<Package, Failure> {
    let folder = if path.file_name().is_some_and(|name| name == "SKILL.md") {
        path.parent().unwrap_or(path)
    } else {
        path
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let loaded = Package::load(folder);
    loaded.package.ok_or_else(|| {
        Failure::bad_input(format!("{} is no skill", path.display()))
            .hint("a skill is a folder with a SKILL.md")
    })
}

fn files(package: &Package) -> Vec<String> {
    package.files.iter().map(|file| file.path.clone()).collect()
}

/// Where a skill lay when the transcript was made is in no transcript.
fn offered<'a>(package: &'a Package, files: &'a [String]) -> OfferedSkill<'a> {
    OfferedSkill {
        name: &package.name,
        description: &package.description,
        body: &package.body,
        mount: "",
        files,
    }
}

/// Tokens by each way of counting; `null` where nothing is known of them.
fn count_tokens(tally: &Tally) -> Value {
    let count = |way| if tally.is_known() { Value::from(tally.tokens(way)) } else { Value::Null };
    Counting::ALL.into_iter().map(|way| (way.name().to_owned(), count(way))).collect()
}

fn document(
    stats: &Stats,
    cost: Cost,
    duplicate: bool,
    control: bool,
    prices: Option<&Prices>,
) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(stats)
        .map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))?;
    if let Some(map) = value.as_object_mut() {
        map.insert("tokens".to_owned(), json!(stats.tally.known()));
        map.insert("at_least".to_owned(), json!(stats.tally.lower_bounds()));
        map.insert("counted".to_owned(), count_tokens(&stats.tally));
        map.insert("cost_usd".to_owned(), json!(cost.usd.filter(|_| !cost.is_at_least)));
        map.insert("cost_usd_at_least".to_owned(), json!(cost.usd));
        let models = stats.models.iter().map(|one| {
            let day = one.day.unwrap_or(jiff::civil::Date::MAX);
            let cost = prices.and_then(|prices| prices.cost(one.model.as_deref()?, day, &one.usage));
            // What the session does not know, its models do not.
            let whole = stats.tally.known();
            let tokens = KnownUsage {
                input: whole.input.map(|_| one.usage.input),
                output: whole.output.map(|_| one.usage.output),
                cache_read: whole.cache_read.map(|_| one.usage.cache_read),
                cache_write: whole.cache_write.map(|_| one.usage.cache_write),
            };
            json!({ "model": one.model, "day": one.day, "tokens": tokens, "cost_usd": cost })
        });
        map.insert("models".to_owned(), models.collect());
        map.insert("duplicate".to_owned(), duplicate.into());
        if control {
            let contaminated = stats.skills.iter().any(|skill| skill.contamination.is_some());
            let contaminated = match contaminated {
                false if stats.skills.iter().any(may_be_read) => Value::Null,
                known => known.into(),
            };
            map.insert("contaminated".to_owned(), contaminated);
        }
        for key in ["tally", "final_metrics"] {
            map.shift_remove(key);
        }
    }
    Ok(value)
}
