//! Which configuration decides over what.
//!
//! The caller's own configuration is the one that `--config` names, else the `assay.toml` of the working folder or of the nearest folder
//! above it. It decides over every rule. An `assay.toml` that is found from a linted path upwards and is not the caller's may have come
//! with what is linted: it decides over everything but the safety rules. Flags are the caller's and come last.
//!
//! In the folder of a cloned repository, its own `assay.toml` is the caller's by this rule. So a file that was found and not named is
//! reported where it weakens a safety rule.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{LintConfig, LintConfigError, find_config, is_link, read_config};
use crate::{Client, Level, Options, Policy, Selection, Selector};

/// What a caller says of the rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct LintFlags<'a> {
    /// What is linted.
    pub paths: &'a [PathBuf],
    /// The configuration that is named in place of `assay.toml`.
    pub config: Option<&'a Path>,
    /// Whether no `assay.toml` is read.
    pub no_config: bool,
    /// Names of clients; all if empty.
    pub clients: &'a [String],
    /// The rules that are reported.
    pub select: &'a [String],
    /// The rules that are not reported.
    pub ignore: &'a [String],
    /// Whether suppressed findings are reported.
    pub ignore_suppressions: bool,
    /// The context window, in tokens.
    pub context_window: Option<usize>,
    /// Whether findings are counted by rule: then by all rules, those that are off by default among them.
    pub count: bool,
}

/// What a caller should know of the configurations.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConfigNotice {
    /// A file that is not read, or holds in part.
    Note(String),
    /// A file that is not the caller's and cannot be read: the rules run without it.
    Unreadable(LintConfigError),
}

/// The options that flags and configurations come to, with the working folder `here`.
///
/// # Errors
/// A rule that does not exist, or a configuration of the caller's that cannot be read.
pub fn resolve_options(
    args: &LintFlags<'_>,
    here: &Path,
    notify: &mut dyn FnMut(ConfigNotice),
) -> Result<Options, LintConfigError> {
    let mut links = BTreeSet::new();
    let own = match args.config {
        Some(file) => Some(read_config(file)?),
        None if args.no_config => None,
        None => match find_config(here) {
            // It may have come with a cloned repository, and lead to any file.
            Some(file) if is_link(&file) => {
                notify(ConfigNotice::Note(format!(
                    "{} is a symbolic link: not read",
                    relative_path(&file, here).display()
                )));
                links.insert(file);
                None
            }
            file => file.map(|file| read_config(&relative_path(&file, here))).transpose()?,
        },
    };
    let flags = ParsedFlags::read(args)?;
    if let (Some(own), None) = (&own, args.config) {
        let weakened = flags.applied(&own.safety).weakens_safety();
        if !weakened.is_empty() {
            notify(ConfigNotice::Note(format!(
                "{} weakens safety rules ({}): use --no-config to ignore it, or --config to name a file that you trust",
                own.file.display(),
                weakened.join(", ")
            )));
        }
    }
    let mut options = Options {
        policy: flags.policy(own.as_ref(), own.as_ref()),
        base: here.to_path_buf(),
        ..Options::default()
    };
    if args.config.is_none() && !args.no_config {
        for path in args.paths {
            let folder = crate::folder_of(path);
            let Ok(real) = std::fs::canonicalize(&folder) else { continue };
            let Some(file) = find_config(&real) else { continue };
            if own.as_ref().is_some_and(|own| same(&own.file, &file)) {
                // Said where another root has a configuration of its own above this one.
                options.local.push((folder, options.policy.clone()));
                continue;
            }
            if is_link(&file) {
                let name = relative_path(&file, here);
                if links.insert(file) {
                    notify(ConfigNotice::Note(format!("{} is a symbolic link: not read", name.display())));
                }
                continue;
            }
            let found = match read_config(&relative_path(&file, here)) {
                Ok(found) => found,
                // Its author must not be able to keep the safety rules from running.
                Err(failure) => {
                    notify(ConfigNotice::Unreadable(failure));
                    continue;
                }
            };
            notify(ConfigNotice::Note(format!(
                "{} applies to all rules except safety rules, because it is not in the working folder or above (pass it with --config to trust it)",
                found.file.display()
            )));
            options.local.push((folder, flags.policy(Some(&found), own.as_ref())));
        }
        // What holds nowhere says nothing of the clients that count.
        if options.local.len() == args.paths.len()
            && let Some((_, policy)) = options.local.first()
        {
            options.policy = policy.clone();
        }
    }
    Ok(options)
}

/// A path beneath the working folder as seen from there.
fn relative_path(file: &Path, here: &Path) -> PathBuf {
    file.strip_prefix(here).unwrap_or(file).to_path_buf()
}

fn same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    real(one) == real(other)
}

/// What flags say of the rules.
struct ParsedFlags {
    clients: Option<Vec<Client>>,
    select: Vec<Selector>,
    ignore: Vec<Selector>,
    ignore_suppressions: bool,
    context_window: Option<usize>,
    /// A count is of all rules, those that are off by default among them.
    count: bool,
}

impl ParsedFlags {
    fn read(args: &LintFlags<'_>) -> Result<Self, LintConfigError> {
        let selectors = |flag: &str, names: &[String]| -> Result<Vec<Selector>, LintConfigError> {
            let selector = |name: &String| {
                Selector::parse(name)
                    .map_err(|error| LintConfigError::new(format!("{flag}: {error}")).with_hint(error.hint()))
            };
            names.iter().map(selector).collect()
        };
        let mut clients: Vec<Client> = args.clients.iter().filter_map(|name| Client::find(name)).collect();
        clients.sort_unstable();
        clients.dedup();
        Ok(Self {
            clients: (!clients.is_empty()).then_some(clients),
            select: selectors("--select", args.select)?,
            ignore: selectors("--ignore", args.ignore)?,
            ignore_suppressions: args.ignore_suppressions,
            context_window: args.context_window,
            count: args.count,
        })
    }

    /// What holds where one configuration decides over the safety rules and one over the others.
    fn policy(&self, form: Option<&LintConfig>, safety: Option<&LintConfig>) -> Policy {
        let mut policy = Policy::default();
        if let Some(config) = form {
            policy.form = config.form.clone();
            policy.budgets = config.budgets;
            policy.clients = config.clients.clone().unwrap_or(policy.clients);
        }
        if let Some(config) = safety {
            policy.safety = config.safety.clone();
        }
        if let Some(clients) = &self.clients {
            policy.clients.clone_from(clients);
        }
        if let Some(tokens) = self.context_window {
            policy.budgets.context_window = tokens;
        }
        for rules in [&mut policy.form, &mut policy.safety] {
            if self.count && rules.select.is_empty() {
                rules.select.extend(Selector::parse("all"));
            }
            *rules = self.applied(rules);
            rules.ignore.extend(self.ignore.iter().cloned());
        }
        policy
    }

    /// What is left of a file's choices, before flags ignore rules.
    fn applied(&self, rules: &Selection) -> Selection {
        let mut rules = rules.clone();
        if !self.select.is_empty() {
            // What is asked for by name is reported, whatever is off by default.
            rules.select.clone_from(&self.select);
            rules.select_from_file = false;
            rules.ignore.clear();
            rules.levels.retain(|(_, level)| *level != Level::Off);
        }
        if self.ignore_suppressions {
            rules.comments = false;
            rules.allow.clear();
        }
        rules
    }
}
