//! From paths to an outcome.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use assay_skill::Digest;
use rayon::prelude::*;

use crate::baseline::{Baseline, Folders, Known};
use crate::client::{CLIENTS, Client, Fate, fate};
use crate::diagnostic::{Diagnostic, Place, Severities, Severity, Span};
use crate::library::{self, Library};
use crate::outcome::{LintedSkill, Outcome, Summary};
use crate::paths::beneath;
use crate::plugin::{self, Plugins};
use crate::policy::{Level, Policy, Selection, did_you_mean};
use crate::rule::Findings;
use crate::rules::engine::{RULES, SHALLOW};
use crate::rules::{self, families, opt_in};
use crate::skill::Skill;
use crate::suppress::Suppressions;

/// How to lint.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What is reported.
    pub policy: Policy,
    /// What is reported of what lies beneath some of the linted paths, where that is something else. The longest path wins.
    pub local: Vec<(PathBuf, Policy)>,
    /// Findings known before.
    pub baseline: Option<Baseline>,
    /// The folder that paths in output are relative to.
    pub base: PathBuf,
}

impl Options {
    /// What holds for a package.
    fn policy(&self, package: &Path) -> &Policy {
        let fitting = self.local.iter().filter(|(root, _)| package.starts_with(root));
        fitting.max_by_key(|(root, _)| root.components().count()).map_or(&self.policy, |(_, policy)| policy)
    }

    /// All clients that count somewhere, in the order of reports.
    pub fn clients(&self) -> Vec<Client> {
        let policies = || self.local.iter().map(|(_, policy)| policy).chain([&self.policy]);
        CLIENTS
            .into_iter()
            .filter(|client| policies().any(|policy| policy.clients.contains(client)))
            .collect()
    }
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
    let before = folders.len();
    let linted: Vec<PathBuf> = roots.iter().map(|root| real(root)).collect();
    folders.retain(|folder| {
        let policy = options.policy(folder);
        let path = real(folder);
        !(policy.form.excludes(&path, &linted) && policy.safety.excludes(&path, &linted))
    });
    let excluded = before - folders.len();
    let mut looked: Vec<Looked> = folders.par_iter().map(|folder| look(folder, None, options)).collect();
    let inner = nested(&looked, options, &linted);
    take_doubles(&mut looked, &inner);
    looked.extend(inner);
    looked.sort_by(|a, b| a.skill.path.cmp(&b.skill.path));
    // What is looked at for its safety alone is no part of the library.
    let (library, rest): (Vec<Looked>, Vec<Looked>) = looked
        .into_iter()
        .partition(|looked| !options.policy(&looked.skill.path).form.excludes(&looked.real, &linted));
    let mut findings: Vec<Findings> = library.iter().map(|_| Findings::new()).collect();
    let plugins = Plugins::find(&roots);
    let mut whole = Findings::new();
    whole.begin(plugin::RULES);
    plugin::check(&plugins.manifests, &mut whole);
    let scanned: Vec<&Path> = library.iter().chain(&rest).map(|looked| looked.real.as_path()).collect();
    plugin::scan(&plugins.manifests, &scanned, &mut whole);
    let members: Vec<&library::Member> = library.iter().map(|looked| &looked.member).collect();
    let root = roots.first().cloned().unwrap_or_default();
    let all = Library::new(members, &plugins, &root, options.policy(&root).budgets);
    for family in library::families() {
        for own in &mut findings {
            own.begin(family.rules());
        }
        whole.begin(family.rules());
        family.check(&all, &mut findings, &mut whole);
    }
    let mut known = options.baseline.as_ref().map(Baseline::counts).unwrap_or_default();
    let mut outcome = Outcome::default();
    outcome.summary.excluded = excluded;
    let mut looked: Vec<Looked> = Vec::with_capacity(library.len() + rest.len());
    for (mut own, found) in library.into_iter().zip(findings) {
        own.skill.diagnostics.extend(found.into_list());
        looked.push(own);
    }
    looked.extend(rest);
    looked.sort_by(|a, b| a.skill.path.cmp(&b.skill.path));
    let folders: Folders = looked
        .iter()
        .map(|looked| (looked.skill.path.to_string_lossy().into_owned(), looked.real.clone()))
        .collect();
    let mut prints = Prints::default();
    for looked in looked {
        settle(looked, options, &folders, &linted, &mut known, &mut prints, &mut outcome);
    }
    outcome.diagnostics = told.iter().map(searched).collect();
    for found in whole.into_list() {
        outcome.diagnostics.extend(passed(
            found,
            options,
            &folders,
            &linted,
            &mut known,
            &mut outcome.summary,
        ));
    }
    outcome.summary.infos += outcome.diagnostics.iter().filter(|d| d.severity == Severity::Info).count();
    outcome.summary.errors += outcome.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
    outcome.summary.warnings +=
        outcome.diagnostics.iter().filter(|d| d.severity == Severity::Warning).count();
    outcome
}

