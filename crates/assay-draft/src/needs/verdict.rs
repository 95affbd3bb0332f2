//! Whether an evaluation can provide what a skill needs: here, with test doubles, or not at all.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Category, Needs, Signal, programs};

/// What replaces a requirement in an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Double {
    /// A scripted user: a persona with answers.
    ScriptedUser,
    /// A mock MCP server.
    McpServer,
    /// A program of the same name with canned output.
    CommandShim,
    /// An HTTP server on the sandbox's loopback.
    HttpStub,
    /// A seeded SQLite or PostgreSQL database.
    Database,
    /// A Git repository in a given state.
    GitRepository,
}

impl Double {
    /// Its name in text output.
    pub fn name(self) -> &'static str {
        match self {
            Self::ScriptedUser => "scripted user",
            Self::McpServer => "mock MCP server",
            Self::CommandShim => "command shim",
            Self::HttpStub => "HTTP stub",
            Self::Database => "seeded database",
            Self::GitRepository => "Git repository",
        }
    }
}

/// A requirement that this machine does not meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unmet {
    /// Its category.
    pub category: Category,
    /// The program or engine, if it has a name.
    pub name: Option<String>,
    /// What replaces it; `None` if nothing does.
    pub double: Option<Double>,
    /// Whether a skill cannot be evaluated without it or its double. A program that can be installed into a task's
    /// environment, for example, rules no skill out.
    pub rules_out: bool,
}

/// Whether a skill can be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No requirement rules it out.
    Usable,
    /// Test doubles replace each requirement that would rule it out.
    Double,
    /// A requirement rules it out, and nothing replaces it.
    Discard,
}

impl Verdict {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Usable => "usable",
            Self::Double => "double",
            Self::Discard => "discard",
        }
    }
}

/// What is unmet, and the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Assessment {
    /// In the order of the categories.
    pub unmet: Vec<Unmet>,
    /// What follows from it.
    pub verdict: Verdict,
}

/// Engines whose queries SQLite or PostgreSQL can answer.
const RELATIONAL: [&str; 25] = [
    "sql",
    "sqlite",
    "sqlite3",
    "better-sqlite3",
    "postgres",
    "postgresql",
    "psycopg",
    "psycopg2",
    "asyncpg",
    "pg",
    "psql",
    "pg_dump",
    "pg_restore",
    "createdb",
    "dropdb",
    "pgcli",
    "sqlalchemy",
    "prisma",
    "alembic",
    "knex",
    "timescaledb",
    "supabase",
    "duckdb",
    "drizzle-orm",
    "jdbc",
];

/// Programs any of which is a browser that a page can be opened in.
const BROWSERS: [&str; 5] = ["chromium", "chromium-browser", "google-chrome", "chrome", "firefox"];

/// Compares needs with a machine, whose programs `has_program` looks up.
///
/// Files, input files and environment variables are part of a task, and therefore never unmet.
pub fn assess(needs: &Needs, has_program: &dyn Fn(&str) -> bool) -> Assessment {
    let mut unmet = Vec::new();
    for category in needs.categories() {
        let names: BTreeSet<&str> =
            needs.of(category).iter().filter_map(|need| need.name.as_deref()).collect();
        let mut add = |name: Option<&str>, double, rules_out| {
            unmet.push(Unmet { category, name: name.map(str::to_owned), double, rules_out });
        };
        match category {
            Category::ToolCli | Category::Runtime => {
                let double = (category == Category::ToolCli).then_some(Double::CommandShim);
                let called = needs
                    .of(category)
                    .iter()
                    .filter(|need| matches!(need.by, Signal::Command | Signal::Code | Signal::FrontMatter))
                    .filter_map(|need| need.name.as_deref())
                    // Metadata lists packages of a language too, which are no programs.
                    .filter(|name| is_program(name) && (double.is_some() || programs::is_runtime(name)));
                for name in called.collect::<BTreeSet<_>>() {
                    if !has_program(name) {
                        add(Some(name), double, false);
                    }
                }
            }
            Category::Network | Category::Auth => add(None, Some(Double::HttpStub), false),
            Category::EnvVars | Category::ExistingFiles | Category::InputFile => {}
            Category::Mcp => add(None, Some(Double::McpServer), true),
            Category::MultiTurn => add(None, Some(Double::ScriptedUser), true),
            Category::ExistingRepo | Category::GitState => add(None, Some(Double::GitRepository), true),
            Category::Database => {
                let (name, double) = database(&names, needs);
                add(name, double, true);
            }
            Category::LocalServices => add(None, Some(Double::HttpStub), true),
            Category::ExternalState => {
                let hosted = needs
                    .of(category)
                    .iter()
                    .find(|need| need.by == Signal::Command && need.name.is_some())
                    .and_then(|need| need.name.as_deref());
                let double = if hosted.is_some() { Double::CommandShim } else { Double::HttpStub };
                add(hosted, Some(double), true);
            }
            Category::BrowserUi => {
                if !BROWSERS.iter().any(|name| has_program(name)) {
                    add(None, None, false);
                }
            }
            Category::Other => {
                for need in needs.of(category) {
                    let name = need.name.as_deref();
                    let found = need.by == Signal::Command && name.is_some_and(has_program);
                    let physical = need.by == Signal::Command || name == Some(HARDWARE);
                    if !found {
                        add(name, None, physical);
                    }
                }
            }
        }
    }
    unmet.sort_by(|a, b| (a.category, &a.name).cmp(&(b.category, &b.name)));
    unmet.dedup();
    let blocking = || unmet.iter().filter(|unmet| unmet.rules_out);
    let verdict = if blocking().any(|unmet| unmet.double.is_none()) {
        Verdict::Discard
    } else if blocking().next().is_some() {
        Verdict::Double
    } else {
        Verdict::Usable
    };
    Assessment { unmet, verdict }
}

/// The name of a need for hardware or an operating system.
pub(super) const HARDWARE: &str = "hardware or operating system";

/// Whether a name can be that of a program.
fn is_program(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c))
}

/// The engine that nothing replaces, or what replaces all of them.
fn database<'n>(names: &BTreeSet<&'n str>, needs: &Needs) -> (Option<&'n str>, Option<Double>) {
    let other = names.iter().copied().find(|name| !RELATIONAL.contains(&name.to_lowercase().as_str()));
    let relational = names.iter().any(|name| RELATIONAL.contains(&name.to_lowercase().as_str()));
    let Some(other) = other.filter(|_| !relational) else { return (None, Some(Double::Database)) };
    // A client on the command line can be replaced whatever is behind it.
    let client = needs
        .of(Category::Database)
        .iter()
        .any(|need| need.by == Signal::Command && need.name.as_deref().is_some_and(programs::is_known));
    (Some(other), client.then_some(Double::CommandShim))
}
