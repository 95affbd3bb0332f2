//! `assay lint`: per-client validity, safety and quality rules for skills.

use std::path::PathBuf;

use assay_lint::config::{ConfigNotice, LintFlags, resolve_options};
use assay_lint::{
    Baseline, Explanation, Options, Outcome, Selector, Severity, Stats, explain_rule, fix, list_rules, render,
};
use assay_report::counted;

use crate::args::Format;
use crate::args::lint::{Deny, ExplainArgs, LintArgs, LintWhat};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &LintArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    if let Some(LintWhat::Explain(args)) = &args.what {
        return explain(args, settings, ui);
    }
    for path in &args.paths {
        check_path(path)?;
    }
    let (mut options, broken) = options(args, ui)?;
    let writes = args.baseline.as_ref().filter(|_| args.update_baseline);
    if let Some(file) = args.baseline.as_ref().filter(|_| writes.is_none()) {
        // A mistyped path must not accept every finding.
        if !file.exists() {
            return Err(Failure::bad_input(format!("no baseline at {}", file.display()))
                .hint("--update-baseline writes one with the findings of this run"));
        }
        options.baseline = Some(Baseline::read(file)?);
    }
    let outcome = if args.fix {
        let (outcome, fixed) = fix::run(&args.paths, &options);
        report_fixed(&fixed, ui);
        outcome
    } else {
        assay_lint::lint(&args.paths, &options)
    };
    if let Some(file) = writes {
        let baseline = Baseline::of(&outcome, file)?;
        baseline.write(file)?;
        let findings = counted(baseline.len(), "finding", "findings");
        ui.note(&format!("{findings} written to {}", file.display()));
    }
    if args.stats {
        return count(&outcome, settings, ui);
    }
    print_outcome(&outcome, &options, args, settings, ui)?;
    let all_excluded = outcome.summary.skills == 0 && outcome.summary.excluded > 0;
    if all_excluded && !args.allow_excluded {
        ui.fail(
            &Failure::bad_input("every skill is excluded: nothing was linted")
                .hint("change `exclude` in assay.toml, or pass --allow-excluded"),
        );
        return Ok(Status::BadInput);
    }
    let status = status(&outcome, args, writes.is_some());
    Ok(if broken { Status::BadInput } else { status })
}

/// The options that flags and configurations come to, and whether a configuration that is not the caller's could not be read.
fn options(args: &LintArgs, ui: &Ui) -> Result<(Options, bool), Failure> {
    let here = std::env::current_dir()
        .map_err(|error| Failure::bad_input(format!("cannot find the working folder: {error}")))?;
    let flags = LintFlags {
        paths: &args.paths,
        config: args.config.as_deref(),
        no_config: args.no_config,
        clients: &args.clients,
        select: &args.select,
        ignore: &args.ignore,
        ignore_suppressions: args.ignore_suppressions,
        context_window: args.context_window,
        count: args.stats,
    };
    let mut broken = false;
    let options = resolve_options(&flags, &here, &mut |notice| match notice {
        ConfigNotice::Unreadable(error) => {
            ui.fail(&error.into());
            broken = true;
        }
        ConfigNotice::Note(note) => ui.note(&note),
        _ => {}
    })?;
    Ok((options, broken))
}

/// Describes rules.
fn explain(args: &ExplainArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let name = args.rule.as_deref().unwrap_or("all");
    let rules: Vec<Explanation> = if let Some(rule) = Explanation::of(name) {
        vec![rule]
    } else {
        let selector = Selector::parse(name)
            .map_err(|error| Failure::bad_input(error.to_string()).hint(error.hint()))?;
        let codes = assay_lint::rules::rules().into_iter().map(|rule| rule.code);
        codes.filter(|code| selector.covers(code)).filter_map(Explanation::of).collect()
    };
    if settings.format == Format::Json {
        ui.document(&serde_json::json!({ "schema": "assay.lint-rules/1", "rules": rules }))?;
    } else if let ([rule], Some(_)) = (&rules[..], &args.rule) {
        ui.out(&explain_rule(rule))?;
    } else {
        ui.out(&list_rules(&rules))?;
    }
    Ok(Status::Done)
}

/// Rejects a file that is not a SKILL.md: nothing would be checked, which must not look like a clean result.
/// Refuses a path that does not exist.
pub fn check_path(path: &PathBuf) -> Result<(), Failure> {
    let is_document = path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    // A missing path or an empty folder is a finding.
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir());
    if !is_file || is_document {
        return Ok(());
    }
    let package = path.ancestors().skip(1).find(|folder| folder.join("SKILL.md").is_file());
    let hint = match package {
        Some(package) if !package.as_os_str().is_empty() => {
            format!("pass the package that contains it: {}", package.display())
        }
        _ => "pass a SKILL.md, or a folder that contains skills".to_owned(),
    };
    Err(Failure::bad_input(format!("{} is neither a folder nor a SKILL.md", path.display())).hint(hint))
}

/// Prints how many packages have findings of each rule. Findings do not affect the exit status.
fn count(outcome: &Outcome, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let stats = Stats::of(outcome);
    match settings.format {
        Format::Json => ui.document(&stats)?,
        _ => ui.out(&stats.table())?,
    }
    let missing = outcome.diagnostics.iter().any(|found| found.code == "library-missing");
    Ok(if missing { Status::BadInput } else { Status::Done })
}

/// Reports the result for each file that had a fix.
fn report_fixed(files: &[fix::Fixed], ui: &Ui) {
    for fixed in files {
        let file = fixed.file.display();
        if fixed.findings > 0 {
            ui.note(&format!("{file}: {} fixed", fixed.findings));
        }
        if let Some(error) = &fixed.error {
            ui.note(&format!("{file}: not fixed: {error}"));
        }
    }
}

fn print_outcome(
    outcome: &Outcome,
    options: &Options,
    args: &LintArgs,
    settings: &Settings,
    ui: &Ui,
) -> Result<(), Failure> {
    let clients = options.clients();
    if matches!(settings.format, Format::Sarif | Format::Junit | Format::Github) {
        // These formats have no summary.
        for line in render::omitted(&outcome.summary) {
            ui.note(&line);
        }
    }
    match settings.format {
        Format::Json => ui.document(&render::json(outcome)),
        Format::Sarif => ui.document(&render::sarif(outcome, &options.base)),
        Format::Junit => ui.raw(&render::junit(outcome, &clients)),
        Format::Github => ui.raw(&render::github(outcome, &options.base)),
        _ => {
            let view = render::View {
                advice: settings.verbose,
                full: args.full,
                color: ui.style().color,
                columns: ui.columns(),
            };
            ui.out(&render::human(outcome, &clients, view))
        }
    }
}

fn status(outcome: &Outcome, args: &LintArgs, accepted: bool) -> Status {
    if outcome.diagnostics.iter().any(|found| found.code == "library-missing") {
        return Status::BadInput;
    }
    let errors = outcome.summary.errors > 0
        || outcome.diagnostics.iter().any(|found| found.severity == Severity::Error);
    let most = match args.deny {
        Some(Deny::Warnings) => Some(0),
        None => args.max_warnings,
    };
    let warnings = most.is_some_and(|most| outcome.summary.warnings > most);
    if (errors || warnings) && !accepted { Status::DidNotHold } else { Status::Done }
}
