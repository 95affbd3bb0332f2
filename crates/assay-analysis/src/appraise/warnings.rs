//! What is not comparable in results, or not known.

use std::collections::{BTreeMap, BTreeSet};

use assay_store::{AttemptEnd, ResultAttempt, ToolResults};

use super::document::{AppraisalWarning, AppraisedComparison};

/// Cases that a warning names.
const NAMED: usize = 5;

/// Families of models, and how the names of their members begin or what they contain.
const FAMILIES: [(&str, &[&str]); 10] = [
    ("Claude", &["claude", "anthropic"]),
    ("GPT", &["gpt", "openai"]),
    ("Gemini", &["gemini", "gemma"]),
    ("Llama", &["llama"]),
    ("Qwen", &["qwen"]),
    ("Mistral", &["mistral", "devstral"]),
    ("DeepSeek", &["deepseek"]),
    ("Grok", &["grok"]),
    ("Kimi", &["kimi", "moonshot"]),
    ("GLM", &["glm"]),
];

fn family_of(model: &str) -> Option<&'static str> {
    let model = model.to_lowercase();
    FAMILIES
        .iter()
        .find(|(_, parts)| parts.iter().any(|part| model.contains(part)))
        .map(|(family, _)| *family)
}

/// The first names, and how many more there are.
fn some_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if names.len() > NAMED { format!("{shown} and {} more", names.len() - NAMED) } else { shown }
}

fn counted(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// Collects warnings.
struct Warnings<'a> {
    results: &'a ToolResults,
    found: Vec<AppraisalWarning>,
}

/// All warnings, the most serious first.
pub(super) fn warnings(results: &ToolResults, comparisons: &[AppraisedComparison]) -> Vec<AppraisalWarning> {
    let mut warnings = Warnings { results, found: Vec::new() };
    warnings.differing_delta(comparisons);
    warnings.lost_attempts();
    warnings.incomplete();
    warnings.models();
    warnings.judges();
    warnings.design(comparisons);
    for remark in &results.remarks {
        warnings.add(remark.code, remark.text.clone());
    }
    if results.own_tasks {
        warnings.add("own-tasks", "the tasks come with the skill: its authors chose them");
    }
    warnings.found
}

