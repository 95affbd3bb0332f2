//! What a decision on a skill rests on, without executing a trial.

mod figures;
mod recorded;
#[cfg(test)]
mod tests;

use assay_report::{clean, counted, points, pp, shell_word};
use assay_store::ConditionRole;
use serde::Serialize;

use self::figures::LiftFigures;
use self::recorded::{RecordedArm, RecordedFinding, RecordedTrials};
use crate::evaluation::Change;
use crate::gate::Gate;
use crate::gate_error::GateError;
use crate::ledger::{LedgerEntry, Numbers, content, level};
use crate::looks::Looks;
use crate::measured::{Gated, LookLevel};
use crate::policy::{Policy, Requirement};
use crate::request::GateRequest;
use crate::terms::SkillTerms;

/// A decision explained.
#[derive(Debug, Serialize)]
pub struct Explanation {
    schema: &'static str,
    skill: String,
    change: Change,
    from: Option<String>,
    /// What must be shown.
    claim: Option<&'static str>,
    /// What is compared with what.
    compared: Option<String>,
    tasks: usize,
    repetitions: Option<u32>,
    /// Trials of the plan, recorded or not.
    trials: usize,
    /// The repetitions that rounds end with; empty without `on_undecided = "extend"`.
    rounds: Vec<u32>,
    /// What the store has of each side of the comparison; empty if the trials cannot be planned here.
    arms: Vec<RecordedArm>,
    /// What the recorded trials show, by agent.
    results: Vec<RecordedFinding>,
    version: Option<u32>,
    look: Option<u32>,
    level: Option<f64>,
    /// The level of another look at this version.
    level_again: Option<f64>,
    /// The level of the first look at the next version.
    level_next: Option<f64>,
    looks: Vec<LookLine>,
    /// The look that a gate continues or opens here.
    continues: Option<LookNumbers>,
    rules_changed: Vec<String>,
    untrusted: Vec<String>,
    weakened: Vec<String>,
    /// What would change the decision.
    next: Vec<String>,
}

/// Which look a gate would be.
#[derive(Debug, Clone, Copy, Serialize)]
struct LookNumbers {
    version: u32,
    look: u32,
    level: f64,
}

/// A look at the skill.
#[derive(Debug, Clone, Serialize)]
struct LookLine {
    id: String,
    opened_at: String,
    version: u32,
    look: u32,
    level: f64,
    /// `null` if the gate did not come so far.
    decision: Option<String>,
    lift: Option<f64>,
    bound: Option<f64>,
    upper: Option<f64>,
    /// Whether it was this content of the skill.
    same: bool,
}

impl LookLine {
    fn of(entry: &LedgerEntry, content: Option<&str>) -> Self {
        let done = entry.completion.as_ref();
        Self {
            id: entry.id.clone(),
            opened_at: entry.opening.opened_at.clone(),
            version: entry.numbers.version,
            look: entry.numbers.look,
            level: entry.level,
            decision: done.map(|done| done.decision.clone()),
            lift: done.and_then(|done| done.lift),
            bound: done.and_then(|done| done.bound),
            upper: done.and_then(|done| done.upper),
            same: content == Some(entry.opening.content.as_str()),
        }
    }

    fn describe_look(&self) -> String {
        let figures = match (self.lift, self.bound, self.upper) {
            (Some(lift), Some(low), Some(high)) => {
                format!(", {} ({} to {})", pp(lift), points(low), points(high))
            }
            _ => String::new(),
        };
        let decision = self.decision.as_deref().unwrap_or("opened, no decision yet");
        let which = if self.same { "this content" } else { "another content" };
        let day = self.opened_at.get(..10).unwrap_or(&self.opened_at);
        format!(
            "{day} version {}, look {} ({which}) at level {:.4}: {}{figures}",
            self.version,
            self.look,
            self.level,
            clean(decision)
        )
    }
}

