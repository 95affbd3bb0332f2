//! The items of a drafted task: what decides its two sets.
//!
//! Goal completion (`gc`) is what the instruction demands; instruction following (`if`) has an item for each directive
//! that was chosen. `tests/items.json` of a task has the items, and `solution/mutants.json` solutions that ignore one
//! directive each. The checks are functions of `tests/check.py`; `tests/sets.py`, which is the same in every task, runs
//! them and writes their results as CTRF with the named rewards `reward`, `gc` and `if`.

mod item;
mod judged;
mod mutant;
mod reply;

pub use item::{FEWEST_ITEMS, ITEMS_FILE, ItemSet, MOST_CONTROLS, TaskItem, TaskItems};
pub(crate) use judged::{RUBRIC_FILE, count_judged, describe_judged, read_judged};
pub use mutant::{MUTANTS_FILE, MutantEdit, MutantError, SolutionMutant, TaskMutants};
pub(crate) use reply::{ReplyItem, read_items};

/// What runs the checks of every task, in its folder `tests/`.
pub(crate) const RUNNER: [(&str, &str); 2] = [
    ("tests/sets.py", include_str!("../../templates/sets.py")),
    ("tests/test.sh", include_str!("../../templates/sets-test.sh")),
];

/// Whether assay writes a file of a task, and not a model.
pub(crate) fn is_own_file(path: &str) -> bool {
    path.starts_with("tests/counterfactual/")
        || path == ITEMS_FILE
        || path == MUTANTS_FILE
        || RUNNER.iter().any(|(own, _)| *own == path)
}
