//! The state of a simulated shell script: variables, files it wrote, and the text it executes in
//! the end.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use assay_syntax::code::Language;

use super::rule::Rule;
use super::rules::{ENCODED_EXECUTION, REMOTE_PIPE, REMOTE_PIPE_UNTRUSTED};
use super::site::{Scan, Site};
use super::unicode::excerpt;
use super::value::{Taint, Value};

/// The target of a command's output.
#[derive(Debug, Clone)]
pub(crate) struct Redirect {
    pub(crate) target: Value,
    pub(crate) span: Range<usize>,
}

/// One command, its words resolved.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) words: Vec<Value>,
    pub(crate) span: Range<usize>,
    pub(crate) input: Value,
    pub(crate) outputs: Vec<Redirect>,
}

/// The state at one point of a script.
pub(crate) struct Shell<'s, 'a> {
    pub(crate) scan: &'s mut Scan,
    pub(crate) site: &'s Site<'a>,
    pub(crate) source: &'s str,
    pub(crate) variables: BTreeMap<String, Value>,
    /// Files that were downloaded, by name.
    pub(crate) downloaded: BTreeSet<String>,
    /// The content written to files, by name.
    pub(crate) hidden: BTreeMap<String, Value>,
    /// Whether the script has changed its folder.
    pub(crate) moved: bool,
    budget: usize,
}

/// Most bytes of expanded variables: a script may name a long one a hundred thousand times.
const BUDGET: usize = 32 << 20;

impl<'s, 'a> Shell<'s, 'a> {
    pub(crate) fn new(scan: &'s mut Scan, site: &'s Site<'a>, source: &'s str) -> Self {
        Self {
            scan,
            site,
            source,
            variables: BTreeMap::new(),
            downloaded: BTreeSet::new(),
            hidden: BTreeMap::new(),
            moved: false,
            budget: BUDGET,
        }
    }

    /// The value of a variable, if known.
    pub(crate) fn variable(&mut self, name: &str) -> Value {
        match name {
            "IFS" => return Value::known(" "),
            "HOME" => return Value::known("~"),
            _ => {}
        }
        let Some(value) = self.variables.get(name) else { return Value::default() };
        match self.budget.checked_sub(value.str().len()) {
            Some(left) => {
                self.budget = left;
                value.clone()
            }
            None => Value::tainted(value.taint),
        }
    }

    /// A value is executed as a program of `language`.
    pub(crate) fn execute(&mut self, value: &Value, span: &Range<usize>, language: Option<Language>) {
        if value.taint.has(Taint::NETWORK) {
            let (rule, message) = if value.taint.has(Taint::UNTRUSTED) {
                (
                    &REMOTE_PIPE_UNTRUSTED,
                    "what a plain, numeric, shortened or paste address sends is executed unseen",
                )
            } else {
                (&REMOTE_PIPE, "executes code from a URL without review")
            };
            self.scan.report(self.site, rule, span.clone(), message);
        }
        let decoded = value.taint.has(Taint::DECODED);
        if decoded {
            let known = value.text.as_deref().map(|text| format!(": {:?}", excerpt(text)));
            let message = format!("decodes and executes code{}", known.unwrap_or_default());
            self.scan.report(self.site, &ENCODED_EXECUTION, span.clone(), message);
        }
        if let (Some(code), Some(language)) = (&value.text, language) {
            let site = self.site.inner(span.clone(), decoded.then_some("decoding it"));
            self.scan.code(&site, language, code);
        }
    }

    pub(crate) fn report(&mut self, rule: &'static Rule, span: &Range<usize>, message: impl Into<String>) {
        self.scan.report(self.site, rule, span.clone(), message);
    }
}
