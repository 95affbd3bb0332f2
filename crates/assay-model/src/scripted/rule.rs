//! The rules of a script.

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor, value::SeqAccessDeserializer};

use super::fault::Fault;
use super::wildcard::covers;
use crate::{ChatRequest, Message, ScriptContext};

/// A rule as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFields {
    task: Option<OneOrMany<String>>,
    condition: Option<OneOrMany<String>>,
    repetition: Option<OneOrMany<u32>>,
    turn: Option<OneOrMany<usize>>,
    results: Option<OneOrMany<usize>>,
    tools: Option<bool>,
    seen: Option<OneOrMany<String>>,
    unseen: Option<OneOrMany<String>>,
    chance: Option<f64>,
    draw: Option<String>,
    say: Option<String>,
    run: Option<OneOrMany<String>>,
    run_files: Option<OneOrMany<String>>,
    skill: Option<String>,
    call: Option<ScriptedCall>,
    fault: Option<String>,
    retry_after: Option<u32>,
    times: Option<u32>,
}

/// A call of a tool other than the shell, as written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptedCall {
    /// The end of the tool's name: agents put a server's name before it.
    pub(crate) tool: String,
    #[serde(default)]
    pub(crate) arguments: serde_json::Map<String, serde_json::Value>,
}

/// A checked rule.
#[derive(Debug)]
pub(crate) struct Rule {
    /// Its line, from 1.
    pub(crate) line: usize,
    task: Option<Vec<String>>,
    pub(crate) condition: Option<Vec<String>>,
    repetition: Option<Vec<u32>>,
    turn: Option<Vec<usize>>,
    results: Option<Vec<usize>>,
    tools: Option<bool>,
    seen: Vec<String>,
    unseen: Vec<String>,
    chance: Option<f64>,
    draw: String,
    pub(crate) say: String,
    /// The commands: those of `run`, and then the contents of `run_files`, once they are read.
    pub(crate) commands: Vec<String>,
    pub(crate) run_files: Vec<String>,
    /// The skill to open first.
    pub(crate) skill: Option<String>,
    /// The call of another tool.
    pub(crate) call: Option<ScriptedCall>,
    pub(crate) fault: Option<Fault>,
    /// How often it applies at most in a trial.
    pub(crate) times: Option<u32>,
}

/// The error in a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RuleProblem {
    /// From 1, if known.
    pub(crate) column: Option<usize>,
    pub(crate) message: String,
}

/// What is wrong with a rule that can be parsed.
#[derive(Debug, thiserror::Error)]
enum RuleError {
    #[error("`{0}` is an empty list: add a value or remove the field")]
    EmptyList(&'static str),
    #[error("`{0}` has an empty text: give a value or remove the field")]
    EmptyText(&'static str),
    #[error("`repetition` must be a non-empty list of numbers from 1")]
    Repetition,
    #[error("`turn` is an empty list: add a turn (from 0) or remove the field")]
    NoTurn,
    #[error("`chance` must be between 0 and 1")]
    Chance,
    #[error("`draw` needs `chance`")]
    DrawWithoutChance,
    #[error("`results` is an empty list: add a number or remove the field")]
    NoResults,
    #[error("the rule has no action: add `say`, `run`, `run_files`, `skill`, `call` or `fault`")]
    NoAnswer,
    #[error("`fault` cannot be combined with a reply: use a separate rule")]
    AnswerAndFault,
    #[error("`skill` is not a valid skill name (allowed: letters, digits, -, _ and .)")]
    SkillName,
    #[error("`times` is 0, so the rule would never apply")]
    NoTimes,
    #[error("`fault` must be break, hang, not-json or a status from 400 to 599")]
    Fault,
    #[error("`retry_after` needs a `fault` that is a status")]
    RetryAfter,
}

impl Rule {
    /// Reads and checks the rule on line `line`.
    pub(crate) fn parse(text: &str, line: usize) -> Result<Self, RuleProblem> {
        // Serde would accept a list for a struct.
        let indent = text.len() - text.trim_start().len();
        if text.as_bytes().get(indent) != Some(&b'{') {
            let message = "a rule must be an object such as {\"say\": …} (hint: a line that starts with # is a comment)".to_owned();
            return Err(RuleProblem { column: Some(indent + 1), message });
        }
        let written: RuleFields = serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            // Serde adds its own line number, which is always 1.
            let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
            RuleProblem {
                column: Some(error.column().max(1)),
                message: format!("{what} (hint: a line that starts with # is a comment)"),
            }
        })?;
        written.checked(line).map_err(|error| RuleProblem { column: None, message: error.to_string() })
    }

