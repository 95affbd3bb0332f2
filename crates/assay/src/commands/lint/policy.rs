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

use assay_lint::{Client, Level, Options, Policy, Selection, Selector};

use super::LintArgs;
use crate::config::lint::{LintConfig, find, is_link, read};
use crate::failure::Failure;
use crate::ui::Ui;

/// The options that flags and configurations come to, and whether a configuration that is not the caller's could not be read.
pub(super) fn options(args: &LintArgs, ui: &Ui) -> Result<(Options, bool), Failure> {
    let here = std::env::current_dir()
        .map_err(|error| Failure::bad_input(format!("cannot find the working folder: {error}")))?;
    let mut links = BTreeSet::new();
    let own = match &args.config {
        Some(file) => Some(read(file)?),
        None if args.no_config => None,
        None => match find(&here) {
            // It may have come with a cloned repository, and lead to any file.
            Some(file) if is_link(&file) => {
                ui.note(&format!("{} is a symbolic link: not read", relative_path(&file, &here).display()));
                links.insert(file);
                None
            }
            file => file.map(|file| read(&relative_path(&file, &here))).transpose()?,
        },
    };
    let flags = Flags::read(args)?;
    let mut broken = false;
    if let (Some(own), None) = (&own, &args.config) {
        let weakened = flags.applied(&own.safety).weakens_safety();
        if !weakened.is_empty() {
            ui.note(&format!(
                "{} weakens safety rules ({}): use --no-config to ignore it, or --config to name a file that you trust",
                own.file.display(),
                weakened.join(", ")
            ));
        }
    }
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
                let name = relative_path(&file, &here);
                if links.insert(file) {
                    ui.note(&format!("{} is a symbolic link: not read", name.display()));
                }
                continue;
            }
            let found = match read(&relative_path(&file, &here)) {
                Ok(found) => found,
                // Its author must not be able to keep the safety rules from running.
                Err(failure) => {
                    ui.fail(&failure);
                    broken = true;
                    continue;
                }
            };
            ui.note(&format!(
                "{} applies to all rules except safety rules, because it is not in the working folder or above (pass it with --config to trust it)",
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
    Ok((options, broken))
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
