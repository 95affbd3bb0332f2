//! Code: imports, environment variables, URLs and connection strings.

use std::sync::LazyLock;

use regex::Regex;

use super::Category::{
    self, Auth, BrowserUi, Database, EnvVars, ExistingRepo, InputFile, LocalServices, Mcp, Network, Other,
    Runtime,
};
use super::clues::{Clue, Clues};
use super::commands::is_local;
use super::page::{Code, Page, Section};
use super::variables::{ORDINARY, credential};
use super::{Script, Signal};

/// The longest line that is read, in bytes.
const WIDTH: usize = 2000;
/// The most lines that are read of a block or script.
const LINES: usize = 5000;

/// Modules of Python and JavaScript, and what they require beside their language.
const MODULES: &[(&str, &[(Category, u32)])] = &[
    ("requests httpx aiohttp urllib3 axios got node-fetch", &[(Network, 1)]),
    ("bs4 scrapy feedparser trafilatura newspaper yfinance", &[(Network, 3)]),
    (
        "boto3 botocore google-cloud azure stripe twilio sendgrid slack_sdk notion_client github octokit",
        &[(Network, 2), (Auth, 2)],
    ),
    (
        "openai anthropic cohere mistralai replicate groq together litellm langchain_openai langchain_anthropic elevenlabs",
        &[(Network, 2), (Auth, 2)],
    ),
    (
        "huggingface_hub datasets tweepy praw simple_salesforce atlassian jira linear",
        &[(Network, 2), (Auth, 1)],
    ),
    (
        "psycopg psycopg2 asyncpg pymysql mysql pymongo motor redis ioredis sqlalchemy sqlite3 better-sqlite3 pg mysql2 mongoose mongodb neo4j cassandra clickhouse_driver snowflake pyodbc cx_Oracle oracledb duckdb knex sequelize typeorm prisma drizzle-orm",
        &[(Database, 2)],
    ),
    ("playwright selenium puppeteer pyppeteer cypress webdriverio", &[(BrowserUi, 3)]),
    ("pyautogui pynput tkinter PyQt5 PyQt6 bpy unreal", &[(Other, 1)]),
    ("docker dockerode", &[(LocalServices, 2)]),
    ("serial RPi pyvisa smbus bleak cupy pycuda", &[(Other, 2)]),
    ("pypdf PyPDF2 pdfplumber docx pptx openpyxl fitz pymupdf pydicom librosa moviepy", &[(InputFile, 1)]),
];

/// The code of a document.
pub(super) fn find(page: &Page, clues: &mut Clues) {
    for code in &page.code {
        if code.section != Section::Aside {
            block(code, clues);
        }
    }
}

/// The code of a script. That a script exists shows that its language is required.
pub(super) fn find_in_script(script: &Script, clues: &mut Clues) {
    clues.script = Some(script.path.clone());
    let runtime = match script.path.rsplit('.').next() {
        Some("py") => Some(("python", "python3")),
        Some("js" | "mjs" | "cjs" | "ts") => Some(("javascript", "node")),
        Some("rb") => Some(("ruby", "ruby")),
        _ => None,
    };
    if let Some((language, program)) = runtime {
        clues.push(Clue::new(Runtime, 3, 1, Signal::Code, program).named(program));
        for (index, line) in script.text.lines().take(LINES).enumerate() {
            imports(language, line, index + 1, clues);
            values(line, index + 1, clues);
        }
    }
    clues.script = None;
}

fn block(code: &Code, clues: &mut Clues) {
    let language = match code.language.as_str() {
        "python" | "py" | "python3" => "python",
        "javascript" | "js" | "typescript" | "ts" | "tsx" | "jsx" | "mjs" => "javascript",
        "sql" | "postgresql" | "mysql" | "plpgsql" | "sqlite" => "sql",
        "json" | "jsonc" | "yaml" | "yml" | "toml" | "env" | "dotenv" | "ini" | "" => "data",
        "bash" | "sh" | "shell" | "zsh" => "shell",
        "markdown" | "md" | "html" | "css" | "mermaid" | "diff" | "text" | "xml" => return,
        _ => "other",
    };
    if language == "sql" {
        clues.push(Clue::new(Database, 2, code.line, Signal::Code, "sql"));
        let catalogue =
            ["information_schema", "pg_catalog", "pg_stat", "sqlite_master", "explain", "show tables"];
        let upper = code.text.to_lowercase();
        if catalogue.iter().any(|name| upper.contains(name)) {
            clues.push(Clue::new(Database, 1, code.line, Signal::Code, "catalogue"));
        }
    }
    if ["python", "javascript"].contains(&language) {
        clues.push(Clue::new(Runtime, 1, code.line, Signal::Code, "remark"));
    }
    for (index, line) in code.text.lines().take(LINES).enumerate() {
        imports(language, line, code.line + index, clues);
        if language == "data" && is_build_command(line) {
            clues.push(Clue::new(ExistingRepo, 2, code.line + index, Signal::Command, "build command"));
        }
        values(line, code.line + index, clues);
        if language == "data" && code.language != "json" {
            settings(line, code.line + index, clues);
        }
    }
}

/// Whether a line of settings is the command that builds or starts an application.
fn is_build_command(line: &str) -> bool {
    let Some((key, value)) = line.split_once(':') else { return false };
    let key = key.trim().trim_start_matches("- ").trim_matches('"').to_lowercase().replace(['_', '-'], "");
    ["buildcommand", "startcommand", "installcommand", "predeploycommand", "dockerfilepath"]
        .contains(&key.as_str())
        && !value.trim().is_empty()
}

