//! Metrics: numbers of a trial beside its score, which conditions are compared by as well.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The key of [`crate::Record::numbers`] that has the lines that the agent added and removed.
pub const LINES_CHANGED: &str = "lines_changed";

/// The key of [`crate::Record::numbers`] that has the number of calls to its task's test doubles.
pub const DOUBLES_CALLS: &str = "doubles_calls";

/// The same with the calls that match no rule.
pub const DOUBLES_UNKNOWN_CALLS: &str = "doubles_unknown_calls";

/// The most trials of pass^k and pass@k: the most repetitions of an experiment.
const MOST_TRIALS: u32 = 10_000;

/// How the names of pass^k and pass@k begin.
const PASS_ALL: &str = "pass^";
const PASS_ANY: &str = "pass@";

/// A number of each trial that a report compares between conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricSpec {
    /// Its name in reports.
    pub name: String,
    /// Where its value comes from.
    pub source: MetricSource,
    /// The unit in which it is printed, such as `USD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Which change is an improvement.
    pub direction: MetricDirection,
    /// Whether conditions are compared by differences or by ratios.
    pub scale: MetricScale,
    /// The largest change that does not matter: in units on a linear scale, as a ratio above 1 on
    /// a log scale. Without it no verdict is `negligible`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// The guard: the largest deterioration that is accepted, in the terms of `margin`. A ratio of
    /// 1.1 accepts at most 10% more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<f64>,
}

/// Where a metric's value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricSource {
    /// The trial's score.
    Score,
    /// All tokens.
    Tokens,
    /// Tokens read, cached ones included.
    InputTokens,
    /// Tokens written.
    OutputTokens,
    /// The cost in USD.
    CostUsd,
    /// Replies of the model.
    Turns,
    /// The agent's own seconds.
    Seconds,
    /// Lines added and removed in the work folder.
    LinesChanged,
    /// pass^k: whether all of k trials pass. A value of a task, not of a trial.
    #[serde(rename = "pass^k")]
    PassAll(u32),
    /// pass@k: whether at least one of k trials passes. Likewise.
    #[serde(rename = "pass@k")]
    PassAny(u32),
    /// A key of the record's `numbers`: a column of an imported table, or a key of the verifier's
    /// reward file that the experiment declares as a metric.
    Number(String),
}

/// Which change of a metric is an improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricDirection {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// How conditions are compared on a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricScale {
    /// By differences.
    Linear,
    /// By ratios. The values must be positive.
    Log,
}

impl MetricSource {
    /// The sources that every trial has, by name.
    const NAMED: [(&str, Self); 8] = [
        ("score", Self::Score),
        ("tokens", Self::Tokens),
        ("input_tokens", Self::InputTokens),
        ("output_tokens", Self::OutputTokens),
        ("cost_usd", Self::CostUsd),
        ("turns", Self::Turns),
        ("seconds", Self::Seconds),
        (LINES_CHANGED, Self::LinesChanged),
    ];

    /// The source of a name: one that every trial has, `pass^K` or `pass@K`, or a number. `reward:KEY` is a number of the
    /// reward file.
    pub fn named(name: &str) -> Self {
        let trials = |of: &str| of.parse().ok().filter(|k| (1..=MOST_TRIALS).contains(k));
        let all = name.strip_prefix(PASS_ALL).and_then(trials).map(Self::PassAll);
        if let Some(found) = all.or_else(|| name.strip_prefix(PASS_ANY).and_then(trials).map(Self::PassAny)) {
            return found;
        }
        let known = Self::NAMED.into_iter().find(|(known, _)| *known == name);
        let number = || Self::Number(name.strip_prefix("reward:").unwrap_or(name).to_owned());
        known.map_or_else(number, |(_, source)| source)
    }

    /// k of pass^k and pass@k: a task needs as many trials in each arm.
    pub fn trials_needed(&self) -> Option<u32> {
        match self {
            Self::PassAll(k) | Self::PassAny(k) => Some(*k),
            _ => None,
        }
    }

