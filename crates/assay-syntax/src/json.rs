//! JSON of unknown origin: parsed only if the values that it unfolds to fit into memory. A document of `[0,0,…` takes
//! some forty times its length as values.

use serde::de::DeserializeOwned;

/// Most bytes that the values of a document may take.
pub const JSON_MEMORY: u64 = 192 << 20;

/// Estimated bytes of a value in a list that grows, of an array, of an object, and of a text, with what their
/// allocations cost. Measured with `serde_json` and objects that keep their order: 72 bytes each value.
const VALUE: u64 = 144;
const ARRAY: u64 = 320;
const OBJECT: u64 = 512;
const TEXT: u64 = 48;

/// Why a document cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// Its values take too much memory.
    #[error("its values would take more than {} of memory", assay_fs::size(*.0))]
    TooLarge(u64),
    /// It is not JSON, or not what it should be.
    #[error(transparent)]
    Invalid(#[from] serde_json::Error),
}

/// Parses a document whose values take at most [`JSON_MEMORY`].
///
/// # Errors
/// It is invalid or too large.
pub fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, JsonError> {
    check_json(bytes, JSON_MEMORY)?;
    Ok(serde_json::from_slice(bytes)?)
}

/// Refuses a text whose values take more than `most` bytes of memory, without parsing it.
///
/// # Errors
/// [`JsonError::TooLarge`].
pub fn check_json(bytes: &[u8], most: u64) -> Result<(), JsonError> {
    if json_memory(bytes, most) > most { Err(JsonError::TooLarge(most)) } else { Ok(()) }
}

/// An upper estimate of the memory that the values of a text take, in bytes. Counting ends beyond `most`.
fn json_memory(bytes: &[u8], most: u64) -> u64 {
    let mut total = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let mut at = bytes.iter();
    while let Some(byte) = at.next() {
        total = total.saturating_add(match byte {
            b',' => VALUE,
            b'[' => ARRAY,
            b'{' => OBJECT,
            b'"' => {
                while let Some(byte) = at.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(at.next()),
                        _ => {}
                    }
                }
                TEXT
            }
            _ => continue,
        });
        if total > most {
            break;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn documents_that_unfold_are_refused() {
        let check = |text: &str, expected: bool| {
            assert_eq!(check_json(text.as_bytes(), 1 << 20).is_ok(), expected, "{text:.20}");
        };
        check("{\"a\": [1, 2, {\"b\": \"c\"}]}", true);
        // A long text takes its length.
        check(&format!("\"{}\"", ",[{".repeat(200_000)), true);
        check(&format!("\"{}\\\"{}\"", "[".repeat(9_000), "[".repeat(9_000)), true);
        check(&format!("[{}0]", "0,".repeat(10_000)), false);
        check(&format!("[{}0]", "[],".repeat(5_000)), false);
        check(&format!("[{}0]", "{\"a\":0},".repeat(3_000)), false);
        check(&"[".repeat(9_000), false);
        assert!(matches!(parse_json::<Value>(b"{"), Err(JsonError::Invalid(_))));
        assert_eq!(parse_json::<Value>(b"[1]").unwrap(), serde_json::json!([1]));
    }
}
