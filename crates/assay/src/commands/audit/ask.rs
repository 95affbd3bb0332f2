//! Directives that a model finds in a skill, with its replies cached in the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use assay_audit::directive::ask::{Proposals, parse, prompt};
use assay_audit::evidence::SkillText;
use assay_model::{
    Call, ChatModel, ChatReply, ChatRequest, Message, ModelError, ModelOptions, Price, ScriptContext, Usage,
};
use assay_report::{clean, counted};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args::audit::DirectivesArgs;
use crate::asking::price_of;
use crate::config::Settings;
use crate::failure::Failure;
use crate::machine;
use crate::replies;
use crate::ui::Ui;

/// Raised when requests change in more than their text.
const PROTOCOL: u32 = 1;

/// Most tokens of a reply.
const REPLY_TOKENS: u32 = 16_000;

/// Longest wait for a reply, retries included.
const PATIENCE: Duration = Duration::from_mins(10);

/// Requests for one skill: a reply that cannot be read is asked for again once.
const TRIES: u64 = 2;

/// A cached reply.
#[derive(Debug, Serialize, Deserialize)]
struct StoredReply {
    model: String,
    skill: String,
    reply: String,
    usage: Option<Usage>,
}

/// The model of `--directives-from`.
pub(super) struct DirectiveModel<'a> {
    args: &'a DirectivesArgs,
    spec: &'a str,
    ui: &'a Ui,
    /// The cache.
    folder: PathBuf,
    price: Option<Price>,
    /// Opened for the first skill without a cached reply: cached replies need no key.
    model: Option<Arc<dyn ChatModel>>,
    /// What the replies of a script depend on.
    identity: Value,
    skills: usize,
    cached: usize,
    added: usize,
    rejected: usize,
    capped: usize,
    spent: f64,
}

impl<'a> DirectiveModel<'a> {
    /// The model, if one is named. No request is sent yet.
    pub(super) fn new(
        args: &'a DirectivesArgs,
        settings: &Settings,
        ui: &'a Ui,
    ) -> Result<Option<Self>, Failure> {
        let Some(spec) = args.directives_from.as_deref() else { return Ok(None) };
        let price = price_of(&args.price)?;
        if args.max_usd.is_some() && price.is_none() {
            return Err(Failure::bad_input("--max-usd needs --price").hint("--price IN,OUT"));
        }
        let mut model = Self {
            args,
            spec,
            ui,
            folder: settings.store.join("directives"),
            price,
            model: None,
            identity: Value::Null,
            skills: 0,
            cached: 0,
            added: 0,
            rejected: 0,
            capped: 0,
            spent: 0.0,
        };
        if spec.starts_with("scripted:") {
            model.identity = model.open()?.identity();
        }
        Ok(Some(model))
    }

    /// Adds the directives that the model finds in a skill.
    pub(super) fn add_to(&mut self, skill: &mut SkillText) -> Result<(), Failure> {
        let text = prompt(&skill.package);
        let identity =
            json!({ "protocol": PROTOCOL, "model": self.spec, "script": self.identity, "text": text });
        let digest = blake3::hash(identity.to_string().as_bytes()).to_hex().to_string();
        let path = self.folder.join(format!("{digest}.json"));
        self.skills += 1;
        let found = match replies::read::<StoredReply>(&path)? {
            Some(stored) => {
                self.cached += 1;
                parse(&stored.reply, &skill.package)
                    .map_err(|error| replies::invalid(&path, &error.to_string()))?
            }
            None => match self.request_directives(&text, skill, &path)? {
                Some(found) => found,
                None => return Ok(()),
            },
        };
        self.rejected += found.rejected;
        self.added += skill.add_directives(found.directives);
        Ok(())
    }

