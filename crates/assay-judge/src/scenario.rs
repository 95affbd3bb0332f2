//! Scenarios: instructions with their rubrics, found below a folder in any of the formats.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use assay_fs::tree::{normalize, walk};
use assay_fs::{FileKind, read_within};
use assay_skill::decode;

use crate::format::tessl::InfeasibleScenario;
use crate::format::{
    Format, devai, dotnet, paperbench, promptfoo, rewardkit, skill_creator, slug, tessl, waza,
};
use crate::rubric::Rubric;

mod instruction;

/// Most bytes of a file that is read.
const CAP: u64 = 16 << 20;

/// Folders that are never searched.
const SKIPPED: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// An instruction with its rubric.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The file or folder that it was read from, relative to the root of the search.
    pub path: PathBuf,
    /// The format.
    pub format: Format,
    /// What it belongs to, such as a skill: scenarios of one group are not independent.
    pub group: String,
    /// Its name, unique among the scenarios found: lower-case words joined by hyphens.
    pub name: String,
    /// What its author calls it.
    pub title: Option<String>,
    /// What the agent is told. `None`: the rubric has no instruction of its own.
    pub instruction: Option<String>,
    /// The rubric, which was checked.
    pub rubric: Rubric,
    /// The initial content of the work folder.
    pub inputs: Vec<Input>,
    /// Texts that the agent must not see, such as the answers of a simulated user: name and content.
    pub hidden: Vec<(String, String)>,
    /// Skills that it is about: each SKILL.md below the folder that contains `evals`, relative to the root of the
    /// search.
    pub skills: Vec<PathBuf>,
    /// For a graded tree: recorded scores of groups that are those computed, of how many.
    pub recorded: Option<(usize, usize)>,
    /// What is odd about it.
    pub notes: Vec<String>,
}

/// A file of the initial work folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its path in the work folder.
    pub to: PathBuf,
    /// Its content.
    pub content: Vec<u8>,
}

/// A scenario that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The file, relative to the root of the search, with `#id` for a part of it.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// Scenarios that their author found impossible to judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Infeasible {
    /// The file that lists them, relative to the root of the search.
    pub path: PathBuf,
    /// What it lists.
    pub scenarios: Vec<InfeasibleScenario>,
}

/// What was found below a folder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The scenarios, by path.
    pub scenarios: Vec<Scenario>,
    /// What looks like a scenario and is not, and why.
    pub refused: Vec<Refused>,
    /// Lists of scenarios that cannot be judged.
    pub infeasible: Vec<Infeasible>,
}

/// Reads every scenario below a folder, or in a file. Links are not followed.
///
/// # Errors
/// The path cannot be read.
pub fn find(path: &Path) -> std::io::Result<Found> {
    let metadata = fs::metadata(path)?;
    let (root, files) = if metadata.is_dir() {
        (path.to_path_buf(), files_below(path))
    } else {
        let root = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        (root.to_path_buf(), path.file_name().map(PathBuf::from).into_iter().collect())
    };
    let mut search = Search { root, files, found: Found::default() };
    for file in search.files.clone() {
        search.read(&file);
    }
    let mut found = search.found;
    for scenario in &mut found.scenarios {
        scenario.skills = skills_of(&scenario.path, &search.files);
    }
    name_uniquely(&mut found.scenarios);
    Ok(found)
}

fn files_below(root: &Path) -> Vec<PathBuf> {
    let is_skipped =
        |path: &Path| path.components().any(|part| SKIPPED.iter().any(|name| part.as_os_str() == *name));
    let files = walk(root).nodes.into_iter().filter(|node| node.kind == FileKind::File);
    files.map(|node| node.path).filter(|path| !is_skipped(path)).collect()
}

/// Most skills of a scenario: of more it is not known which it is about.
const MOST_SKILLS: usize = 100;

/// The `SKILL.md` files below the folder that contains `evals`.
fn skills_of(scenario: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    let Some(evals) =
        scenario.ancestors().find(|above| above.file_name().is_some_and(|name| name == "evals"))
    else {
        return Vec::new();
    };
    let owner = evals.parent().unwrap_or(Path::new(""));
    let is_skill = |file: &&PathBuf| file.starts_with(owner) && file.ends_with("SKILL.md");
    let skills: Vec<PathBuf> = files.iter().filter(is_skill).cloned().collect();
    let own = owner.join("SKILL.md");
    if skills.contains(&own) {
        return vec![own];
    }
    if skills.len() > MOST_SKILLS { Vec::new() } else { skills }
}

