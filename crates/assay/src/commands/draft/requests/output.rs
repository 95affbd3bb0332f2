//! The files that are written: requests, negatives, the sheet for people, and what was dropped.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_draft::requests::{Pool, Prompt, Review, Skill};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::library::Library;
use super::rounds::{DrawResult, Drawn, Kind};
use crate::failure::Failure;

/// Most characters of a skill's text on the sheet.
const SHEET_CAP: usize = 6_000;

/// The files of a command.
pub(super) struct Files {
    pub(super) requests: PathBuf,
    pub(super) negatives: PathBuf,
    pub(super) sheet: PathBuf,
    pub(super) dropped: PathBuf,
    pub(super) traces: PathBuf,
}

impl Files {
    /// `requests.jsonl`, and beside it `requests.negatives.jsonl` and so on.
    pub(super) fn beside(out: &Path) -> Self {
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
    pub(super) fn check_absent(&self) -> Result<(), Failure> {
        let all = [&self.requests, &self.negatives, &self.sheet, &self.dropped, &self.traces];
        match all.into_iter().find(|path| path.symlink_metadata().is_ok()) {
            Some(path) => Err(Failure::bad_input(format!("{} exists", path.display()))
                .hint("choose another file with `--out`")),
            None => Ok(()),
        }
    }
}

/// Writes a file of lines, none if there are no lines.
pub(super) fn write_lines(path: &Path, lines: &[Value]) -> Result<(), Failure> {
    if lines.is_empty() {
        return Ok(());
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    assay_fs::replace_file(path, text.as_bytes())
        .map_err(|error| Failure::infrastructure(format!("cannot write {}: {error}", path.display())))
}

/// The id of a request: a digest of its text and its skills.
pub(super) fn request_id(source: &str, request: &str, ids: &[&str]) -> String {
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
pub(super) struct Lines<'a> {
    pub(super) library: &'a Library,
    pub(super) model: &'a str,
    pub(super) pool: Option<Pool>,
    pub(super) seed: u64,
}

impl Lines<'_> {
    fn ids(&self, places: &[usize]) -> Vec<&str> {
        places.iter().map(|place| self.library.skills.get(*place).id.as_str()).collect()
    }

    fn names(&self, places: &[usize]) -> Vec<&str> {
        places.iter().map(|place| self.library.skills.get(*place).name.as_str()).collect()
    }

    /// The id of a request that was written.
    pub(super) fn id(&self, drawn: &Drawn) -> String {
        let ids: Vec<&str> = self.ids(&drawn.gold).into_iter().chain(self.ids(&drawn.forbidden)).collect();
        request_id(drawn.kind.source(), drawn.request.as_deref().unwrap_or_default(), &ids)
    }

    /// A request as the benchmarks read it. `prompt` is what it was written with.
    pub(super) fn request(&self, drawn: &Drawn, prompt: Option<&Prompt>) -> Value {
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
        if drawn.kind == Kind::Negative {
            line["not_ids"] = json!(self.ids(&drawn.forbidden));
            line["not_names"] = json!(self.names(&drawn.forbidden));
        }
        if let (Some(line), Some(rest)) = (line.as_object_mut(), rest.as_object_mut()) {
            line.append(rest);
        }
        line
    }

    /// A draw without an accepted request, with the reason.
    pub(super) fn dropped(&self, drawn: &Drawn, prompt: Option<&Prompt>) -> Value {
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
    pub(super) fn row(&self, drawn: &Drawn, objection: Review, prompt: Option<&Prompt>) -> Value {
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
