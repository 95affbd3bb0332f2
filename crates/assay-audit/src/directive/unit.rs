//! What a piece of a skill's text can be checked by.

use std::collections::{BTreeMap, BTreeSet};

use assay_syntax::shell::{self, Source, interpreter, program_name};

use super::layout::{field, layout, setting, spaced};
use super::lists::{EVERYDAY, EXTENSIONS, PROGRAMS, SCRIPT_EXTENSIONS};
use super::{Kind, Probe, SkillPackage};

/// Longest piece of inline code that is checked, in bytes.
const CODE_CAP: usize = 200;

/// Most programs that are taken from code blocks.
const PROGRAM_CAP: usize = 500;

/// Something that can be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) kind: Kind,
    pub(super) subject: String,
    pub(super) probe: Probe,
}

impl Unit {
    fn new(kind: Kind, subject: &str, probe: Probe) -> Self {
        Self { kind, subject: subject.to_owned(), probe }
    }

    pub(super) fn text(kind: Kind, subject: &str) -> Self {
        Self::new(kind, subject, Probe::Text(subject.to_owned()))
    }

    pub(super) fn layout(kind: Kind, subject: &str, pattern: String) -> Self {
        Self::new(kind, subject, Probe::Layout(pattern))
    }
}

/// The files of a package that a skill's text can name.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// By path, and by name where only one has it; `true` for documents, which are read and not
    /// run.
    paths: BTreeMap<String, (String, bool)>,
    /// Programs that a code block runs, which need not be known to be commands elsewhere.
    programs: BTreeSet<String>,
}

impl Names {
    pub(super) fn new(package: &SkillPackage) -> Self {
        let mut paths = BTreeMap::new();
        let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for file in &package.files {
            let path = file.path.as_str();
            paths.insert(path.to_owned(), (path.to_owned(), is_document(path)));
            names.entry(last_part(path)).or_default().push(path);
        }
        for (name, found) in names {
            if let [path] = found[..] {
                paths.insert(name.to_owned(), (path.to_owned(), is_document(path)));
            }
        }
        Self { paths, programs: BTreeSet::new() }
    }

    /// Takes the programs that a block of shell commands runs.
    pub(super) fn add_programs(&mut self, text: &str) {
        for simple in shell::commands(text, Source::Script) {
            let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
            if let Some(first) = shell::program(&words).first()
                && is_program(first)
                && EVERYDAY.binary_search(first).is_err()
                && self.programs.len() < PROGRAM_CAP
            {
                self.programs.insert((*first).to_owned());
            }
        }
    }

    /// The file of the package that a path in its text names, and whether it is a document.
    fn find(&self, path: &str) -> Option<(&str, bool)> {
        let path = path.trim_start_matches("./");
        let mut rest = Some(path);
        // `$SKILL_DIR/scripts/a.py` and `.claude/skills/x/scripts/a.py` name `scripts/a.py`.
        while let Some(tail) = rest {
            if let Some((path, document)) = self.paths.get(tail) {
                return Some((path, *document));
            }
            rest = tail.split_once('/').map(|(_, tail)| tail);
        }
        None
    }

    /// Whether a path or name is one of the package.
    pub(super) fn contains(&self, path: &str) -> bool {
        self.find(path).is_some()
    }

    /// The script of the package that a path names, to be run.
    pub(super) fn runnable(&self, path: &str) -> Option<Unit> {
        let path = self.script(path)?;
        Some(script_or_asset(&path))
    }

    /// A path that a text names as a script to run, also of packages whose files are not at hand.
    fn script(&self, path: &str) -> Option<String> {
        if let Some((path, document)) = self.find(path) {
            return (!document).then(|| path.to_owned());
        }
        let folder = path.trim_start_matches("./").split('/').rev().nth(1);
        let runs = extension(path).is_some_and(|extension| SCRIPT_EXTENSIONS.contains(&extension));
        let plain = path.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
        let named = runs && plain && matches!(folder, Some("scripts" | "bin" | "tools"));
        named.then(|| path.trim_start_matches("./").to_owned())
    }
}

