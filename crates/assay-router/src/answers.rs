//! Stored answers, by the digest of the question.

use std::fs;
use std::path::{Path, PathBuf};

use assay_ask::{CacheError, Exchange, ModelQuestion, ReplyCache, StoredReply};
use assay_diagnostic::Io;

use crate::reply::read;
use crate::{Routed, Status};

/// A folder of answers: one file each, named by the digest of everything that can change the
/// answer.
#[derive(Debug, Clone)]
pub struct Answers {
    folder: PathBuf,
}

impl Answers {
    /// The answers in a folder, which is created with the first.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn path(&self, digest: &str) -> PathBuf {
        self.folder.join(digest.get(..2).unwrap_or_default()).join(format!("{digest}.json"))
    }

    fn read_answer(&self, digest: &str) -> Result<Option<Routed>, CacheError> {
        let path = self.path(digest);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Io::new("read", &path)(error).into()),
        };
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| CacheError::Format { path, reason: error.to_string() })
    }

    /// The stored answer to a question. A reply that cannot be read is none before it was complained about.
    ///
    /// # Errors
    /// The disk fails, or the file is not an answer.
    pub fn get(&self, digest: &str) -> Result<Option<Routed>, CacheError> {
        let is_answer = |routed: &Routed| match routed.status {
            Status::Finished => true,
            Status::FormatFailure => routed.replies.len() != 1,
            Status::ModelUnavailable | Status::Error => false,
        };
        Ok(self.read_answer(digest)?.filter(is_answer))
    }
}

impl ReplyCache for Answers {
    fn load_exchange(&self, question: &ModelQuestion) -> Result<Exchange, CacheError> {
        let Some(routed) = self.read_answer(&question.digest())?.filter(|routed| routed.status.is_result())
        else {
            return Ok(Exchange::default());
        };
        let is_ended = routed.status == Status::Finished || routed.replies.len() != 1;
        let mut replies: Vec<StoredReply> = routed
            .replies
            .into_iter()
            .map(|text| StoredReply {
                fault: read(&text).err().map(|error| error.to_string()),
                text,
                ..StoredReply::default()
            })
            .collect();
        if let Some(last) = replies.last_mut() {
            (last.usage, last.seconds) = (routed.usage, routed.seconds);
        }
        Ok(Exchange { replies, is_ended })
    }

    fn store_exchange(&self, question: &ModelQuestion, exchange: &Exchange) -> Result<(), CacheError> {
        let path = self.path(&question.digest());
        let folder = path.parent().unwrap_or(Path::new("."));
        let prompt = question.labels.get("prompt").and_then(serde_json::Value::as_str).unwrap_or_default();
        let repetition = question.labels.get("repetition").and_then(serde_json::Value::as_u64);
        let repetition = repetition.and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
        let text = serde_json::to_vec_pretty(&routed(prompt, repetition, exchange))
            .map_err(|error| CacheError::Format { path: path.clone(), reason: error.to_string() })?;
        fs::create_dir_all(folder).map_err(Io::new("create the folder", folder))?;
        assay_fs::replace_file(&path, &text).map_err(Io::new("write", &path))?;
        Ok(())
    }
}

/// The answer that the replies to a question are.
pub(crate) fn routed(prompt: &str, repetition: u32, exchange: &Exchange) -> Routed {
    let mut routed = Routed {
        prompt: prompt.to_owned(),
        repetition,
        status: Status::FormatFailure,
        ranking: Vec::new(),
        confidence: None,
        replies: exchange.replies.iter().map(|reply| reply.text.clone()).collect(),
        message: exchange.fault().map(str::to_owned),
        usage: exchange.usage(),
        seconds: exchange.replies.iter().map(|reply| reply.seconds).sum(),
    };
    if let Some(answer) = exchange.replies.last().and_then(|reply| read(&reply.text).ok()) {
        routed.status = Status::Finished;
        routed.ranking = answer.ranking;
        routed.confidence = answer.confidence;
        routed.message = None;
    }
    routed
}
