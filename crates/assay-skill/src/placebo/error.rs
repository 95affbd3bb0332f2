//! Why there is no placebo of a package.

/// Why there is no placebo of a package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceboError {
    /// The body is longer than any skill ought to be.
    #[error("body of {tokens} tokens, more than {limit}")]
    TooLong {
        /// Tokens of the body.
        tokens: usize,
        /// The most there may be.
        limit: usize,
    },
    /// The body is too large to have its tokens counted.
    #[error("body of {bytes} bytes, more than {limit}")]
    TooLarge {
        /// Bytes of the body.
        bytes: usize,
        /// The most there may be.
        limit: usize,
    },
    /// The skeleton alone is longer than the body, or no words bring it to the body's length: a
    /// body with hardly any text.
    #[error("placebo has {placebo_tokens} tokens for a body of {body_tokens}")]
    Uneven {
        /// Tokens of the body.
        body_tokens: usize,
        /// Tokens of the nearest placebo.
        placebo_tokens: usize,
    },
}
