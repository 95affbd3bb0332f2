//! Models beside the rules of an audit: one that adds directives, one that judges them.

use std::sync::Arc;

use assay_ask::{CostCap, ModelHandle, WAITING_INTERVAL};
use assay_audit::evidence::SkillText;
use assay_judge::{DirectiveFinder, DirectiveJudge, DirectiveJudgement};

use crate::args::audit::{DirectivesArgs, JudgeArgs};
use crate::asking::progress;
use crate::config::Settings;
use crate::failure::Failure;
use crate::ui::Ui;

/// The models of an audit. No request is sent yet.
pub(super) struct AuditModels<'a> {
    ui: &'a Ui,
    finder: Option<DirectiveFinder>,
    pub(super) judge: Option<DirectiveJudge>,
}

impl<'a> AuditModels<'a> {
    /// The models that are named, with one cap.
    pub(super) fn new(
        directives: Option<&DirectivesArgs>,
        args: &JudgeArgs,
        settings: &Settings,
        ui: &'a Ui,
    ) -> Result<Self, Failure> {
        let found_by = directives.and_then(|args| args.directives_from.as_deref());
        if found_by.is_none() && args.judge.is_none() && args.flags.is_given() {
            return Err(Failure::bad_input("options of a model without --directives-from or --judge")
                .hint("--judge PROVIDER:MODEL names one"));
        }
        let cap = Arc::new(args.flags.cost_cap("this audit")?);
        let open = |option: &str, spec: &str| -> Result<(ModelHandle, Arc<CostCap>), Failure> {
            Ok((args.flags.access.open_model_on_use(option, spec)?, cap.clone()))
        };
        let finder = found_by.map(|spec| open("--directives-from", spec)).transpose()?;
        let finder = finder.map(|(model, cap)| {
            let finder = DirectiveFinder::new(model, cap, &settings.store.join("directives"));
            finder.report_to(progress(ui), WAITING_INTERVAL)
        });
        let judge = args.judge.as_deref().map(|spec| open("--judge", spec)).transpose()?;
        let judge = judge.map(|(model, cap)| {
            let judge =
                DirectiveJudge::new(model, cap, &settings.store.join("directive-judgements"), args.seed);
            judge.report_to(progress(ui), WAITING_INTERVAL)
        });
        Ok(Self { ui, finder, judge })
    }

    /// Adds the directives that a model finds in a skill, if one is named.
    pub(super) fn add_to(&mut self, skill: &mut SkillText) -> Result<(), Failure> {
        Ok(self.finder.as_mut().map_or(Ok(()), |finder| finder.add_to(skill))?)
    }

    /// Reports what was found, and asks the judge, if one is named.
    pub(super) fn finish(self) -> Result<Option<DirectiveJudgement>, Failure> {
        let warn = |warning: &String| self.ui.note(&format!("warning: {warning}"));
        if let Some(finder) = &self.finder {
            self.ui.detail(&finder.describe_replies());
            finder.warnings().iter().for_each(warn);
        }
        let judged = self.judge.map(DirectiveJudge::judge_runs).transpose()?;
        judged.iter().flat_map(DirectiveJudgement::warnings).for_each(|warning| warn(&warning));
        Ok(judged)
    }
}
