//! How well routers choose: shares over requests with intervals, and their text.

mod findings;
pub mod prompts;
mod render;

pub(crate) use findings::{Findings, RouterFindings, Share, WrongPrompt, findings};
pub(crate) use render::render;
