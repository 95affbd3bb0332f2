//! `assay agent`: CLI agents on this machine.

mod chosen;
pub(crate) mod doctor;

use assay_agent::cli_agents::{HARNESSES, Installation};
use assay_trace::Placement;
use serde_json::json;

use self::chosen::chosen;
use crate::args::agent::{AgentArgs, AgentWhat, InstallArgs, Where};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

impl From<Where> for Placement {
    fn from(place: Where) -> Self {
        match place {
            Where::Native => Self::Native,
            Where::System => Self::System,
        }
    }
}

pub(crate) fn run(args: &AgentArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        AgentWhat::List => list(ui),
        AgentWhat::Install(args) => install(args, ui),
        AgentWhat::Doctor(args) => doctor::run(args, settings, ui),
    }
}

fn list(ui: &Ui) -> Result<Status, Failure> {
    let cache = machine::cache()?;
    if ui.json() {
        let agents: Vec<_> = HARNESSES
            .iter()
            .map(|harness| {
                json!({
                    "name": harness.name(),
                    "package": harness.package().name,
                    "version": harness.package().version,
                    "providers": harness.providers(),
                    "skills_dir": harness.skills_dir(),
                    "own_skills": harness.own_skills(),
                    "folder": Installation::find(&cache, *harness, None).map(|found| found.folder),
                    "installed": Installation::all(&cache, *harness)
                        .into_iter()
                        .map(|found| json!({ "version": found.version, "folder": found.folder }))
                        .collect::<Vec<_>>(),
                })
            })
            .collect();
        ui.document(&json!({ "schema": "assay.agents/1", "agents": agents }))?;
        return Ok(Status::Done);
    }
    for &harness in HARNESSES {
        let tested = harness.package().version;
        let found = Installation::find(&cache, harness, None);
        let mark = if found.is_some() { "ok  " } else { "--  " };
        let place = match &found {
            Some(found) => found.folder.display().to_string(),
            None => format!("→ assay agent install {}", harness.name()),
        };
        ui.out(&format!("{mark}{:15}{tested:10}{place}\n", harness.name()))?;
        for other in Installation::all(&cache, harness).iter().filter(|found| found.version != tested) {
            let name = format!("{}@{}", harness.name(), other.version);
            ui.out(&format!("ok  {name:25}{}\n", other.folder.display()))?;
        }
    }
    Ok(Status::Done)
}

fn install(args: &InstallArgs, ui: &Ui) -> Result<Status, Failure> {
    let cache = machine::cache()?;
    for (harness, version) in chosen(&args.agents, args.all)? {
        let package = harness.package();
        let version = version.as_deref();
        if Installation::find(&cache, harness, version).is_none() {
            ui.note(&format!("installing {} {}", package.name, version.unwrap_or(package.version)));
        }
        let (tool, ping) = package.registry.tool();
        let found =
            Installation::install(&cache, harness, version).map_err(|error| Failure::Infrastructure {
                message: format!("cannot install {}", harness.name()),
                hint: Some(format!("{tool} and its registry are needed; check them with `{ping}`")),
                source: Some(error.into()),
            })?;
        ui.out(&format!("{} {} {}\n", harness.name(), found.version, found.folder.display()))?;
    }
    Ok(Status::Done)
}
