//! Patterns of a skill's influence on a run, based on the skill's directives.
//!
//! Patterns are found in a pair of runs, the audited one and the one it is compared with. Evidence
//! are directives that the first followed and the second did not, and that count for the adoption
//! score: rare, and neither in the task nor in its inputs. So every finding has a span of the skill
//! and a span of the trace, or states that no directive was followed. The rules do not know which
//! of the two runs had the skill: pairs of one condition use the same rules and give the null.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::Serialize;

use super::guards::guards;
use crate::adherence::{
    Adherence, Assessment, Change, Known, Location, Status, TestCheck, attainable, changed,
};
use crate::behaviour::{Action, Verb};
use crate::directive::{Directive, Kind, Probe};
use crate::evidence::{Manner, SkillText, words};

/// A pattern of influence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Directives are followed in the order that the skill states.
    ProceduralScaffolding,
    /// A guard is written that follows a directive.
    EdgeCasePrompting,
    /// A search in vain for a file that a directive names.
    RedundantExploration,
    /// A value of the skill's examples is written down, and neither the task nor the workspace has
    /// it.
    SurfaceAnchoring,
    /// A document that the task does not name and the other run does not write follows directives.
    ConceptBleed,
    /// Directives are followed, and no check after the last write; the other run has one.
    PrematureClosure,
    /// More tokens than the other run, no directive followed beyond it, and no check gained.
    SkillInertia,
}

/// The effect of a pattern on the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It may help.
    Constructive,
    /// It costs.
    Neutral,
    /// It may harm.
    Destructive,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::ProceduralScaffolding,
        Self::EdgeCasePrompting,
        Self::RedundantExploration,
        Self::SurfaceAnchoring,
        Self::ConceptBleed,
        Self::PrematureClosure,
        Self::SkillInertia,
    ];

    /// The name it has in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::ProceduralScaffolding => "procedural_scaffolding",
            Self::EdgeCasePrompting => "edge_case_prompting",
            Self::RedundantExploration => "redundant_exploration",
            Self::SurfaceAnchoring => "surface_anchoring",
            Self::ConceptBleed => "concept_bleed",
            Self::PrematureClosure => "premature_closure",
            Self::SkillInertia => "skill_inertia",
        }
    }

    /// Its effect on the task.
    pub fn effect(self) -> Effect {
        match self {
            Self::ProceduralScaffolding | Self::EdgeCasePrompting => Effect::Constructive,
            Self::RedundantExploration | Self::SkillInertia => Effect::Neutral,
            Self::SurfaceAnchoring | Self::ConceptBleed | Self::PrematureClosure => Effect::Destructive,
        }
    }
}

/// One finding, with its two spans.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// What it is.
    pub pattern: Pattern,
    /// The file of the skill.
    pub skill_file: String,
    /// The line in it, from 1; 0 for the whole skill.
    pub skill_line: usize,
    /// Its text.
    pub skill_text: String,
    /// The part of the line that was checked.
    pub subject: String,
    /// ATIF's `step_id`; 0 for the whole run.
    pub step: usize,
    /// Its text.
    pub trace_text: String,
    /// Weight of the directive: of several findings at one span the heaviest is kept.
    pub weight: f64,
    /// What the skill says, what the run did, and why that is this pattern.
    pub sentence: String,
}

/// The facts of a run that the rules use.
pub(super) struct RunFacts {
    pub(super) actions: Vec<Action>,
    /// Lines that guards begin at, over all writes.
    guards: BTreeSet<String>,
    /// Lower-case words of tool results, except those with the skill's text.
    pub(super) workspace: HashSet<String>,
    pub(super) tokens: u64,
    checks: Vec<TestCheck>,
    /// Whether the verifier passed the run; `None` without a verifier.
    passed: Option<bool>,
}

/// The two runs of a pair with what they show of one skill.
pub(super) struct Pair<'a> {
    pub(super) one: &'a RunFacts,
    pub(super) other: &'a RunFacts,
    pub(super) of_one: &'a Adherence,
    pub(super) of_other: &'a Adherence,
    pub(super) skill: &'a SkillText,
    pub(super) prompt: &'a str,
    /// What the task and its inputs say.
    pub(super) known: &'a Known,
}

