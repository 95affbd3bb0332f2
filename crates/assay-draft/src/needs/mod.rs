//! What a skill requires of an environment, in 16 categories, with the lines that show it.
//!
//! Finders read one kind of text each: commands, code, front matter, and prose. Each reports clues with points;
//! a category is needed if its clues add up to [`THRESHOLD`]. The tables are general knowledge about programs,
//! languages, services and English phrases.

mod category;
mod clues;
mod code;
mod commands;
mod front_matter;
mod load;
mod need;
mod page;
mod phrases;
mod programs;
mod prose;
mod services;
mod variables;
mod verdict;

use assay_skill::Document;

pub use self::category::{Category, UnknownCategory};
use self::clues::Clues;
pub use self::clues::{LINE_CAP, THRESHOLD};
pub use self::load::{Loaded, Skill, load};
pub use self::need::{Need, Needs, Script, Signal};
use self::page::Page;
pub use self::verdict::{Assessment, Double, Unmet, Verdict, assess};

/// The needs of a skill, from its `SKILL.md` and its scripts.
pub fn find(document: &Document, scripts: &[Script]) -> Needs {
    let page = Page::read(document);
    let mut clues = Clues::default();
    front_matter::find(document, &mut clues);
    commands::find(&page, &mut clues);
    code::find(&page, &mut clues);
    prose::find(&page, &mut clues);
    services::find(&page, &mut clues);
    for script in scripts {
        commands::find_in_script(script, &mut clues);
        code::find_in_script(script, &mut clues);
    }
    clues.into_needs(document, scripts)
}

/// The needs that the text of a `SKILL.md` shows.
pub fn find_in_text(text: &str) -> Needs {
    let (document, _) = Document::parse(text.as_bytes(), std::path::Path::new("SKILL.md"));
    find(&document, &[])
}
