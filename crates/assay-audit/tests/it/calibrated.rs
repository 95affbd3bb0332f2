//! The calibrated auditor on the traces of the release.

use std::collections::BTreeMap;
use std::path::Path;

use assay_audit::adherence::{ADOPTED, TestCheck};
use assay_audit::calibrated::{ArmFindings, CorpusAudit, Run, TaskRuns, audit, corpus};
use assay_audit::corpus::Corpus;
use assay_audit::evidence::SkillText;
use assay_trace::Exposure;
use serde_json::Value;

use assay_test::shared;

/// The nine tasks are audited once, and then asked everything: an audit with planted lines takes
/// seconds.
#[test]
#[ignore = "needs shared data"]
fn the_release_is_audited() {
    let root = shared("cta");
    let found = Corpus::find(&root).expect("the release is a corpus");
    let audit = corpus(&root, &found, |notice| panic!("{notice:?}"));
    nothing_is_found_where_nobody_read_and_something_where_they_did(&audit);
    exposure_is_as_labelled(&audit, &root);
    lines_have_what_the_contract_says(&audit);
}

fn nothing_is_found_where_nobody_read_and_something_where_they_did(audit: &CorpusAudit) {
    let arm = |name: &str| audit.arms.iter().find(|arm| arm.arm == name).expect("an arm");
    let (plain, nudged) = (arm("claude-sonnet-4.5"), arm("claude-sonnet-4.5-nudged"));
    assert_eq!((plain.exposure.opened, plain.exposure.only_listed), (0, 18));
    assert!(!plain.beyond_chance && plain.readers.is_empty());
    assert!(plain.patterns.iter().all(|pattern| pattern.attributed == 0));
    assert_eq!((nudged.exposure.opened, nudged.exposure.mentioned, nudged.exposure.contaminated), (6, 9, 0));
    // Six of 27 runs read a skill, and most of what they took from it models do anyway: more than
    // without it, but within chance.
    let excess = |arm: &ArmFindings| arm.adoption.as_ref().expect("there are tasks").excess;
    assert!(excess(nudged) > 0.01 && excess(plain) < 0.01, "{} {}", excess(nudged), excess(plain));
    // What was adopted has spans, and no finding is before the skill was read.
    for reader in &nudged.readers {
        assert!(!reader.spans.is_empty() || reader.adoption < Some(ADOPTED), "{}", reader.trace);
        let opened = reader.opened_at.expect("it was read");
        assert!(reader.findings.iter().all(|found| found.finding.step == 0 || found.finding.step > opened));
    }
}

fn exposure_is_as_labelled(audit: &CorpusAudit, root: &Path) {
    let labels = std::fs::read_to_string(root.join("exposure_labels.jsonl")).expect("labels");
    let mut expected = BTreeMap::new();
    for label in labels.lines().map(|line| serde_json::from_str::<Value>(line).expect("a label")) {
        let part = |key: &str| label[key].as_str().unwrap_or_default().to_owned();
        let place = ["arm", "task", "condition", "rep"].map(part).join("/");
        let number = |key: &str| label[key].as_u64().unwrap_or_default();
        let value =
            (number("skill_tool_touches"), number("skill_body_lines_ingested"), label["ingested"] == true);
        expected.insert(place, value);
    }
    let mut found = BTreeMap::new();
    for run in audit.tasks.iter().flat_map(|task| &task.runs) {
        let exposed = run.exposure;
        let place = run.trace.rsplit_once('/').expect("a folder").0.to_owned();
        found.insert(place, (exposed.mentions as u64, exposed.body_lines_ingested as u64, exposed.opened));
    }
    assert_eq!(found, expected);
}

/// The runs of one task, as they lie.
fn runs(root: &Path, task: &str) -> Vec<Run> {
    let corpus = Corpus::find(root).expect("the release is a corpus");
    let groups = corpus.groups.iter().filter(|group| group.task == task);
    groups
        .flat_map(|group| {
            let files = group
                .with
                .iter()
                .map(|file| (file, true))
                .chain(group.without.iter().map(|file| (file, false)));
            files.map(|(file, with)| {
                let transcript = assay_trace::read::read(&file.path, None).expect("a log");
                let tokens = transcript.tally.usage.total();
                Run::new(&file.name, &group.arm, with, transcript.trajectory, tokens)
            })
        })
        .collect()
}

