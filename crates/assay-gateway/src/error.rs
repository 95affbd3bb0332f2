//! Why a proxy cannot be opened, or a provider cannot be used.

use std::path::PathBuf;

/// Why a proxy cannot be opened, or a provider cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The socket or the port is unavailable.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A cassette cannot be read or written.
    #[error("cassette {}: {message}", path.display())]
    Cassette {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        message: String,
    },
    /// The charges of a run cannot be read or kept.
    #[error("cannot use {}", path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A cap in USD cannot be enforced without a price.
    #[error("a cap in USD needs the price of the model: {0}")]
    Unpriced(String),
    /// The specification names no provider.
    #[error("{0}")]
    Spec(String),
    /// A provider that cannot be used.
    #[error("cannot use the provider: {0}")]
    Provider(#[from] assay_model::ModelError),
    /// The operating system has no randomness, thread or pipe left.
    #[error("cannot get {0} from the operating system")]
    System(&'static str),
}
