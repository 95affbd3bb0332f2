//! From paths to an outcome.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_skill::Digest;
use rayon::prelude::*;
use serde::{Serialize, Serializer};

use crate::baseline::{Baseline, key};
use crate::client::{CLIENTS, Client, Fate, fate};
use crate::diagnostic::{Diagnostic, Place, Severities, Severity, Span};
use crate::library;
use crate::rule::{Findings, Rule};
use crate::rules::{self, families};
use crate::skill::Skill;
use crate::suppress::{Allow, Suppressions};

/// The rules of the engine itself.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        code: "refused",
        severities: Severities::all(Severity::Error),
        about: "a client refuses or drops the skill for a reason that no other rule names",
        source: "skills-ref, quick_validate, the agents' sources",
        numbers: &[],
    },
    Rule {
        code: "suppression-unreasoned",
        severities: Severities::all(Severity::Warning),
        about: "a comment suppresses a rule without a reason, and so does not",
        source: "assay",
        numbers: &[],
    },
    Rule {
        code: "suppression-unused",
        severities: Severities::all(Severity::Info),
        about: "a comment suppresses a rule that finds nothing, or that does not exist",
        source: "assay",
        numbers: &[],
    },
];

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The clients whose severities count.
    pub clients: Vec<Client>,
    /// Rules accepted by the configuration.
    pub allow: Vec<Allow>,
    /// Findings known before.
    pub baseline: Option<Baseline>,
    /// What the baseline's paths are relative to.
    pub base: PathBuf,
    /// Rules that are told: codes, beginnings of codes up to a hyphen, or `safety` for all safety rules. Empty: all.
    pub select: Vec<String>,
}

impl Options {
    /// Whether a rule is told.
    fn selects(&self, code: &str) -> bool {
        self.select.is_empty()
            || self.select.iter().any(|wanted| {
                code.strip_prefix(wanted.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
                    || wanted == "safety" && crate::safety::lint::owns(code)
            })
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clients: CLIENTS.to_vec(),
            allow: Vec::new(),
            baseline: None,
            base: PathBuf::new(),
            select: Vec::new(),
        }
    }
}

/// One package, and what was found.
#[derive(Debug, Serialize)]
pub struct LintedSkill {
    /// Its folder.
    pub path: PathBuf,
    /// Its name: of the front matter, else the folder's.
    pub name: String,
    /// The digest of the folder; `None` when there is no package.
    pub digest: Option<Digest>,
    /// What was found, in the order of files and places.
    pub diagnostics: Vec<Diagnostic>,
    /// What becomes of it in each client.
    #[serde(serialize_with = "by_name")]
    pub clients: Vec<(Client, Fate)>,
    /// The document's text, for excerpts.
    #[serde(skip)]
    pub document: Option<(PathBuf, String)>,
}

fn by_name<S: Serializer>(fates: &[(Client, Fate)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(fates.iter().map(|(client, fate)| (client.name(), fate)))
}

impl LintedSkill {
    /// What becomes of it in one client.
    pub fn fate(&self, client: Client) -> Option<&Fate> {
        self.clients.iter().find(|(own, _)| *own == client).map(|(_, fate)| fate)
    }
}

/// Counts over all packages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Packages looked at.
    pub skills: usize,
    /// Packages with at least one error.
    pub with_errors: usize,
    /// Errors, of the clients asked about.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Advice.
    pub infos: usize,
    /// Findings accepted with a reason.
    pub suppressed: usize,
    /// Findings known before.
    pub baselined: usize,
    /// Packages that each client calls valid, loads, lists and cuts.
    pub clients: BTreeMap<&'static str, Tally>,
    /// How many packages have each finding.
    pub codes: BTreeMap<&'static str, usize>,
}

/// Packages of one client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Without an error.
    pub valid: usize,
    /// Usable at all.
    pub loads: usize,
    /// Told to the model.
    pub listed: usize,
    /// With a description that is cut.
    pub truncated: usize,
}

/// Everything found.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The packages, sorted by path.
    pub skills: Vec<LintedSkill>,
    /// What there is to say about the search and the library as a whole.
    pub diagnostics: Vec<Diagnostic>,
    /// Counts.
    pub summary: Summary,
}

