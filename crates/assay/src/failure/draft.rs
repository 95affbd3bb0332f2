//! What errors of drafts mean to the caller, and what to do about them.

use assay_draft::DraftError;
use assay_draft::error::{Existing, FolderFault, InputFault, SkillFault, SolverFault};
use assay_draft::skill_sources::DOCUMENTS;
use assay_report::shell_word;
use assay_store::ConditionRole;

use super::Failure;

/// What to do about a disk.
const SPACE: &str = "check that the path is writable and has free space";

impl From<DraftError> for Failure {
    fn from(error: DraftError) -> Self {
        let message = error.to_string();
        match error {
            DraftError::Write { .. } => Self::infrastructure(message).hint(SPACE),
            DraftError::Read { .. } => Self::bad_input(message),
            DraftError::Input(fault) => {
                let failure = Self::bad_input(message);
                match input_hint(&fault) {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                }
            }
            DraftError::Skill(fault) => of_skill(&fault, message),
            DraftError::Folder(FolderFault::NotADraft(_)) => {
                Self::bad_input(message).hint("`assay draft run SKILL --model PROVIDER:MODEL` begins one")
            }
            DraftError::Folder(_) => Self::bad_input(message).hint("wait until it has ended"),
            DraftError::Solver(fault) => of_solver(&fault, message),
            DraftError::Reply { what: "ideas", .. } => Self::infrastructure(message)
                .hint("remove the reply from the folder replies to ask again, or use another model"),
            DraftError::Unchecked { .. } => Self::infrastructure(message)
                .hint("`assay doctor` checks the sandboxes; correct or remove the task, then --resume"),
            DraftError::Generator { .. } => Self::infrastructure(message)
                .hint("generators need bubblewrap; `assay doctor` checks the sandboxes"),
            DraftError::Host(cause) => cause
                .downcast::<Self>()
                .map_or_else(|cause| Self::infrastructure(assay_diagnostic::chain(&*cause)), |own| *own),
            DraftError::Ask(error) => error.into(),
            DraftError::Cache(error) => error.into(),
            DraftError::Capped(reason) => reason.into(),
            DraftError::Store(error) => error.into(),
            DraftError::Corpus(error) => error.into(),
            DraftError::Table(error) => Self::bad_input(assay_diagnostic::chain(&error)),
            DraftError::Experiment(error) => error.into(),
            DraftError::Plan(error) => error.into(),
            DraftError::Run(error) => error.into(),
            _ => Self::infrastructure(message),
        }
    }
}

fn input_hint(fault: &InputFault) -> Option<String> {
    let hint = match fault {
        InputFault::DraftFile { .. } => "correct the file, or remove it to make it again",
        InputFault::NoText { .. } => "each line is an object with `text`, and `source` if there is one",
        InputFault::Label { .. } => "`assay judge labels` writes such a file",
        InputFault::Link(_) => "replace it by a copy",
        InputFault::NoIntent(_) => {
            "use a text, JSON of `gh issue list --json number,title,body,url`, JSON Lines with `text`, or transcripts"
        }
        InputFault::Intents { .. } => "name fewer files",
        InputFault::IdeaName { .. } => "use letters, digits, `-` and `_`",
        InputFault::Document { .. } => "name a smaller part of the documentation",
        InputFault::NoDocuments => {
            return Some(format!("files that end in {} are read", DOCUMENTS.join(", ")));
        }
        InputFault::InTask { .. } => "use `assay draft skill from-task`, which leaves out tests and solution",
        InputFault::NoTrials => {
            let role = ConditionRole::None;
            return Some(format!("trials of the condition `{role}` are read; --task names tasks"));
        }
        InputFault::NotPilot { pilot, .. } => return Some(format!("run {} first", pilot.display())),
        InputFault::NoSkill(_) => "pass a folder that contains a SKILL.md, or a corpus",
        InputFault::NoLibrary(_) => "pass a folder that contains SKILL.md files, or a corpus",
        InputFault::EmptyPool => "choose another --seed, or omit --pool",
        InputFault::Parent { .. } => SPACE,
        InputFault::Exists { what, .. } => match what {
            Existing::Draft => "--resume continues the draft; --out chooses another folder",
            Existing::Skills => "--out names a new folder",
            Existing::Requests => "choose another file with `--out`",
            Existing::Experiment => "choose another folder with --experiment",
        },
        _ => return None,
    };
    Some(hint.to_owned())
}

fn of_skill(fault: &SkillFault, message: String) -> Failure {
    match fault {
        SkillFault::Unsafe { path, .. } => {
            let hint = format!("`assay lint {}` explains them", shell_word(&path.display().to_string()));
            Failure::bad_input(message).hint(hint)
        }
        SkillFault::Discarded { needs, .. } => Failure::bad_input(message).hint(format!(
            "if that is wrong, set `verdict` in {} to `usable` and use --resume",
            needs.display()
        )),
        SkillFault::Other(_) => Failure::bad_input(message)
            .hint("begin a new draft, or restore the skill; skills/ in the draft has a copy"),
        SkillFault::Generated => Failure::infrastructure(message),
        SkillFault::GeneratedUnsafe(_) => {
            Failure::bad_input(message).hint("the material may contain instructions to the model; read it")
        }
        _ => Failure::bad_input(message),
    }
}

fn of_solver(fault: &SolverFault, message: String) -> Failure {
    match fault {
        SolverFault::Author(_) => Failure::bad_input(message).hint("--solver names another model"),
        SolverFault::NoPrice(model) => Failure::bad_input(format!("--max-usd needs the price of {model}"))
            .hint("--solver-price IN,OUT, or --measured-price IN,OUT for the model to be measured"),
        SolverFault::NoCap(_) => Failure::bad_input(message)
            .hint("--max-usd USD with --solver-price or --measured-price, or --no-cap"),
        SolverFault::OtherModel { .. } => Failure::bad_input(message).hint(
            "remove the file, which is then written again, or name its model with --solver or --measured",
        ),
        SolverFault::Capped { .. } => {
            Failure::bad_input(message).hint("run the command again with --resume and a higher --max-usd")
        }
        SolverFault::NoResult { file, .. } => Failure::infrastructure(message)
            .hint(format!("correct {file} in the draft or the model's options, then --resume")),
        _ => Failure::infrastructure(message),
    }
}
