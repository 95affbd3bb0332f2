//! `assay lab scale`: what evaluating a whole library costs, as ways of saving trials are added.

use serde::Serialize;

use crate::args::scale::ScaleArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// With a skill and without one.
const CONDITIONS: f64 = 2.0;
const YEAR: f64 = 365.0 * 86_400.0;
/// The quantile 0.975 of the standard normal distribution, for 95% confidence.
const Z: f64 = 1.959_963_984_540_054;

#[derive(Serialize)]
struct Figures {
    schema: &'static str,
    rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    design: String,
    trials: f64,
    usd: f64,
    /// Trials under way at a time, if all are to end within a year.
    concurrent: f64,
    /// Processors that assay itself uses meanwhile.
    processors: f64,
    files: f64,
    terabytes: f64,
    /// Hours to read every record from disk once, one after another.
    read_hours: f64,
}

pub(super) fn run(args: &ScaleArgs, ui: &Ui) -> Result<Status, Failure> {
    for (option, share) in
        [("--sequential", args.sequential), ("--changed", args.changed), ("--precision", args.precision)]
    {
        if !(share > 0.0 && share <= 1.0) {
            return Err(Failure::bad_input(format!(
                "`{option}` must be above 0 and at most 1, and is {share}"
            )));
        }
    }
    if args.relevant > args.tasks {
        return Err(Failure::bad_input("`--relevant` must not exceed `--tasks`"));
    }
    let figures = Figures { schema: "assay.scale/1", rows: rows(args) };
    if ui.json() {
        ui.document(&figures)?;
    } else {
        ui.out(&table(args, &figures.rows))?;
    }
    Ok(Status::Done)
}

fn rows(args: &ScaleArgs) -> Vec<Row> {
    let [skills, tasks, repetitions, relevant] =
        [args.skills, args.tasks, args.repetitions, args.relevant].map(|number| number as f64);
    let all = skills * tasks * CONDITIONS * repetitions;
    let own = skills * relevant * CONDITIONS * repetitions;
    // The trials without a skill are the same for all skills, and so are their identities.
    let baseline = tasks * repetitions;
    let shared = skills * relevant * repetitions + baseline;
    // Of the baseline nothing is saved: some comparison needs its last repetition.
    let sequential = skills * relevant * repetitions * args.sequential + baseline;
    let changed = skills * args.changed * relevant * repetitions * args.sequential;
    let sample = sample_size(args.precision, skills);
    let sampled = sample * relevant * repetitions * args.sequential + baseline;
    [
        ("every skill on every task".to_owned(), all),
        (format!("on its {relevant} tasks"), own),
        ("with one baseline for all".to_owned(), shared),
        ("with sequential verdicts".to_owned(), sequential),
        ("again, after changes".to_owned(), changed),
        (format!("a sample of {sample:.0} skills"), sampled),
    ]
    .into_iter()
    .map(|(design, trials)| row(args, design, trials))
    .collect()
}

fn row(args: &ScaleArgs, design: String, trials: f64) -> Row {
    Row {
        design,
        trials,
        usd: trials * args.usd,
        concurrent: trials * args.wait_seconds / YEAR,
        processors: trials * args.cpu_seconds / YEAR,
        files: trials * args.files as f64,
        terabytes: trials * args.kilobytes * 1e3 / 1e12,
        read_hours: trials * args.read_seconds / 3600.0,
    }
}

/// Skills to draw so that the confidence interval of a share has this half-width at most, whatever the share is, with
/// the correction for a finite population (Cochran, Sampling Techniques, 3rd ed., 1977, section 4.4).
fn sample_size(precision: f64, population: f64) -> f64 {
    let endless = Z * Z * 0.25 / (precision * precision);
    (endless / (1.0 + (endless - 1.0) / population)).ceil().min(population)
}

fn table(args: &ScaleArgs, rows: &[Row]) -> String {
    let mut text = format!(
        "{} skills, {} tasks, {} repetitions, {} USD and {} s per trial\n\n\
         | design | trials | USD | concurrent trials for a year | processors of assay | files | TB | hours to read |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n",
        short(args.skills as f64),
        short(args.tasks as f64),
        args.repetitions,
        args.usd,
        args.wait_seconds
    );
    for row in rows {
        let numbers =
            [row.trials, row.usd, row.concurrent, row.processors, row.files, row.terabytes, row.read_hours];
        let cells: Vec<String> = numbers.into_iter().map(short).collect();
        text.push_str(&format!("| {} | {} |\n", row.design, cells.join(" | ")));
    }
    text
}

/// Two digits, with the powers of 1,000 as words of one letter: k, M, G, T.
fn short(number: f64) -> String {
    let (mut number, mut unit) = (number, 0);
    while number >= 999.5 && unit < 4 {
        number /= 1000.0;
        unit += 1;
    }
    let unit = ["", "k", "M", "G", "T"][unit];
    let digits = if number >= 9.95 || number.fract() < 1e-9 {
        0
    } else if number >= 0.095 {
        1
    } else {
        3
    };
    format!("{number:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{ScaleArgs, rows, sample_size, short};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: ScaleArgs,
    }

    #[test]
    fn designs_need_fewer_and_fewer_trials() {
        let line = "x --skills 1000 --tasks 100 --relevant 10 --repetitions 5 --sequential 0.4 --changed 0.1 --usd 2";
        let rows = rows(&Line::parse_from(line.split(' ')).args);
        let trials: Vec<f64> = rows.iter().map(|row| row.trials).collect();
        // 1000·100·2·5; 1000·10·2·5; 1000·10·5 + 100·5; 1000·10·5·.4 + 500; 100·10·5·.4; 906·10·5·.4 + 500.
        assert_eq!(trials, [1_000_000.0, 100_000.0, 50_500.0, 20_500.0, 2_000.0, 18_620.0]);
        assert!((rows[0].usd - 2e6).abs() < 1e-6);
    }

    /// 9,604 for a half-width of one point (Cochran's example with z = 1.96), fewer of a small library.
    #[test]
    fn samples_have_the_sizes_of_the_textbook() {
        assert!((sample_size(0.01, 1e12) - 9604.0).abs() < 1.0);
        assert!((sample_size(0.05, 1e12) - 385.0).abs() < 1.0);
        assert!((sample_size(0.01, 1000.0) - 906.0).abs() < 1.0);
        assert!((sample_size(0.01, 10.0) - 10.0).abs() < f64::EPSILON);
    }

    #[test]
    fn numbers_have_two_digits() {
        for (number, expected) in [
            (1e10, "10G"),
            (50_005_000.0, "50M"),
            (2.05e7, "20M"),
            (1_800.0, "1.8k"),
            (999.9, "1.0k"),
            (95.1, "95"),
            (7.0, "7"),
            (0.14, "0.1"),
            (0.014, "0.014"),
        ] {
            assert_eq!(short(number), expected, "{number}");
        }
    }
}
