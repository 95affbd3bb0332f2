//! Where the figures come from.

use assay_analysis::{Provenance, Report};

use crate::cells::NONE;
use crate::doc::{Block, Cell, Grid, Level, Section};
use crate::labels::Labels;
use crate::links::Target;
use crate::text::{clean, count};

/// Where the figures come from.
pub(super) fn build_section(report: &Report, _labels: &Labels) -> Section {
    let provenance = &report.provenance;
    let mut facts = vec![
        format!("Plan: {} · seed: {}", clean(&provenance.plan), provenance.seed),
        format!("Report computed by assay {}", provenance.assay_version),
    ];
    if let Some([first, last]) = &provenance.measured {
        facts.push(format!("First trial started: {first} · last trial ended: {last}"));
    }
    if !provenance.sandboxes.is_empty() {
        facts.push(format!("Sandbox: {}", clean(&provenance.sandboxes.join(", "))));
    }
    let mut blocks = vec![Block::List(facts), Block::Grid(agent_grid(provenance))];
    blocks.extend(skill_grid(provenance).map(Block::Grid));
    Section { title: "Provenance", level: Level::Details, blocks }
}

/// The provided skills.
fn skill_grid(provenance: &Provenance) -> Option<Grid> {
    let mut grid = Grid::new("Skills", &["skill", "digest", "conditions"], &["tasks", "body tokens"]);
    for skill in &provenance.skills {
        grid.rows.push(vec![
            Cell::Name(clean(&skill.name)).link(Target::Skill { digest: skill.digest.clone() }),
            Cell::Name(clean(&skill.digest)),
            Cell::Name(clean(&skill.conditions.join(", "))),
            skill.tasks.into(),
            count(skill.body_tokens as f64).into(),
        ]);
    }
    (!grid.rows.is_empty()).then_some(grid)
}

/// The agents, with requested and responding models.
fn agent_grid(provenance: &Provenance) -> Grid {
    let mut columns = vec!["agent", "version", "requested model", "responding model"];
    let has_servers = provenance.agents.iter().any(|agent| agent.server.is_some());
    if has_servers {
        columns.push("server");
    }
    let mut grid = Grid::new("Agents", &columns, &[]);
    for agent in &provenance.agents {
        let model = agent.model.as_ref().map_or_else(|| Cell::from(NONE), |model| Cell::Name(clean(model)));
        let replied = match agent.replied.as_slice() {
            [] => Cell::from(NONE),
            names => Cell::Name(clean(&names.join(", "))),
        };
        let mut row =
            vec![Cell::Name(clean(&agent.agent)), Cell::Name(clean(&agent.version)), model, replied];
        if has_servers {
            let server = agent.server.as_ref();
            row.push(server.map_or_else(|| Cell::from(NONE), |server| Cell::Name(clean(server))));
        }
        grid.rows.push(row);
    }
    grid
}
