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
    /// A skill that is curated for every task is exempt: the question is then about this one skill,
    /// and its tasks are the sample. `None` if nothing is shared, or if all tasks that share a
    /// skill are in one cluster.
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
        let tasks = self.tasks;
        match self.skills {
            1 => write!(f, "1 skill belongs to {tasks} tasks")?,
            skills => write!(f, "{skills} skills belong to several tasks each ({tasks} tasks in all)")?,
        }
        write!(
            f,
            ", but tasks with the same skill are not declared as one `cluster`. If the results of such tasks are correlated, the confidence \
             intervals are too narrow. To treat each cluster as one unit, set `cluster` under `[metadata.assay]` in task.toml, \
             to the same value for all tasks with the same skill."
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
            second_stage: false,
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
        // One skill for all tasks is the subject of the measurement, and another may still be
        // shared besides it.
        check(&[task("a", &["x"], None), task("b", &["x"], None)], None);
        check(
            &[task("a", &["x", "y"], None), task("b", &["x", "y"], None), task("c", &["x"], None)],
            Some((2, 1)),
        );
        let control = PlannedTask { negative_control: true, ..task("d", &["y"], None) };
        check(&[task("a", &["x"], None), other(), control], None);
        let found = SharedSkills { tasks: 12, skills: 4 }.to_string();
        assert!(
            found.starts_with(
                "4 skills belong to several tasks each (12 tasks in all), but tasks with the same"
            ),
            "{found}"
        );
    }
}
