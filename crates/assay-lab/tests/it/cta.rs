//! The released auditor's own results: every pair and every record.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::io::Read;
use std::path::Path;

use assay_audit::corpus::Corpus;
use assay_lab::cta::{self, PairLine};
use serde_json::Value;

use assay_test::shared;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn audit(root: &Path) -> Vec<PairLine> {
    let mut made = Vec::new();
    let corpus = Corpus::find(root).expect("a corpus");
    let mut notices = corpus.notices.clone();
    let mut keep = |line| {
        made.push(line);
        Ok::<(), Infallible>(())
    };
    let Ok(()) = cta::audit(&corpus, true, &mut keep, &mut |notice| notices.push(notice));
    // One record of one session is stamped earlier than the one before it; nothing else is odd.
    let messages: Vec<&str> = notices.iter().map(|notice| notice.message.as_str()).collect();
    assert_eq!(messages, ["earlier than the record before it"]);
    made
}

#[test]
#[ignore = "needs shared data"]
fn every_pair_and_every_record_equals_the_release() {
    let root = shared("cta");
    let pairs = lines(&fs::read_to_string(root.join("reference_pairs.jsonl")).expect("the reference"));
    let mut text = String::new();
    let packed = fs::File::open(root.join("reference_divergences.jsonl.gz")).expect("the records");
    flate2::read::GzDecoder::new(packed).read_to_string(&mut text).expect("gzip");
    let records = lines(&text);
    let made = audit(&root);
    assert_eq!((made.len(), pairs.len(), records.len()), (225, 225, 225));
    let mut compared = 0;
    for ((made, pair), record) in made.iter().zip(&pairs).zip(&records) {
        let at = format!("{} {}", made.with_trace, made.without_trace);
        let line = serde_json::to_value(made).expect("JSON");
        for key in [
            "arm",
            "task",
            "mode",
            "with_trace",
            "without_trace",
            "divergences",
            "sips",
            "tokens",
            "events",
            "phases",
        ] {
            assert_eq!(line[key], pair[key], "{key} of {at}");
        }
        let (mine, theirs) = (&line["records"], &record["records"]);
        assert_eq!(record["with_trace"], line["with_trace"]);
        let (mine, theirs) = (mine.as_array().expect("records"), theirs.as_array().expect("records"));
        assert_eq!(mine.len(), theirs.len(), "{at}");
        for (mine, theirs) in mine.iter().zip(theirs) {
            assert_eq!(mine, theirs, "{at}");
            compared += 1;
        }
    }
    assert_eq!(compared, 4492);
    exposure_is_as_labelled(&root, &made);
}

/// Touched or not and lines ingested, of every trace that a pair has.
fn exposure_is_as_labelled(root: &Path, made: &[PairLine]) {
    let labels = lines(&fs::read_to_string(root.join("exposure_labels.jsonl")).expect("labels"));
    let part = |label: &Value, key: &str| label[key].as_str().unwrap_or_default().to_owned();
    let label = |label: &Value| {
        let place = ["arm", "task", "condition", "rep"].map(|key| part(label, key)).join("/");
        (place, (label["skill_tool_touches"].clone(), label["skill_body_lines_ingested"].clone()))
    };
    let labels: BTreeMap<String, (Value, Value)> = labels.iter().map(label).collect();
    for line in made {
        let sides = [(&line.with_trace, line.exposure.plus), (&line.without_trace, line.exposure.minus)];
        for (trace, exposed) in sides {
            let exposed = exposed.expect("every trace is read");
            let place = trace.rsplit_once('/').expect("a folder").0;
            let found = (Value::from(exposed.mentions), Value::from(exposed.body_lines_ingested));
            assert_eq!(found, labels[place], "{trace}");
        }
    }
}
