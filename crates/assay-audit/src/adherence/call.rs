//! A tool call as what it ran and wrote.

use std::collections::BTreeSet;

use assay_syntax::shell::{Interpreter, Operator, Source, commands, interpreter, program, program_name};
use assay_trace::ToolCall;
use serde_json::Value;

use crate::evidence::writes;

/// A text is read up to here, in bytes.
const TEXT_CAP: usize = 1 << 20;

/// `bash -c` within `bash -c` is followed so deep.
const DEPTH: usize = 4;

/// A part of what a call did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// A line of a shell begins.
    Begin,
    /// A simple command.
    Command {
        /// Its words, from the program on.
        words: Vec<String>,
        /// As it was typed, in one line.
        text: String,
    },
    /// Code that was run and is no file.
    Code {
        /// The code.
        text: String,
    },
    /// Text that was written to a file; an empty path where it is not known.
    Written {
        /// The file.
        path: String,
        /// What was added.
        text: String,
    },
}

/// What a call did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CallPieces {
    /// In order.
    pub(super) pieces: Vec<Piece>,
    /// Whether it names a path of a skill: what comes back may be the skill's text.
    pub(super) touches_skill: bool,
    /// Whether it ran a script that the agent wrote: what comes back is the script's output.
    pub(super) runs_own: bool,
}

/// Programs that show, search or list files, and run nothing of them.
const READERS: [&str; 37] = [
    "cat",
    "head",
    "tail",
    "less",
    "more",
    "nl",
    "bat",
    "ls",
    "tree",
    "find",
    "fd",
    "grep",
    "egrep",
    "rg",
    "ag",
    "wc",
    "stat",
    "file",
    "du",
    "diff",
    "cmp",
    "md5sum",
    "sha256sum",
    "xxd",
    "od",
    "strings",
    "which",
    "type",
    "realpath",
    "readlink",
    "basename",
    "dirname",
    "test",
    "[",
    "man",
    "chmod",
    "awk",
];

/// Runners that stand before the program they run.
const RUNNERS: [&[&str]; 12] = [
    &["npx"],
    &["bunx"],
    &["uvx"],
    &["pnpm", "dlx"],
    &["pnpm", "exec"],
    &["yarn", "exec"],
    &["uv", "run"],
    &["poetry", "run"],
    &["pipenv", "run"],
    &["bundle", "exec"],
    &["npm", "exec"],
    &["xvfb-run"],
];

/// What a call ran and wrote. `own_files` are the files that the agent wrote so far.
pub(super) fn pieces(call: &ToolCall, slugs: &[String], own_files: &mut BTreeSet<String>) -> CallPieces {
    let tool = call.function_name.to_lowercase();
    let arguments = &call.arguments;
    let mut found = CallPieces::default();
    let is_shell = ["bash", "shell", "exec", "command", "terminal"].iter().any(|part| tool.contains(part));
    let file = argument(
        arguments,
        &["file_path", "path", "filename", "absolute_path", "notebook_path", "filePath", "target_file"],
    );
    if is_shell {
        let command = ["command", "cmd", "script", "code", "input"]
            .iter()
            .find_map(|key| arguments.get(*key))
            .map(command_text)
            .unwrap_or_default();
        let mut shell = Shell { slugs, own_files, found: &mut found, folder: String::new() };
        shell.read(cut(&command), 0);
    } else if let Some(code) = argument(arguments, &["code"]).filter(|_| file.is_none()) {
        found.touches_skill = names_skill(code, slugs);
        found.runs_own = true;
        found.pieces.push(Piece::Code { text: cut(code).to_owned() });
    } else if writes(&tool) {
        let path = file.unwrap_or_default();
        if names_skill(path, slugs) {
            found.touches_skill = true;
            return found;
        }
        let mut written = Vec::new();
        collect_written(arguments, path, &mut written);
        for (path, text) in written {
            own_files.insert(base(&path).to_owned());
            found.pieces.push(Piece::Written { path, text });
        }
    } else {
        let mut texts = Vec::new();
        strings(arguments, &mut texts);
        found.touches_skill = tool.contains("skill") || texts.iter().any(|text| names_skill(text, slugs));
        // Plans, searches and reads say what the agent is about to do, and do nothing.
        let acts =
            !["read", "view", "grep", "glob", "search", "list", "ls", "todo", "plan", "think", "skill"]
                .iter()
                .any(|word| tool.contains(word))
                && !["fetch", "task", "agent", "open", "find"].iter().any(|word| tool.contains(word));
        if acts && !found.touches_skill {
            found.pieces.extend(texts.into_iter().map(|text| Piece::Code { text: cut(text).to_owned() }));
        }
    }
    found
}

