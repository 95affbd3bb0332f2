//! Transcripts, skills and prompts that an audit is given as files.

use std::io::{self, BufRead, Read};
use std::path::Path;

use assay_audit::calibrated::Run;
use assay_audit::evidence::SkillText;
use assay_trace::read;

use super::notices::Notices;
use crate::failure::Failure;

/// Longest text of a skill or a task that is read, in bytes.
const LONGEST_TEXT: u64 = 4 << 20;

/// Opens a file, compressed or not; `-` is standard input.
pub fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    crate::input::open(path)
}

/// The text of a file, up to a number of bytes.
pub fn text(path: &Path, most: u64) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes).map_err(|error| unread(path, error))?;
    if bytes.len() as u64 > most {
        return Err(Failure::bad_input(format!("{} is larger than {most} bytes", path.display())));
    }
    String::from_utf8(bytes).map_err(|_| Failure::bad_input(format!("{} is not UTF-8", path.display())))
}

/// A skill's document, with its package.
pub(in crate::commands) fn skill(path: &Path) -> Result<SkillText, Failure> {
    Ok(SkillText::of_file(path, text(path, LONGEST_TEXT)?.as_bytes()))
}

/// A task's text, empty if missing.
pub(in crate::commands) fn prompt(path: Option<&Path>) -> Result<String, Failure> {
    Ok(path.map(|path| text(path, LONGEST_TEXT)).transpose()?.unwrap_or_default())
}

/// The name of the task of a skill: the folder of its SKILL.md, or the skill's name.
pub fn task_name(path: &Path, skill: &SkillText) -> String {
    let folder = || Some(path.canonicalize().ok()?.parent()?.file_name()?.to_string_lossy().into_owned());
    let folder = if path.file_name().is_some_and(|name| name == "SKILL.md") { folder() } else { None };
    folder.unwrap_or_else(|| skill.slug())
}

/// A transcript of any format; problems are reported.
pub(in crate::commands) fn run(path: &Path, with: bool, notices: &mut Notices<'_>) -> Result<Run, Failure> {
    let name = path.display().to_string();
    let transcript = read::read(path, None).map_err(|error| Failure::BadInput {
        message: format!("cannot use {name}"),
        hint: None,
        source: Some(error.into()),
        details: Vec::new(),
    })?;
    for diagnostic in &transcript.diagnostics {
        notices.report_file(path, diagnostic.line, &diagnostic.message);
    }
    let tokens = transcript.tally.usage.total();
    Ok(Run::new(&name, "pair", with, transcript.trajectory, tokens))
}

/// The failure to read a file.
pub fn unread(path: &Path, error: io::Error) -> Failure {
    Failure::BadInput {
        message: format!("cannot read {}", path.display()),
        hint: None,
        source: Some(error.into()),
        details: Vec::new(),
    }
}
