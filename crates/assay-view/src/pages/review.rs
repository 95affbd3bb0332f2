//! Items that people label, and the forms that take their marks.
//!
//! People are blind: a page shows the criterion, the context and the material of an item, and never its id or
//! another column. Annotators do not see the marks of others; the pages for final labels show all of them.

use std::sync::Arc;

use askama::Template;
use assay_report::{clean, counted};
use assay_store::{ADJUDICATED, Mark, Marks, Sheet, SheetItem, decide, is_annotator_name};

use super::layout::Layout;
use crate::error::PageError;
use crate::reply::{Content, Reply};
use crate::site::Site;
use crate::text::{Passage, line};
use crate::urls;

/// The segment of addresses for final labels.
const ADJUDICATE: &str = "adjudicate";

/// Longest note, in characters.
const LONGEST_NOTE: usize = 4_000;

/// Characters of a criterion in a list.
const IN_LIST: usize = 160;

pub(super) fn route(
    site: &Arc<Site>,
    rest: &[&str],
    query: &str,
    missing: impl Fn() -> PageError,
) -> Result<Reply, PageError> {
    let html = match rest {
        [] => sheets_page(site)?,
        [sheet] => match urls::field(query, "annotator") {
            Some(name) => {
                let sheet = site.sheet(sheet)?;
                let name = name.trim();
                if !is_annotator_name(name) {
                    return Err(PageError::BadForm(format!(
                        "{name:?} is no name of an annotator: use letters, digits, `-`, `_` and `.`, and not `adjudicated`"
                    )));
                }
                return Ok(see(urls::annotator(sheet.name(), name)));
            }
            None => sheet_page(site, site.sheet(sheet)?.as_ref())?,
        },
        [sheet, annotator] => annotator_page(site, &Visit::new(site, sheet, annotator)?)?,
        [sheet, annotator, number] => {
            let visit = Visit::new(site, sheet, annotator)?;
            let number = visit.number(number).ok_or_else(missing)?;
            item_page(site, &visit, number)?
        }
        _ => return Err(missing()),
    };
    Ok(Reply::ok(Content::Html(site.redact(&html))))
}

/// Takes a mark, or undoes the last one; then shows the next item without a mark.
pub(super) fn submit(
    site: &Arc<Site>,
    sheet: &str,
    annotator: &str,
    number: &str,
    form: &str,
) -> Result<Reply, PageError> {
    let mut visit = Visit::new(site, sheet, annotator)?;
    let missing = || PageError::NotFound(format!("the sheet has no item {}", clean(number)));
    let number = visit.number(number).ok_or_else(missing)?;
    let label = match urls::field(form, "mark").as_deref() {
        Some("1") => Some(true),
        Some("0") => Some(false),
        Some("?") => None,
        Some("u") => {
            let undone = site.store.undo_mark(sheet, visit.author())?;
            let at = undone.and_then(|item| visit.sheet.shown().position(|shown| shown.id() == item));
            return Ok(see(visit.address(at.map_or(number, |at| at + 1))));
        }
        _ => return Err(PageError::BadForm("`mark` must be 1, 0, ? or u".to_owned())),
    };
    let note = urls::field(form, "note").unwrap_or_default().replace("\r\n", "\n");
    if note.chars().count() > LONGEST_NOTE {
        return Err(PageError::BadForm(format!("the note is longer than {LONGEST_NOTE} characters")));
    }
    let item = visit.item(number).ok_or_else(missing)?.id().to_owned();
    let mark = Mark::now(&item, visit.author(), label, note.trim());
    site.store.add_marks(sheet, std::slice::from_ref(&mark))?;
    visit.marks.add(mark);
    let next = visit.next_unmarked(number);
    Ok(see(next.map_or_else(|| urls::annotator(sheet, annotator), |next| visit.address(next))))
}

fn see(target: String) -> Reply {
    Reply { status: 303, content: Content::Redirect(target) }
}

/// A sheet as one annotator works on it, or the person who sets final labels.
struct Visit {
    sheet: Arc<Sheet>,
    marks: Marks,
    /// The annotator's name, or [`ADJUDICATE`].
    name: String,
}

impl Visit {
    fn new(site: &Site, sheet: &str, name: &str) -> Result<Self, PageError> {
        if name != ADJUDICATE && !is_annotator_name(name) {
            return Err(PageError::NotFound(format!("{} is no name of an annotator", clean(name))));
        }
        let sheet = site.sheet(sheet)?;
        let marks = site.store.marks(sheet.name())?;
        Ok(Self { sheet, marks, name: name.to_owned() })
    }

