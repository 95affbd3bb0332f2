//! Which notes a report has.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::{Reason, VerdictKind};
use assay_store::{Cause, ConditionRole, Outcome, OutcomeRule, PlannedAgent, RunFolder, Treatment};
use assay_trace::{Disclosure, Placement};

use crate::controls::NegativeControls;
use crate::gather::Gathered;
use crate::item_sets::canary_knowledge;
use crate::model::{AgentKey, Arm, Comparison};
use crate::models::RepliedModel;
use crate::note::{ArmName, ArmNames, ControlNote, Note, TokenNote};
use crate::origins::RecordOrigins;
use crate::shared::SharedSkills;
use crate::table::Slot;

/// A placebo that is opened in a smaller share of its trials than this has not acted as one.
const UNREAD: f64 = 0.05;

/// Conditions whose shares of environment-dependent trials differ by this much get a warning.
const LOST_DIFFERENCE: f64 = 0.05;

/// A comparison with less overlap in time than this gets a warning.
const LEAST_OVERLAP: f64 = 0.5;

/// The findings that notes are about.
pub(crate) struct Findings<'a> {
    pub(crate) arms: &'a [Arm],
    pub(crate) comparisons: &'a [Comparison],
    pub(crate) controls: Option<&'a NegativeControls>,
    pub(crate) replied_models: &'a [RepliedModel],
}

pub(crate) fn notes(run: &RunFolder, gathered: &Gathered, findings: &Findings<'_>) -> Vec<Note> {
    let control_comparisons = findings.controls.map_or(&[][..], |controls| &controls.comparisons);
    let control_arms = findings.controls.map_or(&[][..], |controls| &controls.arms);
    let changed = gathered.origins.map_or(0, |origins| origins.changed);
    let mut notes = Vec::from_iter((changed > 0).then_some(Note::Changed { records: changed }));
    notes.extend(unusable(run, gathered));
    notes.extend(several_rewards(gathered));
    let mismatches = findings.replied_models.iter().filter(|model| !model.matches);
    notes.extend(mismatches.cloned().map(Note::OtherModelReplied));
    notes.extend(scripted(run));
    notes.extend(run.warnings.iter().cloned().map(Note::Planned));
    notes.extend(run.imported.clone().map(|origin| Note::Imported { origin }));
    // That another program executed all of them has been stated.
    let unproven =
        |origins: &RecordOrigins| origins.unsigned > 0 || origins.imported > 0 && run.imported.is_none();
    notes.extend(gathered.origins.filter(unproven).map(Note::Origins));
    let late = results(gathered).filter(|result| result.late).count();
    notes.extend((late > 0).then_some(Note::Late { trials: late }));
    notes.extend(clamped(gathered));
    notes.extend(different_times(run, findings.comparisons.iter().chain(control_comparisons)));
    notes.extend(skill_disclosure(run));
    notes.extend(metered(run, gathered));
    notes.extend(estimated(run, gathered).into_iter().map(Note::Tokens));
    notes.extend(run.equal_conditions.iter().map(|(one, other, tasks)| Note::EqualConditions {
        one: one.clone(),
        other: other.clone(),
        tasks: *tasks,
    }));
    if run.imported.is_none() {
        let planned: BTreeSet<&str> = run.cells.iter().map(|cell| cell.task.as_str()).collect();
        let tasks = run.tasks.iter().filter(|task| planned.contains(task.name.as_str()));
        notes.extend(SharedSkills::among(tasks).map(Note::SharedSkills));
    }
    let all_arms: Vec<&Arm> = findings.arms.iter().chain(control_arms).collect();
    let unfinished: usize = all_arms.iter().map(|arm| arm.unfinished).sum();
    if unfinished > 0 {
        let planned = all_arms.iter().map(|arm| arm.planned).sum();
        notes.push(Note::NotExecuted { trials: unfinished, planned, imported: run.imported.is_some() });
    }
    notes.extend(unknown_delivery(run, findings.comparisons));
    let is_placebo = |arm: &&Arm| run.role_of(&arm.condition) == ConditionRole::Placebo;
    let placebos = findings.arms.iter().filter(is_placebo).filter(|_| run.imported.is_none());
    notes.extend(placebos.filter_map(|arm| {
        let opened = arm.exposure?.opened;
        let arm = name(run, &arm.condition, &arm.who);
        (opened < UNREAD).then_some(Note::UnreadPlacebo { arm, opened })
    }));
    notes.extend(all_arms.iter().filter(|arm| arm.contaminated > 0).map(|arm| Note::Contaminated {
        arm: name(run, &arm.condition, &arm.who),
        trials: arm.contaminated,
    }));
    notes.extend(environment_dependent(run, &all_arms));
    notes.extend(all_arms.iter().filter(|arm| arm.evidence_lost > 0).map(|arm| Note::EvidenceLost {
        arm: name(run, &arm.condition, &arm.who),
        trials: arm.evidence_lost,
    }));
    let known = canary_knowledge(run, gathered).into_iter().filter(|found| found.known > 0);
    notes.extend(known.map(|found| Note::KnownCanaries {
        arm: name(run, &found.baseline, &found.who),
        known: found.known,
        total: found.total,
    }));
    notes.extend(helping_controls(run, findings.comparisons));
    notes.extend(negative_controls(run, control_comparisons).into_iter().map(Note::Control));
    notes.extend(gathered.open_look.clone().map(|look| Note::OpenLook { look }));
    notes.extend(closing(run, gathered));
    notes.extend(run.stopping.map(|stopping| Note::Sequential {
        rounds: stopping.rounds,
        looks: stopping.looks,
        more_tasks: stopping.more_tasks,
    }));
    notes.extend(earlier_runs(run, gathered));
    notes.extend(run.relabels.clone().map(|earlier| Note::Relabeled { earlier }));
    notes.extend(run.reused.iter().map(|reused| Note::Reused {
        why: reused.why,
        server: reused.server.clone(),
        trials: reused.trials.len(),
    }));
    if gathered.unreadable > 0 {
        notes.push(Note::Unreadable { records: gathered.unreadable });
    }
    notes
}

