//! A look at a version of a skill: what is written before its first trial, and what after its decision.

use assay_store::{RecordKeys, canonical};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::numbers::Numbers;

/// The format of the files.
pub(super) const SCHEMA: &str = "assay.gate-look/1";

/// What a code of these files is a code of.
const CONTEXT: &str = "assay 2026-11 look of a gate";

/// The way of signing: BLAKE3 in its keyed mode over the canonical JSON without `signature.mac`.
const SCHEME: &str = "blake3-keyed/1";

/// Characters of an id.
const ID: usize = 32;

/// Bytes of a file that are read.
pub(super) const CAP: usize = 1 << 16;

/// What is known before the first trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// When, RFC 3339, UTC.
    pub opened_at: String,
    /// The skill's folder, relative to the repository.
    pub skill: String,
    /// Which skill over its versions, names and places: a hash of the paths of its tasks at the target.
    pub lineage: String,
    /// The digest of its normalized text: [`super::content`].
    pub content: String,
    /// The digest of its folder.
    pub digest: String,
    /// The content of the lineage at the tip of the target, if it is there.
    pub target_content: Option<String>,
    /// The tip of the target.
    pub target_commit: Option<String>,
    /// The commit that is gated.
    pub head_commit: Option<String>,
    /// The hash of the policy and of what it names.
    pub policy_hash: String,
    /// The error budget of the policy.
    pub error_budget: f64,
    /// The hash of the trials that are planned.
    pub plan: String,
    /// Whose rules apply: `target`, or the commit of `--trust-changes`.
    pub trust: String,
}

/// What is known after the decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// When, RFC 3339, UTC.
    pub completed_at: String,
    /// `pass`, `fail` or `undecided`.
    pub decision: String,
    /// The p-value of the claim.
    pub p: Option<f64>,
    /// The lift over the baseline.
    pub lift: Option<f64>,
    /// The lower limit of the lift at the level of the look.
    pub bound: Option<f64>,
    /// The upper limit.
    pub upper: Option<f64>,
    /// The hash of the trials and their outcomes.
    pub evidence: String,
    /// The version that it was compared with, beside the baseline or as the baseline; `None` for `helps`.
    pub reference: Option<Reference>,
    /// US dollars that the trials cost, if their prices are known.
    pub cost_usd: Option<f64>,
}

/// The version that a skill may not fall behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// Its content.
    pub content: String,
    /// Where it is.
    pub commit: String,
    /// The lift over it.
    #[serde(default)]
    pub lift: Option<f64>,
    /// The lower limit of that, at the level of the tests against reference versions.
    #[serde(default)]
    pub bound: Option<f64>,
}

/// A look in a ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerEntry {
    /// Its name.
    pub id: String,
    /// What was known before the first trial.
    pub opening: Opening,
    /// Which look at which version it is.
    pub numbers: Numbers,
    /// The error rate of the look.
    pub level: f64,
    /// The entries that no other entry named when it was opened.
    pub seen: Vec<String>,
    /// What was known after the decision; `None` if the gate did not come so far.
    pub completion: Option<Completion>,
}

impl LedgerEntry {
    /// Whether the version met the requirement.
    pub fn passed(&self) -> bool {
        self.completion.as_ref().is_some_and(|completion| completion.decision == "pass")
    }
}

/// A file.
#[derive(Debug, Serialize, Deserialize)]
struct Document {
    schema: String,
    id: String,
    #[serde(flatten)]
    opening: Opening,
    #[serde(flatten)]
    numbers: Numbers,
    level: f64,
    seen: Vec<String>,
    /// Absent in the file of an opened look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    completed: Option<Completion>,
    #[serde(default)]
    signature: Signature,
}

/// Why a look cannot be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnwritableLook {
    /// Nothing signs it.
    #[error("this process has no key that signs looks")]
    NoKey,
    /// Its numbers are none of JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Why a file of a ledger counts for nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotALook {
    /// Its name.
    #[error("not the name of a look")]
    Name,
    /// Its length.
    #[error("too long")]
    TooLong,
    /// It is torn, or something else.
    #[error("not complete JSON")]
    Json,
    /// Another version of the format.
    #[error("unsupported schema {0:?}")]
    Schema(String),
    /// Another document.
    #[error("not a look")]
    Other,
    /// A field is missing, or has another type.
    #[error("not a look: {0}")]
    Fields(serde_json::Error),
    /// It has no signature of this scheme.
    #[error("not signed")]
    Unsigned,
    /// No key here has the id.
    #[error("signed with another key ({})", .0.escape_debug())]
    OtherKey(String),
    /// Its text is not the one that was signed.
    #[error("changed after it was signed")]
    Changed,
    /// A copy under another name.
    #[error("its name is that of another file")]
    OtherName,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Signature {
    scheme: String,
    key_id: String,
    mac: String,
}