/// Modules that a line imports.
fn imports(language: &str, line: &str, number: usize, clues: &mut Clues) {
    static PYTHON: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^\s*(?:from\s+([A-Za-z_][\w.]*)\s+import\b|import\s+([A-Za-z_][\w.]*))").ok()
    });
    static SCRIPT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"(?:^\s*import\b[^'"]*|\bfrom\s*|\brequire\(\s*|\bimport\(\s*)['"]([^'"./][^'"]*)['"]"#)
            .ok()
    });
    let pattern = match language {
        "python" => &*PYTHON,
        "javascript" => &*SCRIPT,
        _ => return,
    };
    if line.len() > WIDTH {
        return;
    }
    let Some(found) = pattern.as_ref().and_then(|pattern| pattern.captures(line)) else { return };
    let Some(module) = found.get(1).or_else(|| found.get(2)) else { return };
    let module = module.as_str();
    let top = if language == "python" {
        module.split('.').next().unwrap_or(module)
    } else {
        module.strip_prefix("node:").unwrap_or(module)
    };
    // A script shows its language by itself.
    if clues.script.is_none() {
        clues.push(Clue::new(Runtime, 2, number, Signal::Import, "import").named(top));
    }
    // Parts of a path too: adapters are named after what they adapt.
    let parts: Vec<&str> = module.split(['.', '/', '@']).collect();
    for (names, effects) in MODULES {
        let Some(name) = names.split(' ').find(|name| parts.contains(name)) else { continue };
        for (category, points) in *effects {
            clues.push(Clue::new(*category, *points, number, Signal::Import, name).named(name));
        }
    }
}

/// Environment variables, URLs and connection strings in a line of code.
fn values(line: &str, number: usize, clues: &mut Clues) {
    static VARIABLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r#"(?:os\.environ(?:\.get)?[\[(]\s*|os\.getenv\(\s*|os\.Getenv\(\s*|ENV\[\s*|ENV\.fetch\(\s*|env::var\(\s*|System\.getenv\(\s*|Sys\.getenv\(\s*|getenv\(\s*)["']([A-Z][A-Z0-9_]+)["']|(?:process\.env|import\.meta\.env|Bun\.env)\.([A-Z][A-Z0-9_]+)"#,
        )
        .ok()
    });
    static URL: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"\b([a-z][a-z0-9+]{2,14})://([^\s"'`<>)\]]+)"#).ok());
    if line.len() > WIDTH {
        return;
    }
    if line.contains("nv") {
        for found in VARIABLE.iter().flat_map(|pattern| pattern.captures_iter(line)) {
            let Some(name) = found.get(1).or_else(|| found.get(2)).map(|name| name.as_str()) else {
                continue;
            };
            if !ORDINARY.contains(&name) {
                credential(name, number, clues);
                clues.push(Clue::new(EnvVars, 3, number, Signal::Variable, name).named(name));
            }
        }
    }
    if line.contains("://") {
        for found in URL.iter().flat_map(|pattern| pattern.captures_iter(line)) {
            url(&found[1], &found[2], number, clues);
        }
    }
    if is_local(line) {
        clues.push(Clue::new(LocalServices, 2, number, Signal::Url, "localhost"));
    }
    if line.contains("mcpServers") || line.contains("mcp_servers") {
        clues.push(Clue::new(Mcp, 3, number, Signal::Mcp, "servers"));
    }
}

/// `NAME=value` of an `.env` file or a block of settings.
fn settings(line: &str, number: usize, clues: &mut Clues) {
    static SETTING: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^\s*(?:export\s+)?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)=\S").ok());
    let Some(name) = SETTING.as_ref().and_then(|pattern| pattern.captures(line)) else { return };
    let name = &name[1];
    if credential(name, number, clues) {
        clues.push(Clue::new(EnvVars, 3, number, Signal::Variable, name).named(name));
    } else if !line.contains("$(") && !line.contains("=$") {
        clues.push(Clue::new(EnvVars, 1, number, Signal::Variable, "setting").named(name));
    }
}

/// What a URL in code shows.
pub(super) fn url(scheme: &str, rest: &str, line: usize, clues: &mut Clues) {
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    match scheme {
        "postgres" | "postgresql" | "mysql" | "mongodb" | "mongodb+srv" | "redis" | "rediss" | "mariadb"
        | "sqlite" | "clickhouse" | "neo4j" | "bolt" | "jdbc" | "mssql" | "snowflake" | "duckdb" => {
            clues.push(Clue::new(Database, 3, line, Signal::Url, scheme).named(scheme));
        }
        _ if is_local(host) => {}
        "http" | "https" | "ws" | "wss" => {
            let example = ["example.", ".example", "schema.org", "w3.org", "json-schema.org", "schemas."]
                .iter()
                .any(|part| host.contains(part));
            let api = host.starts_with("api.")
                || host.contains(".api.")
                || host.contains("-api.")
                || rest.contains("/api/")
                || rest.contains("/api?")
                || rest.contains("/v1/")
                || rest.contains("/v2/")
                || rest.contains("/v3/")
                || rest.contains("/graphql");
            if api && !example {
                clues.push(Clue::new(Network, 3, line, Signal::Url, host).named(host));
            }
            if rest.contains("/mcp") || host.starts_with("mcp.") {
                clues.push(Clue::new(Mcp, 2, line, Signal::Url, host).named(host));
            }
        }
        _ => {}
    }
}