/// The last part of a path.
pub(super) fn last_part(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

fn extension(path: &str) -> Option<&str> {
    last_part(path).rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension)
}

/// Whether a file of a package is read and not run or filled in.
pub(super) fn is_document(path: &str) -> bool {
    let prose = extension(path).is_none_or(|extension| matches!(extension, "md" | "mdx" | "rst" | "txt"));
    let template =
        path.split('/').any(|part| matches!(part, "assets" | "templates" | "template" | "examples"));
    let name = last_part(path).to_ascii_lowercase();
    let aside = [
        "license",
        "licence",
        "changelog",
        "notice",
        "contributing",
        "code_of_conduct",
        "requirements",
        "authors",
    ];
    prose && !template && !aside.iter().any(|start| name.starts_with(start))
}

/// What a piece of inline code can be checked by. Empty for what is too common or too short.
pub(super) fn units(code: &str, column: bool, names: &Names) -> Vec<Unit> {
    let code = code.trim();
    if code.is_empty() || code.len() > CODE_CAP || code.contains('\n') {
        return Vec::new();
    }
    let words: Vec<&str> = code.split_whitespace().collect();
    if let [word] = words[..] {
        return single(word, column, names).into_iter().collect();
    }
    if let [option, value] = words[..]
        && option.starts_with("--")
        && is_flag(option)
    {
        return flag_value(option, value).into_iter().collect();
    }
    if is_flag(words[0]) {
        return options(&words).into_iter().collect();
    }
    if let Some(unit) = tag(code) {
        return vec![unit];
    }
    if is_command_line(&words, names) {
        let mut units: Vec<Unit> = shell::commands(code, Source::Command)
            .iter()
            .flat_map(|simple| command(&simple.words, names))
            .collect();
        // An everyday program with an option is named for that option: `rm -rf`.
        if let ([program, option], true) = (&words[..], units.is_empty())
            && is_flag(option)
        {
            let probe = Probe::Command { program: (*program).to_owned(), words: vec![(*option).to_owned()] };
            units.push(Unit::new(Kind::Flag, code, probe));
        }
        return units;
    }
    phrase(code).into_iter().collect()
}

/// Whether words are a command rather than a phrase, a statement or an expression.
pub(super) fn is_command_line(words: &[&str], names: &Names) -> bool {
    let words = shell::program(words);
    let Some(first) = words.first() else { return false };
    let name = program_name(first);
    let known = PROGRAMS.binary_search(&name).is_ok()
        || interpreter(name).is_some()
        || (words.len() <= 4 && names.programs.contains(name));
    let plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c))
        && name.starts_with(|c: char| c.is_ascii_lowercase());
    let flagged = || words[1..].iter().any(|word| is_flag(word));
    let sentence = || {
        words[1..].iter().any(|word| (word.ends_with(['.', ',', ':', ';']) && *word != "...") || *word == "=")
    };
    names.script(first).is_some() || (plain && !sentence() && (known || flagged() || first.starts_with("./")))
}

fn is_flag(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    let long = name.strip_prefix("--").is_some_and(|rest| {
        rest.len() >= 2
            && rest.starts_with(|c: char| c.is_ascii_alphabetic())
            && rest.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    });
    let short = name.strip_prefix('-').is_some_and(|rest| {
        (1..=8).contains(&rest.len())
            && rest.chars().all(|c| c.is_ascii_alphanumeric())
            && !rest.starts_with(|c: char| c.is_ascii_digit())
    });
    long || short
}

/// The value of an option, where it is a word that the skill chose and not a place for one.
fn is_choice(word: &str) -> bool {
    let sample = word.starts_with(|c: char| c.is_ascii_uppercase())
        && (word.contains('_') || word.contains(|c: char| c.is_ascii_lowercase()));
    !sample
        && word.len() >= 2
        && word.len() <= 24
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_,:+".contains(c))
}

