//! The files of an attempt that its result rests on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::run::is_run_name;

/// The files of an attempt that reports, audits and `assay show` read. The logs of agents and what
/// they left behind are not among them.
const EVIDENCE: [&str; 8] = [
    "doubles.jsonl",
    "egress-agent.json",
    "egress-verifier.json",
    "exposure.json",
    "gateway.json",
    "judgement.json",
    "trajectory.json",
    "workspace.diff",
];

/// The same in the verifier's folder.
const VERIFIER: [&str; 4] = ["ctrf.json", "reward.json", "reward.txt", "test-stdout.txt"];

/// Most bytes of a file of evidence.
pub const EVIDENCE_CAP: u64 = 256 << 20;

/// Whether a path in the folder of an attempt is evidence. Each step of a task with steps has a
/// folder like that of an attempt.
pub fn is_evidence(parts: &[&str]) -> bool {
    match parts {
        [name] => EVIDENCE.contains(name),
        ["verifier", name] => VERIFIER.contains(name),
        ["steps", step, rest @ ..] => {
            is_run_name(step) && rest.first() != Some(&"steps") && is_evidence(rest)
        }
        _ => false,
    }
}

/// The paths in the folder of an attempt that may be evidence, in order. Not all of them exist.
pub fn evidence_paths(attempt: &Path) -> Vec<String> {
    let mut folders = vec![String::new()];
    let steps = fs::read_dir(attempt.join("steps")).into_iter().flatten().flatten();
    folders.extend(steps.filter_map(|step| Some(format!("steps/{}/", step.file_name().into_string().ok()?))));
    let mut paths = Vec::new();
    for folder in folders {
        let own = EVIDENCE.iter().map(|name| format!("{folder}{name}"));
        paths.extend(own.chain(VERIFIER.iter().map(|name| format!("{folder}verifier/{name}"))));
    }
    paths.retain(|path| is_evidence(&path.split('/').collect::<Vec<_>>()));
    paths.sort();
    paths
}

/// The digests of the evidence of an attempt, by path. A sandbox may have left a link in the place of a file: that
/// is no evidence.
pub(crate) fn evidence_digests(attempt: &Path) -> BTreeMap<String, String> {
    let digest = |path: String| Some((path.clone(), evidence_digest(attempt, &path)?));
    evidence_paths(attempt).into_iter().filter_map(digest).collect()
}

/// The digest of a file of an attempt; `None` if there is no regular file, or one beyond [`EVIDENCE_CAP`].
pub(crate) fn evidence_digest(attempt: &Path, path: &str) -> Option<String> {
    let bytes = assay_fs::read_beneath(attempt, Path::new(path), EVIDENCE_CAP).ok().flatten()?;
    Some(format!("blake3:{}", blake3::hash(&bytes).to_hex()))
}