    fn is_adjudication(&self) -> bool {
        self.name == ADJUDICATE
    }

    /// The annotator as the log names them.
    fn author(&self) -> &str {
        if self.is_adjudication() { ADJUDICATED } else { &self.name }
    }

    /// A place from 1, of those that the sheet has.
    fn number(&self, text: &str) -> Option<usize> {
        text.parse().ok().filter(|number| (1..=self.sheet.items().len()).contains(number))
    }

    fn item(&self, number: usize) -> Option<&SheetItem> {
        self.sheet.shown().nth(number.checked_sub(1)?)
    }

    fn address(&self, number: usize) -> String {
        urls::sheet_item(self.sheet.name(), &self.name, number)
    }

    /// The places of the items to work on: all, or those that need a final label.
    fn places(&self) -> Vec<usize> {
        let all = (1..).zip(self.sheet.shown());
        if !self.is_adjudication() {
            return all.map(|(number, _)| number).collect();
        }
        let labels = decide(&self.sheet, &self.marks);
        let disputed: std::collections::BTreeSet<&str> = { self.sheet.items().iter().zip(&labels) }
            .filter(|(_, label)| label.needs_adjudication())
            .map(|(item, _)| item.id())
            .collect();
        all.filter(|(_, item)| disputed.contains(item.id())).map(|(number, _)| number).collect()
    }

    /// The places that this annotator has not marked.
    fn unmarked(&self) -> Vec<usize> {
        let own = self.marks.by_item(self.author());
        let is_unmarked =
            |number: &usize| self.item(*number).is_some_and(|item| !own.contains_key(item.id()));
        self.places().into_iter().filter(is_unmarked).collect()
    }

    /// The first unmarked place after this one, else the first of all.
    fn next_unmarked(&self, number: usize) -> Option<usize> {
        let unmarked = self.unmarked();
        unmarked.iter().find(|place| **place > number).or(unmarked.first()).copied()
    }
}

/// A label as pages name it.
fn word(label: Option<bool>) -> &'static str {
    match label {
        Some(true) => "met",
        Some(false) => "not met",
        None => "cannot tell",
    }
}

#[derive(Template)]
#[template(path = "review_sheets.html")]
struct SheetsPage {
    page: Layout,
    sheets: Vec<SheetLine>,
}

struct SheetLine {
    name: String,
    href: String,
    items: usize,
    progress: String,
}

/// All sheets. One that cannot be read does not hide the others.
fn sheets_page(site: &Site) -> Result<String, PageError> {
    let sheets = site.store.sheet_names().into_iter().map(|name| {
        let read = site.sheet(&name).and_then(|sheet| Ok((site.store.marks(&name)?, sheet)));
        let href = urls::sheet(&name);
        match read {
            Ok((marks, sheet)) => {
                let given = |name: &str| format!("{name}: {}", marks.by_item(name).len());
                let progress: Vec<String> = marks.annotators().into_iter().map(given).collect();
                SheetLine { name, href, items: sheet.items().len(), progress: progress.join(", ") }
            }
            Err(error) => {
                SheetLine { name, href, items: 0, progress: clean(&assay_diagnostic::chain(&error)) }
            }
        }
    });
    let sheets = sheets.collect();
    Ok(SheetsPage { page: Layout::new(site, "Review"), sheets }.render()?)
}

#[derive(Template)]
#[template(path = "review_sheet.html")]
struct SheetPage {
    page: Layout,
    name: String,
    items: String,
    /// Name, address and number of marked items of each annotator.
    annotators: Vec<(String, String, usize)>,
    adjudicate: String,
    disputed: usize,
    final_labels: usize,
}

fn sheet_page(site: &Site, sheet: &Sheet) -> Result<String, PageError> {
    let marks = site.store.marks(sheet.name())?;
    let labels = decide(sheet, &marks);
    let page = Layout::in_reviews(site, sheet.name());
    let annotators = marks.annotators().into_iter();
    let annotators = annotators
        .map(|name| (name.to_owned(), urls::annotator(sheet.name(), name), marks.by_item(name).len()))
        .collect();
    let html = SheetPage {
        page,
        name: sheet.name().to_owned(),
        items: counted(sheet.items().len(), "item", "items"),
        annotators,
        adjudicate: urls::annotator(sheet.name(), ADJUDICATE),
        disputed: labels.iter().filter(|label| label.needs_adjudication()).count(),
        final_labels: labels.iter().filter(|label| label.adjudicated.is_some()).count(),
    };
    Ok(html.render()?)
}

