//! The CLI agents that a command names.

use assay_agent::cli_agents::{self, HARNESSES, Harness};

use crate::failure::Failure;

/// A requested agent, and its version if one was given.
pub(super) type Chosen = (&'static dyn Harness, Option<String>);

/// The agents with the given names, or all of them.
pub(super) fn chosen(names: &[String], all: bool) -> Result<Vec<Chosen>, Failure> {
    if all {
        Ok(HARNESSES.iter().map(|&harness| (harness, None)).collect())
    } else {
        names.iter().map(|name| find(name)).collect()
    }
}

/// The agent with a name, which may have a version behind an `@`.
pub(super) fn find(text: &str) -> Result<Chosen, Failure> {
    let (name, version) =
        cli_agents::named_version(text).map_err(|error| Failure::bad_input(error.to_string()))?;
    let harness = cli_agents::find(name).ok_or_else(|| {
        let known: Vec<&str> = HARNESSES.iter().map(|harness| harness.name()).collect();
        Failure::bad_input(format!("unknown CLI agent {name:?} (known: {})", known.join(", ")))
    })?;
    Ok((harness, version.map(str::to_owned)))
}
