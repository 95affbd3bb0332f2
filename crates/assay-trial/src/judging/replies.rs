//! Replies of judges, stored as they come: what was paid is neither lost nor paid twice when another judge fails.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use assay_ask::{CacheError, Exchange, ModelQuestion, ReplyCache, StoredReply};
use assay_diagnostic::Io;
use assay_judge::{PROTOCOL, Request};
use assay_model::{ScriptContext, Usage};
use assay_store::{JudgeMode, JudgeSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::inputs::Texts;
use super::panel::OpenedJudge;

/// The format of a file.
const SCHEMA: &str = "assay.judge-replies/1";

/// What a judge is asked in a repeat. What is asked, who is asked and in which repeat identify it; which other judges are on
/// the panel does not.
pub(super) fn judge_question(
    judge: &OpenedJudge,
    request: &Request,
    texts: &Texts,
    spec: &JudgeSpec,
    repeat: u32,
    script: ScriptContext,
) -> ModelQuestion {
    let mut identity = json!({
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
        identity["material"] = json!(hasher.finalize().to_hex().as_str());
        identity["max_turns"] = json!(spec.max_turns);
    }
    ModelQuestion {
        system: request.system.clone(),
        text: request.text.clone(),
        identity,
        labels: Map::new(),
        script,
    }
}

/// A reply of a judge: a line of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ReplyLine {
    pub(super) text: String,
    /// The model that the provider names.
    pub(super) replied_model: Option<String>,
    /// Requests that it took: several for a judge that is an agent.
    pub(super) requests: u32,
    pub(super) usage: Option<Usage>,
    /// When it came, RFC 3339.
    pub(super) at: String,
}

/// The replies to the judges' requests about one work, a file for each request: a line of JSON with what identifies it, then
/// a line for each reply, also for one that cannot be read.
#[derive(Debug)]
pub(super) struct JudgeReplies {
    folder: PathBuf,
}

impl JudgeReplies {
    /// Those in the folder of a work's judgements.
    pub(super) fn new(judgements: &Path) -> Self {
        Self { folder: judgements.join("replies") }
    }

    fn path_of(&self, question: &ModelQuestion) -> PathBuf {
        let id = blake3::hash(assay_store::canonical(&question.identity).as_bytes()).to_hex();
        self.folder.join(format!("{}.jsonl", &id[..32]))
    }

    /// What came so far, oldest first. A line cut off by a crash is no reply.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn read_lines(&self, question: &ModelQuestion) -> Result<Vec<ReplyLine>, CacheError> {
        let text = read_text(&self.path_of(question))?;
        if !begins_with(&text, question) {
            return Ok(Vec::new());
        }
        Ok(text.lines().skip(1).filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Adds a reply.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn add_line(&self, question: &ModelQuestion, reply: &ReplyLine) -> Result<(), CacheError> {
        let path = self.path_of(question);
        fs::create_dir_all(&self.folder).map_err(Io::new("create the folder", &self.folder))?;
        let text = read_text(&path)?;
        let line = serde_json::to_string(reply)
            .map_err(|error| CacheError::Format { path: path.clone(), reason: error.to_string() })?;
        if !begins_with(&text, question) {
            // Nothing can be read of a file whose first line was cut off.
            let text = format!("{}\n{line}\n", question.identity);
            return Ok(assay_fs::replace_file(&path, text.as_bytes()).map_err(Io::new("write", &path))?);
        }
        // After a line that was cut off, a new one begins.
        let start = if text.ends_with('\n') { "" } else { "\n" };
        let append = || {
            let mut file = fs::OpenOptions::new().append(true).open(&path)?;
            file.write_all(format!("{start}{line}\n").as_bytes())?;
            file.sync_data()
        };
        Ok(append().map_err(Io::new("write", &path))?)
    }
}

/// The text of a file; empty if there is none.
fn read_text(path: &Path) -> Result<String, CacheError> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Io::new("read", path)(error).into()),
    }
}

/// Whether a file is about a question.
fn begins_with(text: &str, question: &ModelQuestion) -> bool {
    let first = text.lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok());
    first.is_some_and(|first| first == question.identity)
}

impl ReplyCache for JudgeReplies {
    fn load_exchange(&self, question: &ModelQuestion) -> Result<Exchange, CacheError> {
        let lines = self.read_lines(question)?.into_iter();
        let replies = lines.map(|line| StoredReply {
            text: line.text,
            fault: None,
            replied_model: line.replied_model,
            usage: line.usage,
            seconds: 0.0,
        });
        Ok(Exchange { replies: replies.collect(), is_ended: false })
    }

    fn store_exchange(&self, question: &ModelQuestion, exchange: &Exchange) -> Result<(), CacheError> {
        let Some(last) = exchange.replies.last() else { return Ok(()) };
        let line = ReplyLine {
            text: last.text.clone(),
            replied_model: last.replied_model.clone(),
            requests: 1,
            usage: last.usage,
            at: jiff::Timestamp::now().to_string(),
        };
        self.add_line(question, &line)
    }
}