impl Gate<'_> {
    /// Explains the decision on one skill, by its folder, without executing a trial. `None` without a policy.
    ///
    /// # Errors
    /// No rule covers the skill, or a key cannot be used. What cannot be read of the ledger and of the trials is in the explanation.
    pub fn explain(&self, skill: &str) -> Result<Option<Explanation>, GateError> {
        let Some(policy) = &self.scope.policy else { return Ok(None) };
        let name = skill.trim_start_matches("./").trim_end_matches('/');
        let all = self.find_skills(policy);
        let is_named = |gated: &&Gated| gated.row.skill == name || gated.row.from.as_deref() == Some(name);
        let Some(gated) = all.iter().find(is_named) else {
            return Err(GateError::NotCovered {
                policy: self.request.policy.clone(),
                skill: name.to_owned(),
                known: all.into_iter().map(|gated| gated.row.skill).collect(),
            });
        };
        let terms = self.scope.terms.skills.get(&gated.row.skill);
        let mut found = describe(self, gated, terms);
        let mut looks = None;
        if let Some(evaluation) = &self.scope.evaluation
            && terms.is_some()
        {
            match self.read_looks(policy, evaluation)? {
                Err(reason) => found.next.push(format!("the gate is blocked: {reason}")),
                Ok((read, _)) => looks = Some(read),
            }
        }
        if let Some((terms, looks)) = terms.zip(looks.as_ref()) {
            add_looks(&mut found, looks, policy, terms);
        }
        if let Some(terms) = terms.filter(|_| gated.is_open()) {
            let numbers = Numbers { version: found.version.unwrap_or(1), look: found.look.unwrap_or(1) };
            let look = LookLevel::of(numbers, policy.error_budget);
            match RecordedTrials::read((self, policy), (gated, terms), looks, look) {
                Ok(recorded) => {
                    found.continues = recorded
                        .next
                        .map(|LookLevel { version, look, level, .. }| LookNumbers { version, look, level });
                    found.rounds = recorded.rounds;
                    found.arms = recorded.arms;
                    found.results = recorded.results;
                }
                Err(reason) => found.next.push(format!("the recorded trials are not read: {reason}")),
            }
        }
        add_next(&mut found, self.request, gated, terms);
        Ok(Some(found))
    }
}

fn describe(gate: &Gate<'_>, gated: &Gated, terms: Option<&SkillTerms>) -> Explanation {
    let row = &gated.row;
    let evaluation = gate.scope.evaluation.as_ref();
    let short = |commit: &str| commit.get(..12).unwrap_or(commit).to_owned();
    let compared = terms.map(|terms| {
        let target = evaluation.filter(|_| gated.is_known && terms.rule.require == Requirement::NonInferior);
        if let Some(evaluation) = target {
            format!("with its version at {}", short(&evaluation.target))
        } else {
            let first = terms.experiment.as_ref().and_then(|experiment| experiment.conditions.first());
            let baseline =
                terms.rule.baseline.as_ref().or(first).map_or(ConditionRole::None.name(), String::as_str);
            format!("with the baseline `{baseline}`")
        }
    });
    let repetitions =
        terms.and_then(|terms| terms.experiment.as_ref()).map(|experiment| experiment.repetitions);
    Explanation {
        schema: "assay.gate-explanation/1",
        skill: row.skill.clone(),
        change: row.change,
        from: row.from.clone(),
        claim: terms.map(|terms| terms.rule.require.word()),
        compared,
        tasks: terms.map_or(0, |terms| terms.tasks.len()),
        repetitions,
        trials: terms.map_or(0, SkillTerms::planned_trials),
        version: None,
        look: None,
        level: None,
        level_again: None,
        level_next: None,
        looks: Vec::new(),
        continues: None,
        rounds: Vec::new(),
        arms: Vec::new(),
        results: Vec::new(),
        rules_changed: evaluation.map_or(Vec::new(), |evaluation| evaluation.rules_changed.clone()),
        untrusted: evaluation.map_or(Vec::new(), |evaluation| evaluation.untrusted.clone()),
        weakened: evaluation.map_or(Vec::new(), |evaluation| evaluation.weakened.clone()),
        next: Vec::new(),
    }
}

fn add_looks(found: &mut Explanation, looks: &Looks, policy: &Policy, terms: &SkillTerms) {
    let content = terms.package.as_ref().map(content);
    let entries = looks.entries(&found.skill);
    found.looks = entries.iter().map(|entry| LookLine::of(entry, content.as_deref())).collect();
    // The newest look at this content, decided or not; else the one that comes next.
    let own = found.looks.iter().rev().find(|look| look.same).cloned();
    let (version, look) = if let Some(look) = own {
        (look.version, look.look)
    } else {
        let next = looks.new_numbers(&found.skill, terms);
        (next.version, next.look)
    };
    found.version = Some(version);
    found.look = Some(look);
    found.level = Some(level(policy.error_budget, version, look));
    found.level_again = Some(level(policy.error_budget, version, look + 1));
    found.level_next = Some(level(policy.error_budget, version + 1, 1));
}

