//! The stages that ask a model: tags, and votes.

use assay_corpus::taxonomy::{
    Assigned, SkillSummary, SkillTags, TAG_PROMPT, Taxonomy, VOTE_PROMPT, VOTES, count_votes, read_tags,
    read_votes, tag_request, vote_request,
};
use assay_draft::author::DraftAuthor;
use assay_draft::prompts::Prompt;
use assay_judge::Request;
use assay_report::counted;
use serde_json::json;

use super::{read_taxonomy, summaries, write_lines};
use crate::args::taxonomy::{AssignArgs, DiscoverArgs};
use assay_cli::args::model::ModelFlags;
use assay_cli::commands::draft::ask::open_without_spending;
use assay_cli::config::Settings;
use assay_cli::failure::{Failure, Status};
use assay_cli::machine;
use assay_cli::ui::Ui;

/// Skills in a request for tags.
const TAGGED: usize = 15;

/// Skills in a request for votes.
const VOTED: usize = 10;

const SYSTEM: &str = "You classify documents. Reply with one JSON object and nothing else.";
const TAGS: Prompt = Prompt { name: "taxonomy-tags", text: TAG_PROMPT };
const VOTE: Prompt = Prompt { name: "taxonomy-vote", text: VOTE_PROMPT };

fn open(flags: &ModelFlags, spec: &str, settings: &Settings, ui: &Ui) -> Result<DraftAuthor, Failure> {
    let folder = settings.store.join("taxonomy");
    open_without_spending(flags, spec, folder, machine::interrupted()?, ui)
}

pub(super) fn discover(args: &DiscoverArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let mut skills = summaries(&args.corpus, ui)?;
    // The choice depends on the seed and the ids, and not on the order of the corpus.
    skills.sort_by_key(|skill| *blake3::hash(format!("{} {}", args.seed, skill.id).as_bytes()).as_bytes());
    skills.truncate(args.n as usize);
    let model = open(&args.flags, &args.model, settings, ui)?;
    let mut tags: Vec<SkillTags> = Vec::new();
    let mut lost = 0;
    for (at, part) in skills.chunks(TAGGED).enumerate() {
        let request = Request { system: SYSTEM.to_owned(), text: tag_request(part) };
        match model.answer_request(TAGS, &request, &|reply| read_tags(reply, part))? {
            Ok(found) => tags.extend(found),
            Err(fault) => {
                ui.note(&format!("warning: {} lost: {fault}", counted(part.len(), "skill", "skills")));
                lost += part.len();
            }
        }
        ui.detail(&format!("{} of {} skills", (at + 1) * TAGGED, skills.len()));
    }
    write_lines(&args.out, &tags)?;
    finish(&model, "assay.taxonomy-tags/1", tags.len(), lost, ui)
}

pub(super) fn assign(args: &AssignArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let taxonomy = read_taxonomy(&args.taxonomy)?;
    let skills = summaries(&args.corpus, ui)?;
    let model = open(&args.flags, &args.model, settings, ui)?;
    let mut assigned: Vec<Assigned> = Vec::new();
    let mut lost = 0;
    for part in skills.chunks(VOTED) {
        match votes(&model, &taxonomy, part)? {
            Ok(of_skills) => {
                assigned.extend(
                    part.iter()
                        .zip(of_skills)
                        .map(|(skill, votes)| count_votes(&skill.id, &taxonomy, &votes)),
                );
            }
            Err(fault) => {
                ui.note(&format!("warning: {} lost: {fault}", counted(part.len(), "skill", "skills")));
                lost += part.len();
            }
        }
    }
    write_lines(&args.out, &assigned)?;
    let without = assigned.iter().filter(|one| one.category.is_none()).count();
    ui.note(&format!("{without} of {} have no category", counted(assigned.len(), "skill", "skills")));
    finish(&model, "assay.taxonomy-assign/1", assigned.len(), lost, ui)
}

/// For each skill its votes: the place of a category, or `None` for no category.
type Votes = Vec<Vec<Option<usize>>>;

/// The votes on each skill of a part. The inner error says why a reply cannot be read.
fn votes(
    model: &DraftAuthor,
    taxonomy: &Taxonomy,
    part: &[SkillSummary],
) -> Result<Result<Votes, String>, Failure> {
    let mut of_skills = vec![Vec::new(); part.len()];
    for vote in 0..VOTES {
        let system = format!("{SYSTEM} This is vote {} of {VOTES}.", vote + 1);
        let request = Request { system, text: vote_request(taxonomy, part, vote) };
        match model.answer_request(VOTE, &request, &|reply| read_votes(reply, taxonomy, part.len()))? {
            Ok(found) => of_skills.iter_mut().zip(found).for_each(|(votes, vote)| votes.push(vote)),
            Err(fault) => return Ok(Err(fault)),
        }
    }
    Ok(Ok(of_skills))
}

fn finish(model: &DraftAuthor, schema: &str, skills: usize, lost: usize, ui: &Ui) -> Result<Status, Failure> {
    let (sent, cached) = model.count_requests();
    let usd = model.cap().cost_usd();
    if ui.json() {
        ui.document(&json!({
            "schema": schema, "skills": skills, "lost": lost, "requests": sent, "cached": cached, "cost_usd": usd,
        }))?;
    } else {
        let cost = usd.map_or_else(String::new, |usd| format!(", ${usd:.4}"));
        ui.out(&format!(
            "{}, {lost} lost; {}, {cached} cached{cost}\n",
            counted(skills, "skill", "skills"),
            counted(usize::try_from(sent).unwrap_or(usize::MAX), "request", "requests")
        ))?;
    }
    Ok(if skills == 0 { Status::DidNotHold } else { Status::Done })
}
