//! Skills in a build context.
//!
//! Which skills an agent gets is decided by the condition. Skills that a task's Dockerfile would
//! bake into the image are therefore found, left out of every copy and of every digest, and
//! reported. A package is found by its `SKILL.md` (in any case) and by its path or target:
//!
//! - `skills/` at the top of the context, if there is any `SKILL.md` below it: all of it;
//! - a folder with a `SKILL.md` below a folder called `skills`, wherever that is: that folder;
//! - a folder with a `SKILL.md` that a `COPY` would put below a folder called `skills`: that
//!   folder.
//!
//! The verifier's own copy of such a package is an exception: see [`is_verifiers`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_fs::tree::Node;
use assay_skill::FileKind;

use super::context::Source;
use super::model::{Copy, Dockerfile, SkillCopy};

/// A `COPY` with its sources read once.
struct CopySources<'a> {
    copy: &'a Copy,
    sources: Vec<Source>,
}

impl<'a> CopySources<'a> {
    fn all(dockerfile: &'a Dockerfile) -> Vec<Self> {
        let copy_sources = |copy: &'a Copy| Self {
            copy,
            sources: copy.sources.iter().map(|text| Source::new(text)).collect(),
        };
        dockerfile.copies.iter().map(copy_sources).collect()
    }

    /// Where the `COPY` puts an entry of the context; `None` if it does not include it.
    fn destination(&self, path: &Path, kind: FileKind) -> Option<PathBuf> {
        let target = &self.copy.target;
        self.sources.iter().find_map(|source| {
            let above = path.ancestors().find(|above| source.names(above))?;
            let below = path.strip_prefix(above).ok()?;
            if !below.as_os_str().is_empty() {
                return Some(target.join(below));
            }
            let inside = kind != FileKind::Directory && self.copy.is_directory_target;
            Some(if inside { target.join(path.file_name()?) } else { target.clone() })
        })
    }

    /// Whether a source is this entry itself, not a folder above it.
    fn names(&self, path: &Path) -> bool {
        self.sources.iter().any(|source| source.names(path))
    }

    /// The entries within this one that a source names, by path or by pattern.
    fn within<'b>(&'b self, path: &'b Path, nodes: &'b [Node]) -> impl Iterator<Item = &'b Path> {
        let inside = nodes.iter().map(|node| node.path.as_path());
        inside.filter(move |own| own.starts_with(path) && *own != path && self.names(own))
    }
}

/// The paths that are left out of a context, relative to it: sorted, none within another. The
/// Dockerfile's sources must not contain links ([`Dockerfile::followed`]).
pub(crate) fn left_out(nodes: &[Node], dockerfile: Option<&Dockerfile>) -> BTreeSet<PathBuf> {
    let copies_read = dockerfile.map(CopySources::all).unwrap_or_default();
    let mut found = BTreeSet::new();
    for node in nodes {
        // The target of a link below `skills/` is not read: the link counts as a package.
        if node.path.starts_with("skills") && (is_document(node) || node.kind == FileKind::Link) {
            found.insert(PathBuf::from("skills"));
            continue;
        }
        if !is_document(node) {
            continue;
        }
        let package = node.path.parent().unwrap_or(Path::new(""));
        let whole = || if package.as_os_str().is_empty() { node.path.clone() } else { package.to_path_buf() };
        if beneath_skills(package) {
            found.insert(whole());
            continue;
        }
        for copy_sources in &copies_read {
            let target = copy_sources.destination(&node.path, node.kind);
            if target.as_deref().and_then(Path::parent).is_some_and(beneath_skills) {
                // A `SKILL.md` copied alone leaves its folder to other uses.
                found.insert(if copy_sources.names(&node.path) { node.path.clone() } else { whole() });
            }
        }
    }
    let inner: Vec<PathBuf> = found
        .iter()
        .filter(|path| path.ancestors().skip(1).any(|above| found.contains(above)))
        .cloned()
        .collect();
    for path in inner {
        found.remove(&path);
    }
    found
}