/// What a run gained by its verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gain {
    /// A check, or its whole verdict.
    Some,
    /// No check.
    NoCheck,
    /// It did not pass where the other failed; its checks are unknown.
    NoPass,
}

/// A directive that the first run followed and the second did not.
struct Followed<'a> {
    directive: &'a Directive,
    location: &'a Location,
    weight: f64,
}

/// Longest line of a span, in characters.
const SPAN_CAP: usize = 300;

/// Longest quotation in a sentence, in characters.
const QUOTE_CAP: usize = 120;

/// Parts of the skill that have to be followed in its order to be more than chance.
const PARTS: usize = 3;

/// A score below this is near zero: a fifth of the threshold of adoption.
const INERT: f64 = 0.05;

/// Share of the directives that a run without any use of the skill may follow by itself.
const FOLLOWED_ANYWAY: f64 = 0.1;

/// The ratio of tokens above which a run counts as longer.
const DEARER: f64 = 1.1;

/// Weight of findings that no followed directive weighs.
const UNWEIGHED: f64 = 0.1;

impl RunFacts {
    pub(super) fn new(
        actions: Vec<Action>,
        workspace: HashSet<String>,
        tokens: u64,
        checks: Vec<TestCheck>,
        passed: Option<bool>,
    ) -> Self {
        let writes = actions.iter().filter(|action| action.verb == Verb::Write);
        let guards = writes.flat_map(|action| guards(&action.target, &action.content)).collect();
        Self { actions, guards, workspace, tokens, checks, passed }
    }

    /// Whether the verifier is known to have passed it, or all the checks that it decided.
    fn passed(&self) -> bool {
        let mut decided = self.checks.iter().filter_map(|check| check.passed).peekable();
        self.passed == Some(true) || decided.peek().is_some() && decided.all(|passed| passed)
    }
}

/// The findings in the first run of a pair, compared with the second; one for each span of the
/// trace.
pub(super) fn patterns(pair: &Pair<'_>) -> Vec<Finding> {
    let evidence = pair.evidence();
    let mut found = Vec::new();
    scaffolding(pair, &evidence, &mut found);
    edge_cases(pair, &evidence, &mut found);
    exploration(pair, &mut found);
    anchoring(pair, &evidence, &mut found);
    bleed(pair, &evidence, &mut found);
    closure(pair, &evidence, &mut found);
    inertia(pair, &evidence, &mut found);
    found.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let mut kept: Vec<Finding> = Vec::new();
    for finding in found {
        if !kept.iter().any(|other| other.step == finding.step && other.trace_text == finding.trace_text) {
            kept.push(finding);
        }
    }
    kept.sort_by_key(|finding| (finding.pattern as usize, finding.step, finding.skill_line));
    kept
}

impl<'a> Pair<'a> {
    fn assessed(&self) -> impl Iterator<Item = (&'a Directive, &'a Assessment, Option<&'a Assessment>)> + '_ {
        let directives = self.skill.directives.iter();
        directives
            .zip(&self.of_one.assessments)
            .enumerate()
            .map(|(at, (directive, one))| (directive, one, self.of_other.assessments.get(at)))
    }

    fn evidence(&self) -> Vec<Followed<'a>> {
        self.assessed()
            .filter(|(_, one, other)| {
                one.status == Status::Followed
                    && one.weight > 0.0
                    && other.is_none_or(|other| other.status != Status::Followed)
            })
            .filter_map(|(directive, one, _)| {
                let location = one.place.as_ref().filter(|location| !is_import(&location.text))?;
                Some(Followed { directive, location, weight: one.weight })
            })
            .collect()
    }

    /// What the first run gained by its verifier, compared with the second; `None` if neither checks nor
    /// outcomes of both are known.
    fn gain(&self) -> Option<Gain> {
        let decided = |checks: &'a [TestCheck]| checks.iter().filter(|check| check.passed.is_some());
        // Checks of other names cannot be compared.
        let have_checks = decided(&self.one.checks)
            .any(|check| decided(&self.other.checks).any(|other| other.name == check.name));
        let changes = changed(&self.one.checks, &self.other.checks);
        let gained_check = changes.iter().any(|(_, _, change)| *change == Change::Gained);
        let outcomes = self.one.passed.zip(self.other.passed);
        if gained_check || outcomes == Some((true, false)) {
            return Some(Gain::Some);
        }
        match (have_checks, outcomes) {
            (true, _) => Some(Gain::NoCheck),
            (false, Some(_)) => Some(Gain::NoPass),
            (false, None) => None,
        }
    }
}