/// The skills within other skills, as far as they were not named themselves.
fn nested(looked: &[Looked], options: &Options, linted: &[PathBuf]) -> Vec<Looked> {
    if looked.iter().all(|outer| outer.nested.is_empty()) {
        return Vec::new();
    }
    let mut seen: BTreeSet<PathBuf> = looked.iter().map(|outer| outer.real.clone()).collect();
    let mut folders = Vec::new();
    for outer in looked {
        for inner in &outer.nested {
            let folder = outer.skill.path.join(inner.trim_end_matches('/'));
            let real = plugin::real(&folder);
            let policy = options.policy(&folder);
            let excluded = policy.form.excludes(&real, linted) && policy.safety.excludes(&real, linted);
            if !excluded && seen.insert(real) {
                folders.push((folder, outer.skill.name.clone()));
            }
        }
    }
    folders.par_iter().map(|(folder, outer)| look(folder, Some(outer), options)).collect()
}

/// What is dangerous in a skill within another would be told of both: of the inner one it is enough.
fn take_doubles(looked: &mut [Looked], inner: &[Looked]) {
    let key = |found: &Diagnostic| (found.code, found.file.clone(), found.span.0);
    let told: BTreeSet<_> = inner.iter().flat_map(|inner| &inner.skill.diagnostics).map(key).collect();
    for outer in looked.iter_mut().filter(|outer| !outer.nested.is_empty()) {
        outer.skill.diagnostics.retain(|found| !told.contains(&key(found)));
    }
}

/// A finding on a library, a plugin or a marketplace, where it is to be reported.
fn passed(
    found: Diagnostic,
    options: &Options,
    folders: &Folders,
    linted: &[PathBuf],
    known: &mut Known,
    summary: &mut Summary,
) -> Option<Diagnostic> {
    let policy = options.policy(&found.file);
    let (folder, real) = (found.file.clone(), plugin::real(&found.file));
    let mut sieve = Sieve { policy, options, folder, real: real.clone(), folders, linted, known, summary };
    let mut found = sieve.pass(found, false)?;
    // Folders are named relative to the linted one, here and in the message: the finding is the same from every working folder.
    let beneath = |path: &Path| beneath(path, linted).unwrap_or(path).to_string_lossy().into_owned();
    let word = |word: &str| folders.get(word).map_or_else(|| word.to_owned(), |folder| beneath(folder));
    let words: Vec<String> = found.message.split(' ').map(word).collect();
    // What was measured may change and be the same finding.
    let message: String = words.join(" ").chars().filter(|c| !c.is_ascii_digit() && *c != ',').collect();
    let file = beneath(&real);
    let parts = [found.code.as_bytes(), file.as_bytes(), message.as_bytes()];
    let mut digest = Digest::of(&parts.join(&0)).hex();
    digest.truncate(16);
    found.fingerprint = format!("{digest}:1");
    *summary.codes.entry(found.code).or_default() += 1;
    Some(found)
}

/// The folder of a document, else the path itself.
pub fn folder_of(path: &Path) -> PathBuf {
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
    Diagnostic {
        code: told.code,
        severity: told.severity,
        message: told.message.clone(),
        file: told.file.clone(),
        span: Place(told.line.map(|line| Span::at(line, told.column.unwrap_or(1)))),
        hint: told.hint.clone(),
        fix: None,
        clients: Severities::all(told.severity),
        fingerprint: String::new(),
        documented: false,
    }
}

struct Looked {
    skill: LintedSkill,
    /// The folder, absolute and without links.
    real: PathBuf,
    member: library::Member,
    suppressions: Suppressions,
    /// Folders of skills within it.
    nested: Vec<String>,
}

/// Reads one package and asks every family. `outer` is the skill whose folder it lies in.
fn look(folder: &Path, outer: Option<&str>, options: &Options) -> Looked {
    let mut skill = Skill::load(folder);
    skill.budgets = options.policy(folder).budgets;
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
    let mut fates = CLIENTS.map(|client| (client, fate(client, &skill)));
    for (client, fate) in &fates {
        refused(*client, fate, &skill, &mut findings);
    }
    let mut diagnostics = findings.into_list();
    align(&mut diagnostics, &fates);
    if let Some(outer) = outer {
        unseen(outer, &skill, &mut fates, &mut diagnostics);
    }
    // Danger is no reason for a client to refuse: these come after what clients make of the skill.
    let mut unsafe_findings = Findings::new();
    crate::safety::check(&skill, &mut unsafe_findings);
    diagnostics.extend(unsafe_findings.into_list());
    let member = library::Member::of(&skill, &fates);
    remember(&skill, &mut diagnostics);
    let document = Some((skill.file.clone(), skill.text().to_owned()));
    let name = skill.package.as_ref().map_or_else(
        || folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned(),
        |package| package.name.clone(),
    );
    let digest = skill.package.as_ref().map(|package| package.digest);
    let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    let nested = skill.nested;
    let skill =
        LintedSkill { path: skill.root, name, digest, diagnostics, clients: fates.to_vec(), document };
    Looked { skill, real, member, suppressions, nested }
}