/// The left-out files that each `COPY` would have copied.
pub(crate) fn skill_copies(
    nodes: &[Node],
    dockerfile: &Dockerfile,
    out: &BTreeSet<PathBuf>,
) -> Vec<SkillCopy> {
    let mut copies = Vec::new();
    let kind = |path: &Path| {
        nodes.iter().find(|node| node.path == path).map_or(FileKind::Directory, |node| node.kind)
    };
    for copy_sources in CopySources::all(dockerfile) {
        let mut add = |source: &Path, target: PathBuf| {
            copies.push(SkillCopy { line: copy_sources.copy.line, source: source.to_path_buf(), target });
        };
        for path in out {
            if let Some(target) = copy_sources.destination(path, kind(path)) {
                add(path, target);
                continue;
            }
            for part in copy_sources.within(path, nodes) {
                add(
                    part,
                    copy_sources
                        .destination(part, kind(part))
                        .unwrap_or_else(|| copy_sources.copy.target.clone()),
                );
            }
        }
    }
    copies
}

/// Folders shared by several copies, which are never one's own.
const SHARED: [&str; 12] =
    ["/", "/bin", "/etc", "/home", "/lib", "/opt", "/root", "/srv", "/tmp", "/usr", "/usr/local", "/var"];

/// Whether a copied skill is for the verifier and not for agents: it has its own folder outside
/// agents' skill folders, and the folder's name or a file of the tests shows that it is for
/// grading.
pub(crate) fn is_verifiers(copy: &SkillCopy, workdir: &Path, named_by_tests: impl Fn(&str) -> bool) -> bool {
    let target = &copy.target;
    let is_system =
        ["/bin", "/sbin", "/lib", "/lib64", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/local/bin"]
            .iter()
            .any(|system| target.starts_with(system));
    let is_shared = SHARED.iter().any(|shared| target == Path::new(shared)) || workdir.starts_with(target);
    if is_system || is_shared {
        return false;
    }
    let is_for_agents = |part: &str| part.starts_with('.') || matches!(part, "skill" | "skills");
    let parts: Vec<&str> = target.iter().filter_map(|part| part.to_str()).collect();
    let before = parts.iter().position(|part| is_for_agents(part));
    // The name of a skill does not show whom it is for.
    let own = usize::from(before.is_none() && target.file_name() == copy.source.file_name());
    let named = &parts[..before.unwrap_or(parts.len() - own)];
    let is_grading = |part: &&str| {
        part.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
            let word = word.to_ascii_lowercase();
            matches!(word.as_str(), "verifier" | "verify" | "grader" | "grading" | "tests" | "test")
        })
    };
    named.iter().any(is_grading) || (before.is_none() && target.to_str().is_some_and(named_by_tests))
}

/// Whether a path of a context is, or is within, a left-out one.
pub(crate) fn is_left_out(path: &Path, out: &BTreeSet<PathBuf>) -> bool {
    path.ancestors().any(|part| out.contains(part))
}

fn is_document(node: &Node) -> bool {
    let named = node
        .path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    named && matches!(node.kind, FileKind::File | FileKind::Link)
}

fn beneath_skills(folder: &Path) -> bool {
    folder.components().any(|part| part.as_os_str() == "skills")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skill_copies_are_classified_for_agent_or_verifier() {
        let check = |source: &str, target: &str, expected: bool| {
            let copy = SkillCopy { line: 1, source: source.into(), target: target.into() };
            let named = |text: &str| matches!(text, "/opt/mailer" | "/root/.claude/skills/mail");
            assert_eq!(is_verifiers(&copy, Path::new("/root"), named), expected, "{source} {target}");
        };
        check("skills/mail", "/root/verifier-skills/mail", true);
        check("skills", "/verifier/skills", true);
        check("skills/mail", "/opt/grader", true);
        // The tests name it.
        check("skills/mail", "/opt/mailer", true);
        check("skills/mail", "/opt/other", false);
        // Folders that agents read, whatever the skill is called.
        check("skills/mail", "/root/.claude/skills/mail", false);
        check("skills/test-runner", "/root/.claude/skills/test-runner", false);
        check("skills/test-runner", "/opt/test-runner", false);
        check("skills", "/root/.opencode/skill", false);
        check("skills", "/app/skills", false);
        // A shared folder cannot be removed.
        check("skills/mail", "/root", false);
        check("skills/mail/verify", "/usr/bin/verify", false);
    }
}
