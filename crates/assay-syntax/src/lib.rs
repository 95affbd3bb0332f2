//! Readers of what skills and tasks are written in. They take any text, follow what the tools do
//! that read these files in earnest, and bound their work.

#[cfg(feature = "code")]
pub mod code;
pub mod dockerfile;
pub mod dockerignore;
mod heredoc;
pub mod markdown;
pub mod shell;
pub mod yaml;
