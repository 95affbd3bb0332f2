//! The benchmark's figures as text for a terminal.

use std::collections::BTreeMap;

use assay_diagnostic::{clean_start, group_digits};

use super::{
    Agreement, Comparison, Correlation, Erasure, Estimate, Findings, NegativeFindings, Ordered, Part,
    Reranked, RetrieverFindings,
};

/// Renders the report as text.
pub(crate) fn render(findings: &Findings) -> String {
    let mut text = format!(
        "{} skills, {} requests; 95% CI by resampling gold skills\n",
        group_digits(findings.corpus.documents),
        group_digits(findings.queries)
    );
    let own = findings.leakage;
    text.push_str(&format!(
        "{} requests share more than 10% of their 3-grams with their skill, {} name it, {} do neither\n",
        own.overlap3_above_10, own.names_skill, own.neither
    ));
    for pool in ["all", "repositories"] {
        let own: Vec<&RetrieverFindings> =
            findings.retrievers.iter().filter(|own| own.pool == pool).collect();
        let Some(first) = own.first() else { continue };
        text.push_str(&format!("\npool {pool}: {} skills\n", group_digits(first.documents)));
        text.push_str(&table(
            &[
                "retriever",
                "NDCG@10",
                "macro NDCG@10",
                "over sources",
                "Recall@5",
                "Recall@10",
                "Hit@1",
                "MRR",
                "Compl.@10",
                "lenient NDCG@10",
                "forbidden in top 3",
                "forbidden before gold",
            ],
            own.iter().map(|own| quality(own)).collect(),
        ));
        let costs: Vec<Vec<String>> = own.iter().filter_map(|own| cost(own)).collect();
        let head = [
            "retriever",
            "index",
            "documents/s",
            "queries/s",
            "p50",
            "p99",
            "memory",
            "tokens (5 hits)",
            "tokens (first skill)",
            "Pareto-optimal",
        ];
        text.push_str(&lines(&head, pareto(&own, costs)));
        text.push_str(&comparisons(findings, pool));
        text.push_str(&negatives(findings, pool));
        text.push_str(&second_stages(
            &findings.reranked.iter().filter(|own| own.pool == pool).collect::<Vec<_>>(),
        ));
        text.push_str(&erasures(&findings.erasure.iter().filter(|own| own.pool == pool).collect::<Vec<_>>()));
        text.push_str(&parts("repository", &own, |own| &own.repositories));
        text.push_str(&parts("source", &own, |own| &own.sources));
        for by in first.parts.keys() {
            text.push_str(&parts(by, &own, |own| own.parts.get(by).unwrap_or(&own.repositories)));
        }
    }
    text.push_str(&findings.agreement.as_ref().map_or(String::new(), order));
    text
}

/// Each retriever against the first.
fn comparisons(findings: &Findings, pool: &str) -> String {
    let row = |own: &Comparison| {
        vec![
            format!("{} − {}", own.retriever, own.baseline),
            points(own.micro),
            points(own.macro_),
            own.p.map_or_else(none, |p| format!("{p:.4}")),
            own.p_adjusted.map_or_else(none, |p| format!("{p:.4}")),
            own.smallest_detectable.map_or_else(none, |size| format!("±{:.1}", 100.0 * size)),
        ]
    };
    let head = ["NDCG@10, points", "micro", "macro", "p", "p (Holm)", "MDE (80% power)"];
    lines(&head, findings.comparisons.iter().filter(|own| own.pool == pool).map(row).collect())
}

/// False triggers of each retriever on negative requests.
fn negatives(findings: &Findings, pool: &str) -> String {
    let row = |own: &NegativeFindings| {
        let point = own.default?;
        Some(vec![
            own.retriever.clone(),
            own.requests.to_string(),
            format!("{:.2}", point.threshold),
            percent(point.false_triggers),
            percent(own.curve.first().map_or(0.0, |point| point.false_triggers)),
            percent(point.recall_kept),
            percent(point.coverage),
            percent(point.risk),
        ])
    };
    let head = [
        "negatives",
        "requests",
        "threshold",
        "false triggers",
        "without threshold",
        "Recall@5 kept",
        "coverage",
        "risk",
    ];
    lines(&head, findings.negatives.iter().filter(|own| own.pool == pool).filter_map(row).collect())
}

