//! The pages, and which address shows which.

pub(crate) mod behaviour;
mod compare;
mod comparison;
mod draft;
mod files;
mod layout;
mod pair;
mod review;
mod run;
mod runs;
mod search;
mod skill;
mod trial;
mod trials;

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use assay_store::TrialId;

use self::layout::Layout;
use self::skill::SkillReply;
use crate::data::RunData;
use crate::error::PageError;
use crate::reply::{Content, Reply};
use crate::site::{RunState, Site};
use crate::urls;

/// How long a page waits for a run that is being loaded.
const WAIT: Duration = Duration::from_millis(1_200);

/// The content of an address. Errors are pages too.
pub(crate) fn reply(site: &Arc<Site>, path: &str, query: &str) -> Reply {
    route(site, path, query).unwrap_or_else(|error| error_page(site, &error))
}

/// Writes what a form says, and returns where to go then.
pub(crate) fn reply_to_form(site: &Arc<Site>, path: &str, form: &str) -> Reply {
    let segments: Option<Vec<String>> =
        path.split('/').filter(|segment| !segment.is_empty()).map(urls::decode).collect();
    let segments = segments.unwrap_or_default();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let written = match segments.as_slice() {
        ["draft", kind @ ("ideas" | "tasks"), name] => draft::submit(site, kind, name, form),
        ["review", sheet, annotator, number] => review::submit(site, sheet, annotator, number, form),
        _ => Err(PageError::NotFound(assay_report::clean(path))),
    };
    written.unwrap_or_else(|error| error_page(site, &error))
}

fn error_page(site: &Site, error: &PageError) -> Reply {
    let status = error.status();
    let heading = match status {
        404 => "Not found",
        400 => "This form cannot be used",
        _ => "This page cannot be shown",
    };
    let message = assay_report::clean(&assay_diagnostic::chain(error));
    let page = Layout::new(site, heading);
    let html = ErrorPage { page, heading, message }.render();
    Reply { status, content: Content::Html(site.redact(&html.unwrap_or_default())) }
}

fn route(site: &Arc<Site>, path: &str, query: &str) -> Result<Reply, PageError> {
    let missing = || PageError::NotFound(assay_report::clean(path));
    let segments: Vec<String> = path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .map(urls::decode)
        .collect::<Option<_>>()
        .ok_or_else(missing)?;
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    if let ["static", name] = segments.as_slice() {
        return files::asset(name).map(Reply::ok).ok_or_else(missing);
    }
    let is_file =
        matches!(segments.as_slice(), ["runs", _, "trials", _, "attempts", _, "files" | "images", ..]);
    if !path.ends_with('/') && !is_file {
        let query = if query.is_empty() { String::new() } else { format!("?{query}") };
        // An address of its own: the path came from outside.
        let target =
            segments.iter().fold(String::new(), |all, part| format!("{all}/{}", urls::segment(part)));
        return Ok(Reply { status: 308, content: Content::Redirect(format!("{target}/{query}")) });
    }
    let html = match segments.as_slice() {
        [] => runs::page(site)?,
        ["compare"] => {
            let (Some(first), Some(second)) = (urls::field(query, "a"), urls::field(query, "b")) else {
                return Err(PageError::NotFound("choose two runs on the page of all runs".to_owned()));
            };
            return Ok(Reply { status: 303, content: Content::Redirect(urls::compare(&first, &second)) });
        }
        ["compare", first, second] => compare::page(site, first, second)?,
        ["runs", name, rest @ ..] => {
            let data = match site.run(name, if site.is_export { Duration::MAX / 4 } else { WAIT })? {
                RunState::Ready(data) => data,
                RunState::Loading(done) => {
                    let page = Layout::new(site, name);
                    return loading(page, "run", name, &format!("Loading records: {done} read."));
                }
            };
            return of_run(site, &data, rest, query, missing);
        }
        ["draft", rest @ ..] => draft::route(site, rest, missing)?,
        ["review", rest @ ..] if !site.is_export => return review::route(site, rest, query, missing),
        _ => return Err(missing()),
    };
    Ok(Reply::ok(Content::Html(site.redact(&html))))
}

