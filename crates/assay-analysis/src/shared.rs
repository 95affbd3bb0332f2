//! Tasks that share a skill without a common cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use assay_store::PlannedTask;

/// Tasks that share curated skills with others and are not in one cluster with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedSkills {
    /// The tasks.
    pub tasks: usize,
    /// The skills that two or more of them share.
    pub skills: usize,
}

impl SharedSkills {
    /// Finds them among the measured tasks, without negative controls.
    ///
    /// A skill that is curated for every task is exempt: the question is then about this one skill, and its tasks are the
    /// sample. `None` if nothing is shared, or if all tasks that share a skill are in one cluster.
    pub fn among<'a>(tasks: impl IntoIterator<Item = &'a PlannedTask>) -> Option<Self> {
        let tasks: Vec<&PlannedTask> = tasks.into_iter().filter(|task| !task.negative_control).collect();
        let mut users: BTreeMap<&str, Vec<&PlannedTask>> = BTreeMap::new();
        for task in &tasks {
            for skill in &task.curated {
                users.entry(skill).or_default().push(task);
            }
        }
        let mut found = BTreeSet::new();
        let mut skills = 0;
        for users in users.values().filter(|users| users.len() > 1 && users.len() < tasks.len()) {
            let together =
                users.iter().all(|task| task.cluster.is_some() && task.cluster == users[0].cluster);
            if !together {
                skills += 1;
                found.extend(users.iter().map(|task| task.name.as_str()));
            }
        }
        (skills > 0).then_some(Self { tasks: found.len(), skills })
    }
}

impl fmt::Display for SharedSkills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let several = format!("{} skills, each of which several tasks use", self.skills);
        let skills = if self.skills == 1 { "1 skill" } else { &several };
        write!(
            f,
            "{} tasks share {skills}, and declare no common `cluster`. Results of tasks with the same skill may be correlated, \
             and the intervals are then too narrow. In the task.toml of these tasks, set `cluster` under `[metadata.assay]` to \
             the same value for tasks with the same skill: the cluster is then the unit of analysis.",
            self.tasks
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, skills: &[&str], cluster: Option<&str>) -> PlannedTask {
        PlannedTask {
            name: name.to_owned(),
            digest: String::new(),
            cluster: cluster.map(str::to_owned),
            difficulty: None,
            category: None,
            negative_control: false,
            curated: skills.iter().map(|&skill| skill.to_owned()).collect(),
        }
    }

    #[test]
    fn tasks_of_one_skill_without_a_common_cluster_are_found() {
        let check = |tasks: &[PlannedTask], expected: Option<(usize, usize)>| {
            let found = SharedSkills::among(tasks).map(|found| (found.tasks, found.skills));
            assert_eq!(found, expected, "{tasks:?}");
        };
        let other = || task("c", &["y"], None);
        check(&[task("a", &["x"], None), task("b", &["x"], None), other()], Some((2, 1)));
        check(&[task("a", &["x"], Some("1")), task("b", &["x"], None), other()], Some((2, 1)));
        check(&[task("a", &["x"], Some("1")), task("b", &["x"], Some("2")), other()], Some((2, 1)));
        check(&[task("a", &["x"], Some("1")), task("b", &["x"], Some("1")), other()], None);
        check(&[task("a", &["x"], None), task("b", &["z"], None), other()], None);
        // One skill for all tasks is what is measured, and beside it another may still be shared.
        check(&[task("a", &["x"], None), task("b", &["x"], None)], None);
        check(
            &[task("a", &["x", "y"], None), task("b", &["x", "y"], None), task("c", &["x"], None)],
            Some((2, 1)),
        );
        let control = PlannedTask { negative_control: true, ..task("d", &["y"], None) };
        check(&[task("a", &["x"], None), other(), control], None);
        let found = SharedSkills { tasks: 12, skills: 4 }.to_string();
        assert!(
            found.starts_with("12 tasks share 4 skills, each of which several tasks use, and declare"),
            "{found}"
        );
    }
}
