use std::collections::BTreeSet;

use assay_analysis::{Arm, Comparison, Report, TaskRow, VerdictKind};

use crate::columns::Columns;
use crate::grids::about;
use crate::labels::Labels;
use crate::sentences::{groups, replied, sentence, who};
use crate::text::{clean, count, p_value, percent, percents, points, points_between, seconds};
use crate::{Renderer, Style, sentences};

/// Names are cut here in tables; whole they stand in the JSON.
const NAME: usize = 40;

/// Tables and sentences for a terminal.
pub(crate) struct Terminal;

impl Renderer for Terminal {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn render(&self, report: &Report, style: Style) -> String {
        let mut page = Page { text: String::new(), style };
        page.heading(report);
        let fractional = Labels::of(report).fractional();
        for (who, arms) in groups(&report.arms, |arm| who(&arm.who)) {
            let own: Vec<&Comparison> =
                report.comparisons.iter().filter(|other| self::who(&other.who) == who).collect();
            let rows: Vec<&TaskRow> = report.tasks.iter().filter(|row| self::who(&row.who) == who).collect();
            page.line("");
            page.title(&who);
            if let Some(arm) = arms.first()
                && let Some(line) = replied(report, &arm.who)
            {
                page.sentences(" ", 1, &line);
            }
            page.verdicts(&own, report);
            page.line("");
            page.table(&arm_table(&arms, fractional));
            page.lost(&arms, fractional);
            if !own.is_empty() {
                page.line("");
                page.table(&comparison_table(&own, fractional));
            }
            if !rows.is_empty() {
                page.line("");
                let score = if fractional { "mean score, " } else { "" };
                let title = format!(
                    "Task by task: {score}passed of valid trials, and points against the baseline (exploratory)"
                );
                for line in wrapped(&title, style.sentence()) {
                    page.title(&line);
                }
                page.table(&task_table(&rows, fractional));
            }
        }
        if report.arms.is_empty() {
            page.line("\nNo task of this run could be run and graded here: there are no results.");
        }
        page.excluded(report);
        page.text
    }
}

struct Page {
    text: String,
    style: Style,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// A line that begins a part of the page.
    fn title(&mut self, title: &str) {
        let title = self.painted(title, "1");
        self.line(&title);
    }

    fn painted(&self, text: &str, code: &str) -> String {
        if self.style.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// Sentences, the first line after `mark` and the others below its beginning. `mark` is as wide as `indent`.
    fn sentences(&mut self, mark: &str, indent: usize, text: &str) {
        for (number, line) in wrapped(text, self.style.sentence() - indent).iter().enumerate() {
            let begin = if number == 0 { mark.to_owned() } else { " ".repeat(indent) };
            self.line(&format!("{begin}{line}"));
        }
    }

    fn table(&mut self, table: &Columns) {
        for line in table.lines(self.style.table()) {
            self.line(&line);
        }
    }

    fn heading(&mut self, report: &Report) {
        self.title(&format!("run {}", clean(&report.run)));
        for note in &report.notes {
            self.sentences("! ", 2, &clean(&crate::notes::note(note)));
        }
    }

    fn verdicts(&mut self, comparisons: &[&Comparison], report: &Report) {
        let width = comparisons.iter().map(|comparison| comparison.verdict.word().len()).max().unwrap_or(0);
        for comparison in comparisons {
            let verdict = comparison.verdict.word();
            let code = match comparison.verdict {
                VerdictKind::Helps => "1;32",
                VerdictKind::Harms => "1;31",
                VerdictKind::NoEffect => "1;36",
                VerdictKind::Underpowered => "1;33",
            };
            let mark = format!(" {}{}  ", self.painted(verdict, code), " ".repeat(width - verdict.len()));
            let condition = clean(&comparison.condition);
            let baseline = clean(&comparison.baseline);
            let sentence = sentence(comparison, report.margin);
            self.sentences(&mark, width + 3, &format!("{condition} against {baseline}: {sentence}"));
        }
    }

    fn lost(&mut self, arms: &[&Arm], fractional: bool) {
        for line in sentences::lost(arms, fractional) {
            self.sentences(" ", 1, &line);
        }
    }

    fn excluded(&mut self, report: &Report) {
        if report.excluded.is_empty() {
            return;
        }
        self.line("");
        self.title("Left out");
        for excluded in &report.excluded {
            let condition =
                excluded.condition.as_deref().map_or(String::new(), |name| format!(", {}", clean(name)));
            let text = format!("{}{condition}: {}", clean(&excluded.task), clean(&excluded.reason));
            self.sentences(" ", 3, &text);
        }
    }
}

/// Words in lines of at most `width` characters; a word that is longer is broken.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut room = width;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let mut rest: Vec<char> = word.chars().collect();
        if rest.len() + usize::from(room < width) > room && room < width {
            lines.push(String::new());
            room = width;
        }
        loop {
            let line = lines.last_mut().expect("there is a line from the beginning");
            if room < width {
                line.push(' ');
                room -= 1;
            }
            let left = rest.split_off(rest.len().min(room));
            room -= rest.len();
            line.extend(rest);
            if left.is_empty() {
                break;
            }
            rest = left;
            lines.push(String::new());
            room = width;
        }
    }
    lines
}

