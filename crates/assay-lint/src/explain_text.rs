//! Rules as text for people.

use crate::client::CLIENTS;
use crate::{Client, Explanation, Severity};

/// One rule on a page.
pub fn explain_rule(rule: &Explanation) -> String {
    let mut text = format!("{}: {}\n", rule.code, rule.about);
    text.push_str("\nSeverity\n");
    for severity in [Severity::Error, Severity::Warning, Severity::Info] {
        let clients: Vec<&str> = CLIENTS
            .into_iter()
            .filter(|client| rule.clients.of(*client) == Some(severity))
            .map(Client::name)
            .collect();
        if !clients.is_empty() {
            let all = clients.len() == CLIENTS.len();
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
pub fn list_rules(rules: &[Explanation]) -> String {
    let width = rules.iter().map(|rule| rule.code.len()).max().unwrap_or(0);
    rules.iter().map(|rule| format!("{:<width$}  {}\n", rule.code, rule.about)).collect()
}