    /// The unit of a source that every trial has.
    fn unit(&self) -> Option<&'static str> {
        match self {
            Self::Tokens | Self::InputTokens | Self::OutputTokens => Some("tokens"),
            Self::CostUsd => Some("USD"),
            Self::Turns => Some("turns"),
            Self::Seconds => Some("s"),
            Self::LinesChanged => Some("lines"),
            Self::Score | Self::PassAll(_) | Self::PassAny(_) | Self::Number(_) => None,
        }
    }
}

/// Why a metric is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricError {
    /// No name.
    #[error("a metric needs a name")]
    NoName,
    /// A name that reports cannot print.
    #[error("the name of a metric has up to 80 printable characters")]
    Name,
    /// Nothing says which change is an improvement.
    #[error("the metric {0:?} needs a direction: `lower` or `higher` is better")]
    NoDirection(String),
    /// A margin or guard that cannot be one.
    #[error("the {what} of the metric {name:?} must be {expected}")]
    Bound {
        /// `margin` or `guard`.
        what: &'static str,
        /// The metric.
        name: String,
        /// What it must be.
        expected: &'static str,
    },
    /// `pass^` or `pass@` with something else than a number of trials.
    #[error("{0:?} needs a number of trials between 1 and {most}, such as `pass^3`", most = MOST_TRIALS)]
    Trials(String),
    /// pass^k or pass@k as a ratio: it can be 0.
    #[error("{0:?} is compared by differences: leave the scale out")]
    Ratio(String),
    /// A word that is not part of a metric.
    #[error(
        "unknown part {0:?} of a metric: after the name come `lower` or `higher`, `linear` or `log`, `unit=TEXT`, \
         `margin=NUMBER` and `guard=NUMBER`"
    )]
    Part(String),
}

impl MetricSpec {
    /// A metric with the defaults of its source: costs, tokens, turns and seconds are better if lower and
    /// compared by ratios, lines by differences, the score is better if higher.
    ///
    /// # Errors
    /// A number without a direction, a name that cannot be one, or a margin or guard that is not
    /// positive, or not above 1 on a log scale.
    pub fn new(
        name: &str,
        source: MetricSource,
        direction: Option<MetricDirection>,
        scale: Option<MetricScale>,
    ) -> Result<Self, MetricError> {
        if name.is_empty() {
            return Err(MetricError::NoName);
        }
        if name.chars().count() > 80 || name.chars().any(char::is_control) {
            return Err(MetricError::Name);
        }
        if let MetricSource::Number(key) = &source
            && (key.starts_with(PASS_ALL) || key.starts_with(PASS_ANY))
        {
            return Err(MetricError::Trials(key.clone()));
        }
        let is_reliability = source.trials_needed().is_some();
        if is_reliability && scale == Some(MetricScale::Log) {
            return Err(MetricError::Ratio(name.to_owned()));
        }
        let usual = match source {
            MetricSource::Score | MetricSource::PassAll(_) | MetricSource::PassAny(_) => {
                Some(MetricDirection::Higher)
            }
            MetricSource::Number(_) => None,
            _ => Some(MetricDirection::Lower),
        };
        let by_ratio = !is_reliability
            && !matches!(source, MetricSource::Score | MetricSource::LinesChanged | MetricSource::Number(_));
        Ok(Self {
            name: name.to_owned(),
            unit: source.unit().map(str::to_owned),
            source,
            direction: direction.or(usual).ok_or_else(|| MetricError::NoDirection(name.to_owned()))?,
            scale: scale.unwrap_or(if by_ratio { MetricScale::Log } else { MetricScale::Linear }),
            margin: None,
            guard: None,
        })
    }

    /// The metric with a margin and a guard.
    ///
    /// # Errors
    /// One that is not positive, or not above 1 on a log scale.
    pub fn bounded(self, margin: Option<f64>, guard: Option<f64>) -> Result<Self, MetricError> {
        let (least, expected) = match self.scale {
            MetricScale::Linear => (0.0, "above 0"),
            MetricScale::Log => (1.0, "a ratio above 1, such as 1.1"),
        };
        for (what, bound) in [("margin", margin), ("guard", guard)] {
            if bound.is_some_and(|bound| !bound.is_finite() || bound <= least) {
                return Err(MetricError::Bound { what, name: self.name, expected });
            }
        }
        Ok(Self { margin, guard, ..self })
    }
}

