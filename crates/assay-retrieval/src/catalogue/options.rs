//! Options after a retriever's name.

use std::str::FromStr;

use super::error::UnknownRetriever;

/// `key=value` pairs that have not been taken yet.
pub(super) struct Options<'a> {
    pub(super) name: &'static str,
    left: Vec<(&'a str, &'a str)>,
}

impl<'a> Options<'a> {
    pub(super) fn parse(name: &'static str, text: &'a str) -> Result<Self, UnknownRetriever> {
        let pair = |option: &'a str| option.split_once('=').ok_or_else(|| wrong_option(name, option));
        let left = text.split(',').filter(|option| !option.is_empty()).map(pair).collect::<Result<_, _>>()?;
        Ok(Self { name, left })
    }

    /// A value as text; of several the last.
    pub(super) fn text(&mut self, key: &str) -> Option<&'a str> {
        let found = self.left.iter().rev().find(|(own, _)| *own == key).map(|(_, value)| *value);
        self.left.retain(|(own, _)| *own != key);
        found
    }

    /// A value that parses and satisfies a condition.
    pub(super) fn number<T: FromStr>(
        &mut self,
        key: &str,
        is_good: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, UnknownRetriever> {
        let Some(text) = self.text(key) else { return Ok(None) };
        text.parse().ok().filter(is_good).map(Some).ok_or_else(|| self.wrong_value(key, text))
    }

    /// One of several words.
    pub(super) fn choice<'b>(
        &mut self,
        key: &str,
        words: &[&'b str],
    ) -> Result<Option<&'b str>, UnknownRetriever> {
        let Some(text) = self.text(key) else { return Ok(None) };
        words
            .iter()
            .find(|word| **word == text)
            .map(|word| Some(*word))
            .ok_or_else(|| self.wrong_value(key, text))
    }

    /// A text with `%2C` for a comma and `%0A` for a line feed.
    pub(super) fn unescaped(&mut self, key: &str) -> Result<Option<String>, UnknownRetriever> {
        let Some(text) = self.text(key) else { return Ok(None) };
        unescaped(text).map(Some).ok_or_else(|| self.wrong_value(key, text))
    }

    pub(super) fn wrong_value(&self, key: &str, value: &str) -> UnknownRetriever {
        wrong_option(self.name, &format!("{key}={value}"))
    }

    pub(super) fn missing_option(&self, what: &'static str) -> UnknownRetriever {
        UnknownRetriever::Lacks { name: self.name.to_owned(), what }
    }

    /// Everything has been taken.
    pub(super) fn finish(self) -> Result<(), UnknownRetriever> {
        self.left.first().map_or(Ok(()), |(key, value)| Err(self.wrong_value(key, value)))
    }
}

fn wrong_option(name: &str, option: &str) -> UnknownRetriever {
    UnknownRetriever::Option { name: name.to_owned(), option: option.to_owned() }
}

fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}
