//! From a folder to a [`Task`].

use std::path::{Path, PathBuf};

use assay_fs::tree::{self, Node, Tree};
use assay_skill::{Diagnostic, Digest, Hasher, Severity};

use super::labels::{replace_content, toml_without_labels};
use super::layout::Layout;
use super::model::{Environment, Task};
use super::root::{ENVIRONMENT, Root};
use super::step::{Step, are_unlisted, is_in};
use super::steps::steps;
use super::writable::writable;
use crate::config::{Parsed, parse};
use crate::dockerfile::{SkillCopy, is_left_out, left_out, skill_copies};
use crate::prompt::universal_newlines;
use crate::{TaskConfig, TaskError};

pub(super) fn load(dir: &Path) -> Result<Task, TaskError> {
    let root = Root::open(dir)?;
    let (text, mut diagnostics) = root.text("task.toml", "rewrite it: it should be short")?;
    // TOML does not allow a single carriage return; the format's runner never sees one.
    let text = universal_newlines(&text);
    let Parsed {
        mut config,
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
    let steps = steps(&root, &walk.nodes, &config, &mut diagnostics)?;
    let eval_case = root.eval_case(&walk.nodes, &steps, &mut diagnostics)?;
    let doubles = root.doubles(&config, eval_case.as_deref(), &mut diagnostics)?;
    let graded_by = root.grading(&walk.nodes, !steps.is_empty(), eval_case.is_some());
    let has_unlisted_steps = are_unlisted(&walk.nodes, &config);
    let is_whole = steps.is_empty() && !has_unlisted_steps;
    let instruction = instruction(&root, &steps, is_whole, &mut diagnostics)?;
    root.check_parts(&walk.nodes, &config, is_whole, &mut diagnostics)?;

    let context = dir.join(ENVIRONMENT);
    let dockerfile = root.dockerfile(&walk.nodes, &mut diagnostics)?;
    let mut compose = root.compose(&walk.nodes, &mut diagnostics)?;
    if let Some(compose) = &mut compose {
        compose.combine_limits(&mut config, &text);
    }
    let followed = dockerfile.as_ref().map(|file| file.followed(&context));
    let inside = beneath(&walk.nodes, ENVIRONMENT);
    let out = left_out(&inside, followed.as_ref());
    let copies = followed.as_ref().map(|file| skill_copies(&inside, file, &out)).unwrap_or_default();
    let (verifier_copies, skill_copies) = root.part_copies(copies, &walk.nodes, &config, dockerfile.as_ref());
    let skills = root.skills(&walk.nodes, &mut diagnostics);

    let tree = read_whole(Tree::from_walk(dir, walk, |node| match node.path.strip_prefix(ENVIRONMENT) {
        Ok(path) => !is_left_out(path, &out),
        Err(_) => !Layout::Harbor.is_review(&node.path),
    }))?;
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
        eval_case,
        doubles,
        name: root.name,
        config,
        environment,
        diagnostics,
    })
}

/// The tree, if every file of it could be read.
fn read_whole(tree: Tree) -> Result<Tree, TaskError> {
    let Tree { entries, problems } = tree;
    match problems.into_iter().next() {
        Some(problem) => Err(TaskError::Read { path: problem.path, source: problem.source }),
        None => Ok(Tree { entries, problems: Vec::new() }),
    }
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

/// The nodes below a folder, with paths relative to it.
fn beneath(nodes: &[Node], folder: &str) -> Vec<Node> {
    let inside = |node: &Node| {
        let path = node.path.strip_prefix(folder).ok().filter(|path| !path.as_os_str().is_empty())?;
        Some(Node { path: path.to_path_buf(), ..node.clone() })
    };
    nodes.iter().filter_map(inside).collect()
}
