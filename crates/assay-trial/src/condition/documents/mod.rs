//! The condition `documents`: relevant documentation in the prompt, as long as the skill's text.

pub(super) mod error;
mod html;
mod passages;

use std::collections::BTreeSet;
use std::path::Path;

use assay_fs::{FileKind, read_beneath, tree};
use assay_retrieval::{Bm25, Parameters};
use assay_skill::tokens;
use assay_store::ConditionRole;

use self::error::{DocumentsError, TOTAL_BYTES};
use super::error::ConditionError;
use super::plain::text_of;
use super::provision::{Argument, Condition, ConditionContext, Provision, curated};

/// The folder beside the experiment that is read if neither the condition nor the task names one.
const DEFAULT_FOLDER: &str = "docs";
/// Most bytes of one file. The largest page of the Python documentation is below 1 MB.
const FILE_BYTES: u64 = 4 << 20;
/// Passages of documentation in the prompt, ranked by BM25 against the instruction and cut to the
/// number of tokens of the curated skills' text: is the skill worth more than the documentation?
///
/// Like `plain`, it offers no skill, and its text is part of the trial's identity: another machine
/// takes the text from the specification and does not need the documentation.
pub(super) struct Documents;

impl Condition for Documents {
    fn role(&self) -> ConditionRole {
        ConditionRole::Documents
    }

    fn argument(&self) -> Argument {
        Argument::Optional("DIR")
    }

    fn provide(&self, context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        let budget = tokens(&text_of(&curated(context)?)?);
        let paired = context.pairing.and_then(|pairing| pairing.documents.as_deref());
        let named = context.argument.or(paired);
        let folder = context.directory.join(named.unwrap_or(DEFAULT_FOLDER));
        if !folder.is_dir() {
            let error = match named {
                Some(_) => DocumentsError::NotAFolder { folder },
                None => DocumentsError::NoFolder { folder, task: context.task.name.clone() },
            };
            return Err(error.into());
        }
        let preface = retrieve(&folder, &context.task.instruction, budget)?;
        Ok(Provision { preface, ..Provision::default() })
    }
}

/// The passages of a folder that fit the query best, with at most `budget` tokens together; the
/// last one may be cut.
fn retrieve(folder: &Path, query: &str, budget: usize) -> Result<String, DocumentsError> {
    let mut seen = BTreeSet::new();
    let mut passages = Vec::new();
    for text in read(folder)? {
        passages.extend(passages::split(&text).into_iter().filter(|passage| seen.insert(passage.clone())));
    }
    if passages.is_empty() {
        return Err(DocumentsError::Empty { folder: folder.to_owned() });
    }
    let ranked = Bm25::new(passages.iter().map(String::as_str), Parameters::default()).rank(query);
    if ranked.is_empty() {
        return Err(DocumentsError::NoMatch { folder: folder.to_owned() });
    }
    let mut chosen = String::new();
    for (place, _) in ranked {
        let separator = if chosen.is_empty() { "" } else { "\n\n" };
        let longer = format!("{chosen}{separator}{}", passages[place]);
        if tokens(&longer) > budget {
            passages::cut(&longer, budget).clone_into(&mut chosen);
            break;
        }
        chosen = longer;
    }
    if chosen.is_empty() { Err(DocumentsError::NoRoom { budget }) } else { Ok(chosen) }
}

/// The texts of a folder's documents, in the order of their paths. Links below it are not followed.
/// A SKILL.md is no documentation: with it the condition would contain the skill.
fn read(folder: &Path) -> Result<Vec<String>, DocumentsError> {
    let walk = tree::walk(folder);
    if let Some(problem) = walk.problems.into_iter().next() {
        return Err(DocumentsError::Walk { path: problem.path, error: problem.source });
    }
    let mut texts = Vec::new();
    let mut left = TOTAL_BYTES;
    for node in walk.nodes.iter().filter(|node| node.kind == FileKind::File) {
        let extension = node.path.extension().and_then(|extension| extension.to_str());
        let is_html = match extension.unwrap_or_default().to_ascii_lowercase().as_str() {
            "md" | "markdown" | "mdx" | "txt" | "rst" => false,
            "html" | "htm" => true,
            _ => continue,
        };
        let is_skill = node.path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
        let is_hidden = node.path.iter().any(|part| part.as_encoded_bytes().starts_with(b"."));
        if is_skill || is_hidden {
            continue;
        }
        let Some(bytes) = read_beneath(folder, &node.path, FILE_BYTES)? else { continue };
        left = left
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| DocumentsError::TooLarge { folder: folder.to_owned() })?;
        let text = String::from_utf8_lossy(&bytes);
        texts.push(if is_html { html::text(&text) } else { text.into_owned() });
    }
    Ok(texts)
}

#[cfg(test)]
mod tests;
