//! What a client shows of a library: each has so many characters for all skills together.

use super::{LibraryFamily, Member};
use crate::client::Client;
use crate::diagnostic::Severities;
use crate::diagnostic::Severity::Warning;
use crate::rule::{Findings, Rule, rule};

pub(super) struct Budget;

const RULES: &[Rule] = &[
    rule!(
        "listing-budget-claude",
        Severities::none().with(Warning, &[Client::ClaudeCode]),
        [101],
        "Claude Code",
        "the descriptions of this library together pass what Claude Code lists: this one is left out"
    ),
    rule!(
        "listing-budget-codex",
        Severities::none().with(Warning, &[Client::Codex]),
        [112],
        "Codex",
        "the catalogue of this library passes what Codex shows: this description is cut, or the skill left out"
    ),
];

/// Characters of all listings together: 1 % of a context of 200,000 tokens at 4 characters a token (Claude Code), and the
/// fixed number of Codex where the context is not known.
const LISTING: usize = 8_000;

impl LibraryFamily for Budget {
    fn rules(&self) -> &'static [Rule] {
        RULES
    }

    fn check(&self, members: &[&Member], findings: &mut [Findings]) {
        claude_code(members, findings);
        codex(members, findings);
    }
}

/// The skills that a client lists, with the lengths of name and description.
fn listed(members: &[&Member], client: Client) -> Vec<(usize, usize, usize)> {
    let length = |text: &Option<String>| text.as_deref().map_or(0, |text| text.chars().count());
    members
        .iter()
        .enumerate()
        .filter_map(|(at, member)| Some((at, member.fate(client).filter(|fate| fate.listed)?)))
        .map(|(at, fate)| (at, length(&fate.name), length(&fate.description)))
        .collect()
}

/// Names stay, descriptions go, those least used first. Nothing is known of use here: the library's last are taken for them.
fn claude_code(members: &[&Member], findings: &mut [Findings]) {
    let listed = listed(members, Client::ClaudeCode);
    let total: usize = listed.iter().map(|(_, name, description)| name + description).sum();
    let mut left = LISTING.saturating_sub(listed.iter().map(|(_, name, _)| name).sum());
    if total <= LISTING {
        return;
    }
    for (at, _, description) in listed {
        if description <= left {
            left -= description;
            continue;
        }
        left = 0;
        let message = format!(
            "all descriptions of this library have {total} characters, {LISTING} are listed: this one is left out, unless it is used more than others"
        );
        findings[at]
            .add_at("listing-budget-claude", &members[at].file, Some(members[at].description), message)
            .hint("shorten the descriptions, or keep fewer skills at hand");
    }
}

/// Descriptions are cut to one length until all fit; where names alone do not, the last skills are left out.
fn codex(members: &[&Member], findings: &mut [Findings]) {
    let listed = listed(members, Client::Codex);
    let total: usize = listed.iter().map(|(_, name, description)| name + description).sum();
    if total <= LISTING {
        return;
    }
    let names: usize = listed.iter().map(|(_, name, _)| name).sum();
    let cap =
        level(listed.iter().map(|(_, _, description)| *description).collect(), LISTING.saturating_sub(names));
    let mut left = LISTING;
    for (at, name, description) in listed {
        let fits = name <= left;
        left = left.saturating_sub(name);
        let what = match (fits, description > cap) {
            (true, true) => format!("its description of {description} is cut to {cap}"),
            (true, false) => continue,
            (false, _) => "it is left out".to_owned(),
        };
        let message =
            format!("the catalogue of this library has {total} characters, {LISTING} are shown: {what}");
        findings[at]
            .add_at("listing-budget-codex", &members[at].file, Some(members[at].description), message)
            .hint("shorten the descriptions, or keep fewer skills at hand");
    }
}

/// The greatest length to which all texts can be cut so that together they fit.
fn level(mut lengths: Vec<usize>, room: usize) -> usize {
    lengths.sort_unstable();
    let mut left = room;
    let count = lengths.len();
    for (at, length) in lengths.into_iter().enumerate() {
        let share = left / (count - at);
        if length > share {
            return share;
        }
        left -= length;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_to_one_length() {
        let check = |lengths: &[usize], room, expected| {
            assert_eq!(level(lengths.to_vec(), room), expected, "{lengths:?} {room}");
        };
        check(&[10, 20], 30, usize::MAX);
        check(&[10, 20], 29, 19);
        check(&[10, 20, 30], 30, 10);
        check(&[1, 100, 100], 101, 50);
        check(&[5, 5], 0, 0);
        check(&[], 0, usize::MAX);
    }
}
