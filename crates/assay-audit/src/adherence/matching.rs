//! Probes against the material of a run.

use assay_syntax::code::Language;
use assay_syntax::shell::{interpreter, program_name};
use regex::Regex;

use super::call::{base, script_of};
use super::command_match::WantedCall;
use super::number::{Number, has_number};
use super::run_evidence::{Channel, Line, RunEvidence, is_comment};
use crate::directive::{Directive, Modality, Probe};

/// Longest compiled layout, in bytes.
const LAYOUT_CAP: usize = 1 << 20;

/// The minimum length of ends and beginnings of names, with the `_`, in bytes.
const AFFIX: usize = 4;

/// A probe made ready for matching.
pub(super) enum Matcher {
    Command { call: WantedCall, strict: bool },
    Text(String),
    Layout(Option<Regex>),
    Number(Number),
    Script { path: String },
    Sequence(Box<Matcher>, Box<Matcher>),
    Pipe(Box<Matcher>, Box<Matcher>),
}

/// Where a probe matches: an index of [`RunEvidence::lines`].
pub(super) type At = usize;

/// What a sequence shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// In the demanded order; the place of the second act.
    Kept(At),
    /// The second act was done first, by a command.
    Reversed(At),
    /// The run shows neither.
    Open,
}

impl Matcher {
    /// The matcher of a probe of a directive: units of numbers are in the directive's text.
    pub(super) fn new(probe: &Probe, directive: &Directive) -> Self {
        match probe {
            Probe::Command { program, words } => Self::Command {
                call: WantedCall::new(program, words),
                strict: directive.modality == Modality::Forbidden,
            },
            Probe::Text(text) => Self::Text(text.split_whitespace().collect::<Vec<_>>().join(" ")),
            Probe::Layout(pattern) => {
                Self::Layout(regex::RegexBuilder::new(pattern).size_limit(LAYOUT_CAP).build().ok())
            }
            Probe::Number { value, near } => Self::Number(Number::new(value, near, &directive.text)),
            Probe::Script(path) => Self::Script { path: path.trim_start_matches("./").to_owned() },
            Probe::Sequence { first, then } => {
                let (first, then) = (Self::new(first, directive), Self::new(then, directive));
                // What is forbidden is one command whose output goes into another.
                let is_pipe = directive.modality == Modality::Forbidden;
                let make = if is_pipe { Self::Pipe } else { Self::Sequence };
                make(Box::new(first), Box::new(then))
            }
        }
    }

    /// The best place: an act before a product, a product before an answer, then the earliest.
    pub(super) fn best(&self, material: &RunEvidence) -> Option<At> {
        if let Self::Sequence(first, then) = self {
            return match order(first, then, material) {
                Order::Kept(at) => Some(at),
                Order::Reversed(_) | Order::Open => None,
            };
        }
        self.all(material).min_by_key(|at| (rank(material.lines[*at].channel), *at))
    }

    /// The same, in no comment of code, unless `subject` begins as a comment does.
    pub(super) fn best_outside_comments(&self, material: &RunEvidence, subject: &str) -> Option<At> {
        let is_done = |at: &At| {
            let line = &material.lines[*at];
            let is_said = is_comment(&line.text) && !is_comment(subject) && !is_prose(line, material);
            let is_looked_at = self.is_name() && line.channel == Channel::Ran && only_looks(&line.words);
            !is_said && !is_looked_at
        };
        match self {
            Self::Sequence(..) => self.best(material),
            _ => self.all(material).filter(is_done).min_by_key(|at| (rank(material.lines[*at].channel), *at)),
        }
    }

