//! What the grids share: threads, and tables as Markdown.

use std::num::NonZeroUsize;

pub(super) fn thread_count(jobs: Option<u16>) -> NonZeroUsize {
    let requested = jobs.and_then(|jobs| NonZeroUsize::new(usize::from(jobs)));
    requested.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

pub(in super::super) fn markdown<const N: usize>(heads: [&str; N], lines: &[[String; N]]) -> String {
    let widths: Vec<usize> = (0..N)
        .map(|at| {
            lines
                .iter()
                .map(|line| line[at].chars().count())
                .chain([heads[at].chars().count()])
                .max()
                .unwrap_or(0)
        })
        .collect();
    let line = |texts: &[String]| {
        let padded = texts.iter().zip(&widths).enumerate().map(|(at, (text, &width))| {
            if at == 0 { format!(" {text:width$} ") } else { format!(" {text:>width$} ") }
        });
        format!("|{}|\n", padded.collect::<Vec<_>>().join("|"))
    };
    let rule = widths
        .iter()
        .enumerate()
        .map(|(at, width)| format!("{}{}", "-".repeat(width + 1), if at == 0 { "-" } else { ":" }));
    let mut text = line(&heads.map(str::to_owned));
    text.push_str(&format!("|{}|\n", rule.collect::<Vec<_>>().join("|")));
    for texts in lines {
        text.push_str(&line(texts));
    }
    text
}
