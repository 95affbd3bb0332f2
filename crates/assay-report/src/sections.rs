//! Which findings stand where in a document.

use assay_analysis::{AgentKey, Comparison, Report};

use crate::doc::{Block, Document, Grid, Level, Section, Verdict};
use crate::labels::Labels;
use crate::sentences::{groups, lost, replied, sentence, who};
use crate::text::{clean, counted};
use crate::{grids, plot};

/// Lays the findings out.
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
        left_out(report),
        reading(report, &labels),
    ];
    Document {
        run: clean(&report.run),
        demonstration: (!report.measures_a_model).then_some(
            "A demonstration. No model was measured here: the figures show what the instrument does, and nothing else.",
        ),
        facts: facts(report),
        notes: report.notes.iter().map(|note| clean(&crate::notes::note(note))).collect(),
        sections: sections.into_iter().filter(|section| !section.blocks.is_empty()).collect(),
    }
}

fn facts(report: &Report) -> String {
    let mut tasks: Vec<&str> = report.tasks.iter().map(|row| row.task.as_str()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let trials: usize = report.arms.iter().map(|arm| arm.trials).sum();
    let mut agents: Vec<&AgentKey> = report.arms.iter().map(|arm| &arm.who).collect();
    agents.dedup();
    // Several agents are named where their results stand.
    let agent = if let [agent] = agents.as_slice() { Some(who(agent)) } else { None };
    let mut facts: Vec<String> = agent.into_iter().collect();
    facts.extend([
        counted(tasks.len(), "task", "tasks"),
        counted(report.arms.len(), "arm", "arms"),
        counted(trials, "valid trial", "valid trials"),
        format!("“no effect” means within ±{:.0} points", 100.0 * report.margin),
    ]);
    facts.extend(family(report));
    facts.join(" · ")
}

/// What shares an error rate of 5 %.
fn family(report: &Report) -> Option<String> {
    let primary = report.comparisons.iter().filter(|comparison| comparison.primary).count();
    let others = report.comparisons.len() - primary;
    let level = |comparison: &Comparison| comparison.family.map_or(0.95, |family| family.level);
    let alone = report.comparisons.iter().all(|found| !found.primary || (level(found) - 0.95).abs() < 1e-9);
    match (&report.primary, primary, others) {
        (_, 0, 0 | 1) => None,
        (Some(name), 1, 0) => Some(format!("1 comparison, the primary one (`{}`)", clean(name))),
        (Some(name), 1, others) if alone => Some(format!(
            "primary comparison `{}` judged at 95 %, {} Bonferroni-adjusted apart from it",
            clean(name),
            counted(others, "other comparison", "other comparisons")
        )),
        (Some(name), primary, others) if primary > 0 => Some(format!(
            "{primary} primary comparisons (`{}`) and {}, each set Bonferroni-adjusted",
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
        blocks: compared(&report.comparisons, report.margin, labels),
    }
}

/// A picture of comparisons, their verdicts, and their figures.
fn compared(comparisons: &[Comparison], margin: f64, labels: &Labels) -> Vec<Block> {
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
            "Tasks where no skill should help. They count in no other table; `negligible` is the hoped answer, and they are a \
             family of their own."
                .to_owned(),
        ));
        let mut grids = vec![grids::arms(&controls.arms, &labels)];
        grids.extend(grids::tasks(&controls.tasks, &labels).into_iter().map(Grid::into_detail));
        blocks.extend(compared(&controls.comparisons, report.margin, &labels).into_iter().map(|block| {
            match block {
                Block::Grid(grid) => Block::Grid(grid.into_detail()),
                block => block,
            }
        }));
        blocks.extend(grids.into_iter().map(Block::Grid));
    }
    Section { title: "Negative controls", level: Level::Summary, blocks }
}

