//! `[lint]` of `assay.toml`: read with the place of every key, so that a mistake is reported where it stands.

mod resolve;

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use assay_diagnostic::{ConfigError, did_you_mean};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::{Allow, Budgets, Client, Level, Patterns, Selection, Selector};

pub use resolve::{ConfigNotice, LintFlags, resolve_options};

/// The name of the file.
pub const CONFIG_FILE: &str = "assay.toml";

/// The keys of a whole file.
const TOP: [&str; 4] = ["store", "color", "prices", "lint"];
/// The keys of `[lint]`.
const KEYS: [&str; 8] =
    ["clients", "select", "ignore", "severity", "budgets", "exclude", "suppression-comments", "allow"];

/// Why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LintConfigError {
    /// What is wrong, with the file and the line.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The line, with what is wrong marked.
    pub details: Vec<String>,
}

impl LintConfigError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, details: Vec::new() }
    }

    fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    fn with_details(self, details: Vec<String>) -> Self {
        Self { details, ..self }
    }
}

/// What a configuration says of `assay lint`.
#[derive(Debug, Clone)]
pub struct LintConfig {
    /// The file as it was found.
    pub file: PathBuf,
    /// The clients that it names, if it names any.
    pub clients: Option<Vec<Client>>,
    /// Its budgets.
    pub budgets: Budgets,
    /// For the rules that are not safety rules.
    pub form: Selection,
    /// For the safety rules, where the configuration is the caller's.
    pub safety: Selection,
}

/// The largest budget: nothing that is computed from it overflows.
const LARGEST: usize = 1_000_000_000;
/// Most bytes of a file that are read: it may have come with what is linted.
const CAP: u64 = 1 << 20;

/// The configuration that holds for a folder: in it, or in the nearest one above that has one.
pub fn find_config(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(CONFIG_FILE)).find(|file| file.is_file())
}

/// Whether a file is a link. One that came with what is linted could lead to any file of the machine.
pub fn is_link(file: &Path) -> bool {
    std::fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_symlink())
}

/// Reads the `[lint]` table of a file.
///
/// # Errors
/// The file cannot be read, or has a mistake.
pub fn read_config(file: &Path) -> Result<LintConfig, LintConfigError> {
    let fail = |error| explain_unreadable(file, &error);
    let text = read_config_text(file).map_err(fail)??;
    let real = std::fs::canonicalize(file).map_err(fail)?;
    let root = real.parent().unwrap_or(Path::new("/")).to_path_buf();
    let reader = Reader { file, text: &text };
    let document = reader.parse()?;
    reader.keys(&document, &TOP, "the file")?;
    let empty = DeTable::new();
    let lint = match document.get("lint") {
        Some(value) => reader.table(value, "lint")?,
        None => &empty,
    };
    reader.keys(lint, &KEYS, "[lint]")?;
    reader.lint(lint, root)
}

/// A file's text, where it is not too large.
///
/// # Errors
/// The outer error is that of the file; the inner one says that it is too large.
pub fn read_config_text(file: &Path) -> std::io::Result<Result<String, LintConfigError>> {
    let mut text = String::new();
    std::fs::File::open(file)?.take(CAP + 1).read_to_string(&mut text)?;
    if text.len() as u64 > CAP {
        return Ok(Err(LintConfigError::new(format!("{} has more than {CAP} bytes", file.display()))));
    }
    Ok(Ok(text))
}

/// Why a file cannot be read.
pub fn explain_unreadable(file: &Path, error: &std::io::Error) -> LintConfigError {
    LintConfigError::new(format!("cannot read {}: {error}", file.display()))
}

/// Fails on a file whose top level holds an unknown key.
///
/// # Errors
/// Such a key, or a file that is not TOML.
pub fn check_top_keys(file: &Path, text: &str) -> Result<(), LintConfigError> {
    let reader = Reader { file, text };
    reader.keys(&reader.parse()?, &TOP, "the file")
}

struct Reader<'a> {
    file: &'a Path,
    text: &'a str,
}

type Value<'a> = Spanned<DeValue<'a>>;

