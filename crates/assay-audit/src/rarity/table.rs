//! Hashes with a level each, as compact bytes.
//!
//! The bytes: `assay.rarity/1` and a newline; then, level by level, the number of hashes (4 bytes,
//! little-endian), a parameter k (1 byte), the number of bytes (4 bytes), and the differences of the
//! sorted hashes in Rice's code with k low bits (Rice and Plaunt 1971). A hash has 28 bits: with a
//! million of them, one text in 250 that is not in the table seems to be.

use std::collections::HashMap;

use super::tokens::{LONGEST, hashes, tokens};

/// Levels of frequency: level l holds what is found in 2^l families or more.
pub const LEVELS: u8 = 8;

/// Bits of a hash that are kept.
const BITS: u32 = 28;

const MAGIC: &[u8] = b"assay.rarity/1\n";

/// Which texts are how common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Sorted, by level from 1.
    levels: Vec<Vec<u32>>,
}

/// Bytes that are not a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a table of document frequencies (assay.rarity/1)")]
pub struct TableError;

/// The level of a number of families: its binary logarithm, rounded down, up to [`LEVELS`].
pub fn level(families: u32) -> u8 {
    families.checked_ilog2().map_or(0, |log| u8::try_from(log).unwrap_or(LEVELS).min(LEVELS))
}

fn kept(hash: u64) -> u32 {
    // 28 bits fit.
    u32::try_from(hash >> (64 - BITS)).unwrap_or(u32::MAX)
}

impl Table {
    /// From levels by hash. Of hashes that agree in the bits that are kept, the highest level counts.
    pub fn new(hashes: HashMap<u64, u8>) -> Self {
        let mut sorted: Vec<(u32, u8)> =
            hashes.into_iter().map(|(hash, level)| (kept(hash), level)).collect();
        sorted.sort_unstable();
        let mut levels = vec![Vec::new(); usize::from(LEVELS)];
        for same in sorted.chunk_by(|one, other| one.0 == other.0) {
            if let Some((hash, level)) = same.last()
                && let Some(level) = usize::from(*level).checked_sub(1)
            {
                levels[level].push(*hash);
            }
        }
        Self { levels }
    }

    /// How many hashes it has.
    pub fn len(&self) -> usize {
        self.levels.iter().map(Vec::len).sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How rare a text is; [`super::rarity`] has the definition.
    pub fn rarity(&self, text: &str) -> f64 {
        let tokens = tokens(text);
        if tokens.is_empty() {
            return 0.0;
        }
        let level = hashes(&tokens, tokens.len().min(LONGEST)).map(|hash| self.level(hash)).min();
        1.0 - f64::from(level.unwrap_or(0)) / f64::from(LEVELS)
    }

    fn level(&self, hash: u64) -> u8 {
        let hash = kept(hash);
        let found = self.levels.iter().rposition(|level| level.binary_search(&hash).is_ok());
        found.and_then(|at| u8::try_from(at + 1).ok()).unwrap_or(0)
    }

    /// As bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for level in &self.levels {
            let k = parameter(level.len());
            let mut bits = BitWriter::default();
            let mut last = 0;
            for hash in level {
                bits.rice(hash - last, k);
                last = *hash;
            }
            for number in [level.len(), bits.bytes.len()] {
                // At most 2^28 hashes.
                bytes.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
            }
            bytes.push(k);
            bytes.extend(bits.bytes);
        }
        bytes
    }

    /// From bytes.
    ///
    /// # Errors
    /// Where [`Table::write`] did not make them.
    pub fn read(bytes: &[u8]) -> Result<Self, TableError> {
        let mut rest = bytes.strip_prefix(MAGIC).ok_or(TableError)?;
        let mut levels = Vec::new();
        for _ in 0..LEVELS {
            let (count, after) = rest.split_first_chunk::<4>().ok_or(TableError)?;
            let (size, after) = after.split_first_chunk::<4>().ok_or(TableError)?;
            let (k, after) = after.split_first().ok_or(TableError)?;
            let size = usize::try_from(u32::from_le_bytes(*size)).map_err(|_| TableError)?;
            let (coded, after) = after.split_at_checked(size).ok_or(TableError)?;
            let mut bits = BitReader { bytes: coded, at: 0 };
            let mut last = 0_u32;
            let mut level = Vec::new();
            for _ in 0..u32::from_le_bytes(*count) {
                let step = bits.rice(*k).ok_or(TableError)?;
                last = last.checked_add(step).filter(|hash| *hash < 1 << BITS).ok_or(TableError)?;
                level.push(last);
            }
            levels.push(level);
            rest = after;
        }
        if rest.is_empty() { Ok(Self { levels }) } else { Err(TableError) }
    }
}

/// The number of low bits that suits so many hashes: the logarithm of their mean distance.
fn parameter(count: usize) -> u8 {
    let mean = (1_usize << BITS) / count.max(1);
    mean.checked_ilog2().and_then(|log| u8::try_from(log).ok()).unwrap_or(0)
}

#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    used: u8,
}

impl BitWriter {
    fn bit(&mut self, bit: bool) {
        if self.used == 0 {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << self.used;
        }
        self.used = (self.used + 1) % 8;
    }

    /// The quotient by 2^k in unary, the remainder in k bits.
    fn rice(&mut self, value: u32, k: u8) {
        for _ in 0..value >> k {
            self.bit(true);
        }
        self.bit(false);
        for shift in 0..k {
            self.bit(value >> shift & 1 == 1);
        }
    }
}

struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl BitReader<'_> {
    fn bit(&mut self) -> Option<u32> {
        let byte = self.bytes.get(self.at / 8)?;
        let bit = byte >> (self.at % 8) & 1;
        self.at += 1;
        Some(u32::from(bit))
    }

    fn rice(&mut self, k: u8) -> Option<u32> {
        let mut quotient = 0_u32;
        while self.bit()? == 1 {
            quotient += 1;
        }
        let mut value = quotient.checked_shl(u32::from(k))?;
        for shift in 0..k {
            value |= self.bit()? << shift;
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_table_comes_back_as_it_was_written(
            hashes in prop::collection::hash_map(any::<u64>(), 1..=LEVELS, 0..300)
        ) {
            let table = Table::new(hashes.clone());
            prop_assert_eq!(Table::read(&table.write()), Ok(table.clone()));
            prop_assert!(hashes.into_iter().all(|(hash, level)| table.level(hash) >= level));
        }

        #[test]
        fn other_bytes_are_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Table::read(&bytes).is_err());
            let with_magic = [MAGIC, bytes.as_slice()].concat();
            let _ = Table::read(&with_magic);
        }
    }

    #[test]
    fn levels_are_powers_of_two() {
        assert_eq!([0, 1, 2, 3, 4, 255, 256, 100_000].map(level), [0, 0, 1, 1, 2, 7, 8, 8]);
    }
}
