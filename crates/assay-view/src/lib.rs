//! Runs, trials, pairs and skills of a store in a browser, and items that people label.
//!
//! [`Site`] makes pages from a store; [`serve_site`] serves them on loopback, and [`export`] writes the same
//! pages to a folder. Pages are rendered on the server and work without JavaScript. Everything that came
//! from skills, tasks, agents and models is escaped by the templates, with its control characters replaced,
//! and files of attempts are only ever sent as downloads or as images. Only the forms below `/review/` and `/draft/` write,
//! and only marks and decisions; exports leave them out.
//!
//! [`SearchService`] answers requests for skills, over HTTP and the Model Context Protocol.

mod attempt;
mod data;
mod draft;
mod error;
mod export;
mod live;
mod pages;
mod peer;
mod reply;
mod requests;
mod search;
mod server;
mod site;
mod text;
mod urls;

pub use export::{ExportError, Exported, export};
pub use search::{SearchHit, SearchResponse, SearchService, clip_line, serve_search_http, serve_search_mcp};
pub use server::{
    Access, JsonRequest, JsonService, ServeError, Serving, Stop, new_token, serve_json, serve_site,
};
pub use site::Site;
