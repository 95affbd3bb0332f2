//! Where the records of a forked or spawned session of Codex begin.
//!
//! The rollout of a fork begins with a copy of its origin's records, which count in the origin. Codex
//! marks neither the copies nor their end, so that several signs decide, the surest first: the thread
//! that a record names; the time in the id of a turn (UUID version 7, RFC 9562), which is older in a
//! copy; the time at which a turn or a message began; and the time of the record itself. Copies keep
//! their times or get the time of the fork. In the latter case they are written in one go, and a reply
//! of the model that comes after a pause is the session's own.

use jiff::Timestamp;
use serde_json::Value;

use super::super::text::word;

/// A pause after which a record is no part of the copy, in seconds. Copies follow one another within
/// milliseconds; a model takes longer to reply.
const PAUSE: f64 = 0.5;

/// Times without fractions are up to this many seconds early.
const ROUNDED: f64 = 1.0;

/// The time in an id is trusted if it is this close to the time that the session gives, in seconds.
const TRUSTED: f64 = 3600.0;

/// More undecided records than these are not kept; the earliest are copies.
const MOST_HELD: usize = 1000;

/// The origin of a session that is a fork or was spawned, and when that happened.
pub(super) struct ReplayGate {
    own: String,
    /// The session whose records are repeated.
    pub(super) origin: String,
    begun: Option<Timestamp>,
    /// Whether ids of this log have true times.
    has_true_ids: bool,
    /// The last turn has an id from before the fork: only another turn ends the copy.
    is_in_old_turn: bool,
    /// Messages among the copies have kept their times.
    keeps_times: bool,
    last: Option<Timestamp>,
    held: Vec<Value>,
    /// Records that were repeated.
    pub(super) copies: usize,
}

/// To which session a record belongs.
pub(super) enum RecordOwner {
    /// It was copied.
    Copied,
    /// A later record decides.
    Undecided,
    /// To this one, with the records before it that were undecided.
    Own(Vec<Value>),
}

impl ReplayGate {
    /// The gate of a session whose first record names an origin.
    pub(super) fn of_meta(meta: &Value, record: Option<Timestamp>) -> Option<Self> {
        let own = thread_of(meta)?;
        let spawned = meta.pointer("/source/subagent/thread_spawn/parent_thread_id").and_then(Value::as_str);
        let origin = word(meta, "forked_from_id").or(spawned).or(word(meta, "parent_thread_id"));
        let origin = origin.filter(|origin| *origin != own)?;
        Some(Self::new(meta, own, origin.to_owned(), 0, record))
    }

    /// The gate of a session whose first record names no origin, but after which that of another
    /// session comes.
    pub(super) fn of_origin(meta: &Value, origin: &str, record: Option<Timestamp>) -> Option<Self> {
        Some(Self::new(meta, thread_of(meta)?, origin.to_owned(), 1, record))
    }

    fn new(meta: &Value, own: &str, origin: String, copies: usize, record: Option<Timestamp>) -> Self {
        let stated = word(meta, "timestamp").and_then(|text| text.parse::<Timestamp>().ok());
        let in_id = time_of_id(own);
        let is_true = |(id, stated): (Timestamp, Timestamp)| seconds_between(stated, id).abs() < TRUSTED;
        let has_true_ids = in_id.zip(stated.or(record)).is_some_and(is_true);
        Self {
            own: own.to_owned(),
            origin,
            begun: in_id.filter(|_| has_true_ids).or(stated).or(record),
            has_true_ids,
            is_in_old_turn: false,
            keeps_times: false,
            last: record.or(stated),
            held: Vec::new(),
            copies,
        }
    }

    /// Decides about the next record, of which `time` is the time.
    pub(super) fn admit(&mut self, record: &Value, time: Option<Timestamp>) -> RecordOwner {
        let payload = record.get("payload").unwrap_or(&Value::Null);
        let kind = word(record, "type").unwrap_or_default();
        if kind == "session_meta" {
            // That of the origin, and those of its own origins, unless another session begins.
            let begun = word(payload, "timestamp").and_then(|text| text.parse::<Timestamp>().ok());
            let is_later =
                begun.zip(self.begun).is_some_and(|(other, own)| seconds_between(own, other) > ROUNDED);
            return if is_later { self.open() } else { self.drop_copy() };
        }
        match self.named_owner(kind, payload) {
            Some(true) => return self.open(),
            Some(false) => return self.drop_copy(),
            None => {}
        }
        if let Some(is_old) = self.is_old(payload, time) {
            self.keeps_times |= is_old && kind == "response_item";
            if is_old {
                return self.drop_copy();
            }
        }
        let pause = self.last.zip(time).map(|(last, time)| seconds_between(last, time));
        self.last = self.last.max(time);
        let has_paused = self.keeps_times || pause.is_some_and(|pause| pause >= PAUSE);
        if has_paused && !self.is_in_old_turn {
            return self.open();
        }
        if is_of_model(kind, payload) || self.is_in_old_turn {
            return self.drop_copy();
        }
        self.held.push(record.clone());
        if self.held.len() > MOST_HELD {
            self.held.remove(0);
            self.copies += 1;
        }
        RecordOwner::Undecided
    }