/// The name of the file of an opened look, and of a completed one.
pub(super) fn file_name(id: &str, is_completed: bool) -> String {
    format!("{id}.{}.json", if is_completed { "completed" } else { "opened" })
}

/// The id in the name of a look's file, and whether it is that of a completed one.
pub(super) fn parse_name(name: &str) -> Option<(&str, bool)> {
    let (id, rest) = name.split_once('.')?;
    let is_completed = match rest {
        "opened.json" => false,
        "completed.json" => true,
        _ => return None,
    };
    is_id(id).then_some((id, is_completed))
}

/// Whether a text can be the id of a look.
pub(super) fn is_id(text: &str) -> bool {
    text.len() == ID && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A new id.
pub(super) fn new_id(opening: &Opening) -> String {
    use std::hash::{BuildHasher, RandomState};
    // Each state has random keys of the system.
    let random = [0; 4].map(|_: u8| RandomState::new().hash_one(&opening.plan).to_le_bytes());
    let mut id = blake3::hash(random.as_flattened()).to_hex().to_string();
    id.truncate(ID);
    id
}

/// The signed file of an entry: its opening, and its completion where that is asked for and there.
///
/// # Errors
/// There is no key that signs.
pub(super) fn write(
    entry: &LedgerEntry,
    is_completed: bool,
    keys: &RecordKeys,
) -> Result<Vec<u8>, UnwritableLook> {
    let key = keys.signer().ok_or(UnwritableLook::NoKey)?;
    let document = Document {
        schema: SCHEMA.to_owned(),
        id: entry.id.clone(),
        opening: entry.opening.clone(),
        numbers: entry.numbers,
        level: entry.level,
        seen: entry.seen.clone(),
        completed: entry.completion.clone().filter(|_| is_completed),
        signature: Signature { scheme: SCHEME.to_owned(), key_id: key.id(), mac: String::new() },
    };
    let text = serde_json::to_string(&document)?;
    // As it is read again: the text of a number is not always that of its value.
    let mut value: Value = serde_json::from_str(&text)?;
    let mac = key.code(CONTEXT, &signed_text(value.clone()));
    if let Some(signature) = value.get_mut("signature").and_then(Value::as_object_mut) {
        signature.insert("mac".to_owned(), Value::String(mac));
    }
    Ok(serde_json::to_vec_pretty(&value)?)
}

/// Reads and checks a file of this name.
///
/// # Errors
/// Why it counts for nothing.
pub(super) fn read(name: &str, bytes: &[u8], keys: &RecordKeys) -> Result<LedgerEntry, NotALook> {
    let (id, is_completed) = parse_name(name).ok_or(NotALook::Name)?;
    if bytes.len() > CAP {
        return Err(NotALook::TooLong);
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|_| NotALook::Json)?;
    match value.get("schema").and_then(Value::as_str) {
        Some(SCHEMA) => {}
        Some(other) => return Err(NotALook::Schema(other.to_owned())),
        None => return Err(NotALook::Other),
    }
    let document: Document = serde_json::from_value(value.clone()).map_err(NotALook::Fields)?;
    let Signature { scheme, key_id, mac } = &document.signature;
    if scheme != SCHEME {
        return Err(NotALook::Unsigned);
    }
    match keys.check_code(key_id, CONTEXT, &signed_text(value), mac) {
        None => return Err(NotALook::OtherKey(key_id.clone())),
        Some(false) => return Err(NotALook::Changed),
        Some(true) => {}
    }
    if document.id != id || document.completed.is_some() != is_completed {
        return Err(NotALook::OtherName);
    }
    let Document { id, opening, numbers, level, seen, completed, .. } = document;
    Ok(LedgerEntry { id, opening, numbers, level, seen, completion: completed })
}

/// What is signed of a file.
fn signed_text(mut value: Value) -> String {
    if let Some(signature) = value.get_mut("signature").and_then(Value::as_object_mut) {
        signature.shift_remove("mac");
    }
    canonical(&value)
}

#[cfg(test)]
pub(crate) mod tests {
    use assay_store::RecordKey;

    use super::*;

    /// Keys with a digit.
    pub(crate) fn keys(digits: &str) -> RecordKeys {
        let key = |digit: char| RecordKey::parse(&digit.to_string().repeat(64)).unwrap();
        RecordKeys::signing(digits.chars().map(key).collect())
    }

    pub(crate) fn opening(lineage: &str, content: &str, target: &str) -> Opening {
        Opening {
            opened_at: "2026-01-01T00:00:00Z".to_owned(),
            skill: "skills/a".to_owned(),
            lineage: lineage.to_owned(),
            content: content.to_owned(),
            digest: format!("blake3:{content}"),
            target_content: Some(target.to_owned()),
            target_commit: None,
            head_commit: None,
            policy_hash: "blake3:0".to_owned(),
            error_budget: 0.05,
            plan: format!("plan of {content}"),
            trust: "target".to_owned(),
        }
    }

    pub(crate) fn completion(decision: &str) -> Completion {
        Completion {
            completed_at: "2026-01-01T00:01:00Z".to_owned(),
            decision: decision.to_owned(),
            p: Some(0.1 + 0.2),
            lift: Some(0.05),
            bound: Some(-0.1),
            upper: None,
            evidence: "blake3:e".to_owned(),
            reference: None,
            cost_usd: None,
        }
    }

    pub(crate) fn entry(id: &str, lineage: &str, content: &str, target: &str) -> LedgerEntry {
        LedgerEntry {
            id: format!("{id:0>32}"),
            opening: opening(lineage, content, target),
            numbers: Numbers { version: 1, look: 1 },
            level: 0.024,
            seen: Vec::new(),
            completion: None,
        }
    }

    impl LedgerEntry {
        pub(crate) fn decided(mut self, decision: &str) -> Self {
            self.completion = Some(completion(decision));
            self
        }
    }

    #[test]
    fn a_file_is_read_as_it_was_written_and_no_other() {
        let entry = entry("1", "l", "b", "a").decided("fail");
        let opened = write(&entry, false, &keys("1")).unwrap();
        let completed = write(&entry, true, &keys("1")).unwrap();
        let names = [file_name(&entry.id, false), file_name(&entry.id, true)];
        assert_eq!(read(&names[1], &completed, &keys("21")).unwrap(), entry);
        let expected = LedgerEntry { completion: None, ..entry.clone() };
        assert_eq!(read(&names[0], &opened, &keys("1")).unwrap(), expected);
        // Another order of keys is the same document.
        let value: Value = serde_json::from_slice(&completed).unwrap();
        assert_eq!(read(&names[1], canonical(&value).as_bytes(), &keys("1")).unwrap(), entry);

        let check = |name: &str, bytes: &[u8], expected: &str| {
            let error = read(name, bytes, &keys("1")).unwrap_err().to_string();
            assert!(error.contains(expected), "{name}: {error}");
        };
        let text = String::from_utf8(completed.clone()).unwrap();
        for end in [0, 1, 20, text.len() / 2, text.len() - 1] {
            check(&names[1], &completed[..end], "not complete JSON");
        }
        for (old, new) in [("\"fail\"", "\"pass\""), ("\"look\": 1", "\"look\": 2"), ("0.05", "0.06")] {
            check(&names[1], text.replacen(old, new, 1).as_bytes(), "changed after it was signed");
        }
        check(&names[1], text.replace("blake3-keyed/1", "none").as_bytes(), "not signed");
        check(&names[0], &completed, "its name is that of another file");
        check(&names[1], &opened, "its name is that of another file");
        check(&file_name(&"2".repeat(32), true), &completed, "its name is that of another file");
        check(&names[1], &write(&entry, true, &keys("2")).unwrap(), "signed with another key");
        check(&names[1], b"{\"schema\":\"assay.gate-look/2\"}", "unsupported schema");
        check(&names[1], b"[]", "not a look");
        check(&names[1], &vec![b' '; CAP + 1], "too long");
        assert!(write(&entry, true, &RecordKeys::default()).is_err());
    }

    #[test]
    fn no_two_looks_have_one_id() {
        let opening = opening("l", "b", "a");
        let ids: std::collections::BTreeSet<String> = (0..100).map(|_| new_id(&opening)).collect();
        assert!(ids.len() == 100 && ids.iter().all(|id| is_id(id)), "{ids:?}");
    }
}
