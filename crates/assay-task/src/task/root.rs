//! The folder of a task: its texts and parts, and what is odd about them.

use std::path::Path;
use std::sync::Arc;

use assay_diagnostic::escape;
use assay_fs::tree::{self, Node, Tree};
use assay_skill::{Diagnostic, Encoding, FileKind, Package, Severity, decode};

use super::layout::{Layout, PLUGIN_EVAL_FOLDER, RUBRIC_FILE, missing};
use super::model::{Environment, Grading};
use super::step::Step;
use crate::dockerfile::{SkillCopy, is_verifiers};
use crate::doubles::{self, Doubles, McpMock};
use crate::plugin_eval::{EvalCase, EvalSuite};
use crate::prompt::prompt;
use crate::{Compose, Dockerfile, TaskConfig, TaskError};

/// Most bytes of `task.toml`, `instruction.md` and the Dockerfile.
const TEXT_CAP: u64 = 1 << 20;

/// Most files of the tests that are searched for the name of a folder.
const TESTS_SEARCHED: usize = 200;

pub(super) const ENVIRONMENT: &str = "environment";

const COMPOSE: &str = "environment/docker-compose.yaml";

/// The folder of a task.
pub(super) struct Root<'a> {
    pub(super) dir: &'a Path,
    pub(super) name: String,
}

impl<'a> Root<'a> {
    pub(super) fn open(dir: &'a Path) -> Result<Self, TaskError> {
        let not = |missing: &str, hint: &str| {
            Err(TaskError::NotATask {
                path: dir.to_path_buf(),
                missing: missing.to_owned(),
                hint: hint.to_owned(),
            })
        };
        let own = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let real = std::fs::canonicalize(dir)
            .map_err(|source| TaskError::Read { path: dir.to_path_buf(), source })?;
        if !real.is_dir() {
            return not("it is not a folder", "use the folder that contains task.toml");
        }
        if Layout::of(dir).is_none() {
            if dir.join("task.yaml").exists() {
                return not(
                    "it has a task.yaml of an older format",
                    "convert it: write task.toml and instruction.md",
                );
            }
            if let Some(missing) = missing(dir) {
                return not(&missing, "add what is missing, or exclude the folder from the suite");
            }
            let hint = "write task.toml and instruction.md (`assay init task` creates a skeleton), or exclude the folder from the suite";
            return not("it has no task.toml", hint);
        }
        Ok(Self { dir, name: own(dir).or_else(|| own(&real)).unwrap_or_else(|| "task".to_owned()) })
    }

    /// A text of the task, decoded leniently.
    pub(super) fn text(&self, name: &str, hint: &str) -> Result<(String, Vec<Diagnostic>), TaskError> {
        let path = self.dir.join(name);
        let content = assay_fs::read_within(self.dir, Path::new(name), TEXT_CAP)
            .map_err(|source| TaskError::Read { path: path.clone(), source })?;
        if content.truncated {
            let message = format!("larger than {TEXT_CAP} bytes");
            return Err(TaskError::Part { path, message, hint: hint.to_owned() });
        }
        let decoded = decode(&content.bytes);
        let mut diagnostics = Vec::new();
        let mut note = |message: &str, line| {
            let note = Diagnostic::new(Severity::Warning, "encoding", &path, message).at_line(line);
            diagnostics.push(note.hint("save it as UTF-8 without a byte order mark"));
        };
        match decoded.encoding {
            Encoding::Utf16 => note("UTF-16 text", 1),
            Encoding::Invalid { line } => note("not UTF-8", line),
            Encoding::Utf8 if decoded.byte_order_mark => note("a byte-order mark", 1),
            Encoding::Utf8 => {}
        }
        Ok((decoded.text, diagnostics))
    }

    pub(super) fn part(&self, path: &str, message: &str, hint: &str) -> TaskError {
        TaskError::Part { path: self.dir.join(path), message: message.to_owned(), hint: hint.to_owned() }
    }

