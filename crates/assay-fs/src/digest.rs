//! The content digest everything is named by.

use std::fmt;
use std::io::Read;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A BLAKE3 digest, 32 bytes, written `blake3:<64 hex>` everywhere it is printed or stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// Why a text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The text does not begin with `blake3:`.
    #[error("digest without its `blake3:` prefix")]
    Prefix,
    /// What follows the prefix is not 64 lower-case or upper-case hexadecimal digits.
    #[error("digest is not 64 hexadecimal digits")]
    Hex,
}

impl Digest {
    const PREFIX: &str = "blake3:";

    /// Digests bytes as they are, with no domain tag: for a file's content this is what `b3sum`
    /// prints.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The digest whose bytes these are.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 hexadecimal digits, without the prefix.
    pub fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }

    /// The first 12 hexadecimal digits, for people to read.
    pub fn short(&self) -> String {
        let mut hex = self.hex();
        hex.truncate(12);
        hex
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let hex = text.strip_prefix(Self::PREFIX).ok_or(DigestError::Prefix)?;
        blake3::Hash::from_hex(hex).map(|hash| Self(*hash.as_bytes())).map_err(|_| DigestError::Hex)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Digests a sequence of parts so that no two sequences share their bytes: every part is preceded
/// by its length.
#[derive(Clone)]
pub struct Hasher(blake3::Hasher);

impl Hasher {
    /// Begins a digest of one domain; digests of different domains never coincide.
    pub fn new(domain: &str) -> Self {
        let mut hasher = Self(blake3::Hasher::new());
        hasher.part(domain.as_bytes());
        hasher
    }

    /// Adds one part: its length as 8 bytes, least significant first, then the bytes.
    pub fn part(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds a number as 8 bytes, least significant first.
    pub fn number(&mut self, value: u64) -> &mut Self {
        self.0.update(&value.to_le_bytes());
        self
    }

    /// Adds one byte.
    pub fn byte(&mut self, value: u8) -> &mut Self {
        self.0.update(&[value]);
        self
    }

    /// Adds the 32 bytes of a digest.
    pub fn digest(&mut self, digest: &Digest) -> &mut Self {
        self.0.update(&digest.0);
        self
    }

    /// The digest of what was added so far.
    pub fn finish(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

/// Digests a stream in pieces of 64 KiB, and counts it. Stops with an error at more than `limit`
/// bytes.
pub(crate) fn digest_stream(mut from: impl Read, limit: u64) -> std::io::Result<(Digest, u64)> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0_u8; 64 * 1024];
    let mut size = 0_u64;
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok((Digest(*hasher.finalize().as_bytes()), size)),
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        size = size.saturating_add(read as u64);
        if size > limit {
            return Err(std::io::Error::other(format!("larger than {limit} bytes")));
        }
        hasher.update(&buffer[..read]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips() {
        let digest = Digest::of(b"abc");
        assert_eq!(digest.hex(), "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
        assert_eq!(digest.short(), "6437b3ac3846");
        assert_eq!(digest.to_string().parse::<Digest>(), Ok(digest));
        let json = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
    }

    #[test]
    fn invalid_digests_are_rejected() {
        let check = |text: &str, expected| assert_eq!(text.parse::<Digest>(), Err(expected), "{text}");
        check("", DigestError::Prefix);
        check("sha256:00", DigestError::Prefix);
        check("blake3:", DigestError::Hex);
        check("blake3:zz", DigestError::Hex);
        check(&format!("blake3:{}", "é".repeat(32)), DigestError::Hex);
    }

    #[test]
    fn parts_cannot_run_together() {
        let digest = |parts: &[&str]| {
            let mut hasher = Hasher::new("test");
            for part in parts {
                hasher.part(part.as_bytes());
            }
            hasher.finish()
        };
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_ne!(digest(&["abc"]), digest(&["abc", ""]));
    }

    #[test]
    fn stream_digest_is_incremental_and_capped() {
        let bytes = vec![7_u8; 200_000];
        let (digest, size) = digest_stream(&bytes[..], u64::MAX).unwrap();
        assert_eq!((digest, size), (Digest::of(&bytes), 200_000));
        assert!(digest_stream(&bytes[..], 199_999).is_err());
    }
}