/// A command as one text: agents give a string, or the words for a shell.
pub(super) fn command_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [shell, option, text]
                    if interpreter(program_name(shell)) == Some(Interpreter::Shell)
                        && option.starts_with('-') =>
                {
                    (*text).to_owned()
                }
                words => words.join(" "),
            }
        }
        _ => String::new(),
    }
}

/// What a tool that changes files wrote, by file.
fn collect_written(arguments: &Value, path: &str, written: &mut Vec<(String, String)>) {
    let old = argument(arguments, &["old_string", "old_str", "oldString", "old_text", "old"]);
    let new = argument(
        arguments,
        &[
            "content",
            "new_string",
            "new_str",
            "newString",
            "new_text",
            "file_text",
            "insert_text",
            "text",
            "new",
            "new_source",
            "code_edit",
            "contents",
        ],
    );
    if let Some(new) = new {
        written.push((path.to_owned(), added(old.unwrap_or_default(), cut(new))));
    }
    if let Some(edits) = arguments.get("edits").and_then(Value::as_array) {
        for edit in edits {
            collect_written(edit, path, written);
        }
    }
    for key in ["input", "patch", "diff"] {
        if let Some(patch) = arguments.get(key).and_then(Value::as_str) {
            patched(cut(patch), path, written);
        }
    }
}

/// The lines of a replacement that the replaced text does not have.
fn added(old: &str, new: &str) -> String {
    let kept: BTreeSet<&str> = old.lines().map(str::trim).collect();
    new.lines().filter(|line| !kept.contains(line.trim())).map(|line| format!("{line}\n")).collect()
}

/// The added lines of a patch, by file: unified diffs, and the envelope of `apply_patch`.
pub(super) fn patched(patch: &str, path: &str, written: &mut Vec<(String, String)>) {
    let mut current = (path.to_owned(), String::new());
    let is_patch = patch.lines().any(|line| line.starts_with("+++ ") || line.starts_with("*** "));
    if !is_patch {
        written.push((path.to_owned(), patch.to_owned()));
        return;
    }
    for line in patch.lines() {
        let header = ["+++ ", "*** Add File: ", "*** Update File: ", "*** Move to: "]
            .iter()
            .find_map(|mark| line.strip_prefix(mark));
        if let Some(header) = header {
            let name = header.split('\t').next().unwrap_or(header).trim();
            let name = name.strip_prefix("b/").unwrap_or(name).to_owned();
            let done = std::mem::replace(&mut current, (name, String::new()));
            if !done.1.is_empty() {
                written.push(done);
            }
        } else if let Some(added) = line.strip_prefix('+') {
            current.1.push_str(added);
            current.1.push('\n');
        }
    }
    if !current.1.is_empty() {
        written.push(current);
    }
}

struct Shell<'s, 'o, 'f> {
    slugs: &'s [String],
    own_files: &'o mut BTreeSet<String>,
    found: &'f mut CallPieces,
    folder: String,
}

