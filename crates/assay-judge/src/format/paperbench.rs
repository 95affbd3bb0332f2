//! Rubrics of PaperBench (arXiv 2504.01848): trees of requirements, with their grades if they were graded.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{FormatError, Read, json};
use crate::rubric::{Item, MAX_DEPTH, Rubric};
use crate::score::Verdict;

/// The name of the set that contains the tree.
pub const SET: &str = "requirements";

/// The keys that are read.
pub(crate) const KEYS: [&str; 11] = [
    "id",
    "requirements",
    "weight",
    "score",
    "task_category",
    "sub_tasks[].id",
    "sub_tasks[].requirements",
    "sub_tasks[].weight",
    "sub_tasks[].score",
    "sub_tasks[].task_category",
    "sub_tasks[].sub_tasks",
];

/// A tree, and its grades.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// The rubric, of one set with one item: the root.
    pub read: Read,
    /// The recorded score of each node by id, groups included; empty if it was not graded.
    pub recorded: BTreeMap<String, f64>,
}

impl Tree {
    /// The recorded grades of the leaves as verdicts. `None` if a leaf has none, or one between 0 and 1.
    pub fn verdicts(&self) -> Option<BTreeMap<String, Verdict>> {
        let verdict = |item: &Item| {
            let verdict = match *self.recorded.get(&item.id)? {
                0.0 => Verdict::NotMet,
                1.0 => Verdict::Met,
                _ => return None,
            };
            Some((item.id.clone(), verdict))
        };
        self.read.rubric.leaves().map(verdict).collect()
    }

    /// How many recorded scores of groups are those computed from the leaves' grades, of how many.
    pub fn agreement(&self) -> Option<(usize, usize)> {
        let scores = self.read.rubric.scores(&self.verdicts()?).ok()?;
        let groups: Vec<&Item> = self.read.rubric.all().filter(|item| !item.items.is_empty()).collect();
        let is_equal = |item: &&&Item| {
            let (computed, recorded) = (scores.items.get(&item.id), self.recorded.get(&item.id));
            computed.zip(recorded).is_some_and(|(a, b)| (a - b).abs() < 1e-9)
        };
        Some((groups.iter().filter(is_equal).count(), groups.len()))
    }
}

#[derive(Deserialize)]
struct Node {
    id: String,
    requirements: String,
    weight: f64,
    #[serde(default)]
    sub_tasks: Vec<Node>,
    #[serde(default)]
    task_category: Option<String>,
    #[serde(default)]
    score: Option<f64>,
}

/// Reads the text of a tree.
///
/// # Errors
/// Why it is not one.
pub fn read(text: &str) -> Result<Tree, FormatError> {
    let root: Node = json(text)?;
    let mut recorded = BTreeMap::new();
    let title = root.requirements.clone();
    let item = item(root, 0, &mut recorded)?;
    let mut rubric = Rubric::of_items(SET, vec![item]);
    rubric.title = Some(title);
    rubric.check()?;
    Ok(Tree { read: Read { rubric, notes: Vec::new() }, recorded })
}

fn item(node: Node, depth: usize, recorded: &mut BTreeMap<String, f64>) -> Result<Item, FormatError> {
    if depth > MAX_DEPTH {
        return Err(FormatError::unusable(format!("more than {MAX_DEPTH} levels")));
    }
    recorded.extend(node.score.map(|score| (node.id.clone(), score)));
    let below = node.sub_tasks.into_iter().map(|below| item(below, depth + 1, recorded));
    Ok(Item {
        items: below.collect::<Result<_, _>>()?,
        category: node.task_category,
        ..Item::new(node.id, node.requirements, node.weight)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = r#"{"id": "r", "requirements": "all", "weight": 1, "score": 0.25, "sub_tasks": [
        {"id": "a", "requirements": "first", "weight": 1, "score": 1, "sub_tasks": [], "task_category": "Code"},
        {"id": "b", "requirements": "second", "weight": 3, "score": SCORE, "sub_tasks": [
            {"id": "c", "requirements": "third", "weight": 2, "score": 0, "sub_tasks": []}]}]}"#;

    #[test]
    fn recorded_scores_are_compared() {
        let check = |score: &str, expected| {
            let tree = read(&TREE.replace("SCORE", score)).unwrap();
            assert_eq!(tree.agreement(), expected);
        };
        check("0", Some((2, 2)));
        check("0.5", Some((1, 2)));
    }

    #[test]
    #[ignore = "needs shared data"]
    fn every_inner_node_has_its_recorded_score() {
        let shared = assay_test::shared("judges");
        for name in ["paperbench-rice.json.zst", "paperbench-all-in-one.json.zst"] {
            let bytes = std::fs::read(shared.join(name)).unwrap();
            let text = String::from_utf8(zstd::decode_all(bytes.as_slice()).unwrap()).unwrap();
            let (equal, groups) = read(&text).unwrap().agreement().unwrap();
            assert!(groups > 20, "{name}: {groups}");
            assert_eq!(equal, groups, "{name}");
        }
    }
}
