//! What all pages have.

use crate::site::Site;
use crate::urls;

/// The parts of a page around its content.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    pub(crate) title: String,
    /// Names and addresses of the pages above, then the name of this one.
    pub(crate) trail: Vec<(String, Option<String>)>,
    /// The run whose trials the search field searches, as a segment of a path.
    pub(crate) searched: Option<String>,
    /// What was searched for.
    pub(crate) query: String,
    /// Where the page gets its updates.
    pub(crate) events: Option<String>,
    /// Seconds until the browser loads the page again.
    pub(crate) refresh: Option<u32>,
    /// The name of the style.
    pub(crate) style: &'static str,
    pub(crate) is_export: bool,
    /// What browsers tell other pages of the address of this one.
    pub(crate) referrer: &'static str,
}

impl Layout {
    /// A page below the page of all runs.
    pub(crate) fn new(site: &Site, title: &str) -> Self {
        Self {
            title: title.to_owned(),
            trail: vec![("Runs".to_owned(), Some("/".to_owned())), (title.to_owned(), None)],
            style: "view",
            is_export: site.is_export,
            referrer: "no-referrer",
            ..Self::default()
        }
    }

    /// A page below the page of all sheets, whose forms need their origin sent with them.
    pub(crate) fn in_reviews(site: &Site, title: &str) -> Self {
        Self { referrer: "same-origin", ..Self::new(site, title) }.below("Review", "/review/".to_owned())
    }

    /// A page below the page of a run.
    pub(crate) fn in_run(site: &Site, run: &str, title: &str) -> Self {
        Self {
            title: format!("{title} · {run}"),
            trail: vec![
                ("Runs".to_owned(), Some("/".to_owned())),
                (run.to_owned(), Some(urls::run(run))),
                (title.to_owned(), None),
            ],
            searched: Some(urls::segment(run)),
            ..Self::new(site, title)
        }
    }

    /// The same with the trail's last page below another one.
    pub(crate) fn below(mut self, name: &str, href: String) -> Self {
        let at = self.trail.len().saturating_sub(1);
        self.trail.insert(at, (name.to_owned(), Some(href)));
        self
    }

    /// The page above.
    pub(crate) fn up(&self) -> Option<&str> {
        self.trail.iter().rev().find_map(|(_, href)| href.as_deref())
    }
}
