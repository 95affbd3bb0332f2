//! Selections of cells: how they are written, and whether a plan has them.

use assay_skill::nearest;
use assay_store::{Selection, pattern_matches};

use crate::plan::Plan;

/// Why a selection cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SelectionError {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl SelectionError {
    fn new(message: String, hint: impl Into<String>) -> Self {
        Self { message, hint: Some(hint.into()) }
    }
}

/// Reads `KEY=VALUE` pairs.
///
/// # Errors
/// A pair that is none, or an unknown key.
pub fn parse_selection(only: &[String]) -> Result<Selection, SelectionError> {
    let mut selection = Selection::default();
    for pair in only {
        let wrong =
            |message: String| SelectionError::new(message, "--only task=…,condition=…,agent=…,repetition=…");
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| wrong(format!("invalid `--only {pair}`: expected KEY=VALUE")))?;
        match key.trim() {
            "task" => selection.tasks.push(value.to_owned()),
            "condition" => selection.conditions.push(value.to_owned()),
            "agent" => selection.agents.push(value.to_owned()),
            "repetition" => {
                let number =
                    value.parse().map_err(|_| wrong(format!("`{value}` is not a repetition number")))?;
                selection.repetitions.push(number);
            }
            other => return Err(wrong(format!("unknown key `{other}` in `--only`"))),
        }
    }
    Ok(selection)
}

impl Plan {
    /// Refuses a selection that matches nothing: an empty run would look like a success.
    ///
    /// # Errors
    /// What matches nothing.
    pub fn check_selection(&self, only: &Selection) -> Result<(), SelectionError> {
        let label = |agent: usize| self.agents[agent].label.name.as_str();
        let tasks: Vec<&str> =
            self.tasks.iter().map(|task| &task.name).chain(&self.unreadable).map(String::as_str).collect();
        let conditions: Vec<&str> = self.experiment.conditions.iter().map(String::as_str).collect();
        let agents: Vec<&str> = (0..self.agents.len()).map(label).collect();
        for (key, patterns, names) in [
            ("task", &only.tasks, &tasks),
            ("condition", &only.conditions, &conditions),
            ("agent", &only.agents, &agents),
        ] {
            if let Some(pattern) =
                patterns.iter().find(|pattern| !names.iter().any(|name| pattern_matches(pattern, name)))
            {
                let near = nearest(pattern, names.iter().copied());
                let hint = if near.is_empty() {
                    format!("the experiment has {}", names.join(", "))
                } else {
                    format!("did you mean `{}`?", near.join("` or `"))
                };
                let message = format!("`--only {key}={pattern}` matches no {key} of the experiment");
                return Err(SelectionError::new(message, hint));
            }
        }
        let most = self.experiment.most_repetitions();
        if let Some(number) = only.repetitions.iter().find(|number| !(1..=most).contains(number)) {
            let message = format!("`--only repetition={number}` matches no repetition of the experiment");
            return Err(SelectionError::new(message, format!("repetitions are 1 to {most}")));
        }
        let meant = self.cells.iter().any(|cell| only.matches(cell, label(cell.agent)));
        // Where nothing at all can be run, that is what there is to say.
        if meant || self.cells.is_empty() {
            return Ok(());
        }
        let reasons: Vec<&str> = self
            .excluded
            .iter()
            .filter(|excluded| only.covers(excluded))
            .map(|excluded| excluded.reason.as_str())
            .collect();
        let why =
            if reasons.is_empty() { String::new() } else { format!("; excluded: {}", reasons.join("; ")) };
        Err(SelectionError { message: format!("`--only` matches no cell that can run{why}"), hint: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_and_others_refused() {
        let read =
            |text: &str| parse_selection(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let found = read("task=a* condition=none agent=x=y repetition=2 task=b").unwrap();
        assert_eq!(found.tasks, ["a*", "b"]);
        assert_eq!((found.agents, found.repetitions), (vec!["x=y".to_owned()], vec![2]));
        assert_eq!(found.conditions.len(), 1);
        let check = |text: &str, expected: &str| {
            let error = read(text).unwrap_err();
            assert!(error.message.contains(expected) && error.hint.is_some(), "{text}: {error}");
        };
        check("task", "expected KEY=VALUE");
        check("repetition=two", "`two` is not a repetition number");
        check("model=m", "unknown key `model`");
    }
}
