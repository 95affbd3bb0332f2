//! Reading the files of a search, each by its format.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use assay_fs::tree::normalize;
use assay_fs::{read_beneath, read_within};
use assay_skill::decode;

use super::instruction;
use super::scenarios::{Infeasible, Input, Refused, Scenario, Scenarios};
use crate::format::source::{at_line, line_of, reference_in, unread_note};
use crate::format::{
    Format, FormatError, devai, dotnet, paperbench, promptfoo, rewardkit, skill_creator, tessl, waza,
};
use crate::rubric::Rubric;

/// Most bytes of a file that is read.
const CAP: u64 = 16 << 20;

/// Most bytes of a file to which a rubric refers.
const REFERENCE_CAP: u64 = 1 << 20;

/// Reads each file below a root that is, or belongs to, a scenario.
pub(super) fn read(root: &Path, files: &[PathBuf]) -> Scenarios {
    let mut search = Search { root, files, found: Scenarios::default() };
    for file in files {
        search.read(file);
    }
    search.found
}

struct Search<'a> {
    root: &'a Path,
    files: &'a [PathBuf],
    found: Scenarios,
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

/// The text of a file, and what is said of keys in it that are not read.
struct SourceText<'t> {
    text: &'t str,
    unread: Option<String>,
}

impl<'t> SourceText<'t> {
    fn json(text: &'t str, keys: &[&str]) -> Self {
        let document = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
        Self { text, unread: unread_note(text, &document, keys) }
    }

    fn yaml(text: &'t str, keys: &[&str]) -> Self {
        let document = crate::format::yaml(text).unwrap_or_default();
        Self { text, unread: unread_note(text, &document, keys) }
    }

    /// Of a format whose reader names keys itself.
    fn plain(text: &'t str) -> Self {
        Self { text, unread: None }
    }
}