fn is_subcommand(word: &str) -> bool {
    word.len() >= 2
        && word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_:".contains(c))
}

/// What a command can be checked by: a script of the package and its options, or the program with its
/// subcommands and options as one unit.
pub(super) fn command(words: &[String], names: &Names) -> Vec<Unit> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut words = shell::program(&words);
    while let [runner, rest @ ..] = words
        && let Some((skip, next)) = runner_of(runner, rest)
        && next
    {
        words = &rest[skip..];
    }
    let Some((first, mut rest)) = words.split_first() else { return Vec::new() };
    let mut units = Vec::new();
    let mut program = program_name(first).to_owned();
    let mut script = names.script(first);
    if script.is_none() && interpreter(&program).is_some() {
        let at = rest.iter().position(|word| !word.starts_with('-'));
        if let Some(at) = at
            && let Some(found) = names.script(rest[at])
        {
            script = Some(found);
            rest = &rest[at + 1..];
        }
    }
    let mut leading: Vec<String> = Vec::new();
    if let Some(path) = script {
        last_part(&path).clone_into(&mut program);
        units.push(Unit::new(Kind::Script, &path, Probe::Script(path.clone())));
    } else if !is_program(&program) {
        return Vec::new();
    } else if interpreter(&program).is_some() {
        if let [option @ "-m", module, tail @ ..] = rest
            && is_subcommand(&module.replace('.', "_"))
        {
            leading = vec![(*option).to_owned(), (*module).to_owned()];
            rest = tail;
        } else {
            return Vec::new();
        }
    } else if EVERYDAY.binary_search(&program.as_str()).is_err() {
        let subcommands = rest.iter().take_while(|word| is_subcommand(word)).take(2);
        leading.extend(subcommands.map(|word| (*word).to_owned()));
        rest = &rest[leading.len()..];
    }
    let everyday = EVERYDAY.binary_search(&program.as_str()).is_ok();
    let flags = rest
        .iter()
        .enumerate()
        .filter_map(|(at, word)| flag(&program, &leading, word, rest.get(at + 1).copied(), everyday));
    let flags: Vec<Unit> = flags.collect();
    if !units.is_empty() {
        units.extend(flags);
        return units;
    }
    if let Some(whole) = joined(&program, &leading, flags) {
        units.push(whole);
    } else if !everyday
        && (!leading.is_empty() || PROGRAMS.binary_search(&program.as_str()).is_err() || !rest.is_empty())
    {
        let subject = std::iter::once(program.as_str()).chain(leading.iter().map(String::as_str));
        let subject: Vec<&str> = subject.collect();
        units.push(Unit::new(
            Kind::Command,
            &subject.join(" "),
            Probe::Command { program: program.clone(), words: leading.clone() },
        ));
    }
    units
}

/// A call with options as one unit: all of them, so that a call without one is no part of it.
fn joined(program: &str, leading: &[String], mut flags: Vec<Unit>) -> Option<Unit> {
    if flags.len() < 2 {
        return flags.pop();
    }
    let own = |unit: &Unit| match &unit.probe {
        Probe::Command { words, .. } => words[leading.len().min(words.len())..].to_vec(),
        _ => Vec::new(),
    };
    let words: Vec<String> = leading.iter().cloned().chain(flags.iter().flat_map(own)).collect();
    let subject =
        std::iter::once(program).chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    Some(Unit::new(Kind::Command, &subject, Probe::Command { program: program.to_owned(), words }))
}

/// Whether a word runs the program after it: how many words to skip, and whether one follows.
pub(super) fn runner_of(runner: &str, rest: &[&str]) -> Option<(usize, bool)> {
    let skip = match (runner, rest.first().copied()) {
        ("npx" | "uvx" | "bunx" | "pipx", _) => usize::from(rest.first() == Some(&"run")),
        ("uv" | "poetry" | "pipenv" | "hatch" | "rye" | "conda", Some("run"))
        | ("bundle" | "pnpm", Some("exec" | "dlx")) => 1,
        _ => return None,
    };
    let options = rest[skip..].iter().take_while(|word| word.starts_with('-')).count();
    Some((skip + options, rest.len() > skip + options))
}

