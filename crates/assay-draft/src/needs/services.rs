//! Names of hosted services and databases, in the description and in headings.

use std::sync::LazyLock;

use regex::Regex;

use super::Category::{Auth, Database, EnvVars, ExistingFiles, ExternalState, Mcp, Network};
use super::clues::{Clue, Clues};
use super::page::{Page, Section};
use super::{Signal, code, variables};

/// Hosted services that work on data of an account.
const SERVICES: &str = r"Slack|Notion|Jira|Confluence|Linear|Asana|Trello|Salesforce|HubSpot|Zendesk|Intercom|Stripe|Shopify|Airtable|Datadog|Dynatrace|New Relic|Grafana Cloud|Splunk|PagerDuty|Sentry|Honeycomb|Snowflake|BigQuery|Redshift|Databricks|Airflow|Fivetran|Gmail|Outlook|Google (?:Drive|Sheets|Docs|Calendar|Ads|Analytics|Cloud)|Microsoft (?:Teams|Graph|365)|SharePoint|Azure|AWS|GCP|Cloudflare|Vercel|Netlify|Heroku|Supabase|Firebase|Twilio|SendGrid|Mailchimp|Klaviyo|Discord|Telegram|WhatsApp|LinkedIn|Twitter|YouTube|Spotify|Figma|Miro|Zoom|Dropbox|Okta|Auth0|PostHog|Mixpanel|Amplitude|Segment|Xero|QuickBooks|Plaid|Pinecone|Hugging Face|(?:OpenAI|Anthropic|Claude|Gemini) API|ElevenLabs|GitLab|Bitbucket|Jenkins|CircleCI|Buildkite|Zapier|n8n|Make\.com|Elasticsearch|Algolia|Contentful|Sanity|WordPress|Webflow|Canva|Monday\.com|ClickUp|ServiceNow|Workday|NetSuite|SAP|CrowdStrike";

/// Databases that exist only as hosted services.
const WAREHOUSES: [&str; 4] = ["Snowflake", "BigQuery", "Redshift", "Databricks"];

/// Engines of databases.
const ENGINES: &str = r"PostgreSQL|Postgres|MySQL|MariaDB|SQLite|MongoDB|Redis|Valkey|DynamoDB|Cassandra|Neo4j|ClickHouse|DuckDB|BigQuery|Snowflake|Redshift|SQL Server|Oracle Database|CockroachDB|TimescaleDB|Elasticsearch|InfluxDB|Supabase|Firestore|Cosmos DB";

/// The most lines of a block of code that are read.
const LINES: usize = 5000;