    /// Asks the model about a skill and stores its reply. `None` if the cap is reached or no reply can
    /// be read.
    fn request_directives(
        &mut self,
        text: &str,
        skill: &SkillText,
        path: &Path,
    ) -> Result<Option<Proposals>, Failure> {
        let paid = machine::is_paid(self.spec, self.args.base_url.as_deref(), self.price);
        if paid && self.args.max_usd.is_none() && !self.args.no_cap {
            let message = format!("{} is a paid model, and this audit has no cap", self.spec);
            return Err(Failure::bad_input(message).hint("--max-usd USD with --price, or --no-cap"));
        }
        if self.args.max_usd.is_some_and(|cap| self.spent + self.max_cost(text) > cap) {
            self.capped += 1;
            return Ok(None);
        }
        let model = self.open()?;
        let mut messages = vec![Message::User { text: text.to_owned() }];
        let mut fault = String::new();
        for _ in 0..TRIES {
            let reply = chat(&*model, &messages, &skill.name).map_err(|error| self.failed(skill, &error))?;
            if let (Some(price), Some(usage)) = (self.price, reply.usage) {
                self.spent += price.cost(&usage);
            }
            match parse(&reply.text, &skill.package) {
                Ok(found) => {
                    let stored = StoredReply {
                        model: self.spec.to_owned(),
                        skill: skill.name.clone(),
                        reply: reply.text,
                        usage: reply.usage,
                    };
                    replies::write(path, &stored)?;
                    return Ok(Some(found));
                }
                Err(error) => {
                    fault = error.to_string();
                    let complaint = format!("{fault}. Reply with the JSON array only.");
                    messages.push(Message::Assistant {
                        text: reply.text,
                        tool_calls: Vec::new(),
                        raw: reply.raw,
                    });
                    messages.push(Message::User { text: complaint });
                }
            }
        }
        self.ui.note(&format!(
            "warning: no directives of {} from {}: {}; only those found without a model are checked",
            clean(&skill.name),
            self.spec,
            clean(&fault)
        ));
        Ok(None)
    }

    fn open(&mut self) -> Result<Arc<dyn ChatModel>, Failure> {
        if let Some(model) = &self.model {
            return Ok(model.clone());
        }
        let options = ModelOptions {
            base_url: self.args.base_url.clone(),
            api_key_env: self.args.api_key_env.clone(),
            ..ModelOptions::default()
        };
        let model = assay_model::open(self.spec, &options, &machine::env)
            .map_err(|error| Failure::bad_input(format!("--directives-from: {error}")))?;
        Ok(self.model.insert(model).clone())
    }

    /// The maximum cost of a skill in USD: all replies of full length, and a quarter for differences
    /// between tokenizers.
    fn max_cost(&self, text: &str) -> f64 {
        let input = u64::try_from(assay_model::tokens(text)).unwrap_or(u64::MAX);
        let output = u64::from(REPLY_TOKENS);
        let input = input.saturating_mul(TRIES).saturating_add(output);
        let usage = Usage { input, output: TRIES * output, ..Usage::default() };
        self.price.map_or(0.0, |price| 1.25 * price.cost(&usage))
    }

    fn failed(&self, skill: &SkillText, error: &ModelError) -> Failure {
        let message = format!("cannot get directives of {} from {}", clean(&skill.name), self.spec);
        let hint = match error {
            ModelError::Refused { .. } => "check the model's name and its API key (--api-key-env)",
            ModelError::Script(_) => "add a rule that answers to the script, such as {\"say\": \"[]\"}",
            ModelError::ContextExceeded { .. } => "use a model with a larger context window",
            _ => {
                "run the command again, which uses the replies so far; without --directives-from, no model is needed"
            }
        };
        let (hint, source) = (Some(hint.to_owned()), Some(error.to_string().into()));
        match error {
            ModelError::Script(_) | ModelError::Spec(_) => {
                Failure::BadInput { message, hint, source, details: Vec::new() }
            }
            _ => Failure::Infrastructure { message, hint, source },
        }
    }

    /// Reports what the replies contributed, once all skills are read.
    pub(super) fn report(&self) {
        let (spec, ui) = (self.spec, self.ui);
        let cost = self.price.map_or_else(String::new, |_| format!(", ${:.4}", self.spent));
        ui.detail(&format!(
            "{spec}: {} added to {} ({} cached{cost})",
            counted(self.added, "directive", "directives"),
            counted(self.skills, "skill", "skills"),
            counted(self.cached, "reply", "replies"),
        ));
        if self.rejected > 0 {
            ui.note(&format!(
                "warning: {spec}: {} ignored: not in the skill as stated, or not checkable",
                counted(self.rejected, "directive", "directives")
            ));
        }
        if self.capped > 0 {
            ui.note(&format!(
                "warning: --max-usd: {} not sent to {spec}; only directives found without a model are checked there",
                counted(self.capped, "skill", "skills")
            ));
        }
    }
}

fn chat(model: &dyn ChatModel, messages: &[Message], skill: &str) -> Result<ChatReply, ModelError> {
    let script_context = ScriptContext { task: skill.to_owned(), repetition: 1, ..ScriptContext::default() };
    let cancel = AtomicBool::new(false);
    let deadline = Some(Instant::now() + PATIENCE);
    let call = Call { deadline, cancel: &cancel, script_context: &script_context };
    let messages = messages.to_vec();
    let max_output_tokens = Some(REPLY_TOKENS);
    model.chat(&ChatRequest { messages, max_output_tokens, ..ChatRequest::default() }, &call)
}
