//! What each kind of text shows. The texts are made for these tests.

use std::fs;

use assay_draft::needs::{self, Category, Script, Signal, find_in_text};
use assay_skill::Document;

/// The names of the categories that a skill with this body needs.
fn found(body: &str) -> Vec<&'static str> {
    let text = format!("---\nname: sample\ndescription: A sample.\n---\n\n# Sample\n\n## Steps\n\n{body}\n");
    find_in_text(&text).categories().map(Category::name).collect()
}

/// Whether exactly the expected categories are found.
fn check(body: &str, expected: &[&str]) {
    assert_eq!(found(body), expected, "{body}");
}

/// Whether a category is among those found.
fn check_has(body: &str, category: Category, expected: bool) {
    assert_eq!(found(body).contains(&category.name()), expected, "{category:?}: {body}");
}

#[test]
fn text_without_requirements_needs_nothing() {
    check("Write short sentences. Prefer the active voice.", &[]);
    check("| Style | Use |\n|---|---|\n| plain | letters |", &[]);
    check("```bash\nls -la\ncat notes | grep -c total\nmkdir -p out\n```", &[]);
    check("```markdown\nAsk the user for an API key.\n```", &[]);
}

#[test]
fn programs_are_tools_or_runtimes() {
    check("```bash\nffmpeg -version\n```", &["tool_cli"]);
    check("```bash\nsudo apt-get install -y graphviz\n```", &["tool_cli"]);
    check("```console\n$ ledgerctl balance --month 3\n$ ledgerctl close --month 3\n```", &["tool_cli"]);
    check("Run `ledgerctl --version`, then `ledgerctl close --month 3`.", &["tool_cli"]);
    check("Requires the Ledger CLI.", &["tool_cli"]);
    check("```bash\npython3 tools/sum.py\n```", &["runtime"]);
    check("Requires Python 3.11+.", &["runtime"]);
    check("```python\nimport numpy as np\nprint(np.zeros(3))\n```", &["runtime"]);
    check("/review is a command of an agent:\n\n```bash\n/review now\n```", &[]);
}

#[test]
fn each_program_brings_what_it_works_on() {
    let cases: &[(&str, Category)] = &[
        ("psql -c 'select 1'", Category::Database),
        ("sqlite3 shop.db .tables", Category::Database),
        ("docker compose up -d", Category::LocalServices),
        ("npm run dev", Category::LocalServices),
        ("curl http://localhost:8080/health", Category::LocalServices),
        ("curl https://status.example.net/now", Category::Network),
        ("gh issue list --limit 5", Category::ExternalState),
        ("aws ec2 describe-instances", Category::ExternalState),
        ("gcloud auth login", Category::Auth),
        ("cargo test", Category::ExistingRepo),
        ("git rebase main && git log --oneline", Category::GitState),
        ("npx playwright test", Category::BrowserUi),
        ("xcrun simctl list", Category::Other),
        ("export SHOP_REGION=eu", Category::EnvVars),
        ("claude mcp add shop", Category::Mcp),
        ("ffmpeg -i talk.mp4 talk.wav", Category::InputFile),
    ];
    for (command, category) in cases {
        let body = format!("```bash\n{command}\n```");
        // A converter alone is not a clear clue for its input.
        let body = if *category == Category::InputFile {
            format!("{body}\n\nThe input is a recording.")
        } else {
            body
        };
        check_has(&body, *category, true);
    }
}

