//! The skill that an evaluation is drafted for.

use std::path::{Path, PathBuf};

use assay_diagnostic::Severity;
use assay_draft::needs;
use assay_draft::prompts::{SkillText, describe_needs};
use assay_report::{clean, counted};
use assay_safety::Bundle;
use assay_skill::{FileKind, Package};
use serde_json::Value;

use super::needs::Line;
use crate::failure::Failure;
use crate::machine;
use crate::ui::Ui;

/// Most bytes of a text of the package that tasks are compared with.
const EXAMPLE_BYTES: u64 = 64 << 10;

/// A skill whose evaluation is drafted.
pub(super) struct Subject {
    pub(super) package: Package,
    pub(super) text: SkillText,
    /// Texts of the package that tasks must not resemble, by path.
    pub(super) examples: Vec<(String, String)>,
}

/// Reads a skill, and refuses one with a safety error.
pub(super) fn open_skill(path: &Path, ui: &Ui) -> Result<Package, Failure> {
    let root = path
        .canonicalize()
        .map(|path| folder_of(&path))
        .map_err(|error| Failure::bad_input(format!("cannot open the skill {}: {error}", path.display())))?;
    let loaded = Package::load(&root);
    let Some(package) = loaded.package else {
        for diagnostic in &loaded.diagnostics {
            ui.note(&diagnostic.to_string());
        }
        return Err(Failure::bad_input(format!("{} contains no readable SKILL.md", path.display())));
    };
    let found = assay_safety::scan(&Bundle::read(&package));
    let errors: Vec<_> = found.iter().filter(|finding| finding.severity == Severity::Error).collect();
    if errors.is_empty() {
        return Ok(package);
    }
    for finding in &errors {
        ui.note(&format!("{}: {}: {}", clean(&finding.path), finding.rule.code, clean(&finding.message)));
    }
    Err(Failure::bad_input(format!(
        "the skill {} has {}, so nothing is drafted for it",
        clean(&package.name),
        counted(errors.len(), "safety error", "safety errors")
    ))
    .hint("`assay lint` explains them"))
}

/// The folder that a path to a skill means: the folder itself, or that of its document.
fn folder_of(path: &Path) -> PathBuf {
    let parent = path.parent().unwrap_or(Path::new("."));
    if path.is_dir() { path.to_owned() } else { parent.to_owned() }
}

/// The document of `assay draft needs` for a package.
pub(super) fn describe_package(package: &Package) -> Result<Value, Failure> {
    let loaded = needs::load(&package.root);
    let Some(skill) = loaded.skill else {
        return Err(Failure::bad_input(format!("{} contains no readable SKILL.md", package.root.display())));
    };
    let found = needs::find(&skill.document, &skill.scripts);
    let line = Line::new(skill.name, "SKILL.md".to_owned(), found, &machine::programs());
    serde_json::to_value(line).map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))
}

/// The skill as it is shown to a model, with its needs.
pub(super) fn subject(package: Package, needs: &Value) -> Subject {
    let files: Vec<String> = package
        .files
        .iter()
        .filter(|file| file.kind == FileKind::File && file.path != "SKILL.md")
        .map(|file| file.path.clone())
        .take(200)
        .collect();
    let examples = files
        .iter()
        .filter_map(|path| {
            let content = assay_fs::read_within(&package.root, Path::new(path), EXAMPLE_BYTES).ok()?;
            Some((path.clone(), String::from_utf8(content.bytes).ok()?))
        })
        .collect();
    let text = SkillText {
        name: package.name.clone(),
        document: package.document.clone(),
        files,
        needs: describe_needs(needs),
        doubles: needs["unmet"]
            .as_array()
            .is_some_and(|unmet| unmet.iter().any(|one| !one["double"].is_null())),
    };
    Subject { package, text, examples }
}
