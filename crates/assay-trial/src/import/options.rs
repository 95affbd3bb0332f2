//! Options of imports as a command line has them, and the names of runs where none is given.

use std::path::{Path, PathBuf};

use assay_store::ConditionRole;

/// Why an option cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportOptionError {
    /// No condition of a pattern.
    #[error("{0:?} is not PATTERN=CONDITION")]
    Pattern(String),
    /// No role of a condition.
    #[error("{0:?} is not CONDITION=ROLE")]
    Role(String),
    /// A role that there is not.
    #[error("unknown role {role:?}: expected one of {}", ConditionRole::ALL.map(ConditionRole::name).join(", "))]
    UnknownRole {
        /// As it was given.
        role: String,
    },
    /// No value of a column.
    #[error("{0:?} is not COLUMN=VALUE")]
    Filter(String),
    /// No range.
    #[error("{0:?} is not LOW..HIGH")]
    Range(String),
}

impl ImportOptionError {
    /// What to write instead.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Pattern(_) => Some(
                "for example --condition 'job-7/*=none'; a pattern matches JOB/TRIAL/AGENT or one of the three",
            ),
            Self::Role(_) => Some("for example `--role with-skill=curated`"),
            Self::Range(_) => Some("for example `--range 0..10`"),
            Self::UnknownRole { .. } | Self::Filter(_) => None,
        }
    }
}

/// Reads `PATTERN=CONDITION`; the pattern may hold `=`.
///
/// # Errors
/// The text has another form.
pub fn parse_pattern(text: &str) -> Result<(String, String), ImportOptionError> {
    match text.rsplit_once('=') {
        Some((pattern, condition)) if !pattern.is_empty() && !condition.is_empty() => {
            Ok((pattern.to_owned(), condition.to_owned()))
        }
        _ => Err(ImportOptionError::Pattern(text.to_owned())),
    }
}

/// Reads `CONDITION=ROLE`; the condition may contain `=`.
///
/// # Errors
/// The text has another form, or there is no such role.
pub fn parse_role(text: &str) -> Result<(String, ConditionRole), ImportOptionError> {
    let split = text.rsplit_once('=').filter(|(name, _)| !name.is_empty());
    let (name, role) = split.ok_or_else(|| ImportOptionError::Role(text.to_owned()))?;
    match ConditionRole::of(role) {
        ConditionRole::Other => Err(ImportOptionError::UnknownRole { role: role.to_owned() }),
        role => Ok((name.to_owned(), role)),
    }
}

/// Reads `COLUMN=VALUE`; the value may contain `=`.
///
/// # Errors
/// The text has another form.
pub fn parse_filter(text: &str) -> Result<(String, String), ImportOptionError> {
    let split = text.split_once('=').filter(|(column, _)| !column.is_empty());
    split
        .map(|(column, value)| (column.to_owned(), value.to_owned()))
        .ok_or_else(|| ImportOptionError::Filter(text.to_owned()))
}

/// Reads `LOW..HIGH`.
///
/// # Errors
/// The text has another form.
pub fn parse_range(text: &str) -> Result<(f64, f64), ImportOptionError> {
    let number = |text: &str| text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    let read = |(low, high): (&str, &str)| Some((number(low)?, number(high)?));
    text.split_once("..")
        .and_then(read)
        .filter(|(low, high)| low < high)
        .ok_or_else(|| ImportOptionError::Range(text.to_owned()))
}

/// The name of a run of a table where none is given.
pub fn name_of_table(file: &Path) -> String {
    format!("table-{}", name_of_file(file))
}

/// The name of a run of a file where none is given.
pub fn name_of_file(file: &Path) -> String {
    run_name(&stem(file))
}

/// The name of a file without its extensions.
fn stem(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".zst").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(name, _)| name).to_owned()
}

/// The name of a run of job folders where none is given: that of the first folder, with what a name cannot hold replaced.
pub fn name_of_folders(dirs: &[PathBuf]) -> String {
    let first = dirs.first().and_then(|dir| dir.canonicalize().ok()).unwrap_or_default();
    let name = first.file_name().unwrap_or_default().to_string_lossy();
    format!("harbor-{}", run_name(&name))
}

/// A text with what the name of a run cannot hold replaced.
fn run_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    text.chars().map(plain).take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_ends_at_the_last_sign() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let found = parse_pattern(text).ok();
            assert_eq!(found, expected.map(|(a, b)| (a.to_owned(), b.to_owned())), "{text}");
        };
        check("job/*=none", Some(("job/*", "none")));
        check("a=b/*=curated", Some(("a=b/*", "curated")));
        for bad in ["", "none", "=none", "job="] {
            check(bad, None);
        }
    }

    #[test]
    fn a_name_comes_of_the_first_folder() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("my jobs (old)");
        std::fs::create_dir(&odd).unwrap();
        assert_eq!(name_of_folders(&[odd]), "harbor-my-jobs--old-");
    }
}
