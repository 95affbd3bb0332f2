//! What a decision on a skill rests on, without executing a trial.

mod recorded;

use assay_gate::{Change, LedgerEntry, Numbers, Policy, Requirement, SkillTerms, level};
use assay_report::{clean, counted, points, pp, shell_word};
use assay_store::ConditionRole;
use serde::Serialize;

use self::recorded::{Arm, Finding, RecordedTrials};
use super::looks::Looks;
use super::measured::{Gated, LookLevel};
use super::scope::{Scope, planned_trials};
use crate::args::gate::GateArgs;
use crate::failure::{Failure, Status};
use crate::record_keys;
use crate::ui::Ui;

/// A decision explained.
#[derive(Debug, Serialize)]
struct Explanation {
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
    arms: Vec<Arm>,
    /// What the recorded trials show, by agent.
    results: Vec<Finding>,
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

    fn words(&self) -> String {
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

/// Explains the decision on one skill of a gate.
pub(super) fn run(
    args: &GateArgs,
    scope: &Scope,
    policy: &Policy,
    gated: &[Gated],
    skill: &str,
    ui: &Ui,
) -> Result<Status, Failure> {
    let name = skill.trim_start_matches("./").trim_end_matches('/');
    let is_named = |gated: &&Gated| gated.row.skill == name || gated.row.from.as_deref() == Some(name);
    let Some(gated) = gated.iter().find(is_named) else {
        let known: Vec<&str> = gated.iter().map(|gated| gated.row.skill.as_str()).collect();
        return Err(Failure::bad_input(format!("no rule of {} covers {name}", args.policy.display()))
            .hint(format!("it covers: {}", known.join(", "))));
    };
    let terms = scope.terms.skills.get(&gated.row.skill);
    let mut found = describe(scope, gated, terms);
    let mut looks = None;
    if let Some(evaluation) = &scope.evaluation
        && terms.is_some()
    {
        let home = args.policy.parent().filter(|folder| !folder.as_os_str().is_empty());
        let home = home.unwrap_or(std::path::Path::new("."));
        let keys = record_keys::load_signing()?;
        match Looks::read(policy, &scope.terms.hash, evaluation, &scope.subjects, home, keys) {
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
        match RecordedTrials::read((args, scope, policy), (gated, terms), looks, look, ui) {
            Ok(recorded) => {
                found.continues = recorded.next.map(|LookLevel { version, look, level, .. }| LookNumbers {
                    version,
                    look,
                    level,
                });
                found.rounds = recorded.rounds;
                found.arms = recorded.arms;
                found.results = recorded.results;
            }
            Err(reason) => found.next.push(format!("the recorded trials are not read: {reason}")),
        }
    }
    add_next(&mut found, args, gated, terms);
    if ui.json() {
        ui.document(&found)?;
    } else {
        ui.out(&text(&found))?;
    }
    Ok(Status::Done)
}

fn describe(scope: &Scope, gated: &Gated, terms: Option<&SkillTerms>) -> Explanation {
    let row = &gated.row;
    let evaluation = scope.evaluation.as_ref();
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
        trials: terms.map_or(0, planned_trials),
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
    let content = terms.package.as_ref().map(assay_gate::content);
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
fn add_next(found: &mut Explanation, args: &GateArgs, gated: &Gated, terms: Option<&SkillTerms>) {
    if !found.weakened.is_empty() {
        found.next.push("a maintainer applies the weaker rules with --trust-changes SHA".to_owned());
    }
    if !gated.is_open() {
        found.next.push(gated.row.reason.clone());
        return;
    }
    let own = found.looks.iter().rev().find(|look| look.same).cloned();
    let since = args.changed_since.as_deref().unwrap_or("origin/main");
    let run = format!(
        "assay gate {} --changed-since {}",
        shell_word(&args.policy.to_string_lossy()),
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
        let figures: Vec<Figures> = if found.results.is_empty() {
            own.as_ref()
                .and_then(|look| Some(Figures(look.lift?, look.bound?, look.upper?)))
                .into_iter()
                .collect()
        } else {
            found.results.iter().filter_map(Finding::figures).collect()
        };
        for figures in figures {
            found.next.extend(figures.what_decides(bound, found.tasks));
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

/// A lift with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Figures(f64, f64, f64);

impl Figures {
    /// What would decide a claim that the lift is above a bound: nothing, if the interval lies on one side of it.
    fn what_decides(self, bound: f64, tasks: usize) -> Vec<String> {
        let Self(lift, low, high) = self;
        if low > bound || high <= bound {
            return Vec::new();
        }
        let mut next = vec![format!(
            "to pass, the lower limit of {} must be above {}; to fail, the upper limit of {} must not",
            pp(low),
            bound_in_points(bound),
            pp(high)
        )];
        // The length of an interval falls with the root of the number of tasks.
        let half = if lift > bound { lift - low } else { high - lift };
        let needed = (half / (lift - bound).abs()).powi(2) * tasks as f64;
        next.push(if needed < 10_000.0 {
            let word = if lift > bound { "pass" } else { "fail" };
            format!("about {needed:.0} tasks in place of {tasks} {word} if the lift stays what it is")
        } else {
            format!("more tasks than {tasks}: the lift lies at the bound")
        });
        next
    }
}

/// What a lift must be above: a sign in front of nothing reads badly.
fn bound_in_points(bound: f64) -> String {
    if bound.abs() < 0.0005 { "0 pp".to_owned() } else { pp(bound) }
}

/// The round that an undecided skill takes next.
fn next_round(found: &Explanation) -> Option<String> {
    let done = found.arms.iter().filter(|arm| arm.planned > 0).map(|arm| arm.repetitions).min()?;
    let next = found.rounds.iter().find(|round| **round > done)?;
    let until_then = |arm: &Arm| arm.planned / arm.most_repetitions.max(1) as usize * *next as usize;
    let more: usize = found.arms.iter().map(|arm| until_then(arm).saturating_sub(arm.recorded)).sum();
    let repetitions = counted(*next, "repetition", "repetitions");
    Some(format!("the next round ends with {repetitions}: {}", counted(more, "more trial", "more trials")))
}

fn text(found: &Explanation) -> String {
    let mut lines = vec![clean(&found.skill)];
    let mut line = |name: &str, text: String| lines.push(format!("  {name:<9} {text}"));
    if let Some(from) = &found.from {
        line("from", clean(from));
    }
    if let (Some(claim), Some(compared)) = (found.claim, &found.compared) {
        let tasks = counted(found.tasks, "task", "tasks");
        let repetitions = found.repetitions.map_or(String::new(), |count| format!(" × {count}"));
        line("claim", claim.to_owned());
        line(
            "compared",
            format!(
                "{}, {tasks}{repetitions}, {}",
                clean(compared),
                counted(found.trials, "trial", "trials")
            ),
        );
    }
    if let (Some(version), Some(look), Some(level)) = (found.version, found.look, found.level) {
        let again = found.level_again.unwrap_or_default();
        line(
            "level",
            format!(
                "{level:.4}: version {version} since its last merge, look {look}; look {} would have {again:.4}",
                look + 1
            ),
        );
    }
    for arm in &found.arms {
        line("trials", arm.describe_trials());
    }
    for result in &found.results {
        line("result", result.describe_result());
    }
    for look in &found.looks {
        line("look", look.words());
    }
    if let Some(next) =
        found.continues.filter(|next| Some((next.version, next.look)) != found.version.zip(found.look))
    {
        line(
            "here",
            format!(
                "a gate would be version {}, look {} at level {:.4}",
                next.version, next.look, next.level
            ),
        );
    }
    for path in &found.untrusted {
        line("rule", format!("{}: changed, not applied", clean(path)));
    }
    for weaker in &found.weakened {
        line("weaker", clean(weaker));
    }
    for next in &found.next {
        line("next", clean(next));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undecided_looks_name_the_tasks_that_decide() {
        let look = |lift: f64, bound: f64, upper: f64| LookLine {
            id: "a".to_owned(),
            opened_at: "2026-01-02T03:04:05Z".to_owned(),
            version: 1,
            look: 1,
            level: 0.04,
            decision: Some("undecided".to_owned()),
            lift: Some(lift),
            bound: Some(bound),
            upper: Some(upper),
            same: true,
        };
        let check = |figures: Figures, bound: f64, expected: &[&str]| {
            assert_eq!(figures.what_decides(bound, 12), expected);
        };
        let limits = |low: &str, bound: &str, high: &str| {
            format!(
                "to pass, the lower limit of {low} must be above {bound}; to fail, the upper limit of {high} must not"
            )
        };
        // A half-width of 20 points, 10 points from the bound: four times the tasks.
        let first = limits("\u{2212}10 pp", "0 pp", "+30 pp");
        check(
            Figures(0.1, -0.1, 0.3),
            0.0,
            &[&first, "about 48 tasks in place of 12 pass if the lift stays what it is"],
        );
        let second = limits("\u{2212}40 pp", "\u{2212}10 pp", "+0 pp");
        check(
            Figures(-0.2, -0.4, 0.0),
            -0.1,
            &[&second, "about 48 tasks in place of 12 fail if the lift stays what it is"],
        );
        let third = limits("\u{2212}20 pp", "0 pp", "+20 pp");
        check(Figures(0.0, -0.2, 0.2), 0.0, &[&third, "more tasks than 12: the lift lies at the bound"]);
        // Either side of the bound decides.
        check(Figures(0.1, 0.01, 0.2), 0.0, &[]);
        check(Figures(-0.3, -0.4, -0.2), -0.1, &[]);
        assert_eq!(
            look(0.1, -0.1, 0.3).words(),
            "2026-01-02 version 1, look 1 (this content) at level 0.0400: undecided, +10 pp (\u{2212}10 to +30)"
        );
    }
}