impl Search<'_> {
    fn read(&mut self, file: &Path) {
        let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
        match name {
            "criteria.json" => self.tessl(file),
            "task.md" => self.task_without_criteria(file),
            "summary_infeasible.json" => match self.text(file).and_then(|text| tessl::read_infeasible(&text))
            {
                Ok(scenarios) => {
                    self.found.infeasible.push(Infeasible { path: file.to_path_buf(), scenarios });
                }
                Err(reason) => self.refuse(file, None, &reason),
            },
            "evals.json" => self.skill_creator(file),
            "eval.yaml" | "eval.yml" => self.evaluation(file),
            "rubric.json" => self.own(file),
            "promptfooconfig.yaml" | "promptfooconfig.yml" => self.promptfoo(file),
            _ => match file.extension().and_then(OsStr::to_str) {
                Some("toml") => self.rewardkit(file),
                Some("json") => self.json(file),
                // Named by itself, a configuration may have any name.
                Some("yaml" | "yml") if self.files.len() == 1 => self.named_configuration(file),
                _ => {}
            },
        }
    }

    /// The text of a file below the root.
    fn text(&self, file: &Path) -> Result<String, FormatError> {
        Ok(decode(&self.bytes(file)?).text)
    }

    /// The text of a file that another one names, below the folder of that one. No link is followed.
    fn text_beside(&self, folder: &Path, path: &str) -> Option<String> {
        let path = normalize(Path::new(path)).filter(|path| path.is_relative())?;
        let bytes = read_beneath(self.root, &folder.join(path), REFERENCE_CAP).ok()??;
        Some(decode(&bytes).text)
    }

    fn bytes(&self, file: &Path) -> Result<Vec<u8>, FormatError> {
        let content = read_within(self.root, file, CAP)
            .map_err(|error| FormatError::unusable(format!("cannot read it: {error}")))?;
        if content.truncated {
            return Err(FormatError::unusable(format!("larger than {} MB", CAP >> 20)));
        }
        Ok(content.bytes)
    }

    fn refuse(&mut self, file: &Path, part: Option<&str>, reason: &FormatError) {
        let path = match part {
            Some(part) => format!("{}#{part}", file.display()),
            None => file.display().to_string(),
        };
        self.found.refused.push(Refused { path, reason: reason.to_string() });
    }

    /// Adds a scenario, with a note on keys of its file that are not read; refused if a value of it stands for another text.
    fn add(&mut self, file: &Path, part: Option<&str>, source: &SourceText<'_>, mut scenario: Scenario) {
        let reference = {
            let items = scenario.rubric.all().map(|item| item.text.as_str());
            let mut texts = items.chain(scenario.rubric.context.as_deref());
            // A scenario's instruction in a file of its own is any text.
            let prompt = scenario.instruction.as_deref().filter(|text| source.text.contains(text.trim()));
            prompt.and_then(reference_in).or_else(|| texts.find_map(reference_in)).map(str::to_owned)
        };
        if let Some(reference) = reference {
            let message =
                format!("{reference:?} is a reference that is not resolved: write the text in its place");
            let reason = FormatError::unusable(at_line(line_of(source.text, &reference), &message));
            return self.refuse(file, part, &reason);
        }
        scenario.notes.extend(source.unread.clone());
        self.found.scenarios.push(scenario);
    }

    fn tessl(&mut self, file: &Path) {
        let folder = file.parent().unwrap_or(Path::new(""));
        let read = self.text(file).and_then(|text| Ok((self.tessl_scenario(&text, folder)?, text)));
        match read {
            Ok((scenario, text)) => self.add(file, None, &SourceText::json(&text, &tessl::KEYS), scenario),
            Err(reason) => self.refuse(file, None, &reason),
        }
    }

    fn tessl_scenario(&self, text: &str, folder: &Path) -> Result<Scenario, FormatError> {
        let (dialect, read) = tessl::read(text)?;
        let task = folder.join("task.md");
        if !self.root.join(&task).exists() {
            return Err(FormatError::unusable("task.md is not beside it"));
        }
        let task = self.text(&task).map_err(|reason| FormatError::unusable(format!("task.md: {reason}")))?;
        let instruction = instruction::from_task(&task);
        if instruction.text.trim().is_empty() {
            return Err(FormatError::unusable("task.md: empty"));
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
        match self.text(file).and_then(|text| Rubric::parse(&text).map_err(FormatError::from)) {
            Ok(rubric) => {
                let name = self.folder_name(task);
                let new = New { path: task, format: Format::Assay, group: String::new(), name };
                self.found.scenarios.push(new.scenario(instruction, rubric));
            }
            Err(reason) => self.refuse(file, None, &reason),
        }
    }

    /// The files below a folder, as inputs.
    fn below(&self, folder: &Path) -> Result<Vec<Input>, FormatError> {
        let files = self.files.iter().filter_map(|file| Some((file, file.strip_prefix(folder).ok()?)));
        files
            .map(|(file, to)| {
                let content = self
                    .bytes(file)
                    .map_err(|reason| FormatError::unusable(format!("{}: {reason}", file.display())))?;
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
            self.refuse(file, None, &FormatError::unusable("criteria.json is not beside it"));
        }
    }

    fn skill_creator(&mut self, file: &Path) {
        let read = self.text(file).and_then(|text| Ok((skill_creator::read(&text)?, text)));
        let ((skill, evals), text) = match read {
            Ok(read) => read,
            Err(reason) => return self.refuse(file, None, &reason),
        };
        let source = SourceText::json(&text, &skill_creator::KEYS);
        let folder = file.parent().unwrap_or(Path::new(""));
        let group = skill.unwrap_or_else(|| self.group(folder));
        for eval in evals {
            match self.eval(file, folder, &group, &eval) {
                Ok(scenario) => self.add(file, Some(&eval.id), &source, scenario),
                Err(reason) => self.refuse(file, Some(&eval.id), &reason),
            }
        }
    }

    fn eval(
        &self,
        file: &Path,
        folder: &Path,
        group: &str,
        eval: &skill_creator::Eval,
    ) -> Result<Scenario, FormatError> {
        let rubric = eval.rubric.clone()?;
        if eval.prompt.trim().is_empty() {
            return Err(FormatError::unusable("it has no prompt"));
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
    fn input(&self, folders: &[&Path], path: &str, to: &str) -> Result<Vec<Input>, FormatError> {
        let to = normalize(Path::new(to)).filter(|to| to.is_relative());
        let to = to.ok_or_else(|| {
            FormatError::unusable(format!("the input file {path:?} is outside of its folder"))
        })?;
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
        Err(FormatError::unusable(format!("the input file {path:?} is not there")))
    }

    /// An `eval.yaml`, which two tools have.
    fn evaluation(&mut self, file: &Path) {
        let text = match self.text(file) {
            Ok(text) => text,
            Err(reason) => return self.refuse(file, None, &reason),
        };
        let has = |key: &str| text.lines().any(|line| line.starts_with(&format!("{key}:")));
        if has("scenarios") {
            match dotnet::read(&text) {
                Ok(scenarios) => self.dotnet(file, &text, scenarios),
                Err(reason) => self.refuse(file, None, &reason),
            }
        } else if has("tasks") || has("tasks_from") || has("graders") {
            match waza::read(&text) {
                Ok(evaluation) => self.waza(file, &text, &evaluation),
                Err(reason) => self.refuse(file, None, &reason),
            }
        } else {
            self.refuse(file, None, &FormatError::unusable("it has neither `scenarios` nor `tasks`"));
        }
    }

    fn dotnet(&mut self, file: &Path, text: &str, scenarios: Vec<dotnet::Scenario>) {
        let source = SourceText::yaml(text, &dotnet::KEYS);
        let group = self.folder_name(file.parent().unwrap_or(Path::new("")));
        for own in scenarios {
            let rubric = match own.rubric {
                Ok(rubric) => rubric,
                Err(reason) => {
                    self.refuse(file, Some(&own.name), &reason);
                    continue;
                }
            };
            let name = own.name.clone();
            let new = New { path: file, format: Format::Dotnet, group: group.clone(), name: own.name };
            let mut scenario = new.scenario(Some(own.prompt), rubric);
            if own.has_setup {
                scenario.notes.push("`setup` is not read: add its files to the work folder".to_owned());
            }
            if own.assertions > 0 {
                scenario.notes.push(format!("{} assertions are not read", own.assertions));
            }
            self.add(file, Some(&name), &source, scenario);
        }
    }

    fn waza(&mut self, file: &Path, text: &str, evaluation: &waza::Evaluation) {
        let whole = SourceText::yaml(text, &waza::EVALUATION_KEYS);
        let folder = file.parent().unwrap_or(Path::new(""));
        let group = evaluation.skill.clone().unwrap_or_else(|| self.folder_name(folder));
        let mut tasks: Vec<(PathBuf, String, waza::Task)> = Vec::new();
        tasks.extend(evaluation.tasks.iter().map(|task| (file.to_path_buf(), text.to_owned(), task.clone())));
        for pattern in &evaluation.files {
            let matching = self.matching(folder, pattern);
            if matching.is_empty() {
                self.refuse(file, None, &FormatError::unusable(format!("no file matches {pattern:?}")));
            }
            for path in matching {
                match self.text(&path).and_then(|text| Ok((evaluation.read_task(&text)?, text))) {
                    Ok((task, text)) => tasks.push((path, text, task)),
                    Err(reason) => self.refuse(&path, None, &reason),
                }
            }
        }
        for (path, text, task) in tasks {
            let own = SourceText::yaml(&text, &waza::KEYS);
            let unread = if path == file { None } else { own.unread };
            let notes: Vec<String> = unread.into_iter().chain(whole.unread.clone()).collect();
            let own = SourceText { text: &text, unread: (!notes.is_empty()).then(|| notes.join("; ")) };
            match self.waza_task(&path, folder, &group, &task).map_err(|error| error.with_line(&text)) {
                Ok(scenario) => self.add(&path, Some(&task.id), &own, scenario),
                Err(reason) => self.refuse(&path, Some(&task.id), &reason),
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
    ) -> Result<Scenario, FormatError> {
        let rubric = task.rubric.clone()?;
        if task.prompt.trim().is_empty() {
            return Err(FormatError::unusable("it has no prompt"));
        }
        let new = New { path, format: Format::Waza, group: group.to_owned(), name: task.id.clone() };
        let mut scenario = new.scenario(Some(task.prompt.clone()), rubric);
        scenario.title.clone_from(&task.name);
        scenario.notes.clone_from(&task.notes);
        let fixtures = folder.join("fixtures");
        for (to, content) in &task.files {
            match content {
                Some(content) => match normalize(Path::new(to)).filter(|to| to.is_relative()) {
                    Some(to) => scenario.inputs.push(Input { to, content: content.clone().into_bytes() }),
                    None => {
                        return Err(FormatError::unusable(format!(
                            "the input file {to:?} is outside of its folder"
                        )));
                    }
                },
                None => scenario.inputs.extend(self.input(&[&fixtures, folder], to, to)?),
            }
        }
        if !task.left_out.is_empty() {
            scenario.notes.push(format!("graders that are not read: {}", task.left_out.join(", ")));
        }
        Ok(scenario)
    }

    fn named_configuration(&mut self, file: &Path) {
        let Ok(text) = self.text(file) else { return };
        let has = |key: &str| text.lines().any(|line| line.starts_with(&format!("{key}:")));
        if has("prompts") && (has("tests") || has("scenarios")) {
            self.promptfoo(file);
        } else if has("scenarios") || has("tasks") || has("graders") {
            self.evaluation(file);
        }
    }

    fn promptfoo(&mut self, file: &Path) {
        let folder = file.parent().unwrap_or(Path::new(""));
        let read = self.text(file).and_then(|text| {
            let tests = promptfoo::read(&text, &|path| self.text_beside(folder, path))?;
            Ok((tests, text))
        });
        let (tests, text) = match read {
            Ok(read) => read,
            Err(reason) => return self.refuse(file, None, &reason),
        };
        let source = SourceText::plain(&text);
        let group = self.folder_name(file.parent().unwrap_or(Path::new("")));
        for test in tests {
            match test.rubric {
                Ok(rubric) => {
                    let name = test.name.clone();
                    let new =
                        New { path: file, format: Format::Promptfoo, group: group.clone(), name: test.name };
                    let mut scenario = new.scenario(test.prompt, rubric);
                    scenario.notes = test.notes;
                    if !test.left_out.is_empty() {
                        scenario
                            .notes
                            .push(format!("assertions that are not read: {}", test.left_out.join(", ")));
                    }
                    self.add(file, Some(&name), &source, scenario);
                }
                Err(reason) => self.refuse(file, Some(&test.name), &reason),
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
        match rewardkit::read(&text, set, &|path| self.text_beside(folder, path)) {
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
                self.add(file, None, &SourceText::plain(&text), scenario);
            }
            Err(reason) => self.refuse(file, None, &reason),
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
                    self.add(file, None, &SourceText::json(&text, &paperbench::KEYS), scenario);
                }
                Err(reason) => self.refuse(file, None, &reason),
            }
        } else if has("requirements") && has("criteria") && has("query") {
            match devai::read(&text) {
                Ok(task) => {
                    let new =
                        New { path: file, format: Format::DevAi, group: String::new(), name: task.name };
                    let scenario = new.scenario(Some(task.query), task.read.rubric);
                    self.add(file, None, &SourceText::json(&text, &devai::KEYS), scenario);
                }
                Err(reason) => self.refuse(file, None, &reason),
            }
        }
    }
}
