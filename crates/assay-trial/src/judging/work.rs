//! A rubric decided by the files of an attempt.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use assay_fs::{Caps, Digest, FileKind, Manifest};
use assay_judge::planted::{EVERY, Planted, is_missed, planted};
use assay_judge::{Aggregation, Case, Item, Kind, Rubric, Ruling, Unverifiable, Verdict, majority};
use assay_store::{JudgeMode, JudgedItem, Judgement, SetScore};
use serde::Serialize;
use serde_json::json;

use super::ask::{JudgeAccount, JudgeAnswer, JudgeTask, answer_request};
use super::context::{JudgeContext, JudgeError};
use super::inputs::{self, FOLDER, JUDGEMENT, LIST, WORK};
use super::panel::Panel;
use super::votes;
use super::work_list::{WorkFile, WorkList};

/// Most items of one request. A judge that has many to answer skips some.
const MOST_ITEMS: usize = 20;

/// The set with the score of the task's own tests.
const TESTS: &str = "tests";

/// What is kept of a work folder.
pub(crate) const KEPT: Caps =
    Caps { entries: 5_000, file_bytes: 16 << 20, total_bytes: 64 << 20, depth: 32, links: false };

/// Lists the copy of a work folder, beside it. `changed` are relative paths.
///
/// # Errors
/// The copy cannot be read, or the list not be written.
pub(crate) fn write_list(
    attempt: &Path,
    changed: &[PathBuf],
    left_out: impl Iterator<Item = String>,
) -> io::Result<()> {
    let folder = attempt.join(FOLDER);
    let manifest = Manifest::scan(&folder.join(WORK), &KEPT).map_err(io::Error::other)?;
    let files = manifest.entries.iter().filter(|(_, entry)| entry.kind == FileKind::File);
    let list = WorkList {
        files: files
            .map(|(path, entry)| WorkFile {
                path: assay_diagnostic::escape_path(path),
                size: entry.size,
                changed: changed.contains(path),
            })
            .collect(),
        left_out: left_out.collect(),
    };
    fs::write(folder.join(LIST), serde_json::to_vec_pretty(&list)?)
}

/// A decided rubric.
#[derive(Debug, Clone, PartialEq)]
pub struct Graded {
    /// Verdicts and scores, for the record.
    pub judgement: Judgement,
}

/// One request with its answers.
#[derive(Debug, Serialize)]
struct Exchange {
    system: String,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    planted: Option<PlantedItem>,
    replies: Vec<JudgeAnswer>,
}

#[derive(Debug, Serialize)]
struct PlantedItem {
    id: String,
    text: String,
    expected: Verdict,
}