    /// The records that stayed undecided until the end: what the session had been given before it
    /// ended.
    pub(super) fn take_rest(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.held)
    }

    /// Whether a record says whose it is: `true` for the session's own.
    fn named_owner(&mut self, kind: &str, payload: &Value) -> Option<bool> {
        if kind == "token_usage_record" {
            // Codex leaves them out of copies.
            return Some(word(payload, "thread_id").is_none_or(|thread| thread == self.own));
        }
        if kind == "event_msg" && word(payload, "thread_id").is_some_and(|thread| thread != self.own) {
            return Some(false);
        }
        let begins_turn =
            kind == "turn_context" || matches!(word(payload, "type"), Some("task_started" | "turn_started"));
        let turn = word(payload, "turn_id")
            .or_else(|| payload.pointer("/internal_chat_message_metadata_passthrough/turn_id")?.as_str());
        let turned = turn.filter(|_| self.has_true_ids).and_then(time_of_id);
        if let (Some(turned), Some(begun)) = (turned, self.begun) {
            let is_own = turned >= begun;
            self.is_in_old_turn = !is_own;
            return Some(is_own);
        }
        if begins_turn {
            self.is_in_old_turn = false;
        }
        None
    }

    /// Whether a record is older than the session; `None` if it has no time.
    fn is_old(&self, payload: &Value, time: Option<Timestamp>) -> Option<bool> {
        let created = payload.pointer("/internal_chat_message_metadata_passthrough/create_time");
        let started = payload.get("started_at").or(created).and_then(Value::as_f64);
        #[expect(clippy::cast_possible_truncation, reason = "times out of range are no times")]
        let started = started.and_then(|seconds| Timestamp::from_millisecond((seconds * 1e3) as i64).ok());
        let begun = self.begun?;
        let is_before = |time: Timestamp| seconds_between(time, begun) > ROUNDED;
        if started.is_some_and(is_before) {
            return Some(true);
        }
        time.map(is_before)
    }

    fn drop_copy(&mut self) -> RecordOwner {
        self.copies += self.held.len() + 1;
        self.held.clear();
        RecordOwner::Copied
    }

    fn open(&mut self) -> RecordOwner {
        RecordOwner::Own(std::mem::take(&mut self.held))
    }
}

/// The id of a session. Newer versions give sub-agents the session of their root, and each a thread of
/// its own.
pub(super) fn thread_of(meta: &Value) -> Option<&str> {
    word(meta, "id").or(word(meta, "session_id"))
}

/// Whether the model or a tool made a record: copies end with such a one, and what follows it before a
/// pause is what the session was given.
fn is_of_model(kind: &str, payload: &Value) -> bool {
    let what = word(payload, "type").unwrap_or_default();
    match kind {
        "response_item" => {
            what != "message" || !matches!(word(payload, "role"), Some("user" | "developer" | "system"))
        }
        "event_msg" => match what {
            "token_count" => payload.pointer("/info/total_token_usage").is_some(),
            "item_completed" => payload.pointer("/item/type").is_none_or(|kind| kind != "UserMessage"),
            what => matches!(
                what,
                "agent_message" | "agent_reasoning" | "task_complete" | "turn_complete" | "exec_command_end"
            ),
        },
        kind => kind == "compacted",
    }
}

fn seconds_between(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64()
}

/// The time in a UUID of version 7: its first 48 bits are milliseconds since 1970.
fn time_of_id(id: &str) -> Option<Timestamp> {
    let digits: String = id.chars().filter(|letter| *letter != '-').collect();
    if digits.len() != 32 || digits.as_bytes().get(12) != Some(&b'7') {
        return None;
    }
    Timestamp::from_millisecond(i64::from_str_radix(digits.get(..12)?, 16).ok()?).ok()
}
