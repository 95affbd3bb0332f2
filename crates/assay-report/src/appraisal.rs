//! An appraisal as text, Markdown, a page and a badge. Its JSON is the document itself.

use assay_analysis::appraise::{Appraisal, AppraisedComparison, OurFigures};

use crate::Style;
use crate::doc::{Block, Document, Grid, Level, Section};
use crate::text::{clean, counted, percent, percents, points, points_between, pp, usd};
use crate::wrap::wrap_lines;

/// The names of the verdicts' colors in badges; a badge without a verdict is gray.
const COLORS: [(&str, &str); 4] =
    [("helps", "#2e7d32"), ("harms", "#c62828"), ("negligible", "#546e7a"), ("inconclusive", "#8d6e00")];

/// Checks that are shown; the JSON has more.
const CHECKS: usize = 5;

/// Longest name of a check, in characters.
const NAME: usize = 40;

/// The width of a letter of a badge, at 11 pixels of a sans-serif font, and the space beside a text.
const LETTER: usize = 7;
const SPACE: usize = 12;

/// The appraisal in one sentence.
pub fn appraisal_sentence(appraisal: &Appraisal) -> String {
    sentence_of(&appraisal.ours, appraisal)
}

fn sentence_of(ours: &OurFigures, appraisal: &Appraisal) -> String {
    let cases = counted(ours.tasks, "case", "cases");
    let runs = match ours.repetitions_range {
        Some([least, most]) if least == most => format!(" × {}", counted(most, "run", "runs")),
        Some([least, most]) => format!(" × {least} to {most} runs"),
        None => String::new(),
    };
    let design = format!("{cases}{runs}");
    if ours.reason == Some("never-opened")
        && let Some(exposure) = appraisal.exposure
    {
        let bound = exposure.bound.map(percent).unwrap_or_default();
        return format!(
            "The skill was opened in none of {}: negligible (never opened), its effect is at most {bound} of runs if its \
             listing alone changes nothing.",
            counted(exposure.attempts, "run", "runs")
        );
    }
    let Some(lift) = ours.lift else {
        let arm = ours.arms.first().and_then(|arm| Some((arm.score?, arm.ci95)));
        let rate = arm.map_or_else(String::new, |(score, ci95)| {
            let interval = ci95.map_or_else(String::new, |_| format!(", 95% CI {}", percents(ci95)));
            format!(" (mean score {}{interval})", percent(score))
        });
        return match ours.reason {
            Some("no-baseline") => {
                format!("{design} without a baseline say nothing about the effect of the skill{rate}.")
            }
            _ => format!(
                "{design} have no case with a result under both arms: nothing can be said about the effect."
            ),
        };
    };
    let Some(verdict) = ours.verdict else {
        return format!(
            "{design} show {}, and rates alone do not say whether that is more than chance: the scores of cases are missing.",
            pp(lift)
        );
    };
    let interval = match (ours.ci95, ours.ci95_bounds) {
        (Some(interval), _) => format!("{} pp", points_between(Some(interval))),
        (None, Some([_, widest])) => format!("{} pp whatever the cases were", points_between(Some(widest))),
        (None, None) => "and no interval, because the file has rates only".to_owned(),
    };
    match verdict {
        "inconclusive" if ours.reason == Some("losses") => format!(
            "{design} show {} ({interval}), but runs without a result could change that: inconclusive.",
            pp(lift)
        ),
        "inconclusive" => {
            format!("{design} cannot tell {} from nothing: inconclusive, {interval}.", pp(lift))
        }
        "negligible" => {
            let margin = points(appraisal.margin).replace('+', "±");
            format!("{design} show no effect beyond {margin} pp: negligible, {} ({interval}).", pp(lift))
        }
        other => format!("{design} show {}: the skill {other}, {interval}.", pp(lift)),
    }
}

/// A label and what stands beside it.
type Row = (String, String);

