//! Which attempts had the evidence that their records were signed with, so that it is not hashed again for each report.
//!
//! A line of the file is a message authentication code, by the key that signed the record, over the record's signature and
//! the state of its evidence in the file system: identity, size, and the times of the last change of content and of the file.
//! A line can therefore be made only by who has the key, and says nothing about files that were changed since, also
//! where their time of modification was set back.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::keys::RecordKey;
use crate::origin::Signature;

/// The file in the store.
const FILE: &str = "verified";

/// What the codes are of, apart from those of records.
const CONTEXT: &str = "assay.verified/1";

/// Digits of a code.
const DIGITS: usize = 32;

/// Most bytes of the file that are read: eight million lines.
const CAP: u64 = 256 << 20;

/// Seconds after which a file that was changed again has another time, also on file systems with coarse times.
const SETTLED: i64 = 3;

/// The attempts of a store whose evidence is known.
#[derive(Debug)]
pub(crate) struct VerifiedEvidence {
    path: PathBuf,
    /// Seconds for which a file has to be as it is.
    settled: i64,
    known: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    codes: HashSet<String>,
    /// Where further ones are written; `None` if the store cannot be written.
    file: Option<File>,
}

impl Known {
    fn read(path: &Path) -> Self {
        let mut text = String::new();
        let read = assay_fs::open_file(path).and_then(|file| file.take(CAP).read_to_string(&mut text));
        // Another process may be writing the last line.
        let codes = match read {
            Ok(_) => text.lines().filter(|line| line.len() == DIGITS).map(str::to_owned).collect(),
            Err(_) => HashSet::new(),
        };
        Self { codes, file: OpenOptions::new().create(true).append(true).open(path).ok() }
    }
}

impl VerifiedEvidence {
    pub(crate) fn of(store: &Path) -> Self {
        Self { path: store.join(FILE), settled: SETTLED, known: Mutex::new(None) }
    }

    /// The code of an attempt's evidence as it is now; `None` if it may change without another time.
    pub(crate) fn code(&self, key: &RecordKey, signature: &Signature, attempt: &Path) -> Option<String> {
        let mut text = format!("{CONTEXT}\n{}\n", signature.mac);
        for path in signature.evidence.keys() {
            text.push_str(&format!("{}\n", state(&attempt.join(path), self.settled)?));
        }
        Some(key.authenticate(&text).to_hex()[..DIGITS].to_owned())
    }

    /// Whether the evidence with this code was found to be as signed.
    pub(crate) fn contains(&self, code: &str) -> bool {
        self.with_known(|known| known.codes.contains(code))
    }

    /// Remembers that the evidence with this code is as signed.
    pub(crate) fn insert(&self, code: String) {
        self.with_known(|known| {
            if let Some(file) = &mut known.file {
                // In one write, so that two processes do not mix theirs. Without it, the files are hashed again.
                let _ = file.write_all(format!("{code}\n").as_bytes());
            }
            known.codes.insert(code);
        });
    }

    fn with_known<T>(&self, act: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        act(known.get_or_insert_with(|| Known::read(&self.path)))
    }
}

/// The state of a file, which differs after each change; `None` if it was changed too recently for that, or if the
/// system does not tell.
#[cfg(unix)]
fn state(path: &Path, settled: i64) -> Option<String> {
    use std::os::unix::fs::MetadataExt;

    let Ok(found) = path.symlink_metadata() else { return Some("-".to_owned()) };
    let latest = found.ctime().max(found.mtime());
    if jiff::Timestamp::now().as_second() < latest.saturating_add(settled) {
        return None;
    }
    let (dev, ino, mode, size) = (found.dev(), found.ino(), found.mode(), found.size());
    let (mtime, mtime_nsec, ctime, ctime_nsec) =
        (found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec());
    Some(format!("{dev} {ino} {mode} {size} {mtime}.{mtime_nsec} {ctime}.{ctime_nsec}"))
}

