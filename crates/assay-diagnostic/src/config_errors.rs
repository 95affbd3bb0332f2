//! All errors of a configuration file in TOML, not only the first.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use crate::ConfigError;

/// Most errors of one file that are listed.
const MOST: usize = 50;

/// The errors of a configuration file, in the order of their places, with missing keys last; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors {
    /// The file.
    pub path: PathBuf,
    /// What is wrong in it.
    pub errors: Vec<ConfigError>,
}

impl ConfigErrors {
    /// The first error in one line, and the lines that follow it: where it is, and the same of the others.
    pub fn to_message(&self) -> (String, Vec<String>) {
        let mut errors = self.errors.iter().map(|error| (line(&self.path, error), &error.excerpt));
        let Some((first, excerpt)) = errors.next() else { return (String::new(), Vec::new()) };
        let mut details = excerpt.clone();
        for (message, excerpt) in errors {
            details.push(message);
            details.extend(excerpt.iter().cloned());
        }
        (first, details)
    }

    /// The same errors of a file that was read in another place.
    #[must_use]
    pub fn of_file(self, path: &Path) -> Self {
        Self { path: path.to_owned(), ..self }
    }
}

fn line(path: &Path, error: &ConfigError) -> String {
    format!("{}:{}:{}: {}", path.display(), error.line, error.column, error.message)
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.errors.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&line(&self.path, error))?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// A key that could not be read.
#[derive(Debug)]
struct LeftOut {
    name: String,
    /// Where its table begins and ends in the text.
    block: Range<usize>,
}

/// Reads a configuration file, and notes what is wrong in it.
///
/// A key that cannot be read is left out, so that the rest is still checked.
#[derive(Debug)]
pub struct ConfigReader<'a> {
    source: &'a str,
    errors: Vec<(usize, ConfigError)>,
    left_out: Vec<LeftOut>,
}

impl<'a> ConfigReader<'a> {
    /// A reader of a text.
    pub fn new(source: &'a str) -> Self {
        Self { source, errors: Vec::new(), left_out: Vec::new() }
    }

    /// The content, without the keys that cannot be read; `None` if it cannot be read without them. Places are those of
    /// the text.
    pub fn deserialize<T: DeserializeOwned>(&mut self) -> Option<T> {
        let mut text = self.source.to_owned();
        while self.errors.len() < MOST {
            let error = match toml::from_str(&text) {
                Ok(content) => return Some(content),
                Err(error) => error,
            };
            let is_consequence = self.left_out.iter().any(|key| {
                error.message().trim_start().starts_with(&format!("missing field `{}`", key.name))
            });
            if is_consequence {
                return None;
            }
            let at = error.span();
            let start = at.as_ref().map_or(0, |span| span.start);
            self.errors.push((start, ConfigError::of_serde(self.source, at.clone(), error.message())));
            let (name, place) = unreadable_key(&text, start)?;
            self.left_out.push(LeftOut { name, block: block_around(&text, start) });
            text = without(&text, &place);
        }
        None
    }

    /// Notes an error at a place unless something holds; returns whether it does.
    pub fn check(&mut self, holds: bool, at: usize, message: impl Into<String>) -> bool {
        if !holds {
            self.report(at, message);
        }
        holds
    }

    /// Notes an error at a place. What only follows from a key that could not be read is none.
    pub fn report(&mut self, at: usize, message: impl Into<String>) {
        let message = message.into();
        let follows = |key: &LeftOut| key.block.contains(&at) && message.contains(&key.name);
        if !self.left_out.iter().any(follows) {
            self.errors.push((at, ConfigError::at(self.source, at..at, message)));
        }
    }

    /// The value of a result; notes its error.
    pub fn value_or_report<T, E: fmt::Display>(&mut self, found: Result<T, E>, at: usize) -> Option<T> {
        found.map_err(|error| self.report(at, error.to_string())).ok()
    }

    /// The content, if nothing is wrong in the file.
    ///
    /// # Errors
    /// With all that was noted.
    pub fn finish<T>(mut self, path: &Path, content: Option<T>) -> Result<T, ConfigErrors> {
        match content {
            Some(content) if self.errors.is_empty() => Ok(content),
            _ => {
                // A key may be missing because another is misspelled, which is said first.
                self.errors.sort_by_key(|(at, error)| (error.message.starts_with("missing key"), *at));
                let mut errors: Vec<ConfigError> = self.errors.into_iter().map(|(_, error)| error).collect();
                errors.dedup();
                Err(ConfigErrors { path: path.to_owned(), errors })
            }
        }
    }
}

/// The text with spaces in a place, so that other places stay.
fn without(text: &str, place: &Range<usize>) -> String {
    let blank: String =
        text[place.clone()].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
    format!("{}{blank}{}", &text[..place.start], &text[place.end..])
}

/// The smallest key with its value, or the table under a header, around a place, without which the text is still
/// TOML; with the name of the key.
fn unreadable_key(text: &str, at: usize) -> Option<(String, Range<usize>)> {
    let document = DeTable::parse(text).ok()?;
    let mut around = Vec::new();
    collect_around(document.get_ref(), at, &mut around);
    let header = block_around(text, at);
    if text[header.clone()].starts_with('[')
        && text[header.clone()].find('\n').is_none_or(|end| at < header.start + end)
    {
        let name = text[header.clone()].trim_start_matches('[').split([']', '\n']).next().unwrap_or_default();
        around.push((name.trim().to_owned(), header));
    }
    around.sort_by_key(|(_, place)| place.len());
    around.into_iter().find(|(_, place)| {
        place.contains(&at) && !place.is_empty() && DeTable::parse(&without(text, place)).is_ok()
    })
}

