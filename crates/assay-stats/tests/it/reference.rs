//! Against scipy and plain numpy: `tests/reference/generate.py` wrote the cases.

use assay_stats::{
    PairedTask, VerdictKind, clopper_pearson, interval_p, lift, mde, normalized_gain, rate, sign_flip,
    tasks_needed, verdict, wilcoxon,
};
use serde_json::Value;

use crate::close;

fn reference(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../reference/reference.json")).unwrap();
    let cases = all[name].as_array().unwrap().clone();
    assert!(!cases.is_empty());
    cases
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn whole(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

fn paired(value: &Value) -> Vec<PairedTask> {
    let read = |task: &Value| PairedTask {
        arm: numbers(&task["arm"]),
        base: numbers(&task["base"]),
        cluster: task["cluster"].as_u64(),
    };
    value.as_array().unwrap().iter().map(read).collect()
}

#[test]
fn clopper_pearson_agrees() {
    for case in reference("clopper_pearson") {
        let got = clopper_pearson(case[0].as_u64().unwrap(), case[1].as_u64().unwrap(), number(&case[2]));
        close(got.low, number(&case[3]), 1e-10, &format!("low of {case}"));
        close(got.high, number(&case[4]), 1e-10, &format!("high of {case}"));
    }
}

#[test]
fn wilcoxon_agrees() {
    for case in reference("wilcoxon") {
        let differences = numbers(&case["differences"]);
        let p = wilcoxon(&differences).unwrap();
        close(p, number(&case["p"]), 1e-10, &format!("{} differences", differences.len()));
    }
}

#[test]
fn sign_flip_agrees() {
    for case in reference("sign_flip") {
        let differences = numbers(&case["differences"]);
        let p = sign_flip(&differences, 7).unwrap();
        close(p, number(&case["p"]), 1e-12, &format!("{} differences", differences.len()));
    }
}

#[test]
fn rates_agree() {
    for case in reference("rate") {
        let tasks: Vec<Vec<f64>> = case["tasks"].as_array().unwrap().iter().map(numbers).collect();
        let got = rate(&tasks, number(&case["level"])).unwrap();
        let interval = got.interval.unwrap();
        close(got.mean, number(&case["mean"]), 1e-12, "mean");
        close(interval.low, number(&case["low"]), 1e-9, "low");
        close(interval.high, number(&case["high"]), 1e-9, "high");
    }
}

#[test]
fn comparisons_agree() {
    for case in reference("comparison") {
        let tasks = paired(&case["tasks"]);
        let (m, level) = (whole(&case["m"]), number(&case["level"]));
        let name = format!("{} tasks, m = {m}", tasks.len());

        let got = lift(&tasks, level).unwrap();
        close(got.mean, number(&case["lift"]["mean"]), 1e-12, &name);
        close(got.effective, number(&case["effective"]), 1e-12, &name);
        let said = verdict(&tasks, m, 0.1, None);
        let intervals = [
            ("lift", got.interval.unwrap()),
            ("verdict", said.interval.unwrap()),
            ("equivalence", said.equivalence.unwrap()),
        ];
        for (which, interval) in intervals {
            close(interval.low, number(&case[which]["low"]), 1e-9, &format!("{which} of {name}"));
            close(interval.high, number(&case[which]["high"]), 1e-9, &format!("{which} of {name}"));
        }
        let p = interval_p(&tasks).unwrap();
        close(p, number(&case["p"]), 1e-9, &format!("p of {name}"));
        let excludes = number(&case["verdict"]["low"]) > 0.0 || number(&case["verdict"]["high"]) < 0.0;
        assert_eq!(matches!(said.kind, VerdictKind::Helps | VerdictKind::Harms), excludes, "{name}");

        close(mde(&tasks, m).unwrap(), number(&case["detectable"]), 1e-9, &name);
        for pair in case["needed"].as_array().unwrap() {
            assert_eq!(tasks_needed(&tasks, m, number(&pair[0])), Some(whole(&pair[1])), "{name}, {pair}");
        }

        let gain = normalized_gain(&tasks, level).unwrap();
        let interval = gain.interval.unwrap();
        close(gain.value, number(&case["gain"]["value"]), 1e-12, &name);
        close(interval.low, number(&case["gain"]["low"]), 1e-9, &format!("gain's low, {name}"));
        close(interval.high, number(&case["gain"]["high"]), 1e-9, &format!("gain's high, {name}"));
    }
}