impl Followed<'_> {
    fn acted(&self) -> bool {
        self.location.manner >= Manner::Wrote && self.location.step > 0
    }

    fn finding(&self, pattern: Pattern, sentence: String) -> Finding {
        Finding {
            pattern,
            skill_file: self.directive.file.clone(),
            skill_line: self.directive.line,
            skill_text: capped(&self.directive.text, SPAN_CAP),
            subject: self.directive.subject.clone(),
            step: self.location.step,
            trace_text: capped(&self.location.text, SPAN_CAP),
            weight: self.weight,
            sentence,
        }
    }
}

/// Loading a module is an idiom of the language, whatever skill has it.
fn is_import(text: &str) -> bool {
    let text = text.trim();
    let from = text.starts_with("from ") && text.contains(" import ");
    from || ["import ", "#include", "using ", "use ", "package ", "extern crate "]
        .iter()
        .any(|start| text.starts_with(start))
        || text.contains("= require(")
}

fn capped(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// A text in quotation marks, in one line.
fn quote(text: &str) -> String {
    let text = text.trim().trim_start_matches(['-', '*', '#', ' ']);
    match text.char_indices().nth(QUOTE_CAP) {
        Some((end, _)) => format!("“{}…”", text[..end].trim_end()),
        None => format!("“{text}”"),
    }
}

fn line_of(directive: &Directive) -> String {
    if directive.file == "SKILL.md" {
        format!("line {}", directive.line)
    } else {
        format!("line {} of {}", directive.line, directive.file)
    }
}

/// A list with commas and a last "and".
fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// Orders that were kept, and parts of the skill that were acted on one after another.
fn scaffolding(pair: &Pair<'_>, evidence: &[Followed<'_>], found: &mut Vec<Finding>) {
    const P: Pattern = Pattern::ProceduralScaffolding;
    // The order of columns or values is no procedure.
    for one in evidence.iter().filter(|one| is_procedure(&one.directive.probe) && one.acted()) {
        let sentence = format!(
            "The skill states an order in {}: {}. The run acted in this order (step {}), and the run that it is \
             compared with did not.",
            line_of(one.directive),
            quote(&one.directive.text),
            one.location.step
        );
        found.push(one.finding(P, sentence));
    }
    // The first act of each part; a part is a numbered item, or what is below a heading.
    let mut parts: BTreeMap<(usize, usize), &Followed<'_>> = BTreeMap::new();
    for one in evidence.iter().filter(|one| one.acted() && one.directive.file == "SKILL.md") {
        let before = pair.skill.lines.iter().take_while(|line| line.number <= one.directive.line);
        let Some(part) = before.filter(|line| line.step).last() else { continue };
        let first = parts.entry((part.section, part.number)).or_insert(one);
        if one.location.step < first.location.step {
            *first = one;
        }
    }
    let parts: Vec<&Followed<'_>> = parts.into_values().collect();
    let order = longest_in_order(&parts.iter().map(|part| part.location.step).collect::<Vec<_>>());
    if let Some((&last, _)) = order.split_last().filter(|_| order.len() >= PARTS) {
        let lines: Vec<String> = order.iter().map(|&at| parts[at].directive.line.to_string()).collect();
        let steps: Vec<String> = order.iter().map(|&at| parts[at].location.step.to_string()).collect();
        let sentence = format!(
            "The run acted on {} parts of the skill one after another in the skill's order: lines {}, in steps {}. \
             The last is {}. The run that it is compared with did none of these.",
            order.len(),
            listed(&lines),
            listed(&steps),
            quote(&parts[last].directive.text)
        );
        found.push(parts[last].finding(P, sentence));
    }
}

/// Whether a probe is about programs to run or files to write in an order.
fn is_procedure(probe: &Probe) -> bool {
    let is_act = |probe: &Probe| match probe {
        Probe::Command { .. } | Probe::Script(_) => true,
        Probe::Text(text) => is_file(text),
        Probe::Layout(_) | Probe::Number { .. } | Probe::Sequence { .. } => false,
    };
    matches!(probe, Probe::Sequence { first, then } if is_act(first) && is_act(then))
}