#[test]
fn phrases_show_each_category() {
    let cases: &[(&str, Category, bool)] = &[
        ("Ask one question at a time.", Category::MultiTurn, true),
        ("Wait for the user's approval before you continue.", Category::MultiTurn, true),
        ("Use AskUserQuestion to let them choose.", Category::MultiTurn, true),
        ("If unclear, ask the user.", Category::MultiTurn, false),
        ("Do not ask the user anything.", Category::MultiTurn, false),
        ("Requires the weather MCP server.", Category::Mcp, true),
        ("Call `mcp__weather__forecast` with the city.", Category::Mcp, true),
        ("Build an MCP server in Rust.", Category::Mcp, false),
        ("If the weather MCP server is available, prefer it.", Category::Mcp, false),
        ("Explore the codebase and list its modules.", Category::ExistingRepo, true),
        ("Add the widget to an existing Django project.", Category::ExistingRepo, true),
        ("Read the commit history first.", Category::GitState, true),
        ("Look at the uncommitted changes.", Category::GitState, true),
        ("Search the web for prices.", Category::Network, true),
        ("Never search the web.", Category::Network, false),
        ("Connect to the staging database and count rows.", Category::Database, true),
        ("Start the dev server and wait.", Category::LocalServices, true),
        ("Open the page in a browser and compare.", Category::BrowserUi, true),
        ("The user provides a PDF with the terms.", Category::InputFile, true),
        ("Read `plans/roadmap.md` and check each date.", Category::ExistingFiles, true),
        ("Save the result to `plans/roadmap.md`.", Category::ExistingFiles, false),
        ("Read `references/style.md` for the rules.", Category::ExistingFiles, false),
        ("Requires an NVIDIA GPU.", Category::Other, true),
        ("Run the `tax-forms` skill first.", Category::Other, true),
        ("Set the environment variable SHOP_REGION.", Category::EnvVars, true),
    ];
    for (text, category, expected) in cases {
        check_has(text, *category, *expected);
    }
}

#[test]
fn credentials_and_accounts_need_the_network() {
    check(
        "Set `SHOP_API_KEY` in the environment and call the Shop REST API.",
        &["network", "auth", "env_vars"],
    );
    check("Explain what an access token is.", &[]);
    check_has("List the open tickets of the support desk.", Category::ExternalState, false);
    check_has("List the open tickets through the REST API.", Category::ExternalState, true);
}

#[test]
fn code_shows_variables_connections_and_servers() {
    check_has("```python\nimport os\nkey = os.environ[\"SHOP_TOKEN\"]\n```", Category::EnvVars, true);
    check_has("```js\nconst url = process.env.SHOP_URL;\n```", Category::EnvVars, true);
    check_has("```yaml\nurl: postgres://app@db/shop\n```", Category::Database, true);
    check_has("```json\n{\"mcpServers\": {\"shop\": {\"command\": \"shop-mcp\"}}}\n```", Category::Mcp, true);
    check_has("```sql\nEXPLAIN SELECT id FROM orders;\n```", Category::Database, true);
    check_has("```python\nimport psycopg\nimport sqlalchemy\n```", Category::Database, true);
}

#[test]
fn what_is_not_an_instruction_does_not_count() {
    for heading in ["References", "When not to use", "Related skills", "Limitations"] {
        let body = format!("## {heading}\n\nAsk the user and wait for the user's reply. Search the web.");
        check(&body, &[]);
    }
    check_has("## Quick reference\n\nSearch the web.", Category::Network, true);
}

#[test]
fn front_matter_names_tools_programs_and_variables() {
    let check = |front_matter: &str, expected: &[&str]| {
        let text = format!("---\nname: sample\ndescription: A sample.\n{front_matter}\n---\n\n# Sample\n");
        let found: Vec<_> = find_in_text(&text).categories().map(Category::name).collect();
        assert_eq!(found, expected, "{front_matter}");
    };
    check("allowed-tools: Read, Write, Bash(ls:*)", &[]);
    check("allowed-tools: Read, mcp__weather__forecast", &["mcp"]);
    check("allowed-tools:\n  - mcp__weather__forecast", &["mcp"]);
    check(
        "metadata:\n  requires:\n    bins: [pandoc, node]\n    env: [SHOP_REGION]",
        &["tool_cli", "env_vars", "runtime"],
    );
    check("compatibility: Requires Python 3.10+", &["runtime"]);
    check("compatibility: Requires the Ledger CLI", &["tool_cli"]);
}

