//! Readers of the formats of skills and tasks. They accept any text, follow the tools that read
//! these files in practice, and bound their work.

pub mod blocks;
#[cfg(feature = "code")]
pub mod code;
pub mod dockerfile;
pub mod dockerignore;
#[cfg(test)]
mod fuzz;
mod heredoc;
pub mod json;
pub mod markdown;
pub mod parts;
pub mod reply;
pub mod shell;
pub mod yaml;