impl<'a> Reader<'a> {
    fn parse(&self) -> Result<DeTable<'a>, LintConfigError> {
        DeTable::parse(self.text)
            .map(Spanned::into_inner)
            .map_err(|error| self.fail(error.span().unwrap_or(0..0), error.message().trim()))
    }

    fn fail(&self, at: Range<usize>, message: impl AsRef<str>) -> LintConfigError {
        let ConfigError { line, message, excerpt, .. } = ConfigError::at(self.text, at, message.as_ref());
        LintConfigError::new(format!("{}:{line}: {message}", self.file.display())).with_details(excerpt)
    }

    fn keys(&self, table: &DeTable<'_>, known: &[&str], place: &str) -> Result<(), LintConfigError> {
        for key in table.keys() {
            let name = key.get_ref().as_ref();
            if !known.contains(&name) {
                let near = assay_skill::nearest(name, known.iter().copied());
                let hint = did_you_mean(&near)
                    .unwrap_or_else(|| format!("known keys of {place}: {}", known.join(", ")));
                return Err(self.fail(key.span(), format!("unknown key `{name}`")).with_hint(hint));
            }
        }
        Ok(())
    }

    fn table<'v>(&self, value: &'v Value<'a>, name: &str) -> Result<&'v DeTable<'a>, LintConfigError> {
        let fail = || self.wrong(value, name, "a table");
        value.get_ref().as_table().ok_or_else(fail)
    }

    fn text<'v>(&self, value: &'v Value<'a>, name: &str) -> Result<&'v str, LintConfigError> {
        value.get_ref().as_str().ok_or_else(|| self.wrong(value, name, "a string"))
    }

    /// The strings of an array, each with its place.
    fn texts<'v>(
        &self,
        table: &'v DeTable<'a>,
        name: &str,
    ) -> Result<Vec<(&'v str, Range<usize>)>, LintConfigError> {
        let Some(value) = table.get(name) else { return Ok(Vec::new()) };
        let items = value.get_ref().as_array().ok_or_else(|| self.wrong(value, name, "a list of strings"))?;
        items.iter().map(|item| Ok((self.text(item, name)?, item.span()))).collect()
    }

    fn wrong(&self, value: &Value<'a>, name: &str, expected: &str) -> LintConfigError {
        let found = value.get_ref().type_str();
        self.fail(value.span(), format!("`{name}` is {found}, expected {expected}"))
    }

    fn selector(&self, name: &str, at: Range<usize>) -> Result<Selector, LintConfigError> {
        Selector::parse(name).map_err(|error| self.fail(at, error.to_string()).with_hint(error.hint()))
    }

    fn selectors(&self, table: &DeTable<'a>, name: &str) -> Result<Vec<Selector>, LintConfigError> {
        self.texts(table, name)?.into_iter().map(|(rule, at)| self.selector(rule, at)).collect()
    }

    fn one_of(&self, word: &str, at: Range<usize>, what: &str, known: &[&str]) -> LintConfigError {
        let near = assay_skill::nearest(word, known.iter().copied());
        let hint = did_you_mean(&near).unwrap_or_else(|| format!("one of {}", known.join(", ")));
        self.fail(at, format!("unknown {what} `{word}`")).with_hint(hint)
    }

    fn lint(&self, table: &DeTable<'a>, root: PathBuf) -> Result<LintConfig, LintConfigError> {
        let select = self.selectors(table, "select")?;
        let selection = Selection {
            select_from_file: !select.is_empty(),
            select,
            ignore: self.selectors(table, "ignore")?,
            levels: self.levels(table)?,
            exclude: self.exclude(table)?,
            allow: self.allow(table)?,
            comments: true,
            root,
        };
        let (form, safety) = match table.get("suppression-comments") {
            None => (true, false),
            Some(value) => match self.text(value, "suppression-comments")? {
                "none" => (false, false),
                "form" => (true, false),
                "all" => (true, true),
                other => {
                    return Err(self.one_of(other, value.span(), "value", &["none", "form", "all"]));
                }
            },
        };
        Ok(LintConfig {
            file: self.file.to_path_buf(),
            clients: self.clients(table)?,
            budgets: self.budgets(table)?,
            form: Selection { comments: form, ..selection.clone() },
            safety: Selection { comments: safety, ..selection },
        })
    }

    fn clients(&self, table: &DeTable<'a>) -> Result<Option<Vec<Client>>, LintConfigError> {
        let Some(value) = table.get("clients") else { return Ok(None) };
        let names = crate::client::CLIENTS.map(Client::name);
        let mut clients = Vec::new();
        for (name, at) in self.texts(table, "clients")? {
            clients.push(Client::find(name).ok_or_else(|| self.one_of(name, at, "client", &names))?);
        }
        if clients.is_empty() {
            return Err(self
                .fail(value.span(), "`clients` is empty")
                .with_hint("name at least one client, or leave the key out for all"));
        }
        clients.sort_unstable();
        clients.dedup();
        Ok(Some(clients))
    }

    fn levels(&self, table: &DeTable<'a>) -> Result<Vec<(Selector, Level)>, LintConfigError> {
        let Some(value) = table.get("severity") else { return Ok(Vec::new()) };
        let mut levels = Vec::new();
        for (rule, level) in self.table(value, "severity")? {
            let selector = self.selector(rule.get_ref(), rule.span())?;
            let word = self.text(level, rule.get_ref())?;
            let level = Level::find(word)
                .ok_or_else(|| self.one_of(word, level.span(), "severity", &Level::NAMES))?;
            levels.push((selector, level));
        }
        Ok(levels)
    }

    fn budgets(&self, table: &DeTable<'a>) -> Result<Budgets, LintConfigError> {
        let mut budgets = Budgets::default();
        let Some(value) = table.get("budgets") else { return Ok(budgets) };
        for (key, value) in self.table(value, "budgets")? {
            let name = key.get_ref().as_ref();
            let Some(budget) = budgets.get_mut(name) else {
                return Err(self.one_of(name, key.span(), "budget", &Budgets::NAMES));
            };
            let least = usize::from(!Budgets::may_be_zero(name));
            let is_window = name == "context-window";
            let fits = |number: &usize| {
                (least..=LARGEST).contains(number)
                    && !(is_window && (1..Budgets::LEAST_WINDOW).contains(number))
            };
            let range = if is_window {
                format!("0, or a whole number from {} to {LARGEST}", Budgets::LEAST_WINDOW)
            } else {
                format!("a whole number from {least} to {LARGEST}")
            };
            let digits = value.get_ref().as_integer().filter(|integer| integer.radix() == 10);
            *budget = digits
                .and_then(|integer| integer.as_str().parse().ok())
                .filter(fits)
                .ok_or_else(|| self.wrong(value, name, &range))?;
        }
        Ok(budgets)
    }

    fn exclude(&self, table: &DeTable<'a>) -> Result<Patterns, LintConfigError> {
        let patterns = self.texts(table, "exclude")?;
        for (pattern, at) in &patterns {
            Patterns::new([*pattern])
                .map_err(|error| self.fail(at.clone(), format!("not a pattern: {}", error.kind())))?;
        }
        Patterns::new(patterns.iter().map(|(pattern, _)| *pattern))
            .map_err(|error| self.fail(0..0, format!("not patterns: {}", error.kind())))
    }

    fn allow(&self, table: &DeTable<'a>) -> Result<Vec<Allow>, LintConfigError> {
        let Some(value) = table.get("allow") else { return Ok(Vec::new()) };
        let items = value.get_ref().as_array().ok_or_else(|| self.wrong(value, "allow", "[[lint.allow]]"))?;
        let mut allowed = Vec::new();
        for item in items {
            let entry = self.table(item, "allow")?;
            self.keys(entry, &["code", "path", "reason"], "[[lint.allow]]")?;
            let get = |name: &str| entry.get(name).map(|value| self.text(value, name)).transpose();
            let need = |name: &str| {
                get(name)?.filter(|text| !text.trim().is_empty()).ok_or_else(|| {
                    self.fail(item.span(), format!("[[lint.allow]] without `{name}`"))
                        .with_hint("each needs `code` and `reason`, and may have `path`")
                })
            };
            let code = need("code")?;
            let at = entry.get("code").map_or_else(|| item.span(), Spanned::span);
            allowed.push(Allow {
                code: self.selector(code, at)?,
                path: get("path")?.map(str::to_owned),
                reason: need("reason")?.to_owned(),
            });
        }
        Ok(allowed)
    }
}
