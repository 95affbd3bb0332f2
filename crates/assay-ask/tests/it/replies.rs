//! Which replies are stored, and which questions are sent again.

use std::fs;

use assay_ask::{AskError, AskRules, FolderCache, UnreadableReplies};
use serde_json::{Value, json};

use super::{Played, answer, asker, question};

const KEEP: AskRules = AskRules {
    reply_tokens: 100,
    tries: 2,
    patience: std::time::Duration::from_secs(5),
    complaint: |fault| format!("{fault}. Reply with a number."),
    unreadable: UnreadableReplies::Keep,
};

const ASK_AGAIN: AskRules = AskRules { unreadable: UnreadableReplies::AskAgain, ..KEEP };

/// The one file of a folder.
fn file(folder: &std::path::Path) -> Value {
    let mut entries = fs::read_dir(folder).unwrap();
    let path = entries.next().unwrap().unwrap().path();
    assert!(entries.next().is_none());
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_question_is_sent_once() {
    let folder = tempfile::tempdir().unwrap();
    let model = Played::new(&[Ok("4")]);
    let first = answer(&asker(folder.path(), KEEP), &model.handle(), "2 + 2").unwrap();
    assert_eq!((first.value, first.new_replies, first.is_cached), (Ok(4), 1, false));
    let again = answer(&asker(folder.path(), KEEP), &model.handle(), "2 + 2").unwrap();
    assert_eq!((again.value, again.new_replies, again.is_cached), (Ok(4), 0, true));
    assert_eq!(model.requests(), [1]);
    assert_eq!(
        file(folder.path()),
        json!({
            "schema": "test/1", "reply": "4", "replied_model": "played-1",
            "usage": {"input": 100, "output": 10, "cache_read": 0, "cache_write": 0}, "replies": 1
        })
    );
    assert_eq!(answer(&asker(folder.path(), KEEP), &model.handle(), "3 + 4").unwrap().value, Ok(7));
    assert_eq!(model.requests(), [1, 1]);
}

#[test]
fn an_unreadable_reply_is_complained_about_and_stored() {
    let folder = tempfile::tempdir().unwrap();
    let model = Played::new(&[Ok("four"), Ok("4")]);
    let answered = answer(&asker(folder.path(), KEEP), &model.handle(), "2 + 2").unwrap();
    assert_eq!((answered.value, answered.new_replies), (Ok(4), 2));
    assert_eq!(model.requests(), [1, 3], "the second request has the first reply and the complaint");
    let stored = file(folder.path());
    assert_eq!(stored["earlier"], json!([{"reply": "four", "fault": "\"four\" is not a number"}]));
    assert_eq!((&stored["replies"], &stored["usage"]["input"]), (&json!(2), &json!(200)));
    assert!(answer(&asker(folder.path(), KEEP), &model.handle(), "2 + 2").unwrap().is_cached);
}

#[test]
fn the_rule_decides_whether_unreadable_replies_are_an_answer() {
    let bad = [Ok("four"), Ok("IV")];
    let folder = tempfile::tempdir().unwrap();
    let model = Played::new(&bad);
    for is_cached in [false, true] {
        let kept = answer(&asker(folder.path(), KEEP), &model.handle(), "2 + 2").unwrap();
        assert_eq!((kept.value, kept.is_cached), (Err("\"IV\" is not a number".to_owned()), is_cached));
    }
    assert_eq!(model.requests(), [1, 3]);

    let folder = tempfile::tempdir().unwrap();
    let model = Played::new(&[bad, bad].concat());
    for sent in [2, 4] {
        let failed = answer(&asker(folder.path(), ASK_AGAIN), &model.handle(), "2 + 2").unwrap_err();
        assert!(
            matches!(&failed, AskError::Unreadable { model, .. } if model == "openai:played"),
            "{failed}"
        );
        assert_eq!(model.requests().len(), sent);
    }
    // Nothing that was paid is lost.
    assert_eq!(file(folder.path())["replies"], 4);
    let answered = answer(&asker(folder.path(), ASK_AGAIN), &model.handle(), "2 + 2").unwrap();
    assert_eq!((answered.value, answered.exchange.replies.len(), answered.new_replies), (Ok(7), 5, 1));
}

#[test]
fn a_conversation_that_was_broken_off_is_continued() {
    let folder = tempfile::tempdir().unwrap();
    let broken = Played::new(&[Ok("four"), Err(401)]);
    let failed = answer(&asker(folder.path(), KEEP), &broken.handle(), "2 + 2").unwrap_err();
    assert!(failed.to_string().contains("openai:played gives no reply"), "{failed}");
    assert_eq!(file(folder.path())["ended"], false);
    let model = Played::new(&[Ok("4")]);
    let answered = answer(&asker(folder.path(), KEEP), &model.handle(), "2 + 2").unwrap();
    assert_eq!((answered.value, answered.new_replies, model.requests()), (Ok(4), 1, vec![3]));
}

#[test]
fn files_of_earlier_versions_are_read() {
    let check = |stored: &str, expected: Result<u32, &str>| {
        let folder = tempfile::tempdir().unwrap();
        let model = Played::new(&[]);
        let path = FolderCache::new(folder.path()).path_of(&question(&model.handle(), "x"));
        fs::write(path, stored).unwrap();
        let read = answer(&asker(folder.path(), KEEP), &model.handle(), "x").unwrap();
        assert_eq!((read.value, read.is_cached), (expected.map_err(str::to_owned), true), "{stored}");
    };
    check(
        r#"{"judge": "a:b", "repeat": 1, "request": "x", "reply": "3", "replied_model": null, "usage": null}"#,
        Ok(3),
    );
    check(
        r#"{"model": "a:b", "skill": "s", "reply": "3", "usage": {"input": 1, "output": 1, "cache_read": 0, "cache_write": 0}}"#,
        Ok(3),
    );
    let fault = r#"{"schema": "assay.draft-reply/1", "model": "a:b", "reply": "IV", "fault": "no number", "replies": 2}"#;
    check(fault, Err("no number"));
    check(r#"{"model": "a:b", "number": "1", "text": "x", "reply": "IV"}"#, Err("\"IV\" is not a number"));
}

#[test]
fn a_file_that_is_no_reply_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let model = Played::new(&[]);
    let path = FolderCache::new(folder.path()).path_of(&question(&model.handle(), "x"));
    fs::write(&path, "{").unwrap();
    let failed = answer(&asker(folder.path(), KEEP), &model.handle(), "x").unwrap_err().to_string();
    assert!(failed.starts_with(&format!("{} is not a cached reply: ", path.display())), "{failed}");
    assert!(model.requests().is_empty());
}