/// Notes on conditions that were measured at different times. Of those with the same text, with
/// times to the minute and an overlap in percent, there is one.
pub(crate) fn different_times<'a>(
    run: &RunFolder,
    comparisons: impl Iterator<Item = &'a Comparison>,
) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut seen = BTreeSet::new();
    for comparison in comparisons {
        let (Some(overlap), Some(measured)) = (comparison.time_overlap, &comparison.measured) else {
            continue;
        };
        if overlap >= LEAST_OVERLAP {
            continue;
        }
        let (arm, baseline) = (of(run, comparison), comparison.baseline.clone());
        let minutes =
            measured.clone().map(|span| span.map(|time| time.get(..16).unwrap_or(&time).to_owned()));
        let percent = format!("{:.0}", 100.0 * overlap);
        if seen.insert((arm.condition.clone(), arm.by.clone(), baseline.clone(), minutes, percent)) {
            notes.push(Note::DifferentTimes { arm, baseline, measured: measured.clone(), overlap });
        }
    }
    notes
}

/// Notes on trials that depend on the agent's own environment, where their share differs between
/// conditions of an agent.
fn environment_dependent(run: &RunFolder, arms: &[&Arm]) -> Vec<Note> {
    let cause = Cause::Environment.word();
    let lost = |arm: &Arm| arm.infrastructure_causes.get(cause).copied().unwrap_or_default();
    let executed = |arm: &Arm| arm.planned.saturating_sub(arm.unfinished);
    let share = |arm: &Arm| lost(arm) as f64 / executed(arm).max(1) as f64;
    let mut notes = Vec::new();
    for who in arms.iter().map(|arm| &arm.who).collect::<BTreeSet<_>>() {
        let own: Vec<&&Arm> = arms.iter().filter(|arm| arm.who == *who && executed(arm) > 0).collect();
        let shares = || own.iter().map(|arm| share(arm));
        let (least, most) = (shares().fold(1.0, f64::min), shares().fold(0.0, f64::max));
        if most - least < LOST_DIFFERENCE {
            continue;
        }
        notes.extend(own.iter().map(|arm| Note::EnvironmentDependent {
            arm: name(run, &arm.condition, &arm.who),
            trials: lost(arm),
            executed: executed(arm),
        }));
    }
    notes
}

