//! The work folder of a case, and an instruction without the container's paths.

use std::path::{Component, Path, PathBuf};

use assay_fs::{FileKind, tree};
use assay_task::{Layout, NetworkWish, Task};
use tempfile::TempDir;

use super::error::PluginExportError;
use super::refusal::CaseRefusal;

/// Files that make a case of a folder.
const CASE_FILES: [&str; 2] = ["prompt.md", "case.yaml"];

/// Folders of a container at which paths in instructions begin, besides the work folder.
const ROOTS: [&str; 14] = [
    "app",
    "data",
    "etc",
    "home",
    "input",
    "logs",
    "mnt",
    "opt",
    "output",
    "root",
    "srv",
    "tmp",
    "usr",
    "workspace",
];

/// The files of a work folder, in a temporary folder.
pub(super) struct Workspace {
    pub(super) folder: PathBuf,
    _root: TempDir,
}

/// The first thing of the environment that a case cannot have.
pub(super) fn check_environment(task: &Task) -> Result<(), CaseRefusal> {
    let needs = |what: String| Err(CaseRefusal::Environment(what));
    let environment = &task.config.environment;
    if task.environment.compose.is_some() {
        return needs("a compose file".to_owned());
    }
    if let Some(image) = &environment.docker_image {
        return needs(format!("the image {}", assay_diagnostic::escape(image)));
    }
    if let Some(dockerfile) = &task.environment.dockerfile {
        if let Some(first) = dockerfile.unsupported.first() {
            return needs(format!("{} of its Dockerfile (line {})", first.instruction, first.line));
        }
        if let Some((name, _)) = dockerfile.env.first() {
            return needs(format!("the variable {}", assay_diagnostic::escape(name)));
        }
    }
    if let Some(name) = environment.env.keys().next() {
        return needs(format!("the variable {}", assay_diagnostic::escape(name)));
    }
    let user = task.environment.dockerfile.as_ref().and_then(|dockerfile| dockerfile.user.as_ref());
    if let Some(user) = task.config.agent_user.as_ref().or(user).filter(|user| user.as_str() != "root") {
        return needs(format!("the user {}", assay_diagnostic::escape(user)));
    }
    if matches!(environment.network, NetworkWish::Allowlist(_)) {
        return needs("a list of hosts".to_owned());
    }
    let others = [
        (environment.healthcheck.is_some(), "a health check"),
        (environment.windows, "Windows"),
        (environment.gpus > 0, "a GPU"),
        (!environment.mcp_servers.is_empty(), "an MCP server"),
    ];
    match others.into_iter().find(|(is_needed, _)| *is_needed) {
        Some((_, what)) => needs(what.to_owned()),
        None => Ok(()),
    }
}

/// The work folder of a task, absolute.
pub(super) fn work_folder(task: &Task) -> PathBuf {
    if task.layout == Layout::TaskMd {
        return PathBuf::from("/app");
    }
    let own = task.config.environment.workdir.clone();
    let built = task.environment.dockerfile.as_ref().map(|dockerfile| dockerfile.workdir.clone());
    own.or(built).unwrap_or_else(|| PathBuf::from("/"))
}

/// Lays out the files of a task's work folder, in a temporary folder below `scratch`. `None` if there is none.
pub(super) fn lay_out(
    task: &Task,
    scratch: &Path,
) -> Result<Result<Option<Workspace>, CaseRefusal>, PluginExportError> {
    let failed = |source| PluginExportError::Write { path: scratch.to_path_buf(), source };
    let root = tempfile::Builder::new().prefix(".assay-").tempdir_in(scratch).map_err(failed)?;
    let written = task.lay_out(root.path())?;
    let work = work_folder(task);
    if let Some(path) = written.iter().find(|path| !path.starts_with(&work)) {
        return Ok(Err(CaseRefusal::OutsideFile(path.display().to_string())));
    }
    let below = work.strip_prefix("/").unwrap_or(&work);
    let folder = root.path().join(below);
    let mut has_files = false;
    for node in tree::walk(&folder).nodes {
        if node.kind == FileKind::Directory {
            continue;
        }
        has_files = true;
        if node.path.file_name().is_some_and(|name| CASE_FILES.iter().any(|case| name == *case)) {
            return Ok(Err(CaseRefusal::NestedCase(node.path.display().to_string())));
        }
    }
    Ok(Ok(has_files.then_some(Workspace { folder, _root: root })))
}

/// An instruction whose paths below the work folder are relative to it.
pub(super) fn relative_instruction(text: &str, work: &Path) -> Result<String, CaseRefusal> {
    let prefix = format!("{}/", work.display().to_string().trim_end_matches('/'));
    let mut out = String::new();
    let mut rest = text;
    let mut before = None;
    while let Some(first) = rest.chars().next() {
        if first == '/' && !before.is_some_and(is_of_path) {
            let end = rest.find(|c: char| !is_of_path(c)).unwrap_or(rest.len());
            let (path, after) = rest.split_at(end);
            let bare = path.trim_end_matches(['.', '/']);
            match path.strip_prefix(&prefix).filter(|below| !below.trim_matches(['.', '/']).is_empty()) {
                Some(below) if prefix != "/" => out.push_str(below),
                _ if names_container(bare, work) => return Err(CaseRefusal::Path(bare.to_owned())),
                _ => out.push_str(path),
            }
            before = path.chars().next_back();
            rest = after;
            continue;
        }
        out.push(first);
        before = Some(first);
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
    }
    Ok(out)
}

fn is_of_path(char: char) -> bool {
    char.is_alphanumeric() || "/._-*~".contains(char)
}

/// Whether an absolute path is one of a container and not, say, the route of a server.
fn names_container(path: &str, work: &Path) -> bool {
    let first = |path: &Path| match path.components().nth(1) {
        Some(Component::Normal(name)) => Some(name.to_owned()),
        _ => None,
    };
    let named = first(Path::new(path));
    named.is_some_and(|name| ROOTS.iter().any(|root| name == *root) || first(work) == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_the_work_folder_are_relative() {
        let check = |text: &str, expected: Result<&str, &str>| {
            let found = relative_instruction(text, Path::new("/app"));
            assert_eq!(
                found.as_deref().map_err(ToString::to_string),
                expected
                    .map_err(|path| format!("its instruction names {path}, a path that a run does not have")),
                "{text}"
            );
        };
        check("Write `/app/out/a.txt`.", Ok("Write `out/a.txt`."));
        check("Write (/app/a.txt) and /app/b.", Ok("Write (a.txt) and b."));
        check("Work in /app.", Err("/app"));
        check("Work in /app/.", Err("/app"));
        check("Read /data/x.csv", Err("/data/x.csv"));
        check(
            "Call /v1/users and/or https://example.org/app/x",
            Ok("Call /v1/users and/or https://example.org/app/x"),
        );
        check("Read /apple/x", Ok("Read /apple/x"));
        check("", Ok(""));
    }
}
