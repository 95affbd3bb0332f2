//! The folder of a task, looked for beside the jobs that worked on it: jobs name the paths of another machine.
//!
//! Only what is below the folders of the import, or beside them, is opened, and no link is followed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use assay_fs::read_beneath;
use assay_store::KnownSkills;

use super::facts::TaskFacts;

/// Folders above the one that the user named in which tasks are looked for: those of a project are beside its `jobs`.
const ABOVE: usize = 3;

/// Most entries of a folder that are tried as folders of tasks.
const BESIDE: usize = 500;

/// Most parts of a task's path that are looked for together.
const PARTS: usize = 3;

/// Most bytes of a `task.toml`, and of a `SKILL.md`.
const TOML_CAP: u64 = 1 << 20;
const SKILL_CAP: u64 = 8 << 20;

/// Longest label that is kept, in characters.
const LABEL: usize = 200;

/// Most skills of a task that are read.
const SKILLS: usize = 500;

/// What a task's folder says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TaskBeside {
    pub(super) facts: TaskFacts,
    /// Skills in `environment/skills`, by name, with the tokens of their bodies.
    pub(super) skills: BTreeMap<String, usize>,
}

impl TaskBeside {
    /// All of its skills. `None` if it has none, because then they may be elsewhere.
    pub(super) fn all_skills(&self) -> Option<KnownSkills> {
        let tokens = self.skills.values().sum();
        let known = KnownSkills { number: Some(self.skills.len()), body_tokens: Some(tokens) };
        Some(known).filter(|_| !self.skills.is_empty())
    }

    /// Tokens of some of its skills; `None` if it does not have all of them.
    pub(super) fn tokens_of<'n>(&self, names: impl Iterator<Item = &'n String>) -> Option<usize> {
        names.map(|name| self.skills.get(name).copied()).sum()
    }
}

/// Where tasks of a job may be.
pub(super) struct TaskSearch<'a> {
    /// The trial's folder.
    pub(super) trial: &'a Path,
    /// The folder that the user named, above it.
    pub(super) root: &'a Path,
    /// The task's name, perhaps with an organization: `org/name`.
    pub(super) name: &'a str,
    /// Its path, as the job states it.
    pub(super) path: Option<&'a str>,
}

impl TaskSearch<'_> {
    /// The copy of the task in the trial's folder; `None` if there is none.
    pub(super) fn find_copy(&self) -> Option<TaskBeside> {
        ["", "task"].iter().find_map(|place| self.read(self.trial, Path::new(place), true))
    }

    /// The nearest folder of the task beside the trial; `None` if there is none.
    pub(super) fn find_beside(&self) -> Option<TaskBeside> {
        let places = self.places();
        let read = |folder: &PathBuf| places.iter().find_map(|place| self.read(folder, place, false));
        self.folders().iter().find_map(read)
    }

    /// Tokens of the body of a skill whose path the job states.
    pub(super) fn find_skill(&self, source: &str) -> Option<usize> {
        let places = ends_of(source);
        self.folders().iter().find_map(|folder| places.iter().find_map(|place| body_tokens(folder, place)))
    }

    /// The folders above the trial, nearest first, those above the one that the user named, and those beside it.
    fn folders(&self) -> Vec<PathBuf> {
        let within = self.trial.ancestors().skip(1).take_while(|folder| folder.starts_with(self.root));
        let above = within.chain(self.root.ancestors().skip(1).take(ABOVE)).map(Path::to_owned);
        let entries = self.root.parent().and_then(|parent| std::fs::read_dir(parent).ok());
        let plain = |entry: std::fs::DirEntry| Some(entry.path()).filter(|_| is_folder(&entry));
        let mut beside: Vec<PathBuf> =
            entries.into_iter().flatten().flatten().take(BESIDE).filter_map(plain).collect();
        beside.sort();
        above.chain(beside).collect()
    }

    /// The last part of its name.
    fn last_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(self.name)
    }

    /// Paths below a folder at which it may be: the end of the stated path, the longest first, and its name.
    fn places(&self) -> Vec<PathBuf> {
        let mut places = ends_of(self.path.unwrap_or_default());
        let name = Path::new(self.last_name());
        if matches!(name.components().next(), Some(Component::Normal(_))) {
            places.extend([Path::new("tasks").join(name), name.to_owned()]);
        }
        let mut seen = BTreeSet::new();
        places.retain(|place| seen.insert(place.clone()));
        places
    }

    /// The task in a folder, if it is this one.
    fn read(&self, folder: &Path, place: &Path, is_own: bool) -> Option<TaskBeside> {
        let bytes = read_beneath(folder, &place.join("task.toml"), TOML_CAP).ok()??;
        let table: toml::Table = toml::from_str(std::str::from_utf8(&bytes).ok()?).ok()?;
        let stated = table.get("task").and_then(|task| task.get("name")).and_then(toml::Value::as_str);
        let is_named = |name: &str| name == self.name || name.rsplit('/').next() == Some(self.last_name());
        let folder_name = place.file_name().and_then(|name| name.to_str());
        let is_this = is_own || stated.or(folder_name).is_some_and(is_named);
        is_this.then(|| TaskBeside { facts: facts(&table), skills: skills(folder, place) })
    }
}

/// The last parts of a path together, the longest end first.
fn ends_of(path: &str) -> Vec<PathBuf> {
    let normal = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        _ => None,
    };
    let parts: Vec<_> = Path::new(path).components().filter_map(normal).collect();
    (1..=PARTS.min(parts.len())).rev().map(|count| parts[parts.len() - count..].iter().collect()).collect()
}