    pub(super) fn instruction(
        &self,
        name: &str,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<String, TaskError> {
        let hint = "describe what the agent should do";
        if self.dir.join(name).symlink_metadata().is_err() {
            return Err(self.part(name, "not there", hint));
        }
        let (text, found) = self.text(name, "shorten it: it is too long for any agent")?;
        let text = if name.ends_with("instruction.md") { prompt(&text) } else { text };
        diagnostics.extend(found);
        if text.trim().is_empty() {
            return Err(self.part(name, "empty", hint));
        }
        Ok(text)
    }

    /// The parts without which no trial can be had.
    pub(super) fn check_parts(
        &self,
        nodes: &[Node],
        config: &TaskConfig,
        is_whole: bool,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<(), TaskError> {
        let kind = |path: &str| nodes.iter().find(|node| node.path == Path::new(path)).map(|node| node.kind);
        match kind("tests/test.sh") {
            Some(FileKind::File) => {}
            Some(FileKind::Link) if !tree::escapes(self.dir, Path::new("tests/test.sh")) => {}
            // Each step was found to have its tests.
            _ if !is_whole => {}
            None if kind(RUBRIC_FILE) == Some(FileKind::File) => {}
            None if kind(PLUGIN_EVAL_FOLDER) == Some(FileKind::Directory) => {}
            None if kind("tests/test.bat").is_some() => {
                return Err(self.part(
                    "tests/test.sh",
                    "missing: the verifier is for Windows",
                    "write a shell script",
                ));
            }
            None => {
                return Err(self.part(
                    "tests/test.sh",
                    "not there",
                    "write a script that checks the outcome and writes the reward",
                ));
            }
            Some(_) => {
                return Err(self.part(
                    "tests/test.sh",
                    "not a regular file",
                    "replace it with the script itself",
                ));
            }
        }
        if kind(ENVIRONMENT) != Some(FileKind::Directory) && config.environment.docker_image.is_none() {
            let hint = "add it with a Dockerfile, or set `docker_image` under `[environment]` in task.toml";
            return Err(self.part(ENVIRONMENT, "not there", hint));
        }
        if is_whole {
            // Without tests a solution would prove nothing, and graders may ask for what no solution does.
            let has_tests = kind("tests/test.sh").is_some();
            if has_tests && kind(PLUGIN_EVAL_FOLDER).is_none() {
                self.check_solution(nodes, "write a script that solves the task", diagnostics);
            }
        }
        Ok(())
    }

    /// What decides the result. What is missing without a rubric is an error of its own.
    pub(super) fn grading(&self, nodes: &[Node], has_steps: bool, has_graders: bool) -> Grading {
        let is_file = |node: &Node| node.path == Path::new(RUBRIC_FILE) && node.kind == FileKind::File;
        if has_graders {
            let is_judged = nodes.iter().any(is_file);
            return if is_judged { Grading::GradersAndRubric } else { Grading::Graders };
        }
        match (nodes.iter().any(is_file), has_steps || self.dir.join("tests/test.sh").is_file()) {
            (false, _) => Grading::Tests,
            (true, true) => Grading::TestsAndRubric,
            (true, false) => Grading::Rubric,
        }
    }

    /// Reports a missing `solution/solve.sh`.
    pub(super) fn check_solution(&self, nodes: &[Node], hint: &str, diagnostics: &mut Vec<Diagnostic>) {
        let script = Path::new("solution/solve.sh");
        if !nodes.iter().any(|node| node.path == script && node.kind == FileKind::File) {
            diagnostics.push(
                Diagnostic::new(
                    Severity::Warning,
                    "solution-missing",
                    self.dir.join(script),
                    "no solution: cannot verify that the task is solvable",
                )
                .hint(hint),
            );
        }
    }

    /// The case of `claude plugin eval` that it is, if it is one.
    pub(super) fn eval_case(
        &self,
        nodes: &[Node],
        steps: &[Step],
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Option<Arc<EvalCase>>, TaskError> {
        let path = Path::new(PLUGIN_EVAL_FOLDER);
        if !nodes.iter().any(|node| node.path == path && node.kind == FileKind::Directory) {
            return Ok(None);
        }
        let hint = "write the task again, from its plugin";
        if !steps.is_empty() {
            return Err(self.part(PLUGIN_EVAL_FOLDER, "a task with steps cannot be a case", hint));
        }
        let suite = EvalSuite::load(&self.dir.join(path))
            .map_err(|error| self.part(PLUGIN_EVAL_FOLDER, &error.to_string(), hint))?;
        let mistake = suite.diagnostics.iter().find(|found| found.severity == Severity::Error);
        if let Some(Diagnostic { file, line, column, message, hint, .. }) = mistake {
            return Err(TaskError::Line {
                path: file.clone(),
                line: line.unwrap_or(1),
                column: column.unwrap_or(1),
                message: message.clone(),
                hint: hint.clone().unwrap_or_default(),
            });
        }
        diagnostics.extend(suite.diagnostics);
        match <[EvalCase; 1]>::try_from(suite.cases) {
            Ok([case]) => Ok(Some(Arc::new(case))),
            Err(cases) => {
                let message = format!("{} cases, and a task is one", cases.len());
                Err(self.part(PLUGIN_EVAL_FOLDER, &message, hint))
            }
        }
    }

    /// Its test doubles, with the mocks of its case.
    pub(super) fn doubles(
        &self,
        config: &TaskConfig,
        case: Option<&EvalCase>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Option<Arc<Doubles>>, TaskError> {
        let mocked: Vec<McpMock> = case.iter().flat_map(|case| &case.mocks).map(McpMock::of_eval).collect();
        let doubles = match (doubles::read(self.dir)?, mocked.is_empty()) {
            (None, true) => return Ok(None),
            (None, false) => Doubles { mcp: mocked, ..Doubles::default() },
            (Some(doubles), _) => {
                Doubles { mcp: doubles.mcp.iter().cloned().chain(mocked).collect(), ..doubles }
            }
        };
        let servers = &config.environment.mcp_servers;
        if let Some(mock) = doubles.mcp.iter().find(|mock| servers.iter().any(|own| own.name == mock.name)) {
            let message = format!("the MCP server `{}` is in task.toml, too", mock.name);
            return Err(self.part(doubles::FILE, &message, "rename one of them"));
        }
        let message = format!("the task has test doubles: {doubles}");
        let at = self.dir.join(doubles::FILE);
        diagnostics.push(
            Diagnostic::new(Severity::Info, "test-doubles", at, message)
                .hint("calls that match no rule are counted in the record as `doubles_unknown_calls`"),
        );
        Ok(Some(Arc::new(doubles)))
    }

    pub(super) fn compose(
        &self,
        nodes: &[Node],
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Option<Compose>, TaskError> {
        if !nodes.iter().any(|node| node.path == Path::new(COMPOSE)) {
            return Ok(None);
        }
        let (text, found) = self.text(COMPOSE, "shorten it")?;
        diagnostics.extend(found);
        Ok(Some(Compose::parse(&text)))
    }

    pub(super) fn dockerfile(
        &self,
        nodes: &[Node],
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Option<Dockerfile>, TaskError> {
        let name = "environment/Dockerfile";
        if !nodes.iter().any(|node| node.path == Path::new(name)) {
            return Ok(None);
        }
        let (text, found) = self.text(name, "shorten it")?;
        diagnostics.extend(found);
        Ok(Some(Dockerfile::parse(&text)))
    }

    /// Separates the verifier's own copies of skills from those for agents.
    pub(super) fn part_copies(
        &self,
        copies: Vec<SkillCopy>,
        nodes: &[Node],
        config: &TaskConfig,
        dockerfile: Option<&Dockerfile>,
    ) -> (Vec<SkillCopy>, Vec<SkillCopy>) {
        let workdir = config.environment.workdir.clone();
        let workdir = workdir.or_else(|| dockerfile.map(|file| file.workdir.clone())).unwrap_or_default();
        let names = |text: &str| {
            let mut tests = nodes
                .iter()
                .filter(|node| node.kind == FileKind::File && node.path.starts_with("tests"))
                .take(TESTS_SEARCHED);
            tests.any(|node| {
                assay_fs::read_within(self.dir, &node.path, TEXT_CAP)
                    .is_ok_and(|content| decode(&content.bytes).text.contains(text))
            })
        };
        // Only a source that the instruction names itself can be redirected in a build
        // (`rebuild::without`).
        let is_named = |copy: &SkillCopy| {
            dockerfile.into_iter().flat_map(|file| &file.copies).any(|one| {
                let own = |text: &String| tree::normalize(Path::new(text.trim_start_matches('/')));
                one.line == copy.line
                    && one.sources.iter().any(|text| own(text).as_ref() == Some(&copy.source))
            })
        };
        copies.into_iter().partition(|copy| is_named(copy) && is_verifiers(copy, &workdir, names))
    }

    /// The packages directly below `environment/skills`. A link is followed as long as it stays in
    /// the task.
    pub(super) fn skills(&self, nodes: &[Node], diagnostics: &mut Vec<Diagnostic>) -> Vec<Package> {
        let mut skills = Vec::new();
        let above = Path::new("environment/skills");
        for node in nodes.iter().filter(|node| node.path.parent() == Some(above)) {
            let at = self.dir.join(&node.path);
            if node.kind == FileKind::Link && tree::escapes(self.dir, &node.path) {
                diagnostics.push(
                    Diagnostic::new(
                        Severity::Warning,
                        "link-escapes",
                        at,
                        "a link that leaves the task is not followed",
                    )
                    .hint("replace it with the skill itself, or keep the skill in the experiment's library"),
                );
                continue;
            }
            if !matches!(node.kind, FileKind::Directory | FileKind::Link) || !at.is_dir() {
                continue;
            }
            if contains_only_licences(nodes, &node.path) {
                continue;
            }
            let loaded = Package::load(&at);
            diagnostics.extend(loaded.diagnostics);
            skills.extend(loaded.package);
        }
        skills.sort_by(|a, b| a.directory.cmp(&b.directory));
        skills
    }

    /// Appends findings that a caller should see.
    pub(super) fn note_findings(
        &self,
        tree: &Tree,
        config: &TaskConfig,
        environment: &Environment,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let mut note = |severity, code, path: &Path, message: String, hint: &str| {
            diagnostics.push(Diagnostic::new(severity, code, self.dir.join(path), message).hint(hint));
        };
        let toml = Path::new("task.toml");
        let file = Path::new("environment/Dockerfile");
        for copy in &environment.skill_copies {
            let message =
                format!("line {}: the skill {} is omitted from COPY", copy.line, copy.source.display());
            note(
                Severity::Info,
                "skill-baked",
                file,
                message,
                "the condition decides which skills an agent gets",
            );
        }
        for copy in &environment.verifier_copies {
            let message = format!(
                "line {}: the copy of the skill {} at {} is for the verifier: agents do not see it",
                copy.line,
                copy.source.display(),
                copy.target.display()
            );
            note(Severity::Info, "skill-for-verifier", file, message, "it is restored before grading");
        }
        if let Some(first) = environment.dockerfile.as_ref().and_then(|file| file.unsupported.first()) {
            let message = format!("needs an image builder: line {}: {}", first.line, first.instruction);
            note(Severity::Info, "dockerfile-needs-builder", file, message, "the task runs in Docker only");
        }
        if environment.image.is_none() && environment.compose.is_none() {
            let message = "no Dockerfile, docker-compose.yaml or `docker_image`".to_owned();
            note(
                Severity::Error,
                "environment-undefined",
                Path::new(ENVIRONMENT),
                message,
                "add a Dockerfile",
            );
        }
        if !config.steps.is_empty() {
            let message = format!("the task has {} steps", config.steps.len());
            note(Severity::Info, "multi-step", toml, message, "each is a conversation of its own");
        }
        let flags = [
            (config.environment.gpus > 0, "gpus", "GPUs"),
            (config.environment.windows, "windows", "Windows"),
            (!config.environment.mcp_servers.is_empty(), "mcp-servers", "MCP servers"),
            (
                tree.get(Path::new("trajectory.json")).is_some(),
                "prior-conversation",
                "a conversation to continue",
            ),
        ];
        for (_, code, what) in flags.iter().filter(|(given, _, _)| *given) {
            let hint = match *code {
                "mcp-servers" => "only agents that support MCP can be given it",
                _ => "some sandboxes cannot run it",
            };
            note(Severity::Warning, code, toml, format!("the task has {what}"), hint);
        }
        let other = Path::new("environment/docker-compose.yml");
        if environment.compose.is_none() && tree.get(other).is_some() {
            let message = "ignored: the file must be named docker-compose.yaml".to_owned();
            note(Severity::Warning, "compose-name", other, message, "rename or remove it");
        }
        if let Some(compose) = &environment.compose {
            self.check_compose(compose, diagnostics);
        }
        self.check_odd_files(tree, diagnostics);
    }

    /// Reports the content of a compose file that is hostile, and separately what is not supported.
    pub(super) fn check_compose(&self, compose: &Compose, diagnostics: &mut Vec<Diagnostic>) {
        let mut note = |severity, code, message: String, hint: &str| {
            diagnostics.push(Diagnostic::new(severity, code, self.dir.join(COMPOSE), message).hint(hint));
        };
        for reason in &compose.hostile {
            let message = format!("it would give access to the host: {reason}");
            note(Severity::Error, "compose-hostile", message, "such tasks are refused: remove it");
        }
        for login in &compose.logins {
            let hint = "set `drop_login_mounts = true` under `[sandbox]` of the experiment to run the task without it";
            note(
                Severity::Warning,
                "compose-login",
                format!("it would give access to the host: {login}"),
                hint,
            );
        }
        for reason in &compose.unsupported {
            let message = format!("not supported: {reason}");
            note(Severity::Warning, "compose-unsupported", message, "the task is excluded from runs");
        }
        if compose.hostile.is_empty() && compose.unsupported.is_empty() && compose.logins.is_empty() {
            let others: Vec<String> =
                compose.others.iter().map(|service| format!("`{}`", escape(&service.name))).collect();
            let message = if others.is_empty() {
                "its service `main` is run as a plain container".to_owned()
            } else {
                format!("its services {} are run beside `main` on an internal network", others.join(", "))
            };
            note(Severity::Info, "compose", message, "the task runs in Docker only");
        }
    }

    /// Reports special files and links that leave the task.
    pub(super) fn check_odd_files(&self, tree: &Tree, diagnostics: &mut Vec<Diagnostic>) {
        for entry in &tree.entries {
            let (code, message, hint) = match entry.kind {
                FileKind::Link if tree::escapes(self.dir, &entry.path) => (
                    "link-escapes",
                    "a link that leaves the task: it is not followed, and its target is not part of the digest",
                    "replace it with the file itself",
                ),
                FileKind::Other => {
                    ("special-file", "neither a file, a folder nor a link", "remove it from the task")
                }
                _ => continue,
            };
            let at = self.dir.join(&entry.path);
            diagnostics.push(Diagnostic::new(Severity::Warning, code, at, message).hint(hint));
        }
    }
}

/// Whether a folder below `environment/skills` contains only the texts of licences and is not meant
/// as a skill.
fn contains_only_licences(nodes: &[Node], folder: &Path) -> bool {
    const NAMES: [&str; 8] =
        ["licen", "copying", "notice", "copyright", "authors", "readme", "third", "attribution"];
    let begins = |path: &Path, names: &[&str]| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
        names.iter().any(|begin| name.starts_with(begin))
    };
    let in_named = begins(folder, &["licen"]);
    let mut files =
        nodes.iter().filter(|node| node.kind == FileKind::File && node.path.starts_with(folder)).peekable();
    let prose = |path: &Path| {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        matches!(ending.to_ascii_lowercase().as_str(), "" | "txt" | "md" | "rst" | "html" | "pdf")
    };
    let is_document =
        |path: &Path| path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    files.peek().is_some()
        && files.all(|node| {
            !is_document(&node.path) && (begins(&node.path, &NAMES) || (in_named && prose(&node.path)))
        })
}
