//! What a run authored and produced, as lines in the order in which they came about.
//!
//! Tool results that were not produced by the agent's own scripts, prompts, and whatever only reads
//! or quotes a file of a skill are not material.

use std::collections::BTreeSet;

use assay_trace::{Source, Step, Trajectory, carries};

use super::Location;
use super::call::{Piece, cut, pieces};
use super::left::Left;
use crate::evidence::{Manner, SkillText};

/// How many lines apart an act and the situation of it may stand.
const NEAR: usize = 3;

/// Most lines of a run that are kept.
const LINES: usize = 200_000;

/// How a line came about, the strongest evidence first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Channel {
    /// A simple command that was run.
    Ran,
    /// Code that was run without being a file: a here-document to an interpreter, `-c`.
    Code,
    /// Text written to a file.
    Wrote,
    /// The path of a file that was written.
    Path,
    /// Text that the run left in a file, whichever program wrote it.
    Left,
    /// Output of a script of the agent.
    Printed,
    /// The last message.
    Answer,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// ATIF's `step_id`; 0 for files left.
    pub(super) step: usize,
    pub(super) channel: Channel,
    /// What it was written with in one go: a file, a script, a command.
    pub(super) block: usize,
    /// Index in [`RunEvidence::files`].
    pub(super) file: Option<usize>,
    pub(super) text: String,
    /// The words of a command.
    pub(super) words: Vec<String>,
}

/// What a run authored and produced: all that statuses are read from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunEvidence {
    pub(super) lines: Vec<Line>,
    pub(super) files: Vec<String>,
    /// Names of the files that the agent wrote.
    pub(super) own: BTreeSet<String>,
    /// What came back before the agent first wrote a file, and that no skill had a part in.
    inputs: String,
    /// Lines of the agent's messages, each with its `step_id`. No status is read from them.
    pub(super) said: Vec<(usize, String)>,
    /// What the user asked for, in lower case.
    asked: String,
    blocks: usize,
}

/// Whether a line is nothing but a comment.
pub(super) fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with('#') && !line.starts_with("#!")
        || line.starts_with("//")
        || line.starts_with("-- ")
        || line.starts_with("/*")
        || line.starts_with("* ")
}

impl Line {
    /// How it reached the run.
    pub(super) fn manner(&self) -> Manner {
        match self.channel {
            Channel::Ran | Channel::Code => Manner::Ran,
            Channel::Wrote | Channel::Path | Channel::Left => Manner::Wrote,
            Channel::Printed => Manner::Printed,
            Channel::Answer => Manner::Said,
        }
    }
}

