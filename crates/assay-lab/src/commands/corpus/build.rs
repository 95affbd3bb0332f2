//! `assay lab corpus build`.

use std::collections::BTreeSet;

use assay_skill::Severity;
use assay_skill::corpus::gather;
use assay_skill::corpus::input::Input;
use serde::Serialize;

use super::output::write_to;
use crate::args::corpus::BuildArgs;
use crate::commands::bad_lines::BadLines;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    records: usize,
    /// Records that a source before had under the same id.
    repeated: usize,
    bad_lines: usize,
}

pub(super) fn run(args: &BuildArgs, ui: &Ui) -> Result<Status, Failure> {
    let mut document = Document { schema: "assay.corpus-build/1", records: 0, repeated: 0, bad_lines: 0 };
    let mut seen = BTreeSet::new();
    let mut failure = None;
    write_to(&args.out, |out| {
        let mut write = |mut record: assay_skill::corpus::Record| {
            record.id = record.key();
            if !seen.insert(record.id.clone()) {
                document.repeated += 1;
                return Ok(());
            }
            document.records += 1;
            serde_json::to_writer(&mut *out, &record)?;
            out.write_all(b"\n")
        };
        for source in &args.sources {
            if source.is_dir() {
                let (records, findings) = gather::folder(source);
                for finding in findings.iter().filter(|finding| finding.severity == Severity::Error) {
                    ui.note(&finding.to_string());
                }
                for record in records {
                    write(record)?;
                }
                continue;
            }
            let mut bad_lines = BadLines::new(ui, source);
            let mut lines = || -> Result<std::io::Result<()>, Failure> {
                let mut input = Input::open(source)?;
                while let Some(batch) = input.batch(|record| record)? {
                    for line in batch {
                        match line {
                            Ok(record) => {
                                if let Err(error) = write(record) {
                                    return Ok(Err(error));
                                }
                            }
                            Err(bad) => bad_lines.note(&bad),
                        }
                    }
                }
                Ok(Ok(()))
            };
            match lines() {
                Ok(result) => result?,
                Err(found) => failure = Some(found),
            }
            bad_lines.summarize();
            document.bad_lines += bad_lines.lines;
        }
        Ok(())
    })?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    if args.out.as_os_str() == "-" {
        ui.note(&format!("{} records", document.records));
    } else if ui.json() {
        ui.document(&document)?;
    } else {
        ui.out(&format!("{} records, {} repeated\n", document.records, document.repeated))?;
    }
    Ok(Status::Done)
}
