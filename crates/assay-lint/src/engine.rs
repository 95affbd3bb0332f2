//! The engine: finds packages, runs the rules and applies the policy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use assay_diagnostic::did_you_mean;
use assay_skill::Digest;
use rayon::prelude::*;

use crate::baseline::{Baseline, Folders, Known};
use crate::client::{CLIENTS, Client, LoadResult, load_result};
use crate::diagnostic::{Diagnostic, MaybeSpan, Severities, Severity, Span};
use crate::library::{self, Library};
use crate::outcome::{LintedSkill, Outcome, Summary};
use crate::paths::beneath;
use crate::plugin::{self, Plugins};
use crate::policy::{Level, Policy, Selection};
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
    /// Policies that differ for some of the linted paths. The longest path wins.
    pub local: Vec<(PathBuf, Policy)>,
    /// Findings in the baseline.
    pub baseline: Option<Baseline>,
    /// The folder that paths in the output are relative to.
    pub base: PathBuf,
}

impl Options {
    /// The policy for a package.
    fn policy(&self, package: &Path) -> &Policy {
        let fitting = self.local.iter().filter(|(root, _)| package.starts_with(root));
        fitting.max_by_key(|(root, _)| root.components().count()).map_or(&self.policy, |(_, policy)| policy)
    }

    /// All clients that any policy selects, in the order of reports.
    pub fn clients(&self) -> Vec<Client> {
        let policies = || self.local.iter().map(|(_, policy)| policy).chain([&self.policy]);
        CLIENTS
            .into_iter()
            .filter(|client| policies().any(|policy| policy.clients.contains(client)))
            .collect()
    }
}

