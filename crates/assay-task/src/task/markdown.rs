//! From a folder with a `task.md` to a [`Task`].

use std::path::{Path, PathBuf};

use assay_fs::tree::{self, Node, Tree};
use assay_skill::{Diagnostic, FileKind, Hasher, Severity};

use super::grading;
use super::labels::{json_without_labels, replace_content};
use super::layout::{IMAGE, Layout, STARTING, WORKDIR};
use super::model::{Environment, Grading, Task};
use super::root::Root;
use crate::config::{Metadata, metadata};
use crate::{Copy, Dockerfile, Rubric, TaskError};

const RUBRIC: &str = "rubric.json";

pub(super) fn load(dir: &Path) -> Result<Task, TaskError> {
    let root = Root::open(dir)?;
    let mut diagnostics = Vec::new();
    let (text, found) = root.text("metadata.json", "shorten it")?;
    diagnostics.extend(found);
    let Metadata { config, target, negative_control, irrelevant, related, unrelated, diagnostics: found } =
        metadata(&text, &dir.join("metadata.json"))?;
    diagnostics.extend(found);
    let instruction = root.instruction("task.md", &mut diagnostics)?;
    let (verifier, found) = root.text("verify.sh", "shorten it: call another script")?;
    diagnostics.extend(found);
    if verifier.trim().is_empty() {
        let hint = "write a script that checks the outcome and exits with a nonzero status if it is wrong";
        return Err(root.part("verify.sh", "empty: it would always pass", hint));
    }
    let walk = tree::walk(dir);
    check_starting(&root, &walk.nodes, &mut diagnostics)?;
    root.check_solution(
        &walk.nodes,
        "write a script that solves the task (a last message goes to /logs/agent/final.txt): without one, the checks before a run exclude the task",
        &mut diagnostics,
    );
    let shared = grading::shared(dir, &verifier, &mut diagnostics);

    let tree = Tree::from_walk(dir, walk, |node| !Layout::TaskMd.is_review(&node.path));
    if let Some(problem) = tree.problems.into_iter().next() {
        return Err(TaskError::Read { path: problem.path, source: problem.source });
    }
    let tree = Tree { entries: tree.entries, problems: Vec::new() };
    let rubric = rubric(&root, &tree, &mut diagnostics)?;
    check_given_away(&root, &tree, rubric.as_ref())?;
    root.check_odd_files(&tree, &mut diagnostics);

    let build_context_digest = tree.digest_beneath(Path::new(STARTING), |_| true);
    let environment_digest = Hasher::new("assay.environment/1")
        .part(IMAGE.as_bytes())
        .part(b"")
        .digest(&build_context_digest)
        .finish();
    let environment = Environment {
        dockerfile: Some(dockerfile()),
        compose: None,
        image: Some(IMAGE.to_owned()),
        build_context_digest,
        skill_copies: Vec::new(),
        verifier_copies: Vec::new(),
        left_out: Vec::new(),
    };
    let unlabeled =
        json_without_labels(&text).map(|content| replace_content(&tree, "metadata.json", &content));
    let digest_of = |tree: &Tree| {
        grading::digest(&tree.digest_where(|entry| !entry.path.starts_with("solution")), &shared)
    };
    let solved = tree.entries.iter().any(|entry| entry.path.starts_with("solution/"));
    Ok(Task {
        root: dir.to_path_buf(),
        layout: Layout::TaskMd,
        title: config.name.clone().unwrap_or_else(|| root.name.clone()),
        instruction,
        writable: vec![PathBuf::from(WORKDIR)],
        skills: Vec::new(),
        required_skills: target,
        negative_control,
        negative_skill: irrelevant.clone().or_else(|| unrelated.clone()),
        related_skill: related,
        unrelated_skill: unrelated.or(irrelevant),
        rubric,
        expected: Vec::new(),
        keep: Vec::new(),
        cluster: None,
        digest: digest_of(unlabeled.as_ref().unwrap_or(&tree)),
        labeled_digest: digest_of(&tree),
        solution_digest: solved.then(|| tree.digest_beneath(Path::new("solution"), |_| true)),
        environment_digest,
        tests_digest: grading::digest(&tree.digest_where(grading::is_for_grading), &shared),
        name: root.name,
        config,
        environment,
        diagnostics,
        shared,
        steps: Vec::new(),
        has_unlisted_steps: false,
        graded_by: Grading::Tests,
        eval_case: None,
        doubles: None,
        tests_folders: Vec::new(),
        solution_folder: "solution".into(),
    })
}