impl Warnings<'_> {
    fn add(&mut self, code: &str, text: impl Into<String>) {
        let text = text.into();
        if !self.found.iter().any(|warning| warning.code == code && warning.text == text) {
            self.found.push(AppraisalWarning { code: code.to_owned(), text });
        }
    }

    /// The printed difference is not that of the attempts in the file.
    fn differing_delta(&mut self, comparisons: &[AppraisedComparison]) {
        for comparison in comparisons {
            let theirs = &comparison.theirs;
            let Some((printed, computed)) = theirs.delta.zip(theirs.recomputed) else { continue };
            let rounding = self
                .results
                .published
                .iter()
                .filter(|one| one.delta == Some(printed))
                .map(|one| one.rounding);
            if (printed - computed).abs() > rounding.fold(0.0, f64::max) + 1e-9 {
                let text = format!(
                    "the tool prints a difference of {printed:+.6}, and its own attempts give {computed:+.6} by its own rule"
                );
                self.add("delta-differs", text);
            }
        }
    }

    /// Attempts that errored or were skipped.
    fn lost_attempts(&mut self) {
        let results = self.results;
        let arm = |attempt: &&ResultAttempt| results.arms[attempt.arm].name.as_str();
        let describe = |attempts: &[&ResultAttempt]| {
            let mut by_arm: BTreeMap<&str, usize> = BTreeMap::new();
            for attempt in attempts {
                *by_arm.entry(arm(attempt)).or_default() += 1;
            }
            by_arm.iter().map(|(arm, count)| format!("{count} under {arm}")).collect::<Vec<_>>().join(", ")
        };
        let errored: Vec<&ResultAttempt> =
            results.attempts.iter().filter(|attempt| matches!(attempt.end, AttemptEnd::Errored(_))).collect();
        let skipped: Vec<&ResultAttempt> =
            results.attempts.iter().filter(|attempt| matches!(attempt.end, AttemptEnd::Skipped(_))).collect();
        let scored = |attempts: &[&ResultAttempt]| attempts.iter().any(|attempt| attempt.score.is_some());
        for (attempts, what, scored_code, code) in [
            (&errored, "ended in an error", "errors-scored", "errors"),
            (&skipped, "not fully graded", "skips-scored", "skips"),
        ] {
            let Some(first) = attempts.first() else { continue };
            let (AttemptEnd::Errored(why) | AttemptEnd::Skipped(why)) = &first.end else { continue };
            let which = describe(attempts);
            let number = counted(attempts.len(), "run", "runs");
            if results.scores_failures && scored(attempts) {
                let text = format!("{number} {what} and scored all the same ({which}; {why}): left out here");
                self.add(scored_code, text);
            } else {
                self.add(code, format!("{number} {what} ({which}; {why}): they have no result"));
            }
        }
    }

    /// Partial results, missing cases, and cases of one arm only.
    fn incomplete(&mut self) {
        let results = self.results;
        if let Some(why) = &results.partial {
            self.add("partial", format!("the results are partial: {why}"));
        }
        if !results.absent_cases.is_empty() {
            let cases = counted(results.absent_cases.len(), "case has", "cases have");
            let names = some_names(results.absent_cases.iter().map(String::as_str));
            self.add("missing-cases", format!("{cases} no result: {names}"));
        }
        if results.arms.len() < 2 {
            return;
        }
        let mut arms_of: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for attempt in &results.attempts {
            arms_of.entry(&attempt.case).or_default().insert(attempt.arm);
        }
        let lone: Vec<&str> = arms_of
            .iter()
            .filter(|(_, arms)| arms.len() < results.arms.len())
            .map(|(case, _)| *case)
            .collect();
        if !lone.is_empty() {
            let cases = counted(lone.len(), "case is", "cases are");
            self.add(
                "unpaired-cases",
                format!("{cases} missing under an arm and left out of the comparison: {}", some_names(lone)),
            );
        }
    }

    /// Unknown models, and another model per arm.
    fn models(&mut self) {
        let results = self.results;
        if results.attempts.is_empty() {
            return;
        }
        let unknown: Vec<&str> =
            results.arms.iter().filter(|arm| arm.models.is_empty()).map(|arm| arm.name.as_str()).collect();
        if unknown.len() == results.arms.len() {
            self.add("unknown-model", "no model is named: nobody can say for which one the result holds");
        } else if !unknown.is_empty() {
            self.add("unknown-model", format!("no model is named for {}", some_names(unknown)));
        }
        let first = results.arms.first().map(|arm| &arm.models);
        let differ = results.arms.iter().any(|arm| !arm.models.is_empty() && Some(&arm.models) != first);
        if differ {
            let arms = results.arms.iter().map(|arm| {
                let models = arm.models.iter().map(String::as_str).collect::<Vec<_>>().join(" and ");
                format!("{}: {}", arm.name, if models.is_empty() { "unknown" } else { &models })
            });
            let arms = arms.collect::<Vec<_>>().join("; ");
            self.add(
                "model-per-arm",
                format!("the arms ran other models ({arms}): the difference is theirs as well"),
            );
        }
    }

    /// Judges that are unknown, or of the family of the models that they judge.
    fn judges(&mut self) {
        let results = self.results;
        let judged = results.attempts.iter().flat_map(|attempt| &attempt.checks).any(|check| check.judged);
        if judged && results.judges.is_empty() {
            self.add("unknown-judge", "a model judged, and the file does not name it");
        }
        let models: BTreeSet<&str> = results
            .arms
            .iter()
            .flat_map(|arm| arm.models.iter().filter_map(|model| family_of(model)))
            .collect();
        for judge in &results.judges {
            if let Some(family) = family_of(judge).filter(|family| models.contains(family)) {
                self.add(
                    "judge-family",
                    format!("the judge {judge} is of the family of the model that it judges ({family})"),
                );
            }
        }
    }

    /// Too few attempts, cases and baselines.
    fn design(&mut self, comparisons: &[AppraisedComparison]) {
        let mut alone: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        for attempt in &self.results.attempts {
            *alone.entry((attempt.arm, &attempt.case)).or_default() += 1;
        }
        let mut sizes: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for ((_, case), count) in &alone {
            sizes.entry(case).or_default().insert(*count);
        }
        let unequal: Vec<&str> =
            sizes.iter().filter(|(_, counts)| counts.len() > 1).map(|(case, _)| *case).collect();
        if !unequal.is_empty() {
            let cases = counted(unequal.len(), "case has", "cases have");
            self.add(
                "unequal-runs",
                format!("{cases} more runs under one arm than under another: {}", some_names(unequal)),
            );
        }
        let rates = self.results.published.iter().filter_map(|published| published.rates);
        let single = match alone.values().max() {
            Some(most) => *most == 1,
            None => rates.clone().any(|rates| rates.attempts == Some(1)),
        };
        if single {
            self.add("single-attempts", "every case was attempted once per arm: run-to-run noise is unknown");
        }
        if let Some(tasks) =
            comparisons.iter().map(|comparison| comparison.ours.tasks).min().filter(|tasks| *tasks < 5)
        {
            let cases = counted(tasks, "case", "cases");
            self.add("few-cases", format!("{cases}: under 5 no lift can be told from chance, however large"));
        }
        if comparisons.len() > 1 {
            let number = comparisons.len();
            self.add(
                "family",
                format!(
                    "{number} comparisons share an error rate of 5%: each verdict is judged at 5%/{number}"
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_of_models() {
        let check = |model: &str, expected: Option<&str>| assert_eq!(family_of(model), expected, "{model}");
        check("claude-haiku-4-5", Some("Claude"));
        check("aws/anthropic/bedrock-claude-opus-4-8", Some("Claude"));
        check("openai:gpt-5.5", Some("GPT"));
        check("mockllm/model", None);
        check("", None);
    }
}
