//! `assay lab search`: how well skills are found.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use assay_report::clean;
use assay_retrieval::queries::{Query, annotate};
use assay_retrieval::{Document, RetrieverSpec};

use super::corpus::read_categories;
use crate::args::search::{LabSearchArgs, LabSearchWhat, SearchBenchArgs, SearchEraseArgs, SearchTrainArgs};
use crate::retrieval::queries::{Negative, check, read_negative, read_query};
use crate::retrieval::{
    AdapterEvaluation, Erasure, OffTopic, Pool, Rankings, Run, Trained, abstention, adapt, agreement,
    context, erase, findings, fit_abstention, read_off_topic, read_qrels, read_run, render,
    render_abstention, run as ask, train, write_qrels, write_run,
};
use assay_cli::commands::search::library::{documents, parsed};
use assay_cli::commands::search::models;
use assay_cli::failure::{Failure, Status};
use assay_cli::input;
use assay_cli::machine;
use assay_cli::ui::Ui;

pub(super) fn run(args: &LabSearchArgs, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        LabSearchWhat::Bench(args) => bench(args, false, ui),
        LabSearchWhat::Train(args) => train_weights(args, ui),
        LabSearchWhat::Erase(args) => bench(&erasing(args), true, ui),
    }
}

/// The benchmark that runs before sentences are erased: what they are worth is measured against it.
fn erasing(args: &SearchEraseArgs) -> SearchBenchArgs {
    SearchBenchArgs {
        corpus: args.corpus.clone(),
        queries: args.queries.clone(),
        categories: None,
        qrels: args.qrels.clone(),
        negatives: None,
        retrievers: args.retrievers.clone(),
        run_out: None,
        against: None,
        abstention: None,
        seed: args.seed,
    }
}

/// Fits `best` to requests, and prints its weights.
fn train_weights(args: &SearchTrainArgs, ui: &Ui) -> Result<Status, Failure> {
    let documents = documents(&args.corpus, ui)?;
    let queries = queries(&args.queries, None, &documents, ui)?;
    let negatives = match &args.negatives {
        Some(path) => parsed(path, ui, read_negative)?,
        None => Vec::new(),
    };
    let evaluation = match &args.adapter {
        Some(path) => Some(adapter(path, &args.retriever, documents.clone(), &queries, ui)?),
        None => None,
    };
    let abstention = match &args.off_topic {
        Some(path) => Some(fit_abstention(documents.clone(), &queries, &off_topic(path, ui)?)),
        None => None,
    };
    let trained = train(documents, &queries, &negatives);
    ui.document(&Trained { adapter: evaluation, abstention, ..trained })?;
    Ok(Status::Done)
}

/// Fits an adapter to the vectors of a retriever, and writes it to a file.
fn adapter(
    path: &Path,
    retriever: &str,
    documents: Vec<Document>,
    queries: &[Query],
    ui: &Ui,
) -> Result<AdapterEvaluation, Failure> {
    let spec = RetrieverSpec::parse(retriever)?;
    let (dense, documents, notes) = models::with(ui, |around| spec.open_dense(documents, around))?;
    let (adapter, evaluation) = adapt(&dense, &documents, queries)?;
    for note in &notes {
        ui.note(note);
    }
    let failed = |error| Failure::infrastructure(format!("cannot write {}: {error}", path.display()));
    adapter.save(path).map_err(failed)?;
    Ok(evaluation)
}

/// The source of rankings: a retriever, or a TREC run of another program.
enum Source {
    Own(RetrieverSpec),
    Read(String, Rankings),
    /// `best`, for each repository fitted to the other repositories only.
    HeldOut,
}

/// The name of [`Source::HeldOut`].
const HELD_OUT: &str = "best:held-out";

/// The pool of every skill: the one in which sentences are masked.
const ALL: &str = "all";

/// Requests that no skill serves.
fn off_topic(path: &Path, ui: &Ui) -> Result<Vec<OffTopic>, Failure> {
    let found = parsed(path, ui, read_off_topic)?;
    if found.is_empty() {
        return Err(Failure::bad_input(format!("{} contains no request", path.display())));
    }
    Ok(found)
}

/// Prints the shares of off-topic requests that are declined and of others that are answered.
fn print_abstention(args: &SearchBenchArgs, path: &Path, ui: &Ui) -> Result<Status, Failure> {
    let off_topic = off_topic(path, ui)?;
    let documents = documents(&args.corpus, ui)?;
    let queries = queries(&args.queries, args.qrels.as_deref(), &documents, ui)?;
    let found = abstention(documents, &queries, &off_topic);
    if ui.json() {
        ui.document(&found)?;
    } else {
        let text = render_abstention(&found);
        ui.out(&text.lines().map(|line| clean(line) + "\n").collect::<String>())?;
    }
    Ok(Status::Done)
}