/// A name as long as a table has room for.
pub(crate) fn short(name: &str) -> String {
    let name = clean(name);
    if name.chars().count() <= NAME {
        return name;
    }
    name.chars().take(NAME - 1).chain(['…']).collect()
}

fn arm_table(arms: &[&Arm], fractional: bool) -> Columns {
    let mut header = vec!["condition"];
    header.extend(if fractional {
        &["score", "95 % interval", "passed"][..]
    } else {
        &["passed", "95 % interval"]
    });
    header.extend([
        "tasks", "trials", "lost", "tokens", "cost", "time", "offered", "advert.", "touched", "opened",
        "executed",
    ]);
    let mut table = Columns::new(header, 1);
    for arm in arms {
        let exposure = &arm.exposure;
        let offers = exposure.offered > 0.0;
        let share = |share: f64| if offers { percent(share) } else { "–".to_owned() };
        let mut row = vec![
            short(&arm.condition),
            arm.score.map_or_else(|| "–".to_owned(), percent),
            percents(arm.score_ci95),
        ];
        if fractional {
            row.push(arm.pass_rate.map_or_else(|| "–".to_owned(), percent));
        }
        row.extend([
            arm.tasks.to_string(),
            arm.trials.to_string(),
            arm.infrastructure.to_string(),
            arm.tokens.map_or_else(|| "?".to_owned(), |tokens| about(arm, count(tokens))),
            arm.cost_usd.map_or_else(|| "?".to_owned(), |usd| about(arm, format!("${usd:.4}"))),
            arm.seconds.map_or_else(|| "–".to_owned(), seconds),
            share(exposure.offered),
            share(exposure.advertised),
            share(exposure.touched),
            share(exposure.opened),
            share(exposure.executed),
        ]);
        table.add_row(row);
    }
    table
}

fn comparison_table(comparisons: &[&Comparison], fractional: bool) -> Columns {
    let baseline = comparisons.first().map_or("", |comparison| comparison.baseline.as_str());
    let against = format!("against {}", short(baseline));
    let mut header = vec![against.as_str(), "lift"];
    if fractional {
        header.push("of passed");
    }
    header.extend([
        "95 % interval",
        "these tasks 95 %",
        "norm. gain",
        "p",
        "p (adjusted)",
        "noise floor",
        "detectable",
        "better/equal/worse",
    ]);
    let mut table = Columns::new(header, 1);
    for comparison in comparisons {
        let plus_minus =
            |figure: Option<f64>| figure.map_or_else(|| "–".to_owned(), |f| format!("±{:.0}", 100.0 * f));
        let [better, equal, worse] = comparison.better_equal_worse;
        let lift = |lift: Option<f64>| lift.map_or_else(|| "–".to_owned(), points);
        let mut row = vec![short(&comparison.condition), lift(comparison.lift)];
        if fractional {
            row.push(lift(comparison.pass_rate_lift));
        }
        row.extend([
            points_between(comparison.ci95),
            points_between(comparison.these_tasks_ci95),
            comparison
                .normalized_gain
                .map_or_else(|| "–".to_owned(), |gain| format!("{gain:+.2}").replace('-', "−")),
            p_value(comparison.p_interval),
            p_value(comparison.p_interval_adjusted),
            plus_minus(comparison.noise_floor),
            plus_minus(comparison.smallest_detectable),
            format!("{better}/{equal}/{worse}"),
        ]);
        table.add_row(row);
    }
    table
}

fn task_table(rows: &[&TaskRow], fractional: bool) -> Columns {
    let mut seen = BTreeSet::new();
    let arms = rows.iter().flat_map(|row| &row.arms).map(|arm| arm.condition.as_str());
    let conditions: Vec<&str> = arms.filter(|condition| seen.insert(*condition)).collect();
    let is_lossy = rows.iter().flat_map(|row| &row.arms).any(|arm| arm.infrastructure > 0);
    let compared = |condition: &str| {
        rows.iter().flat_map(|row| &row.arms).any(|arm| arm.condition == condition && arm.lift.is_some())
    };
    let mut header = vec!["task".to_owned()];
    header.extend(conditions.iter().map(|name| short(name)));
    if is_lossy {
        header.push("lost".to_owned());
    }
    let mut table = Columns::new(header, 1);
    for row in rows {
        let mut cells = vec![short(&row.task)];
        for condition in &conditions {
            let arm = row.arms.iter().find(|arm| arm.condition == *condition);
            let passed = arm.map_or_else(
                || "–".to_owned(),
                |arm| {
                    let score = arm.score.filter(|_| fractional);
                    let score = score.map_or_else(String::new, |score| format!("{} ", percent(score)));
                    format!("{score}{}/{}", arm.passed, arm.trials)
                },
            );
            let lift = arm.and_then(|arm| arm.lift).map_or_else(String::new, points);
            cells.push(if compared(condition) { format!("{passed} {lift:>5}") } else { passed });
        }
        if is_lossy {
            let lost: usize = row.arms.iter().map(|arm| arm.infrastructure).sum();
            cells.push(if lost > 0 { lost.to_string() } else { String::new() });
        }
        table.add_row(cells);
    }
    table
}

#[cfg(test)]
pub(crate) mod tests;
