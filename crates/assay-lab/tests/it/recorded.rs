//! Campaigns with trials that another tool recorded: cap-evolve on 12 tasks of the airline domain of τ²-bench, five trials each.

use std::collections::BTreeMap;

use assay_lab::campaign::{
    Campaign, CampaignDesign, CampaignOutcome, CampaignSize, CandidateDecision, MARGIN, NextStep, Results,
    TrialArm, TrialKey, campaign_level,
};

/// Three candidates that change nothing, and two edits whose rates were 1.7 points above the incumbent's.
const CANDIDATES: [&str; 5] = ["c0_null5", "c0_null5b", "c0_null5c", "cA_partial", "cB_becabin"];

const INCUMBENT: &str = "seed";

const TRIALS: usize = 5;

/// The scores of each version by task.
fn versions() -> BTreeMap<String, Vec<Vec<f64>>> {
    let file = assay_test::shared("trials/cap-evolve-airline.json");
    let document: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let scores = |task: &serde_json::Value| {
        task["trials"].as_array().unwrap().iter().map(|score| score.as_f64().unwrap()).collect()
    };
    let tasks = |version: &serde_json::Value| version.as_object().unwrap().values().map(scores).collect();
    document["val"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, version)| (name.clone(), tasks(version)))
        .collect()
}

/// The campaign of some versions at a level, all of them shorter than the incumbent.
fn replay(names: &[&str], level: f64) -> CampaignOutcome {
    let versions = versions();
    let tasks = versions[INCUMBENT].len();
    assert_eq!(tasks, 12);
    let size = CampaignSize::of(tasks, names.len(), TRIALS);
    let design = CampaignDesign::new(size, level, Some(MARGIN)).unwrap();
    // The incumbent was not measured more often than the others.
    let design = CampaignDesign { incumbent_repetitions: TRIALS, repetitions: TRIALS, ..design };
    let campaign = Campaign { design, shorter: vec![true; names.len()], clusters: Vec::new() };
    let mut results = Results::default();
    let arms = std::iter::once((TrialArm::Incumbent, INCUMBENT))
        .chain(names.iter().enumerate().map(|(at, name)| (TrialArm::Candidate(at), *name)));
    for (arm, name) in arms {
        for (task, scores) in versions[name].iter().enumerate() {
            for (repetition, score) in scores.iter().enumerate() {
                results.record(TrialKey { arm, task, repetition }, Some(*score));
            }
        }
    }
    match campaign.next_step(&results) {
        NextStep::End(outcome) => outcome,
        NextStep::Measure(stage) => panic!("{stage:?}"),
    }
}

#[test]
#[ignore = "needs shared data"]
fn neither_null_candidates_nor_small_gains_are_accepted() {
    let level = campaign_level(0.05, 1);
    let check = |names: &[&str], level: f64| {
        let outcome = replay(names, level);
        assert_eq!(outcome.accepted, None, "{names:?} {level}: {outcome:?}");
        assert_eq!(outcome.decision, CandidateDecision::Undecided, "{names:?}");
        assert!(outcome.candidates.iter().all(|found| found.looks == 1 && found.held_out.is_some()));
    };
    check(&CANDIDATES, level);
    for name in CANDIDATES {
        check(&[name], level);
        // Nor would one be if the campaign had the whole budget.
        check(&[name], 0.05);
    }
    let effects: Vec<f64> = replay(&CANDIDATES, level)
        .candidates
        .iter()
        .filter_map(|found| found.held_out)
        .map(|found| (1000.0 * found.effect).round() / 10.0 + 0.0)
        .collect();
    assert_eq!(effects, [-10.0, -5.0, 0.0, 1.7, 1.7]);
}