fn bench(args: &SearchBenchArgs, erases: bool, ui: &Ui) -> Result<Status, Failure> {
    if let Some(path) = &args.abstention {
        return print_abstention(args, path, ui);
    }
    let sources = sources(args, ui)?;
    let documents = documents(&args.corpus, ui)?;
    let mut queries = queries(&args.queries, args.qrels.as_deref(), &documents, ui)?;
    if let Some(path) = &args.categories {
        let categories = read_categories(path)?;
        for query in &mut queries {
            query.categories = query.gold.iter().filter_map(|id| categories.get(id)).cloned().collect();
        }
    }
    let negatives = match &args.negatives {
        Some(path) => parsed(path, ui, read_negative)?,
        None => Vec::new(),
    };
    let owners: BTreeSet<&str> = {
        let gold: BTreeSet<&String> = queries.iter().flat_map(|query| &query.gold).collect();
        documents.iter().filter(|own| gold.contains(&own.id)).map(|own| own.repo.as_str()).collect()
    };
    let repositories: Vec<Document> =
        documents.iter().filter(|own| owners.contains(own.repo.as_str())).cloned().collect();
    let several = owners.iter().any(|repo| !repo.is_empty()) && repositories.len() < documents.len();
    let mut pools = vec![(ALL, documents)];
    if several {
        pools.push(("repositories", repositories));
    }
    let mut ran: Vec<(&'static str, usize, Vec<Negative>, Vec<Run>)> = Vec::new();
    let mut erased = Vec::new();
    for (name, documents) in pools {
        let ids: BTreeSet<&str> = documents.iter().map(|own| own.id.as_str()).collect();
        let mut negatives: Vec<Negative> = negatives.clone();
        negatives.retain(|negative| negative.not.iter().any(|id| ids.contains(id.as_str())));
        let set = QuerySet { ui, name, documents: &documents, ids, queries: &queries, negatives: &negatives };
        let erase = (erases && name == ALL).then_some(args.seed);
        let answers = sources.iter().map(|source| set.rank(source, erase));
        let answers: Vec<(Run, Option<Erasure>)> = answers.collect::<Result<_, Failure>>()?;
        let (runs, own): (Vec<Run>, Vec<Option<Erasure>>) = answers.into_iter().unzip();
        erased.extend(own.into_iter().flatten());
        ran.push((name, documents.len(), negatives, runs));
    }
    if let Some(folder) = &args.run_out {
        write_runs(folder, &queries, ran.first().map_or(&[], |(_, _, _, runs)| runs))?;
    }
    let pools: Vec<Pool<'_>> = ran
        .iter()
        .map(|(name, documents, negatives, runs)| Pool {
            name,
            documents: *documents,
            queries: &queries,
            negatives,
            runs,
        })
        .collect();
    let mut found = findings(&pools, args.seed);
    found.erasure = erased;
    if let Some(path) = &args.against {
        let name = path.display().to_string();
        let same = agreement(&found, &name, &input::text(path)?);
        found.agreement = Some(same.map_err(|error| Failure::bad_input(format!("{name}: {error}")))?);
    }
    if ui.json() {
        ui.document(&found)?;
    } else {
        ui.out(&render(&found))?;
    }
    Ok(Status::Done)
}

fn sources(args: &SearchBenchArgs, ui: &Ui) -> Result<Vec<Source>, Failure> {
    let names = if args.retrievers.is_empty() { models::installed(ui) } else { args.retrievers.clone() };
    let source = |name: &String| match name.strip_prefix("run:") {
        Some(file) => {
            let text = input::text(Path::new(file))?;
            let run = read_run(&text)
                .map_err(|(line, message)| Failure::bad_input(format!("{file}:{line}: {message}")))?;
            let stem = Path::new(file).file_stem().map_or(file.into(), |stem| stem.to_string_lossy());
            Ok(Source::Read(stem.into_owned(), run))
        }
        None if name == HELD_OUT => Ok(Source::HeldOut),
        None => {
            let spec = RetrieverSpec::parse(name)?;
            // CheckedQueries before the other retrievers run for minutes.
            models::with(ui, |around| spec.missing_model(around)).map_or(Ok(()), Err)?;
            Ok(Source::Own(spec))
        }
    };
    names.iter().map(source).collect()
}

fn queries(
    file: &Path,
    qrels: Option<&Path>,
    documents: &[Document],
    ui: &Ui,
) -> Result<Vec<Query>, Failure> {
    let mut queries: Vec<Query> = parsed(file, ui, read_query)?;
    if let Some(path) = qrels {
        let judged = read_qrels(&input::text(path)?)
            .map_err(|(line, message)| Failure::bad_input(format!("{}:{line}: {message}", path.display())))?;
        for query in &mut queries {
            query.gold = judged.get(&query.id).cloned().unwrap_or_default();
        }
        let asked: BTreeSet<&String> = queries.iter().map(|query| &query.id).collect();
        let unknown = judged.keys().filter(|id| !asked.contains(id)).count();
        if unknown > 0 {
            ui.note(&format!(
                "{}: {unknown} queries with judgements are not in {}",
                path.display(),
                file.display()
            ));
        }
    }
    let ids = documents.iter().map(|own| own.id.as_str()).collect();
    let checked = check(queries, &ids);
    for note in checked.notes.iter().take(20) {
        ui.note(&format!("{}: {note}", file.display()));
    }
    if checked.notes.len() > 20 {
        ui.note(&format!("{}: and {} more of this kind", file.display(), checked.notes.len() - 20));
    }
    if checked.queries.is_empty() {
        return Err(Failure::bad_input(format!(
            "{} contains no request whose skills are in the corpus",
            file.display()
        )));
    }
    let mut queries = checked.queries;
    annotate(&mut queries, documents);
    Ok(queries)
}

/// Queries and the documents that they are run over.
struct QuerySet<'a> {
    ui: &'a Ui,
    name: &'static str,
    documents: &'a [Document],
    ids: BTreeSet<&'a str>,
    queries: &'a [Query],
    negatives: &'a [Negative],
}

