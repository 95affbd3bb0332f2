//! Which configuration decides over what.
//!
//! The caller's own configuration is the one that `--config` names, else the `assay.toml` of the working folder or of the nearest folder
//! above it. It decides over every rule. An `assay.toml` that is found from a linted path upwards and is not the caller's may have come
//! with what is linted: it decides over everything but the safety rules. Flags are the caller's and come last.

use std::path::{Path, PathBuf};

use assay_lint::{Client, Level, Options, Policy, Selector};

use super::LintArgs;
use crate::config::lint::{LintConfig, find, is_link, read};
use crate::failure::Failure;
use crate::ui::Ui;

/// The options that flags and configurations come to.
pub(super) fn options(args: &LintArgs, ui: &Ui) -> Result<Options, Failure> {
    let here = std::env::current_dir()
        .map_err(|error| Failure::bad_input(format!("cannot find the working folder: {error}")))?;
    let own = match &args.config {
        Some(file) => Some(read(file)?),
        None if args.no_config => None,
        None => find(&here).map(|file| read(&shown(&file, &here))).transpose()?,
    };
    let flags = Flags::read(args)?;
    let mut options = Options {
        policy: flags.policy(own.as_ref(), own.as_ref()),
        base: here.clone(),
        ..Options::default()
    };
    if args.config.is_none() && !args.no_config {
        for path in &args.paths {
            let folder = assay_lint::folder_of(path);
            let Ok(real) = std::fs::canonicalize(&folder) else { continue };
            let Some(file) = find(&real) else { continue };
            if own.as_ref().is_some_and(|own| same(&own.file, &file)) {
                // Said where another root has a configuration of its own above this one.
                options.local.push((folder, options.policy.clone()));
                continue;
            }
            if is_link(&file) {
                ui.note(&format!("{} is a link and not read", shown(&file, &here).display()));
                continue;
            }
            let found = read(&shown(&file, &here))?;
            ui.note(&format!(
                "{} applies to all but safety rules: it is not in the working folder or above (name it with --config to trust it)",
                found.file.display()
            ));
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
fn shown(file: &Path, here: &Path) -> PathBuf {
    file.strip_prefix(here).unwrap_or(file).to_path_buf()
}

fn same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    real(one) == real(other)
}

/// What flags say of the rules.
struct Flags {
    clients: Option<Vec<Client>>,
    select: Vec<Selector>,
    ignore: Vec<Selector>,
    ignore_suppressions: bool,
    context_window: Option<usize>,
    /// A count is of all rules, those that are off by default among them.
    count: bool,
}

impl Flags {
    fn read(args: &LintArgs) -> Result<Self, Failure> {
        let selectors = |flag: &str, names: &[String]| -> Result<Vec<Selector>, Failure> {
            let selector = |name: &String| {
                Selector::parse(name)
                    .map_err(|error| Failure::bad_input(format!("{flag}: {error}")).hint(error.hint()))
            };
            names.iter().map(selector).collect()
        };
        let mut clients: Vec<Client> = args.clients.iter().filter_map(|name| Client::find(name)).collect();
        clients.sort_unstable();
        clients.dedup();
        Ok(Self {
            clients: (!clients.is_empty()).then_some(clients),
            select: selectors("--select", &args.select)?,
            ignore: selectors("--ignore", &args.ignore)?,
            ignore_suppressions: args.ignore_suppressions,
            context_window: args.context_window,
            count: args.stats,
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
            if !self.select.is_empty() {
                // What is asked for by name is reported, whatever is off by default.
                rules.select.clone_from(&self.select);
                rules.ignore.clear();
                rules.levels.retain(|(_, level)| *level != Level::Off);
            }
            rules.ignore.extend(self.ignore.iter().cloned());
            if self.ignore_suppressions {
                rules.comments = false;
                rules.allow.clear();
            }
        }
        policy
    }
}