fn of_run(
    site: &Arc<Site>,
    data: &Arc<RunData>,
    rest: &[&str],
    query: &str,
    missing: impl Fn() -> PageError,
) -> Result<Reply, PageError> {
    let number = |text: &str| text.parse::<usize>().map_err(|_| missing());
    let trial = |text: &str| -> Result<TrialId, PageError> {
        let id = text.parse::<TrialId>().map_err(|_| missing())?;
        if data.row(&id).is_some() { Ok(id) } else { Err(missing()) }
    };
    let run = &data.plan.run;
    let see = |target: String| Ok(Reply { status: 303, content: Content::Redirect(target) });
    match rest {
        // By the beginnings of two ids, as a person types them.
        ["pairs"] => {
            let id = |name: &str| data.trial_by_prefix(&urls::field(query, name).unwrap_or_default());
            return see(urls::pair(run, &id("a")?, &id("b")?));
        }
        ["pairs", first, second]
            if first.parse::<TrialId>().is_err() || second.parse::<TrialId>().is_err() =>
        {
            return see(urls::pair(run, &data.trial_by_prefix(first)?, &data.trial_by_prefix(second)?));
        }
        ["trials", prefix] if prefix.parse::<TrialId>().is_err() => {
            return see(urls::trial(run, &data.trial_by_prefix(prefix)?));
        }
        _ => {}
    }
    let html = match rest {
        [] => run::page(site, data)?,
        ["search"] => search::page(site, data, &urls::field(query, "q").unwrap_or_default())?,
        ["cells", cell] => trials::of_cell(site, data, number(cell)?)?,
        ["comparisons", at] => comparison::page(site, data, number(at)?)?,
        ["skills", digest] => {
            let wait = if site.is_export { Duration::MAX / 4 } else { WAIT };
            match skill::page(site, data, digest, wait)? {
                SkillReply::Page(html) => html,
                SkillReply::Waiting(name, progress) => {
                    let status = format!("Auditing the trials of this run. {progress}.");
                    return loading(Layout::in_run(site, run, &name), "skill", &name, &status);
                }
            }
        }
        ["trials"] => trials::of_run(site, data, query, 1)?,
        ["trials", "page", page] => trials::of_run(site, data, query, number(page)?)?,
        ["trials", id] => trial::page(site, data, &trial(id)?, None, 1)?,
        ["trials", id, "page", page] => trial::page(site, data, &trial(id)?, None, number(page)?)?,
        ["trials", id, "attempts", attempt] => {
            trial::page(site, data, &trial(id)?, Some(files::attempt(attempt).ok_or_else(&missing)?), 1)?
        }
        ["trials", id, "attempts", attempt, "page", page] => {
            let attempt = files::attempt(attempt).ok_or_else(&missing)?;
            trial::page(site, data, &trial(id)?, Some(attempt), number(page)?)?
        }
        ["trials", id, "attempts", attempt, kind @ ("files" | "images"), at, ..] => {
            let attempt = files::attempt(attempt).ok_or_else(&missing)?;
            let content = files::file(site, &trial(id)?, attempt, number(at)?, *kind == "images");
            return content.map(Reply::ok).ok_or_else(missing);
        }
        ["pairs", first, second] => {
            pair::page(site, data, &trial(first)?, &trial(second)?, pair::Kind::Whole)?
        }
        ["pairs", first, second, "differences"] => {
            pair::page(site, data, &trial(first)?, &trial(second)?, pair::Kind::Differences)?
        }
        ["pairs", first, second, "blind"] => {
            pair::page(site, data, &trial(first)?, &trial(second)?, pair::Kind::Blind)?
        }
        _ => return Err(missing()),
    };
    Ok(Reply::ok(Content::Html(site.redact(&html))))
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    page: Layout,
    heading: &'a str,
    message: String,
}

#[derive(Template)]
#[template(path = "loading.html")]
struct LoadingPage<'a> {
    page: Layout,
    kind: &'a str,
    name: &'a str,
    status: &'a str,
}

fn loading(page: Layout, kind: &str, name: &str, status: &str) -> Result<Reply, PageError> {
    let page = Layout { refresh: Some(1), ..page };
    let html = LoadingPage { page, kind, name, status }.render()?;
    Ok(Reply::ok(Content::Html(html)))
}
