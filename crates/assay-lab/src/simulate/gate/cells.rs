//! The cells of the grid.

use assay_gate::{ExperimentSize, MARGIN, level, written_margin};

use super::{BUDGET, GateCell, MERGES, MIN_POWER, Truth};

/// Numbers of tasks.
const TASKS: [usize; 6] = [8, 12, 20, 30, 40, 84];

/// Repetitions.
const REPETITIONS: [usize; 2] = [3, 5];

/// Numbers of edits of a lineage.
const EDITS: [usize; 4] = [1, 5, 10, 20];

/// Numbers of skills of a pull request.
const SKILLS: [usize; 3] = [1, 5, 30];

/// A size of an experiment, and what a gate can show with it at the first look.
pub(super) struct SizedGate {
    tasks: usize,
    repetitions: usize,
    /// The margin that `assay init ci` writes, with the power; `None` if the policy only warns.
    written: Option<(f64, f64)>,
    /// The power at the default margin.
    at_default: f64,
}

impl SizedGate {
    pub(super) fn new(tasks: usize, repetitions: usize) -> Self {
        let (size, first) = (ExperimentSize::of(tasks, repetitions), level(BUDGET, 1, 1));
        let margin = size.supported_margin(first).and_then(written_margin);
        let written = margin.map(|margin| (margin, size.equal_power(margin, first)));
        Self { tasks, repetitions, written, at_default: size.equal_power(MARGIN, first) }
    }

    fn all() -> impl Iterator<Item = Self> {
        TASKS
            .into_iter()
            .flat_map(|tasks| REPETITIONS.map(|repetitions| (tasks, repetitions)))
            .map(|(tasks, repetitions)| Self::new(tasks, repetitions))
    }

    /// The default margin with its power, if a gate runs with it.
    pub(super) fn default_margin(&self) -> Option<(f64, f64)> {
        (self.at_default >= MIN_POWER).then_some((MARGIN, self.at_default))
    }

    /// The written margin, if it is another than the default.
    fn wide_margin(&self) -> Option<(f64, f64)> {
        self.written.filter(|(margin, _)| *margin > MARGIN + 1e-9)
    }

    pub(super) fn cell(&self, truth: Truth, edits: usize, skills: usize, of: Option<(f64, f64)>) -> GateCell {
        GateCell {
            truth,
            edits,
            skills,
            tasks: self.tasks,
            repetitions: self.repetitions,
            margin: of.map(|(margin, _)| margin),
            power: of.map_or(1.0, |(_, power)| power),
        }
    }

    pub(super) fn cells(&self) -> Vec<GateCell> {
        let mut cells: Vec<GateCell> = [Truth::Null, Truth::Mixed]
            .into_iter()
            .flat_map(|truth| EDITS.map(|edits| self.cell(truth, edits, 1, None)))
            .collect();
        cells.extend(SKILLS[1..].iter().map(|skills| self.cell(Truth::Null, 1, *skills, None)));
        if self.written.is_some() {
            cells.extend(SKILLS.map(|skills| self.cell(Truth::Equal, 1, skills, self.written)));
        }
        let Some(of) = self.default_margin().map(Some) else { return cells };
        cells.push(self.cell(Truth::EqualAtDefault, 1, 1, of));
        cells.extend(EDITS.map(|edits| self.cell(Truth::Minus(MARGIN), edits, 1, of)));
        cells.extend([0.03, 0.05].map(|loss| self.cell(Truth::Minus(loss), MERGES, 1, of)));
        cells
    }

    pub(super) fn wide_cells(&self) -> Vec<GateCell> {
        let Some((margin, power)) = self.wide_margin() else { return Vec::new() };
        [0.03, 0.05, margin]
            .map(|loss| self.cell(Truth::Minus(loss), MERGES, 1, Some((margin, power))))
            .to_vec()
    }

    fn broken_cells(&self) -> Vec<GateCell> {
        let margins = [self.wide_margin(), self.default_margin()].into_iter().flatten();
        margins.map(|of| self.cell(Truth::Broken(of.0), MERGES, 1, Some(of))).collect()
    }
}

/// All cells. Designs that an equal version would pass with less than `min_power` are not in the cells of the default margin:
/// a gate refuses them. Those for which `assay init ci` writes a policy that only warns have no cell of equal versions.
pub fn gate_grid() -> Vec<GateCell> {
    SizedGate::all().flat_map(|size| size.cells()).collect()
}

/// The cells of versions that are worse, under the margins that small suites support: what a wide margin lets through.
pub fn wide_margins() -> Vec<GateCell> {
    SizedGate::all().flat_map(|size| size.wide_cells()).collect()
}

/// The cells of versions that lose the margin on few tasks: the hardest losses to see, without a promise.
pub fn broken_tasks() -> Vec<GateCell> {
    SizedGate::all().flat_map(|size| size.broken_cells()).collect()
}