/// Checks every package in some paths. The path of a document means its folder.
pub fn lint(paths: &[PathBuf], options: &Options) -> Outcome {
    let roots: Vec<PathBuf> = paths.iter().map(|path| folder_of(path)).collect();
    let (mut folders, mut notices) = assay_skill::find(&roots);
    // A named folder without skills is checked as a skill itself, unless its skills were found
    // through another path.
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let is_empty = |notice: &assay_skill::Diagnostic| notice.code == "library-empty";
    if notices.iter().any(is_empty) {
        let found: Vec<PathBuf> = folders.par_iter().map(|folder| real(folder)).collect();
        for notice in notices.iter().filter(|notice| is_empty(notice)) {
            let named = real(&notice.file);
            if !found.iter().any(|folder| folder.starts_with(&named)) {
                folders.push(notice.file.clone());
            }
        }
        notices.retain(|notice| !is_empty(notice));
    }
    let before = folders.len();
    let linted: Vec<PathBuf> = roots.iter().map(|root| real(root)).collect();
    folders.retain(|folder| {
        let policy = options.policy(folder);
        let path = real(folder);
        !(policy.form.excludes(&path, &linted) && policy.safety.excludes(&path, &linted))
    });
    let excluded = before - folders.len();
    let mut checked: Vec<CheckedSkill> =
        folders.par_iter().map(|folder| check_package(folder, None, options)).collect();
    let inner = check_nested(&checked, options, &linted);
    remove_duplicates(&mut checked, &inner);
    checked.extend(inner);
    checked.sort_by(|a, b| a.skill.path.cmp(&b.skill.path));
    // Packages that are only checked for safety are not part of the library.
    let (library, rest): (Vec<CheckedSkill>, Vec<CheckedSkill>) = checked
        .into_iter()
        .partition(|checked| !options.policy(&checked.skill.path).form.excludes(&checked.real, &linted));
    let mut findings: Vec<Findings> = library.iter().map(|_| Findings::new()).collect();
    let plugins = Plugins::find(&roots);
    let mut whole = Findings::new();
    whole.begin(plugin::RULES);
    plugin::check(&plugins.manifests, &mut whole);
    let scanned: Vec<&Path> = library.iter().chain(&rest).map(|checked| checked.real.as_path()).collect();
    plugin::scan(&plugins.manifests, &scanned, &mut whole);
    let members: Vec<&library::Member> = library.iter().map(|checked| &checked.member).collect();
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
    let mut checked: Vec<CheckedSkill> = Vec::with_capacity(library.len() + rest.len());
    for (mut own, found) in library.into_iter().zip(findings) {
        own.skill.diagnostics.extend(found.into_list());
        checked.push(own);
    }
    checked.extend(rest);
    checked.sort_by(|a, b| a.skill.path.cmp(&b.skill.path));
    let folders: Folders = checked
        .iter()
        .map(|checked| (checked.skill.path.to_string_lossy().into_owned(), checked.real.clone()))
        .collect();
    let mut fingerprints = FingerprintCounts::default();
    for checked in checked {
        apply_policy(checked, options, &linted, &mut known, &mut fingerprints, &mut outcome);
    }
    outcome.diagnostics = notices.iter().map(search_diagnostic).collect();
    for found in whole.into_list() {
        outcome.diagnostics.extend(filter_library_finding(
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

/// Checks the skills within other skills that were not named themselves.
fn check_nested(checked: &[CheckedSkill], options: &Options, linted: &[PathBuf]) -> Vec<CheckedSkill> {
    if checked.iter().all(|outer| outer.nested.is_empty()) {
        return Vec::new();
    }
    let mut seen: BTreeSet<PathBuf> = checked.iter().map(|outer| outer.real.clone()).collect();
    let mut folders = Vec::new();
    for outer in checked {
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
    folders.par_iter().map(|(folder, outer)| check_package(folder, Some(outer), options)).collect()
}

/// Removes findings of an outer skill that are also reported for a skill within it.
fn remove_duplicates(checked: &mut [CheckedSkill], inner: &[CheckedSkill]) {
    let key = |found: &Diagnostic| (found.code, found.file.clone(), found.span.0);
    let reported: BTreeSet<_> = inner.iter().flat_map(|inner| &inner.skill.diagnostics).map(key).collect();
    for outer in checked.iter_mut().filter(|outer| !outer.nested.is_empty()) {
        outer.skill.diagnostics.retain(|found| !reported.contains(&key(found)));
    }
}

/// Applies the policy to a finding on a library, a plugin or a marketplace.
fn filter_library_finding(
    found: Diagnostic,
    options: &Options,
    folders: &Folders,
    linted: &[PathBuf],
    known: &mut Known,
    summary: &mut Summary,
) -> Option<Diagnostic> {
    let policy = options.policy(&found.file);
    let (folder, real) = (found.file.clone(), plugin::real(&found.file));
    let mut filter = FindingFilter { policy, options, folder, real: real.clone(), linted, known, summary };
    let mut found = filter.apply(found, false)?;
    // Folders are relative to the linted one, in the message too: the fingerprint does not depend
    // on the working folder.
    let beneath = |path: &Path| beneath(path, linted).unwrap_or(path).to_string_lossy().into_owned();
    let word = |word: &str| folders.get(word).map_or_else(|| word.to_owned(), |folder| beneath(folder));
    let words: Vec<String> = found.message.split(' ').map(word).collect();
    // Measured numbers may change without making it a new finding.
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

/// A diagnostic of the search.
fn search_diagnostic(notice: &assay_skill::Diagnostic) -> Diagnostic {
    Diagnostic {
        code: notice.code,
        severity: notice.severity,
        message: notice.message.clone(),
        file: notice.file.clone(),
        span: MaybeSpan(notice.line.map(|line| Span::at(line, notice.column.unwrap_or(1)))),
        hint: notice.hint.clone(),
        fix: None,
        clients: Severities::all(notice.severity),
        fingerprint: String::new(),
        line_digest: None,
        documented: false,
    }
}

struct CheckedSkill {
    skill: LintedSkill,
    /// The canonical path of the folder.
    real: PathBuf,
    member: library::Member,
    suppressions: Suppressions,
    /// The folders of skills within it.
    nested: Vec<String>,
}

/// Reads one package and runs every family of rules. `outer` is the skill whose folder contains it.
fn check_package(folder: &Path, outer: Option<&str>, options: &Options) -> CheckedSkill {
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
            .add("suppression-unreasoned", &skill, range, "suppression comment without a reason")
            .hint("write `<!-- assay: allow CODE: the reason -->`");
    }
    let mut load_results = CLIENTS.map(|client| (client, load_result(client, &skill)));
    for (client, load_result) in &load_results {
        report_refusal(*client, load_result, &skill, &mut findings);
    }
    let mut diagnostics = findings.into_list();
    soften_accepted(&mut diagnostics, &load_results);
    if let Some(outer) = outer {
        report_nested(outer, &skill, &mut load_results, &mut diagnostics);
    }
    // No client rejects a skill for its dangers: these findings are added after the load results.
    let mut unsafe_findings = Findings::new();
    crate::safety::check(&skill, &mut unsafe_findings);
    diagnostics.extend(unsafe_findings.into_list());
    let member = library::Member::of(&skill, &load_results);
    set_resource_line_digests(&skill, &mut diagnostics);
    let document = Some((skill.file.clone(), skill.text().to_owned()));
    let name = skill.package.as_ref().map_or_else(
        || folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned(),
        |package| package.name.clone(),
    );
    let digest = skill.package.as_ref().map(|package| package.digest);
    let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    let nested = skill.nested;
    let skill =
        LintedSkill { path: skill.root, name, digest, diagnostics, clients: load_results.to_vec(), document };
    CheckedSkill { skill, real, member, suppressions, nested }
}

/// Reports which clients do not load a skill within another one's folder. Other findings do not
/// concern these clients.
fn report_nested(
    outer: &str,
    skill: &Skill,
    load_results: &mut [(Client, LoadResult)],
    diagnostics: &mut Vec<Diagnostic>,
) {
    for found in diagnostics.iter_mut() {
        found.clients = found.clients.without(&SHALLOW);
    }
    for (_, load_result) in load_results.iter_mut().filter(|(client, _)| SHALLOW.contains(client)) {
        *load_result = LoadResult::dropped(format!(
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
        .hint("move it next to the other skill, or rename its SKILL.md and use it as a reference");
    diagnostics.extend(findings.into_list());
}

/// Sets the line digests of findings in the skill's other files.
fn set_resource_line_digests(skill: &Skill, diagnostics: &mut [Diagnostic]) {
    let mut files: BTreeMap<PathBuf, Vec<&str>> = BTreeMap::new();
    for found in diagnostics.iter_mut().filter(|found| found.file != skill.file) {
        let Some(span) = found.span.0 else { continue };
        let path = found.file.strip_prefix(&skill.root).unwrap_or(&found.file).to_path_buf();
        // Split once per file: there may be as many findings as lines.
        let lines = files.entry(path).or_insert_with_key(|path| {
            let resource = skill.resources().iter().find(|resource| Path::new(&resource.path) == path);
            resource.map(|resource| resource.text.lines().collect()).unwrap_or_default()
        });
        found.line_digest = lines.get(span.line - 1).map(|line| line_digest(line));
    }
}

/// Sets the line digests of findings in the skill's document.
fn set_line_digests(skill: &LintedSkill, diagnostics: &mut [Diagnostic]) {
    let Some((file, text)) = skill.document.as_ref().filter(|_| !diagnostics.is_empty()) else { return };
    let lines: Vec<&str> = text.lines().collect();
    for found in diagnostics.iter_mut().filter(|found| found.file == *file) {
        let line = found.span.0.and_then(|span| lines.get(span.line - 1));
        found.line_digest = line.map(|line| line_digest(line));
    }
}

/// The digest of a line without its indentation.
fn line_digest(line: &str) -> String {
    Digest::of(line.trim().as_bytes()).short()
}

/// How often each fingerprint occurred.
type FingerprintCounts = BTreeMap<String, usize>;

/// Assigns fingerprints that do not depend on line numbers or the working folder: the rule, the
/// skill, the file within it, the text of the line, and a counter for findings that share all of
/// these.
fn assign_fingerprints(skill: &mut LintedSkill, counts: &mut FingerprintCounts) {
    for found in &mut skill.diagnostics {
        let file = found.file.strip_prefix(&skill.path).unwrap_or(&found.file);
        let parts = [
            found.code.as_bytes(),
            skill.name.as_bytes(),
            &assay_fs::tree::bytes(file),
            found.line_digest.as_deref().unwrap_or_default().as_bytes(),
        ];
        let mut digest = Digest::of(&parts.join(&0)).hex();
        digest.truncate(16);
        let count = counts.entry(digest.clone()).or_default();
        *count += 1;
        found.fingerprint = format!("{digest}:{count}");
    }
}

/// Reports that a client rejects a skill for a reason that no rule covers.
fn report_refusal(client: Client, load_result: &LoadResult, skill: &Skill, findings: &mut Findings) {
    let refuses = if client.validates() { !load_result.valid } else { !load_result.loads };
    if refuses && client != Client::Spec && !findings.has_error(client) {
        let reason = load_result.reason.as_deref().unwrap_or("unknown reason");
        let verb = if client.validates() { "rejects" } else { "does not load" };
        findings
            .add("refused", skill, &skill.fence(), format!("{} {verb} this skill: {reason}", client.name()))
            .severities(Severities::none().with(Severity::Error, &[client]))
            .hint("correct the problem described above");
    }
}

/// Lowers errors to warnings for clients that accept the skill.
fn soften_accepted(diagnostics: &mut [Diagnostic], load_results: &[(Client, LoadResult)]) {
    for found in diagnostics {
        for (client, load_result) in load_results {
            let takes = if client.validates() { load_result.valid } else { load_result.loads };
            let error = found.clients.of(*client) == Some(Severity::Error);
            if takes && error && *client != Client::Spec {
                found.clients = found.clients.with(Severity::Warning, &[*client]);
            }
        }
    }
}

/// Sets severities for the selected clients, removes findings that are off, suppressed or in the
/// baseline, and counts the rest.
fn apply_policy(
    checked: CheckedSkill,
    options: &Options,
    linted: &[PathBuf],
    known: &mut Known,
    fingerprints: &mut FingerprintCounts,
    outcome: &mut Outcome,
) {
    let CheckedSkill { mut skill, real, suppressions, .. } = checked;
    for (client, load_result) in &mut skill.clients {
        let refuses = |found: &&Diagnostic| {
            found.clients.of(*client) == Some(Severity::Error) && !crate::safety::owns(found.code)
        };
        let error = skill.diagnostics.iter().find(refuses);
        load_result.valid = error.is_none();
        if let Some(error) = error {
            load_result.reason.get_or_insert_with(|| error.message.clone());
        }
    }
    let policy = options.policy(&skill.path);
    let mut filter = FindingFilter {
        policy,
        options,
        folder: skill.path.clone(),
        real,
        linted,
        known,
        summary: &mut outcome.summary,
    };
    let mut all = std::mem::take(&mut skill.diagnostics);
    set_line_digests(&skill, &mut all);
    let mut used = vec![false; suppressions.allowed.len()];
    for found in all {
        let mut commented = false;
        for (at, (code, ..)) in suppressions.allowed.iter().enumerate() {
            if code == found.code {
                (commented, used[at]) = (true, true);
            }
        }
        skill.diagnostics.extend(filter.apply(found, commented));
    }
    let mut unused = unused_suppressions(&skill, policy, &suppressions, &used);
    set_line_digests(&skill, &mut unused);
    for found in unused {
        skill.diagnostics.extend(filter.apply(found, false));
    }
    skill.diagnostics.sort_by(|a, b| (&a.file, a.span.0, a.code).cmp(&(&b.file, b.span.0, b.code)));
    assign_fingerprints(&mut skill, fingerprints);
    count_findings(&skill, &mut outcome.summary);
    if skill.diagnostics.is_empty() {
        skill.document = None;
    }
    outcome.skills.push(skill);
}

/// The filter for findings of one package.
struct FindingFilter<'a> {
    policy: &'a Policy,
    options: &'a Options,
    /// The package's folder as found.
    folder: PathBuf,
    /// Its canonical path.
    real: PathBuf,
    /// The canonical paths of the linted folders.
    linted: &'a [PathBuf],
    known: &'a mut Known,
    summary: &'a mut Summary,
}

impl FindingFilter<'_> {
    /// The finding with its severity, or `None` if it is not reported. `commented`: a comment in
    /// the document suppresses it.
    fn apply(&mut self, mut found: Diagnostic, commented: bool) -> Option<Diagnostic> {
        found.severity = self.policy.severity(&found)?;
        let rules: &Selection = self.policy.of(found.code);
        let safety = usize::from(crate::safety::owns(found.code));
        if !rules.selects(found.code) {
            // Rules that a configuration does not select are counted; rules that are off by
            // default, or not selected by a flag, are not.
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
            && let Some(left) = self.known.get_mut(&baseline.key(&found, &path, &self.options.base))
            && *left > 0
        {
            *left -= 1;
            if safety == 0 {
                self.summary.baselined += 1;
                return None;
            }
            self.summary.baselined_safety += 1;
        }
        if found.severity < own {
            self.summary.lowered += 1;
            self.summary.lowered_safety += safety;
        }
        Some(found)
    }
}

/// Findings on comments that suppress nothing.
fn unused_suppressions(
    skill: &LintedSkill,
    policy: &Policy,
    suppressions: &Suppressions,
    used: &[bool],
) -> Vec<Diagnostic> {
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
                format!("`{code}` is a safety rule, which a comment in a skill cannot suppress"),
                "accept it in your own assay.toml with [[lint.allow]], or set `suppression-comments = \"all\"` there"
                    .to_owned(),
            )
        } else {
            let what = if exists { "has no findings here" } else { "is not a rule" };
            let meant = if exists { None } else { did_you_mean(&near) };
            let hint = meant.unwrap_or_else(|| "remove it".to_owned());
            ("suppression-unused", Severity::Info, format!("`{code}` {what}"), hint)
        };
        found.push(Diagnostic {
            code,
            severity,
            message,
            file: file.clone(),
            span: MaybeSpan(Some(Span::of(text, range))),
            hint: Some(hint),
            fix: None,
            clients: Severities::all(severity),
            fingerprint: String::new(),
            line_digest: None,
            documented: false,
        });
    }
    found
}

fn count_findings(skill: &LintedSkill, summary: &mut Summary) {
    let of = |severity| skill.diagnostics.iter().filter(|found| found.severity == severity).count();
    summary.skills += 1;
    summary.with_errors += usize::from(of(Severity::Error) > 0);
    summary.errors += of(Severity::Error);
    summary.warnings += of(Severity::Warning);
    summary.infos += of(Severity::Info);
    for (client, load_result) in &skill.clients {
        let tally = summary.clients.entry(client.name()).or_default();
        tally.valid += usize::from(load_result.valid);
        tally.loads += usize::from(load_result.loads);
        tally.listed += usize::from(load_result.listed);
        tally.truncated += usize::from(load_result.truncated);
    }
    let codes: std::collections::BTreeSet<_> = skill.diagnostics.iter().map(|found| found.code).collect();
    for code in codes {
        *summary.codes.entry(code).or_default() += 1;
    }
}
