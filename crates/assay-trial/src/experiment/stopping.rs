//! `[stopping]`: decisions after each complete round.

use std::collections::BTreeMap;

use assay_store::{ConditionSettings, Stopping};
use serde::Deserialize;

use super::mistake::Mistake;

/// The fewest repetitions with which rounds save trials at the power of the fixed design
/// (docs/STATISTICS.md, "Sequential verdicts").
const FEWEST: u32 = 5;

/// The most rounds: levels are integrated numerically for each.
const MOST: u32 = 200;

/// The fewest tasks of a stage: with fewer there is no interval (docs/STATISTICS.md, "Family and verdict").
pub(crate) const FEWEST_TASKS: u32 = 5;

/// The most tasks after the rounds.
const MOST_TASKS: u32 = 10_000;

/// The table, as its author wrote it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoppingTable {
    /// Rounds at most; by default 1.2 times `repetitions`, rounded up.
    max_repetitions: Option<u32>,
    /// Tasks that take part in no round: a comparison that the rounds leave open is decided with them.
    more_tasks: Option<u32>,
}

impl StoppingTable {
    /// The rounds of an experiment with so many repetitions and conditions.
    pub(super) fn stopping(
        &self,
        repetitions: u32,
        conditions: usize,
        settings: &BTreeMap<String, ConditionSettings>,
    ) -> Result<Stopping, Mistake> {
        if repetitions < FEWEST {
            return Err(Mistake::FewRounds { repetitions, fewest: FEWEST });
        }
        if conditions < 2 {
            return Err(Mistake::NothingToDecide);
        }
        if let Some(name) = settings.iter().find(|(_, own)| own.repetitions.is_some()).map(|(name, _)| name) {
            return Err(Mistake::UnequalRounds(name.clone()));
        }
        let rounds = self.max_repetitions.unwrap_or_else(|| (repetitions * 6).div_ceil(5).min(MOST));
        if !(repetitions..=MOST).contains(&rounds) {
            return Err(Mistake::Rounds { repetitions, most: MOST });
        }
        if self.more_tasks.is_some_and(|tasks| !(FEWEST_TASKS..=MOST_TASKS).contains(&tasks)) {
            return Err(Mistake::MoreTasks { fewest: FEWEST_TASKS, most: MOST_TASKS });
        }
        // The number of tasks is not known here: the plan sets the looks, and the tasks of the rounds.
        Ok(Stopping { more_tasks: self.more_tasks, ..Stopping::new(rounds) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_gives_rounds_or_a_reason() {
        let check = |table: &str, repetitions: u32, conditions: usize, expected: Result<u32, &str>| {
            let table: StoppingTable = toml::from_str(table).unwrap();
            let found = table.stopping(repetitions, conditions, &BTreeMap::new());
            let found = found.map(|stopping| stopping.rounds).map_err(|mistake| mistake.to_string());
            match expected {
                Ok(rounds) => assert_eq!(found, Ok(rounds)),
                Err(part) => assert!(found.as_ref().is_err_and(|text| text.contains(part)), "{found:?}"),
            }
        };
        check("", 5, 2, Ok(6));
        check("", 6, 2, Ok(8));
        check("", 10, 2, Ok(12));
        check("max_repetitions = 9", 5, 2, Ok(9));
        check("", 4, 2, Err("at least 5"));
        check("", 5, 1, Err("a second condition"));
        check("max_repetitions = 4", 5, 2, Err("between 5 and 200"));
        check("", 200, 2, Ok(200));
        check("", 201, 2, Err("between"));
        check("more_tasks = 5", 5, 2, Ok(6));
        check("more_tasks = 4", 5, 2, Err("`more_tasks` must be between 5 and 10000"));
        check("more_tasks = 10001", 5, 2, Err("`more_tasks`"));
        check("more_tasks = 5", 4, 2, Err("`repetitions` of at least 5"));
        let unequal = ConditionSettings { repetitions: Some(9), ..ConditionSettings::default() };
        let settings = BTreeMap::from([("curated".to_owned(), unequal)]);
        let found = StoppingTable::default().stopping(5, 2, &settings).unwrap_err().to_string();
        assert!(found.contains("`[condition.curated]`"), "{found}");
    }
}
