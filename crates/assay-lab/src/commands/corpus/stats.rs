//! `assay lab corpus stats`.

use assay_corpus::stats::{Sizes, Stats, stats};
use assay_report::clean;
use assay_skill::corpus::input::Input;
use serde::Serialize;

use super::output::write_to;
use super::page;
use crate::args::corpus::StatsArgs;
use crate::commands::bad_lines::BadLines;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// What `--format json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    stats: &'a Stats,
}

pub(super) fn run(args: &StatsArgs, ui: &Ui) -> Result<Status, Failure> {
    let mut input = Input::open(&args.input)?;
    let mut bad_lines = BadLines::new(ui, &args.input);
    let found = stats(&mut input, &mut |bad| bad_lines.note(bad))?;
    bad_lines.summarize();
    if let Some(path) = &args.html {
        let name = args.input.file_name().unwrap_or_default().to_string_lossy();
        let html = page::page(&name, &found).html();
        write_to(path, |out| out.write_all(html.as_bytes()))?;
    }
    if ui.json() {
        ui.document(&Document { schema: "assay.corpus-stats/2", stats: &found })?;
    } else {
        ui.out(&render_stats(&found))?;
    }
    Ok(if found.records == 0 && found.bad_lines > 0 { Status::BadInput } else { Status::Done })
}

fn sizes(name: &str, sizes: &Sizes) -> String {
    let fit = sizes.log_normal.map_or(String::new(), |fit| {
        format!("; log-normal μ {:.2} σ {:.2}, KS distance {:.3}", fit.mu, fit.sigma, fit.distance)
    });
    format!(
        "{name}: median {:.0}, IQR {:.0} ({:.0} to {:.0}), mean {:.0}, from {:.0} to {:.0}{fit}\n",
        sizes.median, sizes.iqr, sizes.q1, sizes.q3, sizes.mean, sizes.min, sizes.max
    )
}

fn render_stats(stats: &Stats) -> String {
    let mut text = format!("{} records\n\n", stats.records);
    text.push_str(&sizes("bytes of SKILL.md", &stats.bytes));
    text.push_str(&sizes("cl100k tokens of SKILL.md", &stats.tokens));
    let row = |name: &str, count: usize, share: f64| {
        format!("  {:48}  {count:>8}  {:5.1}%\n", clean(name), 100.0 * share)
    };
    text.push_str("\nlength\n");
    for class in &stats.length_classes {
        text.push_str(&row(&class.name, class.count, class.share));
    }
    text.push_str("\nstructure\n");
    for part in &stats.structure {
        text.push_str(&row(&part.name, part.count, part.share));
    }
    match &stats.files {
        None => {
            text.push_str(
                "\nfiles: no record lists its files; `assay lab corpus build` creates records that do\n",
            );
        }
        Some(files) => {
            text.push_str(&format!("\nfiles of {} packages\n", files.packages));
            text.push_str(&sizes("  files per package", &files.per_package));
            text.push_str(&sizes("  bytes per package", &files.bytes_per_package));
            for kind in files.types.iter().take(20) {
                text.push_str(&row(&kind.name, kind.count, kind.share));
            }
        }
    }
    let quality = &stats.quality;
    text.push_str(&format!("\nquality: mean {:.2} of 12, SD {:.2}\n", quality.mean, quality.sd));
    for (dimension, mean) in &quality.dimensions {
        text.push_str(&format!("  {dimension:48}  {mean:.2} of 3\n"));
    }
    for point in &quality.criteria {
        text.push_str(&row(&point.name, point.count, point.share));
    }
    text.push_str(
        "\nThese figures describe texts; none has been correlated with the effect of skills on agents.\n",
    );
    text
}