pub(super) fn is_program(name: &str) -> bool {
    name.len() >= 2
        && (name.starts_with(|c: char| c.is_ascii_lowercase()) || name.contains(['-', '_', '.']))
        && name.len() <= 40
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c))
        && !name.ends_with('.')
}

fn flag(program: &str, leading: &[String], word: &str, next: Option<&str>, everyday: bool) -> Option<Unit> {
    if !is_flag(word) {
        return None;
    }
    let long = word.starts_with("--");
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, next.filter(|next| !next.starts_with('-'))),
    };
    if everyday && !(long && name.len() > 6) && name.len() < 5 {
        return None;
    }
    let value = value.filter(|value| long && is_choice(value));
    let mut words = leading.to_vec();
    words.push(name.to_owned());
    words.extend(value.map(str::to_owned));
    let subject = match (long, value) {
        (true, Some(value)) => format!("{name} {value}"),
        (true, None) => name.to_owned(),
        (false, _) => format!("{program} {name}"),
    };
    Some(Unit::new(Kind::Flag, &subject, Probe::Command { program: program.to_owned(), words }))
}

/// An option with its value, of a command that is named elsewhere.
fn flag_value(option: &str, value: &str) -> Option<Unit> {
    if !is_choice(value) {
        return single(option, false, &Names::default());
    }
    let pattern = format!(r"{}[= ]{}\b", regex_syntax::escape(option), regex_syntax::escape(value));
    Some(Unit::layout(Kind::Flag, &format!("{option} {value}"), pattern))
}

/// Options with their values, of a command that is named elsewhere: `-e MODE="fast"`. Values may be quoted otherwise.
fn options(words: &[&str]) -> Option<Unit> {
    let quote = r#"["']?"#;
    let plain = |word: &str| -> String { word.chars().filter(|c| !matches!(c, '"' | '\'')).collect() };
    let parts: Vec<String> = words
        .iter()
        .map(|word| {
            let word = plain(word);
            let pieces: Vec<String> = word.split('=').map(regex_syntax::escape).collect();
            format!("{quote}{}{quote}", pieces.join(&format!("={quote}")))
        })
        .collect();
    let telling = words.iter().map(|word| word.len()).sum::<usize>() >= 6;
    let pattern = format!(r"(?:^|\s){}(?:\s|$)", parts.join(r"[=\s]+"));
    telling.then(|| Unit::layout(Kind::Flag, &words.join(" "), pattern))
}

/// An element of HTML or XML with attributes, which may stand in any order and quoting with others between.
fn tag(code: &str) -> Option<Unit> {
    let inner = code.strip_prefix('<')?.strip_suffix('>')?.trim_end_matches('/');
    let (name, attributes) = inner.split_once(char::is_whitespace)?;
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-:_.".contains(c))
    };
    let (attribute, value) = attributes.trim().split_once('=')?;
    let value = value.trim_matches(['"', '\'', '{', '}']);
    let plain = is_name(name) && is_name(attribute) && !value.contains(['"', '\'', '=']);
    let escape = regex_syntax::escape;
    let pattern =
        format!(r#"<{}\b[^>]*\b{}\s*=\s*["'{{]?{}"#, escape(name), escape(attribute), escape(value));
    plain.then(|| Unit::layout(Kind::Literal, code, pattern))
}

/// Names of columns that data of any kind has.
const ANY_DATA: [&str; 22] = [
    "address",
    "content",
    "count",
    "data",
    "date",
    "description",
    "false",
    "file",
    "id",
    "key",
    "list",
    "name",
    "none",
    "null",
    "object",
    "path",
    "string",
    "text",
    "title",
    "true",
    "type",
    "value",
];

