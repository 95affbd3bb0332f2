//! Which findings are reported, and at which severity, as configured by the user.
//!
//! There are two [`Selection`]s: one for safety rules and one for the others. A configuration that
//! comes with the linted content affects only the others: it must not be able to turn off the
//! scanner.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use assay_diagnostic::did_you_mean;
use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::budgets::Budgets;
use crate::client::{CLIENTS, Client};
use crate::diagnostic::{Diagnostic, Severity};
use crate::paths::{beneath, relative};
use crate::rule::Rule;
use crate::rules::{opt_in, rules};
use crate::safety;

/// Names of rules: a code, the beginning of codes up to a hyphen, `safety` for all safety rules, or
/// `all`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector(String);

/// The name of no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown rule `{name}`")]
pub struct UnknownRule {
    /// What was written.
    pub name: String,
    /// The rules that are spelt similarly, nearest first.
    pub near: Vec<String>,
}

impl UnknownRule {
    /// What to do about it.
    pub fn hint(&self) -> String {
        did_you_mean(&self.near).unwrap_or_else(|| "`assay lint explain` lists the rules".to_owned())
    }
}

impl Selector {
    /// Parses a name; an error if it matches no rule.
    pub fn parse(name: &str) -> Result<Self, UnknownRule> {
        let selector = Self(name.to_owned());
        if name == "all" || rules().iter().any(|rule| selector.covers(rule.code)) {
            return Ok(selector);
        }
        let names = rules().into_iter().map(|rule| rule.code).chain(["all", "safety"]);
        Err(UnknownRule { name: name.to_owned(), near: assay_skill::nearest(name, names) })
    }

    /// Whether it names a rule.
    pub fn covers(&self, code: &str) -> bool {
        let begins = code
            .strip_prefix(self.0.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-') && !self.0.is_empty());
        begins || self.0 == "all" || self.0 == "safety" && safety::owns(code)
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A configured severity of a rule's findings, which replaces the severities per client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Not at all.
    Off,
    /// With this severity.
    As(Severity),
}

impl Level {
    /// The words that a configuration may use.
    pub const NAMES: [&str; 4] = ["off", "info", "warning", "error"];

    /// Finds a level by name.
    pub fn find(word: &str) -> Option<Self> {
        match word {
            "off" => Some(Self::Off),
            "info" => Some(Self::As(Severity::Info)),
            "warning" => Some(Self::As(Severity::Warning)),
            "error" => Some(Self::As(Severity::Error)),
            _ => None,
        }
    }
}

/// Path patterns: `*` matches within a name, `**` any folders. A pattern without a slash matches a
/// name at any depth, and a pattern that matches a folder matches everything in it.
#[derive(Debug, Clone, Default)]
pub struct Patterns(GlobSet);

impl Patterns {
    /// Compiles patterns; an error if one is invalid.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, globset::Error> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            for glob in globs(pattern)? {
                set.add(glob);
            }
        }
        set.build().map(Self)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them matches a path.
    pub fn matches(&self, path: &Path) -> bool {
        self.0.is_match(path)
    }
}

fn globs(pattern: &str) -> Result<[Glob; 2], globset::Error> {
    let trimmed = pattern.trim_end_matches('/');
    let anchored = trimmed.trim_start_matches("./").trim_start_matches('/');
    let whole = if trimmed.contains('/') { anchored.to_owned() } else { format!("**/{anchored}") };
    let compile = |text: &str| GlobBuilder::new(text).literal_separator(true).build();
    Ok([compile(&whole)?, compile(&format!("{whole}/**"))?])
}

/// A rule accepted for some paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allow {
    /// The rule, or the beginning of rules, `safety` or `all`.
    pub code: Selector,
    /// A path pattern, with `*` for any characters; every package if absent.
    pub path: Option<String>,
    /// Why.
    pub reason: String,
}

impl Allow {
    /// Whether it covers a finding in a file, given relative to the configuration's folder and as
    /// an absolute path.
    pub fn covers(&self, code: &str, relative: &Path, absolute: &Path) -> bool {
        self.code.covers(code)
            && self.path.as_deref().is_none_or(|pattern| {
                let file = if pattern.starts_with('/') { absolute } else { relative };
                let file = file.to_string_lossy();
                let pattern = pattern.trim_end_matches('/').trim_start_matches("./");
                wildcard_matches(pattern, &file) || wildcard_matches(&format!("{pattern}/*"), &file)
            })
    }
}

