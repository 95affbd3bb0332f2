//! `assay plan`: what an experiment will cost, and what it can and cannot find.

use assay_analysis::{PlanForecast, VerdictChances, Wish};
use assay_report::{clean, seconds};
use assay_trial::{Experiment, Machine, Placement, Plan, Store};

use crate::args::PlanArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(crate) fn run(args: &PlanArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    for (flag, value) in
        [("--lift", args.lift), ("--no-effect-within", args.no_effect_within), ("--p", args.p)]
    {
        if value.is_some_and(|value| !value.is_finite()) {
            return Err(Failure::bad_input(format!("`{flag}` is a number, such as 0.1")));
        }
    }
    let experiment = Experiment::load(&args.experiment)?;
    let store = Store::open(&settings.store)?;
    let sandboxes = machine::sandboxes_for(settings)?;
    let plan = Plan::make(
        experiment,
        &store,
        &Machine { env: &machine::env, sandboxes: &sandboxes, dry: true, shipping: machine::shipping(None) },
    )?;
    let wish = Wish { lift: args.lift, no_effect_within: args.no_effect_within, p: args.p };
    let forecast = assay_analysis::forecast(&plan, &store, wish)?;
    if ui.json() {
        ui.document(&forecast)?;
    } else {
        ui.out(&lay_out(&forecast))?;
    }
    for warning in &forecast.warnings {
        ui.note(&clean(warning));
    }
    // A gate that no luck can pass is refused before a cent is spent.
    Ok(if forecast.impossible.is_empty() { Status::Done } else { Status::DidNotHold })
}

fn lay_out(forecast: &PlanForecast) -> String {
    let design = &forecast.design;
    let mut text = format!(
        "{}: {} trials, {} of them in the store\n",
        clean(&forecast.run),
        forecast.trials,
        forecast.in_store
    );
    for arm in &forecast.arms {
        let model = arm.model.as_deref().map_or(String::new(), |model| format!(" with {}", clean(model)));
        let placed = match arm.placement {
            Some(Placement::System) => ", skills in a text of the system",
            _ => "",
        };
        let cost =
            arm.cost_usd_each.map_or_else(|| "cost unknown".to_owned(), |usd| format!("${usd:.4} each"));
        let time =
            arm.seconds_each.map_or_else(|| "time unknown".to_owned(), |s| format!("{} each", seconds(s)));
        text.push_str(&format!(
            "  {}{model}{placed}, {}: {} cells, {} in the store, {cost}, {time}\n",
            clean(&arm.agent),
            clean(&arm.condition),
            arm.cells,
            arm.in_store
        ));
    }
    let cost = forecast.cost_usd.map_or_else(
        || "unknown: no trial of each agent with a price has been recorded".to_owned(),
        |usd| format!("about ${usd:.2}"),
    );
    let time =
        forecast.seconds.map_or_else(|| "unknown: nothing like it has been recorded".to_owned(), seconds);
    text.push_str(&format!("to run: cost {cost}; time {time}\n"));

    text.push_str(&format!(
        "\nthe design: {} tasks, {} repetitions, {} comparison{} at once, margin ±{:.0} points\n",
        design.tasks,
        design.repetitions,
        design.family,
        if design.family == 1 { "" } else { "s" },
        100.0 * design.margin
    ));
    let from = if design.baseline_from == "records" { "as recorded" } else { "assumed" };
    text.push_str(&format!("  baseline: {:.0} % pass, {from}\n", 100.0 * design.baseline));
    match design.detectable_lift {
        Some(lift) => text.push_str(&format!(
            "  can find: a lift of {:.0} points or more, with a chance of 80 %\n",
            100.0 * lift
        )),
        None => text.push_str("  can find: no lift at all with a chance of 80 %\n"),
    }
    match design.smallest_margin {
        Some(margin) => text.push_str(&format!(
            "  can show the absence of: effects beyond ±{:.0} points, with a chance of 80 %\n",
            100.0 * margin
        )),
        None => text.push_str("  can show the absence of: nothing with a chance of 80 %\n"),
    }
    if let Some(nothing) = design.if_nothing {
        text.push_str(&format!("  of a skill that does nothing it will say: {}\n", verdicts(nothing)));
        if nothing.no_effect < 0.8 {
            text.push_str(&format!(
                "  cannot be relied on for `no-effect` within ±{:.0} points: it comes in {:.0} % of such runs\n",
                100.0 * design.margin,
                100.0 * nothing.no_effect
            ));
        }
    }
    text.push_str(&wanted(forecast));
    for reason in &forecast.impossible {
        text.push_str(&format!("\nimpossible: {reason}\n"));
    }
    for excluded in &forecast.excluded {
        let condition =
            excluded.condition.as_deref().map_or(String::new(), |name| format!(", {}", clean(name)));
        text.push_str(&format!(
            "left out: {}{condition}: {}\n",
            clean(&excluded.task),
            clean(&excluded.reason)
        ));
    }
    text
}

fn wanted(forecast: &PlanForecast) -> String {
    let wanted = &forecast.wanted;
    let tasks = |tasks: Option<usize>| {
        tasks.map_or_else(|| "more tasks than can be simulated".to_owned(), |tasks| format!("{tasks} tasks"))
    };
    let mut text = String::new();
    if let Some(lift) = wanted.lift {
        text.push_str(&format!("\nfor a lift of {:+.0} points\n", 100.0 * lift));
        if let Some(chances) = wanted.at_lift {
            text.push_str(&format!("  this design will say: {}\n", verdicts(chances)));
            text.push_str(&format!("  needed for 80 %: {}\n", tasks(wanted.tasks_for_lift)));
        }
    }
    if let Some(margin) = wanted.no_effect_within {
        text.push_str(&format!("\nfor no effect within ±{:.0} points\n", 100.0 * margin));
        text.push_str(&format!("  needed for 80 %: {}\n", tasks(wanted.tasks_for_margin)));
    }
    if let Some(p) = wanted.p {
        text.push_str(&format!(
            "\nfor p ≤ {p}\n  the smallest these tasks can give: {:.2e}\n",
            wanted.smallest_p
        ));
    }
    text
}

fn verdicts(chances: VerdictChances) -> String {
    format!(
        "helps {:.0} %, harms {:.0} %, no-effect {:.0} %, underpowered {:.0} %",
        100.0 * chances.helps,
        100.0 * chances.harms,
        100.0 * chances.no_effect,
        100.0 * chances.underpowered
    )
}
