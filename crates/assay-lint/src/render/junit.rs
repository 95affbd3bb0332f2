//! JUnit XML for continuous integration: a suite per skill, a case per client, errors as failures.

use crate::client::{CLIENTS, Client};
use crate::diagnostic::{Diagnostic, Severity};
use crate::outcome::Outcome;

/// The outcome as JUnit XML. Warnings and infos are in the suite's output.
pub fn junit(outcome: &Outcome, clients: &[Client]) -> String {
    let mut suites = String::new();
    let (mut tests, mut failures) = (0, 0);
    for skill in &outcome.skills {
        let mut cases = String::new();
        let mut failed = 0;
        for &client in clients {
            let errors: Vec<String> =
                skill.diagnostics.iter().filter(|found| fails(found, client)).map(line).collect();
            let name = client.name();
            let class = escape(&skill.path.to_string_lossy());
            if errors.is_empty() {
                cases.push_str(&format!("    <testcase classname=\"{class}\" name=\"{name}\"/>\n"));
                continue;
            }
            failed += 1;
            cases.push_str(&format!(
                "    <testcase classname=\"{class}\" name=\"{name}\">\n      <failure message=\"{}\" type=\"error\">{}</failure>\n    </testcase>\n",
                escape(&errors[0]),
                escape(&errors.join("\n"))
            ));
        }
        let rest: Vec<String> =
            skill.diagnostics.iter().filter(|found| found.severity < Severity::Error).map(line).collect();
        let output = if rest.is_empty() {
            String::new()
        } else {
            format!("    <system-out>{}</system-out>\n", escape(&rest.join("\n")))
        };
        suites.push_str(&format!(
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"0\">\n{cases}{output}  </testsuite>\n",
            escape(&skill.path.to_string_lossy()),
            clients.len()
        ));
        tests += clients.len();
        failures += failed;
    }
    let errors = outcome.diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay lint\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">\n{suites}</testsuites>\n"
    )
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
    format!("{}{place}: {}: {} [{}]", found.file.display(), found.severity, found.message, found.code)
}

/// Escapes text for XML 1.0: markup as entities, control characters as U+FFFD.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