/// Whether a text matches a pattern in which `*` stands for any characters.
fn wildcard_matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(first) = parts.next() else { return text.is_empty() };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(before) = last.replace(part) {
            match rest.find(before) {
                Some(at) => rest = &rest[at + before.len()..],
                None => return false,
            }
        }
    }
    match last {
        None => rest.is_empty(),
        Some(end) => rest.ends_with(end),
    }
}

/// Which rules are reported, and how.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The rules that are reported; empty: all but those of [`opt_in`].
    pub select: Vec<Selector>,
    /// Whether a configuration chose them: then findings of the others are counted as ignored.
    pub select_from_file: bool,
    /// The rules among them that are not reported.
    pub ignore: Vec<Selector>,
    /// Configured severities. If several match a rule, the longest name wins.
    pub levels: Vec<(Selector, Level)>,
    /// Excluded files, as patterns relative to `root`.
    pub exclude: Patterns,
    /// Suppressed findings, as patterns relative to `root`.
    pub allow: Vec<Allow>,
    /// Whether a comment in a skill suppresses these rules.
    pub comments: bool,
    /// The canonical folder that paths are relative to.
    pub root: PathBuf,
}

impl Selection {
    /// Whether a rule was chosen.
    pub fn selects(&self, code: &str) -> bool {
        if self.select.is_empty() {
            // Setting a severity for a rule also selects it.
            let own = |(name, level): &(Selector, Level)| {
                *level != Level::Off && !matches!(name.name(), "all" | "safety") && name.covers(code)
            };
            return opt_in(code).is_none() || self.levels.iter().any(own);
        }
        self.select.iter().any(|name| name.covers(code))
    }

    /// Whether a selected rule is turned off.
    pub fn is_off(&self, code: &str) -> bool {
        self.ignore.iter().any(|name| name.covers(code)) || self.level(code) == Some(Level::Off)
    }

    /// The configured level of a rule.
    pub fn level(&self, code: &str) -> Option<Level> {
        let fitting = self.levels.iter().filter(|(name, _)| name.covers(code));
        // `all` and `safety` are broader than any prefix of a code.
        let width = |name: &str| if matches!(name, "all" | "safety") { 0 } else { name.len() };
        fitting.max_by_key(|(name, _)| width(name.name())).map(|(_, level)| *level)
    }

    /// A path relative to the root, as patterns match it.
    pub fn relative(&self, path: &Path) -> PathBuf {
        if self.root.as_os_str().is_empty() { path.to_path_buf() } else { relative(path, &self.root) }
    }

    /// Whether a path is excluded. A path outside of the root is matched relative to the linted
    /// folder that contains it: a pattern must not match a folder above it.
    pub fn excludes(&self, path: &Path, linted: &[PathBuf]) -> bool {
        if self.exclude.is_empty() {
            return false;
        }
        let seen = self.relative(path);
        if seen.is_relative() && !seen.starts_with(Component::ParentDir) {
            return self.exclude.matches(&seen);
        }
        beneath(path, linted).is_some_and(|seen| !seen.as_os_str().is_empty() && self.exclude.matches(seen))
    }

    /// The configuration keys that hide findings of safety rules or lower their severity.
    pub fn weakens_safety(&self) -> Vec<&'static str> {
        let safety = || rules().into_iter().filter(|rule| safety::owns(rule.code));
        let lowered = |rule: &Rule| match self.level(rule.code) {
            Some(Level::Off) => true,
            Some(Level::As(severity)) => {
                rule.severities.max_severity(&CLIENTS).is_some_and(|own| severity < own)
            }
            None => false,
        };
        let off = |rule: &Rule| opt_in(rule.code).is_none() && !self.selects(rule.code);
        let ignored = |rule: &Rule| self.ignore.iter().any(|name| name.covers(rule.code));
        [
            ("select", self.select_from_file && safety().any(off)),
            ("ignore", safety().any(ignored)),
            ("severity", safety().any(lowered)),
            ("exclude", !self.exclude.is_empty()),
            ("suppression-comments", self.comments),
            ("allow", safety().any(|rule| self.allow.iter().any(|allow| allow.code.covers(rule.code)))),
        ]
        .into_iter()
        .filter_map(|(key, weakens)| weakens.then_some(key))
        .collect()
    }
}

