//! `assay agent`: agents as their makers ship them, on this machine.

pub(crate) mod doctor;

use assay_agent::shipped::{self, Installation, MAKES, Make};
use assay_trial::Placement;
use clap::{Subcommand, ValueEnum};
use serde_json::json;

use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    what: AgentWhat,
}

#[derive(Debug, Subcommand)]
enum AgentWhat {
    /// List the agents there are, and what is installed of them
    List,
    /// Tell whether agents see skills here, by one scripted trial each
    Doctor(DoctorArgs),
    /// Install agents into assay's cache, each in the one version that is known to work
    Install(InstallArgs),
}

#[derive(Debug, clap::Args)]
struct InstallArgs {
    /// Which
    #[arg(required_unless_present = "all", value_name = "AGENT")]
    agents: Vec<String>,
    /// All of them
    #[arg(long, conflicts_with = "agents")]
    all: bool,
}

#[derive(Debug, clap::Args)]
struct DoctorArgs {
    /// Which [default: all that are installed]
    #[arg(value_name = "AGENT")]
    agents: Vec<String>,
    /// Where
    #[arg(long, value_name = "KIND", default_value = "bubblewrap")]
    sandbox: Kind,
    /// Where they find skills [default: each its own way]
    #[arg(long, value_name = "WHERE")]
    placement: Option<Where>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Where {
    /// In the folder where the agent looks by itself
    Native,
    /// In a text of the system
    System,
}

impl From<Where> for Placement {
    fn from(place: Where) -> Self {
        match place {
            Where::Native => Self::Native,
            Where::System => Self::System,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// Namespaces of this machine
    Bubblewrap,
    /// A container of the image `base:bookworm`
    Docker,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Docker => "docker",
        }
    }
}

pub(crate) fn run(args: &AgentArgs, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        AgentWhat::List => list(ui),
        AgentWhat::Install(args) => install(args, ui),
        AgentWhat::Doctor(args) => doctor::run(args, ui),
    }
}

fn list(ui: &Ui) -> Result<Status, Failure> {
    let cache = machine::cache()?;
    if ui.json() {
        let agents: Vec<_> = MAKES
            .iter()
            .map(|make| {
                json!({
                    "name": make.name(),
                    "package": make.package().name,
                    "version": make.package().version,
                    "providers": make.providers(),
                    "skills_dir": make.skills_dir(),
                    "own_skills": make.own_skills(),
                    "folder": Installation::find(&cache, *make).map(|found| found.folder),
                })
            })
            .collect();
        ui.document(&json!({ "schema": "assay.agents/1", "agents": agents }))?;
        return Ok(Status::Done);
    }
    for make in MAKES {
        let found = Installation::find(&cache, make);
        let mark = if found.is_some() { "ok  " } else { "--  " };
        let place = match &found {
            Some(found) => found.folder.display().to_string(),
            None => format!("→ assay agent install {}", make.name()),
        };
        ui.out(&format!("{mark}{:15}{:10}{place}\n", make.name(), make.package().version))?;
    }
    Ok(Status::Done)
}

fn install(args: &InstallArgs, ui: &Ui) -> Result<Status, Failure> {
    let cache = machine::cache()?;
    for make in chosen(&args.agents, args.all)? {
        let there = Installation::find(&cache, make).is_some();
        if !there {
            ui.note(&format!("installing {} {}", make.package().name, make.package().version));
        }
        let (tool, ping) = make.package().registry.tool();
        let found = Installation::install(&cache, make).map_err(|error| Failure::Infrastructure {
            message: format!("{} cannot be installed", make.name()),
            hint: Some(format!("this needs {tool} and its registry; `{ping}` tells whether it is reached")),
            source: Some(error.into()),
        })?;
        ui.out(&format!("{} {} {}\n", make.name(), found.version, found.folder.display()))?;
    }
    Ok(Status::Done)
}

/// The makes of some names, or all.
fn chosen(names: &[String], all: bool) -> Result<Vec<&'static dyn Make>, Failure> {
    if all { Ok(MAKES.to_vec()) } else { names.iter().map(|name| find(name)).collect() }
}

fn find(name: &str) -> Result<&'static dyn Make, Failure> {
    shipped::find(name).ok_or_else(|| {
        let known: Vec<&str> = MAKES.iter().map(|make| make.name()).collect();
        Failure::bad_input(format!("there is no agent {name:?} to install; there are {}", known.join(", ")))
    })
}
