//! Which skills and which style a request is written for.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::style::{STYLES, Style};

/// The number of skills of a request, with its probability. Combinations are rarer than single skills because few
/// of them have a natural request.
pub const SIZES: [(usize, f64); 3] = [(1, 0.6), (2, 0.3), (3, 0.1)];

/// What one request is to be written for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draw {
    /// From 1.
    pub number: u32,
    /// Places of the skills in the list that was given to [`Sampler::new`], in the order of drawing; all different.
    pub skills: Vec<usize>,
    /// The situation.
    pub style: Style,
}

/// Draws skills with weight 1/(requests so far + 1), so that few skills go without a request.
#[derive(Debug, Clone)]
pub struct Sampler {
    requests: Vec<u32>,
    random: ChaCha8Rng,
    draws: u32,
}

impl Sampler {
    /// A sampler over that many skills, none of which has requests yet.
    pub fn new(skills: usize, seed: u64) -> Self {
        Self { requests: vec![0; skills], random: ChaCha8Rng::seed_from_u64(seed), draws: 0 }
    }

    /// Requests of each skill so far.
    pub fn requests(&self) -> &[u32] {
        &self.requests
    }

    /// Draws the skills of a request, their number by [`SIZES`] (at most all skills), and counts the request for each.
    /// `None` if there are no skills.
    pub fn next_draw(&mut self) -> Option<Draw> {
        let size = self.size();
        self.draw_of(size)
    }

    /// The same with a given number of skills.
    pub fn draw_of(&mut self, size: usize) -> Option<Draw> {
        if self.requests.is_empty() {
            return None;
        }
        self.draws += 1;
        let mut skills: Vec<usize> = Vec::with_capacity(size);
        while skills.len() < size.min(self.requests.len()) {
            let skill = self.skill(&skills);
            skills.push(skill);
        }
        for &skill in &skills {
            self.requests[skill] += 1;
        }
        let style = STYLES[self.random.random_range(0..STYLES.len())];
        Some(Draw { number: self.draws, skills, style })
    }

    /// Takes back the request of a draw, because none was written or it was dropped.
    pub fn discard(&mut self, draw: &Draw) {
        for &skill in &draw.skills {
            self.requests[skill] = self.requests[skill].saturating_sub(1);
        }
    }

    fn size(&mut self) -> usize {
        let mut rest: f64 = self.random.random();
        for (size, probability) in SIZES {
            if rest < probability {
                return size;
            }
            rest -= probability;
        }
        1
    }

    /// One more skill, by weight.
    fn skill(&mut self, without: &[usize]) -> usize {
        let all = self.requests.iter().enumerate().filter(|(place, _)| !without.contains(place));
        let weights: Vec<(usize, f64)> =
            all.map(|(place, requests)| (place, 1.0 / (f64::from(*requests) + 1.0))).collect();
        let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let mut rest = self.random.random::<f64>() * total;
        // Rounding may leave a rest after the last skill, which is then drawn.
        let mut last = 0;
        for (place, weight) in weights {
            last = place;
            if rest < weight {
                break;
            }
            rest -= weight;
        }
        last
    }
}
