//! Directives that a model finds in a skill, with its replies cached in the store.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_ask::{AskError, AskRules, Asker, CapReached, CostCap, FolderCache, ModelHandle, ModelQuestion};
use assay_audit::directive::ask::{Proposals, parse, prompt};
use assay_audit::evidence::SkillText;
use assay_model::{ModelError, ScriptContext};
use assay_report::{clean, counted};
use serde_json::{Map, json};

use crate::args::audit::DirectivesArgs;
use crate::asking::{WAITING_INTERVAL, no_answer, progress};
use crate::config::Settings;
use crate::failure::Failure;
use crate::ui::Ui;

/// Raised when requests change in more than their text.
const PROTOCOL: u32 = 1;

/// The model of `--directives-from`.
pub(super) struct DirectiveModel<'a> {
    ui: &'a Ui,
    /// Opened for the first skill without a cached reply: cached replies need no key.
    model: ModelHandle,
    asker: Asker<'static>,
    cap: Arc<CostCap>,
    skills: usize,
    cached: usize,
    added: usize,
    rejected: usize,
    capped: usize,
}

impl<'a> DirectiveModel<'a> {
    /// The model, if one is named. No request is sent yet.
    pub(super) fn new(
        args: &DirectivesArgs,
        settings: &Settings,
        ui: &'a Ui,
    ) -> Result<Option<Self>, Failure> {
        let Some(spec) = args.directives_from.as_deref() else {
            return if args.flags.is_given() {
                Err(Failure::bad_input("options of a model without --directives-from")
                    .hint("--directives-from PROVIDER:MODEL names it"))
            } else {
                Ok(None)
            };
        };
        let cap = Arc::new(args.flags.cost_cap("this audit")?);
        let model = args.flags.access.open_model_on_use("--directives-from", spec)?;
        let cache = Arc::new(FolderCache::new(settings.store.join("directives")));
        let complaint = |fault: &str| format!("{fault}. Reply with the JSON array only.");
        let asker = Asker::new(cache, cap.clone(), AskRules { complaint, ..AskRules::default() })
            .report_to(progress(ui), WAITING_INTERVAL);
        Ok(Some(Self { ui, model, asker, cap, skills: 0, cached: 0, added: 0, rejected: 0, capped: 0 }))
    }

    /// Adds the directives that the model finds in a skill.
    pub(super) fn add_to(&mut self, skill: &mut SkillText) -> Result<(), Failure> {
        self.skills += 1;
        if let Some(found) = self.request_directives(skill)? {
            self.rejected += found.rejected;
            self.added += skill.add_directives(found.directives);
        }
        Ok(())
    }

    fn question(&self, skill: &SkillText) -> ModelQuestion {
        let (model, text) = (&self.model, prompt(&skill.package));
        let mut labels = Map::new();
        labels.insert("model".to_owned(), json!(model.name()));
        labels.insert("skill".to_owned(), json!(skill.name));
        ModelQuestion {
            system: String::new(),
            identity: json!({
                "protocol": PROTOCOL, "model": model.name(), "script": model.identity(), "text": text,
            }),
            text,
            labels,
            script: ScriptContext { task: skill.name.clone(), repetition: 1, ..ScriptContext::default() },
        }
    }

    /// The directives of a skill, from a cached reply or from the model. `None` if the cap is reached or no reply can be
    /// read.
    fn request_directives(&mut self, skill: &SkillText) -> Result<Option<Proposals>, Failure> {
        let read = |reply: &str| parse(reply, &skill.package).map_err(|error| error.to_string());
        let question = self.question(skill);
        match self.asker.answer_question(&self.model, &question, &read, &AtomicBool::new(false)) {
            Ok(answer) => {
                self.cached += usize::from(answer.is_cached);
                Ok(answer.value.ok())
            }
            Err(AskError::Capped(CapReached::Usd { .. })) => {
                self.capped += 1;
                Ok(None)
            }
            Err(AskError::Unreadable { fault, .. }) => {
                self.ui.note(&format!(
                    "warning: no directives of {} from {}: {}; only those found without a model are checked",
                    clean(&skill.name),
                    self.model.name(),
                    clean(&fault)
                ));
                Ok(None)
            }
            Err(AskError::NoReply { source, .. }) => Err(self.failed(skill, &source)),
            Err(error) => Err(no_answer(error, "model")),
        }
    }

    fn failed(&self, skill: &SkillText, error: &ModelError) -> Failure {
        let message = format!("cannot get directives of {} from {}", clean(&skill.name), self.model.name());
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
        let (spec, ui) = (self.model.name(), self.ui);
        let cost = self.cap.cost_usd().map_or_else(String::new, |usd| format!(", ${usd:.4}"));
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
