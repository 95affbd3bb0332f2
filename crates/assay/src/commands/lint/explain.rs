//! `assay lint explain`: describes rules.

use assay_lint::{Explanation, Selector, Severity};
use serde::Serialize;

use crate::args::Format;
use crate::args::lint::ExplainArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    rules: &'a [Explanation],
}

pub(super) fn run(args: &ExplainArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
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
        ui.document(&Document { schema: "assay.lint-rules/1", rules: &rules })?;
    } else if let ([rule], Some(_)) = (&rules[..], &args.rule) {
        ui.out(&text(rule))?;
    } else {
        ui.out(&list(&rules))?;
    }
    Ok(Status::Done)
}

/// One rule on a page.
fn text(rule: &Explanation) -> String {
    let mut text = format!("{}: {}\n", rule.code, rule.about);
    text.push_str("\nSeverity\n");
    for severity in [Severity::Error, Severity::Warning, Severity::Info] {
        let clients: Vec<&str> = assay_lint::client::CLIENTS
            .into_iter()
            .filter(|client| rule.clients.of(*client) == Some(severity))
            .map(assay_lint::Client::name)
            .collect();
        if !clients.is_empty() {
            let all = clients.len() == assay_lint::client::CLIENTS.len();
            let clients = if all { "all clients".to_owned() } else { clients.join(", ") };
            text.push_str(&format!("  {:<8} {clients}\n", severity.word()));
        }
    }
    if let Some(why) = rule.off {
        text.push_str(&format!("  Off by default: {why}. `--select {}` reports it.\n", rule.code));
    }
    if rule.safety {
        text.push_str("  A safety rule: comments in a skill cannot suppress it.\n");
    }
    text.push_str(&format!("\nHow to fix\n  {}\n\nSources\n", rule.fix));
    for source in &rule.sources {
        text.push_str(&format!(
            "  {}{}\n",
            source.name,
            source.url.map_or(String::new(), |url| format!(": {url}"))
        ));
    }
    if let Some(page) = &rule.page {
        text.push_str("\nDetails\n");
        for line in page.lines() {
            text.push_str(format!("  {line}").trim_end());
            text.push('\n');
        }
    }
    text.push_str(&format!("\n{}\n", rule.url));
    text
}

/// Rules on a line each.
fn list(rules: &[Explanation]) -> String {
    let width = rules.iter().map(|rule| rule.code.len()).max().unwrap_or(0);
    rules.iter().map(|rule| format!("{:<width$}  {}\n", rule.code, rule.about)).collect()
}
