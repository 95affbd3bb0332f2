//! What to do after a command that drafts.

use crate::draft::Draft;
use crate::headroom::FEWEST_TASKS;
use crate::stages::DraftStage;

impl Draft<'_> {
    /// What to do next, in a sentence; `None` if the tasks are too few for a verdict.
    pub fn describe_next(&self) -> Option<String> {
        let root = self.folder().root_path().display();
        let run = self.run_name();
        let tasks = self.folder().list_tasks().len();
        let experiment = format!("`assay run {root}/experiment.toml`");
        let pilot =
            format!("`assay run {root}/pilot.toml` and `assay draft headroom {root} --run {run}-pilot`");
        let next = match self.last_stage() {
            Some(DraftStage::Experiment) if tasks < FEWEST_TASKS => return None,
            Some(DraftStage::Experiment) if self.is_piloted() => {
                format!("{}{experiment}", self.describe_unset(&["experiment.toml"]))
            }
            Some(DraftStage::Experiment) => {
                format!(
                    "{}{pilot}, then {experiment}",
                    self.describe_unset(&["experiment.toml", "pilot.toml"])
                )
            }
            Some(DraftStage::Pilot) if tasks > 0 => "--resume writes the experiment".to_owned(),
            Some(DraftStage::Validation | DraftStage::Solvers) if tasks > 0 => {
                format!("{}{pilot}; --resume writes the experiment", self.describe_unset(&["pilot.toml"]))
            }
            Some(DraftStage::Validation | DraftStage::Solvers | DraftStage::Pilot) => {
                format!("see {root}/infeasible.json for the reasons")
            }
            Some(DraftStage::Probe) if self.has_nothing_to_measure() => {
                "read the directives above; --resume --force drafts tasks all the same".to_owned()
            }
            _ => format!("review the files in {root}, then run the command again with --resume"),
        };
        Some(format!("next: {next}"))
    }

    /// What to do about files that still have the model that they were written with.
    fn describe_unset(&self, files: &[&str]) -> String {
        let unset = self.files_without_model(files);
        let unset: Vec<String> = unset.iter().map(|path| path.display().to_string()).collect();
        if unset.is_empty() {
            String::new()
        } else {
            format!("set the model in {}, then ", unset.join(" and "))
        }
    }
}
