//! The division of tasks into development tasks and held-out ones.

use std::collections::BTreeMap;

use super::design::development_tasks;

/// A task to be divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitTask {
    /// The digest of its content.
    pub digest: String,
    /// What it shares with other tasks; `None` for a task on its own.
    pub cluster: Option<String>,
}

/// The division of a list of tasks, by their places in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Development tasks, in the order in which screening takes them.
    pub development: Vec<usize>,
    /// Held-out tasks, in the order in which the looks take them.
    pub held_out: Vec<usize>,
    /// The hash of the set of held-out tasks: the same for every order, name and place of the tasks, and another one as soon as the
    /// content of one of them is.
    pub seal: String,
}

impl Split {
    /// Divides tasks by a seed and their digests. The tasks of a cluster stay together: what is learned from one of them is known of
    /// the others.
    pub fn of(tasks: &[SplitTask], seed: u64) -> Self {
        let key = |text: &str| *blake3::hash(format!("{seed} {text}").as_bytes()).as_bytes();
        let mut units: BTreeMap<[u8; 32], Vec<usize>> = BTreeMap::new();
        for (at, task) in tasks.iter().enumerate() {
            let unit = task.cluster.as_ref().map_or_else(
                || key(&format!("task {}", task.digest)),
                |cluster| key(&format!("cluster {cluster}")),
            );
            units.entry(unit).or_default().push(at);
        }
        let wanted = development_tasks(tasks.len());
        let (mut development, mut held_out) = (Vec::new(), Vec::new());
        for unit in units.into_values() {
            // A cluster that does not fit is held out.
            let part =
                if development.len() + unit.len() <= wanted { &mut development } else { &mut held_out };
            part.extend(unit);
        }
        // Within a part the order is that of the tasks' own hashes, so that looks cut through clusters at random.
        let own = |at: &usize| (key(&tasks[*at].digest), *at);
        development.sort_by_key(own);
        held_out.sort_by_key(own);
        let seal = seal(held_out.iter().map(|at| tasks[*at].digest.as_str()));
        Self { development, held_out, seal }
    }
}

/// The hash of a set of tasks.
fn seal<'a>(digests: impl Iterator<Item = &'a str>) -> String {
    let mut digests: Vec<&str> = digests.collect();
    digests.sort_unstable();
    format!("blake3:{}", blake3::hash(digests.join("\n").as_bytes()).to_hex())
}

/// The identity of what campaigns ask, by which they share an error budget: the held-out tasks, the agent and its model. Names of
/// candidates, of the incumbent and of files are no part of it.
pub fn question_id(seal: &str, agent: &str, model: Option<&str>) -> String {
    let text = serde_json::json!([seal, agent, model]).to_string();
    format!("blake3:{}", blake3::hash(text.as_bytes()).to_hex())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(count: usize, cluster: impl Fn(usize) -> Option<String>) -> Vec<SplitTask> {
        (0..count).map(|at| SplitTask { digest: format!("d{at}"), cluster: cluster(at) }).collect()
    }

    #[test]
    fn a_third_is_for_development_from_forty_tasks_on() {
        for (count, expected) in [(12, 0), (39, 0), (40, 13), (100, 33)] {
            let split = Split::of(&tasks(count, |_| None), 1);
            assert_eq!((split.development.len(), split.held_out.len()), (expected, count - expected));
            let mut all: Vec<usize> = split.development.iter().chain(&split.held_out).copied().collect();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn order_does_not_count_and_content_does() {
        let first = tasks(60, |_| None);
        let split = Split::of(&first, 1);
        let mut reversed = first.clone();
        reversed.reverse();
        assert_eq!(Split::of(&reversed, 1).seal, split.seal);
        assert_ne!(Split::of(&first, 2).seal, split.seal);
        let mut changed = first.clone();
        changed[split.held_out[0]].digest.push('x');
        assert_ne!(Split::of(&changed, 1).seal, split.seal);
    }

    #[test]
    fn clusters_stay_together() {
        let tasks = tasks(60, |at| Some(format!("c{}", at / 4)));
        let split = Split::of(&tasks, 5);
        let clusters =
            |part: &[usize]| part.iter().map(|at| at / 4).collect::<std::collections::BTreeSet<_>>();
        assert!(clusters(&split.development).is_disjoint(&clusters(&split.held_out)), "{split:?}");
        assert_eq!(split.development.len(), 20);
        // One cluster of all tasks cannot be divided.
        let one = super::tests::tasks(60, |_| Some("c".to_owned()));
        assert!(Split::of(&one, 5).development.is_empty());
    }

    #[test]
    fn questions_are_told_apart_by_tasks_agent_and_model() {
        let base = question_id("s", "loop", Some("m"));
        assert_eq!(base, question_id("s", "loop", Some("m")));
        for other in [
            question_id("t", "loop", Some("m")),
            question_id("s", "codex", Some("m")),
            question_id("s", "loop", None),
        ] {
            assert_ne!(base, other);
        }
    }
}
