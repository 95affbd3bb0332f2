//! Defaults, then `assay.toml`, then the environment, then flags.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::args::{Args, Color, Format};
use crate::failure::Failure;

/// What holds for every command.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) store: PathBuf,
    pub(crate) format: Format,
    pub(crate) json: bool,
    pub(crate) color: Color,
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
    pub(crate) lint: Lint,
}

/// `assay.toml` in the working folder.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    store: Option<PathBuf>,
    color: Option<Color>,
    #[serde(default)]
    lint: Lint,
}

/// What `assay.toml` says of `assay lint`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lint {
    /// Findings that are accepted.
    #[serde(default)]
    pub(crate) allow: Vec<Allow>,
}

/// A finding that is accepted, and why.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Allow {
    code: String,
    path: Option<String>,
    reason: String,
}

impl From<&Allow> for assay_lint::Allow {
    fn from(allow: &Allow) -> Self {
        Self { code: allow.code.clone(), path: allow.path.clone(), reason: allow.reason.clone() }
    }
}

/// Flags and environment come together from the parser; the file fills what they leave open.
pub(crate) fn settle(args: &Args) -> Result<Settings, Failure> {
    let file = read(Path::new("assay.toml"))?;
    Ok(Settings {
        store: args.store.clone().or(file.store).unwrap_or_else(|| PathBuf::from(".assay")),
        format: args.format,
        json: args.format == Format::Json,
        color: args.color.or(file.color).unwrap_or(Color::Auto),
        quiet: args.quiet,
        verbose: args.verbose > 0,
        lint: file.lint,
    })
}

fn read(path: &Path) -> Result<File, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(File::default()),
        Err(error) => return Err(Failure::bad_input(format!("cannot read {}: {error}", path.display()))),
    };
    toml::from_str(&text).map_err(|error: toml::de::Error| {
        let line =
            error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        Failure::bad_input(format!("{}:{line}: {}", path.display(), error.message().trim()))
            .hint("assay.toml holds `store`, `color` and `[[lint.allow]]` with `code`, `path` and `reason`")
    })
}
