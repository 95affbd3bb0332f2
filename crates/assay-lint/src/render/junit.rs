//! JUnit XML for continuous integration: a suite per skill, a case per client, errors as failures.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::client::{CLIENTS, Client};
use crate::diagnostic::{Diagnostic, Severity};
use crate::outcome::Outcome;

/// The outcome as JUnit XML. Warnings and infos are in the suite's output.
pub fn junit(outcome: &Outcome, clients: &[Client]) -> String {
    let mut report = Report::new("assay lint");
    for skill in &outcome.skills {
        let path = printable(&skill.path.to_string_lossy());
        let mut suite = TestSuite::new(path.as_str());
        for &client in clients {
            let errors: Vec<String> =
                skill.diagnostics.iter().filter(|found| fails(found, client)).map(line).collect();
            let status = errors.first().map_or_else(TestCaseStatus::success, |first| {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_message(first.as_str()).set_type("error").set_description(errors.join("\n"));
                status
            });
            let mut case = TestCase::new(client.name(), status);
            case.set_classname(path.as_str());
            suite.add_test_case(case);
        }
        let rest: Vec<String> =
            skill.diagnostics.iter().filter(|found| found.severity < Severity::Error).map(line).collect();
        if !rest.is_empty() {
            suite.set_system_out(rest.join("\n"));
        }
        report.add_test_suite(suite);
    }
    report.errors = outcome.diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
    // Writing into memory does not fail.
    report.to_string().unwrap_or_default()
}

/// Whether a finding is an error for a client. If the configuration raises it to an error, it is
/// one for every client that it concerns.
fn fails(found: &Diagnostic, client: Client) -> bool {
    let raised = found.clients.max_severity(&CLIENTS) != Some(Severity::Error);
    let own = found.clients.of(client);
    found.severity == Severity::Error && (own == Some(Severity::Error) || raised && own.is_some())
}

fn line(found: &Diagnostic) -> String {
    let place = found.span.0.map_or(String::new(), |span| format!(":{}:{}", span.line, span.column));
    printable(&format!(
        "{}{place}: {}: {} [{}]",
        found.file.display(),
        found.severity,
        found.message,
        found.code
    ))
}

/// Text with control characters as U+FFFD, which XML 1.0 allows. Line breaks stay.
fn printable(text: &str) -> String {
    let is_bad = |c: char| c != '\n' && c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.chars().map(|c| if is_bad(c) { '\u{fffd}' } else { c }).collect()
}
