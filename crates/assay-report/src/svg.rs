//! The plots of a report as SVG documents.

use assay_analysis::Report;

use crate::html::escape;
use crate::labels::Labels;
use crate::plot::{self, DARK, Plot};

/// The plots of a report by name, each as an SVG document. A heat map of another agent than the first
/// has a number in its name.
pub fn plots(report: &Report) -> Vec<(String, String)> {
    let labels = Labels::of(report);
    let exploration = &report.exploration;
    let mut plots: Vec<(String, Option<Plot>)> = vec![
        ("forest".to_owned(), plot::forest(&report.comparisons, report.margin, &labels)),
        ("exposure".to_owned(), plot::exposure(&report.arms, &labels)),
        ("extremes".to_owned(), plot::extremes(&exploration.gains, &exploration.losses, &labels)),
        ("frontier".to_owned(), plot::frontier(&exploration.frontier, &labels)),
    ];
    plots.extend(exploration.heat.iter().enumerate().map(|(at, map)| {
        let name = if at == 0 { "heat".to_owned() } else { format!("heat-{}", at + 1) };
        (name, plot::heat(map, &labels))
    }));
    plots
        .into_iter()
        .filter_map(|(name, plot)| {
            let is_heat = name.starts_with("heat");
            Some((name, document(&plot?, is_heat)))
        })
        .collect()
}

/// A plot as a document of its own, for light and dark screens. Heat maps stay as they are: their cells have
/// colors with a meaning.
fn document(plot: &Plot, is_heat: bool) -> String {
    let (width, height) = plot.size;
    let style = if is_heat {
        String::new()
    } else {
        format!("<style>@media (prefers-color-scheme: dark) {{\n{DARK}}}</style>\n")
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\">\n<title>{}</title>\n{style}<rect width=\"{width}\" height=\"{height}\" fill=\"#FFFFFF\" class=\"f-paper\"/>\n{}</svg>\n",
        escape(&plot.description),
        plot.body
    )
}
