//! The stage of a draft that lists the directives of its skills.

use assay_audit::directive::SkillPackage;
use assay_judge::Request;
use assay_skill::Package;

use super::reply::read_directives;
use super::request::request_directives;
use super::rewrite::replace_questions;
use super::{DraftDirectives, find_directives};
use crate::author::DraftAuthor;
use crate::error::DraftError;
use crate::event::{DraftEvent, DraftEvents};
use crate::folder::DraftFolder;
use crate::prompts::DIRECTIVES;

/// The directives of a skill, as rules find them and a model reads them.
///
/// # Errors
/// The model does not answer, or nothing of its reply can be used.
pub(super) fn ask_directives(
    skill: &str,
    package: &SkillPackage,
    author: &DraftAuthor,
) -> Result<DraftDirectives, DraftError> {
    let found = find_directives(skill, package);
    let request = request_directives(package, &found);
    let read =
        |reply: &str| read_directives(reply, skill, package, &found).map_err(|error| error.to_string());
    let mut list = author
        .answer_request(DIRECTIVES, &request, &read)?
        .map_err(|fault| DraftError::Reply { what: "directives", fault })?;
    list.model = Some(author.name().to_owned());
    replace_questions(&mut list.directives, author)?;
    Ok(list)
}

/// The directives in the folder, or those that the model reads in its skills.
pub(crate) fn list_directives(
    folder: &DraftFolder,
    packages: &[Package],
    author: &DraftAuthor,
    events: &dyn DraftEvents,
) -> Result<DraftDirectives, DraftError> {
    if let Some(list) = DraftDirectives::read_from(folder)? {
        return Ok(list);
    }
    let mut all: Option<DraftDirectives> = None;
    for package in packages {
        let list = ask_directives(&package.directory, &read_package(package)?, author)?;
        all = Some(match all {
            None => list,
            Some(mut before) => {
                before.files.extend(list.files);
                before.directives.extend(list.directives);
                before.dismissed.extend(list.dismissed);
                before.rejected.extend(list.rejected);
                before
            }
        });
    }
    let mut list = all.unwrap_or_else(|| DraftDirectives::new(Vec::new(), Vec::new()));
    list.number_directives();
    list.write_to(folder)?;
    events.handle_event(&DraftEvent::Directives(list.directives.len()));
    Ok(list)
}

/// The requests of the stage that has not been executed.
pub(crate) fn requests_of(packages: &[Package]) -> Result<Vec<Request>, DraftError> {
    let request = |package: &Package| {
        let text = read_package(package)?;
        Ok(request_directives(&text, &find_directives(&package.directory, &text)))
    };
    packages.iter().map(request).collect()
}

fn read_package(package: &Package) -> Result<SkillPackage, DraftError> {
    SkillPackage::read(&package.root).map_err(|error| DraftError::read(&package.root, error))
}
