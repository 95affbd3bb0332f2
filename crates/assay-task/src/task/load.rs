//! From a folder to a [`Task`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_diagnostic::escape;
use assay_fs::tree::{self, Node, Tree};
use assay_skill::{Diagnostic, Digest, Encoding, FileKind, Hasher, Package, Severity, decode};

use super::labels::{replace_content, toml_without_labels};
use super::layout::{Layout, RUBRIC_FILE, missing};
use super::model::{Environment, Grading, Task};
use super::steps::{self, Step, is_in};
use super::writable::writable;
use crate::config::{Parsed, parse};
use crate::dockerfile::{SkillCopy, is_left_out, is_verifiers, left_out, skill_copies};
use crate::doubles::{self, Doubles};
use crate::prompt::{prompt, universal_newlines};
use crate::{Compose, Dockerfile, TaskConfig, TaskError};

/// Most bytes of `task.toml`, `instruction.md` and the Dockerfile.
const TEXT_CAP: u64 = 1 << 20;

/// Most files of the tests that are searched for the name of a folder.
const TESTS_SEARCHED: usize = 200;

const ENVIRONMENT: &str = "environment";
const COMPOSE: &str = "environment/docker-compose.yaml";

pub(super) fn load(dir: &Path) -> Result<Task, TaskError> {
    let root = Root::open(dir)?;
    let (text, mut diagnostics) = root.text("task.toml", "rewrite it: it should be short")?;
    // TOML does not allow a single carriage return; the format's runner never sees one.
    let text = universal_newlines(&text);
    let Parsed {
        config,
        required_skills,
        writable: wished,
        expected,
        keep,
        cluster,
        negative_control,
        diagnostics: found,
    } = parse(&text, &dir.join("task.toml"))?;
    diagnostics.extend(found);
    let walk = tree::walk(dir);
    let steps = steps::steps(&root, &walk.nodes, &config, &mut diagnostics)?;
    let doubles = root.doubles(&config, &mut diagnostics)?;
    let graded_by = root.grading(&walk.nodes, !steps.is_empty());
    let has_unlisted_steps = steps::are_unlisted(&walk.nodes, &config);
    let is_whole = steps.is_empty() && !has_unlisted_steps;
    let instruction = instruction(&root, &steps, is_whole, &mut diagnostics)?;
    root.check_parts(&walk.nodes, &config, is_whole, &mut diagnostics)?;

    let context = dir.join(ENVIRONMENT);
    let dockerfile = root.dockerfile(&walk.nodes, &mut diagnostics)?;
    let compose = root.compose(&walk.nodes, &mut diagnostics)?;
    let followed = dockerfile.as_ref().map(|file| file.followed(&context));
    let inside = beneath(&walk.nodes, ENVIRONMENT);
    let out = left_out(&inside, followed.as_ref());
    let copies = followed.as_ref().map(|file| skill_copies(&inside, file, &out)).unwrap_or_default();
    let (verifier_copies, skill_copies) = root.part_copies(copies, &walk.nodes, &config, dockerfile.as_ref());
    let skills = root.skills(&walk.nodes, &mut diagnostics);

    let tree = Tree::from_walk(dir, walk, |node| match node.path.strip_prefix(ENVIRONMENT) {
        Ok(path) => !is_left_out(path, &out),
        Err(_) => !Layout::Harbor.is_review(&node.path),
    });
    if let Some(problem) = tree.problems.into_iter().next() {
        return Err(TaskError::Read { path: problem.path, source: problem.source });
    }
    let tree = Tree { entries: tree.entries, problems: Vec::new() };
    let build_context_digest = tree.digest_beneath(Path::new(ENVIRONMENT), |_| true);
    let from = dockerfile.as_ref().map_or("", |file| file.from.as_str());
    let environment_digest =
        environment_digest(&context, from, &config, &build_context_digest, &verifier_copies);
    let image = image_of(&config, from);
    let environment = Environment {
        compose,
        image,
        build_context_digest,
        skill_copies,
        verifier_copies,
        left_out: out.into_iter().collect(),
        dockerfile,
    };
    if has_unlisted_steps {
        diagnostics.push(
            Diagnostic::new(
                Severity::Warning,
                "multi-step",
                dir.join("steps"),
                "the task has steps that task.toml does not list",
            )
            .hint("add a `[[steps]]` table with its `name` for each, or remove the folder"),
        );
    }
    root.note_findings(&tree, &config, &environment, &mut diagnostics);
    let [digest, labeled_digest] = digests(&tree, &config, &steps);
    Ok(Task {
        root: dir.to_path_buf(),
        layout: Layout::Harbor,
        title: config.name.clone().unwrap_or_else(|| root.name.clone()),
        instruction,
        writable: writable(dir, &config, environment.dockerfile.as_ref(), wished, &mut diagnostics),
        skills,
        required_skills,
        negative_control,
        negative_skill: None,
        related_skill: None,
        unrelated_skill: None,
        rubric: None,
        expected,
        keep,
        cluster,
        shared: Vec::new(),
        digest,
        labeled_digest,
        solution_digest: is_solved(&tree, &steps).then(|| part_digest(&tree, "solution", &steps)),
        environment_digest,
        tests_digest: part_digest(&tree, "tests", &steps),
        tests_folders: vec![PathBuf::from("tests")],
        solution_folder: PathBuf::from("solution"),
        steps,
        has_unlisted_steps,
        graded_by,
        doubles,
        name: root.name,
        config,
        environment,
        diagnostics,
    })
}

