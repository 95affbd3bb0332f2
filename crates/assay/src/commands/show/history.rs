//! `assay show --history`: verdicts of past runs over time.

use assay_analysis::{find_trends, read_history};
use assay_report::clean;
use serde_json::{Value, json};

use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(super) fn run(names: &[String], settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let store = machine::read_store(&settings.store)?;
    let lines = read_history(&store, names)?;
    let trends = find_trends(&lines);
    if ui.json() {
        let trends: Vec<Value> = trends
            .iter()
            .map(|trend| {
                let (agent, model, lifts) = (&trend.agent, &trend.model, trend.lifts());
                let role = trend.points.last().map(|point| point.role);
                json!({ "agent": agent, "model": model, "condition": trend.condition(), "role": role, "lifts": lifts,
                    "change": trend.change() })
            })
            .collect();
        ui.document(&json!({ "schema": "assay.history-list/2", "lines": lines, "trends": trends }))?;
        return Ok(Status::Done);
    }
    if lines.is_empty() {
        ui.note("no runs yet: start one with `assay run EXPERIMENT`");
    }
    for trend in &trends {
        let (model, condition) = (&trend.model, trend.condition());
        let model = if model.is_empty() { String::new() } else { format!(" with {}", clean(model)) };
        ui.out(&format!("{}{model}, {}\n", clean(&trend.agent), clean(condition)))?;
        for point in &trend.points {
            let text = |key: &str| clean(point.line.get(key).and_then(Value::as_str).unwrap_or("–"));
            let revision: String = text("revision").chars().take(10).collect();
            let lift = point.lift.map_or_else(|| "   –".to_owned(), |lift| format!("{:+4.0}", 100.0 * lift));
            let at: String = text("at").chars().take(19).collect();
            let (verdict, run) = (clean(&point.verdict), text("run"));
            let renamed = if point.condition == condition { "" } else { &point.condition };
            let renamed = if renamed.is_empty() { String::new() } else { format!(" ({})", clean(renamed)) };
            ui.out(&format!("  {at}  {revision:10}  {lift} pp  {verdict:13} {run}{renamed}\n"))?;
        }
        if let Some(change) = trend.change() {
            ui.out(&format!("  change between the last two: {:+.0} pp\n", 100.0 * change))?;
        }
    }
    Ok(Status::Done)
}