    /// Whether it answers the model's turn `turn` in a conversation.
    pub(crate) fn applies(&self, script_context: &ScriptContext, turn: usize, request: &ChatRequest) -> bool {
        let named = |patterns: &Option<Vec<String>>, name: &str| {
            patterns.as_ref().is_none_or(|patterns| patterns.iter().any(|pattern| covers(pattern, name)))
        };
        named(&self.task, &script_context.task)
            && named(&self.condition, &script_context.condition)
            && self.repetition.as_ref().is_none_or(|these| these.contains(&script_context.repetition))
            && self.turn.as_ref().is_none_or(|these| these.contains(&turn))
            && self.results.as_ref().is_none_or(|these| these.contains(&results(&request.messages)))
            && self.tools.is_none_or(|wanted| wanted != request.tools.is_empty())
            && self.seen.iter().all(|text| contains_text(text, request))
            && !self.unseen.iter().any(|text| contains_text(text, request))
            && self.chance.is_none_or(|chance| seeded_fraction(script_context.seed, &self.draw) < chance)
    }
}

impl RuleFields {
    fn checked(self, line: usize) -> Result<Rule, RuleError> {
        let texts = |key: &'static str, texts: Option<OneOrMany<String>>| match texts {
            Some(OneOrMany(texts)) if texts.is_empty() => Err(RuleError::EmptyList(key)),
            Some(OneOrMany(texts)) if texts.iter().any(String::is_empty) => Err(RuleError::EmptyText(key)),
            texts => Ok(texts.map(|few| few.0)),
        };
        if self.repetition.as_ref().is_some_and(|few| few.0.is_empty() || few.0.contains(&0)) {
            return Err(RuleError::Repetition);
        }
        if self.turn.as_ref().is_some_and(|few| few.0.is_empty()) {
            return Err(RuleError::NoTurn);
        }
        if self.chance.is_some_and(|chance| !(0.0..=1.0).contains(&chance)) {
            return Err(RuleError::Chance);
        }
        if self.draw.is_some() && self.chance.is_none() {
            return Err(RuleError::DrawWithoutChance);
        }
        if self.results.as_ref().is_some_and(|few| few.0.is_empty()) {
            return Err(RuleError::NoResults);
        }
        let answers = self.say.is_some()
            || self.run.is_some()
            || self.run_files.is_some()
            || self.skill.is_some()
            || self.call.is_some();
        if !answers && self.fault.is_none() {
            return Err(RuleError::NoAnswer);
        }
        if answers && self.fault.is_some() {
            return Err(RuleError::AnswerAndFault);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if self.skill.as_ref().is_some_and(|name| name.is_empty() || !name.chars().all(is_plain)) {
            return Err(RuleError::SkillName);
        }
        if self.times == Some(0) {
            return Err(RuleError::NoTimes);
        }
        let named = |fault: &str| Fault::named(fault, self.retry_after).ok_or(RuleError::Fault);
        let fault = self.fault.as_deref().map(named).transpose()?;
        if self.retry_after.is_some() && !matches!(fault, Some(Fault::Status { .. })) {
            return Err(RuleError::RetryAfter);
        }
        if self.call.as_ref().is_some_and(|call| call.tool.is_empty()) {
            return Err(RuleError::EmptyText("tool"));
        }
        Ok(Rule {
            line,
            task: texts("task", self.task)?,
            condition: texts("condition", self.condition)?,
            repetition: self.repetition.map(|few| few.0),
            turn: self.turn.map(|few| few.0),
            results: self.results.map(|few| few.0),
            tools: self.tools,
            seen: texts("seen", self.seen)?.unwrap_or_default(),
            unseen: texts("unseen", self.unseen)?.unwrap_or_default(),
            chance: self.chance,
            draw: self.draw.unwrap_or_else(|| format!("line:{line}")),
            say: self.say.unwrap_or_default(),
            commands: texts("run", self.run)?.unwrap_or_default(),
            run_files: texts("run_files", self.run_files)?.unwrap_or_default(),
            skill: self.skill,
            call: self.call,
            fault,
            times: self.times,
        })
    }
}

