//! Keys that sign records. A signature proves which key's owner accepted a result, not that the result is true.

use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The environment variable from which the command line takes keys. No other process may get it.
pub const RECORD_KEY_VARIABLE: &str = "ASSAY_RECORD_KEY";

/// Bytes of a key.
const BYTES: usize = 32;

/// Hexadecimal digits of a key's name.
const NAME_DIGITS: usize = 16;

/// The context of the name of a key, which must differ from that of any other use of it.
const NAME_CONTEXT: &str = "assay 2026-11 name of a record key";

/// A secret key of 32 bytes.
#[derive(Clone)]
pub struct RecordKey([u8; BYTES]);

impl fmt::Debug for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecordKey").field(&self.id()).finish()
    }
}

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A text that is no key. It is not repeated: it may be a secret.
    #[error(
        "a record key is 32 bytes as 64 hexadecimal digits or as base64, and this text has {length} characters"
    )]
    Text {
        /// Characters of the text.
        length: usize,
    },
    /// The file cannot be read or written.
    #[error("cannot {action} the record key {}", path.display())]
    Io {
        /// `read`, `create`, …
        action: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Other users can read the file.
    #[error(
        "other users can read the record key {}: its mode is {mode:04o} (hint: chmod 600 it; if others may have read it, remove it, and the next run creates another)",
        path.display()
    )]
    Open {
        /// Which.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file does not contain a key.
    #[error("{} is not a record key: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: Box<KeyError>,
    },
}

impl RecordKey {
    /// A key as 64 hexadecimal digits or as base64, of either alphabet and with or without padding.
    ///
    /// # Errors
    /// The text is neither, or has another length.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        let wrong = || KeyError::Text { length: text.chars().count() };
        let bytes = if text.len() == 2 * BYTES { from_hex(text) } else { from_base64(text) };
        bytes.and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or_else(wrong)
    }

    /// Its name, which reveals nothing about it: the beginning of a digest.
    pub fn id(&self) -> String {
        let name = blake3::derive_key(NAME_CONTEXT, &self.0);
        blake3::Hash::from_bytes(name).to_hex()[..NAME_DIGITS].to_owned()
    }

    /// The message authentication code of a text: BLAKE3 in its keyed mode.
    pub(crate) fn authenticate(&self, text: &str) -> blake3::Hash {
        blake3::keyed_hash(&self.0, text.as_bytes())
    }

    /// The authentication code of a text for a use other than records, as hexadecimal digits. Each use has a context of its
    /// own, so that a code of one is none of another.
    pub fn code(&self, context: &str, text: &str) -> String {
        self.code_of(context, text).to_hex().to_string()
    }

    fn code_of(&self, context: &str, text: &str) -> blake3::Hash {
        blake3::keyed_hash(&blake3::derive_key(context, &self.0), text.as_bytes())
    }

    /// Reads a key from a file; `None` if there is no such file.
    ///
    /// # Errors
    /// The file cannot be read, contains no key, or can be read by others.
    pub fn read(path: &Path) -> Result<Option<Self>, KeyError> {
        let failed = |source| KeyError::Io { action: "read", path: path.to_owned(), source };
        let mut file = match assay_fs::open_file(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(failed(source)),
        };
        check_mode(path, &file.metadata().map_err(failed)?)?;
        let mut text = String::new();
        (&mut file).take(1024).read_to_string(&mut text).map_err(failed)?;
        Self::parse(&text)
            .map(Some)
            .map_err(|error| KeyError::File { path: path.to_owned(), error: Box::new(error) })
    }

    /// Reads a key from a file, and creates it if the file is missing: readable by its owner only, and complete or absent.
    ///
    /// # Errors
    /// As [`RecordKey::read`]; the file cannot be created, or this system has no source of random numbers.
    pub fn read_or_create(path: &Path) -> Result<Self, KeyError> {
        if let Some(key) = Self::read(path)? {
            return Ok(key);
        }
        let failed = |source| KeyError::Io { action: "create", path: path.to_owned(), source };
        let folder = path.parent().unwrap_or(Path::new("."));
        create_private(folder).map_err(failed)?;
        let mut bytes = [0; BYTES];
        fs::File::open("/dev/urandom")
            .and_then(|mut random| random.read_exact(&mut bytes))
            .map_err(failed)?;
        // The file of this crate has mode 0600 from its creation.
        let mut draft = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        writeln!(draft, "{}", blake3::Hash::from_bytes(bytes).to_hex()).map_err(failed)?;
        draft.as_file().sync_all().map_err(failed)?;
        match draft.persist_noclobber(path) {
            Ok(_) => Ok(Self(bytes)),
            // Another process was faster: its key counts.
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                let gone = || failed(io::Error::from(io::ErrorKind::NotFound));
                Self::read(path)?.ok_or_else(gone)
            }
            Err(error) => Err(failed(error.error)),
        }
    }
}