impl Shell<'_, '_, '_> {
    fn read(&mut self, text: &str, depth: usize) {
        let simple = commands(text, Source::Command);
        self.found.pieces.push(Piece::Begin);
        let mut piped: Option<String> = None;
        for (at, command) in simple.iter().enumerate() {
            let words = program(&command.words);
            let name = words.first().map(|word| program_name(word)).unwrap_or_default();
            let here: String = command.here_texts.iter().map(|range| &text[range.clone()]).collect();
            let touches = command.words.iter().any(|word| names_skill(word, self.slugs))
                || names_skill(&self.folder, self.slugs);
            self.found.touches_skill |= touches;
            if matches!(name, "cd" | "pushd") {
                let target = words.get(1).map_or("~", String::as_str);
                self.folder = join(&self.folder, target);
                continue;
            }
            // A reader of a skill's file quotes the skill, and a writer into its folder changes it.
            let quotes = touches && (READERS.contains(&name) || name == "sed");
            if !quotes {
                self.found.pieces.push(Piece::Command {
                    words: without_runner(words).to_vec(),
                    text: shown(&command.words, command.here_document),
                });
            }
            let body = if here.is_empty() { piped.take().unwrap_or_default() } else { here };
            if !quotes {
                self.follow(command.words.as_slice(), words, name, &body, touches, depth);
            }
            // What `echo` prints goes into the next command of a pipe, or into a file.
            piped = (command.end == Operator::Pipe && !touches)
                .then(|| printed(name, words).or_else(|| (name == "cat" && !body.is_empty()).then_some(body)))
                .flatten();
            if at + 1 == simple.len() {
                break;
            }
        }
    }

    fn follow(
        &mut self,
        all: &[String],
        words: &[String],
        name: &str,
        body: &str,
        touches: bool,
        depth: usize,
    ) {
        let kind = interpreter(name);
        let inline = inline_code(kind, words);
        if let Some(code) = inline {
            if kind == Some(Interpreter::Shell) && depth < DEPTH {
                self.read(code, depth + 1);
            } else {
                self.found.runs_own = true;
                self.found.pieces.push(Piece::Code { text: code.to_owned() });
            }
        }
        let script = script_of(kind, words);
        if let Some(script) = script {
            self.found.runs_own |= self.own_files.contains(base(script));
        }
        if matches!(name, "cp" | "mv" | "install" | "ln") && touches {
            // A copy of the skill's file is not the agent's own.
            return;
        }
        if matches!(name, "apply_patch" | "applypatch" | "patch")
            || (name == "git" && words.get(1).is_some_and(|word| word == "apply"))
        {
            let text = if body.is_empty() { words.get(1).map_or("", String::as_str) } else { body };
            let mut written = Vec::new();
            if text.contains('\n') {
                patched(text, "", &mut written);
            }
            for (path, text) in written {
                self.write(&path, text);
            }
            return;
        }
        let target = redirected(all).or_else(|| (name == "tee").then(|| teed(words)).flatten());
        let text = if body.is_empty() { printed(name, words) } else { Some(body.to_owned()) };
        match (target, text) {
            (Some(path), Some(text)) if matches!(name, "cat" | "tee" | "echo" | "printf" | "") => {
                self.write(path, text);
            }
            (Some(path), _) => {
                self.own_files.insert(base(path).to_owned());
            }
            (None, Some(text)) if !body.is_empty() && name != "cat" => {
                // A here-document is the program of an interpreter, or the input of another program.
                if kind == Some(Interpreter::Shell) && depth < DEPTH {
                    self.read(&text, depth + 1);
                } else {
                    self.found.runs_own = true;
                    self.found.pieces.push(Piece::Code { text });
                }
            }
            _ => {}
        }
    }

    fn write(&mut self, path: &str, text: String) {
        if path.starts_with("/dev/") || names_skill(path, self.slugs) {
            return;
        }
        self.own_files.insert(base(path).to_owned());
        self.found.pieces.push(Piece::Written { path: path.to_owned(), text });
    }
}

/// A command in one line, its here-document omitted.
fn shown(words: &[String], here: Option<usize>) -> String {
    let kept: Vec<&str> =
        words.iter().enumerate().filter(|(at, _)| here != Some(*at)).map(|(_, word)| word.as_str()).collect();
    kept.join(" ").replace('\n', " ")
}

/// A command without runners such as `npx`, `uv run` and `python -m`.
fn without_runner(words: &[String]) -> &[String] {
    let name = words.first().map(|word| program_name(word)).unwrap_or_default();
    let runs_module =
        interpreter(name) == Some(Interpreter::Python) && words.get(1).is_some_and(|word| word == "-m");
    if runs_module && words.len() > 2 {
        return &words[2..];
    }
    let runner = RUNNERS.iter().find(|runner| {
        words.len() > runner.len()
            && name == runner[0]
            && words[1..].iter().zip(&runner[1..]).all(|(word, part)| word == part)
    });
    let Some(runner) = runner else { return words };
    let mut rest = &words[runner.len()..];
    while let [first, after @ ..] = rest
        && first.starts_with('-')
    {
        let valued = matches!(first.as_str(), "--with" | "--package" | "--python" | "--from" | "-p");
        let after = if valued { after.get(1..).unwrap_or_default() } else { after };
        if after.is_empty() {
            break;
        }
        rest = after;
    }
    rest
}

