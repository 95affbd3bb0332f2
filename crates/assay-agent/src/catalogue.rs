//! The skill catalogue in a system prompt.

use std::path::PathBuf;

use assay_trace::Disclosure;

/// A skill as listed in an agent's catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueEntry {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The path of its SKILL.md, inside the sandbox.
    pub path: PathBuf,
    /// The body of its SKILL.md.
    pub body: String,
}

/// The catalogue as text; empty without skills.
pub(crate) fn catalogue(skills: &[CatalogueEntry], disclosure: Disclosure) -> String {
    if skills.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "Skills are folders of instructions, scripts and references for particular kinds of work. These are installed:\n",
    );
    for skill in skills {
        let description = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
        text.push_str(&format!("- {}: {description} (file: {})\n", skill.name, skill.path.display()));
    }
    if disclosure == Disclosure::Eager {
        text.push_str("This is what they say.\n\n");
        for skill in skills {
            text.push_str(&format!("<skill name=\"{}\">\n{}\n</skill>\n\n", skill.name, skill.body.trim()));
        }
    }
    text.push_str(match disclosure {
        Disclosure::Told => {
            "They were installed for this task: read the SKILL.md of each that applies before you start, and follow it."
        }
        Disclosure::Offered => {
            "If one fits the task, read its SKILL.md before you start, and follow it; otherwise leave them alone."
        }
        Disclosure::Eager => {
            "If one fits the task, follow it; otherwise leave them alone. What they refer to lies beside their SKILL.md."
        }
    });
    text
}
