//! Names that several packages share: a client keeps one of them.

use std::collections::BTreeMap;

use super::{LibraryFamily, Member};
use crate::client::AGENTS;
use crate::diagnostic::Severities;
use crate::diagnostic::Severity::Warning;
use crate::rule::{Findings, Rule};

pub(super) struct Names;

const RULES: &[Rule] = &[Rule {
    code: "name-clash",
    severities: Severities::none().with(Warning, &AGENTS),
    about: "another skill of the library goes by the same name, so that an agent sees only one of them",
    source: "the implementation guide, the agents' sources",
    numbers: &[62, 63, 102],
}];

impl LibraryFamily for Names {
    fn rules(&self) -> &'static [Rule] {
        RULES
    }

    fn check(&self, members: &[&Member], findings: &mut [Findings]) {
        let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, member) in members.iter().enumerate() {
            // Every agent that loads it calls it the same, save for characters that one of them replaces.
            let name = AGENTS.iter().find_map(|&client| member.fate(client)?.name.as_deref());
            if let Some(name) = name {
                named.entry(name).or_default().push(at);
            }
        }
        for (name, places) in named.into_iter().filter(|(_, places)| places.len() > 1) {
            for &at in &places {
                let other = places.iter().find(|&&other| other != at).map_or(at, |&other| other);
                let more = match places.len() - 2 {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let message = format!("`{name}` is also the name of {}{more}", members[other].root.display());
                findings[at]
                    .add_at("name-clash", &members[at].file, Some(members[at].name), message)
                    .hint("rename one of them: an agent is told of one only");
            }
        }
    }
}