/// Puts the group before the names of scenarios, and numbers those that are still equal.
fn name_uniquely(scenarios: &mut [Scenario]) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for scenario in scenarios {
        let (group, own) = (slug(&scenario.group), slug(&scenario.name));
        let name = match (group.is_empty(), own.is_empty()) {
            (false, false) => format!("{group}-{own}"),
            (true, false) => own,
            (false, true) => group,
            (true, true) => "scenario".to_owned(),
        };
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        scenario.name = if *count == 1 { name } else { format!("{name}-{count}") };
    }
}

struct Search {
    root: PathBuf,
    files: Vec<PathBuf>,
    found: Found,
}

/// What the readers of the formats have in common.
struct New<'a> {
    path: &'a Path,
    format: Format,
    group: String,
    name: String,
}

impl New<'_> {
    fn scenario(self, instruction: Option<String>, rubric: Rubric) -> Scenario {
        Scenario {
            path: self.path.to_path_buf(),
            format: self.format,
            group: self.group,
            name: self.name,
            title: None,
            instruction,
            rubric,
            inputs: Vec::new(),
            hidden: Vec::new(),
            skills: Vec::new(),
            recorded: None,
            notes: Vec::new(),
        }
    }
}

impl Search {
    fn read(&mut self, file: &Path) {
        let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
        match name {
            "criteria.json" => self.tessl(file),
            "task.md" => self.task_without_criteria(file),
            "summary_infeasible.json" => match self.text(file).and_then(|text| tessl::read_infeasible(&text))
            {
                Ok(scenarios) => {
                    self.found.infeasible.push(Infeasible { path: file.to_path_buf(), scenarios })
                }
                Err(reason) => self.refuse(file, None, reason),
            },
            "evals.json" => self.skill_creator(file),
            "eval.yaml" | "eval.yml" => self.evaluation(file),
            "rubric.json" => self.own(file),
            "promptfooconfig.yaml" | "promptfooconfig.yml" => self.promptfoo(file),
            _ if name.ends_with(".toml") => self.rewardkit(file),
            _ if name.ends_with(".json") => self.json(file),
            _ => {}
        }
    }

    /// The text of a file below the root.
    fn text(&self, file: &Path) -> Result<String, String> {
        Ok(decode(&self.bytes(file)?).text)
    }

    fn bytes(&self, file: &Path) -> Result<Vec<u8>, String> {
        let content =
            read_within(&self.root, file, CAP).map_err(|error| format!("cannot read it: {error}"))?;
        if content.truncated {
            return Err(format!("larger than {} MB", CAP >> 20));
        }
        Ok(content.bytes)
    }

    fn refuse(&mut self, file: &Path, part: Option<&str>, reason: impl Into<String>) {
        let path = match part {
            Some(part) => format!("{}#{part}", file.display()),
            None => file.display().to_string(),
        };
        self.found.refused.push(Refused { path, reason: reason.into() });
    }

    fn tessl(&mut self, file: &Path) {
        let folder = file.parent().unwrap_or(Path::new(""));
        match self.tessl_scenario(file, folder) {
            Ok(scenario) => self.found.scenarios.push(scenario),
            Err(reason) => self.refuse(file, None, reason),
        }
    }

    fn tessl_scenario(&self, file: &Path, folder: &Path) -> Result<Scenario, String> {
        let (dialect, read) = tessl::read(&self.text(file)?)?;
        let task = folder.join("task.md");
        if !self.root.join(&task).exists() {
            return Err("task.md is not beside it".to_owned());
        }
        let task = self.text(&task).map_err(|reason| format!("task.md: {reason}"))?;
        let instruction = instruction::from_task(&task);
        if instruction.text.trim().is_empty() {
            return Err("task.md: empty".to_owned());
        }
        let new = New {
            path: folder,
            format: match dialect {
                tessl::Dialect::Checklist => Format::Tessl,
                tessl::Dialect::Criteria => Format::TesslCriteria,
            },
            group: self.group(folder),
            name: self.folder_name(folder),
        };
        let mut scenario = new.scenario(Some(instruction.text), read.rubric);
        scenario.notes = read.notes;
        scenario.notes.extend(instruction.notes);
        if instruction.is_part {
            scenario.hidden.push(("task.md".to_owned(), task));
        }
        scenario.title = self
            .text(&folder.join("capability.txt"))
            .ok()
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
            .or_else(|| scenario.rubric.title.clone());
        if let Ok(answers) = self.text(&folder.join("answers.md")) {
            scenario.notes.push("answers.md describes a user, who is not simulated".to_owned());
            scenario.hidden.push(("answers.md".to_owned(), answers));
        }
        for fixture in ["fixture", "fixtures"] {
            scenario.inputs.extend(self.below(&folder.join(fixture))?);
        }
        Ok(scenario)
    }

