//! `assay trace stats`: transcripts in figures.

use std::fs;
use std::path::{Path, PathBuf};

use assay_report::{clean, seconds};
use assay_skill::Package;
use assay_trace::{Counting, OfferedSkill, Prices, Sessions, Stats, Tally, stats_of};
use serde_json::{Value, json};

use super::{Inputs, Troubles};
use crate::failure::{Failure, Status};
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub(super) struct StatsArgs {
    #[command(flatten)]
    inputs: Inputs,
    /// A skill whose way to the agent is to be told: its folder or its SKILL.md; may be given several times
    #[arg(long = "skill", value_name = "SKILL")]
    skills: Vec<PathBuf>,
    /// The transcripts are controls: say which are contaminated by a skill
    #[arg(long, requires = "skills")]
    control: bool,
    /// What tokens cost: a TOML file with [[price]] tables of model, from (a day), input, output, cache_read and cache_write, in USD
    /// per million
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

pub(super) fn run(args: &StatsArgs, ui: &Ui) -> Result<Status, Failure> {
    let reader = args.inputs.reader()?;
    let packages = args.skills.iter().map(|path| package(path)).collect::<Result<Vec<_>, _>>()?;
    let files: Vec<Vec<String>> = packages.iter().map(files).collect();
    let skills: Vec<OfferedSkill<'_>> =
        packages.iter().zip(&files).map(|(package, files)| offered(package, files)).collect();
    let prices = args.prices.as_deref().map(prices).transpose()?;
    let mut troubles = Troubles::default();
    let mut sessions = Sessions::default();
    let (mut total, mut traces) = (Tally::default(), Vec::new());
    for path in args.inputs.paths() {
        let mut stats = match stats_of(&path, reader, &skills) {
            Ok(stats) => stats,
            Err(error) => {
                troubles.unread(&error, ui);
                continue;
            }
        };
        let repeated = sessions.repeated(stats.session_id.as_deref(), stats.started_at, &stats.file);
        if repeated.is_none() {
            total.add(&stats.tally);
        }
        let duplicate = repeated.is_some();
        stats.diagnostics.extend(repeated);
        troubles.tell(&stats.diagnostics, ui);
        let cost = cost(&stats, prices.as_ref());
        if ui.json() {
            traces.push(document(&stats, cost, duplicate, args.control)?);
        } else {
            ui.out(&lay_out(&stats, cost, args.control))?;
        }
    }
    if ui.json() {
        let total = json!({ "tokens": total.usage, "counted": counted(&total) });
        ui.document(&json!({ "schema": "assay.trace-stats/1", "traces": traces, "total": total }))?;
    } else {
        ui.out(&format!("all sessions, each once\n{}", tokens(&total)))?;
    }
    Ok(troubles.status(args.inputs.strict))
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

pub(in crate::commands) fn prices(path: &Path) -> Result<Prices, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", path.display())))?;
    toml::from_str(&text).map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))
}

/// What the session cost: what its log says, else what the tokens cost by the prices given; `None` where nobody knows.
fn cost(stats: &Stats, prices: Option<&Prices>) -> Option<f64> {
    let computed = prices.and_then(|prices| {
        let day = stats.started_at?.to_zoned(jiff::tz::TimeZone::UTC).date();
        prices.cost(stats.agent.model_name.as_deref()?, day, &stats.tally.usage)
    });
    computed.or(stats.final_metrics.as_ref().and_then(|sums| sums.total_cost_usd))
}

fn counted(tally: &Tally) -> Value {
    Counting::ALL.into_iter().map(|way| (way.name().to_owned(), Value::from(tally.tokens(way)))).collect()
}

fn document(stats: &Stats, cost: Option<f64>, duplicate: bool, control: bool) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(stats)
        .map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))?;
    if let Some(map) = value.as_object_mut() {
        map.insert("tokens".to_owned(), json!(stats.tally.usage));
        map.insert("counted".to_owned(), counted(&stats.tally));
        map.insert("cost_usd".to_owned(), json!(cost));
        map.insert("duplicate".to_owned(), duplicate.into());
        if control {
            let contaminated = stats.skills.iter().any(|skill| skill.contamination.is_some());
            map.insert("contaminated".to_owned(), contaminated.into());
        }
        for key in ["tally", "final_metrics"] {
            map.shift_remove(key);
        }
    }
    Ok(value)
}

fn lay_out(stats: &Stats, cost: Option<f64>, control: bool) -> String {
    let model =
        stats.agent.model_name.as_deref().map_or(String::new(), |model| format!(" with {}", clean(model)));
    let took = stats.seconds.map_or(String::new(), |took| format!(", {}", seconds(took)));
    let cost = cost.map_or(String::new(), |cost| format!(", {cost:.4} USD"));
    let tools: Vec<String> =
        stats.tools.iter().map(|(tool, count)| format!("{} {count}", clean(tool))).collect();
    let mut text = format!(
        "{}\n  {} {}{model}, format {}\n  {} steps, {} turns, {} calls of which {} failed{}{took}{cost}\n",
        clean(&stats.file),
        clean(&stats.agent.name),
        clean(&stats.agent.version),
        stats.format,
        stats.steps,
        stats.turns,
        stats.calls,
        stats.failed_calls,
        if stats.sub_agents > 0 { format!(", {} sub-agents", stats.sub_agents) } else { String::new() },
    );
    if !tools.is_empty() {
        text.push_str(&format!("  tools: {}\n", tools.join(", ")));
    }
    text.push_str(&tokens(&stats.tally));
    for skill in &stats.skills {
        let facts = &skill.exposure;
        let at = |step: Option<usize>| step.map_or_else(|| "never".to_owned(), |step| format!("step {step}"));
        let executed = facts.executed.as_ref();
        text.push_str(&format!(
            "  skill {}: listed {}, touched {}, opened {} ({} of {} lines), executed {}\n",
            clean(&facts.skill),
            at(facts.advertised),
            at(facts.touched),
            at(facts.opened),
            skill.body.ingested,
            skill.body.lines,
            executed.map_or_else(
                || "never".to_owned(),
                |run| format!("step {} ({})", run.step, clean(&run.file))
            ),
        ));
        if let Some(how) = skill.contamination.filter(|_| control) {
            text.push_str(&format!(
                "  contaminated: the control had {}, which was {how}\n",
                clean(&facts.skill)
            ));
        }
    }
    text
}

/// Tokens by every way of counting, the right one first.
fn tokens(tally: &Tally) -> String {
    let usage = tally.usage;
    let mut text = format!(
        "  tokens: {} input, {} output, {} cache read, {} cache write in {} messages\n",
        usage.input, usage.output, usage.cache_read, usage.cache_write, tally.messages
    );
    if tally.records != tally.messages {
        let ways: Vec<String> =
            Counting::ALL.into_iter().map(|way| format!("{} {}", way.name(), tally.tokens(way))).collect();
        text.push_str(&format!("  counted: {}\n", ways.join(", ")));
    }
    text
}
