//! What remains of a long conversation.

use assay_agent::{CatalogueEntry, LoopOptions};
use assay_model::Message;

use crate::fixture::{LoopFixture, run};

#[test]
fn old_results_are_dropped_but_opened_skills_stay() {
    let long = "x".repeat(2_000);
    let read = format!("cat /skills/ledger/SKILL.md # {long}");
    let look = format!("ls # {long}");
    // Every reply uses the same id for its first call, as some servers do.
    let mut turns = vec![run(&[&read])];
    turns.extend((0..8).map(|_| run(&[&look])));
    let mut fixture = LoopFixture::new(turns);
    fixture.options = LoopOptions { context_tokens: 4_000, ..fixture.options };
    fixture.skills = vec![CatalogueEntry {
        name: "ledger".into(),
        description: "Ledgers.".into(),
        path: "/skills/ledger/SKILL.md".into(),
        body: "Ledgers.".into(),
    }];
    let outcome = fixture.run();
    let results: Vec<bool> = outcome
        .requests
        .last()
        .unwrap()
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Tool { text, .. } => Some(text.len() > 2_000),
            _ => None,
        })
        .collect();
    assert_eq!(results.len(), 9, "calls keep their answers");
    assert!(results[0], "the skill stays");
    assert!(results[7] && results[8], "the last two stay");
    assert_eq!(results[1..7].iter().filter(|whole| **whole).count(), 0, "{results:?}");
    // The trajectory keeps everything.
    assert!(outcome.results().iter().all(|text| text.len() > 2_000));
}