/// Looks at every package beneath some paths. A path that is a document stands for its folder.
pub fn lint(paths: &[PathBuf], options: &Options) -> Outcome {
    let roots: Vec<PathBuf> = paths.iter().map(|path| folder_of(path)).collect();
    let (mut folders, mut told) = assay_skill::find(&roots);
    // A folder that was named and holds no skill was meant to be one; one whose skills were found by another path was not.
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let is_empty = |told: &assay_skill::Diagnostic| told.code == "library-empty";
    if told.iter().any(is_empty) {
        let found: Vec<PathBuf> = folders.par_iter().map(|folder| real(folder)).collect();
        for told in told.iter().filter(|told| is_empty(told)) {
            let named = real(&told.file);
            if !found.iter().any(|folder| folder.starts_with(&named)) {
                folders.push(told.file.clone());
            }
        }
        told.retain(|told| !is_empty(told));
    }
    let mut looked: Vec<Looked> = folders.par_iter().map(|folder| look(folder, options)).collect();
    looked.sort_by(|a, b| a.skill.path.cmp(&b.skill.path));
    let mut findings: Vec<Findings> = looked.iter().map(|_| Findings::new()).collect();
    let members: Vec<&library::Member> = looked.iter().map(|looked| &looked.member).collect();
    for family in library::families() {
        for own in &mut findings {
            own.begin(family.rules());
        }
        family.check(&members, &mut findings);
    }
    let mut known = options.baseline.as_ref().map(Baseline::counts).unwrap_or_default();
    let mut outcome = Outcome::default();
    for (mut looked, found) in looked.into_iter().zip(findings) {
        looked.skill.diagnostics.extend(found.into_list());
        settle(looked, options, &mut known, &mut outcome);
    }
    outcome.diagnostics = told.iter().map(searched).collect();
    outcome.summary.errors += outcome.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
    outcome.summary.warnings +=
        outcome.diagnostics.iter().filter(|d| d.severity == Severity::Warning).count();
    outcome
}

/// The folder of a document, else the path itself.
fn folder_of(path: &Path) -> PathBuf {
    let is_document = path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    match path.parent() {
        Some(parent) if is_document && !path.is_dir() => {
            if parent.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                parent.to_path_buf()
            }
        }
        _ => path.to_path_buf(),
    }
}

/// A finding of the search.
fn searched(told: &assay_skill::Diagnostic) -> Diagnostic {
    let severity = match told.severity {
        assay_skill::Severity::Error => Severity::Error,
        assay_skill::Severity::Warning => Severity::Warning,
        assay_skill::Severity::Info => Severity::Info,
    };
    Diagnostic {
        code: told.code,
        severity,
        message: told.message.clone(),
        file: told.file.clone(),
        span: Place(told.line.map(|line| Span::at(line, told.column.unwrap_or(1)))),
        hint: told.hint.clone(),
        fix: None,
        clients: Severities::all(severity),
    }
}

struct Looked {
    skill: LintedSkill,
    member: library::Member,
    suppressions: Suppressions,
}

/// Reads one package and asks every family.
fn look(folder: &Path, options: &Options) -> Looked {
    let skill = Skill::load(folder);
    let mut findings = Findings::new();
    for family in families() {
        findings.begin(family.rules());
        family.check(&skill, &mut findings);
    }
    findings.begin(RULES);
    let suppressions = if skill.text().contains("assay:") {
        Suppressions::find(skill.text(), skill.markdown())
    } else {
        Suppressions::default()
    };
    for range in &suppressions.unreasoned {
        findings
            .add("suppression-unreasoned", &skill, range, "a suppression without a reason")
            .hint("write `<!-- assay: allow CODE: the reason -->`");
    }
    let fates = CLIENTS.map(|client| (client, fate(client, &skill)));
    for (client, fate) in &fates {
        refused(*client, fate, &skill, &mut findings);
    }
    let mut diagnostics = findings.into_list();
    align(&mut diagnostics, &fates);
    // Danger is no reason for a client to refuse: these come after what clients make of the skill.
    let mut unsafe_findings = Findings::new();
    crate::safety::lint::check(&skill, &mut unsafe_findings);
    diagnostics.extend(unsafe_findings.into_list());
    let member = library::Member::of(&skill, &fates);
    let keep = !suppressions.allowed.is_empty()
        || diagnostics.iter().any(|found| found.clients.gravest(&options.clients).is_some());
    let document = keep.then(|| (skill.file.clone(), skill.text().to_owned()));
    let name = skill.package.as_ref().map_or_else(
        || folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned(),
        |package| package.name.clone(),
    );
    let digest = skill.package.as_ref().map(|package| package.digest);
    let skill =
        LintedSkill { path: skill.root, name, digest, diagnostics, clients: fates.to_vec(), document };
    Looked { skill, member, suppressions }
}

