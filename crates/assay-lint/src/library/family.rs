//! The packages that are checked together, and families of rules on them.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::budgets::Budgets;
use crate::client::{Client, LoadResult};
use crate::diagnostic::Span;
use crate::plugin::{self, Plugins};
use crate::rule::{Findings, Rule};
use crate::skill::Skill;

/// What the library rules need of a package, so that the rest can be dropped.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its folder.
    pub root: PathBuf,
    /// Its document.
    pub file: PathBuf,
    /// How each client loads it.
    pub load_results: Vec<(Client, LoadResult)>,
    /// The position of its name.
    pub name: Span,
    /// The position of its description.
    pub description: Span,
}

impl Member {
    pub(crate) fn of(skill: &Skill, load_results: &[(Client, LoadResult)]) -> Self {
        let span = |range: Range<usize>| Span::of(skill.text(), &range);
        Self {
            root: skill.root.clone(),
            file: skill.file.clone(),
            load_results: load_results.to_vec(),
            name: span(skill.place("name")),
            description: span(skill.place("description")),
        }
    }

    /// How one client loads it.
    pub(crate) fn load_result(&self, client: Client) -> Option<&LoadResult> {
        self.load_results.iter().find(|(own, _)| *own == client).map(|(_, load_result)| load_result)
    }
}

/// Packages that are installed together: those of a plugin, of a client's folder, or all others.
#[derive(Debug)]
pub(crate) struct Group {
    /// The plugin's name; `None` for packages outside of plugins.
    pub plugin: Option<String>,
    /// The plugin's or the client's folder, else the first path that was named.
    pub root: PathBuf,
    /// Indices into the list of packages.
    pub members: Vec<usize>,
}

impl Group {
    /// The name used in messages.
    pub(super) fn name(&self) -> String {
        self.plugin.as_ref().map_or_else(|| "this library".to_owned(), |name| format!("the plugin `{name}`"))
    }
}

/// All packages.
#[derive(Debug)]
pub(crate) struct Library<'a> {
    /// The packages.
    pub members: Vec<&'a Member>,
    /// What is installed together. A package may be part of several plugins.
    pub groups: Vec<Group>,
    /// The listing budgets of clients.
    pub budgets: Budgets,
}

impl<'a> Library<'a> {
    pub(crate) fn new(members: Vec<&'a Member>, plugins: &Plugins, root: &Path, budgets: Budgets) -> Self {
        let roots: Vec<&Path> = members.iter().map(|member| member.root.as_path()).collect();
        // Plugins are identified by canonical paths, and shown as seen from the named path.
        let real = plugin::real(root);
        let shown = |path: PathBuf| match path.strip_prefix(&real) {
            Ok(rest) if rest.as_os_str().is_empty() => root.to_path_buf(),
            Ok(rest) => root.join(rest),
            Err(_) => path,
        };
        let groups = plugin::group(plugins, &roots, root)
            .into_iter()
            .map(|((root, plugin), members)| Group { plugin, root: shown(root), members })
            .collect();
        Self { members, groups, budgets }
    }
}

/// Related rules on many packages.
pub(crate) trait LibraryFamily: Sync {
    /// The rules it may report.
    fn rules(&self) -> &'static [Rule];

    /// Checks all packages. Findings on one package go to its index in the list, others to `whole`.
    fn check(&self, library: &Library<'_>, findings: &mut [Findings], whole: &mut Findings);
}
