//! Commands: in code blocks, in inline code, and in scripts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use assay_syntax::shell::{self, Source};
use regex::{Regex, RegexSet};

use super::Category::{
    EnvVars, ExistingFiles, ExistingRepo, ExternalState, LocalServices, Network, Runtime, ToolCli,
};
use super::clues::{Clue, Clues};
use super::page::{Page, Section};
use super::programs::{self, CALLS};
use super::variables::{ORDINARY, credential};
use super::{Script, Signal};

/// The most bytes of a block or script that are read.
const TEXT_CAP: usize = 256 << 10;

/// Where a command is written, which decides how far it is believed to be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// A block marked as shell, or a shell script.
    Shell,
    /// A block without a language.
    Plain,
    /// Inline code.
    Inline,
}

/// The commands of a document.
pub(super) fn find(page: &Page, clues: &mut Clues) {
    // Programs that the table does not have count if they are called more than once.
    let mut unknown = BTreeMap::<String, usize>::new();
    for code in &page.code {
        let origin = match code.language.as_str() {
            "bash" | "sh" | "shell" | "zsh" | "console" | "terminal" | "shellsession" | "shell-session"
            | "fish" | "powershell" | "ps1" | "pwsh" | "cmd" | "bat" | "batch" => Origin::Shell,
            "" | "text" | "txt" | "plaintext" => Origin::Plain,
            _ => continue,
        };
        if code.section != Section::Aside {
            read(&code.text, code.line, origin, clues, &mut unknown);
        }
    }
    for prose in &page.prose {
        if matches!(prose.section, Section::Aside) {
            continue;
        }
        for (text, line) in prose.inline() {
            read(text, line, Origin::Inline, clues, &mut unknown);
        }
    }
}

/// The commands of a script.
pub(super) fn find_in_script(script: &Script, clues: &mut Clues) {
    clues.script = Some(script.path.clone());
    let shell = [".sh", ".bash", ".zsh"].iter().any(|end| script.path.ends_with(end));
    if shell {
        read(&script.text, 1, Origin::Shell, clues, &mut BTreeMap::new());
    }
    clues.script = None;
}

fn read(text: &str, first: usize, origin: Origin, clues: &mut Clues, unknown: &mut BTreeMap<String, usize>) {
    let text = &text[..text.floor_char_boundary(TEXT_CAP)];
    // Prompts of transcripts are not part of the commands.
    let lines: Vec<&str> = text
        .lines()
        .map(|line| {
            line.trim_start()
                .strip_prefix("$ ")
                .or_else(|| line.trim_start().strip_prefix("> "))
                .unwrap_or(line)
        })
        .collect();
    let text = lines.join("\n");
    let commands = shell::commands(&text, Source::Script);
    let local: BTreeSet<&str> = commands
        .iter()
        .flat_map(|command| &command.words)
        .filter(|word| shell::is_assignment(word))
        .filter_map(|word| word.split('=').next())
        .collect();
    for command in &commands {
        let line = first + command.line - 1;
        let call = command.words.join(" ");
        assignments(&command.words, &call, line, &local, clues);
        let words = shell::program(&command.words);
        let Some(word) = words.first() else { continue };
        // `/review` is a command of an agent, not of the shell.
        if word.starts_with('/') && word.matches('/').count() == 1 {
            continue;
        }
        let name = shell::program_name(word);
        if name.len() > 40 {
            continue;
        }
        let call = words.join(" ");
        program(name, words, line, origin, clues, unknown);
        if origin == Origin::Shell || programs::is_known(name) || word.starts_with("./") {
            calls(&call, line, origin, clues);
        }
    }
}

