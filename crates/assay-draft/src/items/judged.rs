//! Items of directives that only a reader can decide. They are the set `if` of a task's rubric.

use std::path::Path;

use assay_judge::Rubric;

use super::{ItemSet, TaskItems};

/// The rubric of a task.
pub(crate) const RUBRIC_FILE: &str = "tests/rubric.json";

/// Most judged items that count toward the fewest items of a task: no judge is asked in validation, so the others have to
/// show that the task measures something.
const MOST_JUDGED: usize = 2;

/// How many judged items of a rubric count toward the fewest items of a task: those about directives that no check is about.
pub(crate) fn count_judged(rubric: &str, items: &TaskItems) -> usize {
    let Ok(rubric) = Rubric::parse(rubric) else { return 0 };
    let is_if = |name: &str| name == ItemSet::If.name();
    let sets = rubric.sets.iter().filter(|set| is_if(&set.name));
    let judged = sets.flat_map(|set| &set.items).filter(|item| items.find_by_id(&item.id).is_none());
    judged.count().min(MOST_JUDGED)
}

/// The same for the folder of a task.
pub(crate) fn read_judged(task: &Path, items: &TaskItems) -> usize {
    count_judged(&std::fs::read_to_string(task.join(RUBRIC_FILE)).unwrap_or_default(), items)
}

/// The judged items beside others, for people; empty without any.
pub(crate) fn describe_judged(judged: usize) -> String {
    if judged == 0 { String::new() } else { format!(" and {judged} judged") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_that_only_a_reader_can_decide_count() {
        let check = |rubric: &str, expected: usize| {
            let items = serde_json::json!([{"id": "d01", "set": "if", "text": "t"}]);
            let items = TaskItems::new(serde_json::from_value(items).unwrap());
            assert_eq!(count_judged(rubric, &items), expected, "{rubric}");
        };
        let rubric = |set: &str, ids: &[&str]| {
            let items = ids.iter().map(|id| assay_judge::Item::new(*id, "It is kind.", 1.0)).collect();
            Rubric::of_items(set, items).to_json()
        };
        check(&rubric("if", &["d02"]), 1);
        check(&rubric("if", &["d01"]), 0);
        check(&rubric("gc", &["item-1"]), 0);
        check(&rubric("if", &["d02", "d03", "d04"]), 2);
        check("{", 0);
    }
}
