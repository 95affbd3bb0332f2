//! The skill that an evaluation is drafted for.

use std::path::{Path, PathBuf};

use assay_diagnostic::Severity;
use assay_draft::needs;
use assay_draft::prompts::{InputFile, Intent, SkillText, describe_needs};
use assay_report::{clean, counted, shell_word};
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
    /// One, or several that each task needs.
    pub(super) packages: Vec<Package>,
    pub(super) text: SkillText,
    /// Texts of the package that tasks must not resemble, by path.
    pub(super) examples: Vec<(String, String)>,
}

impl Subject {
    /// The digest of the skill; several are joined by commas.
    pub(super) fn digest(&self) -> String {
        digest_of(&self.packages)
    }
}

/// The digest of skills; several are joined by commas.
pub(super) fn digest_of(packages: &[Package]) -> String {
    packages.iter().map(|package| package.digest.to_string()).collect::<Vec<_>>().join(", ")
}

/// The names of skills, joined by commas.
pub(super) fn names_of(packages: &[Package]) -> String {
    packages.iter().map(|package| package.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The names of the folders of skills, joined by hyphens.
pub(super) fn folders_of(packages: &[Package]) -> String {
    packages.iter().map(|package| package.directory.as_str()).collect::<Vec<_>>().join("-")
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
    .hint(format!("`assay lint {}` explains them", shell_word(&path.display().to_string()))))
}

/// The folder that a path to a skill means: the folder itself, or that of its document.
fn folder_of(path: &Path) -> PathBuf {
    let parent = path.parent().unwrap_or(Path::new("."));
    if path.is_dir() { path.to_owned() } else { parent.to_owned() }
}

/// The document of `assay draft needs` for packages. That of several has the needs of all.
pub(super) fn describe_packages(packages: &[Package]) -> Result<Value, Failure> {
    let mut documents = packages.iter().map(describe_package);
    let mut all = documents.next().unwrap_or_else(|| Ok(Value::Null))?;
    for other in documents {
        let other = other?;
        for (category, needs) in other["needs"].as_object().into_iter().flatten() {
            if let (Some(own), Some(more)) = (all["needs"][category].as_array_mut(), needs.as_array()) {
                own.extend(more.iter().cloned());
            }
        }
        if let (Some(own), Some(more)) = (all["unmet"].as_array_mut(), other["unmet"].as_array()) {
            for unmet in more {
                if !own.contains(unmet) {
                    own.push(unmet.clone());
                }
            }
        }
        let rank = |value: &Value| {
            ["usable", "double", "discard"].iter().position(|name| value["verdict"] == **name)
        };
        if rank(&other) > rank(&all) {
            all["verdict"] = other["verdict"].clone();
        }
        all["skill"] = names_of(packages).into();
    }
    Ok(all)
}

fn describe_package(package: &Package) -> Result<Value, Failure> {
    let loaded = needs::load(&package.root);
    let Some(skill) = loaded.skill else {
        return Err(Failure::bad_input(format!("{} contains no readable SKILL.md", package.root.display())));
    };
    let found = needs::find(&skill.document, &skill.scripts);
    let line = Line::new(skill.name, "SKILL.md".to_owned(), found, &machine::programs());
    serde_json::to_value(line).map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))
}

/// The skills as they are shown to a model, with their needs, intents and inputs.
pub(super) fn subject(
    packages: Vec<Package>,
    needs: &Value,
    intents: Vec<Intent>,
    inputs: Vec<InputFile>,
) -> Subject {
    let several = packages.len() > 1;
    let (mut files, mut examples) = (Vec::new(), Vec::new());
    for package in &packages {
        let own = package.files.iter();
        let own = own.filter(|file| file.kind == FileKind::File && file.path != "SKILL.md");
        let prefix = if several { format!("{}/", package.directory) } else { String::new() };
        for file in own.take(200) {
            let path = format!("{prefix}{}", file.path);
            let read = assay_fs::read_within(&package.root, Path::new(&file.path), EXAMPLE_BYTES);
            let text = read.ok().and_then(|content| String::from_utf8(content.bytes).ok());
            examples.extend(text.map(|text| (path.clone(), text)));
            files.push(path);
        }
    }
    let text = SkillText {
        name: names_of(&packages),
        documents: packages.iter().map(|package| (package.name.clone(), package.document.clone())).collect(),
        files,
        several,
        intents,
        inputs,
        needs: describe_needs(needs),
        doubles: needs["unmet"]
            .as_array()
            .is_some_and(|unmet| unmet.iter().any(|one| !one["double"].is_null())),
    };
    Subject { packages, text, examples }
}
