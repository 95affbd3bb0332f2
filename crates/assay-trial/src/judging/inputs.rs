//! What judges see of an attempt: texts made of its files in the store.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use assay_fs::read_beneath_up_to;
use assay_judge::{FILE, Rubric};
use assay_store::JudgeInput;
use assay_trace::{Source, Step, Trajectory};

use super::room_shares::{Rank, share_room};
use super::work_list::{WorkFile, WorkList};

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

/// Most files whose text is in one request.
const SHOWN: usize = 200;

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
    let folder = attempt.join(FOLDER);
    let instruction = fs::read_to_string(folder.join(INSTRUCTION))?;
    let rubric = fs::read_to_string(folder.join(RUBRIC))?;
    Ok((instruction, read(attempt, kinds, &rubric)?.shown))
}

/// The folder of an attempt for the copy of its work folder.
pub(crate) fn work_folder(attempt: &Path) -> PathBuf {
    attempt.join(FOLDER).join(WORK)
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

/// Reads what is judged of an attempt. Files that the text of the rubric names have room first.
///
/// # Errors
/// A file that was kept cannot be read.
pub(super) fn read(attempt: &Path, kinds: &[JudgeInput], rubric: &str) -> io::Result<Texts> {
    let trajectory = read_trajectory(attempt)?;
    let steps = trajectory.as_ref().map_or(&[][..], |trajectory| &trajectory.steps);
    let mut texts = Texts { answer: last_message(steps), ..Texts::default() };
    for kind in kinds {
        match kind {
            JudgeInput::Answer => texts.add("answer", cut(&texts.answer.clone(), TEXT_CHARS)),
            JudgeInput::Workspace => add_workspace(attempt, rubric, &mut texts)?,
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

/// A file of the work folder.
struct WorkText<'a> {
    file: &'a WorkFile,
    rank: Rank,
    /// `None` if it is not a text.
    text: Option<String>,
}

impl<'a> WorkText<'a> {
    fn read(folder: &Path, file: &'a WorkFile, rubric: &str) -> Self {
        let rank = Rank::of(&file.path, file.changed, rubric);
        let content = read_beneath_up_to(folder, &PathBuf::from(&file.path), FILE_CAP);
        // A file that vanished is as good as one that cannot be shown.
        let text = content.ok().flatten().and_then(|content| {
            let rest = file.size.saturating_sub(FILE_CAP);
            let text = text_of(content.bytes, content.truncated)?;
            Some(if content.truncated { format!("{text}\n[{rest} bytes left out]") } else { text })
        });
        Self { file, rank, text }
    }

    fn length(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.chars().count())
    }

    /// Its line in the list of files, if so many characters of it are shown.
    fn line(&self, shown: Option<usize>) -> String {
        let length = self.length();
        let note = match (&self.text, shown) {
            (None, _) => ", not text".to_owned(),
            (Some(_), None) => ", not shown".to_owned(),
            (Some(_), Some(most)) if most < length => format!(", {most} of {length} characters shown"),
            (Some(_), Some(_)) if self.file.size > FILE_CAP => ", only its beginning is shown".to_owned(),
            (Some(_), Some(_)) => String::new(),
        };
        let changed = if self.file.changed { ", created or changed by the agent" } else { "" };
        format!("{} ({} bytes{changed}{note})\n", self.file.path, self.file.size)
    }
}

/// A text in UTF-8. Of the beginning of a file, the last character may be cut off.
fn text_of(mut bytes: Vec<u8>, is_beginning: bool) -> Option<String> {
    if let Err(error) = std::str::from_utf8(&bytes)
        && is_beginning
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    String::from_utf8(bytes).ok()
}

fn add_workspace(attempt: &Path, rubric: &str, texts: &mut Texts) -> io::Result<()> {
    let folder = attempt.join(FOLDER);
    let list = WorkList::read(&folder.join(LIST))?;
    let work = folder.join(WORK);
    let mut files: Vec<WorkText<'_>> =
        list.files.iter().map(|file| WorkText::read(&work, file, rubric)).collect();
    files.sort_by_key(|file| file.rank);
    let (shown, rooms): (Vec<usize>, Vec<usize>) = {
        let texts = files.iter().enumerate().filter(|(_, file)| file.text.is_some()).take(SHOWN);
        let needs: Vec<(usize, Rank, usize)> =
            texts.map(|(at, file)| (at, file.rank, file.length())).collect();
        let lengths: Vec<(Rank, usize)> = needs.iter().map(|(_, rank, length)| (*rank, *length)).collect();
        needs.iter().map(|(at, ..)| *at).zip(share_room(&lengths, REQUEST_CHARS)).unzip()
    };
    let mut listing = String::new();
    let mut parts = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let most = shown.iter().zip(&rooms).find(|(own, _)| **own == at).map(|(_, room)| *room);
        if at < LISTED {
            listing.push_str(&file.line(most));
        }
        let Some(text) = &file.text else { continue };
        if let Some(most) = most {
            parts.push((format!("{FILE}{}", file.file.path), cut(text, most)));
        }
        texts.readable.push((format!("{WORK}/{}", file.file.path), text.clone()));
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
    texts.shown.extend(parts);
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
pub(super) fn cut(text: &str, most: usize) -> String {
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

    /// The texts of a work folder with files of these names and contents.
    fn workspace(files: &[(&str, &str)], rubric: &str) -> Vec<(String, String)> {
        let attempt = tempfile::tempdir().unwrap();
        let work = attempt.path().join(FOLDER).join(WORK);
        fs::create_dir_all(&work).unwrap();
        let mut list = WorkList::default();
        for (path, text) in files {
            fs::write(work.join(path), text).unwrap();
            list.files.push(WorkFile { path: (*path).to_owned(), size: text.len() as u64, changed: true });
        }
        fs::write(attempt.path().join(FOLDER).join(LIST), serde_json::to_vec(&list).unwrap()).unwrap();
        read(attempt.path(), &[JudgeInput::Workspace], rubric).unwrap().shown
    }

    fn part<'a>(parts: &'a [(String, String)], name: &str) -> &'a str {
        parts.iter().find(|(own, _)| own == name).map_or("", |(_, text)| text)
    }

    #[test]
    fn one_large_file_does_not_displace_the_others() {
        let large = "a".repeat(REQUEST_CHARS - 1);
        let parts =
            workspace(&[("000.txt", &large), ("changes.txt", "one\n"), ("notes.md", "# Notes\n")], "");
        assert_eq!((part(&parts, "file changes.txt"), part(&parts, "file notes.md")), ("one\n", "# Notes\n"));
        let most = REQUEST_CHARS - 12;
        assert!(part(&parts, "file 000.txt").contains("characters left out]"));
        let line = format!(
            "000.txt ({0} bytes, created or changed by the agent, {most} of {0} characters shown)",
            large.len()
        );
        assert!(part(&parts, "files in the work folder").contains(&line), "{}", parts[0].1);
    }

    #[test]
    fn files_that_the_rubric_names_are_shown_first() {
        let large = "a".repeat(REQUEST_CHARS);
        let parts =
            workspace(&[("a.txt", &large), ("b.txt", &large), ("c.txt", &large)], "c.txt is full of a.");
        let lengths: Vec<(&str, usize)> = parts[1..]
            .iter()
            .map(|(name, text)| (name.as_str(), text.matches('a').count() / 1_000))
            .collect();
        assert_eq!(lengths, [("file c.txt", 53), ("file a.txt", 53), ("file b.txt", 53)]);
        let names: Vec<String> = (0..SHOWN + 50).map(|number| format!("{number:03}.txt")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "text")).collect();
        let parts = workspace(&files, "What is asked for is in 249.txt.");
        assert_eq!((parts.len(), parts[1].0.as_str()), (SHOWN + 1, "file 249.txt"));
        assert_eq!(parts[0].1.matches("agent, not shown)").count(), 50);
    }

    #[test]
    fn of_a_huge_file_the_beginning_is_shown() {
        let cap = usize::try_from(FILE_CAP).unwrap();
        // A character of two bytes is cut in two.
        let huge = format!("a{}", "ä".repeat(cap));
        let parts = workspace(&[("huge.txt", &huge), ("some.bin", "\u{0}\u{1}")], "");
        let shown = part(&parts, "file huge.txt");
        assert!(
            shown.starts_with("aä") && shown.ends_with("bytes left out]"),
            "{:?}",
            shown.chars().rev().take(40).collect::<String>()
        );
    }
}