fn name(run: &RunFolder, condition: &str, who: &AgentKey) -> ArmName {
    let by = (run.agents.len() > 1).then(|| who.short().to_owned());
    ArmName { condition: condition.to_owned(), by }
}

fn of(run: &RunFolder, comparison: &Comparison) -> ArmName {
    name(run, &comparison.condition, &comparison.who)
}

/// All results, those on negative controls last.
fn results(gathered: &Gathered) -> impl Iterator<Item = &crate::result::TrialResult> {
    gathered.slots().flat_map(|slot| &slot.results)
}

/// Tasks with several rewards and no `reward`, unless their outcome is named.
fn several_rewards(gathered: &Gathered) -> Option<Note> {
    let tasks: Vec<String> =
        gathered.outcomes.with_several_rewards().into_iter().map(str::to_owned).collect();
    let rule = gathered.outcomes.rule();
    let is_named = matches!(rule, Some(OutcomeRule::Pass | OutcomeRule::Score));
    (!tasks.is_empty() && !is_named).then_some(Note::SeveralRewards { tasks, rule })
}

/// Conditions without a usable trial, with the outcomes of their trials.
fn unusable(run: &RunFolder, gathered: &Gathered) -> Vec<Note> {
    let mut notes = Vec::new();
    let tables = gathered.tables.iter().map(|table| (table, false));
    let controls = gathered.controls.iter().map(|table| (table, true));
    for (table, on_controls) in tables.chain(controls) {
        for condition in run.conditions.iter().filter(|condition| !table.is_usable(condition)) {
            let Some(tasks) = table.cells.get(condition) else { continue };
            let results: Vec<_> = tasks.values().flat_map(|slot: &Slot| &slot.results).collect();
            if results.is_empty() {
                continue;
            }
            let count = |outcome| results.iter().filter(|result| result.outcome == outcome).count();
            let (infrastructure, timed_out) = (count(Outcome::Infrastructure), count(Outcome::TimedOut));
            notes.push(Note::Unusable {
                arm: name(run, condition, &table.who),
                on_controls,
                trials: results.len(),
                timed_out,
                silent: results.len() - infrastructure - timed_out,
                infrastructure,
            });
        }
    }
    notes
}