/// Each retriever as a reranker of the first.
fn second_stages(all: &[&Reranked]) -> String {
    let Some(first) = all.first() else { return String::new() };
    let mut head = vec![format!("NDCG@10 of {}'s first hits reranked by", first.first)];
    head.extend(first.ndcg.iter().map(|(depth, _)| format!("first {depth}")));
    let row = |own: &&Reranked| {
        let mut row = vec![own.retriever.clone()];
        row.extend(own.ndcg.iter().map(|(_, estimate)| format!("{:.4}", estimate.mean)));
        row
    };
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    lines(&head, all.iter().map(row).collect())
}

/// Requests shown of each retriever.
const SHOWN: usize = 3;

/// The effect of masking one sentence.
fn erasures(all: &[&Erasure]) -> String {
    let head = [
        "without one sentence",
        "requests",
        "NDCG@10, full query",
        "drop, most important",
        "mean drop",
        "score drop, most important",
        "mean drop",
    ];
    let row = |own: &&Erasure| {
        vec![
            own.retriever.clone(),
            own.queries.to_string(),
            format!("{:.4}", own.ndcg.mean),
            interval(Some(&own.ndcg_drop)),
            interval(Some(&own.ndcg_drop_any)),
            interval(Some(&own.score_drop)),
            interval(Some(&own.score_drop_any)),
        ]
    };
    let mut text = lines(&head, all.iter().map(row).collect());
    for own in all {
        for masked in own.examples.iter().take(SHOWN) {
            text.push_str(&format!(
                "  {}, {}: NDCG@10 {:.2} to {:.2}, score {:.3} to {:.3} without “{}”\n",
                own.retriever,
                shown_name(&masked.query),
                masked.ndcg[0],
                masked.ndcg[1],
                masked.score[0],
                masked.score[1],
                clipped(&masked.sentence)
            ));
        }
    }
    text
}

/// Rank agreement with another benchmark.
fn order(own: &Agreement) -> String {
    let row = |ordered: &Ordered| {
        vec![ordered.name.clone(), format!("{:.4}", ordered.here), format!("{:.4}", ordered.there)]
    };
    let head = ["NDCG@10", "here", "there"];
    let correlation = |own: Correlation| {
        let ci = own.ci95.map_or(String::new(), |[low, high]| format!(" ({low:.2} to {high:.2})"));
        format!("{:.2}{ci}", own.value)
    };
    format!(
        "\nrank agreement of {} retrievers with {}, pool {}: Spearman {}, Kendall {}\n{}",
        own.retrievers.len(),
        shown_name(&own.against),
        shown_name(&own.pool),
        correlation(own.spearman),
        correlation(own.kendall),
        table(&head, own.retrievers.iter().map(row).collect())
    )
}