/// What would change the decision.
fn add_next(found: &mut Explanation, request: &GateRequest, gated: &Gated, terms: Option<&SkillTerms>) {
    if !found.weakened.is_empty() {
        found.next.push("a maintainer applies the weaker rules with --trust-changes SHA".to_owned());
    }
    if !gated.is_open() {
        found.next.push(gated.row.reason.clone());
        return;
    }
    let own = found.looks.iter().rev().find(|look| look.same).cloned();
    let since = request.changed_since.as_deref().unwrap_or("origin/main");
    let run = format!(
        "assay gate {} --changed-since {}",
        shell_word(&request.policy.to_string_lossy()),
        shell_word(since)
    );
    match own.as_ref().map(|look| look.decision.as_deref()) {
        None => found.next.push(format!("no look at this version yet: `{run}`")),
        Some(None) => found.next.push(format!("the look is open: `{run}` goes on with it")),
        Some(Some("pass")) => found.next.push("it passed: nothing is left to show".to_owned()),
        Some(Some("fail")) => found.next.push(
            "another version of the skill: the interval of this one lies on the wrong side of the bound"
                .to_owned(),
        ),
        Some(Some(_)) => {}
    }
    let is_decided = matches!(own.as_ref().and_then(|look| look.decision.as_deref()), Some("pass" | "fail"));
    if let Some(terms) = terms.filter(|_| !is_decided) {
        let bound = match terms.rule.require {
            Requirement::Helps => 0.0,
            Requirement::NotHarmful | Requirement::NonInferior => -terms.rule.margin,
        };
        // What is recorded here is newer than what the ledger has.
        let figures: Vec<LiftFigures> = if found.results.is_empty() {
            own.as_ref()
                .and_then(|look| Some(LiftFigures(look.lift?, look.bound?, look.upper?)))
                .into_iter()
                .collect()
        } else {
            found.results.iter().filter_map(RecordedFinding::figures).collect()
        };
        for figures in figures {
            found.next.extend(figures.describe_deciding(bound, found.tasks));
        }
        found.next.extend(next_round(found));
    }
    if found.repetitions.is_some() && own.is_some() {
        found.next.push(format!(
            "an edit of the skill is a new version, decided at level {:.4}",
            found.level_next.unwrap_or_default()
        ));
    }
}

/// The round that an undecided skill takes next.
fn next_round(found: &Explanation) -> Option<String> {
    let done = found.arms.iter().filter(|arm| arm.planned > 0).map(|arm| arm.repetitions).min()?;
    let next = found.rounds.iter().find(|round| **round > done)?;
    let until_then = |arm: &RecordedArm| arm.planned / arm.most_repetitions.max(1) as usize * *next as usize;
    let more: usize = found.arms.iter().map(|arm| until_then(arm).saturating_sub(arm.recorded)).sum();
    let repetitions = counted(*next, "repetition", "repetitions");
    Some(format!("the next round ends with {repetitions}: {}", counted(more, "more trial", "more trials")))
}

impl Explanation {
    /// For a terminal.
    pub fn to_text(&self) -> String {
        let mut lines = vec![clean(&self.skill)];
        let mut line = |name: &str, text: String| lines.push(format!("  {name:<9} {text}"));
        if let Some(from) = &self.from {
            line("from", clean(from));
        }
        if let (Some(claim), Some(compared)) = (self.claim, &self.compared) {
            let tasks = counted(self.tasks, "task", "tasks");
            let repetitions = self.repetitions.map_or(String::new(), |count| format!(" × {count}"));
            line("claim", claim.to_owned());
            line(
                "compared",
                format!(
                    "{}, {tasks}{repetitions}, {}",
                    clean(compared),
                    counted(self.trials, "trial", "trials")
                ),
            );
        }
        if let (Some(version), Some(look), Some(level)) = (self.version, self.look, self.level) {
            let again = self.level_again.unwrap_or_default();
            line(
                "level",
                format!(
                    "{level:.4}: version {version} since its last merge, look {look}; look {} would have {again:.4}",
                    look + 1
                ),
            );
        }
        for arm in &self.arms {
            line("trials", arm.describe_trials());
        }
        for result in &self.results {
            line("result", result.describe_result());
        }
        for look in &self.looks {
            line("look", look.describe_look());
        }
        if let Some(next) =
            self.continues.filter(|next| Some((next.version, next.look)) != self.version.zip(self.look))
        {
            line(
                "here",
                format!(
                    "a gate would be version {}, look {} at level {:.4}",
                    next.version, next.look, next.level
                ),
            );
        }
        for path in &self.untrusted {
            line("rule", format!("{}: changed, not applied", clean(path)));
        }
        for weaker in &self.weakened {
            line("weaker", clean(weaker));
        }
        for next in &self.next {
            line("next", clean(next));
        }
        lines.join("\n") + "\n"
    }
}