    /// The rubric of a task of ours.
    fn own(&mut self, file: &Path) {
        let Some(task) = file.parent().filter(|tests| tests.ends_with("tests")).and_then(Path::parent) else {
            return;
        };
        let instruction = self.text(&task.join("instruction.md")).ok();
        match self.text(file).and_then(|text| Rubric::parse(&text).map_err(|error| error.to_string())) {
            Ok(rubric) => {
                let name = self.folder_name(task);
                let new = New { path: task, format: Format::Assay, group: String::new(), name };
                self.found.scenarios.push(new.scenario(instruction, rubric));
            }
            Err(reason) => self.refuse(file, None, reason),
        }
    }

    /// The files below a folder, as inputs.
    fn below(&self, folder: &Path) -> Result<Vec<Input>, String> {
        let files = self.files.iter().filter_map(|file| Some((file, file.strip_prefix(folder).ok()?)));
        files
            .map(|(file, to)| {
                let content = self.bytes(file).map_err(|reason| format!("{}: {reason}", file.display()))?;
                Ok(Input { to: to.to_path_buf(), content })
            })
            .collect()
    }

    /// The name of the folder that contains `evals`, which is that of a skill or a plugin.
    fn group(&self, folder: &Path) -> String {
        let names: Vec<&str> = folder.iter().filter_map(OsStr::to_str).collect();
        let place = names.iter().rposition(|name| ["evals", "eval", "scenarios"].contains(name));
        match place {
            Some(0) => self.folder_name(Path::new("")),
            Some(place) => names[place - 1].to_owned(),
            None => String::new(),
        }
    }

    /// The name of a folder; of the root if it is that.
    fn folder_name(&self, folder: &Path) -> String {
        let name = |path: &Path| path.file_name().and_then(OsStr::to_str).map(str::to_owned);
        let own = || self.root.canonicalize().ok().and_then(|root| name(&root));
        name(folder).or_else(own).unwrap_or_default()
    }

    fn task_without_criteria(&mut self, file: &Path) {
        let folder = file.parent().unwrap_or(Path::new(""));
        let is_there = |name: &str| self.root.join(folder).join(name).exists();
        let is_scenario = folder.iter().any(|part| part == "evals");
        if is_scenario && !is_there("criteria.json") && !is_there("metadata.json") {
            self.refuse(file, None, "criteria.json is not beside it");
        }
    }

    fn skill_creator(&mut self, file: &Path) {
        let (skill, evals) = match self.text(file).and_then(|text| skill_creator::read(&text)) {
            Ok(read) => read,
            Err(reason) => return self.refuse(file, None, reason),
        };
        let folder = file.parent().unwrap_or(Path::new(""));
        let group = skill.unwrap_or_else(|| self.group(folder));
        for eval in evals {
            match self.eval(file, folder, &group, &eval) {
                Ok(scenario) => self.found.scenarios.push(scenario),
                Err(reason) => self.refuse(file, Some(&eval.id), reason),
            }
        }
    }

    fn eval(
        &self,
        file: &Path,
        folder: &Path,
        group: &str,
        eval: &skill_creator::Eval,
    ) -> Result<Scenario, String> {
        let rubric = eval.rubric.clone()?;
        if eval.prompt.trim().is_empty() {
            return Err("it has no prompt".to_owned());
        }
        let name = eval.name.clone().unwrap_or_else(|| eval.id.clone());
        let new = New { path: file, format: Format::SkillCreator, group: group.to_owned(), name };
        let mut scenario = new.scenario(Some(eval.prompt.clone()), rubric);
        let skill = folder.parent().unwrap_or(Path::new(""));
        for path in &eval.files {
            scenario.inputs.extend(self.input(&[skill, folder], path, path)?);
        }
        Ok(scenario)
    }