    /// Whether it is a name or a text, rather than a call.
    fn is_name(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Layout(_))
    }

    /// Whether a place is near another, in what was written or run in one go.
    pub(super) fn is_near(&self, material: &RunEvidence, at: At) -> bool {
        self.all(material).any(|found| material.are_near(found, at))
    }

    /// All places, in order; none for sequences.
    fn all<'m>(&'m self, material: &'m RunEvidence) -> impl Iterator<Item = At> + 'm {
        (0..material.lines.len()).filter(move |at| self.matches(material, *at))
    }

    fn matches(&self, material: &RunEvidence, at: At) -> bool {
        let line = &material.lines[at];
        match self {
            Self::Command { call, strict } => runs(line, material, call, *strict),
            Self::Pipe(first, then) => {
                let next = at + 1;
                let is_joined = material.lines.get(next).is_some_and(|after| {
                    (after.channel, after.step, after.block) == (Channel::Ran, line.step, line.block)
                });
                let is_run = line.channel == Channel::Ran && is_joined;
                is_run && first.matches(material, at) && then.matches(material, next)
            }
            Self::Text(text) => has_text(&line.text, text),
            Self::Layout(pattern) => pattern.as_ref().is_some_and(|pattern| pattern.is_match(&line.text)),
            Self::Number(number) => {
                let is_code = match line.channel {
                    Channel::Ran | Channel::Code | Channel::Answer => true,
                    Channel::Wrote => !is_table(line, material),
                    // What a script left may be data.
                    Channel::Left => is_source(line, material),
                    Channel::Path | Channel::Printed => false,
                };
                is_code && has_number(number, material, at)
            }
            Self::Script { path } => runs_script(line, material, path),
            Self::Sequence(..) => false,
        }
    }

    /// Whether a text that the run did not author has it, in any case: `kl 204` of an input
    /// explains `KL`.
    pub(super) fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Command { call, .. } => text.lines().any(|line| call.is_in_line(line, false)),
            Self::Text(wanted) => {
                let lower = wanted.to_lowercase();
                text.lines().any(|line| has_text(line, wanted) || has_text(&line.to_lowercase(), &lower))
            }
            Self::Layout(pattern) => pattern.as_ref().is_some_and(|pattern| pattern.is_match(text)),
            Self::Number(number) => text.lines().any(|line| number.is_near(line)),
            Self::Script { path } => text.lines().any(|line| has_text(line, path)),
            Self::Sequence(first, then) | Self::Pipe(first, then) => first.is_in(text) && then.is_in(text),
        }
    }

    /// Where `then` comes before `first`, if this is a sequence and the run shows its order.
    pub(super) fn reversed(&self, material: &RunEvidence) -> Option<At> {
        let Self::Sequence(first, then) = self else { return None };
        match order(first, then, material) {
            Order::Reversed(at) => Some(at),
            Order::Kept(_) | Order::Open => None,
        }
    }
}

/// Whether a command searches for what it names, prints it or takes it away.
fn only_looks(words: &[String]) -> bool {
    const LOOK: [&str; 14] = [
        "ack", "ag", "cat", "diff", "file", "grep", "head", "less", "ls", "rg", "stat", "tail", "wc", "which",
    ];
    const REMOVE: [&str; 6] = ["purge", "remove", "rm", "un", "uninstall", "unset"];
    let plain: Vec<&str> = words.iter().map(String::as_str).collect();
    let [first, rest @ ..] = assay_syntax::shell::program(&plain) else { return false };
    let program = program_name(first);
    let subcommand = rest.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
    let is_search = program == "git" && subcommand == "grep";
    let manages = [
        "apt", "apt-get", "brew", "bun", "cargo", "gem", "npm", "pip", "pip3", "pnpm", "poetry", "uv", "yarn",
    ];
    let words = rest.iter().take(2);
    let removes = manages.contains(&program) && words.into_iter().any(|word| REMOVE.contains(word));
    LOOK.binary_search(&program).is_ok() || is_search || removes
}

/// Acts, products, outputs, answers.
fn rank(channel: Channel) -> u8 {
    match channel {
        Channel::Ran | Channel::Code | Channel::Wrote | Channel::Path => 0,
        Channel::Left => 1,
        Channel::Printed => 2,
        Channel::Answer => 3,
    }
}

