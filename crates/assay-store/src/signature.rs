//! Signatures of records.

use std::path::Path;

use serde_json::{Value, json};

use crate::evidence::{evidence_digest, evidence_digests};
use crate::identity::{TrialId, canonical};
use crate::keys::{RecordKey, RecordKeys};
use crate::origin::{RecordOrigin, Signature, SignatureMismatch};
use crate::record::Record;
use crate::verified::VerifiedEvidence;

/// The way of signing: BLAKE3 in its keyed mode over the canonical JSON of the record without `imported_from` and
/// `signature.mac`.
const SCHEME: &str = "blake3-keyed/1";

/// Signs a record. `attempt` is the folder of its attempt.
///
/// # Errors
/// Never for a record: it is an object that can be serialized.
pub(crate) fn sign(record: &Record, attempt: &Path, key: &RecordKey) -> serde_json::Result<Signature> {
    let mut signature = Signature {
        scheme: SCHEME.to_owned(),
        key_id: key.id(),
        evidence: evidence_digests(attempt),
        mac: String::new(),
    };
    let signed = Record { signature: Some(signature.clone()), ..record.clone() };
    // As it is read again: the text of a number is not always that of its value.
    let value: Value = serde_json::from_slice(&serde_json::to_vec(&signed)?)?;
    signature.mac = key.authenticate(&signed_text(value, None)).to_hex().to_string();
    Ok(signature)
}

/// What is signed of a record's JSON.
fn signed_text(mut value: Value, trial: Option<&TrialId>) -> String {
    if let Some(record) = value.as_object_mut() {
        record.shift_remove("imported_from");
        if let Some(trial) = trial {
            record.insert("trial".to_owned(), json!(trial));
        }
        if let Some(signature) = record.get_mut("signature").and_then(Value::as_object_mut) {
            signature.shift_remove("mac");
        }
    }
    canonical(&value)
}

/// Checks a record against its signature. `bytes` is its file; `evidence` is the folder of its attempt, if its evidence is
/// checked too, and what is known of the evidence of its store. Evidence that is missing proves nothing and is no mismatch.
///
/// # Errors
/// The signature is of a known key, and does not match.
pub(crate) fn verify(
    record: &Record,
    bytes: &[u8],
    evidence: Option<(&Path, &VerifiedEvidence)>,
    keys: &RecordKeys,
) -> Result<RecordOrigin, SignatureMismatch> {
    let (place, imported) = match &record.imported_from {
        Some(from) => (from.trial.as_ref(), true),
        None => (None, false),
    };
    let unproven = |origin| if imported { RecordOrigin::Imported } else { origin };
    let Some(signature) = &record.signature else { return Ok(unproven(RecordOrigin::Unsigned)) };
    let Some(key) = keys.find(&signature.key_id).filter(|_| signature.scheme == SCHEME) else {
        return Ok(unproven(RecordOrigin::UnknownKey));
    };
    let value = serde_json::from_slice(bytes).map_err(|_| SignatureMismatch::Record)?;
    let computed = key.authenticate(&signed_text(value, place));
    // Compared in constant time.
    if !blake3::Hash::from_hex(&signature.mac).is_ok_and(|mac| mac == computed) {
        return Err(SignatureMismatch::Record);
    }
    // Archives contain evidence without secrets, or none.
    if let Some((attempt, verified)) = evidence.filter(|_| !imported) {
        // Before the files are read: one that is changed meanwhile has another code.
        let code = verified.code(key, signature, attempt);
        if code.as_ref().is_some_and(|code| verified.contains(code)) {
            return Ok(RecordOrigin::Signed);
        }
        for (path, digest) in &signature.evidence {
            let is_changed = match evidence_digest(attempt, path) {
                Some(found) => found != *digest,
                None => attempt.join(path).symlink_metadata().is_ok(),
            };
            if is_changed {
                return Err(SignatureMismatch::Evidence { path: path.clone() });
            }
        }
        if let Some(code) = code {
            verified.insert(code);
        }
    }
    Ok(unproven(RecordOrigin::Signed))
}