/// The image of the environment: the one that is named, else the base of the Dockerfile.
fn image_of(config: &TaskConfig, from: &str) -> Option<String> {
    let named = config.environment.docker_image.clone();
    named.or_else(|| Some(from.to_owned()).filter(|from| !from.is_empty()))
}

/// The digests of the folder without its solution: without labels, and with them.
fn digests(tree: &Tree, config: &TaskConfig, steps: &[Step]) -> [Digest; 2] {
    let unlabeled = replace_content(tree, "task.toml", &toml_without_labels(&config.raw));
    [&unlabeled, tree].map(|tree| tree.digest_where(|entry| !is_part(&entry.path, "solution", steps)))
}

/// The digest of the environment: the base image, the build context, and the verifier's copies of
/// skills.
fn environment_digest(
    context: &Path,
    from: &str,
    config: &TaskConfig,
    build_context_digest: &Digest,
    verifier_copies: &[SkillCopy],
) -> Digest {
    let mut environment_digest = Hasher::new("assay.environment/1");
    environment_digest
        .part(from.as_bytes())
        .part(config.environment.docker_image.as_deref().unwrap_or("").as_bytes())
        .digest(build_context_digest);
    if !verifier_copies.is_empty() {
        let is_copied = |node: &Node| {
            verifier_copies
                .iter()
                .any(|copy| node.path.starts_with(&copy.source) || copy.source.starts_with(&node.path))
        };
        let copied = Tree::from_walk(context, tree::walk(context), is_copied);
        environment_digest.digest(&copied.digest());
    }
    environment_digest.finish()
}

/// Whether a path is in a folder of the task, such as `tests`, or in that of one of its steps.
fn is_part(path: &Path, name: &str, steps: &[Step]) -> bool {
    if steps.is_empty() { path.starts_with(name) } else { is_in(path, name) }
}

/// The digest of a folder of the task, together with those of its steps.
fn part_digest(tree: &Tree, name: &str, steps: &[Step]) -> Digest {
    if steps.is_empty() {
        return tree.digest_beneath(Path::new(name), |_| true);
    }
    tree.digest_where(|entry| is_in(&entry.path, name))
}

/// Whether the oracle has something to do.
fn is_solved(tree: &Tree, steps: &[Step]) -> bool {
    if steps.is_empty() {
        return tree.entries.iter().any(|entry| entry.path.starts_with("solution/"));
    }
    steps.iter().any(|step| step.is_solved)
}

/// The instruction of a task without steps; else those of its steps, one after another, because
/// the agent gets no other.
fn instruction(
    root: &Root<'_>,
    steps: &[Step],
    is_whole: bool,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<String, TaskError> {
    if is_whole {
        return root.instruction("instruction.md", diagnostics);
    }
    Ok(steps.iter().map(|step| step.instruction.trim_end()).collect::<Vec<_>>().join("\n\n"))
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

/// The nodes below a folder, with paths relative to it.
fn beneath(nodes: &[Node], folder: &str) -> Vec<Node> {
    let inside = |node: &Node| {
        let path = node.path.strip_prefix(folder).ok().filter(|path| !path.as_os_str().is_empty())?;
        Some(Node { path: path.to_path_buf(), ..node.clone() })
    };
    nodes.iter().filter_map(inside).collect()
}

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
    fn check_parts(
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
            // Without tests a solution would prove nothing.
            let is_judged_only = kind("tests/test.sh").is_none() && kind(RUBRIC_FILE).is_some();
            if !is_judged_only {
                self.check_solution(nodes, "write a script that solves the task", diagnostics);
            }
        }
        Ok(())
    }

    /// What decides the result. What is missing without a rubric is an error of its own.
    fn grading(&self, nodes: &[Node], has_steps: bool) -> Grading {
        let is_file = |node: &Node| node.path == Path::new(RUBRIC_FILE) && node.kind == FileKind::File;
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

    /// Its test doubles.
    fn doubles(
        &self,
        config: &TaskConfig,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Option<Arc<Doubles>>, TaskError> {
        let Some(doubles) = doubles::read(self.dir)? else { return Ok(None) };
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

    fn compose(
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

    fn dockerfile(
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
    fn part_copies(
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
    fn skills(&self, nodes: &[Node], diagnostics: &mut Vec<Diagnostic>) -> Vec<Package> {
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
    fn note_findings(
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
    fn check_compose(&self, compose: &Compose, diagnostics: &mut Vec<Diagnostic>) {
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
