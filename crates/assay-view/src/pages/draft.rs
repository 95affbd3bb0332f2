//! The folder of a draft: a page for each stage, and the decisions of the person who reviews it.
//!
//! The files are read as they are now, and as JSON: their types belong to the commands that write them. What is missing or has
//! another form is left out.

mod directives;
mod items;
mod section;
mod stages;

use std::sync::{Arc, PoisonError};

use askama::Template;
use assay_report::clean;
use serde_json::json;

use self::section::Section;
use super::layout::Layout;
use crate::draft::APPROVALS;
use crate::error::PageError;
use crate::reply::{Content, Reply};
use crate::site::Site;
use crate::urls;

/// Longest comment, in characters.
const COMMENT: usize = 2_000;

/// The stages with a page, in order.
const STAGES: [(&str, &str); 11] = [
    ("", "Overview"),
    ("needs", "Needs"),
    ("directives", "Directives"),
    ("ideas", "Ideas"),
    ("tasks", "Tasks"),
    ("validation", "Validation"),
    ("solvers", "Solvers"),
    ("headroom", "Headroom"),
    ("experiment", "Experiment"),
    ("requests", "Requests"),
    ("replies", "Replies"),
];

#[derive(Template)]
#[template(path = "draft.html")]
struct DraftPage {
    page: Layout,
    heading: String,
    facts: String,
    stages: Vec<(&'static str, Option<String>)>,
    sections: Vec<Section>,
}

pub(super) fn route(
    site: &Site,
    rest: &[&str],
    missing: impl Fn() -> PageError,
) -> Result<String, PageError> {
    let draft = site.draft().ok_or_else(&missing)?;
    let (stage, heading, sections) = match rest {
        [] => ("", stages::title(draft), stages::overview(draft)),
        ["needs"] => ("needs", "Needs".to_owned(), stages::needs(draft)),
        ["directives"] => ("directives", "Directives".to_owned(), directives::list_directives(draft)),
        ["ideas"] => ("ideas", "Ideas".to_owned(), stages::ideas(draft)),
        ["tasks"] => ("tasks", "Tasks".to_owned(), stages::tasks(draft)),
        ["tasks", name] => ("tasks", clean(name), stages::task(draft, name).ok_or_else(missing)?),
        ["validation"] => ("validation", "Validation".to_owned(), stages::validation(draft)),
        ["solvers"] => ("solvers", "Solvers".to_owned(), stages::solvers(draft)),
        ["headroom"] => ("headroom", "Headroom".to_owned(), stages::headroom(draft)),
        ["experiment"] => ("experiment", "Experiment".to_owned(), stages::experiment(draft)),
        ["requests"] => ("requests", "Requests".to_owned(), stages::requests(draft)),
        ["replies"] => ("replies", "Replies".to_owned(), stages::replies(draft)),
        ["replies", name] => ("replies", "Reply".to_owned(), stages::reply(draft, name).ok_or_else(missing)?),
        _ => return Err(missing()),
    };
    let address = |path: &str| if path.is_empty() { "/draft/".to_owned() } else { format!("/draft/{path}/") };
    let is_page = rest.len() < 2;
    let shown =
        STAGES.iter().map(|(path, name)| (*name, (*path != stage || !is_page).then(|| address(path))));
    let layout = Layout { referrer: "same-origin", ..Layout::new(site, &heading) };
    let mut page = if stage.is_empty() { layout } else { layout.below("Draft", address("")) };
    if !is_page {
        let name = STAGES.iter().find(|(path, _)| *path == stage).map_or("", |(_, name)| name);
        page = page.below(name, address(stage));
    }
    Ok(DraftPage { page, heading, facts: stages::facts(draft), stages: shown.collect(), sections }
        .render()?)
}

/// Takes a decision on an idea or a task.
pub(super) fn submit(site: &Arc<Site>, kind: &str, name: &str, form: &str) -> Result<Reply, PageError> {
    let draft = site.draft().ok_or_else(|| PageError::NotFound("no draft is shown".to_owned()))?;
    let known = match kind {
        "ideas" => stages::idea_names(draft),
        _ => draft.names("tasks"),
    };
    if !known.iter().any(|known| known == name) {
        return Err(PageError::NotFound(format!("the draft has no {}", clean(name))));
    }
    let decision = urls::field(form, "decision").unwrap_or_default();
    if !["approved", "rejected", "open"].contains(&decision.as_str()) {
        return Err(PageError::BadForm("`decision` must be approved, rejected or open".to_owned()));
    }
    let comment = urls::field(form, "comment").unwrap_or_default().replace("\r\n", "\n");
    if comment.chars().count() > COMMENT {
        return Err(PageError::BadForm(format!("the comment is longer than {COMMENT} characters")));
    }
    let _guard = draft.writing.lock().unwrap_or_else(PoisonError::into_inner);
    let mut approvals = draft.json(APPROVALS);
    if !approvals.is_object() {
        approvals = json!({ "schema": "assay.draft-approvals/1", "ideas": {}, "tasks": {} });
    }
    if decision == "open" {
        if let Some(decided) = approvals[kind].as_object_mut() {
            decided.remove(name);
        }
    } else {
        approvals[kind][name] = json!({ "decision": decision, "comment": comment.trim() });
    }
    assay_store::write_json(&draft.root.join(APPROVALS), &approvals)?;
    let target = if kind == "ideas" {
        "/draft/ideas/".to_owned()
    } else {
        format!("/draft/tasks/{}/", urls::segment(name))
    };
    Ok(Reply { status: 303, content: Content::Redirect(target) })
}