#[cfg(test)]
mod tests {
    use assay_ask::ModelHandle;
    use assay_model::{Call, ChatModel, ChatReply, ChatRequest, ModelError};
    use assay_store::JudgeModel;

    use super::*;

    struct NoModel;

    impl ChatModel for NoModel {
        fn id(&self) -> &'static str {
            "openai:judge"
        }

        fn chat(&self, _: &ChatRequest, _: &Call<'_>) -> Result<ChatReply, ModelError> {
            Err(ModelError::Cancelled)
        }
    }

    /// What one judge is asked, in a repeat.
    fn question(mode: JudgeMode, repeat: u32) -> ModelQuestion {
        let entry = JudgeModel {
            model: "openai:judge".to_owned(),
            base_url: None,
            server: None,
            api_key_env: None,
            price: None,
        };
        let model = std::sync::Arc::new(NoModel);
        let handle = ModelHandle::of_model(model.clone());
        let judge = OpenedJudge { entry: entry.clone(), model, handle, server: None };
        let spec = JudgeSpec {
            models: vec![entry],
            mode,
            repeats: 1,
            material: Vec::new(),
            max_turns: 30,
            timeout: 600.0,
            pass: 0,
        };
        let request = Request { system: "You judge.".to_owned(), text: "Is it neat?".to_owned() };
        let texts =
            Texts { readable: vec![("answer.txt".to_owned(), "Done.".to_owned())], ..Texts::default() };
        judge_question(&judge, &request, &texts, &spec, repeat, ScriptContext::default())
    }

    fn texts_of(exchange: &Exchange) -> Vec<&str> {
        exchange.replies.iter().map(|reply| reply.text.as_str()).collect()
    }

    /// What version 0.1 wrote for this question, under this name.
    const EARLIER: (&str, &str) = (
        "02f09b4ab2d41af67038c434d8e941f8.jsonl",
        concat!(
            r#"{"judge":{"model":"openai:judge","script":null},"mode":"call","pass":0,"protocol":2,"repeat":1,"#,
            r#""schema":"assay.judge-replies/1","system":"You judge.","text":"Is it neat?"}"#,
            "\n",
            r#"{"text":"Well.","replied_model":"judge-1","requests":1,"usage":null,"at":"2026-11-20T10:00:00Z"}"#,
            "\n",
            r#"{"text":"{}","replied_model":"judge-1","requests":1,"#,
            r#""usage":{"input":100,"output":10,"cache_read":0,"cache_write":0},"at":"2026-11-20T10:00:09Z"}"#,
            "\n",
        ),
    );

    #[test]
    fn stores_of_earlier_versions_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let replies = JudgeReplies::new(folder.path());
        let path = folder.path().join("replies").join(EARLIER.0);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, EARLIER.1).unwrap();
        let asked = question(JudgeMode::Call, 1);
        assert_eq!(replies.path_of(&asked), path);
        let exchange = replies.load_exchange(&asked).unwrap();
        assert_eq!(texts_of(&exchange), ["Well.", "{}"]);
        assert_eq!(exchange.usage().unwrap().input, 100);
        for other in [question(JudgeMode::Call, 2), question(JudgeMode::Agent, 1)] {
            assert_eq!(replies.load_exchange(&other).unwrap(), Exchange::default());
        }
        // A reply that comes now is another line of the same form.
        let mut more = exchange.clone();
        more.replies.push(StoredReply { text: "third".to_owned(), ..StoredReply::default() });
        replies.store_exchange(&asked, &more).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let added = text.strip_prefix(EARLIER.1).unwrap();
        let expected = r#"{"text":"third","replied_model":null,"requests":1,"usage":null,"at":""#;
        assert!(added.starts_with(expected) && added.ends_with("\"}\n"), "{added}");
    }

    #[test]
    fn a_line_that_was_cut_off_is_no_reply() {
        let check = |stored: &str, before: &[&str], after: &[&str]| {
            let folder = tempfile::tempdir().unwrap();
            let replies = JudgeReplies::new(folder.path());
            let asked = question(JudgeMode::Call, 1);
            fs::create_dir_all(&replies.folder).unwrap();
            fs::write(replies.path_of(&asked), stored).unwrap();
            let mut exchange = replies.load_exchange(&asked).unwrap();
            assert_eq!(texts_of(&exchange), before, "{stored}");
            exchange.replies.push(StoredReply { text: "new".to_owned(), ..StoredReply::default() });
            replies.store_exchange(&asked, &exchange).unwrap();
            assert_eq!(texts_of(&replies.load_exchange(&asked).unwrap()), after, "{stored}");
        };
        check("", &[], &["new"]);
        check(EARLIER.1, &["Well.", "{}"], &["Well.", "{}", "new"]);
        let cut = EARLIER.1.len() - 30;
        check(&EARLIER.1[..cut], &["Well."], &["Well.", "new"]);
        // In the first line.
        check(&EARLIER.1[..40], &[], &["new"]);
    }
}