/// The names in a document, and what is around them.
pub(super) fn find(page: &Page, clues: &mut Clues) {
    static SERVICE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(&format!(r"\b(?:{SERVICES})\b")).ok());
    static ENGINE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(&format!(r"\b(?:{ENGINES})\b")).ok());
    static URL: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"\b([a-z][a-z0-9+]{2,14})://([^\s"'`<>)\]]+)"#).ok());
    static FILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^[~.]?/?(?:[\w.*{}<>\[\]-]+/)*[\w.*{}<>\[\]-]+\.(?:md|json|ya?ml|toml|txt|csv|html|tex|ini|cfg|conf|lock|log|xml|jsonl|env|db|sqlite)$").ok()
    });
    let (Some(service), Some(engine), Some(url), Some(file)) = (&*SERVICE, &*ENGINE, &*URL, &*FILE) else {
        return;
    };
    for code in page.code.iter().filter(|code| code.section != Section::Aside) {
        for (index, line) in code.text.lines().enumerate().take(LINES) {
            for name in WAREHOUSES.iter().filter(|name| line.contains(**name)) {
                for (category, points) in [(Network, 3), (Auth, 3), (ExternalState, 2), (Database, 1)] {
                    clues.push(
                        Clue::new(category, points, code.line + index, Signal::Name, "warehouse").named(name),
                    );
                }
            }
        }
    }
    for prose in &page.prose {
        if prose.section == Section::Aside {
            continue;
        }
        let prominent = prose.section == Section::Summary || prose.section == Section::Prerequisites;
        let text = &prose.text;
        for found in service.find_iter(text).take(20) {
            let line = prose.line(found.start());
            let name = found.as_str();
            // A service that the skill is about, one on whose data it acts, and one that the text mentions.
            let acts = prominent && acts(text);
            let (points, key) = match (prominent, WAREHOUSES.contains(&name)) {
                (_, true) => (3, "warehouse"),
                (true, false) => (2 + u32::from(acts), "service"),
                (false, false) => (1, "remark"),
            };
            clues.push(Clue::new(Network, points, line, Signal::Name, key).named(name));
            clues.push(Clue::new(Auth, points, line, Signal::Name, key).named(name));
            let points = if acts || points == 3 { 2 } else { 1 };
            clues.push(Clue::new(ExternalState, points, line, Signal::Name, "service").named(name));
        }
        for found in engine.find_iter(text).take(20) {
            let line = prose.line(found.start());
            let name = found.as_str();
            clues.push(
                Clue::new(
                    Database,
                    1,
                    line,
                    Signal::Name,
                    if prominent { "engine of the summary" } else { "engine" },
                )
                .named(name),
            );
        }
        for found in url.captures_iter(text).take(20) {
            let line = found.get(0).map_or(1, |whole| prose.line(whole.start()));
            code::url(&found[1], &found[2], line, clues);
        }
        for range in &prose.code {
            let Some(inline) = text.get(range.clone()).map(str::trim) else { continue };
            let line = prose.line(range.start);
            let path = inline.len() < 120
                && file.is_match(inline)
                && !is_own(inline)
                && !prose.is_linked(range.start);
            if path && !writes(text, range.start) {
                let (points, key) = match reads(text, range.start) {
                    true if inline.contains('/') => (3, inline),
                    true => (2, inline),
                    false => (u32::from(!prose.cell), "path"),
                };
                clues.push(Clue::new(ExistingFiles, points, line, Signal::Path, key).named(inline));
            }
            if is_variable(inline) {
                variables::credential(inline.trim_start_matches('$'), line, clues);
                let near = text.to_lowercase();
                let points = if near.contains("env") || near.contains("export") { 3 } else { 0 };
                clues.push(
                    Clue::new(EnvVars, points, line, Signal::Variable, inline)
                        .named(inline.trim_start_matches('$')),
                );
            }
            if inline.starts_with("mcp__") {
                clues.push(Clue::new(Mcp, 3, line, Signal::Mcp, inline).named(inline));
            }
        }
    }
}

/// Whether a path is one of the package's own files.
fn is_own(path: &str) -> bool {
    [
        "references/",
        "reference/",
        "scripts/",
        "assets/",
        "templates/",
        "examples/",
        "resources/",
        "rules/",
        "docs/",
        "../",
        "./references",
        "./scripts",
        "SKILL.md",
        "skills/",
    ]
    .iter()
    .any(|folder| path.starts_with(folder))
}

/// Whether the words before a path ask to read it.
fn reads(text: &str, at: usize) -> bool {
    const VERBS: [&str; 17] = [
        "read", "load", "open", "check", "parse", "consult", "look for", "look in", "look at", "find",
        "locate", "inspect", "update", "edit", "review", "scan", "exists",
    ];
    let before = text[text.floor_char_boundary(at.saturating_sub(50))..at].to_lowercase();
    let before = before.rsplit(['.', ';']).next().unwrap_or(&before);
    VERBS
        .iter()
        .any(|verb| before.split(|c: char| !c.is_alphanumeric() && c != ' ').any(|part| part.contains(verb)))
}

/// Whether the words before a path say that the skill writes it.
fn writes(text: &str, at: usize) -> bool {
    let before = text[text.floor_char_boundary(at.saturating_sub(40))..at].to_lowercase();
    ["save", "writ", "creat", "generat", "output", "produc", "append", "export"]
        .iter()
        .any(|verb| before.contains(verb))
}

/// Whether a text says that data of a service is used.
fn acts(text: &str) -> bool {
    const VERBS: [&str; 16] = [
        "query",
        "search",
        "fetch",
        "list",
        "manage",
        "analyze",
        "analyse",
        "monitor",
        "update",
        "retrieve",
        "sync",
        "interact with",
        "send",
        "triage",
        "pull ",
        "automate",
    ];
    let text = text.to_lowercase();
    VERBS.iter().any(|verb| text.contains(verb))
}

/// Whether inline code is the name of an environment variable.
fn is_variable(text: &str) -> bool {
    let name = text.trim_start_matches('$');
    name.len() > 4
        && name.contains('_')
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}