/// Whether a text is the name of a file: it has a short extension.
fn is_file(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.chars().all(|c| c.is_ascii_alphanumeric())
            && extension.starts_with(|c: char| c.is_ascii_alphabetic())
    })
}

/// The places of a longest subsequence that always increases; the earliest among equals.
fn longest_in_order(values: &[usize]) -> Vec<usize> {
    let mut best: Vec<(usize, Option<usize>)> = Vec::new();
    for (at, value) in values.iter().enumerate() {
        let before =
            (0..at).filter(|&other| values[other] < *value).max_by_key(|&other| (best[other].0, at - other));
        best.push((before.map_or(1, |other| best[other].0 + 1), before));
    }
    let mut order = Vec::new();
    let mut at = (0..values.len()).max_by_key(|&at| (best[at].0, values.len() - at));
    while let Some(here) = at {
        order.push(here);
        at = best[here].1;
    }
    order.reverse();
    order
}

fn edge_cases(pair: &Pair<'_>, evidence: &[Followed<'_>], found: &mut Vec<Finding>) {
    for one in evidence.iter().filter(|one| one.acted() && pair.one.guards.contains(one.location.text.trim()))
    {
        let sentence = format!(
            "The skill says in {}: {}. In step {} the run wrote `{}`, a guard that follows this and that the run \
             that it is compared with does not have.",
            line_of(one.directive),
            quote(&one.directive.text),
            one.location.step,
            capped(one.location.text.trim(), QUOTE_CAP)
        );
        found.push(one.finding(Pattern::EdgeCasePrompting, sentence));
    }
}

/// Searches in vain for a file that a directive names.
fn exploration(pair: &Pair<'_>, found: &mut Vec<Finding>) {
    let mut seen = BTreeSet::new();
    let named = pair.skill.directives.iter().filter(|one| matches!(one.kind, Kind::File | Kind::Script));
    for directive in named {
        let Some(name) = file_name(&directive.subject) else { continue };
        let mentions = |action: &&Action| searched(&action.target).any(|word| file_name(word) == Some(name));
        if pair.prompt.contains(name) || pair.other.actions.iter().any(|action| mentions(&action)) {
            continue;
        }
        let mut acts = pair.one.actions.iter().filter(mentions);
        let in_vain = |action: &&Action| {
            matches!(action.verb, Verb::Read | Verb::Search)
                && action.missing.iter().any(|line| line.is_empty() || line.contains(name))
        };
        // A file that is found or written sooner or later was not searched for in vain.
        if !acts.clone().all(|action| in_vain(&action)) || !seen.insert(name) {
            continue;
        }
        let Some(action) = acts.next() else { continue };
        found.push(Finding {
            pattern: Pattern::RedundantExploration,
            skill_file: directive.file.clone(),
            skill_line: directive.line,
            skill_text: capped(&directive.text, SPAN_CAP),
            subject: directive.subject.clone(),
            step: action.step,
            trace_text: capped(&action.target, SPAN_CAP),
            weight: UNWEIGHED,
            sentence: format!(
                "The skill names the file {name} in {}. In step {} the run searched for it in vain (`{}`) and did not \
                 use it later; neither the task nor the run that it is compared with mentions it.",
                line_of(directive),
                action.step,
                capped(&action.target, QUOTE_CAP)
            ),
        });
    }
}

/// The words of a search that say what is searched for: not the arguments of options that exclude.
fn searched(target: &str) -> impl Iterator<Item = &str> {
    const EXCLUDE: [&str; 7] =
        ["-I", "--exclude", "--exclude-dir", "--ignore", "--ignore-dir", "--ignore-file", "-E"];
    let words: Vec<&str> = target.split_whitespace().collect();
    let inverted = words.first().is_some_and(|program| program.ends_with("grep"))
        && words.iter().any(|word| matches!(*word, "-v" | "--invert-match"));
    let excludes = |at: usize| {
        let before = |back: usize| at.checked_sub(back).and_then(|at| words.get(at)).copied().unwrap_or("");
        let word = words[at];
        let option = EXCLUDE.iter().any(|option| {
            word.strip_prefix(option).is_some_and(|rest| rest.starts_with('='))
                || before(1) == *option && words[0] != "grep"
                || before(1) == *option && option.starts_with("--")
        });
        let negated = matches!(before(2), "-not" | "!") || before(2) == "\\!";
        let pruned =
            before(1).starts_with('-') && words[at + 1..].iter().take(2).any(|word| *word == "-prune");
        option || negated || pruned || word.starts_with('!') || word.starts_with(":!")
    };
    let kept: Vec<bool> = (0..words.len()).map(|at| !inverted && !excludes(at)).collect();
    words.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(word, _)| word)
}