/// A word of inline code.
fn single(word: &str, column: bool, names: &Names) -> Option<Unit> {
    let word = word.trim_end_matches([',', ';']);
    if let Some((path, document)) = names.find(word) {
        return (!document).then(|| script_or_asset(path));
    }
    if let Some(path) = names.script(word) {
        return Some(script_or_asset(&path));
    }
    if word.contains("://") {
        return Some(Unit::text(Kind::Literal, word)).filter(|_| word.len() > 12);
    }
    if is_flag(word) && word.len() < 4 {
        return None;
    }
    if word.starts_with("--") && is_flag(word) {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        if is_choice(value) {
            return flag_value(name, value);
        }
        return Some(Unit::text(Kind::Flag, name));
    }
    if is_flag(word) {
        return Some(Unit::text(Kind::Literal, word));
    }
    let bare = word.trim_start_matches("./");
    if let Some(pattern) = layout(word) {
        let kind = if word.contains('/') && word.contains('*') { Kind::File } else { Kind::Format };
        return Some(Unit::layout(kind, word, pattern));
    }
    if let Some(unit) = escape_sequence(word) {
        return Some(unit);
    }
    if is_file(bare) {
        return Some(Unit::new(Kind::File, bare, Probe::Text(tail(bare).to_owned())));
    }
    if let Some((key, value)) = split_setting(word) {
        return Some(Unit::layout(Kind::Literal, word, setting(key, value)));
    }
    if let Some(unit) = affix(word) {
        return Some(unit);
    }
    if let Some((name, _)) = word.split_once('(').filter(|(name, _)| !name.is_empty()) {
        let plain = name.chars().all(|c| c.is_ascii_alphabetic());
        return match name.len() {
            4.. if shape(name) => Some(Unit::text(Kind::Literal, name)),
            4.. if plain => Some(Unit::layout(Kind::Literal, name, format!(r"\b{name}\("))),
            _ => None,
        };
    }
    if column && is_identifier(word) && word.len() >= 3 && ANY_DATA.binary_search(&word).is_err() {
        return Some(if shape(word) {
            Unit::text(Kind::Column, word)
        } else {
            Unit::layout(Kind::Column, word, field(word))
        });
    }
    if shape(word) {
        return (word.chars().count() <= 80).then(|| Unit::text(Kind::Literal, word));
    }
    plain(word)
}

/// A word of any sentence that is set as code: a value. It shows something where data or code has it
/// as one.
fn plain(word: &str) -> Option<Unit> {
    if PROGRAMS.binary_search(&word).is_ok() && EVERYDAY.binary_search(&word).is_err() {
        let probe = Probe::Command { program: word.to_owned(), words: Vec::new() };
        return Some(Unit::new(Kind::Command, word, probe));
    }
    let telling = (4..=30).contains(&word.len())
        && word.chars().all(|c| c.is_ascii_alphabetic())
        && EVERYDAY.binary_search(&word).is_err()
        && ANY_DATA.binary_search(&word).is_err();
    // It may be a module too.
    let pattern = format!(r"{}|\b(?:import|from|require\(.)\s*{word}\b", field(word));
    telling.then(|| Unit::layout(Kind::Literal, word, pattern))
}

/// A value of one to three signs, with the name of what has it: "the flag `u`".
pub(super) fn value(name: &str, code: &str) -> Option<Unit> {
    let short = (1..=3).contains(&code.chars().count()) && !code.contains(char::is_whitespace);
    let known = HOLDERS.binary_search(&name).is_ok();
    (short && known && !code.chars().all(|c| c.is_ascii_digit()))
        .then(|| Unit::layout(Kind::Literal, code, setting(name, code)))
}

/// Nouns that a value follows.
const HOLDERS: [&str; 24] = [
    "category", "class", "code", "decision", "flag", "grade", "kind", "label", "level", "mark", "mode",
    "outcome", "phase", "priority", "reason", "result", "severity", "stage", "state", "status", "tag",
    "tier", "type", "verdict",
];

