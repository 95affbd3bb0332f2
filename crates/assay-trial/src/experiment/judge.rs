//! `[judge]`: who decides the rubrics of tasks that have one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_model::Price;
use assay_store::{JudgeInput, JudgeMode, JudgeModel, JudgeSpec};
use serde::Deserialize;

use super::mistake::Mistake;

/// Most answers of a judge to one item.
const MOST_REPEATS: u32 = 25;

/// Most replies of a judge that is an agent.
const TURNS: usize = 30;

/// Seconds for one answer.
const TIMEOUT: f64 = 600.0;

/// The table, as its author wrote it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JudgeTable {
    models: Vec<String>,
    #[serde(default)]
    mode: JudgeMode,
    repeats: Option<u32>,
    material: Option<Vec<JudgeInput>>,
    max_turns: Option<usize>,
    timeout: Option<f64>,
    base_url: Option<String>,
    server: Option<String>,
    api_key_env: Option<String>,
    /// A table of labeled items, by which reports correct scores.
    pub(super) calibration: Option<PathBuf>,
}

impl JudgeTable {
    /// The models that judge.
    pub(super) fn models(&self) -> &[String] {
        &self.models
    }

    /// The judges, with their prices.
    pub(super) fn judge_spec(self, prices: &BTreeMap<String, Price>) -> Result<JudgeSpec, Mistake> {
        if self.models.is_empty() {
            return Err(Mistake::NoJudge);
        }
        if let Some(twice) =
            self.models.iter().enumerate().find(|(at, model)| self.models[..*at].contains(model))
        {
            return Err(Mistake::JudgeTwice(twice.1.clone()));
        }
        let repeats = self.repeats.unwrap_or(1);
        if !(1..=MOST_REPEATS).contains(&repeats) {
            return Err(Mistake::JudgeRepeats(MOST_REPEATS));
        }
        let material = self.material.unwrap_or_else(|| vec![JudgeInput::Answer, JudgeInput::Workspace]);
        if material.is_empty() {
            return Err(Mistake::NoMaterial);
        }
        if let Some(name) = self.server.as_ref().filter(|name| !assay_model::is_server_name(name)) {
            return Err(Mistake::ServerName(name.clone()));
        }
        let max_turns = self.max_turns.unwrap_or(TURNS);
        let timeout = self.timeout.unwrap_or(TIMEOUT);
        if max_turns == 0 || !(timeout > 0.0 && timeout <= 86_400.0) {
            return Err(Mistake::JudgeLimits);
        }
        let entry = |model: &String| JudgeModel {
            model: model.clone(),
            base_url: self.base_url.clone(),
            server: self.server.clone(),
            api_key_env: self.api_key_env.clone(),
            price: prices.get(model).copied(),
        };
        Ok(JudgeSpec {
            models: self.models.iter().map(entry).collect(),
            mode: self.mode,
            repeats,
            material,
            max_turns,
            timeout,
            pass: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_gives_judges_or_a_reason() {
        let check = |table: &str, expected: Result<(usize, u32, usize), &str>| {
            let table: JudgeTable = toml::from_str(table).unwrap();
            let found = table.judge_spec(&BTreeMap::new());
            let found = found.map(|judge| (judge.models.len(), judge.repeats, judge.material.len()));
            match expected {
                Ok(expected) => assert_eq!(found.unwrap(), expected),
                Err(part) => {
                    let error = found.unwrap_err().to_string();
                    assert!(error.contains(part), "{error}");
                }
            }
        };
        check("models = [\"a:b\"]", Ok((1, 1, 2)));
        check("models = [\"a:b\", \"c:d\"]\nrepeats = 3\nmaterial = [\"trajectory\"]", Ok((2, 3, 1)));
        check("models = []", Err("at least one model"));
        check("models = [\"a:b\", \"a:b\"]", Err("twice"));
        check("models = [\"a:b\"]\nrepeats = 0", Err("between 1 and 25"));
        check("models = [\"a:b\"]\nmaterial = []", Err("`material`"));
        check("models = [\"a:b\"]\ntimeout = 0.0", Err("`timeout`"));
    }
}
