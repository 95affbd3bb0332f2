//! Acts in a stated order.

use std::ops::Range;

use super::layout::chained;
use super::unit::Unit;
use super::{Kind, Probe};

/// Longest distance between two units of one order, in bytes.
const DISTANCE: usize = 160;

/// Longest distance between two units that are only named, in bytes.
const CLOSE: usize = 40;

/// A unit in a sentence.
pub(super) struct Placed {
    pub(super) range: Range<usize>,
    pub(super) unit: Unit,
}

/// Whether a unit can come before or after another.
pub(super) fn is_act(unit: &Unit) -> bool {
    matches!(unit.kind, Kind::Command | Kind::Flag | Kind::File | Kind::Script | Kind::Literal | Kind::Column)
}

/// One act before another.
pub(super) fn sequence(first: &Unit, then: &Unit) -> Option<Unit> {
    let (before, after) = (act_name(first), act_name(then));
    (is_act(first) && is_act(then) && before != after).then(|| Unit {
        kind: Kind::Order,
        subject: format!("{before} before {after}"),
        probe: Probe::Sequence { first: Box::new(first.probe.clone()), then: Box::new(then.probe.clone()) },
    })
}

/// What an act is called in an order: of an option, the call that has it.
fn act_name(unit: &Unit) -> String {
    match (unit.kind, &unit.probe) {
        (Kind::Flag, Probe::Command { program, words }) => {
            std::iter::once(program).chain(words).map(String::as_str).collect::<Vec<_>>().join(" ")
        }
        _ => unit.subject.clone(),
    }
}

/// Whether a unit is something that is run. Of names an arrow says what becomes of them.
pub(super) fn runs(unit: &Unit) -> bool {
    matches!(unit.kind, Kind::Command | Kind::Flag | Kind::Script)
}

/// The orders that a sentence states. `masked` is the sentence in lower case with inline code
/// blanked out; ranges are within it.
pub(super) fn sequences(masked: &str, places: &[(Range<usize>, &Unit)]) -> Vec<(Range<usize>, Unit)> {
    // Of a command and its options only the command.
    let mut acts: Vec<&(Range<usize>, &Unit)> = Vec::new();
    for place in places.iter().filter(|(_, unit)| sequence(unit, &Unit::text(Kind::Literal, "")).is_some()) {
        if acts.last().is_none_or(|last| last.0.end <= place.0.start) {
            acts.push(place);
        }
    }
    let start = masked.trim_start_matches(|c: char| !c.is_alphabetic());
    let lead = masked.len() - start.len();
    let comma = start.find(',').map_or(masked.len(), |at| at + lead);
    let mut found = Vec::new();
    for pair in acts.windows(2) {
        let [(first_range, first), (second_range, second)] = pair else { continue };
        let Some(between) = masked.get(first_range.end..second_range.start) else { continue };
        if between.len() > DISTANCE {
            continue;
        }
        let head = &masked[..first_range.start];
        let leads = first_range.end <= comma && comma < second_range.start;
        let has = |words: &[&str]| words.iter().any(|word| between.contains(word));
        let forward = if start.starts_with("before ") && leads {
            Some(false)
        } else if ["after ", "once ", "only after "].iter().any(|word| start.starts_with(word)) && leads {
            Some(true)
        } else if has(&[" until "]) {
            let denied = ["never ", "do not ", "don't ", "must not "].iter().any(|word| head.contains(word));
            denied.then_some(false)
        } else if has(&[" before ", " precedes ", " ahead of ", " prior to "]) {
            Some(true)
        } else if has(&[" only after ", " after ", " follows "]) {
            Some(false)
        } else if has(&[" then ", "followed by", " and only then ", " afterwards ", " subsequently "])
            || (has(&["→", "->"]) && [first, second].iter().all(|unit| runs(unit)))
        {
            Some(true)
        } else {
            None
        };
        // Names stand before and after each other in many ways: only close ones are in an order.
        let close = runs(first) || runs(second) || between.len() <= CLOSE;
        // "If `a` is missing, then `b`" is a case and no order.
        let case = leads && ["if ", "when ", "where ", "unless "].iter().any(|word| start.starts_with(word));
        let forward = forward.filter(|_| close && !case);
        let order = forward
            .and_then(|forward| if forward { sequence(first, second) } else { sequence(second, first) });
        found.extend(order.map(|unit| (first_range.start..second_range.end, unit)));
    }
    found
}

/// The keys that a sentence says to sort by, in their order.
pub(super) fn sort_keys(masked: &str, text: &str) -> Option<Placed> {
    // "Sort the records by", "rows are ordered by".
    let verb = ["sort", "order"].iter().filter_map(|verb| masked.find(verb)).min()?;
    let start = verb + masked[verb..].find(" by ")? + " by ".len();
    if start - verb > CLOSE {
        return None;
    }
    let mut keys: Vec<&str> = Vec::new();
    let mut end = start;
    let mut rest = text.get(start..)?;
    loop {
        rest = rest.trim_start();
        let from = text.len() - rest.len();
        let piece_end = rest.find([',', '.', ';', '(', ')', ':', '\n']).unwrap_or(rest.len());
        let and = rest.find(" and ").into_iter().chain(rest.find(" then ")).min();
        let cut = and.map_or(piece_end, |and| and.min(piece_end));
        let mut key = rest[..cut].trim();
        for lead in ["and ", "then ", "by ", "the "] {
            key = key.strip_prefix(lead).unwrap_or(key);
        }
        let is_key = key.len() >= 2
            && key.chars().all(|c| c.is_alphanumeric() || c == '_')
            && !keys.contains(&key)
            && !["ascending", "descending", "asc", "desc"].contains(&key);
        if !is_key {
            break;
        }
        keys.push(key);
        end = from + cut;
        match rest.get(cut..).filter(|tail| tail.starts_with([',', ' '])) {
            Some(tail) => rest = &tail[1..],
            None => break,
        }
    }
    (keys.len() >= 2).then(|| Placed {
        range: start..end,
        unit: Unit::layout(Kind::Order, &keys.join(", "), chained(&keys)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sort_keys_are_listed_in_their_order() {
        let check = |text: &str, expected: Option<&str>| {
            let found = sort_keys(&text.to_lowercase(), text).map(|placed| placed.unit.subject);
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("Rows are sorted by kiln, then by pot.", Some("kiln, pot"));
        check("Sorted by kiln, shelf and cone", Some("kiln, shelf, cone"));
        check("Sort the pots by kiln, then by shelf.", Some("kiln, shelf"));
        check("Sorted by kiln.", None);
        check("Sort by the date of the firing.", None);
    }
}
