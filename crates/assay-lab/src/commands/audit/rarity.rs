//! `assay lab audit rarity`.

use std::collections::HashMap;

use assay_corpus::near::near;
use assay_skill::corpus::input::Input;
use serde::Serialize;

use crate::args::audit::RarityArgs;
use crate::audit::rarity::{Counts, Document, common, families};
use crate::commands::bad_lines::BadLines;
use crate::commands::corpus::write_to;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// What `--format json` prints.
#[derive(Serialize)]
struct Built {
    schema: &'static str,
    skills: usize,
    families: usize,
    hashes: usize,
    bytes: usize,
}

pub(super) fn run(args: &RarityArgs, ui: &Ui) -> Result<Status, Failure> {
    if !(args.threshold > 0.0 && args.threshold <= 1.0) {
        return Err(Failure::bad_input("invalid threshold: it must be above 0 and at most 1"));
    }
    let mut bad_lines = BadLines::new(ui, &args.corpus);
    let mut input = Input::open(&args.corpus)?;
    let variants = near(&mut input, args.threshold, 0, &mut |bad| bad_lines.note(bad))?;
    bad_lines.summarize();
    let mut documents = Vec::new();
    let mut places = HashMap::new();
    let mut input = Input::open(&args.corpus)?;
    while let Some(batch) = input.batch(|record| {
        (record.key(), Document { repository: record.repo.clone(), text: record.skill_md.clone() })
    })? {
        for (key, document) in batch.into_iter().flatten() {
            places.insert(key, documents.len());
            documents.push(document);
        }
    }
    let pairs = variants.pairs.iter().filter_map(|pair| Some((*places.get(&pair.a)?, *places.get(&pair.b)?)));
    let mut counts = Counts::default();
    for family in families(&documents, pairs, args.large) {
        counts.add(family.into_iter().map(|at| documents[at].text.as_str()));
    }
    let table = counts.table(common().iter().map(String::as_str));
    let bytes = table.write();
    write_to(&args.out, |out| out.write_all(&bytes))?;
    let built = Built {
        schema: "assay.audit-rarity/1",
        skills: documents.len(),
        families: counts.families(),
        hashes: table.len(),
        bytes: bytes.len(),
    };
    if ui.json() {
        ui.document(&built)?;
    } else {
        ui.out(&format!(
            "{} skills in {} families; {} hashes, {} bytes\n",
            built.skills, built.families, built.hashes, built.bytes
        ))?;
    }
    Ok(Status::Done)
}
