//! Names that several packages share: a client keeps only one of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Library, LibraryFamily};
use crate::client::AGENTS;
use crate::diagnostic::Severities;
use crate::diagnostic::Severity::Warning;
use crate::rule::{Findings, Rule};

pub(super) struct Names;

const RULES: &[Rule] = &[Rule {
    code: "name-clash",
    severities: Severities::none().with(Warning, &AGENTS),
    about: "another skill that is installed with this one has the same name: an agent sees only one of them",
    fix: "Rename one of the skills: an agent lists only one of them.",
    source: "the implementation guide, the agents' sources",
    numbers: &[62, 63, 102],
}];

impl LibraryFamily for Names {
    fn rules(&self) -> &'static [Rule] {
        RULES
    }

    fn check(&self, library: &Library<'_>, findings: &mut [Findings], _: &mut Findings) {
        let members = &library.members;
        let mut named: BTreeMap<(usize, &str), Vec<usize>> = BTreeMap::new();
        // A plugin's skills are invoked as `plugin:skill`: they do not clash with skills outside of
        // it.
        for (group, at) in library
            .groups
            .iter()
            .enumerate()
            .flat_map(|(group, own)| own.members.iter().map(move |at| (group, *at)))
        {
            // All agents use the same name, except for characters that one of them replaces.
            let name = AGENTS.iter().find_map(|&client| members[at].load_result(client)?.name.as_deref());
            if let Some(name) = name {
                named.entry((group, name)).or_default().push(at);
            }
        }
        let mut reported = BTreeSet::new();
        for ((_, name), mut places) in named.into_iter().filter(|(_, places)| places.len() > 1) {
            // Members of several plugins clash once.
            if places.iter().all(|at| reported.contains(at)) {
                continue;
            }
            places.retain(|at| reported.insert(*at));
            if places.len() < 2 {
                continue;
            }
            for &at in &places {
                let other = places.iter().find(|&&other| other != at).map_or(at, |&other| other);
                let more = match places.len() - 2 {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let message = format!("`{name}` is also the name of {}{more}", members[other].root.display());
                findings[at]
                    .add_at("name-clash", &members[at].file, Some(members[at].name), message)
                    .hint("rename one of them: an agent sees only one");
            }
        }
    }
}
