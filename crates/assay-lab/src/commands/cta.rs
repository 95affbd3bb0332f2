//! `assay lab cta-2026`: the published Counterfactual Trace Auditor.

mod tables;

use std::path::Path;

use assay_audit::Exposed;
use assay_audit::Mode;
use assay_audit::corpus::Notice;
use assay_audit::evidence::SkillText;
use assay_report::clean;
use assay_trace::OfferedSkill;

use crate::args::cta::{CtaArgs, CtaCorpusArgs, CtaPairsArgs, CtaSheetArgs, CtaWhat};
use crate::cta::{self, Both, PairLine, PassRates, Record, Sip, Tables, Task, Trace, read};
use assay_cli::commands::audit::corpus::{find, print};
use assay_cli::commands::audit::input;
use assay_cli::commands::audit::notices::Notices;
use assay_cli::commands::audit::sheet::print_sheet;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;
use assay_report::align_columns;

pub(super) fn run(args: &CtaArgs, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        CtaWhat::Pairs(args) => pairs(args, ui),
        CtaWhat::Corpus(args) => corpus(args, ui),
        CtaWhat::Sheet(args) => sheet(args, ui),
    }
}

fn sheet(args: &CtaSheetArgs, ui: &Ui) -> Result<Status, Failure> {
    let mut notices = Notices::new(ui);
    let found = find(&args.dir)?;
    found.notices.iter().for_each(|notice| notices.report(notice));
    let findings = cta::findings(&found, &mut |notice| notices.report(&notice));
    print_sheet(findings, &args.sample, &notices, ui)
}

fn corpus(args: &CtaCorpusArgs, ui: &Ui) -> Result<Status, Failure> {
    let mut notices = Notices::new(ui);
    let corpus = find(&args.dir)?;
    corpus.notices.iter().for_each(|notice| notices.report(notice));
    // Published pass rates; without them the third table has one row.
    let file = args.dir.join("task_metadata.json");
    let rates = match assay_fs::read_text(&file, assay_fs::DOCUMENT_CAP) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::bad_input(format!("cannot read {}: {error}", file.display())));
        }
        text => text.unwrap_or_default(),
    };
    let rates = PassRates::read(&rates);
    let mut counted = Tables::default();
    let mut line = |line: PairLine| {
        counted.add(&line, &rates);
        if ui.json() { print(&line, ui) } else { Ok(()) }
    };
    cta::audit(&corpus, args.records && ui.json(), &mut line, &mut |notice| notices.report(&notice))?;
    match (ui.json(), args.tables) {
        (true, true) => print(&tables::document(&counted), ui)?,
        (true, false) => {}
        (false, true) => ui.out(&tables::three(&counted))?,
        (false, false) => ui.out(&tables::summary(&counted))?,
    }
    Ok(notices.status(args.strict))
}

/// Longest SKILL.md that is read, in bytes.
const LONGEST_SKILL: u64 = 4 << 20;

fn pairs(args: &CtaPairsArgs, ui: &Ui) -> Result<Status, Failure> {
    let mut notices = Notices::new(ui);
    let text = input::text(&args.skill, LONGEST_SKILL)?;
    let mut task = Task::new(&text);
    let document = SkillText::parse(text.as_bytes());
    let name = input::task_name(&args.skill, &document);
    let skill = OfferedSkill {
        name: &name,
        description: &document.description,
        body: &document.body,
        mount: "",
        files: &[],
    };
    // Standard input can be read once.
    let exposed = |trace: &str| {
        if trace == "-" { None } else { Exposed::in_file(Path::new(trace), &skill).ok() }
    };
    let mut prepare = |path: &Path| -> Result<(String, Trace), Failure> {
        let mut reader = input::open(path)?;
        let (log, remarks) = read(&mut *reader).map_err(|error| input::unread(path, error))?;
        for remark in remarks.into_iter().filter(|remark| !remark.minor) {
            notices.report(&Notice { path: path.to_owned(), line: remark.line, message: remark.message });
        }
        Ok((path.display().to_string(), task.trace(log)))
    };
    let with = prepare(&args.with)?;
    let mut without = vec![prepare(&args.without)?];
    for path in &args.null {
        without.push(prepare(path)?);
    }
    let mut lines = Vec::new();
    let mut pair = |mode, plus: &(String, Trace), minus: &(String, Trace)| {
        let found = task.pair(&plus.1, &minus.1);
        let mut line = PairLine::of(mode, &plus.1, &minus.1, &found, args.records);
        line.with_trace.clone_from(&plus.0);
        line.without_trace.clone_from(&minus.0);
        line.exposure = Both { plus: exposed(&plus.0), minus: exposed(&minus.0) };
        lines.push(line);
    };
    pair(Mode::Treatment, &with, &without[0]);
    for (at, earlier) in without.iter().enumerate() {
        for later in &without[at + 1..] {
            pair(Mode::NullMinus, earlier, later);
        }
    }
    if ui.json() {
        for line in &lines {
            print(line, ui)?;
        }
    } else {
        ui.out(&format_pairs(&lines))?;
    }
    Ok(notices.status(args.strict))
}

fn format_pairs(lines: &[PairLine]) -> String {
    let mut rows = vec![vec!["mode".to_owned(), "divergences".to_owned(), "patterns".to_owned()]];
    rows[0].extend(Sip::ALL.iter().map(|sip| sip.name().replace('_', " ")));
    for line in lines {
        let mut row = vec![line.mode.name().to_owned()];
        row.extend([line.divergences.total.to_string(), line.sips.total.to_string()]);
        row.extend(Sip::ALL.iter().map(|sip| line.sips.by_type.get(sip.name()).unwrap_or(&0).to_string()));
        rows.push(row);
    }
    let mut text = align_columns(&rows);
    for record in lines.iter().flat_map(|line| line.records.iter().flatten()) {
        text.push_str(&describe(record));
    }
    text
}

fn describe(record: &Record) -> String {
    let sips: Vec<String> =
        record.sips.iter().map(|(sip, score)| format!("{} {score:.2}", sip.replace('_', " "))).collect();
    format!(
        "\n  {} {} in {}: {}\n    with    {}\n    without {}\n    skill   {} ({:.2})\n",
        record.id,
        record.kind.replace('_', " "),
        record.phase,
        if sips.is_empty() { "no pattern".to_owned() } else { sips.join(", ") },
        clean(&record.intent_plus),
        clean(&record.intent_minus),
        clean(&record.region_head),
        record.skill_similarity
    )
}
