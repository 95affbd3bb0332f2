//! What makes a command-line agent particular, and what it is started with.

use std::path::{Path, PathBuf};

use super::package::Package;

/// What makes an agent particular.
pub trait Harness: Send + Sync {
    /// The name it has in experiments and records.
    fn name(&self) -> &'static str;

    /// What is installed, in which version.
    fn package(&self) -> Package;

    /// The program, below the installation.
    fn program(&self) -> &'static str;

    /// The providers whose protocol it speaks, as they begin a model's name.
    fn providers(&self) -> &'static [&'static str];

    /// Whether it uses OpenAI's Responses API instead of chat completions.
    fn asks_responses(&self) -> bool {
        false
    }

    /// Where inside the sandbox it looks for skills that are a user's own; `None` for one that knows no skills.
    fn skills_dir(&self) -> Option<&'static str>;

    /// Files that have to be there before it starts: absolute paths inside, and contents.
    fn files(&self, launch: &Launch<'_>) -> Vec<(PathBuf, String)>;

    /// Its command line, without the program, and what is added to its environment.
    fn invocation(&self, launch: &Launch<'_>) -> (Vec<String>, Vec<(String, String)>);

    /// The format of what it prints or writes, by the name of its reader in `assay_trace::read`.
    fn transcript(&self) -> &'static str;

    /// The file below its home into which it writes that, for one that does not print it.
    fn writes(&self) -> Option<&'static str> {
        None
    }

    /// What it keeps for itself below its home: not the task's, and nothing that it did.
    fn state(&self) -> &'static [&'static str];

    /// The most memory that it was seen to take by itself in a short trial, in megabytes.
    fn memory_mb(&self) -> u64;

    /// Skills of its own that it cannot be made to leave out: they stand in every arm.
    fn own_skills(&self) -> &'static [&'static str] {
        &[]
    }

    /// Messages it prints when its own loop detection stopped it.
    fn halts(&self) -> &'static [&'static str] {
        &[]
    }

    /// What it varies by itself in requests that are otherwise the same, beside random names, dates, times and durations.
    fn varying_content(&self) -> VaryingContent {
        VaryingContent::default()
    }
}

/// What an agent varies by itself in its requests.
#[derive(Debug, Clone, Copy, Default)]
pub struct VaryingContent {
    /// Fields, by name.
    pub fields: &'static [&'static str],
    /// Patterns in texts, each with what stands for it.
    pub texts: &'static [(&'static str, &'static str)],
}

/// The process numbers that Gemini CLI and Qwen Code, its fork, report for a command.
pub(super) const PROCESSES: (&str, &str) = (r"\b(PGID|PIDs?): [0-9][0-9, ]*", "$1: <pid>");

/// What an agent is started with.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The address of its model, without a path.
    pub address: String,
    /// What stands for a key there.
    pub token: &'a str,
    /// The provider's name, as the model's begins.
    pub provider: &'a str,
    /// The model's name, without the provider's.
    pub model: &'a str,
    /// The text of the work.
    pub prompt: &'a str,
    /// What is to be added to the system's text; mostly empty.
    pub context: &'a str,
    /// Where it works, inside.
    pub workdir: &'a Path,
    /// Its home, inside.
    pub home: &'a Path,
    /// Its installation, inside.
    pub installation: &'a Path,
}

impl Launch<'_> {
    /// Where a file of the installation lies, inside.
    pub(super) fn installed(&self, path: &str) -> String {
        self.installation.join(path).display().to_string()
    }
}

/// Variables of an environment.
pub(super) fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