/// What the tool says, and what the results support.
fn figure_rows(comparison: &AppraisedComparison, appraisal: &Appraisal) -> Vec<Row> {
    let (theirs, ours) = (&comparison.theirs, &comparison.ours);
    let source = &appraisal.source;
    let mut rows: Vec<Row> = Vec::new();
    let mut add = |label: &str, text: String| rows.push((label.to_owned(), text));
    let said: Vec<String> = [theirs.delta.map(pp), theirs.verdict.clone()].into_iter().flatten().collect();
    if !said.is_empty() {
        let measure = theirs.measure.as_ref().map_or_else(String::new, |measure| format!(" ({measure})"));
        add(&format!("{} says", source.tool), format!("{}{measure}", said.join(" · ")));
    }
    let reason = ours.reason.map_or_else(String::new, |reason| format!(" ({reason})"));
    let lift = ours.lift.map_or_else(String::new, |lift| format!(": {}", pp(lift)));
    let interval =
        ours.ci95.map_or_else(String::new, |interval| format!(", 95% CI {}", points_between(Some(interval))));
    add("assay says", format!("{}{reason}{lift}{interval}", ours.verdict.unwrap_or("no verdict")));
    if let Some([narrowest, widest]) = ours.ci95_bounds {
        let text = format!(
            "between {} and {} pp, whatever the scores of the cases were",
            points_between(Some(narrowest)),
            points_between(Some(widest))
        );
        add("95% CI", text);
    }
    let arms = ours.arms.iter().map(|arm| {
        let score = arm.score.map_or_else(|| "–".to_owned(), percent);
        let models =
            if arm.models.is_empty() { String::new() } else { format!(", {}", arm.models.join(" and ")) };
        format!("{} {score} ({}{models})", arm.name, counted(arm.attempts, "run", "runs"))
    });
    add("Arms", arms.collect::<Vec<_>>().join(" · "));
    add(
        "Run-to-run noise",
        ours.noise.map_or_else(|| missing(appraisal, "ours.noise"), |noise| pp(noise).replace('+', "±")),
    );
    let power = ours.power.map(|power| {
        let mde = ours.mde.filter(|mde| *mde <= 1.0);
        let mde = mde.map_or_else(|| "above 100 pp".to_owned(), |mde| pp(mde).replace('+', ""));
        format!(
            "{} for a lift of {} pp · minimum detectable effect (80% power): {mde}",
            percent(power),
            points(appraisal.margin).replace('+', "")
        )
    });
    add("Power", power.unwrap_or_else(|| missing(appraisal, "ours.power")));
    if ours.lost.arm + ours.lost.baseline > 0 {
        add(
            "Without a result",
            format!(
                "{} of the arm, {} of the baseline",
                counted(ours.lost.arm, "run", "runs"),
                ours.lost.baseline
            ),
        );
    }
    rows
}

fn missing(appraisal: &Appraisal, path: &str) -> String {
    let why = appraisal.missing.get(path).map_or("the file does not say", String::as_str);
    format!("unknown: {why}")
}

fn exposure_row(appraisal: &Appraisal) -> Option<Row> {
    let exposure = appraisal.exposure?;
    let mut text = format!("in {} of {}", exposure.opened, counted(exposure.known, "run", "runs"));
    if exposure.known < exposure.attempts {
        text.push_str(&format!(" of which it is known; {} in all", exposure.attempts));
    }
    if let Some(bound) = exposure.bound.filter(|_| exposure.tasks_opened == 0) {
        text.push_str(&format!(
            " · in none of {}: |lift| ≤ {} (95%) if the listing alone changes nothing",
            counted(exposure.tasks, "case", "cases"),
            percent(bound)
        ));
    }
    Some(("Skill opened".to_owned(), text))
}