/// Decides a rubric by the files of an attempt, and writes `judgement.json` among them. `tests` is the reward of
/// the task's own tests, if it has any.
///
/// # Errors
/// A judge without an answer, a spent budget, or files that cannot be read or written.
pub fn judge_work(
    attempt: &Path,
    instruction: &str,
    rubric: &Rubric,
    tests: Option<f64>,
    panel: &Panel,
    context: &JudgeContext<'_>,
) -> Result<Graded, JudgeError> {
    if votes::is_voted(attempt) {
        let judgement = votes::judge_by_votes(attempt, rubric, tests, panel, context)?;
        return Ok(Graded { judgement });
    }
    let texts = inputs::read(attempt, &panel.spec.material, &rubric.to_json())?;
    let mut verdicts: BTreeMap<String, (Ruling, f64)> = BTreeMap::new();
    for item in rubric.leaves() {
        if let Some(check) = &item.check {
            let verdict = if check.is_met(&texts.answer) { Verdict::Met } else { Verdict::NotMet };
            let ruling = Ruling {
                item: item.id.clone(),
                verdict,
                undecided: None,
                part: None,
                quote: None,
                reason: String::new(),
            };
            verdicts.insert(item.id.clone(), (ruling, 1.0));
        }
    }
    let asked: Vec<&Item> = rubric.leaves().filter(|item| item.check.is_none()).collect();
    let mut account = JudgeAccount::new();
    let (mut planted, mut missed) = (0, 0);
    let mut exchanges = Vec::new();
    let evidence = if panel.spec.mode == JudgeMode::Agent { &texts.readable } else { &texts.shown };
    // A script cannot read what is planted.
    let plants = if panel.measures_models() { plants(context.trial, asked.len()) } else { 0 };
    for (number, chunk) in asked.chunks(MOST_ITEMS).enumerate() {
        let plant = (number < plants).then(|| plant(evidence, context.trial, number)).flatten();
        let mut items = chunk.to_vec();
        if let Some(Planted { item, .. }) = &plant {
            let at = usize::from(item.id.bytes().last().unwrap_or_default()) % (items.len() + 1);
            items.insert(at, item);
        }
        let case = Case {
            instruction,
            context: rubric.context.as_deref().unwrap_or_default(),
            items,
            material: evidence.clone(),
        };
        let request = match panel.spec.mode {
            JudgeMode::Call => case.request(),
            JudgeMode::Agent => case.request_for_agent(),
        };
        let mut exchange = Exchange {
            system: request.system.clone(),
            text: request.text.clone(),
            planted: plant.as_ref().map(|Planted { item, expected }| PlantedItem {
                id: item.id.clone(),
                text: item.text.clone(),
                expected: *expected,
            }),
            replies: Vec::new(),
        };
        let task =
            JudgeTask { attempt, texts: &texts, number, case: &case, request: &request, is_vote: false };
        for judge in &panel.judges {
            for repeat in 1..=panel.spec.repeats {
                let reply = answer_request(judge, &task, repeat, panel, context, &mut account)?;
                if let Some(planted_item) = &plant {
                    planted += 1;
                    missed += u32::from(is_missed(planted_item, &reply.rulings));
                }
                exchange.replies.push(reply);
            }
        }
        for item in chunk {
            let own =
                |reply: &JudgeAnswer| reply.rulings.iter().find(|ruling| ruling.item == item.id).cloned();
            let rulings: Vec<Ruling> = exchange.replies.iter().filter_map(own).collect();
            if let Some(decided) = majority(&rulings) {
                verdicts.insert(item.id.clone(), decided);
            }
        }
        exchanges.push(exchange);
    }
    let (overall, sets, items) = score(rubric, &verdicts, tests).ok_or(JudgeError::NoScore)?;
    let judgement = Judgement {
        judges: panel.judges.iter().map(|judge| judge.entry.model.clone()).collect(),
        mode: panel.spec.mode.word().to_owned(),
        overall,
        sets,
        items,
        planted,
        missed,
        requests: account.requests,
        usage: account.counted_usage(),
        cost_usd: account.usd,
        replied_models: account.models,
    };
    let document = json!({ "schema": "assay.judgement/1", "judgement": judgement, "exchanges": exchanges });
    fs::write(attempt.join(JUDGEMENT), document.to_string())?;
    Ok(Graded { judgement })
}

/// How many of a trial's requests get a planted item, so that over many trials it is one item for each
/// [`EVERY`] items.
fn plants(trial: &str, items: usize) -> usize {
    let digest = Digest::of(format!("planted {trial}").as_bytes());
    let [a, b, ..] = *digest.as_bytes();
    let drawn = (usize::from(a) << 8 | usize::from(b)) % EVERY;
    items / EVERY + usize::from(drawn < items % EVERY)
}

fn plant(material: &[(String, String)], trial: &str, number: usize) -> Option<Planted> {
    let digest = Digest::of(format!("{trial} {number}").as_bytes());
    let seed = digest.as_bytes().iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte));
    planted(material, seed)
}

/// The scores of a rubric, and those of its items. `None` if every item was left out.
fn score(
    rubric: &Rubric,
    verdicts: &BTreeMap<String, (Ruling, f64)>,
    tests: Option<f64>,
) -> Option<(f64, Vec<SetScore>, Vec<JudgedItem>)> {
    let decided: BTreeMap<String, Verdict> = rubric
        .leaves()
        .map(|item| {
            (item.id.clone(), verdicts.get(&item.id).map_or(Verdict::CannotTell, |found| found.0.verdict))
        })
        .collect();
    // Verdicts were read for items of their kind.
    let scores = rubric.scores(&decided).ok()?;
    let weight =
        |set: &assay_judge::Set| set.weight.unwrap_or_else(|| set.items.iter().map(|item| item.points).sum());
    let mut sets: Vec<SetScore> = rubric
        .sets
        .iter()
        .zip(&scores.sets)
        .map(|(set, (name, score))| SetScore { name: name.clone(), score: *score, weight: weight(set) })
        .collect();
    let mut overall = scores.overall;
    if let Some(tests) = tests {
        let judged: f64 = sets.iter().filter(|set| set.score.is_some()).map(|set| set.weight).sum();
        // By default tests count as much as all that is judged.
        let weight = rubric.tests_weight.unwrap_or(judged);
        let tests = tests.clamp(0.0, 1.0);
        overall = match overall {
            Some(overall) if judged + weight > 0.0 => {
                Some((overall * judged + tests * weight) / (judged + weight))
            }
            _ => Some(tests),
        };
        sets.push(SetScore { name: TESTS.to_owned(), score: Some(tests), weight });
    }
    let mut items = Vec::new();
    for set in &rubric.sets {
        let is_plain = set.aggregation == Aggregation::Mean;
        let listed = Listed { set: &set.name, rubric, verdicts, scores: &scores.items };
        listed.add(&set.items, 1.0, is_plain, &mut items);
    }
    Some((overall?, sets, items))
}

