//! Defaults, then `assay.toml`, then the environment, then flags.

use std::path::{Path, PathBuf};

use assay_diagnostic::ConfigError;
use assay_lint::config::{CONFIG_FILE, check_top_keys, explain_unreadable, read_config_text};
use serde::Deserialize;

use crate::args::lint::LintArgs;
use crate::args::{Color, Format, GlobalArgs};
use crate::failure::Failure;

/// The default store.
const STORE: &str = ".assay";

/// What holds for every command.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder of the store.
    pub store: PathBuf,
    /// How the result is laid out.
    pub format: Format,
    pub(crate) json: bool,
    pub(crate) color: Color,
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
    /// A file with prices of models.
    pub(crate) prices: Option<PathBuf>,
    /// The store, if the command line names it, so that the next command must as well.
    pub(crate) named_store: Option<PathBuf>,
    /// The store and the colors of the command line and of the environment, if they name any.
    given: (Option<PathBuf>, Option<Color>),
}

impl Settings {
    /// The same with the settings of another folder in place of the working folder's.
    pub(crate) fn of_folder(&self, folder: &Path) -> Result<Self, Failure> {
        let file = read(&folder.join(CONFIG_FILE), false)?;
        let (store, color) = self.given.clone();
        Ok(Self {
            store: store.or(file.store).unwrap_or_else(|| PathBuf::from(STORE)),
            color: color.or(file.color).unwrap_or(Color::Auto),
            prices: file.prices.map(|prices| folder.join(prices)),
            ..self.clone()
        })
    }
}

/// `assay.toml` in the working folder.
#[derive(Debug, Default, Deserialize)]
struct File {
    store: Option<PathBuf>,
    color: Option<Color>,
    prices: Option<PathBuf>,
}

/// Flags and environment come together from the parser; the file fills what they leave open.
pub(crate) fn resolve_settings(args: &GlobalArgs, lint: Option<&LintArgs>) -> Result<Settings, Failure> {
    // The linter may run in a folder that somebody else filled, where the caller can choose another file or none.
    let file = match lint {
        Some(lint) if lint.no_config || lint.config.is_some() => File::default(),
        lint => read(Path::new(CONFIG_FILE), lint.is_some())?,
    };
    Ok(Settings {
        store: args.store.clone().or(file.store).unwrap_or_else(|| PathBuf::from(STORE)),
        format: args.format,
        json: args.format == Format::Json,
        color: args.color.or(file.color).unwrap_or(Color::Auto),
        quiet: args.quiet,
        verbose: args.verbose > 0,
        prices: file.prices,
        named_store: args.store.clone().filter(|store| {
            let env = std::env::var_os("ASSAY_STORE").map(PathBuf::from);
            env.as_ref() != Some(store)
        }),
        given: (args.store.clone(), args.color),
    })
}

/// Reads a regular file and no link, pipe or device: it may have come with somebody else's repository. The linter goes on without one
/// and says so itself.
fn read(path: &Path, lints: bool) -> Result<File, Failure> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) if lints => return Ok(File::default()),
        Ok(_) => {
            return Err(Failure::bad_input(format!("{} is not a regular file", path.display()))
                .hint("replace the link or device with a file"));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(File::default()),
        Err(error) => return Err(explain_unreadable(path, &error).into()),
    }
    let text = read_config_text(path).map_err(|error| explain_unreadable(path, &error))??;
    // What stands in [lint] is read by the command, which may be given another file.
    check_top_keys(path, &text)?;
    toml::from_str(&text).map_err(|error: toml::de::Error| {
        let ConfigError { line, message, excerpt, .. } =
            ConfigError::of_serde(&text, error.span(), error.message());
        Failure::bad_input(format!("{}:{line}: {message}", path.display()))
            .details(excerpt)
            .hint("docs/FORMATS.md lists the keys of assay.toml")
    })
}
