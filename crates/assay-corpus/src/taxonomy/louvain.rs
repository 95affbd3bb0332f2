//! Communities of a weighted graph that maximize modularity, by the method of Blondel, Guillaume, Lambiotte and Lefebvre (2008),
//! with the resolution of Reichardt and Bornholdt (2006).

/// An undirected graph with positive weights and no loops.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    /// The neighbours of each node, with weights.
    neighbours: Vec<Vec<(usize, f64)>>,
    /// Twice the weight of each node's loop, which only aggregated graphs have.
    loops: Vec<f64>,
}

impl Graph {
    /// A graph of `nodes` nodes. Each edge is given once.
    pub fn new(nodes: usize, edges: impl IntoIterator<Item = (usize, usize, f64)>) -> Self {
        let mut graph = Self { neighbours: vec![Vec::new(); nodes], loops: vec![0.0; nodes] };
        for (a, b, weight) in edges {
            if a != b && weight > 0.0 && a < nodes && b < nodes {
                graph.neighbours[a].push((b, weight));
                graph.neighbours[b].push((a, weight));
            }
        }
        graph
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.neighbours.len()
    }

    /// The sum of the weights at a node; a loop counts twice.
    fn degree(&self, node: usize) -> f64 {
        self.neighbours[node].iter().map(|(_, weight)| weight).sum::<f64>() + self.loops[node]
    }

    /// The graph whose nodes are communities.
    fn aggregated(&self, community: &[usize], count: usize) -> Self {
        let mut loops = vec![0.0; count];
        let mut weights: std::collections::BTreeMap<(usize, usize), f64> = std::collections::BTreeMap::new();
        for (node, neighbours) in self.neighbours.iter().enumerate() {
            let own = community[node];
            loops[own] += self.loops[node];
            for (other, weight) in neighbours {
                let its = community[*other];
                if own == its {
                    // Both ends add it.
                    loops[own] += weight;
                } else if own < its {
                    *weights.entry((own, its)).or_default() += weight;
                }
            }
        }
        let edges = weights.into_iter().map(|((a, b), weight)| (a, b, weight));
        Self { loops, ..Self::new(count, edges) }
    }
}

/// The modularity of a partition: Q = Σ_c (w_c / 2m − γ (d_c / 2m)²), with w_c twice the weight within c and d_c the sum of the
/// degrees. 0 for a graph without edges.
pub fn modularity(graph: &Graph, community: &[usize], resolution: f64) -> f64 {
    let count = community.iter().max().map_or(0, |most| most + 1);
    let (mut within, mut degrees, mut total) = (vec![0.0; count], vec![0.0; count], 0.0);
    for node in 0..graph.nodes() {
        let own = community[node];
        let degree = graph.degree(node);
        total += degree;
        degrees[own] += degree;
        within[own] += graph.loops[node];
        let inside = graph.neighbours[node].iter().filter(|(other, _)| community[*other] == own);
        within[own] += inside.map(|(_, weight)| weight).sum::<f64>();
    }
    if total == 0.0 {
        return 0.0;
    }
    within
        .iter()
        .zip(&degrees)
        .map(|(within, degree)| within / total - resolution * (degree / total).powi(2))
        .sum()
}

/// The community of each node, numbered from 0 in the order of first nodes. `random` returns a number below its argument, and
/// decides in which order nodes are visited.
pub fn communities(graph: &Graph, resolution: f64, random: &mut dyn FnMut(usize) -> usize) -> Vec<usize> {
    let mut result: Vec<usize> = (0..graph.nodes()).collect();
    let mut graph = graph.clone();
    loop {
        let (community, moved) = move_nodes(&graph, resolution, random);
        let (community, count) = renumbered(&community);
        for place in &mut result {
            *place = community[*place];
        }
        if !moved || count == graph.nodes() {
            return renumbered(&result).0;
        }
        graph = graph.aggregated(&community, count);
    }
}

/// Numbers from 0 without gaps, in the order of appearance, and how many there are.
fn renumbered(community: &[usize]) -> (Vec<usize>, usize) {
    let mut numbers = std::collections::BTreeMap::new();
    let renumbered = community
        .iter()
        .map(|own| {
            let next = numbers.len();
            *numbers.entry(*own).or_insert(next)
        })
        .collect();
    (renumbered, numbers.len())
}

