//! Skills that a model writes, in a new folder.

use std::path::{Path, PathBuf};
use std::{fs, io};

use assay_diagnostic::{clean, counted};
use assay_judge::Request;
use assay_skill::Package;
use assay_skill::generated::{FILE, GeneratedSkill, GeneratedSkills, SCHEMA, SkillOrigin};
use serde::Serialize;

use crate::author::DraftAuthor;
use crate::error::{DraftError, ErrorCause, Existing, InputFault, SkillFault};
use crate::event::DraftEvents;
use crate::generate::{prompt, read_skills, request, version, write_skill};
use crate::skill_sources::SkillSources;
use crate::subject::report_safety_errors;

/// What the request for skills costs at most, as a document of JSON.
#[derive(Debug, Serialize)]
pub struct SkillForecast {
    schema: &'static str,
    tokens: usize,
    cached: bool,
    max_usd: Option<f64>,
}

impl SkillForecast {
    /// The forecast for people.
    pub fn to_text(&self) -> String {
        let cost = self.max_usd.map_or_else(String::new, |usd| format!(", at most ${usd:.2}"));
        let cached = if self.cached { "; its reply is cached" } else { "" };
        format!("1 request of {}{cost}{cached}\n", counted(self.tokens, "token", "tokens"))
    }
}

/// Skills that were written, with their sources, as a document of JSON.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct WrittenSkills {
    generated: GeneratedSkills,
    /// Folders and descriptions.
    #[serde(skip)]
    described: Vec<(PathBuf, String)>,
}

impl WrittenSkills {
    /// A line for each skill.
    pub fn to_text(&self) -> String {
        let lines = self.described.iter();
        lines.map(|(folder, text)| format!("{}: {}\n", folder.display(), clean(text))).collect()
    }
}

/// Writes skills from their sources.
#[derive(Debug)]
pub struct SkillWriter<'a> {
    /// What the sources are.
    pub origin: SkillOrigin,
    /// What the model reads.
    pub sources: SkillSources,
    /// The model.
    pub author: &'a DraftAuthor,
    /// Most skills.
    pub count: usize,
}

impl SkillWriter<'_> {
    fn request(&self) -> Request {
        request(self.origin, &self.sources.material, self.count)
    }

    /// Finds the length of the request, and what it costs at most.
    ///
    /// # Errors
    /// A stored reply cannot be read.
    pub fn forecast_request(&self) -> Result<SkillForecast, DraftError> {
        let request = self.request();
        Ok(SkillForecast {
            schema: "assay.generated-forecast/1",
            tokens: assay_model::tokens(&request.system) + assay_model::tokens(&request.text),
            cached: self.author.is_stored(&request)?,
            max_usd: self.author.cap().priced(self.author.max_cost(&request)),
        })
    }

    /// Asks the model, and writes the skills with their sources into a new folder. It appears when it is complete.
    ///
    /// # Errors
    /// The model gives no usable reply, a skill has a safety error, or the folder cannot be written.
    pub fn write_skills(self, out: &Path, events: &dyn DraftEvents) -> Result<WrittenSkills, DraftError> {
        let skills = self
            .author
            .answer_request(prompt(self.origin), &self.request(), &|reply| {
                read_skills(reply, self.count).map_err(|error| error.to_string())
            })?
            .map_err(|fault| DraftError::Reply { what: "reply", fault })?;
        let beside = folder_beside(out)?;
        let failed =
            |error: ErrorCause| DraftError::write(format!("write the skills to {}", out.display()), error);
        let mut generated = GeneratedSkills {
            schema: SCHEMA.to_owned(),
            origin: self.origin,
            model: self.author.name().to_owned(),
            prompt: version(self.origin),
            skills: Vec::new(),
            tasks: self.sources.tasks,
            files: self.sources.files,
            trials: self.sources.trials,
        };
        for skill in &skills {
            write_skill(beside.path(), skill).map_err(|error| failed(error.into()))?;
            let package = open_safe(&beside.path().join(&skill.name), events)?;
            generated.skills.push(GeneratedSkill { directory: skill.name.clone(), digest: package.digest });
        }
        let text = serde_json::to_string_pretty(&generated).map_err(|error| failed(error.into()))?;
        fs::write(beside.path().join(FILE), text + "\n").map_err(|error| failed(error.into()))?;
        fs::rename(beside.path(), out).map_err(|error| failed(error.into()))?;
        let described = skills.into_iter().map(|skill| (out.join(&skill.name), skill.description)).collect();
        Ok(WrittenSkills { generated, described })
    }
}

/// Refuses a folder that is there.
///
/// # Errors
/// It is there.
pub fn check_new_folder(out: &Path) -> Result<(), DraftError> {
    match out.symlink_metadata() {
        Ok(_) => Err(InputFault::Exists { path: out.to_owned(), what: Existing::Skills }.into()),
        Err(_) => Ok(()),
    }
}

/// A folder that takes the place of `out` when it is complete.
fn folder_beside(out: &Path) -> Result<tempfile::TempDir, InputFault> {
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent: PathBuf = parent.unwrap_or(Path::new(".")).to_owned();
    let failed = |error: io::Error| InputFault::Parent { path: parent.clone(), source: error };
    fs::create_dir_all(&parent).map_err(failed)?;
    tempfile::Builder::new().prefix(".generated-").tempdir_in(&parent).map_err(failed)
}

/// A skill that was written, unless it has a safety error.
fn open_safe(folder: &Path, events: &dyn DraftEvents) -> Result<Package, SkillFault> {
    let Some(package) = Package::load(folder).package else { return Err(SkillFault::Generated) };
    match report_safety_errors(&package, events) {
        0 => Ok(package),
        errors => Err(SkillFault::GeneratedUnsafe(errors)),
    }
}
