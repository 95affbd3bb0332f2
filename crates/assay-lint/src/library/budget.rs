//! Listing budgets: how much of all skills together a client shows.

use super::{Group, Library, LibraryFamily, Member};
use crate::budgets::Budgets;
use crate::client::Client;
use crate::diagnostic::Severities;
use crate::diagnostic::Severity::Warning;
use crate::rule::{Findings, Rule, rule};
use assay_diagnostic::group_digits;

pub(super) struct Budget;

const RULES: &[Rule] = &[
    rule!(
        "listing-budget-claude",
        Severities::none().with(Warning, &[Client::ClaudeCode]),
        [101],
        "Claude Code",
        "the descriptions of skills that are installed together exceed Claude Code's listing budget: some are omitted",
        "Shorten the descriptions, or install fewer skills together."
    ),
    rule!(
        "listing-budget-codex",
        Severities::none().with(Warning, &[Client::Codex]),
        [112],
        "Codex",
        "the names and descriptions of skills that are installed together exceed Codex's listing budget: descriptions are truncated, or skills omitted",
        "Shorten the descriptions, or install fewer skills together."
    ),
];

/// Codex's budget if the context window is unknown, in characters.
const UNKNOWN: usize = 8_000;
/// The context window that Claude Code assumes, in tokens.
const CONTEXT: usize = 200_000;
/// Characters that both clients count as one token.
const TOKEN: usize = 4;

/// Claude Code's budget in characters: 1% of the context window, at 4 characters per token.
fn claude_room(budgets: &Budgets) -> usize {
    let context = if budgets.context_window == 0 { CONTEXT } else { budgets.context_window };
    if budgets.claude_listing > 0 { budgets.claude_listing } else { context.saturating_mul(TOKEN) / 100 }
}

/// Codex's budget in characters: 2% of the context window, counted in tokens; 8,000 characters if
/// the window is unknown.
fn codex_room(budgets: &Budgets) -> usize {
    match (budgets.codex_listing, budgets.context_window) {
        (0, 0) => UNKNOWN,
        (0, context) => (context / 50).saturating_mul(TOKEN),
        (tokens, _) => tokens.saturating_mul(TOKEN),
    }
}

/// The basis of a budget.
fn budget_origin(budgets: &Budgets, listing: usize) -> String {
    match (listing, budgets.context_window) {
        (1.., _) => "as configured".to_owned(),
        (0, 0) => "context window unknown".to_owned(),
        (0, context) => format!("context window {} tokens", group_digits(context)),
    }
}

impl LibraryFamily for Budget {
    fn rules(&self) -> &'static [Rule] {
        RULES
    }

    fn check(&self, library: &Library<'_>, _: &mut [Findings], whole: &mut Findings) {
        for group in &library.groups {
            claude_code(library, group, whole);
            codex(library, group, whole);
        }
    }
}

/// The skills of a group that a client lists: index, and lengths of name and description.
fn listed(library: &Library<'_>, group: &Group, client: Client) -> Vec<(usize, usize, usize)> {
    let length = |text: &Option<String>| text.as_deref().map_or(0, |text| text.chars().count());
    let load_result = |at: usize| -> Option<_> {
        let member: &Member = library.members[at];
        member.load_result(client).filter(|load_result| load_result.listed)
    };
    let lengths = |at: &usize| {
        load_result(*at).map(|load_result| (*at, length(&load_result.name), length(&load_result.description)))
    };
    group.members.iter().filter_map(lengths).collect()
}

/// Claude Code keeps all names and omits the least used descriptions. Usage is unknown here: the
/// last of the library are omitted.
fn claude_code(library: &Library<'_>, group: &Group, whole: &mut Findings) {
    let listed = listed(library, group, Client::ClaudeCode);
    let room = claude_room(&library.budgets);
    let total: usize = listed.iter().map(|(_, name, description)| name + description).sum();
    if total <= room {
        return;
    }
    let mut left = room.saturating_sub(listed.iter().map(|(_, name, _)| name).sum());
    let mut lost = 0;
    for (_, _, description) in &listed {
        if *description <= left {
            left -= description;
        } else {
            left = 0;
            lost += 1;
        }
    }
    let message = format!(
        "names and descriptions of {} in {} total {} characters; Claude Code lists {} ({}) and omits about {lost} of the descriptions, least used first",
        count(listed.len(), "skill"),
        group.name(),
        group_digits(total),
        group_digits(room),
        budget_origin(&library.budgets, library.budgets.claude_listing),
    );
    whole.add_at("listing-budget-claude", &group.root, None, message).hint(
        "shorten the descriptions, install fewer skills together, or raise `skillListingBudgetFraction`",
    );
}

/// Codex truncates all descriptions to one length; if the names alone do not fit, it omits the last
/// skills.
fn codex(library: &Library<'_>, group: &Group, whole: &mut Findings) {
    let listed = listed(library, group, Client::Codex);
    let room = codex_room(&library.budgets);
    let total: usize = listed.iter().map(|(_, name, description)| name + description).sum();
    if total <= room {
        return;
    }
    let names: usize = listed.iter().map(|(_, name, _)| name).sum();
    let cap =
        level(listed.iter().map(|(_, _, description)| *description).collect(), room.saturating_sub(names));
    let mut left = room;
    let (mut cut, mut lost) = (0, 0);
    for (_, name, description) in &listed {
        if *name > left {
            lost += 1;
        } else if *description > cap {
            cut += 1;
        }
        left = left.saturating_sub(*name);
    }
    let cuts = match (cut, cap) {
        (0, _) => None,
        (_, 0) => Some(format!("drops {}", count(cut, "description"))),
        _ => Some(format!("truncates {} to {}", count(cut, "description"), count(cap, "character"))),
    };
    let leaves = (lost > 0).then(|| format!("omits {}", count(lost, "skill")));
    let does: Vec<String> = cuts.into_iter().chain(leaves).collect();
    let message = format!(
        "names and descriptions of {} in {} total {} characters; Codex lists {} ({}) and {}",
        count(listed.len(), "skill"),
        group.name(),
        group_digits(total),
        group_digits(room),
        budget_origin(&library.budgets, library.budgets.codex_listing),
        does.join(" and "),
    );
    whole
        .add_at("listing-budget-codex", &group.root, None, message)
        .hint("shorten the descriptions, or install fewer skills together");
}

fn count(count: usize, word: &str) -> String {
    format!("{} {word}{}", group_digits(count), if count == 1 { "" } else { "s" })
}

/// The greatest length to which all texts can be truncated so that together they fit.
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
    fn budgets_follow_the_context_window() {
        let rooms = |context_window, claude_listing, codex_listing| {
            let budgets = Budgets { context_window, claude_listing, codex_listing, ..Budgets::default() };
            (claude_room(&budgets), codex_room(&budgets))
        };
        assert_eq!(rooms(200_000, 0, 0), (8_000, 16_000));
        assert_eq!(rooms(1_000_000, 0, 0), (40_000, 80_000));
        assert_eq!(rooms(272_000, 0, 0), (10_880, 21_760));
        assert_eq!(rooms(0, 0, 0), (8_000, 8_000));
        assert_eq!(rooms(0, 9, 9), (9, 36));
    }

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
