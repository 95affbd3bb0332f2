//! What a gate needs of this program, and the printing of what happens.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_gate::{GateEvent, GateEvents, GateHost, HostError};
use assay_report::counted;
use assay_store::{RecordKeys, Selection, Store};
use assay_trial::{CliAgentContext, Experiment, Plan, Sandboxes};

use crate::commands::agent::doctor::check_planned_agents;
use crate::commands::task::check_isolated;
use crate::config::Settings;
use crate::progress::Progress;
use crate::ui::Ui;
use crate::{machine, prices, record_keys};

/// This program, with the settings that apply to a gate.
pub(super) struct CommandHost<'a> {
    settings: &'a Settings,
    jobs: Option<u16>,
    ui: &'a Ui,
    /// That of the run which is executed.
    progress: RefCell<Option<Progress<'a>>>,
}

impl<'a> CommandHost<'a> {
    pub(super) fn new(settings: &'a Settings, jobs: Option<u16>, ui: &'a Ui) -> Self {
        Self { settings, jobs, ui, progress: RefCell::new(None) }
    }
}

impl GateHost for CommandHost<'_> {
    fn env(&self) -> &(dyn Fn(&str) -> Option<String> + Sync) {
        &machine::env
    }

    fn state_folder(&self) -> Option<PathBuf> {
        record_keys::state_folder()
    }

    fn load_keys(&self) -> Result<RecordKeys, HostError> {
        Ok(record_keys::load_signing()?)
    }

    fn has_given_key(&self) -> Result<bool, HostError> {
        Ok(record_keys::is_given()?)
    }

    fn explain_unsigned(&self) -> Option<String> {
        record_keys::explain_unsigned()
    }

    fn fill_prices(&self, experiment: &mut Experiment) -> Result<(), HostError> {
        Ok(prices::fill(experiment, None, self.settings)?)
    }

    fn open_store(&self, path: &Path) -> Result<Store, HostError> {
        Ok(machine::open_store(path)?)
    }

    fn remove_stale_containers(&self, store: &Store) {
        machine::remove_stale_containers(store);
    }

    fn watch_signals(&self) -> Result<Arc<AtomicBool>, HostError> {
        Ok(machine::interrupted()?)
    }

    fn open_sandboxes(&self) -> Result<Sandboxes, HostError> {
        Ok(machine::sandboxes_for(self.settings)?)
    }

    fn cli_agents(&self) -> Option<CliAgentContext> {
        machine::cli_agents(None)
    }

    fn check_agents(&self, plan: &Plan, store: &Store) -> Result<(), HostError> {
        Ok(check_planned_agents(plan, &Selection::default(), store, self.ui)?)
    }

    fn check_tasks(
        &self,
        folders: &[PathBuf],
        experiment: Option<&Experiment>,
        store: &Path,
    ) -> Result<Vec<String>, HostError> {
        let mut settings = self.settings.clone();
        store.clone_into(&mut settings.store);
        Ok(check_isolated(folders, experiment, self.jobs, &settings, self.ui)?)
    }
}

impl GateEvents for CommandHost<'_> {
    fn handle_event(&self, event: &GateEvent<'_>) {
        let ui = self.ui;
        match event {
            GateEvent::Power { skill, note } => ui.note(&format!("{skill}: {note}")),
            GateEvent::Forecast(forecast) => ui.note(&forecast.words()),
            GateEvent::PlanDiagnostic(diagnostic) => ui.detail(&diagnostic.to_string()),
            GateEvent::SkillBegan { skill, claim } => ui.note(&format!("{skill}: {claim}")),
            GateEvent::RunBegan => *self.progress.borrow_mut() = Some(Progress::new(ui)),
            GateEvent::Trial(event) => {
                if let Some(progress) = &mut *self.progress.borrow_mut() {
                    progress.report(event);
                }
            }
            GateEvent::RunEnded => {
                if let Some(mut progress) = self.progress.borrow_mut().take() {
                    progress.finish();
                }
            }
            GateEvent::Undecided { skill, repetitions } => {
                let after = counted(*repetitions, "repetition", "repetitions");
                ui.note(&format!("{skill}: undecided after {after}"));
            }
            _ => {}
        }
    }
}