/// What the program itself requires.
fn program(
    name: &str,
    words: &[String],
    line: usize,
    origin: Origin,
    clues: &mut Clues,
    unknown: &mut BTreeMap<String, usize>,
) {
    let mut add = |category, points, key: &str| {
        clues.push(Clue::new(category, points, line, Signal::Command, key).named(key));
    };
    // A bare name in a sentence is a mention.
    let mention = origin == Origin::Inline && words.len() == 1;
    if programs::is_runtime(name) {
        add(Runtime, if mention { 1 } else { 3 }, name);
        wrapped(name, words, line, clues);
        return;
    }
    if programs::is_standard(name) {
        if origin != Origin::Inline && ["cat", "head", "tail", "less"].contains(&name) {
            files(words, line, clues);
        }
        return;
    }
    if name == "curl" || name == "wget" || name == "http" || name == "https" {
        request(name, words, line, clues);
        return;
    }
    if let Some(package) = installed(name, words) {
        add(ToolCli, 3, package);
        return;
    }
    if programs::is_known(name) {
        let points = match origin {
            _ if mention => 1,
            Origin::Inline => 2,
            Origin::Shell | Origin::Plain => 3,
        };
        add(ToolCli, points, name);
        for (category, points) in programs::effects(name) {
            add(category, if mention { points.min(1) } else { points }, name);
        }
        return;
    }
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    match extension {
        // A file in a sentence is a mention.
        Some("py" | "js" | "mjs" | "ts" | "cjs") if mention => {}
        Some("py") => add(Runtime, 3, "python3"),
        Some("js" | "mjs" | "ts" | "cjs") => add(Runtime, 3, "node"),
        Some(_) => {}
        None => {
            let plausible = name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.len() > 1
                && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
                && words.len() > 1
                && is_call(words, origin);
            if plausible && origin != Origin::Plain {
                let count = unknown.entry(name.to_owned()).or_insert(0);
                *count += 1;
                // The second call is a clear clue: options and placeholders are rare in other inline code.
                let (points, key) = match origin {
                    Origin::Shell => (2, name),
                    _ if *count > 1 => (3, name),
                    _ => (1, "remark"),
                };
                clues.push(Clue::new(ToolCli, points, line, Signal::Command, key).named(name));
            }
        }
    }
}

/// The file that a command prints, if it has to be there.
fn files(words: &[String], line: usize, clues: &mut Clues) {
    if words.iter().any(|word| word.starts_with(['<', '>'])) {
        return;
    }
    let is_file = |word: &&String| {
        !word.starts_with('-')
            && word.rsplit_once('.').is_some_and(|(path, extension)| {
                !path.is_empty()
                    && ["md", "json", "yaml", "yml", "toml", "txt", "csv", "jsonl", "log"]
                        .contains(&extension)
            })
    };
    if let Some(file) = words.iter().skip(1).find(is_file) {
        clues.push(Clue::new(ExistingFiles, 2, line, Signal::Command, file).named(file));
    }
}

/// Whether the words after an unknown name look like arguments: a subcommand, an option, a path or a placeholder.
fn is_call(words: &[String], origin: Origin) -> bool {
    const WORDS: [&str; 30] = [
        "the", "to", "a", "an", "this", "that", "these", "requires", "your", "you", "and", "or", "with",
        "use", "when", "it", "is", "are", "of", "on", "as", "by", "be", "we", "will", "can", "must",
        "should", "from", "what",
    ];
    // Prose in a block that is marked as code.
    let ends = words.last().is_some_and(|word| word.ends_with(['.', ',', ':', '?', '!', '|']));
    if WORDS.contains(&words[0].as_str()) || (ends && words.len() > 2) {
        return false;
    }
    let second = words[1].as_str();
    if second.starts_with(['=', '(', ':', '{', '|']) || words[0].ends_with(':') {
        return false;
    }
    match origin {
        Origin::Shell => true,
        // `foo bar` in a sentence is a call only with an option or a placeholder.
        _ => words.iter().skip(1).any(|word| {
            word.starts_with('-') && word.len() > 1 || word.starts_with('<') || word.starts_with('$')
        }),
    }
}

