//! The errors of judges, on recorded verdicts beside people's labels.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::fixture::Fixture;

fn document(lab: &Fixture, args: &[&str]) -> Value {
    lab.assay(&[&["judge"], args, &["--format", "json"]].concat()).ok().json()
}

fn rows(path: &std::path::Path) -> Vec<Value> {
    let text = zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap();
    String::from_utf8(text).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Kappa of DevAI's three agents, computed from the same table with Python.
#[test]
#[ignore = "needs shared data"]
fn kappa_of_recorded_judges_is_reproduced() {
    let path = assay_test::shared("judges/devai.jsonl.zst").display().to_string();
    let lab = Fixture::new();
    let columns = ["--label", "human_as_a_judge", "--verdict", "agent_as_a_judge/gray_box"];
    let args = [&["calibrate", &path], &columns[..], &["--by", "agent", "--cluster", "task"]].concat();
    let found = document(&lab, &args);
    let kappas = [("GPT-Pilot", 0.791_594_16), ("MetaGPT", 0.803_357_52), ("OpenHands", 0.800_244_51)];
    for (group, (by, kappa)) in found["groups"].as_array().unwrap().iter().zip(kappas) {
        assert_eq!(group["by"], by);
        assert_eq!(group["n"], 173);
        assert!((group["kappa"].as_f64().unwrap() - kappa).abs() < 1e-8, "{group}");
        let [low, high] = [0, 1].map(|at| group["ci95"]["kappa"][at].as_f64().unwrap());
        assert!(low < kappa && kappa < high, "{group}");
    }
    assert_eq!(found["calibrated"], false);
    let found = document(&lab, &[&args[..], &["--labels-by", "people"]].concat());
    assert_eq!(found["calibrated"], true);
    // The same tables corrected: the labels' own rates come out again, within the interval.
    let path = path.as_str();
    let args = [&["correct", path, "--calibration", path, "--by", "agent"], &columns[..]].concat();
    let found = document(&lab, &args);
    for (group, rate) in found["groups"].as_array().unwrap().iter().zip([0.456, 0.254, 0.433]) {
        assert!(group["ci95"][0].as_f64().unwrap() < rate && rate < group["ci95"][1].as_f64().unwrap());
    }
    assert_eq!(found["differences"].as_array().unwrap().len(), 3);
}

/// Accuracy and order consistency of 44 judges, counted here from the rows.
#[test]
#[ignore = "needs shared data"]
fn accuracy_and_order_consistency_are_counted() {
    let path = assay_test::shared("judges/llmbar.jsonl.zst");
    let mut counts = BTreeMap::<String, [f64; 5]>::new();
    for row in rows(&path) {
        let (first, second) = (row["winner"].as_str(), row["winner_swapped"].as_str());
        let label = row["label"].as_i64().unwrap().to_string();
        let of = counts.entry(row["judge"].as_str().unwrap().to_owned()).or_default();
        if let Some(first) = first {
            of[0] += 1.0;
            of[1] += f64::from(u8::from(first == label));
        }
        if let (Some(first), Some(second)) = (first, second) {
            of[2] += 1.0;
            of[3] += f64::from(u8::from(first == second));
        }
    }
    let lab = Fixture::new();
    let path = path.display().to_string();
    let columns = ["--label", "label", "--verdict", "winner", "--second-order", "winner_swapped"];
    let found = document(&lab, &[&["calibrate", &path, "--by", "judge"], &columns[..]].concat());
    let groups = found["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 44);
    for group in groups {
        let [n, right, both, same, _] = counts[group["by"].as_str().unwrap()];
        assert!((group["accuracy"].as_f64().unwrap() - right / n).abs() < 1e-12, "{group}");
        assert!((group["order_consistency"].as_f64().unwrap() - same / both).abs() < 1e-12, "{group}");
    }
}

/// Coverage of corrected intervals on real labels, with simulated judges.
#[test]
#[ignore = "needs shared data"]
fn corrected_intervals_cover_the_rates_of_labels() {
    let path = assay_test::shared("judges/devai.jsonl.zst").display().to_string();
    let args = ["lab", "judge", &path, "--label", "human_as_a_judge", "--by", "agent", "--cluster", "task"];
    for more in [&["--repetitions", "200"][..], &["--repetitions", "1000", "--items"]] {
        let ran = Fixture::new().assay(&[&args[..], more, &["--format", "json"]].concat());
        let found = ran.ok().json();
        assert_eq!(found["cells"].as_array().unwrap().len(), 20);
        for cell in found["cells"].as_array().unwrap() {
            for figures in [&cell["rates"], &cell["differences"]] {
                assert!(figures["corrected"].as_f64().unwrap() >= 0.935, "{cell}");
                assert!(figures["width"].as_f64().unwrap() <= 1.5, "{cell}");
            }
        }
    }
}

/// A table with a row for each item: `n` of each group, with label and verdict.
fn table(cells: &[(&str, bool, bool, usize)]) -> String {
    let mut text = "condition,label,verdict\n".to_owned();
    for (group, label, verdict, n) in cells {
        for _ in 0..*n {
            writeln!(text, "{group},{label},{verdict}").unwrap();
        }
    }
    text
}

#[test]
fn rates_and_differences_are_corrected() {
    // Sensitivity .9 and specificity .8 in both groups; .62 and .48 as judged are .6 and .4.
    let cells = |a: &'static str| {
        [(a, true, true, 90), (a, true, false, 10), (a, false, false, 80), (a, false, true, 20)]
    };
    let lab = Fixture::new().file("labels.csv", table(&[cells("none"), cells("skill")].concat())).file(
        "verdicts.csv",
        "condition,verdict\n".to_owned()
            + &"skill,yes\n".repeat(62)
            + &"skill,no\n".repeat(38)
            + &"none,yes\n".repeat(48)
            + &"none,no\n".repeat(52),
    );
    let found = document(&lab, &["correct", "verdicts.csv", "--calibration", "labels.csv"]);
    let near = |value: &Value, expected: f64| {
        assert!((value.as_f64().unwrap() - expected).abs() < 1e-9, "{found}");
    };
    near(&found["groups"][0]["corrected"], 0.4);
    near(&found["groups"][1]["corrected"], 0.6);
    assert_eq!(found["differences"][0]["a"], "none");
    near(&found["differences"][0]["raw"], -0.14);
    near(&found["differences"][0]["corrected"], -0.2);
    let separate = document(&lab, &["correct", "verdicts.csv", "--calibration", "labels.csv", "--separate"]);
    near(&separate["differences"][0]["corrected"], -0.2);
    let width = |found: &Value| {
        let ends = &found["differences"][0]["ci95"];
        ends[1].as_f64().unwrap() - ends[0].as_f64().unwrap()
    };
    assert!(width(&separate) > width(&found));
    insta::assert_snapshot!(
        lab.assay(&["judge", "correct", "verdicts.csv", "--calibration", "labels.csv"]).ok().stdout,
        @r"
    Sensitivity 0.900, specificity 0.800 on 400 labeled items

    Group                    as judged                   corrected
    none                     0.480 (0.385 to 0.577)      0.400 (0.248 to 0.547)
    skill                    0.620 (0.522 to 0.709)      0.600 (0.456 to 0.743)
    difference none - skill  -0.140 (-0.275 to -0.005)   -0.200 (-0.397 to -0.007)

    Labels from elsewhere: the judge is assumed to err here as it does there
    a specificity lower by .10 in none moves none - skill by 9 points, a sensitivity higher by .10 by 6 points
    "
    );
    let ran = lab.assay(&["judge", "calibrate", "labels.csv", "--label", "label", "--verdict", "verdict"]);
    insta::assert_snapshot!(ran.ok().stdout, @r"
    all: 400 items; base rate 0.500
      accuracy              0.850 (0.812 to 0.882)
      sensitivity           0.900 (0.851 to 0.934)
      specificity           0.800 (0.739 to 0.850)
      kappa                 0.700 (0.630 to 0.770)
      alpha                 0.700 (0.629 to 0.770)
    ");
}

/// A row of verdicts, and the same with a label for the first items of each task.
fn own_items(labelled: usize) -> (String, String) {
    let (mut verdicts, mut labels) = (String::new(), String::new());
    for at in 0..240 {
        let (task, condition) = (at % 12, if at % 24 < 12 { "none" } else { "skill" });
        let item = format!("{condition}/{task}/{}", at / 24);
        // The judge credits a third of the skill's failures, and none of the others.
        let is_met = (at / 24 + task) % 2 == 0;
        let verdict = is_met || (condition == "skill" && at / 24 % 3 == 0);
        let row =
            format!(r#"{{"task":"t{task}","condition":"{condition}","item":"{item}","verdict":{verdict}"#);
        writeln!(verdicts, "{row}}}").unwrap();
        if at / 24 < labelled {
            writeln!(labels, r#"{row},"label":{is_met}}}"#).unwrap();
        }
    }
    (verdicts, labels)
}

#[test]
fn labels_of_the_items_themselves_correct_errors_that_depend_on_the_group() {
    let (verdicts, labels) = own_items(5);
    let elsewhere =
        "{\"task\":\"t1\",\"condition\":\"none\",\"item\":\"other\",\"verdict\":true,\"label\":true}\n";
    let lab =
        Fixture::new().file("verdicts.jsonl", verdicts).file("labels.jsonl", labels.clone() + elsewhere);
    let args = ["correct", "verdicts.jsonl", "--calibration", "labels.jsonl"];
    let found = document(&lab, &args);
    let difference = &found["differences"][0];
    assert_eq!(difference["judge"]["estimator"], "prediction-powered", "{found:#}");
    assert_eq!(difference["judge"]["labels"], 120);
    let lambda = difference["judge"]["lambda"].as_f64().unwrap();
    assert!(lambda > 0.3 && lambda < 1.0, "{lambda}");
    let ends = |of: &Value| [0, 1].map(|at| of[at].as_f64().unwrap());
    let [low, high] = ends(&difference["ci95"]);
    assert!(low < 0.0 && 0.0 < high && high - low < 0.3, "{difference:#}");
    // As judged, the group without the skill is far worse.
    assert!(difference["raw"].as_f64().unwrap() < -0.1, "{difference:#}");
    insta::assert_snapshot!(lab.assay(&[&["judge"], &args[..]].concat()).ok().stdout, @r"
    Sensitivity 1.000, specificity 0.800 on 120 labeled items
    Corrected by labels of the table's own items (none 60, skill 60), whatever errors the judge makes in each group: prediction-powered, lambda 0.58
    Left out: labels of items that are not in the table (1)

    Group                    as judged                   corrected
    none                     0.500 (0.402 to 0.598)      0.500 (0.465 to 0.536)
    skill                    0.700 (0.602 to 0.783)      0.500 (0.465 to 0.536)
    difference none - skill  -0.200 (-0.226 to -0.174)   0.000 (-0.050 to 0.050)
    ");

    let check = |labels: &str, expected: &str| {
        lab.write("labels.jsonl", labels);
        let ran = lab.assay(&[&["judge"], &args[..]].concat());
        assert_eq!(ran.code, 2, "{}", ran.stdout);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    };
    check(&own_items(2).1, "group `none`: 24 of its items have a label and 30 are needed: 6 are missing");
    let turned = labels.replacen("\"verdict\":true", "\"verdict\":false", 1);
    check(&turned, "of `none` has another verdict in verdicts.jsonl");
    let weightless = labels.replacen("\"label\"", "\"weight\":0,\"label\"", 1);
    check(&weightless, "row 1: the weight `0` is not a number above 0");
}

/// The judge of this case has a specificity of .85 without and .70 with the skill.
#[test]
#[ignore = "needs shared data"]
fn a_judge_that_errs_with_the_skill_is_corrected_by_labels_of_the_run() {
    let folder = assay_test::shared("cases/judge-unequal-errors");
    let file = |name: &str| folder.join(name).display().to_string();
    let lab = Fixture::new();
    let found = document(&lab, &["correct", &file("verdicts.jsonl"), "--calibration", &file("labels.jsonl")]);
    let difference = &found["differences"][0];
    assert_eq!((&difference["a"], &difference["b"]), (&"curated".into(), &"none".into()));
    let [low, high] = [0, 1].map(|at| difference["ci95"][at].as_f64().unwrap());
    // The truth by all labels is −.043. An independent program in numpy has −.0547 (−.1811 to +.0717), λ .4984.
    assert!(low < -0.043 && -0.043 < high, "{difference}");
    let close = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value} {expected}");
    close(difference["corrected"].as_f64().unwrap(), -0.054_694_574_771_214_255);
    close(low, -0.181_071_102_357_636_85);
    close(high, 0.071_681_952_815_208_34);
    // The program averages λ over tasks, and assay over labels by their weights.
    let lambda = difference["judge"]["lambda"].as_f64().unwrap();
    assert!((lambda - 0.4984).abs() < 1e-3, "{lambda}");
}

/// Corrected differences of DevAI's agents are no farther from those of people than the judged ones are, by more than their
/// standard error: with every third label, and over three such samples on average.
#[test]
#[ignore = "needs shared data"]
fn labels_of_some_requirements_do_not_lead_away_from_those_of_all() {
    let path = assay_test::shared("judges/devai.jsonl.zst");
    let all = rows(&path);
    let rate = |agent: &str| {
        let own: Vec<bool> = { all.iter() }
            .filter(|row| row["agent"] == agent && !row["agent_as_a_judge/gray_box"].is_null())
            .filter_map(|row| row["human_as_a_judge"].as_bool())
            .collect();
        own.iter().filter(|met| **met).count() as f64 / own.len() as f64
    };
    let path = path.display().to_string();
    let columns = ["--label", "human_as_a_judge", "--verdict", "agent_as_a_judge/gray_box", "--by", "agent"];
    let mut sums = BTreeMap::<String, [f64; 3]>::new();
    for part in 0..3 {
        let labels: String = { all.iter().enumerate() }
            .filter(|(at, _)| (at + at / 7) % 3 == part)
            .map(|(_, row)| format!("{row}\n"))
            .collect();
        let lab = Fixture::new().file("labels.jsonl", labels);
        let found =
            document(&lab, &[&["correct", &path, "--calibration", "labels.jsonl"], &columns[..]].concat());
        for difference in found["differences"].as_array().unwrap() {
            assert_eq!(difference["judge"]["estimator"], "prediction-powered", "{difference}");
            let [a, b] = ["a", "b"].map(|name| difference[name].as_str().unwrap());
            let truth = rate(a) - rate(b);
            let number = |value: &Value| value.as_f64().unwrap();
            let width = number(&difference["ci95"][1]) - number(&difference["ci95"][0]);
            let sum = sums.entry(format!("{a} - {b}")).or_default();
            sum[0] += (number(&difference["corrected"]) - truth).abs();
            sum[1] += (number(&difference["raw"]) - truth).abs();
            sum[2] += width / (2.0 * 2.05);
        }
    }
    assert_eq!(sums.len(), 3);
    for (pair, [corrected, judged, error]) in sums {
        assert!(corrected <= judged + error, "{pair}: {corrected} {judged} {error}");
    }
}

#[test]
fn corrections_that_would_mislead_are_refused() {
    let check = |labels: &[(&str, bool, bool, usize)], expected: &str| {
        let lab = Fixture::new()
            .file("labels.csv", table(labels))
            .file("verdicts.csv", "condition,verdict\na,true\na,false\nb,true\nb,false\n");
        let ran = lab.assay(&["judge", "correct", "verdicts.csv", "--calibration", "labels.csv"]);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    };
    let uninformative =
        [("a", true, true, 30), ("a", true, false, 20), ("a", false, true, 28), ("a", false, false, 22)];
    check(&uninformative, "is not distinguishable from 1");
    let differs = [
        ("a", true, true, 48),
        ("a", true, false, 2),
        ("a", false, false, 45),
        ("a", false, true, 5),
        ("b", true, true, 30),
        ("b", true, false, 20),
        ("b", false, false, 45),
        ("b", false, true, 5),
    ];
    check(&differs, "the judge errs differently in different groups");
    check(&[("a", true, true, 10)], "the calibration set has no negative items");
}

#[test]
fn tables_without_verdicts_are_errors() {
    let lab = Fixture::new().file("labels.csv", "label,verdict\ntrue,\n,true\n");
    let check = |args: &[&str], expected: &str| {
        let ran = lab.assay(&[&["judge"], args].concat());
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    };
    let both = ["calibrate", "labels.csv", "--label", "label", "--verdict"];
    check(
        &[&both[..], &["verdict"]].concat(),
        "no row has both a label in `label` and a verdict in `verdict`",
    );
    check(&[&both[..], &["other"]].concat(), "no column `other`");
    check(&["calibrate", "none.csv", "--label", "label", "--verdict", "verdict"], "none.csv");
}
