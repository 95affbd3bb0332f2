//! `[metrics.NAME]`: numbers that conditions are compared by, beside the score.

use assay_store::{MetricDirection, MetricError, MetricScale, MetricSource, MetricSpec};
use serde::Deserialize;

/// The table of a metric.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MetricTable {
    /// What every trial has, such as `cost_usd`, or `reward:KEY`. The metric's name if absent.
    source: Option<String>,
    unit: Option<String>,
    direction: Option<MetricDirection>,
    scale: Option<MetricScale>,
    margin: Option<f64>,
    guard: Option<f64>,
}

impl MetricTable {
    /// The metric.
    ///
    /// # Errors
    /// As [`MetricSpec::new`], and a margin or guard that cannot be one.
    pub(super) fn metric(self, name: &str) -> Result<MetricSpec, MetricError> {
        let source = MetricSource::named(self.source.as_deref().unwrap_or(name));
        let metric =
            MetricSpec::new(name, source, self.direction, self.scale)?.bounded(self.margin, self.guard)?;
        Ok(MetricSpec { unit: self.unit.or(metric.unit.clone()), ..metric })
    }
}