#[cfg(unix)]
fn check_mode(path: &Path, metadata: &fs::Metadata) -> Result<(), KeyError> {
    use std::os::unix::fs::PermissionsExt;
    let mode = metadata.permissions().mode() & 0o7777;
    let others = mode & 0o077;
    if others == 0 { Ok(()) } else { Err(KeyError::Open { path: path.to_owned(), mode }) }
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &fs::Metadata) -> Result<(), KeyError> {
    Ok(())
}

#[cfg(unix)]
fn create_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    blake3::Hash::from_hex(text).ok().map(|hash| hash.as_bytes().to_vec())
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut number) = (0_u32, 0_u32);
    for c in text.trim_end_matches('=').bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        number = (number << 6 | u32::from(value)) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((number >> bits).to_le_bytes()[0]);
        }
    }
    Some(bytes)
}

/// The keys that a process knows. All verify; the first signs, if this process accepts trials.
#[derive(Debug, Clone, Default)]
pub struct RecordKeys {
    keys: Vec<RecordKey>,
    signs: bool,
}

impl RecordKeys {
    /// Keys of a process that reads records.
    pub fn verifying(keys: Vec<RecordKey>) -> Self {
        Self { keys, signs: false }
    }

    /// Keys of a process that accepts trials: the first key signs their records.
    pub fn signing(keys: Vec<RecordKey>) -> Self {
        Self { keys, signs: true }
    }

    /// The same keys for reading only.
    #[must_use]
    pub fn without_signing(&self) -> Self {
        Self { signs: false, ..self.clone() }
    }

    /// Reads a list of keys, separated by commas.
    ///
    /// # Errors
    /// One of them is not a key.
    pub fn parse(text: &str) -> Result<Vec<RecordKey>, KeyError> {
        text.split(',').map(RecordKey::parse).collect()
    }

    /// The key that signs.
    pub fn signer(&self) -> Option<&RecordKey> {
        self.keys.first().filter(|_| self.signs)
    }

    /// Whether a code of [`RecordKey::code`] is that of the text under the key of this name; `None` for an unknown key.
    pub fn check_code(&self, key: &str, context: &str, text: &str, code: &str) -> Option<bool> {
        let computed = self.find(key)?.code_of(context, text);
        // Compared in constant time.
        Some(blake3::Hash::from_hex(code).is_ok_and(|code| code == computed))
    }

    /// A key by its name.
    pub(crate) fn find(&self, id: &str) -> Option<&RecordKey> {
        self.keys.iter().find(|key| key.id() == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_hexadecimal_or_base64() {
        let hex = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
        let key = RecordKey::parse(hex).unwrap();
        let check = |text: &str, expected: bool| {
            let read = RecordKey::parse(text);
            assert_eq!(read.as_ref().is_ok_and(|read| read.0 == key.0), expected, "{text}: {read:?}");
        };
        check(&format!(" {hex}\n"), true);
        check(&hex.to_uppercase(), true);
        check("ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8=", true);
        check("ABEiM0RVZneImaq7zN3u_wARIjNEVWZ3iJmqu8zd7v8", true);
        for wrong in ["", "abc", &hex[2..], &format!("{hex}00"), "ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7"]
        {
            check(wrong, false);
        }
        assert_eq!(RecordKeys::parse(&format!("{hex},{hex}")).unwrap().len(), 2);
        assert!(RecordKeys::parse(&format!("{hex},")).is_err());
        // Neither an error nor the name contains the key.
        assert!(!format!("{key:?}").contains("0011"), "{key:?}");
        let error = RecordKey::parse(&hex[2..]).unwrap_err().to_string();
        assert!(!error.contains("2233"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_key_file_is_created_once_and_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/assay/record.key");
        assert!(RecordKey::read(&path).unwrap().is_none());
        let created: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| RecordKey::read_or_create(&path).unwrap().id())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(created.iter().all(|id| *id == created[0]), "{created:?}");
        assert_eq!(RecordKey::read(&path).unwrap().unwrap().id(), created[0]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        for wide in [0o644, 0o640, 0o604] {
            fs::set_permissions(&path, fs::Permissions::from_mode(wide)).unwrap();
            let error = RecordKey::read_or_create(&path).unwrap_err().to_string();
            assert!(
                error.contains(&format!("its mode is 0{wide:o}")) && error.contains("chmod 600"),
                "{error}"
            );
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "no key\n").unwrap();
        let error = RecordKey::read_or_create(&path).unwrap_err().to_string();
        assert!(error.contains("is not a record key"), "{error}");
    }
}
