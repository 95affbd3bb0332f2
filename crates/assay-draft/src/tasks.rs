//! DraftIdeas of tasks, and their files.

use assay_judge::Request;

use crate::author::DraftAuthor;
use crate::error::{DraftError, InputFault};
use crate::event::{DraftEvent, DraftEvents};
use crate::folder::{DraftFolder, DraftIdeas, ProposalRecord, RejectedTask, folder_digest, person_reason};
use crate::ideas::{Idea, ProposedIdeas, read_blind_ideas, read_choice, read_ideas};
use crate::prompts::{self, BLIND_IDEAS, CHOOSE, FILES, IDEAS, versions};
use crate::proposal::{Proposal, Provenance, read_files, write_task};
use crate::subject::DraftSubject;

/// The ideas in the folder, or those that the model has.
pub(crate) fn propose_ideas(
    folder: &DraftFolder,
    subject: &DraftSubject,
    model: &DraftAuthor,
    count: usize,
    events: &dyn DraftEvents,
) -> Result<Vec<Idea>, DraftError> {
    if let Some(ideas) = folder.read_json::<DraftIdeas>("ideas.json")? {
        return check_names(folder, ideas.ideas);
    }
    let request = prompts::request_ideas(&subject.text, count);
    let text = &subject.text;
    let read = |reply: &str| {
        read_ideas(reply, count, &text.intents, &text.directives).map_err(|error| error.to_string())
    };
    let answer = if subject.is_blind {
        ask_blind_ideas(subject, model, count, &[])?
    } else {
        model.answer_request(IDEAS, &request, &read)?
    };
    let ProposedIdeas { ideas, unused, dropped } =
        answer.map_err(|fault| DraftError::Reply { what: "ideas", fault })?;
    for idea in &dropped {
        events.handle_event(&DraftEvent::IdeaDropped { idea: &idea.name, reason: &idea.reason });
    }
    let schema = "assay.draft-ideas/1".to_owned();
    folder.write_json("ideas.json", &DraftIdeas { schema, ideas: ideas.clone(), unused, dropped })?;
    Ok(ideas)
}

/// Asks for ideas by the name and the description of the skill only, and then which directives each tests. `others` are ideas
/// that are there. The inner error says why no reply can be read.
pub(crate) fn ask_blind_ideas(
    subject: &DraftSubject,
    model: &DraftAuthor,
    count: usize,
    others: &[Idea],
) -> Result<Result<ProposedIdeas, String>, DraftError> {
    let titles: Vec<&str> = others.iter().map(|idea| idea.title.as_str()).collect();
    let request = prompts::request_blind_ideas(&subject.text, count, &titles);
    let read = |reply: &str| read_blind_ideas(reply, count).map_err(|error| error.to_string());
    let mut ideas = match model.answer_request(BLIND_IDEAS, &request, &read)? {
        Ok(ideas) => ideas,
        Err(fault) => return Ok(Err(fault)),
    };
    let mut taken = others.to_vec();
    for idea in &mut ideas {
        idea.name = free_name(&idea.name, &taken);
        taken.push(idea.clone());
    }
    let request = prompts::request_choice(&subject.text, &ideas);
    let read =
        |reply: &str| read_choice(reply, &ideas, &subject.text.directives).map_err(|error| error.to_string());
    Ok(model.answer_request(CHOOSE, &request, &read)?)
}

/// A name that no idea has: the name itself, or with a number.
pub(crate) fn free_name(name: &str, taken: &[Idea]) -> String {
    let names = (1..).map(|number| if number == 1 { name.to_owned() } else { format!("{name}-{number}") });
    let mut free = names.filter(|name| !taken.iter().any(|idea| &idea.name == name));
    free.next().unwrap_or_else(|| name.to_owned())
}

/// Names of ideas become names of folders, and the file may have been edited.
fn check_names(folder: &DraftFolder, ideas: Vec<Idea>) -> Result<Vec<Idea>, DraftError> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.len() <= 80
            && name.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_'))
    };
    for (at, idea) in ideas.iter().enumerate() {
        let twice = ideas[..at].iter().any(|other| other.name == idea.name);
        if twice || !is_name(&idea.name) {
            let what = if twice { "occurs twice" } else { "is no name of a task" };
            return Err(InputFault::IdeaName {
                path: folder.path_of("ideas.json"),
                name: idea.name.clone(),
                what,
            }
            .into());
        }
    }
    Ok(ideas)
}

/// The request for the files of an idea.
pub(crate) fn request_task(subject: &DraftSubject, idea: &Idea, all: &[Idea]) -> Request {
    let others: Vec<&str> =
        all.iter().filter(|other| other.name != idea.name).map(|other| other.title.as_str()).collect();
    prompts::request_files(&subject.text, idea, &others)
}

/// Writes a task for each idea that has none.
pub(crate) fn write_tasks(
    folder: &DraftFolder,
    subject: &DraftSubject,
    model: &DraftAuthor,
    ideas: &[Idea],
    events: &dyn DraftEvents,
) -> Result<(), DraftError> {
    let prompts = versions();
    let prompt_words: Vec<String> =
        prompts.iter().map(|(name, version)| format!("{name} {version}")).collect();
    for idea in ideas {
        if folder.read_proposal(&idea.name)?.is_some()
            || folder.read_infeasible()?.tasks.contains_key(&idea.name)
        {
            continue;
        }
        if let Some(comment) = folder.rejected_by_person("ideas", &idea.name)? {
            let rejected = RejectedTask { reason: person_reason(&comment), faults: Vec::new(), repairs: 0 };
            folder.reject_task(&idea.name, rejected)?;
            continue;
        }
        let answer = model.answer_request(FILES, &request_task(subject, idea, ideas), &|reply| {
            read_files(reply, &subject.text.inputs, &subject.text.directives)
                .map_err(|error| error.to_string())
        })?;
        let proposal = match answer {
            Ok(proposal) => proposal,
            Err(fault) => {
                let reason = format!("the model's files cannot be read: {fault}");
                events.handle_event(&DraftEvent::Unusable { task: &idea.name, reason: &reason });
                folder.reject_task(&idea.name, RejectedTask { reason, faults: Vec::new(), repairs: 0 })?;
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
            written: vec![folder_digest(&folder.task_folder(&idea.name))],
            repairs: 0,
            pending: None,
        })?;
        events.handle_event(&DraftEvent::Written(&folder.task_folder(&idea.name)));
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
) -> Result<(), DraftError> {
    let into = folder.task_folder(&idea.name);
    if into.is_dir() {
        return Ok(());
    }
    let beside = folder.path_of("tasks").join(format!(".{}", idea.name));
    let action = || format!("write the task {}", into.display());
    if beside.is_dir() {
        assay_fs::remove_tree(&beside).map_err(|error| DraftError::write(action(), error))?;
    }
    write_task(&beside, idea, proposal, provenance, &folder.path_of("inputs"))
        .map_err(|error| DraftError::write(action(), error))?;
    std::fs::rename(&beside, &into).map_err(|error| DraftError::write(action(), error))
}
