//! A random corpus of any size, for measuring.
//!
//! Its proportions are near those of real ones: one record in seven copies an earlier body, one in
//! thirty an earlier name and description, a quarter declares no licence, one in thirty is not
//! English. Bodies have from 200 to 16,000 characters, 3,700 in the mean.

use std::io::{self, Read};

/// A stream of JSON Lines with synthetic records.
#[derive(Debug)]
pub struct Synthetic {
    next: u64,
    records: u64,
    /// Text from which bodies are cut.
    pool: Vec<u8>,
    line: Vec<u8>,
    at: usize,
}

/// Characters of the pool.
const POOL: usize = 1 << 20;
const SYLLABLES: [&str; 16] =
    ["ka", "lo", "mi", "ter", "run", "des", "fa", "gul", "no", "pri", "sta", "vex", "wo", "zen", "bi", "cra"];

impl Synthetic {
    /// That many records, always the same ones.
    pub fn new(records: u64) -> Self {
        let mut pool = Vec::with_capacity(POOL + 16);
        let mut n = 0_u64;
        while pool.len() < POOL {
            n += 1;
            let dice = dice(n, 0);
            for part in 0..=dice % 3 {
                let which = usize::try_from((dice >> (8 + 4 * part)) % 16).unwrap_or(0);
                pool.extend_from_slice(SYLLABLES[which].as_bytes());
            }
            pool.extend_from_slice(if n.is_multiple_of(13) { b".\\n" } else { b" " });
        }
        Self { next: 0, records, pool, line: Vec::new(), at: 0 }
    }

    fn fill(&mut self) {
        let n = self.next;
        self.next += 1;
        let body_of = if dice(n, 1).is_multiple_of(7) && n > 0 { dice(n, 2) % n } else { n };
        let label_of = if dice(n, 3).is_multiple_of(30) && n > 0 { dice(n, 4) % n } else { n };
        let draw = dice(body_of, 5);
        // Cubing a uniform number leans the lengths towards the short, as real ones lean.
        let uniform = (draw % 1000) as f64 / 1000.0;
        let characters = 200.0 + 15_800.0 * uniform.powi(3);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 200 and 16,000")]
        let length = characters as usize;
        let start = usize::try_from(draw >> 20).unwrap_or(0) % (POOL - 20_000);
        let foreign = if dice(body_of, 6).is_multiple_of(30) {
            "слово ".repeat(length / 30)
        } else {
            String::new()
        };
        let license = match dice(n, 7) % 8 {
            0 | 1 => "null",
            2 => "\"Apache-2.0\"",
            _ => "\"MIT\"",
        };
        let body = String::from_utf8_lossy(&self.pool[start..start + length]);
        // The pool's line breaks are written `\n` already, so the text is valid JSON, unless the
        // cut split one.
        let body = body.trim_end_matches('\\');
        self.line = format!(
            "{{\"id\":\"{:016x}\",\"repo\":\"o{}/r\",\"path\":\"skills/s{n}/SKILL.md\",\"via\":null,\"name\":\"skill {label_of}\",\
             \"description\":\"What skill {label_of} is for, in one sentence.\",\"license\":{license},\
             \"skill_md\":\"---\\nname: skill-{label_of}\\n---\\n# {body_of}\\n\\n{foreign}{body}\"}}\n",
            dice(n, 8),
            n % 1000,
        )
        .into_bytes();
        self.at = 0;
    }
}

/// SplitMix64 (Steele, Lea & Flood 2014) of a number and a use of it.
fn dice(n: u64, purpose: u64) -> u64 {
    let mut x = n.wrapping_mul(16).wrapping_add(purpose + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Read for Synthetic {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() {
            if self.next == self.records {
                return Ok(0);
            }
            self.fill();
        }
        let count = out.len().min(self.line.len() - self.at);
        out[..count].copy_from_slice(&self.line[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use crate::funnel::{Order, Rules, run};
    use assay_skill::corpus::input::Input;

    use super::*;

    #[test]
    fn every_stage_has_work_and_every_line_is_a_record() {
        let mut input = Input::of(std::path::Path::new("dice"), Box::new(Synthetic::new(3000))).unwrap();
        let outcome = run(&mut input, &Rules::default(), Order::Paper, &mut |bad| panic!("{bad:?}")).unwrap();
        assert_eq!(outcome.records, 3000);
        let removed: Vec<usize> = outcome.stages.iter().map(|stage| stage.removed).collect();
        assert_eq!(removed[0], 0);
        assert!(removed[1..].iter().all(|removed| *removed > 20), "{removed:?}");
        assert!(outcome.kept() > 1500, "{}", outcome.kept());
    }
}
