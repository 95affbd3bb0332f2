//! The order in which a model is shown the skills.
//!
//! It is that of the router benchmark of Agent-Skills-for-Context-Engineering, so that published
//! orders can be reproduced: a seed from a text, the generator mulberry32, and Fisher and Yates'
//! shuffle from the last place down.

use ring::digest::{SHA256, digest};

/// The seed of one question: the first four bytes, big-endian, of the SHA-256 of
/// `prompt|model|repetition|seed`.
pub fn seed32(prompt: &str, model: &str, repetition: u32, seed: u64) -> u32 {
    let hash = digest(&SHA256, format!("{prompt}|{model}|{repetition}|{seed}").as_bytes());
    hash.as_ref().iter().take(4).fold(0, |seed, byte| seed << 8 | u32::from(*byte))
}

/// The generator mulberry32 (Ettinger 2017, public domain), as JavaScript computes it.
struct Mulberry32(u32);

impl Mulberry32 {
    /// A number in [0, 1).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x6D2B_79F5);
        let mut t = (self.0 ^ self.0 >> 15).wrapping_mul(self.0 | 1);
        t ^= t.wrapping_add((t ^ t >> 7).wrapping_mul(t | 0x3D));
        f64::from(t ^ t >> 14) / 4_294_967_296.0
    }
}

/// The places 0 to `n` − 1 in the order of a seed.
pub fn order(n: usize, seed32: u32) -> Vec<usize> {
    let mut random = Mulberry32(seed32);
    let mut places: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number in [0, last + 1), rounded down as the published program does"
        )]
        let other = (random.next() * (last as f64 + 1.0)).floor() as usize;
        places.swap(last, other.min(last));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_occurs_once() {
        for n in [0, 1, 2, 15, 300] {
            let mut places = order(n, 7);
            places.sort_unstable();
            assert_eq!(places, (0..n).collect::<Vec<_>>());
        }
        assert_ne!(order(15, 1), order(15, 2));
    }
}