impl QuerySet<'_> {
    /// The rankings of a source; with a seed also those of queries with a sentence masked, which a
    /// TREC run cannot provide.
    fn rank(&self, source: &Source, erase_with: Option<u64>) -> Result<(Run, Option<Erasure>), Failure> {
        let (queries, negatives) = (self.queries, self.negatives);
        Ok(match source {
            Source::Own(spec) => {
                let documents = self.documents.to_vec();
                let (clock, cpu) = (Instant::now(), machine::cpu_seconds());
                let opened = models::with(self.ui, |around| spec.open(documents, around))?;
                let (taken, cpu) = (clock.elapsed().as_secs_f64(), machine::cpu_seconds() - cpu);
                for note in &opened.notes {
                    self.ui.note(note);
                }
                let mut run = ask(&*opened.retriever, &opened.index, queries, negatives, taken)?;
                let rss_bytes = machine::resident();
                let context = context(&run, self.documents, assay_skill::tokens);
                if let Some(cost) = &mut run.cost {
                    (cost.rss_bytes, cost.context) = (rss_bytes, Some(context));
                    cost.index_cpu_seconds = Some(cpu);
                }
                let erased = erase_with
                    .map(|seed| erase(self.name, &*opened.retriever, &opened.index, queries, seed))
                    .transpose()?;
                (run, erased)
            }
            Source::HeldOut => {
                let run = train(self.documents.to_vec(), queries, negatives).held_out;
                (Run { retriever: HELD_OUT.to_owned(), ..run }, None)
            }
            Source::Read(name, rankings) => (self.read(name, rankings), None),
        })
    }

    fn read(&self, name: &str, rankings: &Rankings) -> Run {
        let of = |query: &Query| {
            let own = rankings.get(&query.id).cloned().unwrap_or_default();
            own.into_iter().filter(|(id, _)| self.ids.contains(id.as_str())).collect()
        };
        let rankings: Vec<Vec<(String, f32)>> = self.queries.iter().map(of).collect();
        // The highest possible score is unknown: the best score of each query is used.
        let ceilings = rankings.iter().map(|own| own.first().map_or(0.0, |(_, score)| *score)).collect();
        Run {
            retriever: name.to_owned(),
            options: serde_json::Value::Null,
            rankings,
            ceilings,
            negatives: self.negatives.iter().map(|_| (Vec::new(), 0.0)).collect(),
            cost: None,
        }
    }
}

fn write_runs(folder: &Path, queries: &[Query], runs: &[Run]) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::infrastructure(format!("cannot write {}: {error}", folder.display()))
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    assay_fs::replace_file(&folder.join("qrels.txt"), write_qrels(queries).as_bytes()).map_err(failed)?;
    for run in runs {
        let name: String = run
            .retriever
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "-_.=,".contains(c) { c } else { '_' })
            .collect();
        assay_fs::replace_file(&folder.join(format!("{name}.trec")), write_run(queries, run).as_bytes())
            .map_err(failed)?;
    }
    Ok(())
}
