//! Bringing a text to its number of tokens.

use super::draw::Draw;
use super::leaf::{self, Leaf, Shape};
use super::render;
use super::skeleton::Block;
use crate::tokens;

/// Rounds of counting and correcting. Most texts need two or three.
const ROUNDS: usize = 16;

/// The result of filling a skeleton.
pub(super) struct Filled {
    /// The text nearest to the requested length.
    pub(super) text: String,
    /// Its tokens.
    pub(super) tokens: usize,
}

/// How far from `target` a text may be: 2 %, and 3 tokens in any case.
pub(super) fn tolerance(target: usize) -> usize {
    (target / 50).max(3)
}

/// Fills the leaves of a skeleton and corrects them until the text has `target` tokens, `fixed`
/// ones aside that `frame` adds to the blocks. Half a per cent is near enough to stop.
pub(super) fn balance(
    blocks: &mut Vec<Block>,
    leaves: &mut Vec<Leaf>,
    target: usize,
    draw: &mut Draw<'_>,
    frame: impl Fn(String) -> String,
) -> Filled {
    leaf::fill(leaves, draw);
    let mut best = None::<Filled>;
    let mut stuck = 0;
    for _ in 0..ROUNDS {
        let text = frame(render::render(blocks, leaves));
        let have = tokens(&text);
        if best.as_ref().is_none_or(|best| have.abs_diff(target) < best.tokens.abs_diff(target)) {
            best = Some(Filled { text, tokens: have });
            stuck = 0;
        } else {
            stuck += 1;
        }
        if have.abs_diff(target) <= target / 200 || stuck == 4 {
            break;
        }
        let want = target.cast_signed() - have.cast_signed();
        if want > 0 && leaves.iter().all(|leaf| leaf.target == 0) {
            // Nothing that could grow, and something to make up for: link definitions, blank lines,
            // empty headings.
            leaves.push(Leaf::new(Shape::Text, want.unsigned_abs(), 1));
            blocks.push(Block::Text(leaves.len() - 1));
            let last = leaves.len() - 1;
            leaf::edit(leaves, last, want.min(20), draw);
        } else {
            spread(leaves, want, draw);
        }
    }
    best.unwrap_or(Filled { text: String::new(), tokens: 0 })
}

/// Changes leaves throughout the text, until the changes add up to `want` tokens.
fn spread(leaves: &mut [Leaf], want: isize, draw: &mut Draw<'_>) {
    let count = leaves.len();
    let start = draw.below(count);
    let filled = leaves.iter().filter(|leaf| leaf.target > 0).count().max(1);
    let mut left = want;
    // Text and code give way before headings and cells do.
    for pass in 0..6 {
        let begun = left;
        for at in (0..count).map(|at| (start + at) % count) {
            if left == 0 {
                return;
            }
            let stiff = matches!(leaves[at].shape, Shape::Heading | Shape::Cell);
            if leaves[at].target == 0 || (stiff && pass < 2) {
                continue;
            }
            // No leaf takes more than its share, unless few are left to take any.
            let share =
                (leaves[at].target / 4).max(want.unsigned_abs() / filled).max(if pass < 3 { 3 } else { 12 });
            let mut rest = left.clamp(-share.cast_signed(), share.cast_signed());
            let direction = rest.signum();
            while rest.signum() == direction {
                let change = leaf::edit(leaves, at, rest, draw);
                if change == 0 {
                    break;
                }
                rest -= change;
                left -= change;
            }
        }
        // The third pass is the first that takes all kinds, the fourth the first that takes much
        // from each.
        if pass >= 3 && left == begun {
            return;
        }
    }
}