/// All settings for some packages.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The clients whose severities count.
    pub clients: Vec<Client>,
    /// For the safety rules.
    pub safety: Selection,
    /// For all other rules.
    pub form: Selection,
    /// Limits of size.
    pub budgets: Budgets,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            clients: CLIENTS.to_vec(),
            // The author of the scanned content must not decide what is reported.
            safety: Selection { comments: false, ..Selection::default() },
            form: Selection { comments: true, ..Selection::default() },
            budgets: Budgets::default(),
        }
    }
}

impl Policy {
    /// The severity of a finding for the selected clients. A field that some client documents is an
    /// error only if a client that rejects it is selected explicitly.
    pub fn severity(&self, found: &Diagnostic) -> Option<Severity> {
        let severity = found.clients.max_severity(&self.clients)?;
        let asked = self.clients.len() < CLIENTS.len();
        Some(if found.documented && !asked { severity.min(Severity::Warning) } else { severity })
    }

    /// The selection that applies to a rule.
    pub fn of(&self, code: &str) -> &Selection {
        if safety::owns(code) { &self.safety } else { &self.form }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rules_are_checked() {
        for name in ["name-case", "name", "safety", "all", "listing-budget"] {
            assert!(Selector::parse(name).is_ok(), "{name}");
        }
        let check = |name: &str, near: &str| {
            let error = Selector::parse(name).expect_err(name);
            assert!(error.hint().contains(near), "{name}: {}", error.hint());
        };
        check("name-cose", "did you mean `name-case`");
        check("desciption-length", "`description-length`");
        check("saftey", "`safety`");
        check("nam", "name-");
        check("", "lists the rules");
        assert!(Selector::parse("name-").is_err());
    }

    #[test]
    fn the_longest_name_sets_the_level() {
        let level = |name: &str, level: &str| {
            (Selector::parse(name).expect("a rule"), Level::find(level).expect("a level"))
        };
        let selection = Selection {
            levels: vec![level("name-case", "error"), level("name", "off"), level("all", "info")],
            ..Selection::default()
        };
        let check = |code: &str, expected| assert_eq!(selection.level(code), Level::find(expected), "{code}");
        check("name-case", "error");
        check("name-clash", "off");
        check("body-lines", "info");
        assert!(selection.is_off("name-clash") && !selection.is_off("name-case"));
    }

    #[test]
    fn patterns_match_folders_and_their_content() {
        let check = |pattern: &str, path: &str, expected: bool| {
            let patterns = Patterns::new([pattern]).expect("a pattern");
            assert_eq!(patterns.matches(Path::new(path)), expected, "{pattern} {path}");
        };
        check("vendor", "vendor/a/SKILL.md", true);
        check("vendor", "a/vendor/b", true);
        check("vendor", "vendored/a", false);
        check("skills/old-*", "skills/old-a/scripts/x.sh", true);
        check("skills/old-*", "other/skills/old-a", false);
        check("./skills/a/", "skills/a", true);
        check("*.min.js", "a/b/x.min.js", true);
        check("skills/*/x.md", "skills/a/b/x.md", false);
        check("skills/**/x.md", "skills/a/b/x.md", true);
        check("**/fixtures/**", "a/fixtures/b/SKILL.md", true);
        assert!(Patterns::new(["a{"]).is_err());
    }

    #[test]
    fn patterns_fit() {
        let check = |pattern: &str, text: &str, expected| {
            assert_eq!(wildcard_matches(pattern, text), expected, "{pattern} {text}");
        };
        check("a", "a", true);
        check("a", "ab", false);
        check("a*", "ab", true);
        check("*b", "ab", true);
        check("a*c*e", "abcde", true);
        check("a*c*e", "abde", false);
        check("*", "", true);
    }
}
