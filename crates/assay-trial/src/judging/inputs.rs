//! What judges see of an attempt: texts made of its files in the store.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use assay_fs::read_beneath_up_to;
use assay_judge::Rubric;
use assay_store::JudgeInput;
use assay_trace::{Source, Step, Trajectory};

use super::work_list::WorkList;

/// The folder of an attempt with what is judged.
pub(super) const FOLDER: &str = "judged";

/// The file of an attempt with its judgement.
pub(super) const JUDGEMENT: &str = "judgement.json";

/// In it, the work folder as the agent left it.
pub(super) const WORK: &str = "work";

/// In it, the list of its files.
pub(super) const LIST: &str = "work.json";

/// In it, the rubric.
pub(super) const RUBRIC: &str = "rubric.json";

/// In it, the instruction.
pub(super) const INSTRUCTION: &str = "instruction.md";

/// Most bytes of a file that are shown, or searched for a quotation.
const FILE_CAP: u64 = 1 << 20;

/// Most characters of the files in one request; a character is about a quarter of a token.
const REQUEST_CHARS: usize = 160_000;

/// Most characters of the answer, and of the difference.
const TEXT_CHARS: usize = 60_000;

/// Most characters of what the agent did.
const TRAJECTORY_CHARS: usize = 120_000;

/// Most characters of one call or result in it.
const RESULT_CHARS: usize = 4_000;

/// Most files in a list.
const LISTED: usize = 500;

/// Keeps the rubric that an attempt is judged by.
///
/// # Errors
/// The file cannot be written.
pub fn keep_rubric(attempt: &Path, rubric: &Rubric) -> io::Result<()> {
    write_kept(attempt, RUBRIC, &rubric.to_json())
}

/// Keeps the instruction of an attempt that is judged.
///
/// # Errors
/// The file cannot be written.
pub fn keep_instruction(attempt: &Path, instruction: &str) -> io::Result<()> {
    write_kept(attempt, INSTRUCTION, instruction)
}

fn write_kept(attempt: &Path, name: &str, text: &str) -> io::Result<()> {
    let folder = attempt.join(FOLDER);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), text)
}

/// The instruction of a judged attempt, and its material by name, as judges see it.
///
/// # Errors
/// A file that was kept cannot be read.
pub fn judged_texts(attempt: &Path, kinds: &[JudgeInput]) -> io::Result<(String, Vec<(String, String)>)> {
    let instruction = fs::read_to_string(attempt.join(FOLDER).join(INSTRUCTION))?;
    Ok((instruction, read(attempt, kinds)?.shown))
}

/// What is judged of an attempt.
#[derive(Debug, Clone, Default)]
pub(super) struct Texts {
    /// The agent's last message.
    pub(super) answer: String,
    /// What a request contains, by name.
    pub(super) shown: Vec<(String, String)>,
    /// All that an agent can read, by path, for quotations.
    pub(super) readable: Vec<(String, String)>,
}

/// Reads what is judged of an attempt.
///
/// # Errors
/// A file that was kept cannot be read.
pub(super) fn read(attempt: &Path, kinds: &[JudgeInput]) -> io::Result<Texts> {
    let trajectory = read_trajectory(attempt)?;
    let steps = trajectory.as_ref().map_or(&[][..], |trajectory| &trajectory.steps);
    let mut texts = Texts { answer: last_message(steps), ..Texts::default() };
    for kind in kinds {
        match kind {
            JudgeInput::Answer => texts.add("answer", cut(&texts.answer.clone(), TEXT_CHARS)),
            JudgeInput::Workspace => add_workspace(attempt, &mut texts)?,
            JudgeInput::Diff => {
                let diff = match fs::read(attempt.join("workspace.diff")) {
                    Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => "(no changes)".to_owned(),
                    Err(error) => return Err(error),
                };
                texts.add("diff", cut(&diff, TEXT_CHARS));
            }
            JudgeInput::Trajectory => texts.add("trajectory", transcript(steps)),
        }
    }
    Ok(texts)
}

