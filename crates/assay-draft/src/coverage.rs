//! Which directives of a draft its tasks test, and which the measured model follows anyway.

use std::collections::{BTreeMap, BTreeSet};

use assay_diagnostic::{clean, counted};
use serde::Serialize;

use crate::directives::{DirectiveClass, DraftDirective, DraftDirectives, MeasurableDirectives};
use crate::error::DraftError;
use crate::folder::DraftFolder;
use crate::items::{ItemSet, TaskItems};
use crate::probe::{ProbeRecord, ProbeVerdict, apply_probe};

/// The directives of a draft, as its status counts them.
#[derive(Debug, Serialize)]
pub(crate) struct DirectiveCoverage {
    total: usize,
    /// By class; those that rules alone found have the class `unclassified`.
    by_class: BTreeMap<&'static str, usize>,
    /// Those with an item in a task that was not rejected.
    tested: usize,
    /// Those that no item can test.
    infeasible: usize,
}

/// What the model that is to be measured does without the skill.
#[derive(Debug, Serialize)]
pub(crate) struct ProbeCoverage {
    model: String,
    pub(crate) known: usize,
    pub(crate) unknown: usize,
    unclear: usize,
}

/// Directives and probe of a draft.
#[derive(Debug)]
pub(crate) struct DraftCoverage {
    pub(crate) directives: DirectiveCoverage,
    pub(crate) probe: Option<ProbeCoverage>,
    /// Why there is nothing to measure, with the directives; `None` if there is.
    pub(crate) nothing: Option<String>,
}

/// Counts the directives of a draft; `None` if it has none yet.
pub(crate) fn read_coverage(folder: &DraftFolder) -> Result<Option<DraftCoverage>, DraftError> {
    let Some(list) = DraftDirectives::read_from(folder)? else { return Ok(None) };
    let probe = ProbeRecord::read_from(folder)?;
    let mut tested = BTreeSet::new();
    for task in folder.list_tasks() {
        let items = TaskItems::read_from(&folder.task_folder(&task))?;
        let items = items.iter().flat_map(|items| items.list_set(ItemSet::If));
        tested.extend(items.map(|item| item.id.clone()));
    }
    let infeasible = folder.read_infeasible()?.directives;
    let mut by_class = BTreeMap::new();
    for directive in &list.directives {
        *by_class.entry(name_class(directive)).or_default() += 1;
    }
    let is_in = |ids: &dyn Fn(&str) -> bool| list.directives.iter().filter(|one| ids(&one.id)).count();
    let directives = DirectiveCoverage {
        total: list.directives.len(),
        by_class,
        tested: is_in(&|id| tested.contains(id)),
        infeasible: is_in(&|id| infeasible.contains_key(id)),
    };
    let applied = probe.as_ref().map(|probe| apply_probe(&list.directives, probe));
    let applied = applied.as_ref().unwrap_or(&list.directives);
    let shortfall = MeasurableDirectives::count_in(applied).explain_shortfall();
    let nothing = shortfall.map(|reason| describe_nothing(&reason, &list.directives, probe.as_ref()));
    let probe = probe.map(|probe| {
        let count = |verdict| probe.count_verdicts(&list.directives, verdict);
        ProbeCoverage {
            known: count(ProbeVerdict::Known),
            unknown: count(ProbeVerdict::Unknown),
            unclear: count(ProbeVerdict::Unclear),
            model: probe.model.clone(),
        }
    });
    Ok(Some(DraftCoverage { directives, probe, nothing }))
}

fn name_class(directive: &DraftDirective) -> &'static str {
    directive.class.map_or("unclassified", DirectiveClass::name)
}

impl DraftCoverage {
    /// The lines for people.
    pub(crate) fn to_text(&self) -> String {
        let DirectiveCoverage { total, by_class, tested, infeasible } = &self.directives;
        let classes = DirectiveClass::ALL.iter().map(|class| class.name()).chain(["unclassified"]);
        let classes = classes.filter_map(|class| Some(format!("{} {class}", by_class.get(class)?)));
        let classes = classes.collect::<Vec<_>>().join(", ");
        let classes = if classes.is_empty() { classes } else { format!(" ({classes})") };
        let mut text = format!("directives: {tested} of {total} tested{classes}, {infeasible} infeasible\n");
        if let Some(probe) = &self.probe {
            text.push_str(&format!(
                "probe: without the skill, {} follows {} and not {}; {} unclear\n",
                clean(&probe.model),
                counted(probe.known, "directive", "directives"),
                probe.unknown,
                probe.unclear
            ));
        }
        text + self.nothing.as_deref().unwrap_or_default()
    }
}

/// Why there is nothing to measure, and what is known of each directive.
fn describe_nothing(reason: &str, directives: &[DraftDirective], probe: Option<&ProbeRecord>) -> String {
    let mut text = format!("nothing to measure: {reason}\n");
    for directive in directives {
        let probed = probe.and_then(|probe| probe.find_replies(directive));
        let met = probed.map(|probed| {
            let met = probed.matches.iter().filter(|one| **one == Some(true)).count();
            format!(", followed in {met} of {} replies", probed.matches.len())
        });
        let seen = directive.seen_in.map_or_else(String::new, |seen| format!(", seen in {}", seen.name()));
        text.push_str(&format!(
            "  {} {}: {}{seen}{}: {}\n",
            clean(&directive.id),
            clean(&directive.place()),
            name_class(directive),
            met.unwrap_or_default(),
            clean(&directive.text)
        ));
    }
    text
}