/// Says so where a client refuses and no rule has said why.
fn refused(client: Client, fate: &Fate, skill: &Skill, findings: &mut Findings) {
    let refuses = if client.validates() { !fate.valid } else { !fate.loads };
    if refuses && client != Client::Spec && !findings.has_error(client) {
        let reason = fate.reason.as_deref().unwrap_or("no reason known");
        let verb = if client.validates() { "refuses" } else { "does not load" };
        findings
            .add("refused", skill, &skill.fence(), format!("{} {verb} it: {reason}", client.name()))
            .severities(Severities::none().with(Severity::Error, &[client]))
            .hint("mend what the reason names");
    }
}

/// A client that takes the skill all the same has no error: what a rule calls one is a warning there.
fn align(diagnostics: &mut [Diagnostic], fates: &[(Client, Fate)]) {
    for found in diagnostics {
        for (client, fate) in fates {
            let takes = if client.validates() { fate.valid } else { fate.loads };
            let error = found.clients.of(*client) == Some(Severity::Error);
            if takes && error && *client != Client::Spec {
                found.clients = found.clients.with(Severity::Warning, &[*client]);
            }
        }
    }
}

/// Sets the severities for the clients asked about, takes away what is accepted or known, and counts.
fn settle(
    looked: Looked,
    options: &Options,
    known: &mut BTreeMap<(String, String, String), usize>,
    outcome: &mut Outcome,
) {
    let Looked { mut skill, suppressions, .. } = looked;
    for (client, fate) in &mut skill.clients {
        let refuses = |found: &&Diagnostic| {
            found.clients.of(*client) == Some(Severity::Error) && !crate::safety::lint::owns(found.code)
        };
        let error = skill.diagnostics.iter().find(refuses);
        fate.valid = error.is_none();
        if let Some(error) = error {
            fate.reason.get_or_insert_with(|| error.message.clone());
        }
    }
    let summary = &mut outcome.summary;
    let all = std::mem::take(&mut skill.diagnostics);
    let mut used = vec![false; suppressions.allowed.len()];
    for mut found in all {
        let Some(severity) = found.clients.gravest(&options.clients) else { continue };
        found.severity = severity;
        if !options.selects(found.code) {
            continue;
        }
        let mut accepted = options.allow.iter().any(|allow| allow.covers(found.code, &found.file));
        for (at, (code, ..)) in suppressions.allowed.iter().enumerate() {
            if code == found.code {
                (accepted, used[at]) = (true, true);
            }
        }
        if accepted {
            summary.suppressed += 1;
            continue;
        }
        let left = if known.is_empty() { None } else { known.get_mut(&key(&found, &options.base)) };
        if let Some(left) = left.filter(|left| **left > 0) {
            *left -= 1;
            summary.baselined += 1;
            continue;
        }
        skill.diagnostics.push(found);
    }
    unused(&mut skill, &suppressions, &used);
    skill.diagnostics.sort_by(|a, b| (&a.file, a.span.0, a.code).cmp(&(&b.file, b.span.0, b.code)));
    count(&skill, summary);
    if skill.diagnostics.is_empty() {
        skill.document = None;
    }
    outcome.skills.push(skill);
}

fn unused(skill: &mut LintedSkill, suppressions: &Suppressions, used: &[bool]) {
    let Some((file, text)) = &skill.document else { return };
    for ((code, _, range), used) in suppressions.allowed.iter().zip(used) {
        if *used {
            continue;
        }
        let exists = rules::rules().iter().any(|rule| rule.code == code);
        let what = if exists { "finds nothing here" } else { "is no rule" };
        skill.diagnostics.push(Diagnostic {
            code: "suppression-unused",
            severity: Severity::Info,
            message: format!("`{code}` {what}"),
            file: file.clone(),
            span: Place(Some(Span::of(text, range))),
            hint: Some("remove it".to_owned()),
            fix: None,
            clients: Severities::all(Severity::Info),
        });
    }
}

fn count(skill: &LintedSkill, summary: &mut Summary) {
    let of = |severity| skill.diagnostics.iter().filter(|found| found.severity == severity).count();
    summary.skills += 1;
    summary.with_errors += usize::from(of(Severity::Error) > 0);
    summary.errors += of(Severity::Error);
    summary.warnings += of(Severity::Warning);
    summary.infos += of(Severity::Info);
    for (client, fate) in &skill.clients {
        let tally = summary.clients.entry(client.name()).or_default();
        tally.valid += usize::from(fate.valid);
        tally.loads += usize::from(fate.loads);
        tally.listed += usize::from(fate.listed);
        tally.truncated += usize::from(fate.truncated);
    }
    let codes: std::collections::BTreeSet<_> = skill.diagnostics.iter().map(|found| found.code).collect();
    for code in codes {
        *summary.codes.entry(code).or_default() += 1;
    }
}
