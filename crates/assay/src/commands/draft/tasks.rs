//! Ideas of tasks, and their files.

use assay_draft::author::DraftAuthor;
use assay_draft::prompts::{self, FILES, IDEAS, versions};
use assay_draft::proposal::{Idea, Proposal, Provenance, read_files, read_ideas, write_task};
use assay_judge::Request;
use assay_report::clean;

use super::folder::{DraftFolder, Ideas, ProposalRecord, Rejected, folder_digest, person_reason};
use super::subject::Subject;
use crate::failure::Failure;
use crate::ui::Ui;

/// The ideas in the folder, or those that the model has.
pub(super) fn ideas(
    folder: &DraftFolder,
    subject: &Subject,
    model: &DraftAuthor,
    count: usize,
) -> Result<Vec<Idea>, Failure> {
    if let Some(ideas) = folder.read::<Ideas>("ideas.json")? {
        return check_names(folder, ideas.ideas);
    }
    let request = prompts::request_ideas(&subject.text, count);
    let read =
        |reply: &str| read_ideas(reply, count, &subject.text.intents).map_err(|error| error.to_string());
    let (ideas, unused) = model.answer_request(IDEAS, &request, &read)?.map_err(|fault| {
        Failure::infrastructure(format!("cannot read the model's ideas: {fault}"))
            .hint("remove the reply from the folder replies to ask again, or use another model")
    })?;
    let schema = "assay.draft-ideas/1".to_owned();
    folder.write("ideas.json", &Ideas { schema, ideas: ideas.clone(), unused })?;
    Ok(ideas)
}

/// Names of ideas become names of folders, and the file may have been edited.
fn check_names(folder: &DraftFolder, ideas: Vec<Idea>) -> Result<Vec<Idea>, Failure> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.len() <= 80
            && name.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_'))
    };
    for (at, idea) in ideas.iter().enumerate() {
        let twice = ideas[..at].iter().any(|other| other.name == idea.name);
        if twice || !is_name(&idea.name) {
            let what = if twice { "occurs twice" } else { "is no name of a task" };
            return Err(Failure::bad_input(format!(
                "{}: {:?} {what}",
                folder.path("ideas.json").display(),
                idea.name
            ))
            .hint("use letters, digits, `-` and `_`"));
        }
    }
    Ok(ideas)
}

/// The request for the files of an idea.
pub(super) fn request(subject: &Subject, idea: &Idea, all: &[Idea]) -> Request {
    let others: Vec<&str> =
        all.iter().filter(|other| other.name != idea.name).map(|other| other.title.as_str()).collect();
    prompts::request_files(&subject.text, idea, &others)
}

/// Writes a task for each idea that has none.
pub(super) fn write(
    folder: &DraftFolder,
    subject: &Subject,
    model: &DraftAuthor,
    ideas: &[Idea],
    ui: &Ui,
) -> Result<(), Failure> {
    let prompts = versions();
    let prompt_words: Vec<String> =
        prompts.iter().map(|(name, version)| format!("{name} {version}")).collect();
    for idea in ideas {
        if folder.proposal(&idea.name)?.is_some() || folder.infeasible()?.tasks.contains_key(&idea.name) {
            continue;
        }
        if let Some(comment) = folder.rejected_by_person("ideas", &idea.name)? {
            let rejected = Rejected { reason: person_reason(&comment), faults: Vec::new(), repairs: 0 };
            folder.reject(&idea.name, rejected)?;
            continue;
        }
        let answer = model.answer_request(FILES, &request(subject, idea, ideas), &|reply| {
            read_files(reply, &subject.text.inputs).map_err(|error| error.to_string())
        })?;
        let proposal = match answer {
            Ok(proposal) => proposal,
            Err(fault) => {
                let reason = format!("the model's files cannot be read: {fault}");
                ui.note(&format!("{}: {}", idea.name, clean(&reason)));
                folder.reject(&idea.name, Rejected { reason, faults: Vec::new(), repairs: 0 })?;
                continue;
            }
        };
        let digest = subject.digest();
        let names: Vec<&str> = subject.packages.iter().map(|package| package.name.as_str()).collect();
        let provenance = Provenance {
            skills: &names,
            digest: &digest,
            model: model.name(),
            prompts: &prompt_words.join(", "),
        };
        write_folder(folder, idea, &proposal, &provenance)?;
        folder.save_proposal(&ProposalRecord {
            schema: "assay.draft-proposal/1".to_owned(),
            idea: idea.clone(),
            model: model.name().to_owned(),
            prompts: prompts.clone(),
            written: vec![folder_digest(&folder.task(&idea.name))],
            repairs: 0,
            pending: None,
        })?;
        ui.detail(&format!("wrote {}", folder.task(&idea.name).display()));
    }
    Ok(())
}

/// Writes a task beside its place and moves it there, so that it is complete or absent. One that is there already was
/// written by a draft that was killed before it recorded so.
fn write_folder(
    folder: &DraftFolder,
    idea: &Idea,
    proposal: &Proposal,
    provenance: &Provenance<'_>,
) -> Result<(), Failure> {
    let into = folder.task(&idea.name);
    if into.is_dir() {
        return Ok(());
    }
    let beside = folder.path("tasks").join(format!(".{}", idea.name));
    let failed = |error: &dyn std::fmt::Display| {
        Failure::infrastructure(format!("cannot write the task {}: {error}", into.display()))
            .hint("check that the path is writable and has free space")
    };
    if beside.is_dir() {
        assay_fs::remove_tree(&beside).map_err(|error| failed(&error))?;
    }
    write_task(&beside, idea, proposal, provenance, &folder.path("inputs"))
        .map_err(|error| failed(&error))?;
    std::fs::rename(&beside, &into).map_err(|error| failed(&error))
}