fn script_or_asset(path: &str) -> Unit {
    let runs = extension(path).is_some_and(|extension| SCRIPT_EXTENSIONS.contains(&extension));
    let kind = if runs { Kind::Script } else { Kind::File };
    Unit::new(kind, path, Probe::Script(path.to_owned()))
}

/// The end of a path by which it is recognized wherever a command runs.
fn tail(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    match path.rmatch_indices('/').nth(1) {
        Some((at, _)) => &path[at + 1..],
        None => path,
    }
}

/// Whether a word is a file's or folder's name.
pub(super) fn is_file(word: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "/._-@+~".contains(c);
    if word.len() < 4 || !word.chars().all(plain) || word.starts_with("//") {
        return false;
    }
    let name = last_part(word);
    let by_extension = extension(word)
        .is_some_and(|extension| EXTENSIONS.binary_search(&extension.to_ascii_lowercase().as_str()).is_ok());
    // `.value` is an attribute, `.gitignore` a file.
    let ends =
        ["rc", "ignore", "env", "config", "conf", "profile", "history", "keep", "attributes", "modules"];
    let hidden = word.starts_with('.') && ends.iter().any(|end| word[1..].ends_with(end));
    let folder = word.matches('/').count() >= 2 || (word.ends_with('/') && word.len() > 5);
    let numeric = name.chars().all(|c| c.is_ascii_digit() || c == '.');
    (by_extension && !numeric && name.len() > 3) || hidden || (folder && !word.contains(".."))
}

/// `\u00e9` and the like: any character escaped in that way.
fn escape_sequence(word: &str) -> Option<Unit> {
    let (mark, digits) =
        [("\\u", 4), ("\\x", 2), ("\\U", 8)].into_iter().find(|(mark, _)| word.starts_with(mark))?;
    let hex = word[2..].chars().all(|c| c.is_ascii_hexdigit()) && word.len() == 2 + digits;
    hex.then(|| {
        Unit::layout(Kind::Format, word, format!(r"{}[0-9a-fA-F]{{{digits}}}", regex_syntax::escape(mark)))
    })
}

/// `KEY=value` and `key: value`.
pub(super) fn split_setting(text: &str) -> Option<(&str, &str)> {
    let at = text.find(['=', ':'])?;
    let (key, value) = (text[..at].trim().trim_matches(['"', '\'']), text[at + 1..].trim());
    // `image:tag` is one name.
    let apart = text[at..].starts_with('=') || text[at + 1..].starts_with([' ', '"', '\'']);
    let named = apart
        && key.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_alphanumeric() || "._-".contains(c));
    let plain = !value.is_empty()
        && !value.starts_with(['=', ':', '/'])
        && !value.contains(['{', '}', '<', '`', '(', '|']);
    (named && plain && key.len() >= 2).then_some((key, value))
}

/// A prefix such as `stg_`, or a suffix such as `_total`, of names that are to be given.
fn affix(word: &str) -> Option<Unit> {
    let body = word.trim_matches('_');
    if body.len() < 2
        || !body.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        || !body.starts_with(|c: char| c.is_alphabetic())
    {
        return None;
    }
    let escaped = regex_syntax::escape(word);
    if word.ends_with('_') && !word.starts_with(['_', '-']) {
        return Some(Unit::layout(Kind::Format, word, format!(r"\b{escaped}\w")));
    }
    None
}

fn is_identifier(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_alphanumeric() || "_-. ".contains(c))
}

