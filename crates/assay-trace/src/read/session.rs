//! Reads a file with the logs of its sub-agents.

use std::collections::BTreeSet;

use super::claude_code;
use super::error::TraceError;
use super::reader::Reader;
use super::sources::Source as Input;
use super::stream::read_all_of;
use super::transcript::{Transcript, attach};
use crate::{Diagnostic, Trajectory};

/// Reads each session of a file, and attaches the logs of its sub-agents beside it.
pub(super) fn read_logs(
    source: &Input,
    reader: Option<&'static dyn Reader>,
) -> Result<Vec<Transcript>, TraceError> {
    let mut all = read_all_of(&source.path, reader)?;
    for beside in &source.beside {
        let inner = match read_all_of(beside, Some(&claude_code::Session)) {
            Ok(inner) => inner,
            Err(error) => {
                if let Some(first) = all.first_mut() {
                    first.diagnostics.push(Diagnostic::of_unreadable(beside, &error));
                }
                continue;
            }
        };
        for one in inner {
            let session = &one.trajectory.session_id;
            let at = all.iter().position(|known| known.trajectory.session_id == *session).unwrap_or_default();
            if let Some(whole) =
                all.get_mut(at).filter(|whole| !contains_messages(&whole.trajectory, &one.trajectory))
            {
                attach(whole, one, beside);
            }
        }
    }
    Ok(all)
}

/// Whether a trajectory already contains all named messages of a sub-agent's log.
fn contains_messages(whole: &Trajectory, one: &Trajectory) -> bool {
    let names = |one: &Trajectory| -> BTreeSet<String> {
        let inner = one.subagent_trajectories.iter().flat_map(|inner| &inner.steps);
        let steps = one.steps.iter().chain(inner);
        steps.filter_map(|step| step.message_id().map(str::to_owned)).collect()
    };
    let sought = names(one);
    !sought.is_empty() && sought.is_subset(&names(whole))
}