/// What `starting/` amounts to: `FROM`, `WORKDIR /app`, `COPY . .`.
fn dockerfile() -> Dockerfile {
    let workdir = PathBuf::from(WORKDIR);
    Dockerfile {
        from: IMAGE.to_owned(),
        workdir: workdir.clone(),
        workdirs: vec![workdir.clone()],
        copies: vec![Copy {
            line: 0,
            sources: vec![".".to_owned()],
            target: workdir,
            is_directory_target: true,
            mode: None,
        }],
        ..Dockerfile::default()
    }
}

/// `starting/` has to be a separate folder: a link could lead to files that grade.
fn check_starting(
    root: &Root<'_>,
    nodes: &[Node],
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<(), TaskError> {
    match nodes.iter().find(|node| node.path == Path::new(STARTING)).map(|node| node.kind) {
        Some(FileKind::Directory) => Ok(()),
        Some(_) => Err(root.part(STARTING, "not a folder", "put the files in a folder")),
        None => {
            let message = "missing: the work folder starts empty";
            diagnostics.push(
                Diagnostic::new(Severity::Info, "starting-missing", root.dir.join(STARTING), message)
                    .hint("no action needed if that is intended"),
            );
            Ok(())
        }
    }
}

fn rubric(
    root: &Root<'_>,
    tree: &Tree,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<Rubric>, TaskError> {
    if tree.get(Path::new(RUBRIC)).is_none() {
        return Ok(None);
    }
    let (text, found) = root.text(RUBRIC, "shorten it")?;
    diagnostics.extend(found);
    let file = root.dir.join(RUBRIC);
    let (rubric, found) = Rubric::parse(&text, &file);
    diagnostics.extend(found);
    let source = rubric.as_ref().and_then(|rubric| rubric.source_file.as_deref());
    if let Some(source) = source.filter(|source| tree.get(&Path::new(STARTING).join(source)).is_none()) {
        let message = format!("its source file {source} is not in {STARTING}/");
        diagnostics.push(
            Diagnostic::new(Severity::Warning, "rubric", file, message).hint("add it, or fix `source_file`"),
        );
    }
    Ok(rubric)
}

/// A copy of grading files in the agent's own folder would reveal the answers.
fn check_given_away(root: &Root<'_>, tree: &Tree, rubric: Option<&Rubric>) -> Result<(), TaskError> {
    // A rubric that names nothing may well equal some other file.
    let says_nothing = rubric.is_none_or(|rubric| rubric.anchors.is_empty() && rubric.forbidden.is_empty());
    let secret: Vec<_> = [Some("verify.sh"), (!says_nothing).then_some(RUBRIC)]
        .into_iter()
        .flatten()
        .filter_map(|name| tree.get(Path::new(name)))
        .filter(|entry| entry.kind == FileKind::File)
        .collect();
    for entry in tree.entries.iter().filter(|entry| entry.path.starts_with(STARTING)) {
        if let Some(copy) = secret.iter().find(|secret| {
            entry.kind == FileKind::File && secret.digest == entry.digest && secret.size == entry.size
        }) {
            let message = format!("a copy of {}: the agent would see its verifier", copy.path.display());
            return Err(TaskError::Part {
                path: root.dir.join(&entry.path),
                message,
                hint: "remove it from the work folder".to_owned(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
