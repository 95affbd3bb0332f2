//! The parts of a page: sections with tables, texts and a form.

use assay_report::clean;

use crate::draft::Draft;
use crate::text::{Passage, line};
use crate::urls;

/// Characters of a text in a table.
const IN_TABLE: usize = 300;

/// A part of a page.
#[derive(Default)]
pub(super) struct Section {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) notes: Vec<String>,
    pub(super) heads: Vec<&'static str>,
    pub(super) rows: Vec<Vec<Cell>>,
    pub(super) passages: Vec<(String, Passage)>,
    pub(super) form: Option<Form>,
}

impl Section {
    pub(super) fn new(id: &str, title: impl Into<String>) -> Self {
        Self { id: id.to_owned(), title: title.into(), ..Self::default() }
    }
}

/// A cell of a table.
#[derive(Clone)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) href: Option<String>,
}

impl Cell {
    pub(super) fn new(text: &str) -> Self {
        Self { text: line(text, IN_TABLE), href: None }
    }

    pub(super) fn link(text: &str, href: String) -> Self {
        Self { text: line(text, IN_TABLE), href: Some(href) }
    }
}

/// A form for a decision.
pub(super) struct Form {
    pub(super) action: String,
    pub(super) comment: String,
}

pub(super) fn form(draft: &Draft, kind: &str, name: &str) -> Form {
    Form {
        action: format!("/draft/{kind}/{}/", urls::segment(name)),
        comment: clean(&draft.decision(kind, name).1),
    }
}
