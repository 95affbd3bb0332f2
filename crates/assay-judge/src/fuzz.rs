//! Damaged replies of models.

use assay_test::{fuzz, shared_seeds};
use serde_json::Value;

#[test]
fn damaged_replies_never_panic() {
    let mut seeds = shared_seeds("judges", &[".json", ".txt", ".md"], 40);
    for reply in [
        "The verdict:\n```json\n{\"items\": [{\"id\": \"a\", \"answer\": \"met\", \"quote\": \"x \\\" {y}\"}]}\n```\nDone.",
        "{\"a\": 1} and {\"a\": 2}",
        "<answer>[1, 2, {\"b\": \"}\"}]</answer>",
    ] {
        seeds.push(reply.as_bytes().to_vec());
    }
    fuzz(&seeds, |bytes| {
        let _ = assay_syntax::reply::read_document::<Value>(&String::from_utf8_lossy(bytes));
    });
}