/// The program that an interpreter is given as an argument.
fn inline_code(kind: Option<Interpreter>, words: &[String]) -> Option<&str> {
    let options: &[&str] = match kind? {
        Interpreter::Python => &["-c"],
        Interpreter::JavaScript | Interpreter::Other => &["-e", "-E", "-r", "--eval", "-p", "-c"],
        Interpreter::Shell => {
            let at = words.iter().position(|word| {
                word.len() <= 5
                    && word.starts_with('-')
                    && !word.starts_with("--")
                    && word[1..].chars().all(|c| c.is_ascii_alphabetic())
                    && word.ends_with('c')
            })?;
            return words.get(at + 1).map(String::as_str);
        }
    };
    let at = words.iter().position(|word| options.contains(&word.as_str()))?;
    words.get(at + 1).map(String::as_str)
}

/// The file that a command runs.
pub(super) fn script_of(kind: Option<Interpreter>, words: &[String]) -> Option<&str> {
    let (first, arguments) = words.split_first()?;
    let is_loader = kind.is_some()
        || matches!(program_name(first), "source" | "." | "Rscript" | "tsx" | "ts-node" | "uv" | "julia");
    if is_loader {
        for word in arguments {
            if word == "run" || word.starts_with('-') {
                if matches!(word.as_str(), "-c" | "-m" | "-e") {
                    return None;
                }
                continue;
            }
            if word.starts_with('<') || word.starts_with('>') {
                return None;
            }
            return Some(word);
        }
        return None;
    }
    (first.contains('/') || first.contains('.')).then_some(first.as_str())
}

/// The file that the output of a command is written to.
fn redirected(words: &[String]) -> Option<&str> {
    let file = words.iter().enumerate().find_map(|(at, word)| {
        let rest = word.strip_prefix("1>").or_else(|| word.strip_prefix('>'))?;
        let rest = rest.trim_start_matches(['>', '|']);
        if rest.is_empty() { words.get(at + 1).map(String::as_str) } else { Some(rest) }
    })?;
    (!file.starts_with('&') && !file.starts_with("/dev/")).then_some(file)
}

fn teed(words: &[String]) -> Option<&str> {
    words[1..].iter().map(String::as_str).find(|word| !word.starts_with(['-', '>', '<']))
}

/// What `echo` and `printf` print.
fn printed(name: &str, words: &[String]) -> Option<String> {
    if !matches!(name, "echo" | "printf") {
        return None;
    }
    let text: Vec<&str> = words[1..]
        .iter()
        .map(String::as_str)
        .take_while(|word| !word.starts_with('>') && !word.starts_with("1>"))
        .filter(|word| !matches!(*word, "-e" | "-n" | "-ne" | "-en"))
        .collect();
    let text = text.join(" ");
    (!text.is_empty()).then(|| text.replace("\\n", "\n"))
}

fn strings<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(map) => map.values().for_each(|item| strings(item, found)),
        _ => {}
    }
}

/// A path as seen from a folder; an empty folder is an unknown one.
pub(super) fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.starts_with(['/', '~', '$']) {
        path.to_owned()
    } else {
        format!("{folder}/{path}")
    }
}

/// The last part of a path.
pub(super) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a text names a path of a skill: any `SKILL.md`, anything below a `skills` folder, or a
/// folder that has the name of one of these skills.
pub(super) fn names_skill(text: &str, slugs: &[String]) -> bool {
    let lower = text.to_lowercase();
    if lower.contains("skill.md") || lower.contains("skills/") || lower.ends_with("/skills") {
        return true;
    }
    let ends = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    slugs.iter().any(|slug| {
        lower
            .match_indices(slug.as_str())
            .any(|(at, _)| lower[..at].ends_with('/') && ends(lower[at + slug.len()..].chars().next()))
    })
}

pub(super) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_CAP)]
}

/// A string of a call's arguments by its key.
pub(super) fn argument<'v>(arguments: &'v Value, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| arguments.get(*key)?.as_str())
}
