//! Reviews of tasks as Markdown.

use assay_analysis::{FailedTrial, TaskResults};
use assay_diagnostic::{clean, counted};

use super::document::{ReviewedTask, TaskReview, TaskReviewDocument};
use super::oracle::OracleResults;

/// Most failures that are listed for a run.
const FAILURES: usize = 30;

/// A text in a line of Markdown: neither a table's border nor a tag.
fn inline(text: &str) -> String {
    let text = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    // An invisible word joiner prevents mentions.
    text.replace('|', "\\|").replace('<', "&lt;").replace('@', "@\u{2060}")
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// The report of a task.
pub fn review_markdown(review: &TaskReview) -> String {
    let mut text = format!("# {}\n\n", inline(&review.task.name));
    text.push_str(&task(&review.task));
    text.push_str(&oracle(&review.oracle));
    text.push_str(&policy(review));
    text.push_str(&results(review));
    text.push_str(&failures(review));
    text.push_str(&recommendation(review));
    text
}

fn task(task: &ReviewedTask) -> String {
    let mut text = String::from("## 1. Task\n\n");
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!("- {name}: {value}\n"));
        }
    };
    line("title", inline(&task.title));
    line("category", inline(task.category.as_deref().unwrap_or_default()));
    line("difficulty", inline(task.difficulty.as_deref().unwrap_or_default()));
    line("tags", inline(&task.tags.join(", ")));
    line("summary", inline(&task.summary));
    for skill in &task.skills {
        line("skill", format!("`{}`: {}", inline(&skill.name), inline(&skill.description)));
    }
    for name in &task.missing_skills {
        line("skill", format!("`{}` is required, and was not found here", inline(name)));
    }
    if task.skills.is_empty() && task.missing_skills.is_empty() {
        line("skill", "none".to_owned());
    }
    let mut limits = Vec::new();
    limits.extend(task.image.as_deref().map(|image| format!("image {}", inline(image))));
    limits.extend(task.cpus.map(|cpus| format!("{cpus} CPUs")));
    limits.extend(task.memory_bytes.map(|bytes| format!("{} MiB of memory", bytes >> 20)));
    limits.extend(task.agent_seconds.map(|seconds| format!("{seconds:.0} s for the agent")));
    limits.push(format!("{:.0} s for the verifier", task.verifier_seconds));
    if task.has_doubles {
        limits.push("test doubles".to_owned());
    }
    line("environment", limits.join(", "));
    for item in &task.rubric {
        line("judged", inline(item));
    }
    for (key, value) in &task.draft {
        line(&format!("drafted, {}", inline(key)), inline(value));
    }
    text.push('\n');
    text
}

fn oracle(oracle: &OracleResults) -> String {
    let mut text = String::from("## 2. OracleResults\n\n");
    if oracle.is_static {
        text.push_str("Not executed (`--static`).\n\n");
        return text;
    }
    if !oracle.trials.is_empty() {
        text.push_str("| trial | result | reward | tests | seconds |\n|---|---|---:|---|---:|\n");
    }
    for trial in &oracle.trials {
        let tests = trial.tests.iter().map(|(name, reward)| format!("{} {reward}", inline(name)));
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} |\n",
            trial.agent,
            trial.outcome.word().replace('_', " "),
            trial.reward.map_or("–".to_owned(), |reward| reward.to_string()),
            tests.collect::<Vec<_>>().join(", "),
            trial.seconds.map_or("–".to_owned(), |seconds| format!("{seconds:.1}")),
        ));
    }
    if let Some(sandbox) = &oracle.sandbox {
        text.push_str(&format!("\nExecuted in {sandbox}.\n"));
    }
    for reason in &oracle.unchecked {
        text.push_str(&format!("\nNot checked: {}\n", inline(reason)));
    }
    text.push('\n');
    text
}

fn policy(review: &TaskReview) -> String {
    let count = |result: &str| review.policy.iter().filter(|check| check.result == result).count();
    let mut text = format!(
        "## 3. Policy\n\n{} of {} passed, {}, {} failed.\n\n| check | result | findings |\n|---|---|---|\n",
        count("passed") + count("info"),
        counted(review.policy.len(), "group of checks", "groups of checks"),
        counted(count("warning"), "warning", "warnings"),
        count("failed"),
    );
    for check in &review.policy {
        let findings = check.findings.iter().map(|finding| {
            let line = finding.line.map_or(String::new(), |line| format!(":{line}"));
            let place = if finding.file.is_empty() {
                String::new()
            } else {
                format!("{}{line}: ", inline(&finding.file))
            };
            format!("{} `{}`: {place}{}", finding.weight, finding.code, inline(&finding.message))
        });
        text.push_str(&format!(
            "| {} | {} | {} |\n",
            check.check,
            check.result,
            findings.collect::<Vec<_>>().join("<br>")
        ));
    }
    text.push('\n');
    text
}

