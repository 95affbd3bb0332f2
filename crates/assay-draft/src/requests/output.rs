//! The files that are written: requests, negatives, the sheet for people, and what was dropped.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::library::RequestLibrary;
use super::pool::Pool;
use super::prompt::Prompt;
use super::review::Review;
use super::rounds::{DrawResult, Drawn, RequestKind};
use super::skills::Skill;
use crate::error::{DraftError, Existing, InputFault};

/// Most characters of a skill's text on the sheet.
const SHEET_CAP: usize = 6_000;

/// The files of a command.
#[derive(Debug)]
pub struct RequestFiles {
    pub(crate) requests: PathBuf,
    pub(crate) negatives: PathBuf,
    pub(crate) sheet: PathBuf,
    pub(crate) dropped: PathBuf,
    pub(crate) traces: PathBuf,
}

impl RequestFiles {
    /// `requests.jsonl`, and beside it `requests.negatives.jsonl` and so on.
    pub fn beside_file(out: &Path) -> Self {
        let stem = out.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let named = |part: &str| out.with_file_name(format!("{stem}.{part}.jsonl"));
        Self {
            requests: out.to_owned(),
            negatives: named("negatives"),
            sheet: named("review"),
            dropped: named("dropped"),
            traces: named("traces"),
        }
    }

    /// Refuses to replace files.
    ///
    /// # Errors
    /// One of them exists.
    pub fn check_absent(&self) -> Result<(), DraftError> {
        let all = [&self.requests, &self.negatives, &self.sheet, &self.dropped, &self.traces];
        match all.into_iter().find(|path| path.symlink_metadata().is_ok()) {
            Some(path) => Err(InputFault::Exists { path: path.clone(), what: Existing::Requests }.into()),
            None => Ok(()),
        }
    }
}

/// Writes a file of lines, none if there are no lines.
pub(crate) fn write_lines(path: &Path, lines: &[Value]) -> Result<(), DraftError> {
    if lines.is_empty() {
        return Ok(());
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    assay_fs::replace_file(path, text.as_bytes())
        .map_err(|error| DraftError::io(format!("write {}", path.display()), error))
}

/// The id of a request: a digest of its text and its skills.
pub(crate) fn request_id(source: &str, request: &str, ids: &[&str]) -> String {
    let digest = assay_fs::Digest::of(format!("{request}\0{}", ids.join("\0")).as_bytes());
    format!("{source}:{}", digest.short())
}

#[derive(Serialize)]
struct ReviewLine<'a> {
    review: Review,
    approves: bool,
    reason: &'a str,
    reviewer: &'a str,
}

/// What the lines of a command have in common.
pub(crate) struct RequestLines<'a> {
    pub(crate) library: &'a RequestLibrary,
    pub(crate) model: &'a str,
    pub(crate) pool: Option<Pool>,
    pub(crate) seed: u64,
}

impl RequestLines<'_> {
    fn ids(&self, places: &[usize]) -> Vec<&str> {
        places.iter().map(|place| self.library.skills.get(*place).id.as_str()).collect()
    }

    fn names(&self, places: &[usize]) -> Vec<&str> {
        places.iter().map(|place| self.library.skills.get(*place).name.as_str()).collect()
    }

    /// The id of a request that was written.
    pub(crate) fn id(&self, drawn: &Drawn) -> String {
        let ids: Vec<&str> = self.ids(&drawn.gold).into_iter().chain(self.ids(&drawn.forbidden)).collect();
        request_id(drawn.kind.source(), drawn.request.as_deref().unwrap_or_default(), &ids)
    }

    /// A request as the benchmarks read it. `prompt` is what it was written with.
    pub(crate) fn request(&self, drawn: &Drawn, prompt: Option<&Prompt>) -> Value {
        let copies: BTreeSet<usize> =
            drawn.gold.iter().flat_map(|place| self.library.skills.copies(*place)).collect();
        let copies: Vec<usize> = copies.into_iter().filter(|place| !drawn.gold.contains(place)).collect();
        let reviews: Vec<ReviewLine<'_>> = drawn
            .reviews
            .iter()
            .map(|(opinion, reviewer)| ReviewLine {
                review: opinion.review,
                approves: opinion.approves,
                reason: &opinion.reason,
                reviewer,
            })
            .collect();
        let mut line = json!({
            "schema": "assay.request/1", "qid": self.id(drawn), "source": drawn.kind.source(),
            "query": drawn.request, "gold_ids": self.ids(&drawn.gold), "gold_names": self.names(&drawn.gold),
            "acceptable_ids": [], "neardup_ids": self.ids(&copies), "negatives": self.ids(&drawn.forbidden),
            "k": drawn.gold.len(), "words": drawn.facts.map(|facts| facts.words),
            "names_skill": drawn.facts.map(|facts| facts.names_skill),
            "overlap3": drawn.facts.map(|facts| facts.overlap3),
        });
        let mut rest = json!({
            "style": drawn.draw.style.name, "draw": drawn.draw.number, "seed": self.seed,
            "pool": self.pool.map(Pool::name), "model": self.model,
            "prompt": prompt.map(|prompt| prompt.file.label()), "reviews": reviews,
        });
        if drawn.kind == RequestKind::Negative {
            line["not_ids"] = json!(self.ids(&drawn.forbidden));
            line["not_names"] = json!(self.names(&drawn.forbidden));
        }
        if let (Some(line), Some(rest)) = (line.as_object_mut(), rest.as_object_mut()) {
            line.append(rest);
        }
        line
    }

    /// A draw without an accepted request, with the reason.
    pub(crate) fn dropped(&self, drawn: &Drawn, prompt: Option<&Prompt>) -> Value {
        let mut line = self.request(drawn, prompt);
        let (reason, message) = match &drawn.result {
            DrawResult::Dropped(reason, message) => (*reason, message.as_str()),
            DrawResult::Person(_) => ("person", "a person rejects it"),
            DrawResult::Accepted => ("", ""),
        };
        line["schema"] = json!("assay.request-dropped/1");
        line["reason"] = json!(reason);
        line["message"] = json!(message);
        line
    }

    /// A row of the sheet for people.
    pub(crate) fn row(&self, drawn: &Drawn, objection: Review, prompt: Option<&Prompt>) -> Value {
        let mut materials = Map::new();
        materials.insert("Request".to_owned(), json!(drawn.request));
        let mut add = |title: &str, skill: &Skill, text: String| {
            let text: String = text.chars().take(SHEET_CAP).collect();
            materials.insert(format!("{title}: {} ({})", skill.name, skill.id), json!(text));
        };
        for place in &drawn.gold {
            let skill = self.library.skills.get(*place);
            add("Skill that serves it", skill, skill.text.clone());
        }
        for place in &drawn.forbidden {
            let skill = self.library.skills.get(*place);
            add("Skill that must not be used", skill, skill.text.clone());
        }
        if objection == Review::Discriminability {
            let all = self.library.skills.all().iter().enumerate();
            let known = |place: &usize| drawn.gold.contains(place) || drawn.forbidden.contains(place);
            let others = all.filter(|(place, skill)| drawn.choices.contains(&skill.id) && !known(place));
            for (_, skill) in others {
                add("Other skill", skill, skill.description.clone());
            }
        }
        json!({
            "item": self.id(drawn), "criterion": objection.criterion(), "materials": materials,
            "cluster": self.ids(&drawn.gold).join(" "), "objection": objection.name(),
            "request": self.request(drawn, prompt),
        })
    }
}
