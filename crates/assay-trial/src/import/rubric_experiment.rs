//! An experiment for tasks that were made of rubrics.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_judge::Scenario;
use assay_skill::Package;
use assay_store::{StoreError, write_new};

/// Why an experiment cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum RubricExperimentError {
    /// Its folder cannot be created.
    #[error("cannot create {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It exists.
    #[error("{} exists", .0.display())]
    Exists(PathBuf),
    /// The file cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes an experiment with the tasks below `out` and the skills beside their scenarios, which were found in `searched`.
///
/// # Errors
/// The file exists or cannot be written.
pub fn write_rubric_experiment(
    file: &Path,
    out: &Path,
    image: &str,
    tasks: &[&str],
    scenarios: &[Scenario],
    searched: &Path,
) -> Result<(), RubricExperimentError> {
    let folder = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let base = if searched.is_dir() { searched } else { searched.parent().unwrap_or(Path::new(".")) };
    let mut library: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut pairs: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for scenario in scenarios {
        let is_task = |task: &&&str| Path::new(task).file_name().is_some_and(|name| *name == *scenario.name);
        let Some(task) = tasks.iter().find(is_task) else { continue };
        for skill in &scenario.skills {
            // The path of a SKILL.md, as seen from the folder that was searched.
            let skill = base.join(skill.parent().unwrap_or(Path::new("")));
            let Some(package) = Package::load(&skill).package else { continue };
            library.insert(skill, package.name.clone());
            pairs.entry(task).or_default().push(package.name);
        }
    }
    let shown = |path: &Path| toml_text(&relative(path, folder));
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut text = format!(
        "schema = \"assay.experiment/1\"\nname = {}\nsuite = [{}]\nlibrary = [{}]\nconditions = [\"none\", \"curated\"]\n\
         repetitions = 3\nnetwork = \"none\"\n\n# The agent that is measured.\n[[agents]]\nname = \"loop\"\n\
         model = \"openai:MODEL\"\n\n# Who decides the rubrics: not of the family of the agent's model.\n[judge]\n\
         models = [\"anthropic:MODEL\"]\n",
        toml_text(&run_name(&name)),
        shown(&out.join("*")),
        library.keys().map(|skill| shown(skill)).collect::<Vec<_>>().join(", "),
    );
    for (task, skills) in &pairs {
        let task = Path::new(task).file_name().unwrap_or_default().to_string_lossy();
        let skills: Vec<String> = skills.iter().map(|skill| toml_text(skill)).collect();
        text.push_str(&format!("\n[tasks.{}]\ncurated = [{}]\n", toml_text(&task), skills.join(", ")));
    }
    text.push_str(&format!(
        "\n# In place of the tasks' image, bubblewrap shows the host's /usr.\n[sandbox]\nkind = \"auto\"\n\
         roots = {{ {} = \"host\" }}\n",
        toml_text(image)
    ));
    std::fs::create_dir_all(folder)
        .map_err(|source| RubricExperimentError::Folder { path: folder.to_path_buf(), source })?;
    if write_new(file, text.as_bytes())? {
        Ok(())
    } else {
        Err(RubricExperimentError::Exists(file.to_path_buf()))
    }
}

/// A string as TOML writes it.
fn toml_text(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A name that a run can have.
fn run_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).take(80).collect();
    if assay_store::is_run_name(&name) { name } else { "rubrics".to_owned() }
}

/// A path as seen from a folder, if both are relative or both absolute.
fn relative(path: &Path, folder: &Path) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (path, folder) = (absolute(path), absolute(folder));
    let common = path.components().zip(folder.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(common).map(|_| "..".to_owned());
    let down = path.components().skip(common).map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_experiment() {
        let check = |path: &str, folder: &str, expected: &str| {
            assert_eq!(relative(Path::new(path), Path::new(folder)), expected, "{path} from {folder}");
        };
        check("/a/tasks/*", "/a", "tasks/*");
        check("/a/skills/x", "/a/runs", "../skills/x");
        check("tasks/*", ".", "tasks/*");
        assert_eq!(run_name("my runs"), "my-runs");
        assert_eq!(run_name("ü"), "rubrics");
    }
}