/// Moves single nodes to the neighbouring community with the largest gain, until none gains.
fn move_nodes(graph: &Graph, resolution: f64, random: &mut dyn FnMut(usize) -> usize) -> (Vec<usize>, bool) {
    let nodes = graph.nodes();
    let mut community: Vec<usize> = (0..nodes).collect();
    let degrees: Vec<f64> = (0..nodes).map(|node| graph.degree(node)).collect();
    let mut sums = degrees.clone();
    let total: f64 = degrees.iter().sum();
    if total == 0.0 {
        return (community, false);
    }
    let mut order: Vec<usize> = (0..nodes).collect();
    for last in (1..nodes).rev() {
        order.swap(last, random(last + 1));
    }
    let mut links = vec![0.0_f64; nodes];
    let mut moved_ever = false;
    loop {
        let mut moved = false;
        for &node in &order {
            let own = community[node];
            let mut near = vec![own];
            for (other, weight) in &graph.neighbours[node] {
                let its = community[*other];
                if links[its] == 0.0 && its != own {
                    near.push(its);
                }
                links[its] += weight;
            }
            sums[own] -= degrees[node];
            let gain =
                |its: usize, links: &[f64]| links[its] - resolution * degrees[node] * sums[its] / total;
            let mut best = (own, gain(own, &links));
            for &its in &near[1..] {
                let found = gain(its, &links);
                if found > best.1 + 1e-12 {
                    best = (its, found);
                }
            }
            sums[best.0] += degrees[node];
            if best.0 != own {
                community[node] = best.0;
                (moved, moved_ever) = (true, true);
            }
            for its in near {
                links[its] = 0.0;
            }
        }
        if !moved {
            return (community, moved_ever);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two triangles, joined by one edge.
    fn triangles() -> Graph {
        let edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)];
        Graph::new(6, edges.map(|(a, b)| (a, b, 1.0)))
    }

    /// Always the last: the identity order.
    fn last(below: usize) -> usize {
        below - 1
    }

    #[test]
    fn the_modularity_is_that_of_the_formula() {
        let check = |community: &[usize], resolution: f64, expected: f64| {
            let found = modularity(&triangles(), community, resolution);
            assert!((found - expected).abs() < 1e-12, "{community:?}: {found}");
        };
        // 7 edges: each triangle has 3 within and degree 7 of 14.
        check(&[0, 0, 0, 1, 1, 1], 1.0, 2.0 * (6.0 / 14.0 - 0.25));
        check(&[0, 0, 0, 0, 0, 0], 1.0, 0.0);
        check(&[0, 0, 0, 1, 1, 1], 2.0, 2.0 * (6.0 / 14.0 - 0.5));
        assert!(modularity(&Graph::new(3, []), &[0, 1, 2], 1.0).abs() < 1e-12);
    }

    #[test]
    fn communities_are_found_at_each_resolution() {
        let check = |resolution: f64, expected: &[usize]| {
            assert_eq!(communities(&triangles(), resolution, &mut last), expected, "{resolution}");
        };
        check(1.0, &[0, 0, 0, 1, 1, 1]);
        check(0.1, &[0, 0, 0, 0, 0, 0]);
        check(9.0, &[0, 1, 2, 3, 4, 5]);
        assert_eq!(communities(&Graph::new(2, []), 1.0, &mut last), [0, 1]);
        assert_eq!(communities(&Graph::new(0, []), 1.0, &mut last), [] as [usize; 0]);
    }

    #[test]
    fn aggregation_keeps_the_modularity() {
        let graph = triangles();
        let community = [0, 0, 1, 1, 2, 2];
        let aggregated = graph.aggregated(&community, 3);
        let whole = modularity(&graph, &community, 1.0);
        assert!((modularity(&aggregated, &[0, 1, 2], 1.0) - whole).abs() < 1e-12);
    }

    /// Zachary's karate club (1977): published modularities of the best partitions are at most 0.4198 (Brandes et al. 2008).
    #[test]
    fn the_karate_club_is_split_as_published() {
        let edges = "1-2 1-3 1-4 1-5 1-6 1-7 1-8 1-9 1-11 1-12 1-13 1-14 1-18 1-20 1-22 1-32 2-3 2-4 2-8 2-14 2-18 2-20 2-22 2-31 3-4 3-8 3-9 3-10 3-14 3-28 3-29 3-33 4-8 4-13 4-14 5-7 5-11 6-7 6-11 6-17 7-17 9-31 9-33 9-34 10-34 14-34 15-33 15-34 16-33 16-34 19-33 19-34 20-34 21-33 21-34 23-33 23-34 24-26 24-28 24-30 24-33 24-34 25-26 25-28 25-32 26-32 27-30 27-34 28-34 29-32 29-34 30-33 30-34 31-33 31-34 32-33 32-34 33-34";
        let number = |text: &str| text.parse::<usize>().unwrap() - 1;
        let edges = edges.split(' ').map(|edge| edge.split_once('-').unwrap());
        let graph = Graph::new(34, edges.map(|(a, b)| (number(a), number(b), 1.0)));
        let mut state = 1_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let best = (0..20)
            .map(|_| modularity(&graph, &communities(&graph, 1.0, &mut random), 1.0))
            .fold(0.0_f64, f64::max);
        assert!((0.41..0.4199).contains(&best), "{best}");
    }
}
