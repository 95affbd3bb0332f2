//! `assay lab corpus sample`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_corpus::sample::{Drawn, Key, Options, Sample, Stratum, sample};
use assay_corpus::unpack::{create_empty, folder_path, write_record};
use assay_report::{clean, counted};
use assay_skill::corpus::input::Input;
use serde::{Deserialize, Serialize};

use super::output::write_to;
use super::suitability::{Suitable, check};
use crate::args::corpus::{SampleArgs, SampleKey};
use crate::commands::bad_lines::BadLines;
use crate::failure::unpack_failure;
use assay_cli::failure::{Failure, Status};
use assay_cli::machine;
use assay_cli::ui::Ui;

/// What `--format json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    records: usize,
    bad_lines: usize,
    by: &'a [Key],
    seed: u64,
    /// Upper bounds of the lower two terciles, inclusive.
    terciles: &'a BTreeMap<Key, [usize; 2]>,
    excluded: &'a BTreeMap<String, usize>,
    strata: &'a [Stratum],
    skills: Vec<Line<'a>>,
}

/// A line of the list.
#[derive(Serialize)]
struct Line<'a> {
    /// The place in the order of the sample, from 1.
    number: usize,
    id: &'a str,
    /// The folder of the package, relative to the folder of the sample.
    path: PathBuf,
    stratum: &'a str,
    digest: &'a str,
    /// The verdict of `assay draft needs`.
    verdict: &'static str,
}

/// A line of `--categories`.
#[derive(Deserialize)]
struct CategoryLine {
    id: String,
    category: Option<String>,
}

pub(super) fn run(args: &SampleArgs, ui: &Ui) -> Result<Status, Failure> {
    let mut by: Vec<Key> = Vec::new();
    for key in &args.by {
        let key = match key {
            SampleKey::Quality => Key::Quality,
            SampleKey::Length => Key::Length,
            SampleKey::Category => Key::Category,
        };
        if by.contains(&key) {
            return Err(Failure::bad_input("--by names a key twice"));
        }
        by.push(key);
    }
    let is_list = args.out.extension().is_some_and(|extension| extension == "jsonl");
    if !is_list {
        create_empty(&args.out).map_err(unpack_failure)?;
    }
    let categories = args.categories.as_deref().map(read_categories).transpose()?;
    let options = Options { by, size: args.n as usize, seed: args.seed, categories };
    let programs = machine::programs();
    let mut bad_lines = BadLines::new(ui, &args.input);
    let found =
        sample(&mut Input::open(&args.input)?, &options, &mut |bad| bad_lines.note(bad), &mut |record| {
            check(record, &programs)
        })?;
    bad_lines.summarize();
    if found.by.len() < options.by.len() {
        ui.note("no skill has a category, so the key `category` is ignored (hint: pass --categories)");
    }
    if found.skills.len() < options.size {
        ui.note(&format!(
            "{} drawn instead of {}: no others can be drawn",
            counted(found.skills.len(), "skill", "skills"),
            options.size
        ));
    }
    write(&found, &args.out, is_list)?;
    if ui.json() {
        ui.document(&Document {
            schema: "assay.corpus-sample/1",
            records: found.records,
            bad_lines: found.bad_lines,
            by: &found.by,
            seed: args.seed,
            terciles: &found.terciles,
            excluded: &found.excluded,
            strata: &found.strata,
            skills: found.skills.iter().map(line).collect(),
        })?;
    } else {
        ui.out(&render(&found))?;
    }
    Ok(if found.skills.is_empty() { Status::BadInput } else { Status::Done })
}

/// Writes the packages, and the list last.
fn write(found: &Sample<Suitable>, out: &Path, is_list: bool) -> Result<(), Failure> {
    let list = if is_list { out.to_owned() } else { out.join("sample.jsonl") };
    if !is_list {
        for skill in &found.skills {
            write_record(out, &skill.record).map_err(unpack_failure)?;
        }
    }
    write_to(&list, |out| {
        for skill in &found.skills {
            serde_json::to_writer(&mut *out, &line(skill))?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })
}

fn line(skill: &Drawn<Suitable>) -> Line<'_> {
    Line {
        number: skill.number,
        id: &skill.id,
        path: folder_path(&skill.record),
        stratum: &skill.stratum,
        digest: &skill.data.digest,
        verdict: skill.data.verdict,
    }
}

/// The categories of skills by id. Skills without one are left out.
pub(in crate::commands) fn read_categories(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let mut categories = BTreeMap::new();
    let mut input = Input::open(path)?;
    while let Some(lines) = input.lines()? {
        for (number, text) in lines {
            let read: CategoryLine = serde_json::from_slice(&text).map_err(|error| {
                Failure::bad_input(format!("{}:{number}: {error}", path.display()))
                    .hint("each line needs the texts `id` and `category`")
            })?;
            categories.extend(read.category.map(|category| (read.id, category)));
        }
    }
    Ok(categories)
}

fn render(found: &Sample<Suitable>) -> String {
    let mut text = format!("{:<56}  {:>7}  {:>6}  {:>9}\n", "stratum", "skills", "drawn", "excluded");
    let row = |name: &str, skills: usize, drawn: usize, excluded: usize| {
        format!("{name:<56}  {skills:>7}  {drawn:>6}  {excluded:>9}\n")
    };
    for stratum in &found.strata {
        text.push_str(&row(&clean(&stratum.stratum), stratum.skills, stratum.drawn, stratum.excluded));
    }
    let sum = |of: fn(&Stratum) -> usize| found.strata.iter().map(of).sum();
    text.push_str(&row("all", sum(|one| one.skills), sum(|one| one.drawn), sum(|one| one.excluded)));
    for (key, [low, middle]) in &found.terciles {
        let (name, unit) = match key {
            Key::Quality => ("quality", "points of 12"),
            Key::Length | Key::Category => ("length", "words"),
        };
        text.push_str(&format!("{name}: terciles up to {low}, up to {middle}, and above ({unit})\n"));
    }
    text.push_str(&format!("\n{}; excluded:\n", counted(found.records, "record", "records")));
    for (why, count) in &found.excluded {
        text.push_str(&format!("  {:<56}  {count:>6}\n", clean(why)));
    }
    text.push_str("\nsample\n");
    for skill in &found.skills {
        let (number, id, verdict) = (skill.number, clean(&skill.id), skill.data.verdict);
        let name = clean(&skill.record.name);
        text.push_str(&format!("  {number:>4}  {id}  {verdict:<7}  {}  {name}\n", clean(&skill.stratum)));
    }
    text
}
