//! Directives that no item of a task can test.

use std::collections::BTreeMap;

use super::{DirectiveClass, DirectiveEvidence, DraftDirective};
use crate::error::DraftError;
use crate::folder::DraftFolder;

/// Why no item can test a directive, in a sentence without its full stop; `None` if one may.
pub fn explain_infeasible(directive: &DraftDirective) -> Option<String> {
    let doubt = || directive.doubt.as_deref().unwrap_or("it contradicts what is known");
    let requires = || directive.requires.as_deref().unwrap_or("what it requires");
    match (directive.class, directive.seen_in) {
        (Some(DirectiveClass::Doubtful), _) => Some(format!("it is doubtful: {}", doubt())),
        (Some(DirectiveClass::Against), _) => {
            Some("it serves the author of the skill and not the user".to_owned())
        }
        (Some(DirectiveClass::Stops), _) => Some(format!("it ends the work without {}", requires())),
        (_, Some(DirectiveEvidence::Conversation)) => {
            Some("only a conversation shows it, and tasks have none".to_owned())
        }
        (_, Some(DirectiveEvidence::Nowhere)) => Some("nothing shows whether it was followed".to_owned()),
        _ if directive.readings.len() > 1 => {
            Some(format!("it can be understood in {} ways", directive.readings.len()))
        }
        _ => None,
    }
}

/// Writes into `infeasible.json` why directives cannot be tested.
pub(crate) fn record_infeasible(
    folder: &DraftFolder,
    directives: &[DraftDirective],
) -> Result<(), DraftError> {
    let reasons: BTreeMap<String, String> = directives
        .iter()
        .filter_map(|directive| Some((directive.id.clone(), explain_infeasible(directive)?)))
        .collect();
    let mut infeasible = folder.read_infeasible()?;
    if infeasible.directives == reasons {
        return Ok(());
    }
    infeasible.directives = reasons;
    folder.write_json("infeasible.json", &infeasible)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directives::DirectiveLines;

    #[test]
    fn what_no_result_can_show_is_infeasible() {
        use DirectiveClass::{Against, Convention, Doubtful, Knowledge, Stops};
        use DirectiveEvidence::{Calls, Conversation, Nowhere, Result};
        let check = |class, seen_in, readings: &[&str], expected: Option<&str>| {
            let directive = DraftDirective {
                class,
                seen_in,
                readings: readings.iter().map(|reading| (*reading).to_owned()).collect(),
                requires: Some("ImageMagick".to_owned()),
                ..DraftDirective::of_words(
                    "kiln",
                    "SKILL.md",
                    DirectiveLines::single(3),
                    String::new(),
                    String::new(),
                )
            };
            assert_eq!(explain_infeasible(&directive).as_deref(), expected, "{directive:?}");
        };
        check(Some(Knowledge), Some(Result), &[], None);
        check(Some(Knowledge), Some(Calls), &[], None);
        check(None, None, &[], None);
        check(
            Some(Convention),
            Some(Result),
            &["a month", "30 days"],
            Some("it can be understood in 2 ways"),
        );
        check(Some(Stops), Some(Result), &[], Some("it ends the work without ImageMagick"));
        check(Some(Doubtful), Some(Result), &[], Some("it is doubtful: it contradicts what is known"));
        check(Some(Against), Some(Result), &[], Some("it serves the author of the skill and not the user"));
        check(
            Some(Convention),
            Some(Conversation),
            &[],
            Some("only a conversation shows it, and tasks have none"),
        );
        check(Some(Convention), Some(Nowhere), &[], Some("nothing shows whether it was followed"));
    }

    #[test]
    fn reasons_are_kept_beside_rejected_tasks() {
        let root = tempfile::tempdir().unwrap();
        let folder = DraftFolder::at_path(root.path().to_owned());
        let words = || ("kiln", "SKILL.md", DirectiveLines::single(3));
        let (skill, file, lines) = words();
        let mut directive = DraftDirective::of_words(skill, file, lines, String::new(), String::new());
        directive.id = "d07".to_owned();
        record_infeasible(&folder, &[directive.clone()]).unwrap();
        assert!(!folder.path_of("infeasible.json").exists());
        directive.seen_in = Some(DirectiveEvidence::Nowhere);
        record_infeasible(&folder, &[directive.clone()]).unwrap();
        let found = folder.read_infeasible().unwrap();
        assert_eq!(found.directives["d07"], "nothing shows whether it was followed");
        // A person who edits the list gets other reasons.
        directive.seen_in = Some(DirectiveEvidence::Result);
        record_infeasible(&folder, &[directive]).unwrap();
        assert!(folder.read_infeasible().unwrap().directives.is_empty());
    }
}