fn scripted(run: &RunFolder) -> Option<Note> {
    let mut names: Vec<String> = Vec::new();
    for agent in run.agents.iter().filter(|agent| !agent.measures_a_model) {
        let name = agent.label.model.as_deref().unwrap_or(agent.name());
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    (!names.is_empty()).then_some(Note::Scripted { names })
}

/// Rewards that were clamped to scores.
fn clamped(gathered: &Gathered) -> Option<Note> {
    let outside: Vec<[f64; 2]> = results(gathered).filter_map(|result| result.outside).collect();
    (!outside.is_empty()).then(|| Note::Clamped {
        trials: outside.len(),
        low: outside.iter().fold(f64::INFINITY, |low, [one, _]| low.min(*one)),
        high: outside.iter().fold(f64::NEG_INFINITY, |high, [_, one]| high.max(*one)),
    })
}

/// How skills were disclosed to agents, if not through their own skills folders.
fn skill_disclosure(run: &RunFolder) -> Vec<Note> {
    let agents: BTreeSet<&str> = run
        .agents
        .iter()
        .filter(|agent| agent.placement == Some(Placement::System))
        .map(PlannedAgent::name)
        .collect();
    let mut notes = Vec::new();
    if !agents.is_empty() {
        notes.push(Note::PlacedInSystem { agents: agents.into_iter().map(str::to_owned).collect() });
    }
    let disclosures = [(Disclosure::Told, Note::SkillsTold), (Disclosure::Eager, Note::SkillsEager)];
    let own = |(disclosure, _): &(Disclosure, Note)| disclosure.word() == run.disclosure;
    notes.extend(disclosures.into_iter().find(own).map(|(_, note)| note));
    let listed =
        run.agents.iter().filter_map(|agent| agent.label.model.clone().zip(agent.list_price.clone()));
    let listed: BTreeSet<(String, String)> = listed.collect();
    notes.extend(listed.into_iter().map(|(model, from)| Note::ListPrice { model, from }));
    notes.extend(run.settings.iter().map(|(name, settings)| Note::Condition {
        condition: name.clone(),
        is: run.condition_of(name).to_owned(),
        disclosure: settings.disclosure.map(|own| own.word().to_owned()).filter(|own| *own != run.disclosure),
        repetitions: settings.repetitions.filter(|own| *own != run.repetitions),
    }));
    notes
}

/// Estimated tokens by agent.
fn estimated(run: &RunFolder, gathered: &Gathered) -> Vec<TokenNote> {
    let mut found: BTreeMap<String, (usize, usize, u64, u64)> = BTreeMap::new();
    for table in gathered.tables.iter().chain(&gathered.controls) {
        let agent = &run.agents[table.agent];
        let name = agent
            .label
            .model
            .as_deref()
            .map_or_else(|| agent.name().to_owned(), |model| format!("{} with {model}", agent.name()));
        let server = agent.server.as_deref().map_or(String::new(), |server| format!(" at {server}"));
        let name = name + &server;
        let (trials, estimates, tokens, guessed) = found.entry(name).or_default();
        let results = table.cells.values().flat_map(BTreeMap::values).flat_map(|slot| &slot.results);
        for result in results {
            *trials += 1;
            *tokens = tokens.saturating_add(result.usage.as_ref().map_or(0, assay_usage::Usage::total));
            if let Some(estimated) = &result.estimated {
                *estimates += 1;
                *guessed = guessed.saturating_add(estimated.usage.total());
            }
        }
    }
    found.retain(|_, (_, estimates, ..)| *estimates > 0);
    let note = |(agent, (trials, estimates, tokens, guessed))| TokenNote::Estimated {
        agent,
        trials,
        estimates,
        share: if tokens > 0 { guessed as f64 / tokens as f64 } else { 0.0 },
    };
    found.into_iter().map(note).collect()
}

/// Whether transcripts and gateway count the same tokens, for agents behind the gateway.
fn metered(run: &RunFolder, gathered: &Gathered) -> Vec<Note> {
    #[derive(Default)]
    struct Count {
        trials: usize,
        equal: usize,
        less: usize,
        beside: u64,
    }
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let mut replayed = 0;
    for table in &gathered.tables {
        let results = table.cells.values().flat_map(BTreeMap::values).flat_map(|slot| &slot.results);
        for metered in results.filter_map(|result| result.metered) {
            replayed += usize::from(metered.replayed);
            // An estimate cannot be checked against a transcript.
            if metered.estimated_tokens > 0 {
                continue;
            }
            let count = counts.entry(run.agents[table.agent].name()).or_default();
            count.trials += 1;
            count.equal += usize::from(metered.agrees());
            count.less += usize::from(metered.transcript_tokens.is_some_and(|own| own < metered.tokens));
            let left_out = metered.transcript_tokens != Some(metered.tokens);
            count.beside += if left_out { metered.side_request_tokens } else { 0 };
        }
    }
    let mut notes = Vec::new();
    let agreeing = counts.iter().filter(|(_, count)| count.equal == count.trials);
    let agents: Vec<String> = agreeing.map(|(agent, _)| (*agent).to_owned()).collect();
    if !agents.is_empty() {
        notes.push(Note::Tokens(TokenNote::Agree { agents }));
    }
    for (agent, Count { trials, equal, less, beside }) in counts {
        let agent = agent.to_owned();
        if equal < trials {
            notes.push(Note::Tokens(TokenNote::Differ { agent, trials, equal, less }));
        } else if beside > 0 {
            notes.push(Note::Tokens(TokenNote::Beside { agent, tokens: beside / trials as u64 }));
        }
    }
    if replayed > 0 {
        notes.push(Note::Replayed { trials: replayed });
    }
    notes
}

/// A note on the conditions of which nobody knows whether their treatments were there for the agents.
fn unknown_delivery(run: &RunFolder, comparisons: &[Comparison]) -> Option<Note> {
    let is_unknown = |comparison: &&Comparison| {
        comparison.delivered.is_none()
            && comparison.role.treatment() == Treatment::WrittenSkills
            && comparison.tasks > 0
    };
    // The note on imported trials says it; records of other conditions have the exposure of each provided skill.
    let unknown = comparisons.iter().filter(|_| run.imported.is_none()).filter(is_unknown);
    let conditions: BTreeSet<&str> = unknown.map(|comparison| comparison.condition.as_str()).collect();
    let conditions: Vec<String> =
        run.conditions.iter().filter(|name| conditions.contains(name.as_str())).cloned().collect();
    (!conditions.is_empty()).then_some(Note::DeliveryUnknown { conditions })
}

/// Placebos and unrelated skills that help.
fn helping_controls(run: &RunFolder, comparisons: &[Comparison]) -> Vec<Note> {
    let helping = comparisons.iter().filter(|comparison| comparison.verdict == Some(VerdictKind::Helps));
    let note = |comparison: &Comparison| {
        let (arm, lift) = (of(run, comparison), comparison.lift.unwrap_or(0.0));
        match run.role_of(&comparison.condition) {
            ConditionRole::Placebo => Some(Note::PlaceboHelps { arm, lift }),
            ConditionRole::Negative => Some(Note::UnrelatedHelps { arm, lift }),
            _ => None,
        }
    };
    helping.filter_map(note).collect()
}

/// Earlier runs of the same question.
fn earlier_runs(run: &RunFolder, gathered: &Gathered) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut extends: Vec<String> = run.extends.iter().cloned().collect();
    if let Some(question) = &gathered.question {
        notes.extend((!question.earlier.is_empty()).then(|| Note::EarlierRuns(question.clone())));
        notes.extend((!question.reanalyzes.is_empty()).then(|| Note::Reanalysis(question.clone())));
        extends.extend(question.extends.iter().cloned());
        extends.dedup();
    }
    notes.extend(extends.into_iter().map(|earlier| Note::Extended { earlier }));
    notes
}

