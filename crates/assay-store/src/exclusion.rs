//! Exclusions of a plan for people to read: each reason once.

use crate::run::Exclusion;

/// Most tasks that are named.
const NAMED: usize = 3;

/// The exclusions of one condition, or of whole tasks, that have the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExclusionGroup<'a> {
    /// The condition, if only that one is concerned.
    pub condition: Option<&'a str>,
    /// The reason of the first task.
    pub reason: &'a str,
    /// The tasks, in the order of the plan.
    pub tasks: Vec<&'a str>,
}

impl<'a> ExclusionGroup<'a> {
    /// The groups of these exclusions, in the order in which they occur. Reasons that differ only in the name of the
    /// task are the same.
    pub fn all(excluded: &'a [Exclusion]) -> Vec<Self> {
        let mut groups: Vec<(String, Self)> = Vec::new();
        for exclusion in excluded {
            let condition = exclusion.condition.as_deref();
            let reason = exclusion.reason.replace(&exclusion.task, "");
            let same = |group: &&mut (String, Self)| group.0 == reason && group.1.condition == condition;
            if let Some((_, group)) = groups.iter_mut().find(same) {
                group.tasks.push(&exclusion.task);
            } else {
                let (reason_of_first, tasks) = (exclusion.reason.as_str(), vec![exclusion.task.as_str()]);
                groups.push((reason, Self { condition, reason: reason_of_first, tasks }));
            }
        }
        groups.into_iter().map(|(_, group)| group).collect()
    }

    /// The task, or how many there are and the first of them.
    pub fn tasks_text(&self) -> String {
        match self.tasks.as_slice() {
            [task] => (*task).to_owned(),
            tasks => {
                let named = tasks.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
                let more = if tasks.len() > NAMED { ", …" } else { "" };
                format!("{} tasks ({named}{more})", tasks.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_reasons_are_one_group() {
        let exclusion = |task: &str, condition: Option<&str>, reason: &str| Exclusion {
            task: task.to_owned(),
            condition: condition.map(str::to_owned),
            reason: reason.to_owned(),
        };
        let excluded = [
            exclusion("t1", Some("a"), "no skill of t1"),
            exclusion("t2", Some("a"), "no skill of t2"),
            exclusion("t2", Some("b"), "no skill of t2"),
            exclusion("t3", Some("a"), "no skill of t3"),
            exclusion("t4", Some("a"), "no skill of t4"),
            exclusion("t5", None, "no image"),
        ];
        let found: Vec<_> = ExclusionGroup::all(&excluded)
            .into_iter()
            .map(|group| (group.condition.map(str::to_owned), group.reason.to_owned(), group.tasks_text()))
            .collect();
        let row = |condition: Option<&str>, reason: &str, tasks: &str| {
            (condition.map(str::to_owned), reason.to_owned(), tasks.to_owned())
        };
        let expected = [
            row(Some("a"), "no skill of t1", "4 tasks (t1, t2, t3, …)"),
            row(Some("b"), "no skill of t2", "t2"),
            row(None, "no image", "t5"),
        ];
        assert_eq!(found, expected);
    }
}