    /// An input file, or a folder of them, below the first of some folders that has it.
    fn input(&self, folders: &[&Path], path: &str, to: &str) -> Result<Vec<Input>, String> {
        let to = normalize(Path::new(to)).filter(|to| to.is_relative());
        let to = to.ok_or_else(|| format!("the input file {path:?} is outside of its folder"))?;
        for folder in folders {
            let Some(from) = normalize(&folder.join(path)) else { continue };
            if let Ok(content) = self.bytes(&from) {
                return Ok(vec![Input { to, content }]);
            }
            let below = self.below(&from)?;
            if !below.is_empty() {
                return Ok(below
                    .into_iter()
                    .map(|input| Input { to: to.join(input.to), content: input.content })
                    .collect());
            }
        }
        Err(format!("the input file {path:?} is not there"))
    }

    /// An `eval.yaml`, which two tools have.
    fn evaluation(&mut self, file: &Path) {
        let text = match self.text(file) {
            Ok(text) => text,
            Err(reason) => return self.refuse(file, None, reason),
        };
        let has = |key: &str| text.lines().any(|line| line.starts_with(&format!("{key}:")));
        if has("scenarios") {
            match dotnet::read(&text) {
                Ok(scenarios) => self.dotnet(file, scenarios),
                Err(reason) => self.refuse(file, None, reason),
            }
        } else if has("tasks") || has("graders") {
            match waza::read(&text) {
                Ok(evaluation) => self.waza(file, &evaluation),
                Err(reason) => self.refuse(file, None, reason),
            }
        } else {
            self.refuse(file, None, "it has neither `scenarios` nor `tasks`");
        }
    }

    fn dotnet(&mut self, file: &Path, scenarios: Vec<dotnet::Scenario>) {
        let group = self.folder_name(file.parent().unwrap_or(Path::new("")));
        for own in scenarios {
            let rubric = match own.rubric {
                Ok(rubric) => rubric,
                Err(reason) => {
                    self.refuse(file, Some(&own.name), reason);
                    continue;
                }
            };
            let new = New { path: file, format: Format::Dotnet, group: group.clone(), name: own.name };
            let mut scenario = new.scenario(Some(own.prompt), rubric);
            if own.has_setup {
                scenario.notes.push("`setup` is not read: add its files to the work folder".to_owned());
            }
            if own.assertions > 0 {
                scenario.notes.push(format!("{} assertions are not read", own.assertions));
            }
            self.found.scenarios.push(scenario);
        }
    }

    fn waza(&mut self, file: &Path, evaluation: &waza::Evaluation) {
        let folder = file.parent().unwrap_or(Path::new(""));
        let group = evaluation.skill.clone().unwrap_or_else(|| self.folder_name(folder));
        let mut tasks: Vec<(PathBuf, waza::Task)> =
            evaluation.tasks.iter().map(|task| (file.to_path_buf(), task.clone())).collect();
        for pattern in &evaluation.files {
            let matching = self.matching(folder, pattern);
            if matching.is_empty() {
                self.refuse(file, None, format!("no file matches {pattern:?}"));
            }
            for path in matching {
                match self.text(&path).and_then(|text| evaluation.read_task(&text)) {
                    Ok(task) => tasks.push((path, task)),
                    Err(reason) => self.refuse(&path, None, reason),
                }
            }
        }
        for (path, task) in tasks {
            match self.waza_task(&path, folder, &group, &task) {
                Ok(scenario) => self.found.scenarios.push(scenario),
                Err(reason) => self.refuse(&path, Some(&task.id), reason),
            }
        }
    }

    /// The files below a folder that a pattern with `*` matches.
    fn matching(&self, folder: &Path, pattern: &str) -> Vec<PathBuf> {
        let Ok(glob) =
            globset::GlobBuilder::new(pattern.trim_start_matches("./")).literal_separator(true).build()
        else {
            return Vec::new();
        };
        let matcher = glob.compile_matcher();
        let is_match = |file: &&PathBuf| file.strip_prefix(folder).is_ok_and(|path| matcher.is_match(path));
        self.files.iter().filter(is_match).cloned().collect()
    }

