//! `assay lab audit prohibitions`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use assay_audit::calibrated::Rate;
use assay_cli::commands::audit::input;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;
use assay_report::{align_columns, clean};
use assay_skill::corpus::input::Input;
use serde::Serialize;

use crate::args::audit::ProhibitionsArgs;
use crate::audit::prohibitions::{Judged, LabelledAct, ProhibitionFigures, Twin, figures, judge_act};

/// Longest file of labels that is read, in bytes.
const LONGEST: u64 = 64 << 20;

/// What `--format json` prints.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    files: Vec<JudgedFile>,
}

/// A file of labels, judged.
#[derive(Serialize)]
struct JudgedFile {
    name: String,
    figures: ProhibitionFigures,
    acts: Vec<Judged>,
}

pub(super) fn run(args: &ProhibitionsArgs, ui: &Ui) -> Result<Status, Failure> {
    let files: Vec<(String, Vec<LabelledAct>)> =
        args.labels.iter().map(|path| read_acts(path)).collect::<Result<_, _>>()?;
    let wanted: BTreeSet<&str> =
        files.iter().flat_map(|(_, acts)| acts).map(|act| act.skill.as_str()).collect();
    let mut skills: BTreeMap<String, String> = BTreeMap::new();
    let mut corpus = Input::open(&args.corpus)?;
    while let Some(batch) = corpus.batch(|record| {
        wanted.contains(record.id.as_str()).then(|| (record.id.clone(), record.skill_md.clone()))
    })? {
        skills.extend(batch.into_iter().flatten().flatten());
    }
    if let Some(missing) = wanted.iter().find(|id| !skills.contains_key(**id)) {
        let message = format!("{} has no skill {}", args.corpus.display(), clean(missing));
        return Err(Failure::bad_input(message).hint("pass the corpus that the labels were made from"));
    }
    let files: Vec<JudgedFile> = files
        .into_iter()
        .map(|(name, acts)| {
            let acts: Vec<Judged> = acts.iter().map(|act| judge_act(act, &skills[&act.skill])).collect();
            JudgedFile { name, figures: figures(&acts), acts }
        })
        .collect();
    if ui.json() {
        ui.document(&Document { schema: "assay.audit-prohibitions/1", files })?;
    } else {
        ui.out(&table(&files))?;
        if args.list {
            let acts: Vec<&Judged> = files.iter().flat_map(|file| &file.acts).collect();
            ui.out(&format!("\n{}", wrong(&acts)))?;
        }
    }
    Ok(Status::Done)
}

/// The acts of a file, with its name.
fn read_acts(path: &Path) -> Result<(String, Vec<LabelledAct>), Failure> {
    let read = |(at, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            Failure::bad_input(format!("{}:{}: no labelled act: {error}", path.display(), at + 1))
        })
    };
    let acts = input::text(path, LONGEST)?.lines().enumerate().map(read).collect::<Result<_, _>>()?;
    Ok((path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), acts))
}

fn table(files: &[JudgedFile]) -> String {
    type Figure = fn(&ProhibitionFigures) -> &Rate;
    let rows: [(&str, Figure); 5] = [
        ("labels that both readers share", |figures| &figures.agreed),
        ("obedient acts called violations", |figures| &figures.false_violations),
        ("guilty acts found", |figures| &figures.found),
        ("guilty acts, prohibition read", |figures| &figures.read),
        ("obedient acts, other lines violated", |figures| &figures.elsewhere),
    ];
    let mut lines = vec![vec!["acts".to_owned()]];
    lines[0].extend(files.iter().map(|file| clean(&file.name)));
    for (name, figure) in rows {
        let mut line = vec![name.to_owned()];
        line.extend(files.iter().map(|file| {
            let rate = figure(&file.figures);
            format!("{} of {} [{:.3}, {:.3}]", rate.count, rate.of, rate.low, rate.high)
        }));
        lines.push(line);
    }
    align_columns(&lines)
}

/// The acts that the audit has wrong.
fn wrong(judged: &[&Judged]) -> String {
    let is_wrong = |one: &&&Judged| one.agreed && (one.twin == Twin::Guilty) == one.violated.is_empty();
    let mut lines = vec![["skill", "line", "act", "forbidden", "violated"].map(str::to_owned).to_vec()];
    for one in judged.iter().filter(is_wrong) {
        let act = match one.twin {
            Twin::Guilty => "guilty, not found",
            Twin::Obedient => "obedient, called a violation",
        };
        let list = |subjects: &[String]| clean(&subjects.join("; "));
        lines.push(vec![
            clean(&one.skill),
            one.line.to_string(),
            act.to_owned(),
            list(&one.forbidden),
            list(&one.violated),
        ]);
    }
    align_columns(&lines)
}
