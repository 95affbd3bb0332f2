//! `doubles.toml` as it is written.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

/// A text, or the name of a file in `doubles/` that contains it.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields, expecting = "expected a string, or `{ file = \"NAME\" }`")]
pub(super) enum RawText {
    Text(String),
    File { file: String },
}

pub(super) type Texts = BTreeMap<String, Spanned<RawText>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDoubles {
    pub(super) schema: Spanned<String>,
    pub(super) user: Option<RawUser>,
    #[serde(default)]
    pub(super) commands: Vec<RawCommand>,
    #[serde(default)]
    pub(super) http: Vec<RawHttp>,
    #[serde(default)]
    pub(super) mcp: Vec<RawMcp>,
    #[serde(default)]
    pub(super) postgresql: Vec<RawPostgresql>,
    #[serde(default)]
    pub(super) sqlite: Vec<RawSqlite>,
    #[serde(default)]
    pub(super) git: Vec<RawGit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawUser {
    #[serde(default)]
    pub(super) persona: String,
    pub(super) otherwise: Option<String>,
    #[serde(default)]
    pub(super) answers: Vec<RawAnswer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAnswer {
    pub(super) question: Spanned<String>,
    pub(super) answer: Spanned<RawText>,
    pub(super) times: Option<u32>,
    #[serde(default)]
    pub(super) when: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) set: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCommand {
    pub(super) name: Spanned<String>,
    #[serde(default)]
    pub(super) calls: Vec<RawCall>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCall {
    pub(super) args: Spanned<String>,
    pub(super) stdin: Option<Spanned<String>>,
    pub(super) stdout: Option<Spanned<RawText>>,
    pub(super) stderr: Option<Spanned<RawText>>,
    #[serde(default)]
    pub(super) status: u8,
    #[serde(default)]
    pub(super) files: Texts,
    pub(super) times: Option<u32>,
    #[serde(default)]
    pub(super) when: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) set: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawHttp {
    pub(super) port: Spanned<u16>,
    #[serde(default)]
    pub(super) routes: Vec<RawRoute>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRoute {
    pub(super) method: Spanned<String>,
    pub(super) path: Spanned<String>,
    pub(super) request: Option<Spanned<String>>,
    pub(super) status: Option<Spanned<u16>>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, Spanned<String>>,
    pub(super) body: Option<Spanned<RawText>>,
    pub(super) times: Option<u32>,
    #[serde(default)]
    pub(super) when: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) set: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMcp {
    pub(super) name: Spanned<String>,
    #[serde(default)]
    pub(super) tools: Vec<RawTool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTool {
    pub(super) name: Spanned<String>,
    #[serde(default)]
    pub(super) description: String,
    pub(super) input_schema: Option<Spanned<toml::Table>>,
    #[serde(default)]
    pub(super) results: Vec<RawResult>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawResult {
    #[serde(default)]
    pub(super) arguments: BTreeMap<String, Spanned<String>>,
    pub(super) text: Spanned<RawText>,
    #[serde(default)]
    pub(super) error: bool,
    pub(super) times: Option<u32>,
    #[serde(default)]
    pub(super) when: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) set: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPostgresql {
    pub(super) database: Spanned<String>,
    pub(super) user: Option<Spanned<String>>,
    pub(super) port: Option<Spanned<u16>>,
    pub(super) sql: Spanned<RawText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSqlite {
    pub(super) path: Spanned<String>,
    pub(super) sql: Spanned<RawText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGit {
    pub(super) path: Spanned<String>,
    pub(super) author: Option<Spanned<String>>,
    pub(super) head: Option<Spanned<String>>,
    pub(super) commits: Spanned<Vec<RawCommit>>,
    pub(super) uncommitted: Option<RawUncommitted>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCommit {
    pub(super) branch: Option<Spanned<String>>,
    pub(super) from: Option<Spanned<String>>,
    pub(super) message: String,
    pub(super) author: Option<Spanned<String>>,
    pub(super) date: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) files: Texts,
    #[serde(default)]
    pub(super) delete: Vec<Spanned<String>>,
    pub(super) tag: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawUncommitted {
    #[serde(default)]
    pub(super) files: Texts,
    #[serde(default)]
    pub(super) delete: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) staged: bool,
}
