//! The verifier's phase: fresh folders, a clean environment, and a reward that is read without
//! trust.

use std::collections::BTreeMap;
use std::path::Path;

use assay_fs::{FsError, read_beneath};
use serde_json::Value;

/// Most bytes of a reward file.
const REWARD_CAP: u64 = 64 << 10;

/// Most bytes of a CTRF report.
const CTRF_CAP: u64 = 4 << 20;

/// A verifier's result.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Reward {
    /// The reward; the mean over keys if there are several.
    pub(crate) value: f64,
    /// The keys that make the reward: `reward`, or every key where there is none of that name.
    pub(crate) keys: BTreeMap<String, f64>,
    /// The keys beside `reward`, which are no part of the score.
    pub(crate) numbers: BTreeMap<String, f64>,
}

impl Reward {
    /// The reward of work that made the verifier end without one.
    pub(crate) fn nothing() -> Self {
        Self { value: 0.0, keys: BTreeMap::from([("reward".to_owned(), 0.0)]), ..Self::default() }
    }

    /// The value of a key of the reward file.
    pub(crate) fn key(&self, key: &str) -> Option<&f64> {
        self.keys.get(key).or_else(|| self.numbers.get(key))
    }

    /// The full reward, in every key.
    pub(crate) fn is_full(&self) -> bool {
        self.keys.values().all(|value| *value >= 1.0)
    }
}

/// Why there is no reward.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RewardError {
    #[error("untrusted reward: {0}")]
    Untrusted(#[from] FsError),
    #[error("the verifier wrote no reward: neither reward.json nor reward.txt")]
    Missing,
    #[error("two reward files, reward.json and reward.txt: the verifier may write only one")]
    Both,
    #[error("reward.txt is empty")]
    Empty,
    #[error("reward.txt contains {0:?}, which is not a finite number")]
    Text(String),
    #[error("reward.json is not JSON: {0}")]
    Json(serde_json::Error),
    #[error("reward.json is not an object of numbers")]
    NotObject,
    #[error("reward.json: {0:?} is not a finite number")]
    Number(String),
    #[error("reward.json contains no reward")]
    NoKeys,
}

/// Reads `reward.json` or `reward.txt` from a folder that untrusted code has written to. Two files
/// are an error whatever they say: one of them may not be the verifier's.
pub(crate) fn reward(folder: &Path) -> Result<Reward, RewardError> {
    if let Some(bytes) = read_beneath(folder, Path::new("reward.json"), REWARD_CAP)? {
        let reward = reward_json(&bytes)?;
        let is_alone = folder.join("reward.txt").symlink_metadata().is_err();
        return if is_alone { Ok(reward) } else { Err(RewardError::Both) };
    }
    match read_beneath(folder, Path::new("reward.txt"), REWARD_CAP)? {
        Some(bytes) => reward_text(&bytes),
        None => Err(RewardError::Missing),
    }
}

/// The tests of a CTRF report, if there is a valid one.
pub(crate) fn ctrf(folder: &Path) -> Option<Value> {
    let bytes = read_beneath(folder, Path::new("ctrf.json"), CTRF_CAP).ok()??;
    let report: Value = serde_json::from_slice(&bytes).ok()?;
    let results = report.get("results")?;
    results.get("tests").is_some_and(Value::is_array).then(|| results.clone())
}

fn reward_text(bytes: &[u8]) -> Result<Reward, RewardError> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    if text.is_empty() {
        return Err(RewardError::Empty);
    }
    let shown: String = text.chars().take(40).collect();
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => {
            Ok(Reward { value, keys: BTreeMap::from([("reward".to_owned(), value)]), ..Reward::default() })
        }
        _ => Err(RewardError::Text(shown)),
    }
}

/// The reward of one file, `reward.json` or `reward.txt`, if it has one.
pub(crate) fn reward_in(folder: &Path, name: &str) -> Option<Reward> {
    let bytes = read_beneath(folder, Path::new(name), REWARD_CAP).ok()??;
    if name == "reward.json" { reward_json(&bytes).ok() } else { reward_text(&bytes).ok() }
}

fn reward_json(bytes: &[u8]) -> Result<Reward, RewardError> {
    let value: Value = serde_json::from_slice(bytes).map_err(RewardError::Json)?;
    reward_of(&value)
}

