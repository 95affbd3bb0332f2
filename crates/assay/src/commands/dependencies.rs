//! What the scripts of a plan's skills need, and whether the sandbox has it.

use std::collections::BTreeMap;

use assay_lint::{Requirements, Skill};
use assay_trial::{Dependencies, Plan, Resolver};

use crate::ui::Ui;

/// Warns of what is missing, skill by skill.
pub(crate) fn warn(plan: &Plan, resolver: &Resolver<'_>, ui: &Ui) {
    let mut unchecked = 0;
    let places = match plan.skill_places(resolver) {
        Ok(places) => places,
        Err(error) => return ui.note(&format!("warning: dependencies of skills were not checked: {error}")),
    };
    for place in places {
        // What conditions make up, placebos above all, has no scripts that anybody runs.
        let skills = plan.library.packages.iter().filter(|skill| place.skills.contains(&skill.digest));
        let mut needs: BTreeMap<&str, Requirements> = BTreeMap::new();
        for skill in skills {
            let found = Requirements::of(&Skill::load(&skill.root));
            if !found.is_empty() {
                needs.insert(&skill.name, found);
            }
        }
        if needs.is_empty() {
            continue;
        }
        let mut sought = Dependencies::default();
        for found in needs.values() {
            sought.commands.extend(found.commands.keys().cloned());
            sought.python.extend(found.python.keys().cloned());
            sought.node.extend(found.node.keys().cloned());
        }
        match place.missing(&sought) {
            Ok(Some(missing)) => {
                let lines: Vec<String> = needs
                    .iter()
                    .map(|(name, found)| (name, lacking(found, &missing)))
                    .filter(|(_, lacks)| !lacks.is_empty())
                    .map(|(name, lacks)| format!("  {name}: {}", lacks.join(", ")))
                    .collect();
                if !lines.is_empty() {
                    ui.note(&format!(
                        "warning: scripts of skills need what the sandbox ({}) does not have, and fail there: install it, or \
                         run the tasks in images that have it",
                        place.kind()
                    ));
                    for line in &lines {
                        ui.note(line);
                    }
                }
            }
            Ok(None) => unchecked += needs.len(),
            Err(error) => ui.note(&format!("warning: dependencies of skills were not checked: {error}")),
        }
    }
    if unchecked > 0 {
        ui.note(&format!(
            "note: {} scripts with dependencies; whether the tasks' Docker images have them is not checked",
            assay_report::counted(unchecked, "skill has", "skills have")
        ));
    }
}

/// What of a skill's requirements is missing, each with a script that needs it.
fn lacking(found: &Requirements, missing: &Dependencies) -> Vec<String> {
    [
        ("the command", &found.commands, &missing.commands),
        ("the Python module", &found.python, &missing.python),
        ("the Node package", &found.node, &missing.node),
    ]
    .into_iter()
    .flat_map(|(what, needed, missing)| {
        let lacking = needed.iter().filter(|(name, _)| missing.contains(*name));
        lacking.map(move |(name, script)| format!("{what} {name} ({script})"))
    })
    .collect()
}