fn results(review: &TaskReview) -> String {
    let mut text = String::from("## 4. Results with and without skills\n\n");
    if review.results.is_empty() {
        text.push_str("Not measured: no run in the store has this task as it is now.\n\n");
    }
    for run in &review.results {
        let demonstration = if run.measures_a_model { "" } else { ", a demonstration without a model" };
        text.push_str(&format!(
            "Run `{}`{demonstration}. One task is no verdict; intervals are exact 95% CIs.\n\n\
             | agent | condition | passed | pass rate | vs {} | reward | opened a skill | tokens | USD | seconds | infra errors |\n\
             |---|---|---:|---|---:|---:|---:|---:|---:|---:|---:|\n",
            inline(&run.run),
            inline(&run.baseline),
        ));
        for arm in &run.arms {
            let number = |value: Option<f64>, digits: usize| {
                value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
            };
            let rate = match (arm.pass_rate, arm.ci95) {
                (Some(rate), Some([low, high])) => {
                    format!("{} ({} to {})", percent(rate), percent(low), percent(high))
                }
                _ => "–".to_owned(),
            };
            let opened = match arm.opened {
                _ if !arm.has_skills => "–".to_owned(),
                Some(opened) => format!("{opened}/{}", arm.trials),
                None => "unknown".to_owned(),
            };
            text.push_str(&format!(
                "| {} | {} | {}/{} | {rate} | {} | {} | {opened} | {} | {} | {} | {} |\n",
                inline(arm.who.model.as_deref().unwrap_or(&arm.who.agent)),
                inline(&arm.condition),
                arm.passed,
                arm.trials,
                arm.difference.map_or("–".to_owned(), |value| format!("{:+.0} pp", 100.0 * value)),
                number(arm.reward, 2),
                number(arm.tokens, 0),
                number(arm.cost_usd, 4),
                number(arm.seconds, 1),
                arm.infrastructure,
            ));
        }
        text.push('\n');
    }
    for run in &review.other_versions {
        text.push_str(&format!(
            "Run `{}` measured another version of the task and is left out.\n\n",
            inline(run)
        ));
    }
    text
}

fn failures(review: &TaskReview) -> String {
    let mut text = String::from("## 5. Failures\n\n");
    let before = text.len();
    for run in &review.results {
        text.push_str(&failures_of(run));
    }
    if text.len() == before {
        text.push_str("None are recorded.\n\n");
    }
    text
}

fn failures_of(run: &TaskResults) -> String {
    let mut text = String::new();
    if !run.tests.is_empty() {
        let conditions: Vec<&str> = run.arms.iter().map(|arm| arm.condition.as_str()).collect();
        let mut conditions: Vec<&str> = conditions.into_iter().fold(Vec::new(), |mut seen, name| {
            if !seen.contains(&name) {
                seen.push(name);
            }
            seen
        });
        conditions.retain(|name| run.tests.iter().any(|test| test.conditions.contains_key(*name)));
        let head: String = conditions.iter().map(|name| format!(" {} |", inline(name))).collect();
        text.push_str(&format!(
            "Trials of run `{}` that passed each test:\n\n| test |{head} |\n|---|{}---|\n",
            inline(&run.run),
            "---:|".repeat(conditions.len())
        ));
        for test in &run.tests {
            let cells: String = conditions
                .iter()
                .map(|name| match test.conditions.get(*name) {
                    Some((passed, of)) => format!(" {passed}/{of} |"),
                    None => " – |".to_owned(),
                })
                .collect();
            let remark = match test.total() {
                (0, _) => "never passed",
                (passed, of) if passed == of => "always passed",
                _ => "",
            };
            text.push_str(&format!("| {} |{cells} {remark} |\n", inline(&test.name)));
        }
        text.push('\n');
    }
    if !run.passed_unopened.is_empty() {
        let ids: Vec<&str> = run.passed_unopened.iter().map(assay_store::TrialId::short).collect();
        text.push_str(&format!(
            "{} passed with a skill that was not opened: {}\n\n",
            counted(ids.len(), "trial", "trials"),
            ids.join(", ")
        ));
    }
    for trial in run.failures.iter().take(FAILURES) {
        text.push_str(&failure(trial));
    }
    if run.failures.len() > FAILURES {
        text.push_str(&format!("- and {} more\n", run.failures.len() - FAILURES));
    }
    if !run.failures.is_empty() {
        text.push_str("\n`assay show TRIAL` prints the trace of a trial.\n\n");
    }
    text
}

fn failure(trial: &FailedTrial) -> String {
    let mut parts = Vec::new();
    if !trial.failed.is_empty() {
        parts.push(format!("failed tests: {}", trial.failed.join(", ")));
    }
    parts.extend(trial.reason.clone());
    parts.extend(trial.signs.iter().cloned());
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", inline(&parts.join("; "))) };
    format!(
        "- `{}` {}, {}, {}{parts}\n",
        trial.trial.short(),
        inline(trial.who.short()),
        inline(&trial.condition),
        trial.outcome.word().replace('_', " "),
    )
}

fn recommendation(review: &TaskReview) -> String {
    let recommendation = &review.recommendation;
    let mut text = format!(
        "## 6. Recommendation\n\n**{}**, by the rules in docs/TASKS.md; a person decides.\n\n",
        recommendation.choice.describe()
    );
    for reason in &recommendation.reasons {
        text.push_str(&format!(
            "- {}: `{}`: {}\n",
            reason.choice.describe(),
            reason.code,
            inline(&reason.message)
        ));
    }
    if !recommendation.reasons.is_empty() {
        text.push('\n');
    }
    text
}

/// One line for each task, and the number of each recommendation.
pub fn summarize_reviews(document: &TaskReviewDocument) -> String {
    let mut text = String::new();
    for review in &document.tasks {
        let choice = review.recommendation.choice.describe();
        text.push_str(&format!("{choice:12} {}\n", clean(&review.path.display().to_string())));
    }
    let count = |words: &str| {
        document.tasks.iter().filter(|review| review.recommendation.choice.describe() == words).count()
    };
    text.push_str(&format!(
        "{}: {} accept, {} revise, {} reject, {} not measured, {} unreadable\n",
        counted(document.tasks.len() + document.unreadable.len(), "task", "tasks"),
        count("accept"),
        count("revise"),
        count("reject"),
        count("not measured"),
        document.unreadable.len(),
    ));
    text
}