fn order(first: &Matcher, then: &Matcher, material: &RunEvidence) -> Order {
    let act = |at: &At| {
        let line = &material.lines[*at];
        line.step > 0 && !matches!(line.channel, Channel::Printed | Channel::Answer)
    };
    let (one, two): (Vec<At>, Vec<At>) = (first.all(material).collect(), then.all(material).collect());
    // What one file or one command has in the demanded order, has it.
    let together = two.iter().copied().find(|&b| {
        let block = material.lines[b].block;
        one.iter().any(|&a| {
            material.lines[a].block == block
                && (a < b || (a == b && columns(first, then, &material.lines[a])))
        })
    });
    if let Some(at) = together {
        return Order::Kept(at);
    }
    let (Some(a), Some(b)) = (one.iter().copied().find(act), two.iter().copied().find(act)) else {
        return Order::Open;
    };
    let same_block = material.lines[a].block == material.lines[b].block;
    if a < b {
        Order::Kept(b)
    } else if b < a && (!same_block || is_command(material, a) && is_command(material, b)) {
        // The order of definitions in a file need not be the order in which they run.
        if is_command(material, a) && is_command(material, b) { Order::Reversed(b) } else { Order::Open }
    } else {
        Order::Open
    }
}

fn is_command(material: &RunEvidence, at: At) -> bool {
    material.lines[at].channel == Channel::Ran
}

/// Whether two texts stand on one line in order.
fn columns(first: &Matcher, then: &Matcher, line: &Line) -> bool {
    let (Matcher::Text(first), Matcher::Text(then)) = (first, then) else { return false };
    match (text_at(&line.text, first), text_at(&line.text, then)) {
        (Some(a), Some(b)) => a < b,
        _ => false,
    }
}

/// Whether a line makes a call.
fn runs(line: &Line, material: &RunEvidence, call: &WantedCall, strict: bool) -> bool {
    match line.channel {
        Channel::Ran => {
            let first = line.words.first().map(|word| program_name(word)).unwrap_or_default();
            call.is_call(&line.words) || (runs_text(first) && call.is_in_line(&line.text, true))
        }
        Channel::Code | Channel::Wrote | Channel::Left => {
            !is_prose(line, material) && !is_comment(&line.text) && call.is_in_line(&line.text, strict)
        }
        Channel::Path | Channel::Printed | Channel::Answer => false,
    }
}

/// Whether a program runs a text that it is given as a command, elsewhere or again.
fn runs_text(program: &str) -> bool {
    matches!(
        program,
        "ssh"
            | "docker"
            | "podman"
            | "kubectl"
            | "eval"
            | "watch"
            | "xargs"
            | "tmux"
            | "screen"
            | "su"
            | "adb"
    )
}

/// Whether a line runs, sources or imports a file of the package.
fn runs_script(line: &Line, material: &RunEvidence, path: &str) -> bool {
    let name = base(path);
    // A file of the agent's own with that name is another, unless its whole path is given.
    let own = material.own.contains(name);
    let is_it = |word: &str| {
        let whole = word == path || word.strip_suffix(path).is_some_and(|rest| rest.ends_with('/'));
        whole || (!own && base(word) == name)
    };
    match line.channel {
        Channel::Ran => {
            let first = line.words.first().map(|word| program_name(word)).unwrap_or_default();
            let ran = script_of(interpreter(first), &line.words);
            ran.is_some_and(is_it) || line.words.first().is_some_and(|word| is_it(word))
        }
        Channel::Code | Channel::Wrote => {
            !is_prose(line, material)
                && !is_comment(&line.text)
                && (line.text.split(|c: char| c.is_whitespace() || "\"'`,()[]{};|&$=".contains(c)).any(is_it)
                    || imports(&line.text, name, own))
        }
        Channel::Path | Channel::Left | Channel::Printed | Channel::Answer => false,
    }
}

/// Whether a line of code imports the module of a script.
fn imports(line: &str, name: &str, own: bool) -> bool {
    let Some((stem, "py")) = name.rsplit_once('.') else { return false };
    let words: Vec<&str> =
        line.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()).collect();
    !own && matches!(words.first(), Some(&("import" | "from")))
        && words[1..].iter().take(1).any(|word| *word == stem || word.ends_with(&format!(".{stem}")))
}

fn extension<'m>(line: &Line, material: &'m RunEvidence) -> &'m str {
    let path = line.file.map(|file| material.files[file].as_str()).unwrap_or_default();
    base(path).rsplit_once('.').map(|(_, extension)| extension).unwrap_or_default()
}