/// The last part of a path; `None` where it says too little.
fn file_name(target: &str) -> Option<&str> {
    let name = target.trim_matches(['"', '\'', '*', '`']).rsplit(['/', ' ']).next()?;
    (name.len() >= 4 && name.contains(['.', '_', '-'])).then_some(name)
}

/// Values of examples: names of things in another project.
fn anchoring(pair: &Pair<'_>, evidence: &[Followed<'_>], found: &mut Vec<Finding>) {
    if pair.one.passed() {
        return;
    }
    let demanded = |subject: &str| {
        pair.skill.directives.iter().any(|directive| !directive.example && directive.subject == subject)
    };
    let asked: BTreeSet<String> = words(pair.prompt).iter().map(|word| word.to_lowercase()).collect();
    for one in evidence.iter().filter(|one| one.directive.example && one.location.manner == Manner::Wrote) {
        let subject = one.directive.subject.as_str();
        let kind = matches!(one.directive.kind, Kind::Literal | Kind::File | Kind::Column);
        if !kind || !is_value(subject) || demanded(subject) {
            continue;
        }
        let lower = subject.to_lowercase();
        let parts = words(&lower);
        let known = |all: &dyn Fn(&str) -> bool| parts.iter().all(|part| all(part));
        let explained = known(&|part| asked.contains(part))
            || known(&|part| pair.one.workspace.contains(part))
            || known(&|part| pair.other.workspace.contains(part));
        if parts.is_empty() || explained {
            continue;
        }
        let sentence = format!(
            "The value `{subject}` is from an example of the skill ({}), which no sentence of it demands. The run wrote \
             it ({}), although neither the task nor the files that the run saw have it.",
            line_of(one.directive),
            place(one.location)
        );
        found.push(one.finding(Pattern::SurfaceAnchoring, sentence));
    }
}

/// Whether a text is a path, an address, a version or an identifier with a number: a value of a
/// project, and no name of a language or library.
fn is_value(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let path = text.contains('/') && !text.starts_with(['.', '-']) && !text.ends_with('/');
    !text.contains(['(', ' ', '='])
        && (text.contains("://") || text.contains('@') && letters > 3 || path && letters > 5)
        || (digits >= 2 && letters >= 2 && text.len() >= 5 && !text.contains(['(', ' ', '=']))
        || (digits >= 2 && text.matches('.').count() >= 2)
}

/// Where a run shows something, in words.
fn place(location: &Location) -> String {
    match (&location.file, location.step) {
        (Some(file), 0) => file.clone(),
        (Some(file), step) => format!("step {step}, {file}"),
        (None, step) => format!("step {step}"),
    }
}

/// Documents beside the task.
fn bleed(pair: &Pair<'_>, evidence: &[Followed<'_>], found: &mut Vec<Finding>) {
    let written: BTreeSet<&str> = pair
        .other
        .actions
        .iter()
        .filter(|action| action.verb == Verb::Write)
        .filter_map(|action| file_name(&action.target))
        .collect();
    let mut files: BTreeMap<&str, Vec<&Followed<'_>>> = BTreeMap::new();
    for one in evidence.iter().filter(|one| one.location.manner == Manner::Wrote) {
        if let Some(file) = &one.location.file {
            files.entry(file).or_default().push(one);
        }
    }
    for (file, followed) in files {
        let Some(name) = file_name(file) else { continue };
        let stem = name.split('.').next().unwrap_or(name).to_lowercase();
        let asked = pair.prompt.contains(name) || pair.prompt.to_lowercase().contains(&stem);
        // Scripts and sources are means to an end; documents are there to be read.
        let document = [".md", ".rst", ".txt", ".adoc"].iter().any(|end| name.to_lowercase().ends_with(end));
        if asked || !document || written.contains(name) || pair.one.passed() {
            continue;
        }
        // One shared directive may be a coincidence.
        let [first, second, ..] = followed.as_slice() else { continue };
        let sentence = format!(
            "The run wrote {file}, which the task does not ask for and the run that it is compared with does not write. \
             In it the run followed {} and {} of the skill ({}).",
            line_of(first.directive),
            line_of(second.directive),
            quote(&first.directive.text)
        );
        let finding = first.finding(Pattern::ConceptBleed, sentence);
        found.push(Finding { trace_text: file.to_owned(), ..finding });
    }
}