    fn waza_task(
        &self,
        path: &Path,
        folder: &Path,
        group: &str,
        task: &waza::Task,
    ) -> Result<Scenario, String> {
        let rubric = task.rubric.clone()?;
        if task.prompt.trim().is_empty() {
            return Err("it has no prompt".to_owned());
        }
        let new = New { path, format: Format::Waza, group: group.to_owned(), name: task.id.clone() };
        let mut scenario = new.scenario(Some(task.prompt.clone()), rubric);
        scenario.title = task.name.clone();
        let fixtures = folder.join("fixtures");
        for (to, content) in &task.files {
            match content {
                Some(content) => match normalize(Path::new(to)).filter(|to| to.is_relative()) {
                    Some(to) => scenario.inputs.push(Input { to, content: content.clone().into_bytes() }),
                    None => return Err(format!("the input file {to:?} is outside of its folder")),
                },
                None => scenario.inputs.extend(self.input(&[&fixtures, folder], to, to)?),
            }
        }
        if !task.left_out.is_empty() {
            scenario.notes.push(format!("graders that are not read: {}", task.left_out.join(", ")));
        }
        Ok(scenario)
    }

    fn promptfoo(&mut self, file: &Path) {
        let tests = match self.text(file).and_then(|text| promptfoo::read(&text)) {
            Ok(tests) => tests,
            Err(reason) => return self.refuse(file, None, reason),
        };
        let group = self.folder_name(file.parent().unwrap_or(Path::new("")));
        for test in tests {
            match test.rubric {
                Ok(rubric) => {
                    let new =
                        New { path: file, format: Format::Promptfoo, group: group.clone(), name: test.name };
                    let mut scenario = new.scenario(test.prompt, rubric);
                    if !test.left_out.is_empty() {
                        scenario
                            .notes
                            .push(format!("assertions that are not read: {}", test.left_out.join(", ")));
                    }
                    self.found.scenarios.push(scenario);
                }
                Err(reason) => self.refuse(file, Some(&test.name), reason),
            }
        }
    }

    /// A file of rewardkit, in the tests of a task whose instruction is used.
    fn rewardkit(&mut self, file: &Path) {
        let Ok(text) = self.text(file) else { return };
        if !rewardkit::is_one(&text) {
            return;
        }
        let folder = file.parent().unwrap_or(Path::new(""));
        let set = file.file_stem().and_then(OsStr::to_str).unwrap_or_default();
        match rewardkit::read(&text, set) {
            Ok(read) => {
                let task =
                    folder.ancestors().find(|above| self.root.join(above).join("instruction.md").is_file());
                let instruction = task.and_then(|task| self.text(&task.join("instruction.md")).ok());
                let new = New {
                    path: file,
                    format: Format::RewardKit,
                    group: task.map(|task| self.folder_name(task)).unwrap_or_default(),
                    name: format!("{} {set}", self.folder_name(folder)),
                };
                let mut scenario = new.scenario(instruction, read.rubric);
                scenario.notes = read.notes;
                self.found.scenarios.push(scenario);
            }
            Err(reason) => self.refuse(file, None, reason),
        }
    }

    /// Another JSON file: a task of DevAI, a tree of PaperBench, or neither.
    fn json(&mut self, file: &Path) {
        let Ok(text) = self.text(file) else { return };
        let name = file.file_stem().and_then(OsStr::to_str).unwrap_or_default().to_owned();
        let has = |key: &str| text.contains(&format!("{key:?}"));
        if has("sub_tasks") && has("requirements") && has("weight") {
            match paperbench::read(&text) {
                Ok(tree) => {
                    let recorded = tree.agreement();
                    let new = New { path: file, format: Format::PaperBench, group: String::new(), name };
                    let mut scenario = new.scenario(None, tree.read.rubric);
                    scenario.recorded = recorded;
                    self.found.scenarios.push(scenario);
                }
                Err(reason) => self.refuse(file, None, reason),
            }
        } else if has("requirements") && has("criteria") && has("query") {
            match devai::read(&text) {
                Ok(task) => {
                    let new =
                        New { path: file, format: Format::DevAi, group: String::new(), name: task.name };
                    self.found.scenarios.push(new.scenario(Some(task.query), task.read.rubric));
                }
                Err(reason) => self.refuse(file, None, reason),
            }
        }
    }
}

#[cfg(test)]
mod tests;
