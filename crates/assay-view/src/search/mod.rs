//! A library of skills behind a command line, HTTP and the Model Context Protocol: `assay search`.

mod http;
mod mcp;
mod service;

use assay_report::clean;

pub use self::http::serve_search_http;
pub use self::mcp::serve_search_mcp;
pub use self::service::{SearchHit, SearchResponse, SearchService};

/// A text as one line of at most so many characters.
pub fn clip_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let start: String = line.chars().take(most).collect();
    clean(&if start.len() < line.len() { start + "…" } else { start })
}
