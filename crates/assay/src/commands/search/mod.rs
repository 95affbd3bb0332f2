//! `assay search`: the skills that fit a request.

pub mod library;
pub mod models;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use assay_report::{clean, counted};
use assay_retrieval::Searcher;
use assay_view::{
    SearchHit, SearchResponse, SearchService, Serving, Stop, clip_line, serve_search_http, serve_search_mcp,
};

use crate::args::search::{SearchArgs, SearchIndexArgs, SearchServeArgs, SearchSource, SearchWhat};
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// The default address.
const DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8321);

pub(crate) fn run(args: &SearchArgs, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        Some(SearchWhat::Index(args)) => index(args, ui),
        Some(SearchWhat::Serve(args)) => serve(args, ui),
        None => answer(args, ui),
    }
}

fn answer(args: &SearchArgs, ui: &Ui) -> Result<Status, Failure> {
    let request = args.request.as_deref().map_or("", str::trim);
    if request.is_empty() {
        let message = if args.request.is_some() { "the request is empty" } else { "no request given" };
        return Err(Failure::bad_input(message)
            .hint("describe the task: `assay search \"make a pivot table\" --library DIR`"));
    }
    let service = open(&args.source, ui)?;
    let response = service.answer(request, usize::from(args.limit))?;
    if ui.json() {
        ui.document(&response)?;
    } else {
        ui.out(&render(&response, args.why))?;
    }
    Ok(Status::Done)
}

fn open(source: &SearchSource, ui: &Ui) -> Result<SearchService, Failure> {
    let searcher = models::by(library::searcher(source, ui)?, source.retriever.as_deref(), ui)?;
    Ok(SearchService::new(searcher, source.index.as_deref()))
}

fn index(args: &SearchIndexArgs, ui: &Ui) -> Result<Status, Failure> {
    let clock = Instant::now();
    let read = library::read(&args.library, args.corpus.as_deref(), ui)?;
    let skills = read.documents.len();
    let built = Searcher::build(read.documents, &read.stamps)?;
    built.index().save(&args.out)?;
    let built = models::by(built, args.retriever.as_deref(), ui)?;
    let (seconds, bytes) = (clock.elapsed().as_secs_f64(), built.index().bytes());
    if ui.json() {
        ui.document(&serde_json::json!({
            "schema": "assay.search-index/1", "path": args.out, "skills": skills,
            "digest": built.index().digest(), "bytes": bytes, "seconds": seconds,
        }))?;
    } else {
        let (path, bytes) = (args.out.display().to_string(), bytes as f64 / 1e6);
        ui.out(&format!(
            "{}: {}, {bytes:.1} MB, {seconds:.1} s\n",
            clean(&path),
            counted(skills, "skill", "skills")
        ))?;
    }
    Ok(Status::Done)
}

/// Binds the address, which must be a loopback address: the server has no authentication.
fn bind(address: SocketAddr) -> Result<Serving, Failure> {
    if !address.ip().is_loopback() {
        return Err(Failure::bad_input(format!("{address} is reachable from other machines"))
            .hint("use a loopback address, such as 127.0.0.1:8321"));
    }
    Ok(Serving::bind(address)?)
}

fn serve(args: &SearchServeArgs, ui: &Ui) -> Result<Status, Failure> {
    let service = Arc::new(open(&args.source, ui)?);
    let address = match args.http {
        None if args.mcp => None,
        asked => Some(asked.unwrap_or(DEFAULT)),
    };
    let serving = address.map(bind).transpose()?;
    if let Some(serving) = &serving {
        ui.note(&format!("listening on http://{}", serving.address()));
    }
    let stop = Stop::default();
    if !args.mcp {
        if let Some(serving) = serving {
            serve_search_http(serving, service, &stop)?;
        }
        return Ok(Status::Done);
    }
    let (also, ended) = (Arc::clone(&service), stop.clone());
    let http = serving.map(|serving| thread::spawn(move || serve_search_http(serving, also, &ended)));
    let served = serve_search_mcp(&service, std::io::stdin().lock(), std::io::stdout().lock());
    stop.stop();
    if let Some(http) = http {
        http.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    }
    served.map_err(|error| {
        Failure::infrastructure(format!("cannot read standard input or write standard output: {error}"))
    })?;
    Ok(Status::Done)
}

/// Most characters of a description that are shown.
const DESCRIPTION: usize = 160;

fn render(response: &SearchResponse, why: bool) -> String {
    let mut text = String::new();
    if !response.fits {
        let reason = match (response.words, response.known_words) {
            (0, _) => "the request has only stop words",
            (_, 0) => "no skill contains a word of the request",
            _ if response.hits.is_empty() => "no hits",
            _ => "confidence below the threshold; closest skills:",
        };
        text.push_str(&format!("No skill fits: {reason}\n"));
    }
    for hit in &response.hits {
        let SearchHit { rank, id, name, description, confidence, fits, why: reason, .. } = hit;
        let unsure = if *fits || !response.fits { "" } else { "  (low confidence)" };
        text.push_str(&format!("{rank:>3}  {}  {confidence:.2}  {}{unsure}\n", clean(name), clean(id)));
        text.push_str(&format!("     {}\n", clip_line(description, DESCRIPTION)));
        if why {
            text.push_str(&format!("     {}: “{}”\n", reason.field, clean(&reason.sentence)));
            text.push_str(&format!("     words: {}\n", clean(&reason.terms.join(", "))));
        }
    }
    text
}