fn none() -> String {
    "–".to_owned()
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

fn interval(estimate: Option<&Estimate>) -> String {
    let Some(estimate) = estimate else { return none() };
    let ci = estimate.ci95.map_or(String::new(), |[low, high]| format!(" ({low:.3} to {high:.3})"));
    format!("{:.4}{ci}", estimate.mean)
}

fn points(estimate: Estimate) -> String {
    let signed = |points: f64| format!("{:+.2}", 100.0 * points).replace('-', "−");
    let ci =
        estimate.ci95.map_or(String::new(), |[low, high]| format!(" ({} to {})", signed(low), signed(high)));
    format!("{}{ci}", signed(estimate.mean))
}

fn quality(own: &RetrieverFindings) -> Vec<String> {
    let mean = |name: &str| own.micro.get(name).map_or_else(none, |estimate| format!("{:.4}", estimate.mean));
    vec![
        own.name.clone(),
        interval(own.micro.get("ndcg@10")),
        interval(own.macro_.get("ndcg@10")),
        own.macro_sources.get("ndcg@10").map_or_else(none, |estimate| format!("{:.4}", estimate.mean)),
        mean("recall@5"),
        mean("recall@10"),
        mean("hit@1"),
        mean("mrr"),
        mean("completeness@10"),
        own.micro_lenient.get("ndcg@10").map_or_else(none, |mean| format!("{mean:.4}")),
        own.forbidden_top3.map_or_else(none, percent),
        own.forbidden_before_gold.map_or_else(none, percent),
    ]
}

fn cost(own: &RetrieverFindings) -> Option<Vec<String>> {
    let cost = own.cost?;
    Some(vec![
        own.name.clone(),
        format!("{:.2} s", cost.index_seconds),
        format!("{:.0}", cost.documents_per_second),
        format!("{:.0}", cost.queries_per_second),
        format!("{:.2} ms", 1e3 * cost.p50_seconds),
        format!("{:.2} ms", 1e3 * cost.p99_seconds),
        cost.rss_bytes.map_or_else(none, |bytes| format!("{} MB", bytes / 1_000_000)),
        cost.context.map_or_else(none, |context| format!("{:.0}", context.description_tokens)),
        cost.context.map_or_else(none, |context| format!("{:.0}", context.skill_tokens)),
    ])
}

/// Marks the Pareto frontier of quality and query time.
fn pareto(all: &[&RetrieverFindings], rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let figures = |own: &RetrieverFindings| {
        let quality = own.micro.get("ndcg@10").map_or(0.0, |estimate| estimate.mean);
        own.cost.map(|cost| (quality, cost.p50_seconds))
    };
    let is_beaten = |name: &str| {
        let Some(own) = all.iter().find(|own| own.name == name).and_then(|own| figures(own)) else {
            return false;
        };
        all.iter().filter_map(|other| figures(other)).any(|other| other.0 > own.0 && other.1 < own.1)
    };
    let marked = |mut row: Vec<String>| {
        row.push(if is_beaten(&row[0]) { "no" } else { "yes" }.to_owned());
        row
    };
    rows.into_iter().map(marked).collect()
}

/// NDCG@10 of every retriever for some parts of the queries.
fn parts<'a>(
    by: &str,
    all: &[&'a RetrieverFindings],
    of: impl Fn(&'a RetrieverFindings) -> &'a BTreeMap<String, Part>,
) -> String {
    let Some(first) = all.first() else { return String::new() };
    if of(first).len() < 2 {
        return String::new();
    }
    let mut head = vec![format!("NDCG@10 by {by}"), "requests".to_owned()];
    head.extend(all.iter().map(|own| own.name.clone()));
    let mut rows: Vec<(usize, Vec<String>)> = Vec::new();
    for (name, part) in of(first) {
        let mut row = vec![shown_name(name), part.queries.to_string()];
        row.extend(
            all.iter().map(|own| of(own).get(name).map_or_else(none, |part| format!("{:.3}", part.ndcg))),
        );
        rows.push((part.queries, row));
    }
    rows.sort_by_key(|(queries, _)| std::cmp::Reverse(*queries));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    format!("\n{}", table(&head, rows.into_iter().map(|(_, row)| row).collect()))
}

/// A name from outside.
fn shown_name(name: &str) -> String {
    clean_start(name, 50)
}

/// The start of a text from outside.
fn clipped(text: &str) -> String {
    let start = clean_start(text, 160);
    if start.chars().count() < text.chars().count() { start + "…" } else { start }
}

/// A table after an empty line; nothing without rows.
fn lines(head: &[&str], rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() { String::new() } else { format!("\n{}", table(head, rows)) }
}

/// Columns as wide as their cells; the first left-aligned, the others right-aligned.
fn table(head: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut all = vec![head.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>()];
    all.extend(rows);
    let width = |column: usize| {
        all.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    for row in &all {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let width = *width;
            if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