struct Listed<'a> {
    set: &'a str,
    rubric: &'a Rubric,
    verdicts: &'a BTreeMap<String, (Ruling, f64)>,
    scores: &'a BTreeMap<String, f64>,
}

impl Listed<'_> {
    /// Adds the leaves below some items, which decide `share` of their set's score together.
    fn add(&self, items: &[Item], share: f64, is_plain: bool, into: &mut Vec<JudgedItem>) {
        let points: f64 = items.iter().map(|item| item.points).sum();
        for item in items {
            let share = share * item.points / points;
            let is_plain = is_plain && item.prerequisites.is_empty();
            if item.items.is_empty() {
                into.push(self.item(item, share, is_plain));
            } else {
                self.add(&item.items, share, is_plain, into);
            }
        }
    }

    fn item(&self, item: &Item, share: f64, is_plain: bool) -> JudgedItem {
        let found = self.verdicts.get(&item.id);
        let verdict = match found.map(|found| found.0.verdict) {
            Some(Verdict::Met) => "met",
            Some(Verdict::NotMet) => "not-met",
            Some(Verdict::Points(_)) => "points",
            Some(Verdict::CannotTell) | None => "cannot-tell",
        };
        let ruling = found.map(|found| &found.0);
        JudgedItem {
            id: item.id.clone(),
            set: self.set.to_owned(),
            text: item.text.clone(),
            share,
            verdict: verdict.to_owned(),
            score: self.scores.get(&item.id).copied(),
            undecided: ruling.and_then(|ruling| ruling.undecided).map(|why| why.name().to_owned()),
            checked: item.check.is_some(),
            is_plain: is_plain
                && item.check.is_none()
                && item.kind == Kind::Binary
                && !item.negated
                && self.rubric.rule(item) == Unverifiable::NotMet,
            agreement: found.map_or(0.0, |found| found.1),
            quote: ruling.and_then(|ruling| ruling.quote.clone()),
            reason: ruling.map(|ruling| ruling.reason.clone()).unwrap_or_default(),
            class: item.class.map(|class| class.name().to_owned()),
            line: item.line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_item_in_twenty_is_planted() {
        let check = |items: usize| {
            let count: usize = (0..2000).map(|trial| plants(&trial.to_string(), items)).sum();
            let share = count as f64 / (2000.0 * items as f64);
            assert!((share - 0.05).abs() < 0.01, "{items} items: {share}");
        };
        [1, 7, 20, 33].into_iter().for_each(check);
    }

    fn ruling(item: &str, verdict: Verdict) -> (String, (Ruling, f64)) {
        let ruling = Ruling {
            item: item.to_owned(),
            verdict,
            undecided: None,
            part: None,
            quote: None,
            reason: String::new(),
        };
        (item.to_owned(), (ruling, 1.0))
    }

    #[test]
    fn tests_count_as_much_as_the_rubric_unless_it_says_otherwise() {
        let items = vec![Item::new("a", "first", 30.0), Item::new("b", "second", 70.0)];
        let mut rubric = Rubric::of_items("criteria", items);
        let verdicts = BTreeMap::from([ruling("a", Verdict::Met), ruling("b", Verdict::NotMet)]);
        let overall = |rubric: &Rubric, tests| score(rubric, &verdicts, tests).unwrap().0;
        let check = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
        check(overall(&rubric, None), 0.3);
        check(overall(&rubric, Some(1.0)), 0.65);
        rubric.tests_weight = Some(300.0);
        check(overall(&rubric, Some(1.0)), 0.825);
        let (_, sets, items) = score(&rubric, &verdicts, Some(1.0)).unwrap();
        assert_eq!(sets.iter().map(|set| set.name.as_str()).collect::<Vec<_>>(), ["criteria", "tests"]);
        assert_eq!(items.iter().map(|item| item.share).collect::<Vec<_>>(), [0.3, 0.7]);
        assert!(items.iter().all(|item| item.is_plain));
    }
}
