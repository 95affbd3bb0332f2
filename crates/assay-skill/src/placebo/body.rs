//! The placebo of a Markdown text: the same blocks and length, without content.

use super::balance::{Filled, balance, tolerance};
use super::bank::{Entry, Kind, LEADS, Piece};
use super::draw::Draw;
use super::error::PlaceboError;
use super::leaf::{Leaf, Shape};
use super::skeleton::{Block, Skeleton};
use super::words::words;
use crate::tokens;

/// The most tokens of a text with a placebo. The longest public skills have a tenth of it.
pub(super) const TOKEN_LIMIT: usize = 200_000;
/// The most bytes: a token has 4 or so, and blank ones many more.
pub(super) const BYTE_LIMIT: usize = 4 * 1024 * 1024;

/// The longest description that clients take, in characters, by the public specification of skills.
const DESCRIPTION_CHARACTERS: usize = 1024;
/// The most of a name that a description repeats, in characters.
const NAME_CHARACTERS: usize = 60;

/// The placebo of a body, within [`tolerance`] of its tokens.
pub(super) fn body(text: &str, draw: &mut Draw<'_>) -> Result<String, PlaceboError> {
    let wanted = tokens(text);
    let filled = blocks(text, wanted, draw);
    if filled.tokens.abs_diff(wanted) > tolerance(wanted) {
        return Err(PlaceboError::Uneven { body_tokens: wanted, placebo_tokens: filled.tokens });
    }
    Ok(filled.text)
}

/// The placebo of another Markdown file, as near as it comes; its front matter, if it has any, is
/// omitted. `None` when it is too long.
pub(super) fn filled(text: &str, draw: &mut Draw<'_>) -> Option<String> {
    if text.len() > BYTE_LIMIT {
        return None;
    }
    let body =
        text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).map_or(text, |(_, body)| body);
    let wanted = tokens(body);
    (wanted <= TOKEN_LIMIT).then(|| blocks(body, wanted, draw).text)
}

fn blocks(text: &str, wanted: usize, draw: &mut Draw<'_>) -> Filled {
    if wanted == 0 {
        return Filled { text: String::new(), tokens: 0 };
    }
    let Skeleton { mut blocks, mut leaves } = Skeleton::read(text);
    let plain = text.replace("\r\n", "\n");
    let leading = plain.bytes().take_while(|byte| *byte == b'\n').count().min(2);
    let ends = plain.ends_with('\n');
    balance(&mut blocks, &mut leaves, wanted, draw, |made| {
        let made = if ends { made.as_str() } else { made.trim_end_matches('\n') };
        format!("{}{made}", &"\n\n"[..leading])
    })
}

/// A description as long as another, which contains the skill's name and nothing about its purpose.
pub(super) fn description(original: &str, name: &str, draw: &mut Draw<'_>) -> String {
    let wanted = tokens(original);
    let mut text = String::new();
    // English words have more characters to a token than most descriptions: stay where clients
    // would cut.
    for percent in (20..=100).rev().step_by(4) {
        let goal = wanted * percent / 100;
        if goal == 0 {
            break;
        }
        let mut leaf = Leaf::new(Shape::Text, goal, 1);
        leaf.pieces.extend(lead(name, goal, draw));
        let mut leaves = vec![leaf];
        text = balance(&mut vec![Block::Text(0)], &mut leaves, goal, draw, |made| made.trim_end().to_owned())
            .text;
        if text.chars().count() <= DESCRIPTION_CHARACTERS.max(original.chars().count()) {
            break;
        }
    }
    text
}

/// An opening with the words of the name, of those that are short enough and repeat nothing but the
/// name.
fn lead(name: &str, goal: usize, draw: &mut Draw<'_>) -> Option<Piece> {
    let mut known: Vec<String> = Vec::new();
    for word in words(name) {
        if known.iter().map(|word| word.chars().count() + 1).sum::<usize>() + word.chars().count()
            > NAME_CHARACTERS
        {
            break;
        }
        known.push(word);
    }
    if known.is_empty() {
        return None;
    }
    let leads: Vec<_> = LEADS.lines().collect();
    let start = draw.below(leads.len());
    (0..leads.len())
        .map(|at| Entry::new(Kind::Lead, leads[(start + at) % leads.len()].replace("{}", &known.join(" "))))
        .find(|lead| lead.tokens <= goal && draw.admits_text(lead, &known))
}