/// The number of call results that the model has received.
fn results(messages: &[Message]) -> usize {
    messages.iter().filter(|message| matches!(message, Message::Tool { .. })).count()
}

/// Whether the request contains a text, in what the model received or wrote itself. Arguments of
/// calls do not count.
fn contains_text(text: &str, request: &ChatRequest) -> bool {
    request.system.contains(text)
        || request.messages.iter().any(|message| match message {
            Message::User { text: said }
            | Message::Assistant { text: said, .. }
            | Message::Tool { text: said, .. } => said.contains(text),
        })
}

/// A number in [0, 1), the same for one seed and name: the upper 53 bits of the first 8 bytes of a
/// BLAKE3 digest.
fn seeded_fraction(seed: u64, name: &str) -> f64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"assay scripted draw 1\0");
    hasher.update(&seed.to_le_bytes());
    hasher.update(name.as_bytes());
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    (u64::from_le_bytes(bytes) >> 11) as f64 / 2_f64.powi(53)
}

/// A value, or a list of values.
#[derive(Debug)]
struct OneOrMany<T>(Vec<T>);

impl<'de, T: Deserialize<'de> + ListItem> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de> + ListItem> Visitor<'de> for ListVisitor<T> {
            type Value = OneOrMany<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{} or a list of them", T::NAME)
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<OneOrMany<T>, E> {
                let wrong = || E::invalid_type(serde::de::Unexpected::Str(text), &self);
                T::from_text(text).map(|one| OneOrMany(vec![one])).ok_or_else(wrong)
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<OneOrMany<T>, E> {
                let wrong = || E::invalid_value(serde::de::Unexpected::Unsigned(number), &self);
                T::from_number(number).map(|one| OneOrMany(vec![one])).ok_or_else(wrong)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<OneOrMany<T>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(OneOrMany)
            }
        }
        deserializer.deserialize_any(ListVisitor(std::marker::PhantomData))
    }
}

/// A type that may be written as a single value in place of a list.
trait ListItem: Sized {
    const NAME: &str;

    fn from_text(_text: &str) -> Option<Self> {
        None
    }

    fn from_number(_number: u64) -> Option<Self> {
        None
    }
}

impl ListItem for String {
    const NAME: &str = "a string";

    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl ListItem for u32 {
    const NAME: &str = "a whole number";

    fn from_number(number: u64) -> Option<Self> {
        number.try_into().ok()
    }
}

impl ListItem for usize {
    const NAME: &str = "a whole number";