#[test]
fn each_need_has_its_line_signal_and_name() {
    let text = "---\nname: sample\ndescription: A sample.\n---\n\n# Sample\n\n1. Look around\n\n   ```bash\n   pandoc a.md -o a.pdf\n   ```\n\nWait for the user's reply.\n";
    let needs = find_in_text(text);
    let tool = &needs.of(Category::ToolCli)[0];
    assert_eq!((tool.line, tool.text.as_str(), tool.by), (11, "pandoc a.md -o a.pdf", Signal::Command));
    assert_eq!(tool.name.as_deref(), Some("pandoc"));
    let user = &needs.of(Category::MultiTurn)[0];
    assert_eq!(
        (user.line, user.text.as_str(), user.by),
        (14, "Wait for the user's reply.", Signal::Question)
    );
    let json = serde_json::to_value(&needs).unwrap();
    let keys: Vec<_> = json.as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), Category::ALL.len());
    assert_eq!(json["mcp"], serde_json::json!([]));
    assert_eq!(json["tool_cli"][0]["by"], "command");
}

#[test]
fn a_folded_description_keeps_its_lines() {
    let text = "---\nname: sample\ndescription: >\n  Plans a week.\n  Searches the web for opening hours.\n---\n\n# Sample\n";
    assert_eq!(find_in_text(text).of(Category::Network)[0].line, 5);
}

#[test]
fn scripts_show_needs_in_their_own_lines() {
    let (document, _) =
        Document::parse(b"---\nname: sample\ndescription: A sample.\n---\n", "SKILL.md".as_ref());
    let script = |path: &str, text: &str| Script { path: path.to_owned(), text: text.to_owned() };
    let scripts = [
        script("scripts/load.py", "import os\nimport psycopg\nimport sqlalchemy\n"),
        script("scripts/run.sh", "#!/bin/sh\njq . a\n"),
    ];
    let needs = needs::find(&document, &scripts);
    let names: Vec<_> = needs.categories().map(Category::name).collect();
    assert_eq!(names, ["tool_cli", "runtime", "database"]);
    let database = &needs.of(Category::Database)[0];
    assert_eq!((database.file.as_deref(), database.line), (Some("scripts/load.py"), 2));
    assert_eq!(database.text, "import psycopg");
    assert_eq!(needs.of(Category::ToolCli)[0].line, 2);
}

#[test]
fn a_package_is_read_with_its_scripts_but_not_its_tests() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("sample");
    fs::create_dir_all(root.join("scripts")).unwrap();
    fs::create_dir_all(root.join("tests")).unwrap();
    fs::write(root.join("SKILL.md"), "---\nname: sample\ndescription: A sample.\n---\n").unwrap();
    fs::write(root.join("scripts/sum.py"), "print(1)\n").unwrap();
    fs::write(root.join("tests/check.py"), "print(1)\n").unwrap();
    let skill = needs::load(&root).skill.unwrap();
    let paths: Vec<_> = skill.scripts.iter().map(|script| script.path.as_str()).collect();
    assert_eq!((skill.name.as_str(), paths), ("sample", vec!["scripts/sum.py"]));
    assert!(needs::load(&folder.path().join("absent")).skill.is_none());
}

#[test]
fn odd_input_is_read_in_bounded_time() {
    let long = "a".repeat(300_000);
    let deep = "> ".repeat(5_000);
    let quotes = "'\"`$(".repeat(20_000);
    let many = "Ask the user. Wait for the user. ".repeat(20_000);
    for text in ["", "---", "\u{fffd}\0", &long, &deep, &quotes, &many, "```bash\n'\n```", "“é” – `é"]
    {
        let needs = find_in_text(text);
        assert!(Category::ALL.iter().all(|category| needs.of(*category).len() <= 12));
    }
}
