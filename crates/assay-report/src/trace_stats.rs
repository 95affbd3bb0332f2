//! Figures of transcripts, for a terminal.

use std::collections::BTreeMap;

use assay_diagnostic::group_digits;
use assay_trace::{Cost, Counting, FIELDS, SkillUse, Stats, Tally};

use crate::text::{clean, counted, seconds};

/// The figures of a session, in lines. With `control`, what a session without the skills must not show is said; a cost
/// that is unknown is said if others are known.
pub fn trace_stats_text(stats: &Stats, cost: Cost, control: bool, is_priced: bool) -> String {
    let model = models(stats).map_or(String::new(), |models| format!(" with {models}"));
    let took = stats.seconds.map_or(String::new(), |took| format!(", {}", seconds(took)));
    let cost =
        if cost.usd.is_some() || is_priced { format!(", {}", trace_cost_words(cost)) } else { String::new() };
    let tools: Vec<String> =
        stats.tools.iter().map(|(tool, count)| format!("{} {count}", clean(tool))).collect();
    let mut text = format!(
        "{}\n  {} {}{model}, format {}\n  {}, {}, {}, {}{}{took}{cost}\n",
        clean(&session_title(&stats.file, stats.part)),
        clean(&stats.agent.name),
        clean(&stats.agent.version),
        stats.format,
        counted(stats.steps, "step", "steps"),
        counted(stats.turns, "turn", "turns"),
        counted(stats.calls, "call", "calls"),
        failures(stats),
        if stats.sub_agents > 0 {
            format!(", {}", counted(stats.sub_agents, "sub-agent", "sub-agents"))
        } else {
            String::new()
        },
    );
    if !tools.is_empty() {
        text.push_str(&format!("  tools: {}\n", tools.join(", ")));
    }
    if let Some(prefix) = &stats.inherited {
        text.push_str(&format!(
            "  inherited: {} of session {}, not counted here\n",
            counted(prefix.records, "record", "records"),
            clean(&prefix.session_id)
        ));
    }
    text.push_str(&token_lines(&stats.tally));
    for skill in &stats.skills {
        let facts = &skill.exposure;
        let at = |step: Option<usize>, fact: &str| match step {
            Some(step) => format!("step {step}"),
            None if skill.unknown.contains(&fact) => "unknown".to_owned(),
            None => "never".to_owned(),
        };
        let executed = facts.executed.as_ref();
        let lines = if skill.unknown.contains(&"opened") {
            String::new()
        } else {
            format!(" ({} of {})", skill.body.ingested, counted(skill.body.lines, "line", "lines"))
        };
        text.push_str(&format!(
            "  skill {}: listed {}, mentioned {}, opened {}{lines}, executed {}\n",
            clean(&facts.skill),
            at(facts.advertised, "advertised"),
            at(facts.mentioned, "mentioned"),
            at(facts.opened, "opened"),
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
        if control && skill.contamination.is_none() && may_be_read(skill) {
            text.push_str(&format!("  contamination by {} unknown\n", clean(&facts.skill)));
        }
    }
    text
}

/// How many calls failed, as far as it is known.
fn failures(stats: &Stats) -> String {
    match (stats.failed_calls, stats.failed_calls_at_least) {
        (Some(count), _) => format!("{} failed", group_digits(count)),
        (None, Some(least)) => format!("at least {} failed", group_digits(least)),
        (None, None) => "failures unknown".to_owned(),
    }
}

/// Whether a skill may have been read: where the format hides what a call gave, one that was mentioned.
pub fn may_be_read(skill: &SkillUse) -> bool {
    skill.exposure.mentioned.is_some() && skill.unknown.contains(&"opened")
}

/// The models of a session: the only one, or each with its share of the tokens.
fn models(stats: &Stats) -> Option<String> {
    let mut names: Vec<&str> = stats.models.iter().filter_map(|one| one.model.as_deref()).collect();
    names.dedup();
    if names.len() < 2 {
        return stats.agent.model_name.as_deref().or(names.first().copied()).map(clean);
    }
    let mut shares: BTreeMap<&str, u64> = BTreeMap::new();
    for one in &stats.models {
        *shares.entry(one.model.as_deref().unwrap_or("an unknown model")).or_default() += one.usage.total();
    }
    let shares: Vec<String> =
        shares.into_iter().map(|(model, tokens)| format!("{} ({tokens} tokens)", clean(model))).collect();
    Some(shares.join(" and "))
}

/// Tokens by every way of counting, the right one first.
pub fn token_lines(tally: &Tally) -> String {
    // A log that has sums only has no messages to count.
    let messages =
        if tally.messages > 0 { format!(" in {} messages", tally.messages) } else { String::new() };
    let mut text = format!("  tokens: {}{messages}\n", token_fields(tally));
    if tally.records != tally.messages && tally.is_known() {
        let ways: Vec<String> =
            Counting::ALL.into_iter().map(|way| format!("{} {}", way.name(), tally.tokens(way))).collect();
        text.push_str(&format!("  counted: {}\n", ways.join(", ")));
    }
    text
}

/// A cost in words.
pub fn trace_cost_words(cost: Cost) -> String {
    match cost.usd {
        None => "cost unknown".to_owned(),
        Some(usd) if cost.is_at_least => format!("at least {usd:.4} USD"),
        Some(usd) => format!("{usd:.4} USD"),
    }
}

/// A file's name, with the number of its session where it holds several.
pub fn session_title(file: &str, part: Option<(usize, usize)>) -> String {
    part.map_or_else(|| file.to_owned(), |(number, count)| format!("{file} (session {number} of {count})"))
}

/// The four fields of tokens in words: what is unknown is said to be, and so is a lower bound.
pub fn token_fields(tally: &Tally) -> String {
    if !tally.is_known() {
        return "unknown".to_owned();
    }
    let known = tally.known();
    let bounds = tally.lower_bounds();
    let said = [known.input, known.output, known.cache_read, known.cache_write].into_iter().zip(FIELDS).map(
        |(count, name)| {
            let title = name.replace('_', " ");
            match count {
                None => format!("{title} unknown"),
                Some(count) if bounds.contains(&name) => format!("at least {count} {title}"),
                Some(count) => format!("{count} {title}"),
            }
        },
    );
    said.collect::<Vec<_>>().join(", ")
}
