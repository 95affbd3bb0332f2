//! A small suite in which a skill matters.

use serde_json::{Value, json};

use crate::fixture::{Design, Fixture};

/// Long enough to be opened, and to have a placebo.
pub(crate) fn body(word: &str) -> String {
    format!(
        "# The answer\n\nEvery report of this house ends with one agreed word, and the word is not to be guessed.\n\n\
         - The agreed word for this kind of report is `{word}`.\n\
         - Write the word into the file `answer.txt` in the work folder.\n\
         - Write nothing else into that file, and end the line properly.\n\n\
         ## Check\n\nRun `scripts/check.sh answer.txt` before handing the report over to anybody.\n"
    )
}

/// What an agent does that reads its skill, where it has one, and follows it.
pub(crate) fn diligent() -> Vec<Value> {
    vec![
        json!({ "turn": 0, "seen": "Skills are folders", "run": "cat /skills/reports/SKILL.md" }),
        json!({ "turn": 1, "seen": "agreed word for this kind of report is `right`", "run": "echo right > answer.txt" }),
    ]
}

/// `tasks` tasks, `t1` onwards, for which one skill was written.
pub(crate) fn lab(tasks: usize) -> Fixture {
    let lab = Fixture::new()
        .skill("reports", "Ends reports with the agreed word. Use it for every report.", &body("right"))
        .file("skills/reports/scripts/check.sh", "#!/bin/bash\ntest -s \"$1\" && echo checked\n")
        .script(&diligent());
    (1..=tasks).fold(lab, |lab, number| lab.task(&format!("t{number}"), |task| task))
}

/// Pairs the first `tasks` tasks with the skill.
pub(crate) fn paired(design: Design, tasks: usize) -> Design {
    (1..=tasks).fold(design, |design, number| design.pair(&format!("t{number}"), &["reports"]))
}

/// The comparisons of a run's document, without what tells when trials were executed.
#[track_caller]
pub(crate) fn comparisons_but_for_times(document: &Value) -> Value {
    let mut comparisons = document["report"]["comparisons"].clone();
    for comparison in comparisons.as_array_mut().unwrap() {
        let comparison = comparison.as_object_mut().unwrap();
        assert!(comparison.remove("measured").is_some() && comparison.remove("time_overlap").is_some());
    }
    comparisons
}
