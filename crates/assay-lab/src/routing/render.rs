//! The report as text for a terminal.

use assay_diagnostic::escape;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::{Findings, RouterFindings, Share, WrongPrompt};

/// No table is wider.
const WIDTH: u16 = 150;

/// Most rows of a list; the JSON has all.
const ROWS: usize = 12;

/// Renders the report.
pub(crate) fn render(findings: &Findings) -> String {
    let mut text = format!(
        "{} queries, {} of them off-topic; {} skills; 95% CI by resampling queries\n",
        findings.prompts, findings.off_topic, findings.skills
    );
    if !findings.measures_a_model {
        text.push_str("No model was measured: the figures are of lexical routers or of a scripted model.\n");
    }
    text.push('\n');
    text.push_str(&shares(findings));
    for router in shown_routers(&findings.routers) {
        text.push_str(&router_text(router));
    }
    text
}

/// The models, and the best lexical router.
fn shown_routers(routers: &[RouterFindings]) -> impl Iterator<Item = &RouterFindings> {
    let mean = |router: &RouterFindings| router.top1.map_or(0.0, |share| share.mean);
    let lexical = routers.iter().filter(|router| router.lexical);
    let best = lexical.rev().max_by(|one, other| mean(one).total_cmp(&mean(other)));
    routers.iter().filter(|router| !router.lexical).chain(best)
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.to_vec());
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table
}

fn lines(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

fn format_interval(ci95: Option<[f64; 2]>) -> String {
    ci95.map_or_else(String::new, |[low, high]| format!(" ({:.0} to {:.0})", 100.0 * low, 100.0 * high))
}

fn format_share(share: Option<Share>) -> String {
    share.map_or_else(
        || "–".to_owned(),
        |share| format!("{}{}", percent(share.mean), format_interval(share.ci95)),
    )
}

fn shares(findings: &Findings) -> String {
    let mut table = table(&[
        "router",
        "top 1",
        "top 3",
        "top 1 (lenient)",
        "off-topic rejection",
        "rejected in top 3",
        "order stability",
    ]);
    for router in &findings.routers {
        table.add_row(vec![
            escape(&router.router),
            format_share(router.top1),
            format_share(router.top3),
            format_share(router.top1_acceptable),
            format_share(router.abstention),
            format_share(router.rejected_top3),
            format_share(router.order_stability),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    lines(&table)
}

/// A p-value, which is never printed as 0.
fn format_p(p: f64) -> String {
    if p < 0.001 { "p <0.001".to_owned() } else { format!("p = {p:.3}") }
}

/// Details of one router.
fn router_text(router: &RouterFindings) -> String {
    let mut text = format!("\n{}\n", escape(&router.router));
    let statuses: Vec<String> =
        router.statuses.iter().map(|(name, count)| format!("{count} {}", name.replace('_', " "))).collect();
    let mut facts = vec![statuses.join(", ")];
    facts.extend(router.seconds.map(|seconds| format!("{seconds:.1} s per answer")));
    facts.extend(router.cost_usd.map(|usd| format!("${usd:.4}")));
    text.push_str(&format!("  {}\n", facts.join("; ")));
    if let Some(versus) = &router.lift {
        let p = versus.p.map_or(String::new(), |p| format!(", {}", format_p(p)));
        let signed = |points: f64| format!("{:+.1}", 100.0 * points).replace('-', "−");
        let ci = versus
            .ci95
            .map_or(String::new(), |[low, high]| format!(" ({} to {}{p})", signed(low), signed(high)));
        text.push_str(&format!("  lift over {}: {} pp in top 1{ci}\n", versus.router, signed(versus.lift)));
    }
    if let (Some(naive), Some(top1)) =
        (router.top1_naive_ci95, router.top1.filter(|top1| top1.answers > top1.prompts))
    {
        text.push_str(&format!(
            "  resampling answers instead of queries would give{} instead of{}\n",
            format_interval(Some(naive)),
            format_interval(top1.ci95)
        ));
    }
    if !router.failures.is_empty() {
        text.push_str(&lines(&failures(&router.failures)));
        if router.failures.len() > ROWS {
            let more = router.failures.len() - ROWS;
            text.push_str(&format!("  … and {more} more; --format json has all\n"));
        }
    }
    text
}

fn failures(failures: &[WrongPrompt]) -> Table {
    let mut table = table(&["  query", "expected", "wrong", "acceptable", "answers", "chosen instead"]);
    for failed in failures.iter().take(ROWS) {
        table.add_row(vec![
            format!("  {}", escape(&failed.prompt)),
            failed.expected.as_deref().map_or_else(|| "(none)".to_owned(), escape),
            failed.wrong.to_string(),
            failed.acceptable.to_string(),
            failed.answers.to_string(),
            failed.chosen.iter().map(|name| escape(name)).collect::<Vec<_>>().join(", "),
        ]);
    }
    for column in table.column_iter_mut().skip(2).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_p_value_is_zero() {
        for (p, expected) in [(0.0, "p <0.001"), (0.000_9, "p <0.001"), (0.487, "p = 0.487")] {
            assert_eq!(format_p(p), expected);
        }
    }
}