fn arms(report: &Report, labels: &Labels) -> Section {
    let mut blocks = Vec::new();
    if report.arms.is_empty() {
        let text = match report.negative_controls {
            None => "No task of this run could be run and graded here: there are no results.",
            Some(_) => {
                "No task of this run could be run and graded here, other than its negative controls: there are no other results."
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
    Section { title: "Arms", level: Level::Summary, blocks }
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
        blocks.insert(0, Block::Text("Exploratory: no verdict rests on one task.".to_owned()));
    }
    Section { title: "Task by task", level: Level::Summary, blocks }
}

/// The tests of the verifiers that a condition turned.
fn tests(report: &Report, labels: &Labels) -> Section {
    let told = report.exploration.tests.len();
    let (grid, turned) = grids::tests(&report.exploration.tests, labels);
    let text = match (told, turned) {
        (0, _) => None,
        (told, 0) => Some(format!("No condition turned any of the {told} tests that verifiers told of.")),
        (told, turned) => {
            let shown = grid.as_ref().map_or(0, |grid| grid.rows.len());
            let rest = match turned - shown {
                0 => String::new(),
                _ => format!(" The {shown} that moved most stand here; the JSON has all."),
            };
            Some(format!(
                "Exploratory. Of the {told} tests that verifiers told of, these passed in fewer than half of the baseline’s \
                 trials and pass here in at least half, or the other way round: {turned}.{rest}"
            ))
        }
    };
    let blocks = text.map(Block::Text).into_iter().chain(grid.map(Block::Grid)).collect();
    Section { title: "Tests that a condition turned", level: Level::Tests, blocks }
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
            "Not placed, for the cost of a trial is not known: {}.",
            clean(&arms.join(", "))
        )));
    }
    let title = if labels.fractional() { "Cost against score" } else { "Cost against pass rate" };
    Section { title, level: Level::Details, blocks }
}

fn variance(report: &Report, labels: &Labels) -> Section {
    let mut blocks = Vec::new();
    if !report.exploration.repetitions.is_empty() {
        blocks.push(Block::Text(
            "Repetitions suffice where at most half of the spread of the tasks' differences comes from the trials. Then it is \
             tasks that are lacking; else more repetitions would pay."
                .to_owned(),
        ));
        blocks.push(Block::Grid(grids::repetitions(&report.exploration.repetitions, labels)));
    }
    if !report.exploration.variance.is_empty() {
        blocks.push(Block::Grid(grids::variance(&report.exploration.variance, labels)));
    }
    Section { title: "Variance, and whether the repetitions suffice", level: Level::Details, blocks }
}

fn strata(report: &Report, labels: &Labels) -> Section {
    let mut blocks: Vec<Block> =
        grids::strata(&report.exploration.strata, labels).into_iter().map(Block::Grid).collect();
    blocks.extend(grids::pooled(&report.exploration.pooled).map(Block::Grid));
    if !blocks.is_empty() {
        let text = "Exploratory: looked at after the verdicts, with 95 % intervals that no number of tables widens. There are no \
                    verdicts on them.";
        blocks.insert(0, Block::Text(text.to_owned()));
    }
    Section { title: "Parts of the suite, and all agents together", level: Level::Details, blocks }
}

fn left_out(report: &Report) -> Section {
    let blocks = grids::excluded(&report.excluded).map(Block::Grid).into_iter().collect();
    Section { title: "Left out", level: Level::Summary, blocks }
}

fn reading(report: &Report, labels: &Labels) -> Section {
    let margin = 100.0 * report.margin;
    let rates = if labels.fractional() {
        "A trial scores its reward, between 0 and 1; it passed where it scored 1. A task's score is the mean of its valid \
         trials, its pass rate the share of them that passed. A score, a rate or a lift is the mean over tasks, each weighing the \
         same. A lift is a condition's score less the baseline's on the same tasks, in points of a hundred; the verdict reads it."
    } else {
        "A task's pass rate is the share of its valid trials that passed; a rate or a lift is the mean over tasks, each weighing \
         the same. A lift is a condition's pass rate less the baseline's on the same tasks, in points of a hundred."
    };
    let lines = [
        rates.to_owned(),
        format!(
            "The verdict reads one interval, Bonferroni-adjusted: the primary comparisons share an error rate of 5 %, and the \
             others share another. `helps` and `harms`: it excludes 0. `negligible`: the lift lies within ±{margin:.0} points. \
             `inconclusive`: neither is shown."
        ),
        "The verdict and the 95 % interval are about tasks like these, of which these are a sample. The interval for these tasks \
         takes them as fixed: it says how much the lift would vary if they were run again, and decides nothing."
            .to_owned(),
        "Trials lost to infrastructure are no results. A verdict falls where it would change if the lost trials had come \
         out a quarter above or below the others of their task, or where the lost shares of the two arms differ by more than 5 points."
            .to_owned(),
        "Exposure is told in shares of valid trials: a skill's files were there (offered), the model was told of it (advertised), a \
         tool call used its path or the client’s skill tool (mentioned), at least half of its body reached the model (opened), a \
         file of it was run (executed)."
            .to_owned(),
        "p belongs to the interval that decides: adjusted for its family it is at most .05 exactly where that interval excludes \
         0. The noise floor (the same comparison between two halves of the baseline) and the normalised gain are context and \
         decide nothing; sign-flip and Wilcoxon p-values stand in the JSON."
            .to_owned(),
    ];
    Section { title: "How to read this", level: Level::Details, blocks: vec![Block::List(lines.to_vec())] }
}