/// Tokens of the body of the skill in a folder; `None` if there is none.
fn body_tokens(folder: &Path, place: &Path) -> Option<usize> {
    ["SKILL.md", "skill.md"].into_iter().find_map(|file| {
        let bytes = read_beneath(folder, &place.join(file), SKILL_CAP).ok()??;
        let (document, _) = assay_skill::Document::parse(&bytes, Path::new(file));
        Some(assay_skill::tokens(document.body()))
    })
}

/// The labels of a `task.toml`.
fn facts(table: &toml::Table) -> TaskFacts {
    let metadata = table.get("metadata");
    let text = |value: Option<&toml::Value>| {
        let text: String = value?.as_str()?.trim().chars().take(LABEL).collect();
        (!text.is_empty()).then_some(text)
    };
    let label = |key: &str| text(metadata.and_then(|metadata| metadata.get(key)));
    let own = metadata.and_then(|metadata| metadata.get("assay"));
    TaskFacts {
        difficulty: label("difficulty"),
        category: label("category"),
        cluster: text(own.and_then(|own| own.get("cluster"))),
    }
}

/// The skills in a task's `environment/skills`, with the tokens of their bodies.
fn skills(folder: &Path, place: &Path) -> BTreeMap<String, usize> {
    let relative = place.join("environment/skills");
    let mut skills = BTreeMap::new();
    let Some(entries) = plain_folder(folder, &relative).and_then(|path| std::fs::read_dir(path).ok()) else {
        return skills;
    };
    for entry in entries.flatten().take(SKILLS) {
        let name = entry.file_name();
        if let Some(tokens) = body_tokens(folder, &relative.join(&name)) {
            skills.insert(name.to_string_lossy().into_owned(), tokens);
        }
    }
    skills
}

/// Whether an entry is a folder and no link to one.
fn is_folder(entry: &std::fs::DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// A folder below another one, if no part of its path is a link.
fn plain_folder(folder: &Path, relative: &Path) -> Option<PathBuf> {
    let mut path = folder.to_owned();
    for part in relative.components() {
        let Component::Normal(name) = part else { return None };
        path.push(name);
        path.symlink_metadata().ok().filter(std::fs::Metadata::is_dir)?;
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_found_by_the_end_of_their_path() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "tasks/a/task.toml",
            "[metadata]\ncategory = \" web \"\ndifficulty = \"hard\"\n[metadata.assay]\ncluster = \"c\"",
        );
        write(
            "tasks/a/environment/skills/one/SKILL.md",
            "---\nname: one\ndescription: d\n---\nSome words.\n",
        );
        write("tasks/other/task.toml", "[task]\nname = \"org/b\"\n[metadata]\ncategory = \"cli\"");
        write("suite/d/task.toml", "[metadata]\ncategory = \"beside\"");
        write("jobs/day/x__1/result.json", "{}");
        write("jobs/day/y__1/task.toml", "[metadata]\ncategory = \"copied\"");
        let (root, job) = (folder.path().join("jobs"), folder.path().join("jobs/day"));
        let category = |trial: &str, name: &str, path: Option<&str>| {
            let search = TaskSearch { trial: &job.join(trial), root: &root, name, path };
            let found = search.find_copy().or_else(|| search.find_beside());
            found.map(|found| found.facts.category.unwrap_or_default())
        };
        let check = |trial: &str, name: &str, path: Option<&str>, expected: Option<&str>| {
            assert_eq!(category(trial, name, path).as_deref(), expected, "{trial} {name} {path:?}");
        };
        check("x__1", "a", Some("/home/someone/proj/tasks/a"), Some("web"));
        check("x__1", "org/a", None, Some("web"));
        check("x__1", "org/b", Some("tasks/other"), Some("cli"));
        // The folder is that of another task.
        check("x__1", "c", Some("tasks/other"), None);
        check("x__1", "c", Some("../../../etc"), None);
        check("y__1", "c", None, Some("copied"));
        check("x__1", "d", Some("/elsewhere/tasks/d"), Some("beside"));
        let search = TaskSearch { trial: &job.join("x__1"), root: &root, name: "a", path: None };
        let found = search.find_beside().unwrap();
        assert_eq!(
            (found.facts.cluster.as_deref(), found.facts.difficulty.as_deref()),
            (Some("c"), Some("hard"))
        );
        assert!(found.skills["one"] > 0);
        assert_eq!(found.all_skills().unwrap().number, Some(1));
        assert_eq!(search.find_skill("/elsewhere/a/environment/skills/one"), None);
        assert_eq!(search.find_skill("/x/environment/skills/one"), None);
        assert_eq!(found.tokens_of([&"one".to_owned(), &"two".to_owned()].into_iter()), None);
    }

    #[test]
    #[cfg(unix)]
    fn no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (outside, root) = (folder.path().join("outside/t"), folder.path().join("a/b/c/d/jobs"));
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::create_dir_all(root.join("t__1")).unwrap();
        std::fs::write(outside.join("task.toml"), "[metadata]\ncategory = \"x\"").unwrap();
        std::os::unix::fs::symlink(folder.path().join("outside"), root.join("tasks")).unwrap();
        let search = TaskSearch { trial: &root.join("t__1"), root: &root, name: "t", path: None };
        assert_eq!(search.find_beside(), None);
    }
}
