//! The score against cases worked by hand, and the promises that do not depend on data.

use super::authored::Authored;
use super::*;

/// A body whose lines share no three words with each other.
const SKILL: &str = "---\nname: ledger-export\ndescription: writes ledger exports\n---\n# Totals\nround every amount half even before summing\nuse ledger_round_mode for that\n# Files\nname each export after its closing month\n";

fn skill() -> SkillText {
    SkillText::parse(SKILL.as_bytes())
}

fn trace(lines: &[&str]) -> TraceText {
    let line = |(at, text): (usize, &&str)| Authored {
        step: at + 1,
        manner: Manner::Wrote,
        text: (*text).to_owned(),
    };
    TraceText::of(lines.iter().enumerate().map(line).collect())
}

fn evidence(lines: &[&[&str]], prompt: &str) -> Vec<f64> {
    let traces: Vec<TraceText> = lines.iter().map(|lines| trace(lines)).collect();
    let background = Background::new(prompt, &skill(), []);
    adoptions(&traces, &skill(), &background).iter().map(|adoption| adoption.evidence).collect()
}

#[test]
fn evidence_is_counted_in_words_of_the_skill() {
    let check = |lines: &[&[&str]], prompt: &str, expected: &[f64]| {
        let found = evidence(lines, prompt);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{lines:?}: {found} and not {expected}");
        }
    };
    // Nothing, and nothing of the skill.
    check(&[&[]], "", &[0.0]);
    check(&[&["something else altogether happened"]], "", &[0.0]);
    // Five words in a row; two are no run.
    check(&[&["Round every amount half even."]], "", &[5.0]);
    check(&[&["round every"]], "", &[0.0]);
    // Two separate runs of one line, and an identifier.
    check(&[&["round every amount", "even before summing", "LEDGER_ROUND_MODE = 1"]], "", &[7.0]);
    // Saying it twice adds nothing.
    check(&[&["round every amount", "round every amount"]], "", &[3.0]);
    // What the task says is the task's.
    check(&[&["round every amount half even"]], "Round every amount!", &[4.0]);
    // One other trace, which has it too: half or more of the others do, so it weighs nothing in
    // either.
    check(&[&["round every amount"], &["x", "round every amount"]], "", &[0.0, 0.0]);
    // One of four others has it: 1 − 2·1/4.
    check(
        &[&["round every amount"], &["x", "round every amount"], &["y"], &["z"], &["w"]],
        "",
        &[1.5, 1.5, 0.0, 0.0, 0.0],
    );
    // A copy is the same observation, not another.
    check(&[&["round every amount"], &["round every amount"], &["y"]], "", &[3.0, 3.0, 0.0]);
}

#[test]
fn other_skills_take_away_what_is_common() {
    let other = SkillText::parse(b"---\nname: o\ndescription: d\n---\nround every amount\n");
    let same = SkillText::parse(SKILL.replace("ledger-export", "renamed").as_bytes());
    let of = |others: &[&SkillText]| {
        let background = Background::new("", &skill(), others.iter().copied());
        adoptions(&[trace(&["round every amount half"])], &skill(), &background)[0].evidence
    };
    let words =
        |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} and not {expected}");
    words(of(&[]), 4.0);
    // The only other skill has it: "every amount half" is left.
    words(of(&[&other]), 3.0);
    // A copy of the skill under another name is no background.
    words(of(&[&same]), 4.0);
}

#[test]
fn the_score_is_the_excess_over_the_floor() {
    let lines: [&[&str]; 4] = [
        &["round every amount half even before summing"],
        &["name each export"],
        &["closing month after"],
        &["a"],
    ];
    let traces: Vec<TraceText> = lines.iter().map(|lines| trace(lines)).collect();
    let found = adoptions(&traces, &skill(), &Background::default());
    // 7 words, the others have 3, 0 and 0: floor 0, 7 / 27.
    assert!((found[0].score - 7.0 / 27.0).abs() < 1e-12);
    // 3 words, the others have 7, 0 and 0.
    assert!((found[1].score - 3.0 / 23.0).abs() < 1e-12);
    assert_eq!(found[3].score.to_bits(), 0.0_f64.to_bits());
    let span = &found[0].spans[0];
    assert_eq!((span.skill_line, span.section, span.places[0].step), (6, 1, 1));
}

#[test]
fn order_of_traces_does_not_count() {
    let lines: [&[&str]; 5] = [
        &["round every amount half even"],
        &["name each export after"],
        &["round every amount"],
        &["b"],
        &["c"],
    ];
    let traces: Vec<TraceText> = lines.iter().map(|lines| trace(lines)).collect();
    let straight = adoptions(&traces, &skill(), &Background::default());
    let reversed: Vec<TraceText> = traces.into_iter().rev().collect();
    let mut back = adoptions(&reversed, &skill(), &Background::default());
    back.reverse();
    assert_eq!(straight, back);
}
