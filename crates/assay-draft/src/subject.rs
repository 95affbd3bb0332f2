//! The skill that an evaluation is drafted for.

use std::path::{Path, PathBuf};

use assay_diagnostic::Severity;
use assay_safety::Bundle;
use assay_skill::{FileKind, Package};
use serde_json::Value;

use crate::error::{DraftError, SkillFault};
use crate::event::{DraftEvent, DraftEvents};
use crate::needs;
use crate::needs_line::NeedsLine;
use crate::prompts::{SkillText, describe_needs};
use crate::sources::{InputFile, Intent};

/// Most bytes of a text of the package that tasks are compared with.
const EXAMPLE_BYTES: u64 = 64 << 10;

/// A skill whose evaluation is drafted.
#[derive(Debug)]
pub(crate) struct DraftSubject {
    /// One, or several that each task needs.
    pub(crate) packages: Vec<Package>,
    pub(crate) text: SkillText,
    /// Whether ideas are made from name and description only.
    pub(crate) is_blind: bool,
    /// Texts of the package that tasks must not resemble, by path.
    pub(crate) examples: Vec<(String, String)>,
}

impl DraftSubject {
    /// The digest of the skill; several are joined by commas.
    pub(crate) fn digest(&self) -> String {
        digest_of(&self.packages)
    }
}

/// The digest of skills; several are joined by commas.
pub(crate) fn digest_of(packages: &[Package]) -> String {
    packages.iter().map(|package| package.digest.to_string()).collect::<Vec<_>>().join(", ")
}

/// The names of skills, joined by commas.
pub(crate) fn names_of(packages: &[Package]) -> String {
    packages.iter().map(|package| package.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The names of the folders of skills, joined by hyphens.
pub(crate) fn folders_of(packages: &[Package]) -> String {
    packages.iter().map(|package| package.directory.as_str()).collect::<Vec<_>>().join("-")
}

/// Reads a skill, and refuses one with a safety error.
pub(crate) fn open_skill(path: &Path, events: &dyn DraftEvents) -> Result<Package, DraftError> {
    let root = path
        .canonicalize()
        .map(|path| folder_of(&path))
        .map_err(|source| SkillFault::Open { path: path.to_owned(), source })?;
    let loaded = Package::load(&root);
    let Some(package) = loaded.package else {
        for diagnostic in &loaded.diagnostics {
            events.handle_event(&DraftEvent::Diagnostic(diagnostic));
        }
        return Err(SkillFault::Unreadable(path.to_owned()).into());
    };
    match report_safety_errors(&package, events) {
        0 => Ok(package),
        errors => Err(SkillFault::Unsafe { name: package.name, path: path.to_owned(), errors }.into()),
    }
}

/// Reports the safety errors of a package. Returns how many there are.
pub(crate) fn report_safety_errors(package: &Package, events: &dyn DraftEvents) -> usize {
    let found = assay_safety::scan(&Bundle::read(package));
    let errors = found.iter().filter(|finding| finding.severity == Severity::Error);
    errors.map(|finding| events.handle_event(&DraftEvent::SafetyError(finding))).count()
}

/// The folder that a path to a skill means: the folder itself, or that of its document.
fn folder_of(path: &Path) -> PathBuf {
    let parent = path.parent().unwrap_or(Path::new("."));
    if path.is_dir() { path.to_owned() } else { parent.to_owned() }
}

/// The document of `assay draft needs` for packages. That of several has the needs of all.
pub(crate) fn describe_packages(
    packages: &[Package],
    has_program: &dyn Fn(&str) -> bool,
) -> Result<Value, DraftError> {
    let mut documents = packages.iter().map(|package| describe_package(package, has_program));
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

fn describe_package(package: &Package, has_program: &dyn Fn(&str) -> bool) -> Result<Value, DraftError> {
    let loaded = needs::load(&package.root);
    let Some(skill) = loaded.skill else {
        return Err(SkillFault::Unreadable(package.root.clone()).into());
    };
    let found = needs::find(&skill.document, &skill.scripts);
    let line = NeedsLine::new(skill.name, "SKILL.md".to_owned(), found, has_program);
    serde_json::to_value(line).map_err(|error| DraftError::io("write JSON", error))
}

/// The skills as they are shown to a model, with their needs, intents and inputs.
pub(crate) fn describe_subject(
    packages: Vec<Package>,
    needs: &Value,
    intents: Vec<Intent>,
    inputs: Vec<InputFile>,
) -> DraftSubject {
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
        descriptions: packages
            .iter()
            .map(|package| (package.name.clone(), package.description.clone()))
            .collect(),
        documents: packages.iter().map(|package| (package.name.clone(), package.document.clone())).collect(),
        files,
        several,
        intents,
        inputs,
        needs: describe_needs(needs),
        directives: Vec::new(),
        doubles: needs["unmet"]
            .as_array()
            .is_some_and(|unmet| unmet.iter().any(|one| !one["double"].is_null())),
    };
    DraftSubject { packages, text, is_blind: false, examples }
}
