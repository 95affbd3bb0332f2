//! The sections of a report, and what each contains.

use assay_analysis::{AgentKey, Comparison, Report};

use crate::doc::{Block, Document, Grid, Level, Section, Verdict};
use crate::labels::Labels;
use crate::sentences::{groups, lost, replied, sentence, who};
use crate::text::{clean, counted};
use crate::{grids, plot};

/// Arranges a report into sections.
pub(crate) fn document(report: &Report) -> Document {
    let labels = Labels::of(report);
    let sections = [
        verdicts(report, &labels),
        arms(report, &labels),
        controls(report),
        tasks(report, &labels),
        tests(report, &labels),
        cost(report, &labels),
        variance(report, &labels),
        strata(report, &labels),
        exclusions(report),
        reading(report, &labels),
    ];
    Document {
        run: clean(&report.run),
        demonstration: (!report.measures_a_model)
            .then_some("Demonstration: no model was measured. The figures only show what assay prints."),
        facts: facts(report, &labels),
        notes: report.notes.iter().map(|note| clean(&crate::notes::note(note))).collect(),
        sections: sections.into_iter().filter(|section| !section.blocks.is_empty()).collect(),
    }
}

fn facts(report: &Report, labels: &Labels) -> String {
    let mut tasks: Vec<&str> = report.tasks.iter().map(|row| row.task.as_str()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let trials: usize = report.arms.iter().map(|arm| arm.trials).sum();
    let mut agents: Vec<&AgentKey> = report.arms.iter().map(|arm| &arm.who).collect();
    agents.dedup();
    // Several agents are named above their results.
    let agent = if let [agent] = agents.as_slice() { Some(who(agent)) } else { None };
    let mut facts: Vec<String> = agent.into_iter().collect();
    facts.extend([
        counted(tasks.len(), "task", "tasks"),
        if labels.several() {
            counted(report.arms.len(), "arm", "arms")
        } else {
            counted(report.arms.len(), "condition", "conditions")
        },
        counted(trials, "valid trial", "valid trials"),
        format!("equivalence margin ±{:.0} pp", 100.0 * report.margin),
    ]);
    facts.extend(family(report));
    facts.join(" · ")
}

/// Which comparisons share an error rate of 5%.
fn family(report: &Report) -> Option<String> {
    let primary = report.comparisons.iter().filter(|comparison| comparison.primary).count();
    let others = report.comparisons.len() - primary;
    let level = |comparison: &Comparison| comparison.family.map_or(0.95, |family| family.level);
    let alone = report.comparisons.iter().all(|found| !found.primary || (level(found) - 0.95).abs() < 1e-9);
    match (&report.primary, primary, others) {
        (_, 0, 0 | 1) => None,
        (Some(name), 1, 0) => Some(format!("1 primary comparison (`{}`)", clean(name))),
        (Some(name), 1, others) if alone => Some(format!(
            "primary comparison `{}` (95% CI) · {}",
            clean(name),
            match others {
                1 => "1 other comparison".to_owned(),
                _ => format!("{others} other comparisons, Bonferroni-adjusted"),
            }
        )),
        (Some(name), primary, others) if primary > 0 => Some(format!(
            "{primary} primary comparisons (`{}`) and {}, Bonferroni-adjusted separately",
            clean(name),
            counted(others, "other", "others")
        )),
        _ => Some(format!("{others} comparisons, Bonferroni-adjusted")),
    }
}

fn verdicts(report: &Report, labels: &Labels) -> Section {
    Section {
        title: "Verdicts",
        level: Level::Summary,
        blocks: comparison_blocks(&report.comparisons, report.margin, labels),
    }
}

/// Comparisons as a plot, as verdicts and as a table.
fn comparison_blocks(comparisons: &[Comparison], margin: f64, labels: &Labels) -> Vec<Block> {
    let mut blocks: Vec<Block> =
        plot::forest(comparisons, margin, labels).map(Block::Plot).into_iter().collect();
    for (who, comparisons) in groups(comparisons, |item| who(&item.who)) {
        if labels.several() {
            blocks.push(Block::Who(who));
        }
        blocks.extend(comparisons.into_iter().map(|comparison| verdict(comparison, margin)));
    }
    if !comparisons.is_empty() {
        blocks.push(Block::Grid(grids::comparisons(comparisons, labels)));
    }
    blocks
}

fn verdict(comparison: &Comparison, margin: f64) -> Block {
    Block::Verdict(Verdict {
        condition: clean(&comparison.condition),
        baseline: clean(&comparison.baseline),
        kind: comparison.verdict,
        sentence: sentence(comparison, margin),
    })
}

fn controls(report: &Report) -> Section {
    let mut blocks = Vec::new();
    if let Some(controls) = &report.negative_controls {
        let labels = Labels::among(&controls.arms);
        blocks.push(Block::Text(
            "Tasks on which no skill should help; the expected verdict is `negligible`. They are excluded from all other \
             tables, and their comparisons are Bonferroni-adjusted separately."
                .to_owned(),
        ));
        let mut grids = vec![grids::arms(&controls.arms, &labels)];
        grids.extend(grids::tasks(&controls.tasks, &labels).into_iter().map(Grid::into_detail));
        blocks.extend(comparison_blocks(&controls.comparisons, report.margin, &labels).into_iter().map(
            |block| match block {
                Block::Grid(grid) => Block::Grid(grid.into_detail()),
                block => block,
            },
        ));
        blocks.extend(grids.into_iter().map(Block::Grid));
    }
    Section { title: "Negative controls", level: Level::Summary, blocks }
}

fn arms(report: &Report, labels: &Labels) -> Section {
    let mut blocks = Vec::new();
    if report.arms.is_empty() {
        let text = match report.negative_controls {
            None => "No results: none of the tasks could be run and graded on this machine.",
            Some(_) => {
                "No other results: only the negative controls could be run and graded on this machine."
            }
        };
        blocks.push(Block::Text(text.to_owned()));
    }
    if !report.arms.is_empty() {
        blocks.push(Block::Grid(grids::arms(&report.arms, labels)));
        for (who, arms) in groups(&report.arms, |arm| who(&arm.who)) {
            let first = arms.first();
            let models = first.and_then(|arm| replied(report, &arm.who));
            let lines: Vec<String> = models.into_iter().chain(lost(&arms, labels.fractional())).collect();
            if !lines.is_empty() {
                blocks.extend(labels.several().then_some(Block::Who(who)));
                blocks.push(Block::List(lines));
            }
        }
        blocks.extend(plot::exposure(&report.arms, labels).map(Block::Plot));
        blocks.extend(grids::exposure(&report.arms, labels).map(Block::Grid));
    }
    let title = if labels.several() { "Arms" } else { "Conditions" };
    Section { title, level: Level::Summary, blocks }
}

fn tasks(report: &Report, labels: &Labels) -> Section {
    let mut blocks: Vec<Block> =
        report.exploration.heat.iter().filter_map(|map| plot::heat(map, labels)).map(Block::Plot).collect();
    blocks.extend(
        plot::extremes(&report.exploration.gains, &report.exploration.losses, labels).map(Block::Plot),
    );
    blocks.extend(
        grids::extremes(&report.exploration.gains, &report.exploration.losses, labels)
            .map(Grid::into_detail)
            .map(Block::Grid),
    );
    blocks.extend(grids::tasks(&report.tasks, labels).into_iter().map(Block::Grid));
    if !blocks.is_empty() {
        blocks.insert(0, Block::Text("Exploratory: single tasks have no verdict.".to_owned()));
    }
    Section { title: "Results by task", level: Level::Summary, blocks }
}

/// Checks of the verifiers that changed against the baseline.
fn tests(report: &Report, labels: &Labels) -> Section {
    let reported = report.exploration.tests.len();
    let (grid, changed) = grids::tests(&report.exploration.tests, labels);
    let text = match (reported, changed) {
        (0, _) => None,
        (_, 0) => Some(format!("None of the {reported} checks reported by the verifiers changed.")),
        (_, changed) => {
            let shown = grid.as_ref().map_or(0, |grid| grid.rows.len());
            let rest = match changed - shown {
                0 => String::new(),
                _ => format!(" The {shown} largest changes are shown; the JSON has all of them."),
            };
            Some(format!(
                "Exploratory. {} of {} reported by the verifiers changed: they passed in fewer than half of the baseline’s \
                 trials and in at least half of the condition’s, or vice versa.{rest}",
                counted(changed, "result", "results"),
                counted(reported, "check", "checks")
            ))
        }
    };
    let blocks = text.map(Block::Text).into_iter().chain(grid.map(Block::Grid)).collect();
    Section { title: "Checks that changed against the baseline", level: Level::Tests, blocks }
}

fn cost(report: &Report, labels: &Labels) -> Section {
    let mut blocks = Vec::new();
    blocks.extend(plot::frontier(&report.exploration.frontier, labels).map(Block::Plot));
    blocks.extend(grids::frontier(&report.exploration.frontier, labels).map(Block::Grid));
    if !report.exploration.frontier.unknown_cost.is_empty() {
        let arms: Vec<String> = report
            .exploration
            .frontier
            .unknown_cost
            .iter()
            .map(|arm| labels.arm(&arm.who, &arm.condition))
            .collect();
        blocks.push(Block::Text(format!(
            "Not plotted because the cost of a trial is unknown: {}.",
            clean(&arms.join(", "))
        )));
    }
    let title = if labels.fractional() { "Cost and score" } else { "Cost and pass rate" };
    Section { title, level: Level::Details, blocks }
}

fn variance(report: &Report, labels: &Labels) -> Section {
    let mut blocks = Vec::new();
    if !report.exploration.repetitions.is_empty() {
        blocks.push(Block::Text(
            "Repetitions are sufficient if at most half of the variance of the differences between conditions comes from the \
             trials of a task. More tasks then narrow the intervals more than more repetitions do."
                .to_owned(),
        ));
        blocks.push(Block::Grid(grids::repetitions(&report.exploration.repetitions, labels)));
    }
    if !report.exploration.variance.is_empty() {
        blocks.push(Block::Grid(grids::variance(&report.exploration.variance, labels)));
    }
    Section { title: "Variance and number of repetitions", level: Level::Details, blocks }
}

fn strata(report: &Report, labels: &Labels) -> Section {
    let mut blocks: Vec<Block> =
        grids::strata(&report.exploration.strata, labels).into_iter().map(Block::Grid).collect();
    blocks.extend(grids::pooled(&report.exploration.pooled).map(Block::Grid));
    if !blocks.is_empty() {
        let text = "Exploratory: strata have no verdict, and their 95% CIs are not adjusted for the number of strata.";
        blocks.insert(0, Block::Text(text.to_owned()));
    }
    Section { title: "Strata and pooled agents", level: Level::Details, blocks }
}

fn exclusions(report: &Report) -> Section {
    let blocks = grids::excluded(&report.excluded).map(Block::Grid).into_iter().collect();
    Section { title: "Excluded", level: Level::Summary, blocks }
}

fn reading(report: &Report, labels: &Labels) -> Section {
    let margin = 100.0 * report.margin;
    let rates = if labels.fractional() {
        "A trial's score is its reward, between 0 and 1; it passes with a score of 1. A task's score is the mean over its valid \
         trials, and its pass rate is the share of them that passed. Scores, pass rates and lifts are means over tasks, equally \
         weighted. Lift: the condition's score minus the baseline's on the same tasks, in percentage points (pp)."
    } else {
        "A task's pass rate is the share of its valid trials that passed. Pass rates and lifts are means over tasks, equally \
         weighted. Lift: the condition's pass rate minus the baseline's on the same tasks, in percentage points (pp)."
    };
    let lines = [
        rates.to_owned(),
        format!(
            "The verdict is read from the adjusted CI: primary comparisons share an error rate of 5%, and the other comparisons \
             share another 5% (Bonferroni). `helps` and `harms`: it excludes 0. `negligible`: two one-sided tests place the lift \
             within ±{margin:.0} pp. `inconclusive`: neither is shown."
        ),
        "The adjusted CI and the 95% CI treat the tasks as a sample of a larger population. The fixed-tasks CI does not: it \
         shows how much the lift would vary if the same tasks were run again. It does not affect the verdict."
            .to_owned(),
        "MDE: the minimum detectable effect with 80% power, at the variance of this run. Run-to-run noise: the same comparison \
         between two halves of the baseline's repetitions. Normalized gain: the lift as a share of what the baseline left to \
         gain. None of them affects the verdict."
            .to_owned(),
        "p belongs to the method of the adjusted CI: the adjusted p is at most 0.05 exactly where the adjusted CI excludes 0. \
         Sign-flip and Wilcoxon p-values are in the JSON."
            .to_owned(),
        "Trials with an infrastructure error have no result. A verdict becomes `inconclusive` if counting them 25 pp above or \
         below the rate of their cell would change it, or if their shares in the two conditions differ by more than 5 pp."
            .to_owned(),
        "Skill exposure funnel. Offered: the skill's files were in the sandbox. Advertised: the model was sent its list entry, \
         its description or a path in it. Mentioned: a tool call used a path in it or the client's skill tool. Opened: at \
         least half of its distinctive lines reached the model. Executed: one of its files was run."
            .to_owned(),
    ];
    Section {
        title: "How to read this report",
        level: Level::Details,
        blocks: vec![Block::List(lines.to_vec())],
    }
}
