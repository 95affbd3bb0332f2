//! Consensus clustering (Lancichinetti and Fortunato 2012): skills that many partitions put together belong together.

use super::louvain::{Graph, communities};

/// The resolutions: from few large communities to many small ones.
pub const RESOLUTIONS: [f64; 5] = [0.5, 0.75, 1.0, 1.5, 2.0];

/// Partitions at each resolution, each from another start.
pub const STARTS: usize = 20;

/// The share of partitions from which two skills stay joined.
const THRESHOLD: f64 = 0.5;

/// Rounds until the partitions agree. Published examples need fewer than 5.
const ROUNDS: usize = 10;

/// How to cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterOptions {
    /// The seed of all starts.
    pub seed: u64,
    /// Smaller clusters are dissolved.
    pub smallest: usize,
}

/// Clusters of skills.
#[derive(Debug, Clone, PartialEq)]
pub struct Clusters {
    /// The cluster of each skill; `None` if its cluster was too small.
    pub of: Vec<Option<usize>>,
    /// The number of clusters.
    pub count: usize,
    /// For each cluster, the mean share of the first partitions that put two of its skills together.
    pub stability: Vec<f64>,
    /// Rounds until all partitions were equal; `None` if they never were.
    pub rounds: Option<usize>,
}

/// A generator of numbers below a bound, from a seed (SplitMix64, Steele et al. 2014).
fn generator(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below: usize| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % (below.max(1) as u64)).unwrap_or(0)
    }
}

/// Clusters a graph: partitions at five resolutions from twenty starts each, then partitions of the graph of pairs that at least
/// half of them join, until all are equal. Needs memory for the square of the number of nodes.
pub fn cluster(graph: &Graph, options: &ClusterOptions) -> Clusters {
    let nodes = graph.nodes();
    let mut partitions = Vec::new();
    for (at, resolution) in RESOLUTIONS.iter().enumerate() {
        for start in 0..STARTS {
            let mut random = generator(options.seed ^ ((at * STARTS + start + 1) as u64) << 20);
            partitions.push(communities(graph, *resolution, &mut random));
        }
    }
    let first = together(&partitions, nodes);
    let mut shares = first.clone();
    let mut rounds = None;
    for round in 1..=ROUNDS {
        if partitions.iter().all(|partition| partition == &partitions[0]) {
            rounds = Some(round - 1);
            break;
        }
        let edges = pairs(nodes).filter_map(|(a, b)| {
            let share = f64::from(shares[a * nodes + b]) / partitions.len() as f64;
            (share >= THRESHOLD).then_some((a, b, share))
        });
        let consensus = Graph::new(nodes, edges);
        partitions = (0..STARTS)
            .map(|start| {
                let mut random = generator(options.seed ^ ((1_000 * round + start) as u64) << 24);
                communities(&consensus, 1.0, &mut random)
            })
            .collect();
        shares = together(&partitions, nodes);
    }
    let total = (RESOLUTIONS.len() * STARTS) as f64;
    let partition = partitions.into_iter().next().unwrap_or_default();
    kept(&partition, &first, total, rounds, options.smallest)
}

fn pairs(nodes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..nodes).flat_map(move |a| (a + 1..nodes).map(move |b| (a, b)))
}

/// In how many partitions each pair is together, at the place a · nodes + b with a < b.
fn together(partitions: &[Vec<usize>], nodes: usize) -> Vec<u16> {
    let mut counts = vec![0_u16; nodes * nodes];
    for partition in partitions {
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        for (node, own) in partition.iter().enumerate() {
            members[*own].push(node);
        }
        for members in members {
            for (at, a) in members.iter().enumerate() {
                for b in &members[at + 1..] {
                    counts[a * nodes + b] += 1;
                }
            }
        }
    }
    counts
}

/// The clusters that are large enough, the largest first.
fn kept(partition: &[usize], first: &[u16], total: f64, rounds: Option<usize>, smallest: usize) -> Clusters {
    let nodes = partition.len();
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for (node, own) in partition.iter().enumerate() {
        members[*own].push(node);
    }
    members.retain(|members| !members.is_empty() && members.len() >= smallest);
    members.sort_by_key(|members| (std::cmp::Reverse(members.len()), members[0]));
    let mut of = vec![None; nodes];
    let mut stability = Vec::new();
    for (number, members) in members.iter().enumerate() {
        let (mut sum, mut count) = (0.0, 0);
        for (at, a) in members.iter().enumerate() {
            of[*a] = Some(number);
            for b in &members[at + 1..] {
                sum += f64::from(first[a * nodes + b]) / total;
                count += 1;
            }
        }
        stability.push(if count == 0 { 1.0 } else { sum / f64::from(count) });
    }
    Clusters { of, count: members.len(), stability, rounds }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cliques of `size` nodes, each joined with the next by a weak edge.
    fn cliques(count: usize, size: usize) -> Graph {
        let mut edges = Vec::new();
        for clique in 0..count {
            let from = clique * size;
            edges.extend(pairs(size).map(|(a, b)| (from + a, from + b, 1.0)));
            if clique + 1 < count {
                edges.push((from + size - 1, from + size, 0.2));
            }
        }
        Graph::new(count * size, edges)
    }

    #[test]
    fn planted_clusters_are_recovered_whatever_the_seed() {
        for seed in 0..5 {
            let found = cluster(&cliques(4, 6), &ClusterOptions { seed, smallest: 3 });
            assert_eq!(found.count, 4, "{found:?}");
            for clique in 0..4 {
                let own = &found.of[6 * clique..6 * clique + 6];
                assert!(own.iter().all(|one| one.is_some() && *one == own[0]), "{seed}: {own:?}");
            }
            assert!(found.rounds.is_some() && found.stability.iter().all(|one| *one > 0.9), "{found:?}");
        }
    }

    #[test]
    fn small_clusters_are_dissolved() {
        let mut edges: Vec<_> = pairs(5).map(|(a, b)| (a, b, 1.0)).collect();
        edges.push((5, 6, 1.0));
        let found = cluster(&Graph::new(8, edges), &ClusterOptions { seed: 1, smallest: 3 });
        assert_eq!(found.count, 1);
        assert_eq!(found.of[5..], [None, None, None]);
        let none = cluster(&Graph::new(0, []), &ClusterOptions { seed: 1, smallest: 3 });
        assert_eq!((none.count, none.of.len()), (0, 0));
    }
}
