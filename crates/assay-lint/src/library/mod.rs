//! The rules that look at many packages at once.

mod budget;
mod descriptions;
mod names;

use std::ops::Range;
use std::path::PathBuf;

use crate::client::{Client, Fate};
use crate::diagnostic::Span;
use crate::rule::{Findings, Rule};
use crate::skill::Skill;

/// What of a package the library's rules need, so that the rest can go.
#[derive(Debug)]
pub struct Member {
    /// Its folder.
    pub root: PathBuf,
    /// Its document.
    pub file: PathBuf,
    /// The folder's name.
    pub directory: String,
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
            directory: skill.directory().to_owned(),
            fates: fates.to_vec(),
            name: span(skill.place("name")),
            description: span(skill.place("description")),
        }
    }

    /// What becomes of it in one client.
    pub fn fate(&self, client: Client) -> Option<&Fate> {
        self.fates.iter().find(|(own, _)| *own == client).map(|(_, fate)| fate)
    }
}

/// Related rules on many packages.
pub trait LibraryFamily: Sync {
    /// The rules it may report.
    fn rules(&self) -> &'static [Rule];

    /// Looks at all packages. Findings on a package go to its place in the list.
    fn check(&self, members: &[&Member], findings: &mut [Findings]);
}

/// Every family that looks at the library.
pub fn families() -> &'static [&'static dyn LibraryFamily] {
    &[&names::Names, &descriptions::Descriptions, &budget::Budget]
}
