//! Verdicts, and what follows from a machine's programs.

use assay_draft::needs::{Category, Double, Verdict, assess, find_in_text};

/// A requirement that is not met: its category, its name, and what replaces it.
type Row = (Category, Option<String>, Option<Double>);

fn assessed(body: &str, programs: &[&str]) -> (Verdict, Vec<Row>) {
    let needs = find_in_text(&format!(
        "---\nname: sample\ndescription: A sample.\n---\n\n# Sample\n\n## Steps\n\n{body}\n"
    ));
    let assessment = assess(&needs, &|name| programs.contains(&name));
    let unmet =
        assessment.unmet.into_iter().map(|unmet| (unmet.category, unmet.name, unmet.double)).collect();
    (assessment.verdict, unmet)
}

#[test]
fn a_verdict_follows_from_what_rules_out() {
    let check = |body: &str, expected: Verdict| assert_eq!(assessed(body, &[]).0, expected, "{body}");
    check("Write short sentences.", Verdict::Usable);
    check("```bash\npandoc a.md\n```", Verdict::Usable);
    check("Set `SHOP_API_KEY` and call the Shop REST API.", Verdict::Usable);
    check("Wait for the user's approval.", Verdict::Double);
    check("Requires the weather MCP server.", Verdict::Double);
    check("Explore the codebase.", Verdict::Double);
    check("```bash\npsql -c 'select 1'\n```", Verdict::Double);
    check("```bash\nredis-cli get total\n```", Verdict::Double);
    check("```python\nimport pymongo\nimport neo4j\n```", Verdict::Discard);
    check("Requires an NVIDIA GPU.", Verdict::Discard);
    check("```bash\nxcrun simctl list\n```", Verdict::Discard);
}

#[test]
fn programs_of_the_machine_are_met() {
    let body = "```bash\npandoc a.md\npython3 sum.py\n```";
    let missing = |name: &str, category, double| (category, Some(name.to_owned()), double);
    let pandoc = missing("pandoc", Category::ToolCli, Some(Double::CommandShim));
    let python = missing("python3", Category::Runtime, None);
    assert_eq!(assessed(body, &[]).1, [pandoc, python.clone()]);
    assert_eq!(assessed(body, &["pandoc"]).1, [python]);
    assert_eq!(assessed(body, &["pandoc", "python3"]).1, []);
    assert_eq!(assessed("```bash\nxcrun simctl list\n```", &["xcrun"]).0, Verdict::Usable);
    let browser = "Open the page in a browser.";
    assert_eq!(assessed(browser, &[]).1, [(Category::BrowserUi, None, None)]);
    assert_eq!(assessed(browser, &["chromium"]).1, []);
}

#[test]
fn packages_of_a_language_are_no_programs() {
    let text =
        "---\nname: sample\ndescription: A sample.\nmetadata:\n  install:\n    package: ledger-tools\n---\n";
    let needs = find_in_text(text);
    assert!(needs.has(Category::Runtime));
    assert_eq!(assess(&needs, &|_| false).unmet, []);
}

#[test]
fn doubles_are_named() {
    let check = |body: &str, category: Category, double: Double| {
        let unmet = assessed(body, &[]).1;
        assert!(
            unmet.iter().any(|unmet| unmet.0 == category && unmet.2 == Some(double)),
            "{body}: {unmet:?}"
        );
    };
    check("Wait for the user's approval.", Category::MultiTurn, Double::ScriptedUser);
    check("Requires the weather MCP server.", Category::Mcp, Double::McpServer);
    check("Explore the codebase.", Category::ExistingRepo, Double::GitRepository);
    check("Read the commit history.", Category::GitState, Double::GitRepository);
    check("```sql\nEXPLAIN SELECT 1;\n```", Category::Database, Double::Database);
    check("Start the dev server.", Category::LocalServices, Double::HttpStub);
    check("```bash\ngh issue list\n```", Category::ExternalState, Double::CommandShim);
    check("List the open tickets through the REST API.", Category::ExternalState, Double::HttpStub);
}
