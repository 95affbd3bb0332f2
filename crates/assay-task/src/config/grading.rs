//! The verifier's input besides the work folder: artifacts, and commands that collect them.

use std::path::{Path, PathBuf};

use assay_fs::tree;
use serde::Serialize;

use super::section::{Item, Section, Source};
use crate::TaskError;

/// The format's default for a command that collects, in seconds.
const COLLECT_SECONDS: f64 = 60.0;

/// One of `artifacts`: a file or folder that is kept, and that a separate verifier gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Artifact {
    /// Its path: absolute, or relative to the work folder.
    pub source: PathBuf,
    /// Where it is kept, relative; default: the source's own path.
    pub destination: Option<PathBuf>,
    /// Patterns of excluded files.
    pub exclude: Vec<String>,
    /// The service of a compose file that it is from; default `main`.
    pub service: Option<String>,
}

/// One of `[[verifier.collect]]`: a command that runs between the agent and the verifier.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Collect {
    /// For the shell.
    pub command: String,
    /// The service of a compose file in which it runs; default `main`.
    pub service: Option<String>,
    /// Most seconds; default 60.
    pub timeout: f64,
    /// Who runs it: a name or a number.
    pub user: Option<String>,
}

/// `artifacts` of a table.
pub(super) fn artifacts(
    source: &mut Source<'_>,
    section: &mut Section<'_>,
) -> Result<Vec<Artifact>, TaskError> {
    let mut found = Vec::new();
    for item in section.items(source, "artifacts")? {
        let (from, span, destination, exclude, service) = match item {
            Item::Text(text, span) => (Some(text), span, None, Vec::new(), None),
            Item::Table(mut table) => {
                let from = table.string(source, "source")?;
                let destination = table.string(source, "destination")?.map(PathBuf::from);
                let exclude = table.strings(source, "exclude")?.into_iter().map(|(text, _)| text).collect();
                let service = table.string(source, "service")?;
                let span = table.span().clone();
                table.finish(source);
                (from, span, destination, exclude, service)
            }
        };
        let from = from.filter(|from| !from.is_empty()).and_then(|from| plain(Path::new(&from)));
        let Some(from) = from else {
            let hint = "use a path without `..`, absolute or relative to the work folder";
            return Err(source.error(&span, "artifact without a valid `source`", hint));
        };
        let destination = destination.map(|path| plain(&path).filter(|path| path.is_relative()).ok_or(()));
        let Ok(destination) = destination.transpose() else {
            let hint = "write a relative path without `..`";
            return Err(source.error(
                &span,
                "`destination` of an artifact is outside the artifacts folder",
                hint,
            ));
        };
        found.push(Artifact { source: from, destination, exclude, service });
    }
    Ok(found)
}

/// A path without `..`, tidied.
fn plain(path: &Path) -> Option<PathBuf> {
    let climbs = path.components().any(|part| part == std::path::Component::ParentDir);
    (!climbs && !path.as_os_str().as_encoded_bytes().contains(&0)).then(|| tree::normalize(path)).flatten()
}

/// `collect` of the table `verifier`.
pub(super) fn collect(source: &mut Source<'_>, section: &mut Section<'_>) -> Result<Vec<Collect>, TaskError> {
    let mut found = Vec::new();
    for item in section.items(source, "collect")? {
        let (command, span, service, timeout, user) = match item {
            Item::Text(_, span) => (None, span, None, None, None),
            Item::Table(mut table) => {
                let command = table.string(source, "command")?;
                let service = table.string(source, "service")?;
                let timeout = table.seconds(source, "timeout_sec", false)?;
                let user = table.text(source, "user")?;
                let span = table.span().clone();
                table.finish(source);
                (command, span, service, timeout, user)
            }
        };
        let Some(command) = command else {
            return Err(source.error(&span, "`verifier.collect` without a `command`", "add the command"));
        };
        found.push(Collect { command, service, timeout: timeout.unwrap_or(COLLECT_SECONDS), user });
    }
    Ok(found)
}
