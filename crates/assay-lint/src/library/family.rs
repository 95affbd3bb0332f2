//! The packages that are looked at together, and families of rules on them.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::budgets::Budgets;
use crate::client::{Client, Fate};
use crate::diagnostic::Span;
use crate::plugin::{self, Plugins};
use crate::rule::{Findings, Rule};
use crate::skill::Skill;

/// What of a package the library's rules need, so that the rest can go.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its folder.
    pub root: PathBuf,
    /// Its document.
    pub file: PathBuf,
    /// What becomes of it in each client.
    pub fates: Vec<(Client, Fate)>,
    /// Where its name stands.
    pub name: Span,
    /// Where its description stands.
    pub description: Span,
}

impl Member {
    pub(crate) fn of(skill: &Skill, fates: &[(Client, Fate)]) -> Self {
        let span = |range: Range<usize>| Span::of(skill.text(), &range);
        Self {
            root: skill.root.clone(),
            file: skill.file.clone(),
            fates: fates.to_vec(),
            name: span(skill.place("name")),
            description: span(skill.place("description")),
        }
    }

    /// What becomes of it in one client.
    pub(crate) fn fate(&self, client: Client) -> Option<&Fate> {
        self.fates.iter().find(|(own, _)| *own == client).map(|(_, fate)| fate)
    }
}

/// Packages that are installed together: those of a plugin, of a client's folder, or all others.
#[derive(Debug)]
pub(crate) struct Group {
    /// The plugin's name; `None` for the packages that are part of none.
    pub plugin: Option<String>,
    /// The plugin's or the client's folder, else the first path that was named.
    pub root: PathBuf,
    /// Places in the list of packages.
    pub members: Vec<usize>,
}

impl Group {
    /// What messages call it.
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
    /// How much of them clients list.
    pub budgets: Budgets,
}

impl<'a> Library<'a> {
    pub(crate) fn new(members: Vec<&'a Member>, plugins: &Plugins, root: &Path, budgets: Budgets) -> Self {
        let roots: Vec<&Path> = members.iter().map(|member| member.root.as_path()).collect();
        // Plugins are known by their real folders, and shown as the path that was named leads there.
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

    /// Looks at all packages. Findings on a package go to its place in the list, those on all of them to `whole`.
    fn check(&self, library: &Library<'_>, findings: &mut [Findings], whole: &mut Findings);
}
