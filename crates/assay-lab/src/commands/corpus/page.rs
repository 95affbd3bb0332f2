//! The figures of a corpus as a page.

use assay_corpus::stats::{Share, Sizes, Stats};
use assay_report::{Bar, Exhibit, Piece};

/// The page for a corpus of this name.
pub(super) fn page(name: &str, stats: &Stats) -> Exhibit {
    let mut parts = vec![
        ("Sizes", [sized("Bytes", &stats.bytes), sized("cl100k tokens", &stats.tokens)].concat()),
        (
            "Length",
            shares("Documents by number of tokens; the bounds are assay's own.", &stats.length_classes),
        ),
        ("Structure", shares("Documents with this feature.", &stats.structure)),
    ];
    let mut files = Vec::new();
    match &stats.files {
        None => files.push(Piece::Text(
            "No record lists its files. `assay lab corpus build` creates records that do.".to_owned(),
        )),
        Some(found) => {
            files.extend(sized("Files per package", &found.per_package));
            files.extend(sized("Bytes per package", &found.bytes_per_package));
            files.extend(shares("Files by extension.", &found.types[..found.types.len().min(25)]));
        }
    }
    parts.push(("Files", files));
    parts.push(("Quality", quality(stats)));
    Exhibit {
        title: name.to_owned(),
        facts: format!("{} records · {} invalid lines", stats.records, stats.bad_lines),
        notes: vec![
            "These figures describe texts; none has been correlated with the effect of skills on agents."
                .to_owned(),
        ],
        parts,
    }
}

fn sized(what: &str, sizes: &Sizes) -> Vec<Piece> {
    let number = |value: f64| format!("{value:.0}");
    let row =
        [sizes.min, sizes.q1, sizes.median, sizes.q3, sizes.iqr, sizes.max, sizes.mean].map(number).to_vec();
    let columns = ["min", "first quartile", "median", "third quartile", "IQR", "max", "mean"];
    let columns = columns.map(|name| (name, true)).to_vec();
    let fit = sizes.log_normal.map_or("No fit.".to_owned(), |fit| {
        format!(
            "The curve is a log-normal distribution with μ {:.2} and σ {:.2}, fitted by maximum likelihood; its KS distance is {:.3}.",
            fit.mu, fit.sigma, fit.distance
        )
    });
    let every = sizes.histogram.len().div_ceil(12).max(1);
    let bars = sizes.histogram.iter().enumerate().map(|(place, bin)| Bar {
        label: if place.is_multiple_of(every) { short(bin.from) } else { String::new() },
        count: bin.count as f64,
        expected: bin.expected,
    });
    vec![
        Piece::Histogram(format!("{what}, in half octaves. {fit}"), format!("{what}, from"), bars.collect()),
        Piece::Table(format!("{what} of {}", sizes.count), columns, vec![row]),
    ]
}

/// A number in little room.
fn short(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{:.1}M", value / 1e6),
        value if value >= 1e4 => format!("{:.0}k", value / 1e3),
        value if value >= 10.0 => format!("{value:.0}"),
        value => format!("{value:.1}"),
    }
}

fn shares(caption: &str, shares: &[Share]) -> Vec<Piece> {
    let row = |share: &Share| {
        (share.name.clone(), share.share, format!("{:.1}% ({})", 100.0 * share.share, share.count))
    };
    vec![Piece::Bars(caption.to_owned(), shares.iter().map(row).collect())]
}

fn quality(stats: &Stats) -> Vec<Piece> {
    let quality = &stats.quality;
    let bars = quality.histogram.iter().enumerate().map(|(points, count)| Bar {
        label: points.to_string(),
        count: *count as f64,
        expected: None,
    });
    let words = format!(
        "SkillsBench's rubric as twelve questions that can be answered from the text: mean {:.2} of 12, SD {:.2}. The paper's 6.2 was rated by a judge, so \
         the two are not directly comparable.",
        quality.mean, quality.sd
    );
    let rows = quality.dimensions.iter().map(|(name, mean)| vec![(*name).to_owned(), format!("{mean:.2}")]);
    let columns = vec![("dimension", false), ("mean of 3", true)];
    let mut pieces = vec![
        Piece::Text(words),
        Piece::Histogram("Records by points.".to_owned(), "points of 12".to_owned(), bars.collect()),
        Piece::Table(String::new(), columns, rows.collect()),
    ];
    pieces.extend(shares("Records with each point.", &quality.criteria));
    pieces
}
