//! One table of a TOML file, read key by key with the place of every mistake.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use assay_diagnostic::{MOST_SECONDS, escape, group_digits};
use assay_skill::{Diagnostic, Severity, position};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::TaskError;

/// Most processors.
const MOST_PROCESSORS: f64 = 1e6;

/// Most MiB of memory or storage: a pebibyte.
pub(super) const MOST_MEBIBYTES: f64 = (1_u64 << 30) as f64;

/// Most of anything that is counted, and the largest reward.
const MOST_OF_COUNT: f64 = 1e9;

/// The file that is read, and its diagnostics.
pub(super) struct Source<'a> {
    pub(super) file: &'a Path,
    pub(super) text: &'a str,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Keys that were not read, dotted.
    pub(super) unknown: Vec<String>,
}

impl Source<'_> {
    /// A mistake at a place.
    pub(super) fn error(
        &self,
        at: &Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> TaskError {
        let (line, column) = position(self.text, at.start);
        TaskError::Line {
            path: self.file.to_path_buf(),
            line,
            column,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// A leniency at a place.
    pub(super) fn note(
        &mut self,
        severity: Severity,
        code: &'static str,
        at: &Range<usize>,
        message: impl Into<String>,
        hint: &str,
    ) {
        let place = position(self.text, at.start);
        self.diagnostics.push(Diagnostic::new(severity, code, self.file, message).at(place).hint(hint));
    }
}

/// A table that is being read. Keys are removed; those left at the end are unknown.
pub(super) struct Section<'a> {
    prefix: String,
    span: Range<usize>,
    table: DeTable<'a>,
}

/// An entry of a list of texts and tables.
pub(super) enum Item<'a> {
    Text(String, Range<usize>),
    Table(Section<'a>),
}

type Value<'a> = Spanned<DeValue<'a>>;
type Read<T> = Result<T, TaskError>;

impl<'a> Section<'a> {
    pub(super) fn root(document: Spanned<DeTable<'a>>) -> Self {
        Self { prefix: String::new(), span: document.span(), table: document.into_inner() }
    }

    /// The place of the table.
    pub(super) fn span(&self) -> &Range<usize> {
        &self.span
    }

    /// The dotted name of a key of this table, safe to print.
    pub(super) fn dotted(&self, key: &str) -> String {
        if self.prefix.is_empty() { escape(key) } else { format!("{}.{}", self.prefix, escape(key)) }
    }

    pub(super) fn take_value(&mut self, key: &str) -> Option<Value<'a>> {
        self.table.remove(key)
    }

    /// Removes keys that are known and read elsewhere, or not at all.
    pub(super) fn ignore_keys(&mut self, keys: &[&str]) {
        for key in keys {
            self.table.remove(*key);
        }
    }

    fn report_wrong_type<T>(
        &self,
        source: &Source<'_>,
        key: &str,
        value: &Value<'_>,
        wanted: &str,
    ) -> Read<T> {
        let name = self.dotted(key);
        let found = value.get_ref().type_str();
        Err(source.error(
            &value.span(),
            format!("`{name}` is a TOML {found}, expected {wanted}"),
            format!("write {wanted}"),
        ))
    }

    pub(super) fn section(&mut self, source: &Source<'_>, key: &str) -> Read<Option<Self>> {
        let Some(value) = self.take_value(key) else { return Ok(None) };
        let span = value.span();
        if !value.get_ref().is_table() {
            return self.report_wrong_type(source, key, &value, "a table");
        }
        let DeValue::Table(table) = value.into_inner() else { return Ok(None) };
        Ok(Some(Self { prefix: self.dotted(key), span, table }))
    }

    pub(super) fn string(&mut self, source: &Source<'_>, key: &str) -> Read<Option<String>> {
        let Some(value) = self.take_value(key) else { return Ok(None) };
        match value.get_ref().as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => self.report_wrong_type(source, key, &value, "a string"),
        }
    }

    /// A text, or a number read as one (a user id, a version without quotes).
    pub(super) fn text(&mut self, source: &mut Source<'_>, key: &str) -> Read<Option<String>> {
        let Some(value) = self.take_value(key) else { return Ok(None) };
        match plain(value.get_ref()) {
            Some(text) => Ok(Some(text)),
            None => self.report_wrong_type(source, key, &value, "a string"),
        }
    }

    pub(super) fn boolean(&mut self, source: &Source<'_>, key: &str) -> Read<Option<(bool, Range<usize>)>> {
        let Some(value) = self.take_value(key) else { return Ok(None) };
        match value.get_ref().as_bool() {
            Some(flag) => Ok(Some((flag, value.span()))),
            None => self.report_wrong_type(source, key, &value, "`true` or `false`"),
        }
    }

    /// A number above zero (or from zero on) and at most `most`, written as a number, or as a text that is one.
    /// Infinity is accepted only if the caller gives it a meaning.
    fn number(
        &mut self,
        source: &mut Source<'_>,
        key: &str,
        from_zero: bool,
        most: f64,
        may_be_infinite: bool,
    ) -> Read<Option<f64>> {
        let Some(value) = self.take_value(key) else { return Ok(None) };
        let Some(number) = self.float(source, key, &value) else {
            return self.report_wrong_type(source, key, &value, "a number");
        };
        let fits = number > 0.0 || (from_zero && number == 0.0);
        if fits && (number <= most || may_be_infinite && number.is_infinite()) {
            return Ok(Some(number));
        }
        let least = if from_zero { "of at least 0" } else { "above 0" };
        let name = self.dotted(key);
        let message = match (number.is_infinite(), fits) {
            (true, true) => format!("`{name}` must be finite"),
            (false, true) => format!("`{name}` is {number:e}, expected at most {}", group_digits(most)),
            (_, false) => format!("`{name}` is {number:?}, expected a number {least}"),
        };
        let hint = format!("write a number {least} and at most {}, or omit the key", group_digits(most));
        Err(source.error(&value.span(), message, hint))
    }

    /// Seconds above (or from) zero, at most a week.
    pub(super) fn seconds(
        &mut self,
        source: &mut Source<'_>,
        key: &str,
        from_zero: bool,
    ) -> Read<Option<f64>> {
        self.number(source, key, from_zero, MOST_SECONDS, false)
    }

    /// Seconds above zero, at most a week, or infinity for no limit.
    pub(super) fn seconds_or_none(&mut self, source: &mut Source<'_>, key: &str) -> Read<Option<f64>> {
        Ok(self.number(source, key, false, MOST_SECONDS, true)?.filter(|seconds| seconds.is_finite()))
    }

    /// Processors.
    pub(super) fn processors(&mut self, source: &mut Source<'_>, key: &str) -> Read<Option<f64>> {
        self.number(source, key, false, MOST_PROCESSORS, false)
    }

    /// A size in MiB.
    pub(super) fn mebibytes(&mut self, source: &mut Source<'_>, key: &str) -> Read<Option<f64>> {
        self.number(source, key, false, MOST_MEBIBYTES, false)
    }

    /// A whole number of at least 0.
    pub(super) fn count(&mut self, source: &mut Source<'_>, key: &str) -> Read<Option<u64>> {
        let Some(value) = self.take_value(key) else { return Ok(None) };
        let whole =
            self.float(source, key, &value).filter(|n| n.fract() == 0.0 && (0.0..=MOST_OF_COUNT).contains(n));
        match whole {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a whole number between 0 and a billion"
            )]
            Some(number) => Ok(Some(number as u64)),
            None => self.report_wrong_type(source, key, &value, "an integer from 0 to 1,000,000,000"),
        }
    }

    fn float(&self, source: &mut Source<'_>, key: &str, value: &Value<'_>) -> Option<f64> {
        match value.get_ref() {
            DeValue::Integer(number) => {
                i64::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n as f64)
            }
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::String(text) => {
                let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite())?;
                let message = format!("`{}` is a string; it was read as a number", self.dotted(key));
                source.note(
                    Severity::Info,
                    "number-as-text",
                    &value.span(),
                    message,
                    "write it without quotes",
                );
                Some(number)
            }
            _ => None,
        }
        .filter(|number| !number.is_nan())
    }

    /// A list of texts; one text is read as a list of one.
    pub(super) fn strings(
        &mut self,
        source: &mut Source<'_>,
        key: &str,
    ) -> Read<Vec<(String, Range<usize>)>> {
        let Some(value) = self.take_value(key) else { return Ok(Vec::new()) };
        if let Some(text) = value.get_ref().as_str() {
            let message = format!("`{}` is a single string; it was read as a list of one", self.dotted(key));
            source.note(Severity::Info, "list-as-text", &value.span(), message, "put it in brackets");
            return Ok(vec![(text.to_owned(), value.span())]);
        }
        let Some(items) = value.get_ref().as_array() else {
            return self.report_wrong_type(source, key, &value, "a list of strings");
        };
        let mut list = Vec::new();
        for item in items {
            match item.get_ref().as_str() {
                Some(text) => list.push((text.to_owned(), item.span())),
                None => return self.report_wrong_type(source, key, item, "a string"),
            }
        }
        Ok(list)
    }

    /// A table of texts; numbers and booleans are taken as they are written.
    pub(super) fn string_map(
        &mut self,
        source: &mut Source<'_>,
        key: &str,
    ) -> Read<BTreeMap<String, String>> {
        let mut map = BTreeMap::new();
        let Some(section) = self.section(source, key)? else { return Ok(map) };
        for (name, value) in &section.table {
            let Some(text) = plain(value.get_ref()) else {
                return section.report_wrong_type(source, name.get_ref(), value, "a string");
            };
            if !value.get_ref().is_str() {
                let message =
                    format!("`{}` is not a string; it was read as one", section.dotted(name.get_ref()));
                source.note(
                    Severity::Info,
                    "text-without-quotes",
                    &value.span(),
                    message,
                    "put it in quotes",
                );
            }
            map.insert(name.get_ref().to_string(), text);
        }
        Ok(map)
    }

    /// Numbers by name; one number is that of `default`.
    pub(super) fn thresholds(
        &mut self,
        source: &mut Source<'_>,
        key: &str,
        default: &str,
    ) -> Read<BTreeMap<String, f64>> {
        let mut found = BTreeMap::new();
        let Some(value) = self.take_value(key) else { return Ok(found) };
        let wanted = "a number, or a table of numbers";
        let is_reward = |number: &f64| number.abs() <= MOST_OF_COUNT;
        let DeValue::Table(table) = value.get_ref() else {
            let Some(number) = self.float(source, key, &value).filter(is_reward) else {
                return self.report_wrong_type(source, key, &value, wanted);
            };
            return Ok(BTreeMap::from([(default.to_owned(), number)]));
        };
        for (name, value) in table {
            let Some(number) = self.float(source, key, value).filter(is_reward) else {
                return self.report_wrong_type(source, key, value, wanted);
            };
            found.insert(name.get_ref().to_string(), number);
        }
        Ok(found)
    }

    /// A list of texts and tables.
    pub(super) fn items(&mut self, source: &Source<'_>, key: &str) -> Read<Vec<Item<'a>>> {
        let Some(value) = self.take_value(key) else { return Ok(Vec::new()) };
        if !value.get_ref().is_array() {
            return self.report_wrong_type(source, key, &value, "a list");
        }
        let DeValue::Array(items) = value.into_inner() else { return Ok(Vec::new()) };
        let prefix = self.dotted(key);
        items
            .into_iter()
            .map(|item| {
                let span = item.span();
                match item.get_ref() {
                    DeValue::String(text) => return Ok(Item::Text(text.to_string(), span)),
                    DeValue::Table(_) => {}
                    _ => return self.report_wrong_type(source, key, &item, "a list of strings or tables"),
                }
                let DeValue::Table(table) = item.into_inner() else {
                    return Ok(Item::Text(String::new(), span));
                };
                Ok(Item::Table(Self { prefix: prefix.clone(), span, table }))
            })
            .collect()
    }

    /// Reports the keys that were not read.
    pub(super) fn finish(self, source: &mut Source<'_>) {
        for key in self.table.keys() {
            let name = self.dotted(key.get_ref());
            let message = format!("`{name}` is not a key of the format: it has no effect");
            source.note(Severity::Info, "unknown-key", &key.span(), message, "check the spelling");
            source.unknown.push(name);
        }
    }
}

/// A scalar as it is written.
fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}
