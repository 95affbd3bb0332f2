//! `assay lab corpus funnel`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use assay_corpus::funnel::{self, Order, Rules, StageCount};
use assay_skill::corpus::input::Input;
use serde::Serialize;

use crate::args::corpus::{FunnelArgs, OrderName, RulesName};
use crate::commands::bad_lines::BadLines;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// What `--format json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    records: usize,
    bad_lines: usize,
    stages: &'a [StageCount],
    kept: usize,
}

pub(super) fn run(args: &FunnelArgs, ui: &Ui) -> Result<Status, Failure> {
    let rules = match args.rules {
        RulesName::Skillret => Rules::SkillRet,
        RulesName::Corpus => with_gold(args.gold.as_deref())?,
    };
    let order = match args.order {
        Some(OrderName::Paper) => Order::Paper,
        None if args.rules == RulesName::Corpus => Order::Paper,
        Some(OrderName::Code) | None => Order::Code,
    };
    // Asked for first: an hour's reading is not to end at a folder that is not there.
    let ledger = args.ledger.as_deref().map(|path| File::create(path).map_err(|e| ledger_failure(path, e)));
    let ledger = ledger.transpose()?;
    let mut input = Input::open(&args.input)?;
    let mut bad_lines = BadLines::new(ui, &args.input);
    let outcome = funnel::run(&mut input, &rules, order, &mut |bad| bad_lines.note(bad))?;
    bad_lines.summarize();
    if let (Some(file), Some(path)) = (ledger, &args.ledger) {
        let mut out = BufWriter::new(file);
        outcome.write_ledger(&mut out).map_err(|error| ledger_failure(path, error))?;
        out.flush().map_err(|error| ledger_failure(path, error))?;
    }
    let kept = outcome.kept();
    if ui.json() {
        ui.document(&Document {
            schema: "assay.corpus-funnel/1",
            records: outcome.records,
            bad_lines: outcome.bad_lines,
            stages: &outcome.stages,
            kept,
        })?;
    } else {
        let mut text = format!("{:18}  {:>9}  {:>9}\n", "stage", "removed", "left");
        text.push_str(&format!("{:18}  {:>9}  {:>9}\n", "in", "", outcome.records));
        for stage in &outcome.stages {
            text.push_str(&format!(
                "{:18}  {:>9}  {:>9}\n",
                stage.filter_stage.name(),
                stage.removed,
                stage.left
            ));
        }
        ui.out(&text)?;
    }
    // A file in which no line is a record is the wrong file.
    Ok(if outcome.records == 0 && outcome.bad_lines > 0 { Status::BadInput } else { Status::Done })
}

/// The corpus's rules with the ids that a file of queries names as gold.
fn with_gold(path: Option<&Path>) -> Result<Rules, Failure> {
    let mut rules = Rules::default();
    if let (Some(path), Rules::Corpus { gold: ids, .. }) = (path, &mut rules) {
        *ids = gold(path)?;
    }
    Ok(rules)
}

/// Most bytes of a file of queries.
const QUERIES_CAP: u64 = 64 << 20;

/// The ids that a file of queries names as gold.
pub(super) fn gold(path: &Path) -> Result<BTreeSet<String>, Failure> {
    let text = assay_fs::read_text(path, QUERIES_CAP).map_err(|error| {
        Failure::bad_input(format!("cannot read the queries {}: {error}", path.display()))
    })?;
    let mut ids = BTreeSet::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let query: Query = serde_json::from_str(line).map_err(|error| {
            Failure::bad_input(format!("{}:{}: not a query: {error}", path.display(), number + 1))
        })?;
        ids.extend(query.gold_ids);
    }
    Ok(ids)
}

#[derive(serde::Deserialize)]
struct Query {
    gold_ids: BTreeSet<String>,
}

fn ledger_failure(path: &Path, error: std::io::Error) -> Failure {
    Failure::BadInput {
        message: format!("cannot write the ledger {}", path.display()),
        hint: Some("pass a file in an existing folder".to_owned()),
        source: Some(error.into()),
        details: Vec::new(),
    }
}
