//! Prices of models that an experiment does not price: assay's own dated table, or the user's.

use std::path::Path;

use assay_trace::Prices;
use assay_trial::Experiment;

use crate::config::Settings;
use crate::failure::Failure;

/// List prices, in the format of `--prices`.
const TABLE: &str = include_str!("../prices.toml");

/// Reads a file of prices.
pub(crate) fn read(path: &Path) -> Result<Prices, Failure> {
    let text = assay_fs::read_text(path, 1 << 20)
        .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", path.display())))?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Prices, Failure> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let line =
            error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        Failure::bad_input(format!("{}:{line}: {}", path.display(), error.message().trim()))
            .hint("docs/TRACES.md says what a file of prices holds")
    })
}

/// Gives each agent without a price the one that holds today for its model: from `file`, from the
/// file that assay.toml names, or from assay's own table. A model that is not listed stays without.
pub(crate) fn fill(
    experiment: &mut Experiment,
    file: Option<&Path>,
    settings: &Settings,
) -> Result<(), Failure> {
    let prices = match file.or(settings.prices.as_deref()) {
        Some(file) => read(file)?,
        None => parse(Path::new("prices.toml"), TABLE)?,
    };
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    for agent in experiment.agents.iter_mut().filter(|agent| agent.price.is_none()) {
        let name = agent.model.as_deref().map(|model| model.split_once(':').map_or(model, |(_, name)| name));
        if let Some(found) = name.and_then(|name| prices.of(name, today)) {
            agent.price = Some(found.price);
            agent.list_price = Some(found.from.to_string());
        }
    }
    for judge in experiment.judge.iter_mut().flat_map(|judge| &mut judge.models) {
        let name = judge.model.split_once(':').map_or(judge.model.as_str(), |(_, name)| name);
        judge.price = judge.price.or_else(|| prices.of(name, today).map(|found| found.price));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_price_for_each_model_from_its_day_on() {
        let prices = parse(Path::new("prices.toml"), TABLE).unwrap();
        let check = |model: &str, day: &str, input: Option<f64>| {
            let found = prices.of(model, day.parse().unwrap()).map(|found| found.price.input);
            assert_eq!(found, input, "{model} on {day}");
        };
        check("claude-opus-4-1-20250805", "2026-01-01", Some(15.0));
        check("claude-opus-4-20250514", "2026-01-01", Some(15.0));
        check("claude-opus-4-5", "2026-01-01", Some(5.0));
        check("claude-opus-4-5", "2025-11-23", None);
        check("gpt-5-mini", "2026-01-01", Some(0.25));
        check("gpt-5-turbo", "2026-01-01", None);
        for listed in &prices.price {
            let price = listed.price;
            assert!(
                price.input > 0.0 && price.output >= price.input && price.cache_read <= price.input,
                "{listed:?}"
            );
        }
    }
}