/// What must not move a score: labels, names, arms, what the verifier said, what is known of the
/// skill's way into the run, times, prompts, the results that brought the skill, and the order of the
/// runs.
#[test]
#[ignore = "needs shared data"]
fn labels_names_and_exposure_do_not_move_the_score() {
    let root = shared("cta");
    let skills = ["add-admin-api-endpoint", "bash-defensive-patterns"];
    let text = |name: &str| std::fs::read(root.join("skills").join(name).join("SKILL.md")).expect("a skill");
    let library: Vec<SkillText> = skills.iter().map(|name| SkillText::parse(&text(name))).collect();
    for (task, skill) in skills.iter().zip(&library) {
        let straight = runs(&root, task);
        let scores = |name: &str, runs: Vec<Run>| -> Vec<u64> {
            let task = TaskRuns {
                task: name.to_owned(),
                skill_name: name.to_owned(),
                prompt: String::new(),
                skill,
                runs,
                baseline: None,
            };
            let found = audit(&task, &library);
            found.runs.iter().map(|run| run.adherence.score.to_bits()).collect()
        };
        let expected = scores(task, straight.clone());
        assert!(expected.iter().any(|score| f64::from_bits(*score) > 0.1));
        let mut shuffled = straight.clone();
        for (at, run) in shuffled.iter_mut().enumerate() {
            run.with = at % 2 == 0;
            run.trace = format!("x/{}.jsonl", (at * 7) % 11);
            run.arm = format!("arm-{}", at % 3);
            run.tokens = at as u64;
            run.known = Some(Exposure {
                skill: task.to_string(),
                offered: true,
                advertised: Some(1),
                mentioned: Some(2),
                opened: (at % 3 == 0).then_some(3),
                executed: None,
                body_lines: 40,
                body_lines_delivered: at,
            });
            let passed = Some(at % 2 == 1);
            run.checks = vec![TestCheck { name: "all".to_owned(), passed, message: task.to_string() }];
            run.trajectory.session_id = None;
            for step in &mut run.trajectory.steps {
                step.timestamp = Some(format!("2031-01-{:02}T00:00:00Z", 1 + at % 28));
            }
        }
        assert_eq!(scores("another-name", shuffled), expected);
        // Without prompts, and without results that have a line of the skill, nothing shows who opened it.
        let lines: Vec<&str> =
            skill.body.lines().map(str::trim).filter(|line| line.chars().count() >= 40).collect();
        let mut bare = straight.clone();
        for run in &mut bare {
            run.trajectory.steps.retain(|step| step.source == assay_trace::Source::Agent);
            let results = run.trajectory.steps.iter_mut().filter_map(|step| step.observation.as_mut());
            for result in results.flat_map(|observation| &mut observation.results) {
                let text = result.content.as_deref().unwrap_or_default();
                if assay_trace::carries(text, &skill.body) && lines.iter().any(|line| text.contains(line)) {
                    result.content = None;
                }
            }
        }
        assert_eq!(scores(task, bare), expected);
        // In another order each run keeps its own.
        let mut back = scores(task, straight.into_iter().rev().collect());
        back.reverse();
        assert_eq!(back, expected);
    }
}

fn lines_have_what_the_contract_says(audit: &CorpusAudit) {
    let mut lines = Vec::new();
    audit.lines(Vec::new(), |line| lines.push(line));
    let of = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).collect::<Vec<_>>();
    let (pairs, traces) = (of("pair"), of("trace"));
    // 9 tasks: 6 + 9 treatment pairs, 2 · 6 null-minus in both orders, 2 + 6 null-plus.
    assert_eq!((pairs.len(), traces.len(), of("findings").len()), (9 * 35, 99, 1));
    // Runs with the skill, each once.
    assert_eq!(of("run").len(), 45);
    assert_eq!(lines.last().expect("lines")["kind"], "findings");
    for line in &lines {
        assert_eq!(line["schema"], "assay.audit/2");
    }
    for pair in pairs {
        for key in ["arm", "task", "mode", "with_trace", "without_trace", "phases", "tokens", "exposure"] {
            assert!(!pair[key].is_null(), "{key}");
        }
        let total: u64 =
            pair["sips"]["by_type"].as_object().expect("a map").values().filter_map(Value::as_u64).sum();
        assert_eq!(pair["sips"]["total"], total);
    }
    for trace in traces {
        let adoption = &trace["adoption"];
        // Unknown where no run of the task shows anything of the skill, or can reach the threshold.
        let score = adoption["score"].as_f64();
        assert!(score.is_some() || adoption["score"].is_null(), "{adoption}");
        let is_right = match adoption["adopted"].as_bool() {
            Some(adopted) => score.is_some_and(|score| adopted == (score >= ADOPTED)),
            None => adoption["adopted"].is_null() && score.is_none_or(|score| score < ADOPTED),
        };
        assert!(score.is_none_or(|score| (0.0..=1.0).contains(&score)) && is_right, "{adoption}");
        let count = |key: &str| adoption["directives"][key].as_u64().expect("a count");
        assert!(count("followed") + count("violated") + count("unknown") <= count("total"), "{adoption}");
        assert!(count("delivered") <= count("total"), "{adoption}");
        assert!(["with", "without"].contains(&trace["condition"].as_str().unwrap_or_default()));
        assert!(trace["exposure"]["mentions"].is_u64() && trace["exposure"]["opened"].is_boolean());
    }
    let readers = lines.last().map(|line| &line["arms"][1]["readers"]).expect("readers");
    assert_eq!(readers.as_array().map(Vec::len), Some(6));
    assert_eq!(lines.last().expect("lines")["threshold"], ADOPTED);
}