fn closure(pair: &Pair<'_>, evidence: &[Followed<'_>], found: &mut Vec<Finding>) {
    let last_write =
        |actions: &[Action]| actions.iter().rposition(|action| action.verb == Verb::Write && !action.failed);
    let (Some(end), Some(end_of_other)) = (last_write(&pair.one.actions), last_write(&pair.other.actions))
    else {
        return;
    };
    // Looking at what was made, or running it, is a check of some kind.
    let unchecked = pair.one.actions.len() == end + 1 && !pair.one.actions[end].compound;
    let check = pair.other.actions[end_of_other + 1..].iter().find(|action| action.check);
    let heaviest = evidence.iter().filter(|one| one.acted()).max_by(|a, b| a.weight.total_cmp(&b.weight));
    let (Some(check), Some(heaviest)) = (check.filter(|_| unchecked && !pair.one.passed()), heaviest) else {
        return;
    };
    let write = &pair.one.actions[end];
    let sentence = format!(
        "The run followed {} of the skill ({}) and ended with writing {} in step {}, without running or reading \
         anything afterwards; the run that it is compared with ran `{}` after its last change. No directive on \
         checking the result was followed.",
        line_of(heaviest.directive),
        quote(&heaviest.directive.text),
        capped(&write.target, QUOTE_CAP),
        write.step,
        capped(&check.target, QUOTE_CAP)
    );
    let finding = heaviest.finding(Pattern::PrematureClosure, sentence);
    found.push(Finding {
        step: write.step,
        trace_text: capped(&write.target, SPAN_CAP),
        weight: UNWEIGHED,
        ..finding
    });
}

fn inertia(pair: &Pair<'_>, evidence: &[Followed<'_>], found: &mut Vec<Finding>) {
    let (tokens, fewer) = (pair.one.tokens, pair.other.tokens);
    let counts = pair.of_one.counts();
    let shown = counts.followed + counts.violated + counts.unknown;
    let unused = evidence.is_empty()
        && pair.of_one.score < INERT
        && shown > 0
        && counts.followed as f64 <= FOLLOWED_ANYWAY * shown as f64;
    if !unused || tokens as f64 <= DEARER * fewer as f64 {
        return;
    }
    // Where using the skill cannot be seen, not seeing it is no finding.
    if attainable(pair.skill, pair.known) <= 0.0 {
        return;
    }
    let nothing = match pair.gain() {
        Some(Gain::NoCheck) => "no check passed that fails in the run that it is compared with",
        Some(Gain::NoPass) => "its verifier did not pass it where the run that it is compared with failed",
        // Nothing is known of a gain, or there is one.
        Some(Gain::Some) | None => return,
    };
    let ratio = format!(
        "{:.1}× the tokens ({} vs {})",
        tokens as f64 / fewer as f64,
        thousands(tokens),
        thousands(fewer)
    );
    found.push(Finding {
        pattern: Pattern::SkillInertia,
        skill_file: "SKILL.md".to_owned(),
        skill_line: 0,
        skill_text: pair.skill.name.clone(),
        subject: String::new(),
        step: 0,
        trace_text: ratio.clone(),
        weight: UNWEIGHED,
        sentence: format!(
            "Of {} directives of the skill the run followed {}, all of them common, and {nothing}; it took {ratio}.",
            shown,
            if counts.followed == 0 { "none".to_owned() } else { counts.followed.to_string() }
        )
        .replace("followed none, all of them common,", "followed none,"),
    });
}

/// A count with a comma between thousands.
fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