/// Says of a skill within another one's folder which clients do not find it. Nothing else in it matters to them.
fn unseen(outer: &str, skill: &Skill, fates: &mut [(Client, Fate)], diagnostics: &mut Vec<Diagnostic>) {
    for found in diagnostics.iter_mut() {
        found.clients = found.clients.without(&SHALLOW);
    }
    for (_, fate) in fates.iter_mut().filter(|(client, _)| SHALLOW.contains(client)) {
        *fate = Fate::dropped(format!(
            "nested in the skill `{outer}`, and this client does not load nested skills"
        ));
    }
    let mut findings = Findings::new();
    findings.begin(RULES);
    findings
        .add(
            "skill-nested",
            skill,
            &skill.fence(),
            format!(
                "nested in the skill `{outer}`: Codex and OpenCode load it, Claude Code and Gemini CLI do not"
            ),
        )
        .hint("move it beside the other skill, or write its text as a reference under another name");
    diagnostics.extend(findings.into_list());
}

/// Keeps what findings outside the document stand in, for their fingerprints.
fn remember(skill: &Skill, diagnostics: &mut [Diagnostic]) {
    let mut files: BTreeMap<PathBuf, Vec<&str>> = BTreeMap::new();
    for found in diagnostics.iter_mut().filter(|found| found.file != skill.file) {
        let Some(span) = found.span.0 else { continue };
        let path = found.file.strip_prefix(&skill.root).unwrap_or(&found.file).to_path_buf();
        // Taken apart once a file: there may be as many findings as lines.
        let lines = files.entry(path).or_insert_with_key(|path| {
            let resource = skill.resources().iter().find(|resource| Path::new(&resource.path) == path);
            resource.map(|resource| resource.text.lines().collect()).unwrap_or_default()
        });
        found.fingerprint = lines.get(span.line - 1).map(|line| line_print(line)).unwrap_or_default();
    }
}

/// What a line is known by, however it is indented.
fn line_print(line: &str) -> String {
    Digest::of(line.trim().as_bytes()).short()
}

/// How often each fingerprint occurred.
type Prints = BTreeMap<String, usize>;

/// Gives each finding what tells it from the others, wherever its line moves to and from whichever folder the linter is run: the rule,
/// the skill, the file within it, the text of the line, and its number among those that share all of these.
fn fingerprint(skill: &mut LintedSkill, counts: &mut Prints) {
    let lines: Vec<&str> =
        skill.document.as_ref().map(|(_, text)| text.lines().collect()).unwrap_or_default();
    for found in &mut skill.diagnostics {
        if skill.document.as_ref().is_some_and(|(file, _)| *file == found.file) {
            let line = found.span.0.and_then(|span| lines.get(span.line - 1));
            found.fingerprint = line.map(|line| line_print(line)).unwrap_or_default();
        }
        let file = found.file.strip_prefix(&skill.path).unwrap_or(&found.file);
        let parts = [
            found.code.as_bytes(),
            skill.name.as_bytes(),
            &assay_fs::tree::bytes(file),
            found.fingerprint.as_bytes(),
        ];
        let mut digest = Digest::of(&parts.join(&0)).hex();
        digest.truncate(16);
        let count = counts.entry(digest.clone()).or_default();
        *count += 1;
        found.fingerprint = format!("{digest}:{count}");
    }
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
            .hint("fix what the reason names");
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

/// Sets the severities for the clients that count, takes away what is switched off, accepted or known, and counts.
fn settle(
    looked: Looked,
    options: &Options,
    folders: &Folders,
    linted: &[PathBuf],
    known: &mut Known,
    prints: &mut Prints,
    outcome: &mut Outcome,
) {
    let Looked { mut skill, real, suppressions, .. } = looked;
    for (client, fate) in &mut skill.clients {
        let refuses = |found: &&Diagnostic| {
            found.clients.of(*client) == Some(Severity::Error) && !crate::safety::owns(found.code)
        };
        let error = skill.diagnostics.iter().find(refuses);
        fate.valid = error.is_none();
        if let Some(error) = error {
            fate.reason.get_or_insert_with(|| error.message.clone());
        }
    }
    let policy = options.policy(&skill.path);
    let mut sieve = Sieve {
        policy,
        options,
        folder: skill.path.clone(),
        real,
        folders,
        linted,
        known,
        summary: &mut outcome.summary,
    };
    let all = std::mem::take(&mut skill.diagnostics);
    let mut used = vec![false; suppressions.allowed.len()];
    for found in all {
        let mut commented = false;
        for (at, (code, ..)) in suppressions.allowed.iter().enumerate() {
            if code == found.code {
                (commented, used[at]) = (true, true);
            }
        }
        skill.diagnostics.extend(sieve.pass(found, commented));
    }
    for found in idle(&skill, policy, &suppressions, &used) {
        skill.diagnostics.extend(sieve.pass(found, false));
    }
    skill.diagnostics.sort_by(|a, b| (&a.file, a.span.0, a.code).cmp(&(&b.file, b.span.0, b.code)));
    fingerprint(&mut skill, prints);
    count(&skill, &mut outcome.summary);
    if skill.diagnostics.is_empty() {
        skill.document = None;
    }
    outcome.skills.push(skill);
}

/// What findings of one package pass through.
struct Sieve<'a> {
    policy: &'a Policy,
    options: &'a Options,
    /// The package's folder as it was found.
    folder: PathBuf,
    /// The same, absolute and without links.
    real: PathBuf,
    folders: &'a Folders,
    /// The linted folders, absolute and without links.
    linted: &'a [PathBuf],
    known: &'a mut Known,
    summary: &'a mut Summary,
}