#[derive(Template)]
#[template(path = "review_annotator.html")]
struct AnnotatorPage {
    page: Layout,
    sheet: String,
    heading: &'static str,
    name: String,
    progress: String,
    next: Option<String>,
    is_adjudication: bool,
    /// Address, criterion and own mark of each item.
    items: Vec<(String, String, &'static str)>,
}

/// The items of an annotator with the marks so far.
fn annotator_page(site: &Site, visit: &Visit) -> Result<String, PageError> {
    let places = visit.places();
    let unmarked = visit.unmarked();
    let own = visit.marks.by_item(visit.author());
    let row = |number: &usize| {
        let item = visit.item(*number)?;
        let mark = own.get(item.id()).map_or("", |mark| word(mark.label));
        Some((visit.address(*number), format!("{number}. {}", line(item.criterion(), IN_LIST)), mark))
    };
    let sheet = visit.sheet.name();
    let (heading, title) = if visit.is_adjudication() {
        ("final labels", "Adjudicate")
    } else {
        ("labels by", visit.name.as_str())
    };
    let marked = places.len() - unmarked.len();
    let html = AnnotatorPage {
        page: Layout::in_reviews(site, title).below(sheet, urls::sheet(sheet)),
        sheet: sheet.to_owned(),
        heading,
        name: title.to_owned(),
        progress: format!("{marked} of {}", counted(places.len(), "item", "items")),
        next: unmarked.first().map(|number| visit.address(*number)),
        is_adjudication: visit.is_adjudication(),
        items: places.iter().filter_map(row).collect(),
    };
    Ok(html.render()?)
}

#[derive(Template)]
#[template(path = "review_item.html")]
struct ItemPage {
    page: Layout,
    sheet: String,
    number: usize,
    of: usize,
    unmarked: String,
    criterion: Passage,
    context: Vec<(String, Passage)>,
    materials: Vec<(String, Passage)>,
    action: String,
    previous: Option<String>,
    next: Option<String>,
    /// The own mark; empty if there is none.
    mark: &'static str,
    note: String,
    is_adjudication: bool,
    /// For final labels: name, label and note of each annotator.
    marks: Vec<(String, &'static str, String)>,
}

fn item_page(site: &Site, visit: &Visit, number: usize) -> Result<String, PageError> {
    let missing = || PageError::NotFound(format!("the sheet has no item {number}"));
    let item = visit.item(number).ok_or_else(missing)?;
    let own = visit.marks.by_item(visit.author()).get(item.id()).copied();
    let places = visit.places();
    let texts = |texts: Vec<(&str, &str)>| {
        texts.into_iter().map(|(name, text)| (clean(name), Passage::whole(text))).collect()
    };
    let sheet = visit.sheet.name();
    let above = if visit.is_adjudication() { "Adjudicate" } else { visit.name.as_str() };
    let address = |place: Option<&usize>| place.map(|place| visit.address(*place));
    let html = ItemPage {
        page: Layout::in_reviews(site, &format!("Item {number}"))
            .below(sheet, urls::sheet(sheet))
            .below(above, urls::annotator(sheet, &visit.name)),
        sheet: sheet.to_owned(),
        number,
        of: visit.sheet.items().len(),
        unmarked: counted(visit.unmarked().len(), "item", "items"),
        criterion: Passage::whole(item.criterion()),
        context: texts(item.context()),
        materials: texts(item.materials()),
        action: visit.address(number),
        previous: address(places.iter().rev().find(|place| **place < number)),
        next: address(places.iter().find(|place| **place > number)),
        mark: own.map_or("", |mark| word(mark.label)),
        note: own.map(|mark| Passage::whole(&mark.note).text).unwrap_or_default(),
        is_adjudication: visit.is_adjudication(),
        marks: if visit.is_adjudication() { marks_of(visit, item.id()) } else { Vec::new() },
    };
    Ok(html.render()?)
}

/// What everybody said of an item.
fn marks_of(visit: &Visit, item: &str) -> Vec<(String, &'static str, String)> {
    let row = |name: &str| {
        let mark = visit.marks.by_item(name).get(item).copied()?;
        Some((clean(name), word(mark.label), Passage::whole(&mark.note).text))
    };
    visit.marks.annotators().into_iter().filter_map(row).collect()
}