fn is_table(line: &Line, material: &RunEvidence) -> bool {
    matches!(extension(line, material), "csv" | "tsv" | "jsonl" | "ndjson" | "log")
}

/// Whether a file is code, configuration or a document by its name.
fn is_source(line: &Line, material: &RunEvidence) -> bool {
    const SOURCES: [&str; 36] = [
        "c",
        "cc",
        "cfg",
        "conf",
        "cpp",
        "cs",
        "css",
        "env",
        "go",
        "gradle",
        "h",
        "html",
        "ini",
        "java",
        "json",
        "json5",
        "kt",
        "md",
        "php",
        "pl",
        "properties",
        "r",
        "rb",
        "rs",
        "rst",
        "scala",
        "sql",
        "swift",
        "tf",
        "toml",
        "vue",
        "xml",
        "yaml",
        "yml",
        "tpl",
        "mk",
    ];
    let extension = extension(line, material);
    let name = line.file.map(|file| base(&material.files[file])).unwrap_or_default();
    Language::by_extension(extension).is_some()
        || SOURCES.contains(&extension)
        || matches!(name, "Dockerfile" | "Makefile")
}

fn is_prose(line: &Line, material: &RunEvidence) -> bool {
    matches!(extension(line, material), "md" | "markdown" | "rst" | "txt" | "adoc")
}

/// Whether a line contains a text at word boundaries.
pub(super) fn has_text(line: &str, text: &str) -> bool {
    text_at(line, text).is_some() || {
        // Code writes a backslash twice.
        text.contains('\\') && text_at(line, &text.replace('\\', "\\\\")).is_some()
    }
}

fn text_at(line: &str, text: &str) -> Option<usize> {
    if text.is_empty() {
        return None;
    }
    let (head, tail) = (text.chars().next()?, text.chars().next_back()?);
    let word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(text).map(|(at, _)| at).find(|at| {
        let before = line[..*at].chars().next_back();
        let mut after = line[at + text.len()..].chars();
        let (next, second) = (after.next(), after.next());
        // `_size` is an end of names, and `tmp_` a beginning.
        let joined_before = before.is_some_and(|c| {
            (word(c) && word(head) && (head != '_' || text.len() < AFFIX))
                || (head == '-' && c == '-')
                || (c == '-' && word(head) && text.contains('-'))
                || (c == '.' && word(head) && text.contains('.') && is_name(line, *at))
        });
        let joined_after = next.is_some_and(|c| {
            (word(c) && word(tail) && (tail != '_' || text.len() < AFFIX))
                || (c == '-' && word(tail) && (text.contains('-') || text.starts_with('-')))
                || (c == '.' && text.contains('.') && word(tail) && second.is_some_and(char::is_alphanumeric))
        });
        !joined_before && !joined_after
    })
}

/// Whether what stands before a place goes on a name: `x.` before `config.json`.
fn is_name(line: &str, at: usize) -> bool {
    line[..at - 1].chars().next_back().is_some_and(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stands_at_word_boundaries() {
        let check = |line: &str, text: &str, expected: bool| {
            assert_eq!(has_text(line, text), expected, "{text} in {line}");
        };
        check("write _gaps here", "_gaps", true);
        check("write no_gaps here", "_gaps", true);
        check("write no_gapsy here", "_gaps", false);
        check("tmp_gaps", "tmp_", true);
        check("xtmp_gaps", "tmp_", false);
        check("x_id", "_id", false);
        check("E07, E08", "E07", true);
        check("E070", "E07", false);
        check("tool --sum x", "--sum", true);
        check("tool --sum-all x", "--sum", false);
        check("tool ---sum x", "--sum", false);
        check("out/plan.json", "plan.json", true);
        check("out/plan.json.sum", "plan.json", false);
        check("out/my-plan.json", "plan.json", true);
        check("out/base.plan.json", "plan.json", false);
        check("It ends with plan.json.", "plan.json", true);
        check("s.startswith('corp\\\\')", "corp\\", true);
        check("größe_x", "größe", false);
        check("", "a", false);
        check("a", "", false);
    }
}