    fn from_number(number: u64) -> Option<Self> {
        number.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn request() -> ChatRequest {
        let call = crate::ToolCall {
            id: "1".to_owned(),
            name: "bash".to_owned(),
            arguments: serde_json::json!({"command": "cat HIDDEN"}),
        };
        ChatRequest {
            system: "offered: ledger-export".to_owned(),
            messages: vec![
                Message::User { text: "sum the ledger".to_owned() },
                Message::Assistant { text: "I look".to_owned(), tool_calls: vec![call], raw: Value::Null },
                Message::Tool { call_id: "1".to_owned(), text: "minor units".to_owned(), is_error: false },
            ],
            ..ChatRequest::default()
        }
    }

    #[test]
    fn rules_apply_if_all_conditions_are_true() {
        let script_context = ScriptContext {
            task: "ledger-sum".to_owned(),
            condition: "curated".to_owned(),
            repetition: 2,
            seed: 7,
        };
        let check = |matches: &str, expected: bool| {
            let separator = if matches.is_empty() { "" } else { "," };
            let rule = Rule::parse(&format!("{{{matches}{separator}\"say\":\"x\"}}"), 1).unwrap();
            assert_eq!(rule.applies(&script_context, 1, &request()), expected, "{matches}");
        };
        check("", true);
        check(r#""task":"ledger-sum""#, true);
        check(r#""task":"ledger-*""#, true);
        check(r#""task":["other","*sum"]"#, true);
        check(r#""task":"ledger""#, false);
        check(r#""condition":"curated""#, true);
        check(r#""condition":["none","placebo"]"#, false);
        check(r#""repetition":2"#, true);
        check(r#""repetition":[1,3]"#, false);
        check(r#""turn":1"#, true);
        check(r#""turn":[0,1]"#, true);
        check(r#""turn":0"#, false);
        check(r#""results":1"#, true);
        check(r#""results":[0,2]"#, false);
        check(r#""tools":false"#, true);
        check(r#""tools":true"#, false);
        check(r#""seen":"ledger-export""#, true);
        check(r#""seen":["ledger-export","sum the","I look","minor units"]"#, true);
        check(r#""seen":["ledger-export","absent"]"#, false);
        check(r#""seen":"HIDDEN""#, false);
        check(r#""unseen":"HIDDEN""#, true);
        check(r#""unseen":["absent","minor"]"#, false);
        check(r#""chance":1"#, true);
        check(r#""chance":0"#, false);
        check(r#""chance":1.0,"task":"other""#, false);
    }

    #[test]
    fn chances_match_their_rate_and_share_a_draw() {
        for (chance, draw) in [(0.8, "solve"), (0.25, "slip"), (0.5, "line:3")] {
            let hits = (0..2_000).filter(|seed| seeded_fraction(*seed, draw) < chance).count() as f64;
            // Four standard errors of a share of 2,000.
            let slack = 4.0 * (chance * (1.0 - chance) / 2_000.0_f64).sqrt();
            assert!((hits / 2_000.0 - chance).abs() < slack, "{draw}: {hits} of 2000 for {chance}");
        }
        let applies = |rule: &str, line: usize, seed: u64| {
            let script_context = ScriptContext { seed, ..ScriptContext::default() };
            Rule::parse(rule, line).unwrap().applies(&script_context, 0, &ChatRequest::default())
        };
        let (named, unnamed) = (r#"{"chance":0.5,"draw":"d","say":""}"#, r#"{"chance":0.5,"say":""}"#);
        assert!((0..200).all(|seed| applies(named, 1, seed) == applies(named, 9, seed)));
        assert!((0..200).any(|seed| applies(unnamed, 1, seed) != applies(unnamed, 9, seed)));
        // Fixed values: a script plays the same in every version.
        assert!((seeded_fraction(42, "solve") - 0.170_194_593_042_307).abs() < 1e-15);
    }

    #[test]
    fn invalid_rules_are_reported() {
        let check = |text: &str, column: Option<usize>, expected: &str| {
            let wrong = Rule::parse(text, 1).unwrap_err();
            assert_eq!(wrong.column, column, "{text}: {}", wrong.message);
            assert!(wrong.message.contains(expected), "{text}: {}", wrong.message);
            assert!(!wrong.message.contains(" at line "), "{}", wrong.message);
        };
        check(r#"{"saay":"x"}"#, Some(7), "unknown field `saay`, expected one of");
        check(r#"{"say":"x","say":"y"}"#, Some(16), "duplicate field `say`");
        check(r#"{"say":"x""#, Some(10), "EOF");
        check("say", Some(1), "must be an object");
        check(r#"  [null,null,null,null,null,null,null,null,"x",null,null]"#, Some(3), "must be an object");
        check(r#"{"say":1}"#, Some(8), "expected a string");
        check(r#"{"turn":-1,"say":""}"#, Some(10), "a whole number or a list of them");
        check(r#"{"turn":"1","say":""}"#, Some(11), "a whole number or a list of them");
        check(r#"{"repetition":4294967296,"say":""}"#, Some(24), "a whole number or a list of them");
        check(r#"{"seen":{},"say":""}"#, Some(10), "a string or a list of them");
        check(r#"{"repetition":0,"say":""}"#, None, "numbers from 1");
        check(r#"{"turn":[],"say":""}"#, None, "`turn` is an empty list");
        check(r#"{"seen":[],"say":""}"#, None, "`seen` is an empty list");
        check(r#"{"seen":"","say":""}"#, None, "`seen` has an empty text");
        check(r#"{"chance":1.5,"say":""}"#, None, "`chance` must be between 0 and 1");
        check(r#"{"draw":"d","say":""}"#, None, "`draw` needs `chance`");
        check(r#"{"task":"x"}"#, None, "no action");
        check(r#"{"fault":"429","say":"x"}"#, None, "cannot be combined");
        check(r#"{"fault":"200"}"#, None, "`fault` must be");
        check(r#"{"fault":"hang","retry_after":1}"#, None, "`retry_after` needs");
        check(r#"{"skill":"a b"}"#, None, "not a valid skill name");
        check(r#"{"times":0,"say":""}"#, None, "`times` is 0");
        check(r#"{"results":[],"say":""}"#, None, "`results` is an empty list");
    }
}
