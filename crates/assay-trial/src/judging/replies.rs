//! Replies of judges, stored as they come: what was paid is neither lost nor paid twice when another judge fails.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use assay_judge::{PROTOCOL, Request};
use assay_model::{ChatReply, Usage};
use assay_store::{JudgeMode, JudgeSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::inputs::Texts;
use super::panel::OpenedJudge;

/// The format of a file.
const SCHEMA: &str = "assay.judge-replies/1";

/// A reply of a judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredReply {
    pub(super) text: String,
    /// The model that the provider names.
    pub(super) replied_model: Option<String>,
    /// Requests that it took: several for a judge that is an agent.
    pub(super) requests: u32,
    pub(super) usage: Option<Usage>,
    /// When it came, RFC 3339.
    pub(super) at: String,
}

impl StoredReply {
    /// A reply that has just come.
    pub(super) fn of(reply: &ChatReply) -> Self {
        Self {
            text: reply.text.clone(),
            replied_model: reply.model.clone(),
            requests: 1,
            usage: reply.usage,
            at: jiff::Timestamp::now().to_string(),
        }
    }
}

/// The replies to one request: a line of JSON with the request, then a line for each reply, also for one that cannot be
/// read.
pub(super) struct Replies {
    path: PathBuf,
    header: Value,
}

impl Replies {
    /// Those to a request, in the folder of a work's judgements. What is asked, who is asked and in which repeat tell
    /// them apart; which other judges are on the panel does not.
    pub(super) fn open(
        folder: &Path,
        judge: &OpenedJudge,
        request: &Request,
        texts: &Texts,
        spec: &JudgeSpec,
        repeat: u32,
    ) -> Self {
        let mut header = json!({
            "schema": SCHEMA, "protocol": PROTOCOL, "judge": judge.identity(), "mode": spec.mode, "repeat": repeat,
            "pass": spec.pass, "system": request.system, "text": request.text,
        });
        if spec.mode == JudgeMode::Agent {
            // It reads files that the request only names.
            let mut hasher = blake3::Hasher::new();
            for (path, text) in &texts.readable {
                hasher.update(&(path.len() as u64).to_le_bytes()).update(path.as_bytes());
                hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
            }
            header["material"] = json!(hasher.finalize().to_hex().as_str());
            header["max_turns"] = json!(spec.max_turns);
        }
        let id = blake3::hash(assay_store::canonical(&header).as_bytes()).to_hex();
        Self { path: folder.join("replies").join(format!("{}.jsonl", &id[..32])), header }
    }

    /// What came so far, oldest first. A line cut off by a crash is no reply.
    pub(super) fn read(&self) -> Vec<StoredReply> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        let mut lines = text.lines();
        let is_of_this =
            lines.next().and_then(|line| serde_json::from_str(line).ok()) == Some(self.header.clone());
        if !is_of_this {
            return Vec::new();
        }
        lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Stores a reply.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn add(&self, reply: &StoredReply) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path)?;
        let mut lines = String::new();
        if file.metadata()?.len() == 0 {
            lines.push_str(&format!("{}\n", self.header));
        }
        // After a line that was cut off, a new one begins.
        let is_open = fs::read(&self.path)?.last().is_some_and(|byte| *byte != b'\n');
        if is_open {
            lines.push('\n');
        }
        lines.push_str(&serde_json::to_string(reply)?);
        lines.push('\n');
        file.write_all(lines.as_bytes())?;
        file.sync_data()
    }
}