/// The checks that differ most between the arms, or under one arm those that fail most.
fn check_rows(appraisal: &Appraisal) -> Vec<Row> {
    let rate = |[passed, all]: [usize; 2]| format!("{passed} of {all}");
    let shown = appraisal.checks.iter().filter(|check| check.arm[1] > 0).take(CHECKS);
    shown
        .map(|check| {
            let baseline = if check.baseline[1] == 0 {
                String::new()
            } else {
                format!(" · without {}", rate(check.baseline))
            };
            let judged = if check.judged { " · decided by a model" } else { "" };
            let reason =
                check.reason.as_ref().map_or_else(String::new, |reason| format!(" · failed: {reason}"));
            let name: String = check.name.chars().take(NAME).collect();
            (name, format!("{}{baseline}{judged}{reason}", rate(check.arm)))
        })
        .collect()
}

/// The next step with its size and cost.
fn next_line(appraisal: &Appraisal) -> String {
    let next = &appraisal.next;
    let mut size: Vec<String> = next
        .trials
        .filter(|trials| *trials > 0)
        .map(|trials| counted(trials, "run", "runs"))
        .into_iter()
        .collect();
    let cost = next.cost_usd.filter(|cost| *cost > 0.0 && !size.is_empty());
    // Cents are enough where there are any.
    let words = |cost: f64| if cost < 0.01 { usd(cost) } else { format!("${cost:.2}") };
    size.extend(cost.map(|cost| format!("about {}", words(cost))));
    let size = if size.is_empty() { String::new() } else { format!(" ({})", size.join(", ")) };
    format!("{}{size}", next.text)
}

fn title(appraisal: &Appraisal) -> String {
    let source = &appraisal.source;
    let subject = source.subject.clone().or_else(|| source.files.first().cloned()).unwrap_or_default();
    let version = source.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
    format!("{subject} · {} ({}{version})", source.format, source.tool)
}

/// The appraisal for a terminal, in lines that fit it.
pub fn appraisal_text(appraisal: &Appraisal, style: Style<'_>) -> String {
    let width = style.sentence();
    let mut text = wrap_lines(&format!("{}\n", clean(&appraisal_sentence(appraisal))), width);
    text.push_str(&format!("\n{}\n", clean(&title(appraisal))));
    let several = appraisal.comparisons.len() > 1;
    let alone = [AppraisedComparison {
        label: String::new(),
        theirs: appraisal.theirs.clone(),
        ours: appraisal.ours.clone(),
    }];
    let comparisons = if several { appraisal.comparisons.as_slice() } else { &alone };
    for comparison in comparisons {
        if several {
            text.push_str(&format!("\n{}\n", clean(&comparison.label)));
        }
        let mut rows = figure_rows(comparison, appraisal);
        if !several {
            rows.extend(exposure_row(appraisal));
        }
        push_rows(&mut text, &rows, width);
    }
    if several {
        push_rows(&mut text, &exposure_row(appraisal).into_iter().collect::<Vec<_>>(), width);
    }
    let checks = check_rows(appraisal);
    if !checks.is_empty() {
        text.push_str("\nChecks\n");
        push_rows(&mut text, &checks, width);
    }
    if !appraisal.warnings.is_empty() {
        text.push_str("\nWarnings\n");
        let rows: Vec<Row> =
            appraisal.warnings.iter().map(|warning| (warning.code.clone(), warning.text.clone())).collect();
        push_rows(&mut text, &rows, width);
    }
    text.push('\n');
    text.push_str(&wrap_lines(&format!("Next: {}\n", clean(&next_line(appraisal))), width));
    if let Some(command) = &appraisal.next.command {
        text.push_str(&format!("  {}\n", clean(command)));
    }
    if !appraisal.unused.is_empty() {
        text.push_str(&wrap_lines(&format!("Not used: {}\n", clean(&appraisal.unused.join("; "))), width));
    }
    text
}

/// Rows in two columns, the second one wrapped.
fn push_rows(text: &mut String, rows: &[Row], width: usize) {
    let label = rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let indent = label + 4;
    for (name, value) in rows {
        let wrapped = wrap_lines(&clean(value), width.saturating_sub(indent).max(30));
        for (at, line) in wrapped.lines().enumerate() {
            let name = if at == 0 { clean(name) } else { String::new() };
            let gap = label - name.chars().count().min(label);
            text.push_str(&format!("  {name}{:gap$}  {}\n", "", line.trim_start()));
        }
    }
}