impl RunEvidence {
    /// The material of a run. Whatever names a path of a skill, or carries the text of one of
    /// `skills`, is left out, unless it runs it.
    pub fn new<'a>(
        trajectory: &Trajectory,
        left: &Left,
        skills: impl IntoIterator<Item = &'a SkillText>,
    ) -> Self {
        let skills: Vec<&SkillText> = skills.into_iter().collect();
        let mut slugs: Vec<String> =
            skills.iter().map(|skill| skill.slug()).filter(|slug| !slug.is_empty()).collect();
        slugs.sort();
        slugs.dedup();
        let users = trajectory.steps.iter().filter(|step| step.source == Source::User);
        let asked = users.map(|step| cut(&step.message).to_lowercase()).collect::<Vec<_>>().join("\n");
        let mut made = Self { asked, ..Self::default() };
        let mut reading = true;
        let agent = || trajectory.steps.iter().filter(|step| step.source == Source::Agent);
        let mut own_files = BTreeSet::new();
        for step in agent() {
            made.read(step, &skills, &slugs, &mut own_files, &mut reading);
            let lines = step.message.lines().map(str::trim).filter(|line| !line.is_empty());
            made.said.extend(lines.map(|line| (step.step_id, line.to_owned())));
        }
        made.own = own_files;
        made.leave(left, &skills);
        // Where the run wrote nothing, what it answered is what it produced.
        if !made.lines.iter().any(|line| matches!(line.channel, Channel::Wrote | Channel::Left)) {
            let last = agent().rfind(|step| !step.message.trim().is_empty() && step.tool_calls.is_empty());
            if let Some(step) = last {
                let block = made.begin();
                made.add_text(step.step_id, Channel::Answer, block, None, &step.message);
            }
        }
        made
    }

    /// What the agent saw of its workspace before it wrote anything.
    pub fn inputs(&self) -> &str {
        &self.inputs
    }

    /// Whether the user named something, by one of its words.
    pub(super) fn asks_for(&self, subject: &str) -> bool {
        let subject = subject.to_lowercase();
        let words = subject.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= 3);
        words.into_iter().any(|word| self.asked.contains(word))
    }

    /// Whether two lines were written or run in one go, at most [`NEAR`] lines apart.
    pub(super) fn are_near(&self, one: usize, other: usize) -> bool {
        let place = |at: usize| (self.lines[at].step, self.lines[at].block);
        one.abs_diff(other) <= NEAR && place(one) == place(other)
    }

    /// A line with those near it that are no comments, and the path of its file.
    pub(super) fn around(&self, at: usize) -> String {
        let near = (at.saturating_sub(NEAR)..self.lines.len()).take(2 * NEAR + 1);
        let near =
            near.filter(|other| self.are_near(at, *other)).map(|other| self.lines[other].text.as_str());
        let path = self.lines[at].file.map(|file| self.files[file].as_str()).unwrap_or_default();
        near.filter(|text| !is_comment(text)).chain([path]).collect::<Vec<_>>().join("\n")
    }

    /// A line as a place in the run.
    pub(super) fn place(&self, at: usize) -> Location {
        let line = &self.lines[at];
        Location {
            step: line.step,
            manner: line.manner(),
            file: line.file.map(|file| self.files[file].clone()),
            text: line.text.trim().to_owned(),
        }
    }

    fn begin(&mut self) -> usize {
        self.blocks += 1;
        self.blocks
    }

    fn file(&mut self, path: &str) -> usize {
        let path = path.trim_start_matches("./");
        self.files.iter().position(|known| known == path).unwrap_or_else(|| {
            self.files.push(path.to_owned());
            self.files.len() - 1
        })
    }

    fn add(&mut self, line: Line) {
        if self.lines.len() < LINES {
            self.lines.push(line);
        }
    }

    fn add_text(&mut self, step: usize, channel: Channel, block: usize, file: Option<usize>, text: &str) {
        for line in cut(text).lines().map(str::trim_end).filter(|line| !line.trim().is_empty()) {
            self.add(Line { step, channel, block, file, text: line.to_owned(), words: Vec::new() });
        }
    }

    fn read(
        &mut self,
        step: &Step,
        skills: &[&SkillText],
        slugs: &[String],
        own_files: &mut BTreeSet<String>,
        reading: &mut bool,
    ) {
        let results =
            step.observation.as_ref().map(|observation| observation.results.as_slice()).unwrap_or_default();
        let single = step.tool_calls.len() == 1 && results.len() == 1;
        for call in &step.tool_calls {
            let read = pieces(call, slugs, own_files);
            for piece in read.pieces {
                *reading &= !matches!(piece, Piece::Written { .. });
                self.add_piece(step.step_id, piece, skills);
            }
            let own = |id: Option<&str>| id == Some(&call.tool_call_id) || single;
            for result in results.iter().filter(|result| own(result.source_call_id.as_deref())) {
                let text = cut(result.content.as_deref().unwrap_or_default());
                if read.touches_skill || skills.iter().any(|skill| carries(text, &skill.body)) {
                    continue;
                }
                if read.runs_own {
                    let block = self.begin();
                    self.add_text(step.step_id, Channel::Printed, block, None, text);
                } else if *reading {
                    self.inputs.push_str(text);
                    self.inputs.push('\n');
                }
            }
        }
    }

    fn add_piece(&mut self, step: usize, piece: Piece, skills: &[&SkillText]) {
        match piece {
            Piece::Command { words, text } => {
                let block = self.blocks;
                self.add(Line { step, channel: Channel::Ran, block, file: None, text, words });
            }
            Piece::Begin => {
                self.begin();
            }
            Piece::Code { text } => {
                let block = self.begin();
                self.add_text(step, Channel::Code, block, None, &text);
                self.begin();
            }
            Piece::Written { path, text } => {
                if skills.iter().any(|skill| carries(&text, &skill.body)) {
                    return;
                }
                let block = self.begin();
                let file = (!path.is_empty()).then(|| self.file(&path));
                if file.is_some() {
                    let words = Vec::new();
                    let text = path.trim_start_matches("./").to_owned();
                    self.add(Line { step, channel: Channel::Path, block, file, text, words });
                }
                self.add_text(step, Channel::Wrote, block, file, &text);
                self.begin();
            }
        }
    }

    fn leave(&mut self, left: &Left, skills: &[&SkillText]) {
        for (path, text) in &left.files {
            let is_skill = path.rsplit('/').next() == Some("SKILL.md")
                || skills.iter().any(|skill| carries(text, &skill.body));
            if is_skill {
                continue;
            }
            let block = self.begin();
            let file = Some(self.file(path));
            let line = path.trim_start_matches("./").to_owned();
            self.add(Line { step: 0, channel: Channel::Path, block, file, text: line, words: Vec::new() });
            self.add_text(0, Channel::Left, block, file, text);
        }
    }
}