impl Sieve<'_> {
    /// The finding with its severity, where it is to be reported. `commented` says that a comment in the document accepts it.
    fn pass(&mut self, mut found: Diagnostic, commented: bool) -> Option<Diagnostic> {
        found.severity = self.policy.severity(&found)?;
        let rules: &Selection = self.policy.of(found.code);
        let safety = usize::from(crate::safety::owns(found.code));
        if !rules.selects(found.code) {
            // What a file leaves out is counted; what is off by default, or not among the rules that a flag names, is not.
            if rules.select_from_file && opt_in(found.code).is_none() {
                self.summary.ignored += 1;
                self.summary.ignored_safety += safety;
            }
            return None;
        }
        let path = self.real.join(found.file.strip_prefix(&self.folder).unwrap_or(&found.file));
        if rules.is_off(found.code) || rules.excludes(&path, self.linted) {
            self.summary.ignored += 1;
            self.summary.ignored_safety += safety;
            return None;
        }
        let own = found.severity;
        if let Some(Level::As(severity)) = rules.level(found.code) {
            found.severity = severity;
        }
        let relative = rules.relative(&path);
        if commented && rules.comments
            || rules.allow.iter().any(|allow| allow.covers(found.code, &relative, &path))
        {
            self.summary.suppressed += 1;
            self.summary.suppressed_safety += safety;
            return None;
        }
        if let Some(baseline) = &self.options.baseline
            && let Some(left) =
                self.known.get_mut(&baseline.key(&found, &path, &self.options.base, self.folders))
            && *left > 0
        {
            *left -= 1;
            self.summary.baselined += 1;
            self.summary.baselined_safety += safety;
            return None;
        }
        if found.severity < own {
            self.summary.lowered += 1;
            self.summary.lowered_safety += safety;
        }
        Some(found)
    }
}

/// What there is to say of comments that suppress nothing.
fn idle(skill: &LintedSkill, policy: &Policy, suppressions: &Suppressions, used: &[bool]) -> Vec<Diagnostic> {
    let Some((file, text)) = &skill.document else { return Vec::new() };
    if !policy.form.comments {
        return Vec::new();
    }
    let mut found = Vec::new();
    for ((code, _, range), used) in suppressions.allowed.iter().zip(used) {
        let safety = crate::safety::owns(code) && !policy.safety.comments;
        if *used && !safety {
            continue;
        }
        let known = rules::rules();
        let exists = known.iter().any(|rule| rule.code == code);
        let near = assay_skill::nearest(code, known.iter().map(|rule| rule.code));
        let (code, severity, message, hint) = if safety {
            (
                "suppression-safety",
                Severity::Warning,
                format!("`{code}` is a safety rule, which a comment in a skill does not suppress"),
                "accept it in your own assay.toml with [[lint.allow]], or set `suppression-comments = \"all\"` there"
                    .to_owned(),
            )
        } else {
            let what = if exists { "finds nothing here" } else { "is not a rule" };
            let meant = if exists { None } else { did_you_mean(&near) };
            let hint = meant.unwrap_or_else(|| "remove it".to_owned());
            ("suppression-unused", Severity::Info, format!("`{code}` {what}"), hint)
        };
        found.push(Diagnostic {
            code,
            severity,
            message,
            file: file.clone(),
            span: Place(Some(Span::of(text, range))),
            hint: Some(hint),
            fix: None,
            clients: Severities::all(severity),
            fingerprint: String::new(),
            documented: false,
        });
    }
    found
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