fn document(appraisal: &Appraisal) -> Document {
    let grid = |caption: &str, rows: Vec<Row>| {
        let mut grid = Grid::new(caption, &["", " "], &[]);
        grid.rows = rows.into_iter().map(|(label, text)| vec![label.into(), text.into()]).collect();
        Block::Grid(grid)
    };
    let section = |title: &'static str, blocks: Vec<Block>| Section { title, level: Level::Summary, blocks };
    let mut figures: Vec<Block> = Vec::new();
    if appraisal.comparisons.len() > 1 {
        for comparison in &appraisal.comparisons {
            figures.push(Block::Who(comparison.label.clone()));
            figures.push(grid("", figure_rows(comparison, appraisal)));
        }
    } else {
        let comparison = AppraisedComparison {
            label: String::new(),
            theirs: appraisal.theirs.clone(),
            ours: appraisal.ours.clone(),
        };
        figures.push(grid("", figure_rows(&comparison, appraisal)));
    }
    figures.extend(exposure_row(appraisal).map(|row| grid("", vec![row])));
    let warnings: Vec<Row> =
        appraisal.warnings.iter().map(|warning| (warning.code.clone(), warning.text.clone())).collect();
    let mut next = vec![Block::Text(next_line(appraisal))];
    next.extend(appraisal.next.command.iter().map(|command| Block::Text(format!("`{command}`"))));
    let mut sections = vec![section("Figures", figures)];
    let checks = check_rows(appraisal);
    if !checks.is_empty() {
        sections.push(section("Checks", vec![grid("", checks)]));
    }
    if !warnings.is_empty() {
        sections.push(section("Warnings", vec![grid("", warnings)]));
    }
    sections.push(section("Next step", next));
    if !appraisal.unused.is_empty() {
        sections.push(section("Not used", vec![Block::List(appraisal.unused.clone())]));
    }
    Document {
        run: title(appraisal),
        outcome: String::new(),
        demonstration: None,
        answer: appraisal_sentence(appraisal),
        provenance: String::new(),
        facts: String::new(),
        notes: Vec::new(),
        sections,
    }
}

/// The appraisal as Markdown.
pub fn appraisal_markdown(appraisal: &Appraisal) -> String {
    crate::markdown::page_of("Appraisal of", &document(appraisal))
}

/// The appraisal as a page of its own.
pub fn appraisal_html(appraisal: &Appraisal) -> String {
    crate::html::page_of("assay appraisal", &document(appraisal))
}

/// The appraisal as a badge: SVG without fonts, scripts or links.
pub fn appraisal_badge(appraisal: &Appraisal) -> String {
    let ours = &appraisal.ours;
    let verdict = ours.verdict.unwrap_or("no verdict");
    let figures = match (ours.reason, ours.ci95) {
        (Some("never-opened"), _) => " (never opened)".to_owned(),
        (_, Some(interval)) => format!(" {} pp", points_between(Some(interval))),
        _ => String::new(),
    };
    let message = format!("{verdict}{figures} · {}", counted(ours.tasks, "case", "cases"));
    let color = COLORS.iter().find(|(name, _)| *name == verdict).map_or("#757575", |(_, color)| *color);
    let (label, text) = ("assay", message.as_str());
    let width = |text: &str| text.chars().count() * LETTER + SPACE;
    let (left, right) = (width(label), width(text));
    let (total, first, second) = (left + right, left / 2, left + right / 2);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{total}\" height=\"20\" role=\"img\" aria-label=\"{label}: {text}\">\n\
         <title>{label}: {text}</title>\n\
         <rect width=\"{left}\" height=\"20\" fill=\"#424242\"/>\n\
         <rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{color}\"/>\n\
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">\n\
         <text x=\"{first}\" y=\"14\">{label}</text>\n<text x=\"{second}\" y=\"14\">{text}</text>\n</g>\n</svg>\n"
    )
}
