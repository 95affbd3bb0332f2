//! Where replies are stored.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use assay_diagnostic::Io;
use assay_model::Usage;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Exchange, ModelQuestion, StoredReply};

/// Stores the replies to questions. Any number of threads use it at once; two never ask the same question.
pub trait ReplyCache: Send + Sync {
    /// The replies to a question so far; without any if it was not sent.
    ///
    /// # Errors
    /// They cannot be read.
    fn load_exchange(&self, question: &ModelQuestion) -> Result<Exchange, CacheError>;

    /// Stores the replies to a question: those that were loaded, and one that has just come.
    ///
    /// # Errors
    /// They cannot be written.
    fn store_exchange(&self, question: &ModelQuestion, exchange: &Exchange) -> Result<(), CacheError>;
}

/// Replies cannot be read or stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] Io),
    /// A file that is no stored reply.
    #[error("{} is not a cached reply: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// A folder with a file of JSON for each question, named by its digest.
#[derive(Debug, Clone)]
pub struct FolderCache {
    folder: PathBuf,
}

/// What is read of a file; other keys are labels.
#[derive(Debug, Serialize, Deserialize)]
struct ReplyFile {
    reply: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    #[serde(default)]
    replied_model: Option<String>,
    /// The tokens of all replies.
    #[serde(default)]
    usage: Option<Usage>,
    /// How many came.
    #[serde(default = "one")]
    replies: u32,
    /// Those before the last one, which could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<EarlierReply>,
    #[serde(default = "ended", skip_serializing_if = "Clone::clone")]
    ended: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct EarlierReply {
    reply: String,
    #[serde(default)]
    fault: Option<String>,
}

fn one() -> u32 {
    1
}

fn ended() -> bool {
    true
}

impl FolderCache {
    /// The replies in a folder, which is created with the first.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The file with the replies to a question.
    pub fn path_of(&self, question: &ModelQuestion) -> PathBuf {
        self.folder.join(format!("{}.json", question.digest()))
    }

    /// The replies to all questions, in the order of their files' names. Each is the last one, with the tokens of all.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn list_replies(&self) -> Result<Vec<StoredReply>, CacheError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Io::new("read", &self.folder)(error).into()),
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        let files = paths.iter().map(|path| read_file(path));
        let mut replies = Vec::new();
        for file in files {
            replies.extend(file?.map(|file| StoredReply {
                text: file.reply,
                fault: file.fault,
                replied_model: file.replied_model,
                usage: file.usage,
                seconds: 0.0,
            }));
        }
        Ok(replies)
    }
}

fn read_file(path: &Path) -> Result<Option<ReplyFile>, CacheError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Io::new("read", path)(error).into()),
    };
    let format =
        |error: serde_json::Error| CacheError::Format { path: path.to_owned(), reason: error.to_string() };
    serde_json::from_slice(&bytes).map(Some).map_err(format)
}

impl ReplyCache for FolderCache {
    fn load_exchange(&self, question: &ModelQuestion) -> Result<Exchange, CacheError> {
        let Some(file) = read_file(&self.path_of(question))? else { return Ok(Exchange::default()) };
        let earlier = file.earlier.into_iter().map(|earlier| StoredReply {
            text: earlier.reply,
            fault: earlier.fault,
            ..StoredReply::default()
        });
        let last = StoredReply {
            text: file.reply,
            fault: file.fault,
            replied_model: file.replied_model,
            usage: file.usage,
            seconds: 0.0,
        };
        Ok(Exchange { replies: earlier.chain([last]).collect(), is_ended: file.ended })
    }

    fn store_exchange(&self, question: &ModelQuestion, exchange: &Exchange) -> Result<(), CacheError> {
        let Some((last, earlier)) = exchange.replies.split_last() else { return Ok(()) };
        let path = self.path_of(question);
        let file = ReplyFile {
            reply: last.text.clone(),
            fault: last.fault.clone(),
            replied_model: last.replied_model.clone(),
            usage: exchange.usage(),
            replies: u32::try_from(exchange.replies.len()).unwrap_or(u32::MAX),
            earlier: earlier
                .iter()
                .map(|reply| EarlierReply { reply: reply.text.clone(), fault: reply.fault.clone() })
                .collect(),
            ended: exchange.is_ended,
        };
        let format =
            |error: serde_json::Error| CacheError::Format { path: path.clone(), reason: error.to_string() };
        let mut document: Map<String, Value> = question.labels.clone();
        if let Value::Object(own) = serde_json::to_value(&file).map_err(format)? {
            document.extend(own);
        }
        let text = serde_json::to_string_pretty(&document).map_err(format)?;
        fs::create_dir_all(&self.folder).map_err(Io::new("create the folder", &self.folder))?;
        assay_fs::replace_file(&path, text.as_bytes()).map_err(Io::new("write", &path))?;
        Ok(())
    }
}