/// `NAME[,lower|higher][,linear|log][,unit=TEXT][,margin=NUMBER][,guard=NUMBER]`; the name is the
/// source too.
impl FromStr for MetricSpec {
    type Err = MetricError;

    fn from_str(text: &str) -> Result<Self, MetricError> {
        let mut parts = text.split(',').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let (mut direction, mut scale, mut unit, mut margin, mut guard) = (None, None, None, None, None);
        for part in parts {
            let unknown = || MetricError::Part(part.to_owned());
            let number = |text: &str| text.parse::<f64>().map_err(|_| unknown());
            match part.split_once('=') {
                None => match part {
                    "lower" => direction = Some(MetricDirection::Lower),
                    "higher" => direction = Some(MetricDirection::Higher),
                    "linear" => scale = Some(MetricScale::Linear),
                    "log" => scale = Some(MetricScale::Log),
                    _ => return Err(unknown()),
                },
                Some(("unit", text)) => unit = Some(text.to_owned()),
                Some(("margin", text)) => margin = Some(number(text)?),
                Some(("guard", text)) => guard = Some(number(text)?),
                Some(_) => return Err(unknown()),
            }
        }
        let metric = Self::new(name, MetricSource::named(name), direction, scale)?.bounded(margin, guard)?;
        Ok(Self { unit: unit.or(metric.unit.clone()), ..metric })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_read_from_text() {
        let check = |text: &str, expected: Result<(MetricSource, MetricDirection, MetricScale), &str>| match (
            text.parse::<MetricSpec>(),
            expected,
        ) {
            (Ok(found), Ok(expected)) => {
                assert_eq!((found.source, found.direction, found.scale), expected, "{text}");
            }
            (Err(found), Err(expected)) => assert_eq!(found.to_string(), expected, "{text}"),
            (found, expected) => panic!("{text}: {found:?}, not {expected:?}"),
        };
        let (lower, higher) = (MetricDirection::Lower, MetricDirection::Higher);
        let (linear, log) = (MetricScale::Linear, MetricScale::Log);
        let number = |key: &str| MetricSource::Number(key.to_owned());
        check("cost_usd", Ok((MetricSource::CostUsd, lower, log)));
        check("cost_usd, linear", Ok((MetricSource::CostUsd, lower, linear)));
        check("score", Ok((MetricSource::Score, higher, linear)));
        check("lines_changed", Ok((MetricSource::LinesChanged, lower, linear)));
        check("lines_added,lower,log,unit=lines", Ok((number("lines_added"), lower, log)));
        check("reward:speed,higher", Ok((number("speed"), higher, linear)));
        check("pass^3", Ok((MetricSource::PassAll(3), higher, linear)));
        check("pass@2, lower", Ok((MetricSource::PassAny(2), lower, linear)));
        check("pass^0", Err("\"pass^0\" needs a number of trials between 1 and 10000, such as `pass^3`"));
        check(
            "pass@k,higher",
            Err("\"pass@k\" needs a number of trials between 1 and 10000, such as `pass^3`"),
        );
        check("pass^3,log", Err("\"pass^3\" is compared by differences: leave the scale out"));
        check("speed", Err("the metric \"speed\" needs a direction: `lower` or `higher` is better"));
        check("", Err("a metric needs a name"));
        check(
            "turns,guard=0.9",
            Err("the guard of the metric \"turns\" must be a ratio above 1, such as 1.1"),
        );
        check("turns,linear,margin=0", Err("the margin of the metric \"turns\" must be above 0"));
        for bad in ["turns,fewer", "turns,margin=few", "turns,most=3"] {
            assert!(matches!(bad.parse::<MetricSpec>(), Err(MetricError::Part(_))), "{bad}");
        }
        let guarded: MetricSpec = "seconds,margin=1.05,guard=1.1".parse().unwrap();
        assert_eq!(
            (guarded.margin, guarded.guard, guarded.unit.as_deref()),
            (Some(1.05), Some(1.1), Some("s"))
        );
    }
}