/// The keys of a table, and of those in it, with the places of key and value.
fn collect_around(table: &DeTable<'_>, at: usize, found: &mut Vec<(String, Range<usize>)>) {
    for (key, value) in table {
        let place = key.span().start..value.span().end.max(key.span().end);
        if place.contains(&at) {
            found.push((key.get_ref().to_string(), place));
        }
        collect_in(value.get_ref(), at, found);
    }
}

fn collect_in(value: &DeValue<'_>, at: usize, found: &mut Vec<(String, Range<usize>)>) {
    match value {
        DeValue::Table(table) => collect_around(table, at, found),
        DeValue::Array(items) => items.iter().for_each(|item| collect_in(item.get_ref(), at, found)),
        _ => {}
    }
}

/// The lines from the header of a table to the next header, around a place.
fn block_around(text: &str, at: usize) -> Range<usize> {
    let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(end, _)| end + 1));
    let headers: Vec<usize> =
        line_starts.filter(|start| text[*start..].trim_start().starts_with('[')).collect();
    let begin = headers.iter().copied().rfind(|start| *start <= at).unwrap_or(0);
    let end = headers.iter().copied().find(|start| *start > at).unwrap_or(text.len());
    begin..end
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        name: String,
        #[serde(default)]
        count: u32,
        #[serde(default)]
        sizes: Vec<u32>,
        #[serde(default)]
        limits: Limits,
        #[serde(default)]
        agents: Vec<Limits>,
        #[serde(default)]
        named: BTreeMap<String, Limits>,
    }

    #[derive(Deserialize, Default)]
    #[serde(deny_unknown_fields)]
    struct Limits {
        #[serde(default)]
        seconds: f64,
        #[serde(default)]
        label: String,
    }

    fn check(text: &str, expected: &[&str]) {
        let mut reader = ConfigReader::new(text);
        if let Some(file) = reader.deserialize::<File>() {
            reader.check(file.count < 10, 0, "`count` must be below 10");
            let sum = file.sizes.iter().sum::<u32>();
            reader.check(sum < 100, 0, "`sizes` are too large");
            for limits in file.agents.iter().chain(file.named.values()).chain([&file.limits]) {
                reader.check(!limits.label.contains(' '), 1, "`label` has a space");
                reader.check(
                    limits.seconds >= 0.0,
                    text.find("seconds").unwrap_or(0),
                    "`seconds` is negative",
                );
            }
            reader.check(!file.name.is_empty(), 0, "`name` is empty");
        }
        let found = reader.finish(Path::new("c.toml"), Some(())).map_err(|errors| errors.to_string());
        match found {
            Ok(()) => assert!(expected.is_empty(), "{text}"),
            Err(found) => {
                let found: Vec<&str> = found.lines().collect();
                let same = found.len() == expected.len()
                    && found.iter().zip(expected).all(|(found, expected)| found.starts_with(expected));
                assert!(same, "{text}: {found:#?}");
            }
        }
    }

    #[test]
    fn all_errors_are_listed_at_their_lines() {
        check("name = \"a\"\n", &[]);
        check(
            "name = \"a\"\ncuont = 3\ncount = 12\n",
            &["c.toml:1:1: `count` must", "c.toml:2:1: unknown key `cuont`"],
        );
        // Of the wrong type, in a table, in a list of tables, in a table on one line.
        check(
            "name = 1\ncount = \"x\"\n",
            &["c.toml:1:8: expected a string", "c.toml:2:9: expected a whole number"],
        );
        check(
            "name = \"a\"\nsizes = [1, \"x\"]\nlimits = { seconds = 1, sconds = 2 }\n[[agents]]\nlable = \"a\"\nseconds = -1\n[[agents]]\nseconds = \"x\"\n",
            &[
                "c.toml:2:13: expected a whole number",
                "c.toml:3:12",
                "c.toml:3:25: unknown key `sconds`",
                "c.toml:5:1: unknown key `lable`",
                "c.toml:8:11: expected a number",
            ],
        );
        // A table that nobody knows.
        check(
            "name = \"a\"\ncount = 20\n[limit]\nseconds = 2\n[named.x]\nlabel = 3\n",
            &["c.toml:1:1: `count` must", "c.toml:3:2: unknown key `limit`", "c.toml:6:9: expected a string"],
        );
        // Missing: the first of two.
        check("count = \"x\"\n", &["c.toml:1:9: expected a whole number", "c.toml:1:1: missing key `name`"]);
        // No TOML: only its place.
        check("name = \"a\"\ncount = = 1\n", &["c.toml:2:9"]);
    }

    /// A key that could not be read is not missed, and what follows from its absence is no error of its own.
    #[test]
    fn a_key_that_was_left_out_has_one_error() {
        check("name = [1]\n", &["c.toml:1:8: expected a string"]);
        let mut reader = ConfigReader::new("name = \"a\"\ncount = \"many\"\n");
        assert!(reader.deserialize::<File>().is_some());
        reader.report(0, "`count` must be given");
        assert_eq!(reader.finish(Path::new("c"), Some(())).unwrap_err().errors.len(), 1);
    }

    #[test]
    fn a_message_has_the_first_error_and_details_of_all() {
        let mut reader = ConfigReader::new("a = 1\nb = 2\n");
        reader.report(6, "no b");
        reader.report(0, "no a");
        let (first, details) = reader.finish(Path::new("c.toml"), Some(())).unwrap_err().to_message();
        assert_eq!(first, "c.toml:1:1: no a");
        assert_eq!(details, ["1 | a = 1", "  | ^", "c.toml:2:1: no b", "2 | b = 2", "  | ^"]);
    }
}