/// Whether a word is distinctive by its form: a digit among letters, an underscore, capitals within
/// it, or signs that prose does not have.
pub(super) fn shape(word: &str) -> bool {
    let chars = || word.chars();
    let alphabetic = chars().filter(|c| c.is_alphabetic()).count();
    let digits = chars().filter(char::is_ascii_digit).count();
    let inner = |sign: char| word.trim_matches(|c: char| !c.is_alphanumeric()).contains(sign);
    if alphabetic + digits < 2 {
        return false;
    }
    let hump = chars().zip(chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let loud = alphabetic >= 2 && chars().all(|c| !c.is_lowercase());
    let mixed = alphabetic >= 1 && digits >= 1;
    let numeric = alphabetic == 0 && digits >= 4;
    let marked = alphabetic >= 3 && word.starts_with(['@', '$', '%', '#', '.', '\\', '_', ':', '/']);
    mixed
        || hump
        || loud
        || numeric
        || marked
        || inner('_')
        || (alphabetic >= 5 && ['.', '-', ':', '/', '@', '\\', '+'].into_iter().any(inner))
}

/// Several words of inline code that are no command: a fixed text, a statement, a layout.
fn phrase(code: &str) -> Option<Unit> {
    let letters = code.chars().filter(|c| c.is_alphanumeric()).count();
    if letters < 4 || code.split_whitespace().count() > 10 {
        return None;
    }
    if let Some(pattern) = layout(code) {
        return Some(Unit::layout(Kind::Format, code, pattern));
    }
    if let Some((key, value)) =
        split_setting(code).filter(|(key, value)| !key.contains(' ') && value.len() <= 60)
    {
        return Some(Unit::layout(Kind::Literal, code, setting(key, value)));
    }
    Some(Unit::layout(Kind::Literal, code, spaced(code)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let file = |path: &str| super::super::SkillFile { path: path.to_owned(), text: String::new() };
        let files = ["SKILL.md", "scripts/fire.py", "references/glaze.md", "assets/label.svg"];
        Names::new(&SkillPackage { files: files.map(file).to_vec(), ..SkillPackage::default() })
    }

    #[test]
    fn inline_code_is_checked_by_its_kind() {
        let check = |code: &str, expected: &[&str]| {
            let units = units(code, false, &names());
            let found: Vec<String> =
                units.iter().map(|unit| format!("{:?} {}", unit.kind, unit.subject)).collect();
            assert_eq!(found, expected, "{code}");
            for unit in &units {
                if let Probe::Layout(pattern) = &unit.probe {
                    regex_syntax::parse(pattern).unwrap();
                }
            }
        };
        check("python3 scripts/fire.py --cone 6 out.csv", &["Script scripts/fire.py", "Flag --cone"]);
        check("scripts/fire.py", &["Script scripts/fire.py"]);
        check("fire.py", &["Script scripts/fire.py"]);
        check("references/glaze.md", &[]);
        check("assets/label.svg", &["File assets/label.svg"]);
        check("kilnctl soak start --format json -n 3", &["Command kilnctl soak start --format json -n"]);
        check("npx kilnctl check", &["Command kilnctl check"]);
        check("git rebase --onto main", &["Flag --onto main"]);
        check("ls -la", &["Flag ls -la"]);
        check("sleep()", &["Literal sleep"]);
        check("--sum", &["Flag --sum"]);
        check("--mode=dry", &["Flag --mode dry"]);
        check("--mode dry", &["Flag --mode dry"]);
        check("kiln:20", &["Literal kiln:20"]);
        check("K07", &["Literal K07"]);
        check("open", &["Literal open"]);
        check("true", &[]);
        check("jq", &["Command jq"]);
        check("cat", &[]);
        check("|", &[]);
        check("kiln.toml", &["File kiln.toml"]);
        check("config.kiln.sum", &["Literal config.kiln.sum"]);
        check("src/api/v2/routes.js", &["File src/api/v2/routes.js"]);
        check("MAX_HEAT=3", &["Literal MAX_HEAT=3"]);
        check("policy: slow", &["Literal policy: slow"]);
        check("glz_", &["Format glz_"]);
        check("_missing", &["Literal _missing"]);
        check("Out of kiln", &["Literal Out of kiln"]);
        check("BEGIN WORK", &["Literal BEGIN WORK"]);
        check("\\u00e9", &["Format \\u00e9"]);
        check("fire_all()", &["Literal fire_all"]);
        check("<pot>-<nn>", &["Format <pot>-<nn>"]);
        check("999983", &["Literal 999983"]);
        check("12", &[]);
    }
}
