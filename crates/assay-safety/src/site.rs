//! Sites: the texts that rules scan, and the findings in them.

use std::collections::BTreeSet;
use std::ops::Range;

use assay_diagnostic::Severity;
use assay_syntax::code::Language;
use serde::Serialize;

use super::mapped::Mapped;
use super::rule::Rule;
use super::rules::UNSCANNED;

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The rule's severity, or `info` if a passage only describes or forbids.
    pub severity: Severity,
    /// The file, relative to the package; a member of an archive after `!`.
    pub path: String,
    /// The range in the file's decoded text, in bytes; `None` for the complete file.
    pub span: Option<Range<usize>>,
    /// The message: a lower-case fragment. It may quote the input: escape it before printing.
    pub message: String,
}

/// Most findings of one package that are kept.
const FINDINGS: usize = 1_000;
/// Most texts of one package that are parsed: blocks, scripts, and their decoded content.
const PARSES: u32 = 2_000;
/// Most layers that are taken off one another: a script in a string in a script.
const LAYERS: u8 = 6;

/// The scanner of each kind of content. A script may be in an archive, a shell command in a Python
/// string and Python in that command: scanners call each other through this table, so that none
/// depends on the others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scanners {
    /// A file, by its path and bytes.
    pub(crate) file: fn(&mut Scan, &str, &[u8], u8),
    /// A program in one of the languages that are parsed.
    pub(crate) code: fn(&mut Scan, &Site<'_>, Language, &str),
    /// Shell commands within something else.
    pub(crate) commands: fn(&mut Scan, &Site<'_>, &str),
}

/// The findings of a package so far.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) findings: Vec<Finding>,
    scanners: &'static Scanners,
    fuel: u32,
    /// Tools that the skill uses: `Bash`, `WebFetch`.
    pub(crate) used: BTreeSet<&'static str>,
}

impl Scan {
    pub(crate) fn new(scanners: &'static Scanners) -> Self {
        Self { findings: Vec::new(), scanners, fuel: PARSES, used: BTreeSet::new() }
    }

    /// Scans a file within another one.
    pub(crate) fn file(&mut self, path: &str, bytes: &[u8], depth: u8) {
        (self.scanners.file)(self, path, bytes, depth);
    }

    /// Checks a program.
    pub(crate) fn code(&mut self, site: &Site<'_>, language: Language, text: &str) {
        (self.scanners.code)(self, site, language, text);
    }

    /// Checks shell commands.
    pub(crate) fn commands(&mut self, site: &Site<'_>, text: &str) {
        (self.scanners.commands)(self, site, text);
    }

    /// Adds a finding at a stretch of the site's text.
    pub(crate) fn report(
        &mut self,
        site: &Site<'_>,
        rule: &'static Rule,
        range: Range<usize>,
        message: impl Into<String>,
    ) {
        let severity = if site.mentioned { Severity::Info } else { rule.severity };
        self.add(site, rule, severity, Some(site.span(range)), message.into());
    }

    /// Adds a note.
    pub(crate) fn note(
        &mut self,
        site: &Site<'_>,
        rule: &'static Rule,
        range: Range<usize>,
        message: impl Into<String>,
    ) {
        self.add(site, rule, Severity::Info, Some(site.span(range)), message.into());
    }

    /// Adds a finding about a complete file.
    pub(crate) fn whole(&mut self, path: &str, rule: &'static Rule, message: impl Into<String>) {
        let site = Site::of(path);
        self.add(&site, rule, rule.severity, None, message.into());
    }

    fn add(
        &mut self,
        site: &Site<'_>,
        rule: &'static Rule,
        severity: Severity,
        span: Option<Range<usize>>,
        mut message: String,
    ) {
        if let Some(via) = site.via {
            message.push_str(", after ");
            message.push_str(via);
        }
        let overlaps = |other: &Option<Range<usize>>| match (other, &span) {
            (Some(a), Some(b)) => a.start < b.end && b.start < a.end,
            (None, None) => true,
            _ => false,
        };
        let same = self
            .findings
            .iter_mut()
            .rev()
            .take(64)
            .find(|there| there.rule == rule && there.path == site.path && overlaps(&there.span));
        if let Some(there) = same {
            if severity > there.severity {
                (there.severity, there.message, there.span) = (severity, message, span);
            }
            return;
        }
        if self.findings.len() < FINDINGS {
            self.findings.push(Finding { rule, severity, path: site.path.to_owned(), span, message });
        }
    }

    /// Whether one more text may be parsed.
    pub(crate) fn may(&mut self, site: &Site<'_>) -> bool {
        if site.depth > LAYERS || self.fuel == 0 {
            self.whole(site.path, &UNSCANNED, "too many layers or too much code: the rest was not scanned");
            return false;
        }
        self.fuel -= 1;
        true
    }
}

/// The position of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) path: &'a str,
    /// The map to the file; `None` for the file's own text.
    pub(crate) map: Option<&'a Mapped>,
    /// The range of the file that the text was decoded from.
    pub(crate) fixed: Option<(usize, usize)>,
    /// Whether the text describes rather than instructs.
    pub(crate) mentioned: bool,
    /// Layers decoded so far.
    pub(crate) depth: u8,
    /// How the text was decoded from the file.
    pub(crate) via: Option<&'static str>,
    /// Whether it is a script of the package, and not a block of a page.
    pub(crate) script: bool,
}

impl<'a> Site<'a> {
    /// A complete file.
    pub(crate) fn of(path: &'a str) -> Self {
        Self { path, map: None, fixed: None, mentioned: false, depth: 0, via: None, script: false }
    }

    pub(crate) fn span(&self, range: Range<usize>) -> Range<usize> {
        match (self.fixed, self.map) {
            (Some((from, to)), _) => from..to,
            (None, Some(map)) => map.span(range),
            (None, None) => range,
        }
    }

    /// A text that was extracted from a range of this one.
    pub(crate) fn inner(&self, range: Range<usize>, via: Option<&'static str>) -> Self {
        let span = self.span(range);
        Self {
            fixed: Some((span.start, span.end)),
            map: None,
            depth: self.depth + 1,
            via: via.or(self.via),
            ..*self
        }
    }
}
