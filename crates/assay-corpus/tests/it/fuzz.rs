//! The funnel's normaliser on random documents. `ASSAY_FUZZ_SECONDS` sets for how long (default 2).

use std::time::{Duration, Instant};

use assay_corpus::funnel::{Order, Rules, run};
use assay_skill::corpus::input::Input;
use assay_skill::corpus::normal::{fold, hash, split};

/// Pieces that mean something to the normaliser, and some that should not.
const PIECES: [&str; 20] = [
    "---",
    "---\n",
    "\n---\r\n",
    "\u{feff}",
    "\r",
    "\n",
    "name: x\n",
    "license: GPL\n",
    "description: >\n  y\n",
    ": ",
    "|||",
    "İ",
    "ǅ",
    "ß",
    "技能",
    "\u{301}",
    "\0",
    "<!--",
    "A b",
    "# T\n\n",
];

/// SplitMix64 (Steele, Lea & Flood 2014).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.roll() % end as u64).unwrap_or(0)
    }
}

#[test]
fn normaliser_handles_random_documents() {
    let seconds = std::env::var("ASSAY_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut dice = Dice(1);
    while Instant::now() < end {
        let seed = dice.0;
        let text: String = (0..dice.below(24)).map(|_| PIECES[dice.below(PIECES.len())]).collect();
        let (front, body) = split(&text);
        assert!(
            text.ends_with(body) && front.is_none_or(|front| text.contains(front)),
            "seed {seed}: {text:?}"
        );
        let once = fold(&text);
        assert_eq!(fold(&once), once, "seed {seed}: {text:?}");
        assert_eq!(hash(&once), hash(&text), "seed {seed}: {text:?}");
        // Any line, complete or cut: one record or one bad line, and the ledger adds up.
        let line = serde_json::json!({ "id": "a", "skill_md": text, "description": once }).to_string();
        let mut bytes = line.into_bytes();
        if dice.roll().is_multiple_of(4) {
            bytes.truncate(dice.below(bytes.len()));
        }
        let blank = bytes.trim_ascii().is_empty();
        let mut input = Input::of("x".as_ref(), Box::new(std::io::Cursor::new(bytes))).unwrap();
        let rules = if dice.roll().is_multiple_of(2) { Rules::default() } else { Rules::SkillRet };
        let order = if dice.roll().is_multiple_of(2) { Order::Paper } else { Order::Code };
        let outcome = run(&mut input, &rules, order, &mut |_| {}).unwrap();
        assert_eq!(outcome.records + outcome.bad_lines, usize::from(!blank), "seed {seed}: {text:?}");
        assert_eq!(outcome.kept() + outcome.ledger().count(), outcome.records, "seed {seed}: {text:?}");
    }
}