/// That the run was closed before it was complete, and whether it went on.
fn closing(run: &RunFolder, gathered: &Gathered) -> Option<Note> {
    let closing = gathered.closing.clone()?;
    Some(if gathered.is_continued() {
        Note::ContinuedAfterClosing(closing)
    } else {
        Note::Closed { closing, rounds: run.stopping.map(|stopping| stopping.rounds) }
    })
}

/// Each gain or loss on the negative controls is a note; arms with another outcome share one.
fn negative_controls(run: &RunFolder, comparisons: &[Comparison]) -> Vec<ControlNote> {
    let Some(tasks) = comparisons.iter().map(|comparison| comparison.tasks).max() else { return Vec::new() };
    let margin = run.margin;
    let mut notes = Vec::new();
    for comparison in comparisons {
        let (arm, lift) = (of(run, comparison), comparison.lift.unwrap_or(0.0));
        match comparison.verdict {
            Some(VerdictKind::Helps) => notes.push(ControlNote::Helped { arm, tasks, lift }),
            Some(VerdictKind::Harms) => notes.push(ControlNote::Harmed { arm, tasks, lift }),
            Some(VerdictKind::Negligible | VerdictKind::Inconclusive) | None => {}
        }
    }
    let alike = |holds: &dyn Fn(&Comparison) -> bool| -> Option<(ArmNames, Option<usize>)> {
        let alike: Vec<&Comparison> = comparisons.iter().filter(|comparison| holds(comparison)).collect();
        let needed = alike.iter().filter_map(|comparison| comparison.tasks_needed).max();
        let arms: Vec<ArmName> = alike.iter().map(|comparison| of(run, comparison)).collect();
        (!arms.is_empty()).then_some((ArmNames { arms, of: comparisons.len() }, needed))
    };
    if let Some((arms, _)) = alike(&|comparison| comparison.verdict == Some(VerdictKind::Negligible)) {
        notes.push(ControlNote::Unchanged { arms, tasks, margin });
    }
    let lost = |comparison: &Comparison| comparison.reason == Some(Reason::Losses);
    if let Some((arms, _)) = alike(&lost) {
        notes.push(ControlNote::Lost { arms, tasks });
    }
    let unclear =
        |comparison: &Comparison| comparison.verdict == Some(VerdictKind::Inconclusive) && !lost(comparison);
    if let Some((arms, needed)) = alike(&unclear) {
        notes.push(ControlNote::Unclear { arms, tasks, margin, needed });
    }
    notes
}
