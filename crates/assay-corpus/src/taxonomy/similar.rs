//! The similarity of skills by their tags.

use std::collections::{BTreeMap, BTreeSet};

use super::louvain::Graph;
use super::tags::SkillTags;

/// A graph that joins each skill with its `neighbours` most similar ones.
///
/// The similarity is the cosine of TF-IDF vectors over pairs of axis and tag, with the weight ln(N / df). Tags that all skills
/// have weigh nothing. Ties are broken by the order of the skills.
pub fn similarity_graph(skills: &[SkillTags], neighbours: usize) -> Graph {
    let mut places: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (at, skill) in skills.iter().enumerate() {
        for (axis, tags) in &skill.tags {
            for tag in tags {
                places.entry((axis, tag)).or_default().push(at);
            }
        }
    }
    let total = skills.len() as f64;
    let mut norms = vec![0.0_f64; skills.len()];
    let weighted: Vec<(f64, &Vec<usize>)> =
        places.values().map(|places| ((total / places.len() as f64).ln(), places)).collect();
    for (weight, places) in &weighted {
        for place in *places {
            norms[*place] += weight * weight;
        }
    }
    let mut tags_of: Vec<Vec<usize>> = vec![Vec::new(); skills.len()];
    for (number, (_, places)) in weighted.iter().enumerate() {
        for place in *places {
            tags_of[*place].push(number);
        }
    }
    let mut edges: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut strength: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    let mut products = vec![0.0_f64; skills.len()];
    for at in 0..skills.len() {
        let mut touched = Vec::new();
        for (weight, others) in tags_of[at].iter().map(|number| &weighted[*number]) {
            for other in others.iter().filter(|other| **other != at) {
                if products[*other] == 0.0 {
                    touched.push(*other);
                }
                products[*other] += weight * weight;
            }
        }
        let mut near: Vec<(usize, f64)> = Vec::new();
        for other in touched {
            let norm = (norms[at] * norms[other]).sqrt();
            if norm > 0.0 && products[other] > 0.0 {
                near.push((other, (products[other] / norm).min(1.0)));
            }
            products[other] = 0.0;
        }
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        for (other, similarity) in near.into_iter().take(neighbours) {
            let edge = (at.min(other), at.max(other));
            edges.insert(edge);
            strength.insert(edge, similarity);
        }
    }
    let edges = edges.into_iter().map(|edge| (edge.0, edge.1, strength[&edge]));
    Graph::new(skills.len(), edges)
}
