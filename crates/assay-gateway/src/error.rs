//! Why a proxy cannot be opened, or a provider not be used.

use std::path::PathBuf;

/// Why a proxy cannot be opened, or a provider not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The socket or the port.
    #[error("cannot listen at {address}")]
    Listen {
        /// Where.
        address: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A cassette.
    #[error("cassette {}: {message}", path.display())]
    Cassette {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        message: String,
    },
    /// A cap in USD that cannot be kept.
    #[error("a cap in USD needs the price of the model: {0}")]
    Unpriced(String),
    /// A specification that names no provider.
    #[error("{0}")]
    Spec(String),
    /// A provider that cannot be used.
    #[error("cannot use the provider: {0}")]
    Provider(#[from] assay_model::ModelError),
    /// The machine has no randomness for a token, or no thread.
    #[error("cannot get {0} from the system")]
    Machine(&'static str),
}