/// The reward in an object of numbers.
pub(crate) fn reward_of(value: &Value) -> Result<Reward, RewardError> {
    let map = value.as_object().ok_or(RewardError::NotObject)?;
    let mut keys = map
        .iter()
        .map(|(key, value)| match value.as_f64() {
            Some(value) if value.is_finite() => Ok((key.clone(), value)),
            _ => Err(RewardError::Number(key.clone())),
        })
        .collect::<Result<BTreeMap<_, _>, _>>()?;
    if keys.is_empty() {
        return Err(RewardError::NoKeys);
    }
    if let Some(value) = keys.remove("reward") {
        return Ok(Reward { value, keys: BTreeMap::from([("reward".to_owned(), value)]), numbers: keys });
    }
    let value = keys.values().sum::<f64>() / keys.len() as f64;
    Ok(Reward { value, keys, numbers: BTreeMap::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_beside_the_reward_are_numbers() {
        let check = |text: &str, value: f64, keys: &[&str], numbers: &[&str]| {
            let found = reward_json(text.as_bytes()).unwrap();
            assert!((found.value - value).abs() < 1e-12, "{text}");
            assert_eq!(found.keys.keys().collect::<Vec<_>>(), keys, "{text}");
            assert_eq!(found.numbers.keys().collect::<Vec<_>>(), numbers, "{text}");
        };
        check(r#"{"reward":1,"seconds":3.5,"lines":2}"#, 1.0, &["reward"], &["lines", "seconds"]);
        check(r#"{"a":1,"b":0}"#, 0.5, &["a", "b"], &[]);
        check(r#"{"reward":0}"#, 0.0, &["reward"], &[]);
    }

    #[test]
    fn a_reward_is_a_finite_number_or_an_object_of_them() {
        let check = |name: &str, content: &[u8], expected: Result<(f64, bool), &str>| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(name), content).unwrap();
            match (reward(folder.path()), expected) {
                (Ok(found), Ok((value, full))) => assert_eq!((found.value, found.is_full()), (value, full)),
                (Err(found), Err(expected)) => assert!(found.to_string().contains(expected), "{found}"),
                (found, _) => panic!("{name}: {found:?}"),
            }
        };
        check("reward.txt", b"1\n", Ok((1.0, true)));
        check("reward.txt", b" 0.5 ", Ok((0.5, false)));
        check("reward.txt", b"", Err("is empty"));
        check("reward.txt", b"nan", Err("not a finite number"));
        check("reward.txt", b"inf", Err("not a finite number"));
        check("reward.txt", b"passed", Err("not a finite number"));
        check("reward.txt", b"\xff\xfe", Err("not a finite number"));
        check("reward.txt", &vec![b'1'; 100_000], Err("larger than"));
        check("reward.json", br#"{"reward": 1}"#, Ok((1.0, true)));
        // Other keys beside `reward` are details.
        check("reward.json", br#"{"reward": 1, "style": 0.2}"#, Ok((1.0, true)));
        // Without it, every key counts.
        check("reward.json", br#"{"right": 1, "fast": 0}"#, Ok((0.5, false)));
        check("reward.json", b"{}", Err("contains no reward"));
        check("reward.json", b"[1]", Err("not an object"));
        check("reward.json", br#"{"reward": "1"}"#, Err("not a finite number"));
        check("reward.json", b"{\"reward\": NaN}", Err("not JSON"));
        check("other.txt", b"1", Err("the verifier wrote no reward"));
    }

    #[test]
    fn two_reward_files_are_an_error() {
        for (json, text) in [("{\"reward\": 1}", "0"), ("{\"reward\": 1}", "1"), ("{\"a\": 0}", "")] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("reward.json"), json).unwrap();
            std::fs::write(folder.path().join("reward.txt"), text).unwrap();
            let error = reward(folder.path()).unwrap_err().to_string();
            assert!(error.contains("two reward files, reward.json and reward.txt"), "{json} {text}: {error}");
        }
    }

    #[test]
    fn linked_reward_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("elsewhere"), "1").unwrap();
        std::os::unix::fs::symlink("elsewhere", folder.path().join("reward.txt")).unwrap();
        assert!(reward(folder.path()).unwrap_err().to_string().contains("untrusted reward"));
    }
}
