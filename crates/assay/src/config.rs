//! Defaults, then `assay.toml`, then the environment, then flags.

pub(crate) mod lint;

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
}

/// `assay.toml` in the working folder.
#[derive(Debug, Default, Deserialize)]
struct File {
    store: Option<PathBuf>,
    color: Option<Color>,
}

/// Flags and environment come together from the parser; the file fills what they leave open.
pub(crate) fn settle(args: &Args) -> Result<Settings, Failure> {
    let file = read(Path::new(lint::FILE))?;
    Ok(Settings {
        store: args.store.clone().or(file.store).unwrap_or_else(|| PathBuf::from(".assay")),
        format: args.format,
        json: args.format == Format::Json,
        color: args.color.or(file.color).unwrap_or(Color::Auto),
        quiet: args.quiet,
        verbose: args.verbose > 0,
    })
}

fn read(path: &Path) -> Result<File, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(File::default()),
        Err(error) => return Err(Failure::bad_input(format!("cannot read {}: {error}", path.display()))),
    };
    // What stands in [lint] is read by the command, which may be given another file.
    lint::check_top(path, &text)?;
    toml::from_str(&text).map_err(|error: toml::de::Error| {
        let line =
            error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        Failure::bad_input(format!("{}:{line}: {}", path.display(), error.message().trim()))
            .hint("docs/FORMATS.md says what assay.toml may hold")
    })
}
