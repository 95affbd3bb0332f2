//! Directives that a model finds in a skill, with its replies cached in the store.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_ask::{
    AskError, AskEvents, AskRules, Asker, CapReached, CostCap, FolderCache, ModelHandle, ModelQuestion,
};
use assay_audit::directive::ask::{Proposals, parse, prompt};
use assay_audit::evidence::SkillText;
use assay_diagnostic::{clean, counted};
use assay_model::ScriptContext;
use serde_json::{Map, json};

/// Raised when requests change in more than their text.
const PROTOCOL: u32 = 1;

/// A model that adds directives to those that rules find.
#[derive(Debug)]
pub struct DirectiveFinder {
    /// Opened for the first skill without a cached reply: cached replies need no key.
    model: ModelHandle,
    asker: Asker<'static>,
    cap: Arc<CostCap>,
    skills: usize,
    cached: usize,
    added: usize,
    rejected: usize,
    capped: usize,
    warnings: Vec<String>,
}

impl DirectiveFinder {
    /// The model, with its replies in a folder. No request is sent yet.
    pub fn new(model: ModelHandle, cap: Arc<CostCap>, replies: &Path) -> Self {
        let complaint = |fault: &str| format!("{fault}. Reply with the JSON array only.");
        let rules = AskRules { complaint, ..AskRules::default() };
        let asker = Asker::new(Arc::new(FolderCache::new(replies)), cap.clone(), rules);
        let warnings = Vec::new();
        Self { model, asker, cap, skills: 0, cached: 0, added: 0, rejected: 0, capped: 0, warnings }
    }

    /// Reports what happens, and in each interval how long requests have been waiting.
    #[must_use]
    pub fn report_to(self, events: Arc<dyn AskEvents>, interval: Duration) -> Self {
        Self { asker: self.asker.report_to(events, interval), ..self }
    }

    /// Adds the directives that the model finds in a skill.
    ///
    /// # Errors
    /// The model gives no reply; replies cannot be stored; it is paid and has no cap.
    pub fn add_to(&mut self, skill: &mut SkillText) -> Result<(), AskError> {
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
    fn request_directives(&mut self, skill: &SkillText) -> Result<Option<Proposals>, AskError> {
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
                self.warnings.push(format!(
                    "no directives of {} from {}: {}; only those found without a model are checked",
                    clean(&skill.name),
                    self.model.name(),
                    clean(&fault)
                ));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// What the replies contributed, once all skills are read.
    pub fn describe_replies(&self) -> String {
        let cost = self.cap.cost_usd().map_or_else(String::new, |usd| format!(", ${usd:.4}"));
        format!(
            "{}: {} added to {} ({} cached{cost})",
            self.model.name(),
            counted(self.added, "directive", "directives"),
            counted(self.skills, "skill", "skills"),
            counted(self.cached, "reply", "replies"),
        )
    }

    /// What could not be used or was not sent.
    pub fn warnings(&self) -> Vec<String> {
        let (mut warnings, name) = (self.warnings.clone(), self.model.name());
        if self.rejected > 0 {
            warnings.push(format!(
                "{name}: {} ignored: not in the skill as stated, or not checkable",
                counted(self.rejected, "directive", "directives")
            ));
        }
        if self.capped > 0 {
            warnings.push(format!(
                "--max-usd: {} not sent to {name}; only directives found without a model are checked there",
                counted(self.capped, "skill", "skills")
            ));
        }
        warnings
    }
}