/// The program that `npx`, `uvx` and others fetch and run, and the scripts that an interpreter runs.
fn wrapped(name: &str, words: &[String], line: usize, clues: &mut Clues) {
    let mut words = words.iter().skip(1).filter(|word| !word.starts_with('-'));
    let target = match name {
        "npx" | "uvx" | "bunx" => words.next(),
        "pipx" | "pnpm" if words.next().is_some_and(|word| word == "run" || word == "dlx") => words.next(),
        _ => None,
    };
    if let Some(target) = target {
        let target = target.split('@').find(|part| !part.is_empty()).unwrap_or(target);
        clues.push(Clue::new(ToolCli, 1, line, Signal::Command, target).named(target));
        for (category, points) in programs::effects(target) {
            clues.push(Clue::new(category, points, line, Signal::Command, target).named(target));
        }
    }
}

/// The package that a system's package manager installs.
fn installed<'w>(name: &str, words: &'w [String]) -> Option<&'w str> {
    if !["apt", "apt-get", "brew", "yum", "dnf", "apk", "pacman", "choco", "winget", "scoop", "snap"]
        .contains(&name)
    {
        return None;
    }
    let mut rest = words.iter().skip(1).map(String::as_str).filter(|word| !word.starts_with('-'));
    let verb = rest.next()?;
    let package = rest.next().filter(|_| ["install", "add"].contains(&verb))?;
    (!package.starts_with(['#', '$'])).then(|| package.rsplit('/').next().unwrap_or(package))
}

/// A request of `curl` or `wget`: to this machine, or to another.
fn request(name: &str, words: &[String], line: usize, clues: &mut Clues) {
    let mut add =
        |category, points, key: &str| clues.push(Clue::new(category, points, line, Signal::Command, key));
    let local = words.iter().any(|word| is_local(word));
    if local {
        add(LocalServices, 3, "localhost");
    } else if words.len() > 1 {
        add(Network, 3, name);
    }
    add(ToolCli, 1, name);
}

/// Whether a URL is one of this machine.
pub(super) fn is_local(url: &str) -> bool {
    ["localhost", "127.0.0.1", "0.0.0.0", "host.docker.internal"].iter().any(|host| url.contains(host))
}

/// Patterns of [`CALLS`].
fn calls(call: &str, line: usize, origin: Origin, clues: &mut Clues) {
    static SET: LazyLock<Option<RegexSet>> =
        LazyLock::new(|| RegexSet::new(CALLS.iter().map(|(pattern, _)| *pattern)).ok());
    let Some(set) = &*SET else { return };
    for index in &set.matches(call) {
        for (category, points) in CALLS[index].1 {
            let points = if origin == Origin::Inline { (*points).min(2) } else { *points };
            let key = match category {
                // Each kind of command on a repository counts by itself.
                ExistingRepo | super::Category::GitState => {
                    call.split(' ').take(2).collect::<Vec<_>>().join(" ")
                }
                _ => format!("call {index}"),
            };
            let clue = Clue::new(*category, points, line, Signal::Command, &key);
            let program = call.split(' ').next().filter(|_| *category == ExternalState);
            clues.push(program.map_or(clue.clone(), |program| clue.named(program)));
        }
    }
}

/// Environment variables that a command sets or expands.
fn assignments(words: &[String], call: &str, line: usize, local: &BTreeSet<&str>, clues: &mut Clues) {
    static NAME: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\$\{?([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b").ok());
    let exports = words.first().is_some_and(|word| word == "export");
    if exports && let Some(name) = words.get(1).and_then(|word| word.split('=').next()) {
        if !ORDINARY.contains(&name) && name.len() > 2 {
            clues.push(Clue::new(EnvVars, 3, line, Signal::Variable, name).named(name));
            credential(name, line, clues);
        }
        return;
    }
    for found in NAME.iter().flat_map(|name| name.captures_iter(call)) {
        let name = &found[1];
        if ORDINARY.contains(&name) || local.contains(name) {
            continue;
        }
        let credential = credential(name, line, clues);
        // Others are often set in the same script.
        let (points, key) = if credential { (3, name) } else { (1, "setting") };
        clues.push(Clue::new(EnvVars, points, line, Signal::Variable, key).named(name));
    }
}