#[cfg(not(unix))]
fn state(_: &Path, _: i64) -> Option<String> {
    None
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::{AgentLabel, Claim, Outcome, Record, RecordKeys, RecordOrigin, Store, StoreError, TrialId};

    fn key(digit: &str) -> RecordKey {
        RecordKey::parse(&digit.repeat(64)).unwrap()
    }

    #[test]
    fn a_code_is_of_one_state_of_the_files_one_signature_and_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trajectory.json");
        fs::write(&path, "{}").unwrap();
        let signature = |mac: &str, paths: &[&str]| Signature {
            scheme: String::new(),
            key_id: String::new(),
            evidence: paths.iter().map(|path| ((*path).to_owned(), String::new())).collect(),
            mac: mac.to_owned(),
        };
        let verified = VerifiedEvidence::of(folder.path());
        let code =
            |mac: &str, paths: &[&str]| verified.code(&key("0"), &signature(mac, paths), folder.path());
        // A file that was just written may be written again without another time.
        assert_eq!(code("m", &["trajectory.json"]), None);
        let gone = code("m", &["reward.txt"]);
        assert!(gone.as_ref().is_some_and(|code| code.len() == DIGITS), "{gone:?}");
        assert_eq!(code("m", &["reward.txt"]), gone);
        assert_ne!(code("n", &["reward.txt"]), gone);
        assert_ne!(verified.code(&key("1"), &signature("m", &["reward.txt"]), folder.path()), gone);
        // A time of modification that lies back does not hide that the file was changed now.
        let file = File::options().write(true).open(&path).unwrap();
        let set_back = || file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
        set_back();
        assert_eq!(state(&path, SETTLED), None);
        let before = state(&path, -SETTLED);
        assert!(before.is_some() && before == state(&path, -SETTLED));
        std::thread::sleep(Duration::from_millis(20));
        fs::write(&path, "[]").unwrap();
        set_back();
        assert_ne!(state(&path, -SETTLED), before);
    }

    /// A record of a store, with a file that it rests on.
    fn signed(folder: &Path) -> (Store, TrialId, PathBuf) {
        let mut store = Store::open(folder).unwrap().with_keys(RecordKeys::signing(vec![key("0")]));
        // A test does not wait until its files are old.
        store.verified =
            Arc::new(VerifiedEvidence { settled: -SETTLED, ..VerifiedEvidence::of(store.root()) });
        let specification = serde_json::json!({ "task": "a" });
        let id = TrialId::of(&specification);
        let Claim::Mine(lease) = store.claim(&id).unwrap() else { panic!("held") };
        let (attempt, folder) = store.begin(&id, &specification, &lease).unwrap();
        let path = folder.join("trajectory.json");
        fs::write(&path, "{ }").unwrap();
        let label = AgentLabel { name: "loop".into(), version: "1".into(), model: None };
        let record = Record { attempt, ..Record::new(id.clone(), "a".into(), label, Outcome::Passed) };
        store.finish(&record, &lease).unwrap();
        (store, id, path)
    }

    #[test]
    fn evidence_is_hashed_once_and_again_after_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let (store, id, path) = signed(folder.path());
        let origin = || store.record_with_origin(&id).map(|found| found.unwrap().1);
        assert_eq!(origin().unwrap(), RecordOrigin::Signed);
        let lines = || fs::read_to_string(folder.path().join(FILE)).unwrap().lines().count();
        assert_eq!((origin().unwrap(), lines()), (RecordOrigin::Signed, 1));
        std::thread::sleep(Duration::from_millis(20));
        let file = File::options().write(true).open(&path).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        fs::write(&path, "[ ]").unwrap();
        file.set_modified(modified).unwrap();
        // The same size and time of modification: it is read again, and not as it was signed.
        assert!(matches!(origin(), Err(StoreError::Changed { .. })));
        assert_eq!(lines(), 1);
        // What is known is not read again. Only the key can make the code.
        let signature = store.record(&id).unwrap().unwrap().signature.unwrap();
        let code = |digit| store.verified.code(&key(digit), &signature, path.parent().unwrap()).unwrap();
        store.verified.insert(code("1"));
        assert!(matches!(origin(), Err(StoreError::Changed { .. })));
        store.verified.insert(code("0"));
        assert_eq!(origin().unwrap(), RecordOrigin::Signed);
    }

    #[test]
    fn codes_are_kept_for_other_processes() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = ("a".repeat(DIGITS), "b".repeat(DIGITS));
        let first = VerifiedEvidence::of(folder.path());
        assert!(!first.contains(&one));
        first.insert(one.clone());
        assert!(first.contains(&one));
        let second = VerifiedEvidence::of(folder.path());
        assert!(second.contains(&one) && !second.contains(&two));
        second.insert(two.clone());
        // A line that is not complete counts for nothing.
        fs::write(folder.path().join(FILE), format!("{two}\n{}", &one[..DIGITS - 1])).unwrap();
        let third = VerifiedEvidence::of(folder.path());
        assert!(third.contains(&two) && !third.contains(&one));
        // A store that cannot be written is read all the same.
        let nowhere = VerifiedEvidence::of(&folder.path().join("absent"));
        nowhere.insert(one.clone());
        assert!(nowhere.contains(&one));
    }
}