impl Texts {
    /// A text that requests contain, and that agents find in a file of this name.
    fn add(&mut self, name: &str, text: String) {
        self.shown.push((name.to_owned(), text.clone()));
        self.readable.push((format!("{name}.txt"), text));
    }
}

/// `None` if the agent never started.
fn read_trajectory(attempt: &Path) -> io::Result<Option<Trajectory>> {
    match fs::read(attempt.join("trajectory.json")) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(io::Error::from),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn last_message(steps: &[Step]) -> String {
    let said = |step: &&Step| step.source == Source::Agent && !step.message.trim().is_empty();
    steps.iter().rev().find(said).map(|step| step.message.clone()).unwrap_or_default()
}

fn add_workspace(attempt: &Path, texts: &mut Texts) -> io::Result<()> {
    let folder = attempt.join(FOLDER);
    let list = WorkList::read(&folder.join(LIST))?;
    let mut listing = String::new();
    let mut room = REQUEST_CHARS;
    let mut shown = Vec::new();
    let (changed, others): (Vec<_>, Vec<_>) = list.files.iter().partition(|file| file.changed);
    for file in changed.into_iter().chain(others) {
        let content = read_beneath_up_to(&folder.join(WORK), &PathBuf::from(&file.path), FILE_CAP);
        // A file that vanished is as good as one that cannot be shown.
        let text = content.ok().flatten().and_then(|content| String::from_utf8(content.bytes).ok());
        let length = text.as_ref().map_or(0, |text| text.chars().count());
        let note = match &text {
            None => ", not text",
            Some(_) if file.size > FILE_CAP || length > room => ", too long to be shown",
            Some(_) => "",
        };
        let changed = if file.changed { ", created or changed by the agent" } else { "" };
        if listing.lines().count() < LISTED {
            listing.push_str(&format!("{} ({} bytes{changed}{note})\n", file.path, file.size));
        }
        let Some(text) = text else { continue };
        if note.is_empty() {
            room -= length;
            shown.push((format!("file {}", file.path), text.clone()));
        }
        texts.readable.push((format!("{WORK}/{}", file.path), text));
    }
    if list.files.is_empty() {
        listing.push_str("(no files)\n");
    }
    if list.files.len() > LISTED {
        listing.push_str(&format!("and {} more files\n", list.files.len() - LISTED));
    }
    for left in &list.left_out {
        listing.push_str(&format!("not kept: {left}\n"));
    }
    texts.shown.push(("files in the work folder".to_owned(), listing));
    texts.shown.extend(shown);
    Ok(())
}

/// The steps of an agent as text.
fn transcript(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        let who = match step.source {
            Source::Agent => "agent",
            Source::User => "user",
            Source::System => continue,
        };
        text.push_str(&format!("[step {}, {who}] {}\n", step.step_id, step.message.trim()));
        for call in &step.tool_calls {
            let arguments = call.arguments.to_string();
            text.push_str(&format!("call {}: {}\n", call.function_name, cut(&arguments, RESULT_CHARS)));
        }
        for result in step.observation.iter().flat_map(|observation| &observation.results) {
            let content = result.content.as_deref().unwrap_or_default();
            text.push_str(&format!("result: {}\n", cut(content.trim(), RESULT_CHARS)));
        }
    }
    cut(&text, TRAJECTORY_CHARS)
}

/// A text without its middle, if it is long.
fn cut(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(length - half).collect();
    format!("{start}\n[{} characters left out]\n{end}", length - 2 * half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_lose_their_middle() {
        let check = |text: &str, most: usize, expected: &str| assert_eq!(cut(text, most), expected);
        check("abcdef", 6, "abcdef");
        check("abcdef", 4, "ab\n[2 characters left out]\nef");
        check("äöüß", 2, "ä\n[2 characters left out]\nß");
    }
}
