//! Searches a task's image, once and in a separate container, before any agent runs in it.
//!
//! It finds programs and libraries ([`VerifierPrograms`]), baked-in skills, and texts that must not
//! be in the image: skills that are not provided, the solution, the tests. Files that match by size
//! or by a line are copied and compared, by digest or by unusual lines.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use assay_agent::cli_agents::HARNESSES;
use assay_fs::tree;
use assay_fs::{Caps, FsError, Manifest};
use assay_sandbox::docker::{Container, ContainerSpec, Docker, Image, Owner};
use assay_sandbox::{Exec, Exit, SandboxError, Sink};
use assay_task::Task;

use crate::run::tamper::image::{LOADER_CACHE, VerifierPrograms};
use crate::run::tamper::pytest;
use crate::run::trial::AbsentSkill;

/// The file with the searched lines during the search.
const LINES: &str = "/.assay-lines";

/// How long searching an image may take.
const PATIENCE: Duration = Duration::from_mins(5);

/// Most bytes of the search's output.
const OUTPUT: usize = 16 << 20;

/// Most bytes of a file that is compared.
const COMPARED: u64 = 2 << 20;

/// Most files that are fetched to be compared.
const CANDIDATES: usize = 200;

/// Fewest bytes of a file of the tests or the solution that is searched for as a whole: empty
/// packages and the like are everywhere.
const LEAST: usize = 64;

/// Fewest characters of a line that is searched for.
const LINE: usize = 40;

/// Most lines of one text that are searched for: enough for its unusual ones to match a copy.
const LINES_EACH: usize = 12;

/// Most files of a task's tests and solution that are searched for.
const SEARCHED_FILES: usize = 400;

/// How much of the work folder is kept, to compare it with the agent's.
const WORK: Caps =
    Caps { entries: 20_000, file_bytes: 16 << 20, total_bytes: 64 << 20, depth: 64, links: true };

/// Where agents without a harness in assay look for skills, and where those with one look in
/// addition, below a home or the work folder.
const OTHER_SKILL_FOLDERS: [&str; 19] = [
    ".codex/skills",
    ".gemini/antigravity-cli/skills",
    ".config/opencode/skill",
    ".opencode/skill",
    ".opencode/skills",
    ".cursor/skills",
    ".config/goose/skills",
    ".goose/skills",
    ".copilot/skills",
    ".github/skills",
    ".kimi/skills",
    ".pi/skills",
    ".grok/skills",
    ".junie/skills",
    ".openclaw/skills",
    ".hermes/skills",
    ".config/mimocode/skills",
    ".fx/skills",
    ".factory/skills",
];

/// Where agents look for skills, below a home, the work folder or the root.
fn skill_folders() -> impl Iterator<Item = &'static str> {
    let own = HARNESSES.iter().filter_map(|harness| harness.skills_dir());
    own.map(|folder| folder.strip_prefix("/root").unwrap_or(folder).trim_start_matches('/'))
        .chain(OTHER_SKILL_FOLDERS)
}

/// Most bytes of an image's list of users.
const PASSWD: u64 = 1 << 20;

/// The result of searching an image.
#[derive(Debug, Default)]
pub(crate) struct ImageInventory {
    /// Programs and libraries for the verifier.
    pub(crate) programs: VerifierPrograms,
    /// Skills that were baked in: files and folders to remove from every container before the agent
    /// starts.
    pub(crate) baked: Vec<PathBuf>,
    /// Folders of the verifier that the image has: to be emptied before grading.
    pub(crate) verifier_folders: Vec<PathBuf>,
    /// The verifier's own copies of skills: their paths in the image and on this machine. They are
    /// removed before the agent starts and put back before grading.
    pub(crate) verifier_copies: Vec<(PathBuf, PathBuf)>,
    /// Texts that must not be in the image but are, in words.
    pub(crate) found: Vec<String>,
    /// The original work folder, on this machine; `None` if it is too large, or the root.
    pub(crate) work: Option<(PathBuf, Manifest)>,
    /// The linker's list of libraries.
    pub(crate) loader_cache: Option<Vec<u8>>,
    /// Its users, as `/etc/passwd` has them.
    pub(crate) passwd: String,
    /// The modules that its pytest imports from installed packages.
    pub(crate) pytest: BTreeSet<String>,
}

/// A search of an image.
pub(crate) struct ImageScan<'a> {
    pub(crate) docker: &'a Docker,
    pub(crate) image: &'a Image,
    pub(crate) task: &'a Task,
    pub(crate) absent: &'a [AbsentSkill],
    pub(crate) workdir: &'a Path,
    /// An empty folder of this machine.
    pub(crate) scratch: &'a Path,
    pub(crate) label: &'a str,
    pub(crate) cancel: &'a AtomicBool,
}

/// Why an image could not be searched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScanError {
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Files(#[from] FsError),
    #[error("cannot {action} {}: {error}", path.display())]
    Io { action: &'static str, path: PathBuf, error: io::Error },
    #[error("searching the image timed out after {} s", PATIENCE.as_secs())]
    Slow,
    #[error("searching the image was interrupted")]
    Interrupted,
    #[error("searching the image exceeded a limit")]
    Limit,
}

impl ScanError {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |error| Self::Io { action, path, error }
    }
}

/// A text that must not be in the image.
struct SearchText {
    /// In words.
    what: String,
    /// Its complete content.
    bytes: Vec<u8>,
    /// What its unusual lines are taken from.
    body: String,
}

impl ImageScan<'_> {
    /// Searches the image.
    pub(crate) fn run(&self) -> Result<ImageInventory, ScanError> {
        let mut spec = ContainerSpec::new(self.image.clone(), self.label);
        spec.user = Some("0".to_owned());
        let mut container = self.docker.create_stopped(&spec)?;
        let mut inventory = ImageInventory::default();
        let texts = self.search_texts();
        let lines = lines(&texts);
        container.put_bytes(lines.as_bytes(), Path::new(LINES), 0o600, Owner::default())?;
        container.restart()?;
        let copies = !self.task.environment.verifier_copies.is_empty();
        let output = self.search(&mut container, &script(&texts, !lines.is_empty(), copies))?;
        container.halt()?;
        let mut suspects = BTreeSet::new();
        let mut is_whole = false;
        let mut metadata = Vec::new();
        for line in output.lines() {
            let (mark, rest) = line.split_at(usize::from(line.is_char_boundary(1) && !line.is_empty()));
            match mark {
                "W" => inventory.programs.path.push(PathBuf::from(rest)),
                "P" => {
                    let path = Path::new(rest);
                    if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
                        let name = name.to_string_lossy().into_owned();
                        inventory.programs.folders.entry(name).or_default().insert(folder.to_path_buf());
                    }
                }
                "L" => {
                    let name = Path::new(rest).file_name().unwrap_or_default().to_string_lossy().into_owned();
                    inventory.programs.libraries.insert(name);
                }
                "S" => inventory.baked.extend(package(Path::new(rest))),
                "M" => metadata.push(PathBuf::from(rest)),
                "F" | "A" => inventory.baked.push(PathBuf::from(rest)),
                "G" => inventory.verifier_folders.push(PathBuf::from(rest)),
                "C" if rest != LINES => {
                    suspects.insert(PathBuf::from(rest));
                }
                "!" => inventory.found.push(format!("the image cannot be searched: it lacks {rest}")),
                "." => is_whole = true,
                _ => {}
            }
        }
        if !is_whole {
            inventory.found.push("the search of the image did not finish".to_owned());
        }
        self.keep_verifiers(&container, &mut inventory)?;
        let is_kept = |path: &Path| inventory.verifier_copies.iter().any(|(own, _)| path.starts_with(own));
        inventory.baked.retain(|path| !is_kept(path));
        suspects.retain(|path| !is_kept(path));
        inventory.baked.sort();
        inventory.baked.dedup();
        let baked = std::mem::take(&mut inventory.baked);
        for path in baked {
            if !inventory.baked.iter().any(|above| path.starts_with(above)) {
                inventory.baked.push(path);
            }
        }
        suspects.retain(|path| !inventory.baked.iter().any(|baked| path.starts_with(baked)));
        self.compare(&container, &suspects, &texts, &mut inventory)?;
        self.keep_work(&container, &mut inventory)?;
        let passwd = container.read(Path::new("/etc/passwd"), PASSWD).ok().flatten().unwrap_or_default();
        inventory.passwd = String::from_utf8_lossy(&passwd).into_owned();
        inventory.loader_cache = container.read(Path::new(LOADER_CACHE), 4 << 20).ok().flatten();
        inventory.pytest =
            pytest::modules(metadata, &|path| container.read(path, pytest::METADATA).ok().flatten());
        container.remove_in_background();
        Ok(inventory)
    }

    fn search(&self, container: &mut Container, script: &str) -> Result<String, ScanError> {
        let command = Exec {
            argv: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
            env: vec![("W".to_owned(), self.workdir.display().to_string())],
            cwd: Some(PathBuf::from("/")),
            deadline: Some(Instant::now() + PATIENCE),
            stdout: Sink { file: None, cap: 0, keep: OUTPUT },
            stderr: Some(Sink::default()),
        };
        let outcome = container.exec_as(&command, Some("0"), self.cancel)?;
        match outcome.exit {
            Exit::Code(_) | Exit::Signal(_) => Ok(outcome.stdout.text()),
            Exit::Deadline => Err(ScanError::Slow),
            Exit::Cancelled => Err(ScanError::Interrupted),
            Exit::Limit(_) => Err(ScanError::Limit),
        }
    }

    /// The texts that must not be in the image.
    fn search_texts(&self) -> Vec<SearchText> {
        let mut texts: Vec<SearchText> = self
            .absent
            .iter()
            .map(|skill| SearchText {
                what: format!("the skill {}", skill.name),
                bytes: skill.document.clone().into_bytes(),
                body: skill.body.clone(),
            })
            .collect();
        let shown = |path: &Path| path.starts_with("environment") || path == Path::new("instruction.md");
        let nodes = tree::walk(&self.task.root).nodes;
        let read = |path: &Path| {
            let content = assay_fs::read_within(&self.task.root, path, COMPARED).ok()?;
            (!content.truncated).then_some(content.bytes)
        };
        let files = |keep: &dyn Fn(&Path) -> bool| -> Vec<(PathBuf, Vec<u8>)> {
            let wanted =
                nodes.iter().filter(|node| node.kind == assay_skill::FileKind::File && keep(&node.path));
            wanted
                .take(SEARCHED_FILES)
                .filter_map(|node| Some((node.path.clone(), read(&node.path)?)))
                .collect()
        };
        // What the agent should find anyway does not count, as a whole or line by line.
        let given = files(&shown);
        let lines: BTreeSet<String> = given
            .iter()
            .flat_map(|(_, bytes)| {
                String::from_utf8_lossy(bytes).lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()
            })
            .collect();
        let verifiers =
            |path: &Path| path.starts_with("tests") || path.starts_with("solution") || is_step(path);
        for (path, bytes) in files(&verifiers) {
            if bytes.len() < LEAST || given.iter().any(|(_, other)| *other == bytes) {
                continue;
            }
            let text = String::from_utf8_lossy(&bytes);
            let own: Vec<&str> = text.lines().filter(|line| !lines.contains(line.trim())).collect();
            // Only what solves is known by its lines: tests are written from stock.
            let body = if path.starts_with("solution") { own.join("\n") } else { String::new() };
            texts.push(SearchText { what: path.display().to_string(), body, bytes });
        }
        texts
    }

    /// Fetches suspected files and compares them.
    #[expect(clippy::unused_self, reason = "part of the answer")]
    fn compare(
        &self,
        container: &Container,
        suspects: &BTreeSet<PathBuf>,
        texts: &[SearchText],
        inventory: &mut ImageInventory,
    ) -> Result<(), ScanError> {
        if suspects.len() > CANDIDATES {
            inventory
                .found
                .push(format!("{} files may contain texts that must not be in the image", suspects.len()));
        }
        for path in suspects.iter().take(CANDIDATES) {
            let bytes = match container.read(path, COMPARED) {
                Ok(Some(bytes)) => bytes,
                // Larger than anything that is searched for, or not a file after all.
                Ok(None) | Err(SandboxError::Io { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            let text = String::from_utf8_lossy(&bytes);
            for one in texts {
                if blake3::hash(&bytes) == blake3::hash(&one.bytes) || assay_trace::carries(&text, &one.body)
                {
                    inventory.found.push(format!("{} in {}", one.what, path.display()));
                }
            }
        }
        Ok(())
    }

    /// Fetches the verifier's copies of skills. One that cannot be kept completely stays in the
    /// image, where it is found and reported.
    fn keep_verifiers(&self, container: &Container, inventory: &mut ImageInventory) -> Result<(), ScanError> {
        for (number, copy) in self.task.environment.verifier_copies.iter().enumerate() {
            let Some(found) = container.stat(&copy.target)? else { continue };
            let to = self.scratch.join("verifiers").join(number.to_string());
            std::fs::create_dir_all(&to).map_err(ScanError::io("create", &to))?;
            if found.is_dir {
                let report = container.fetch(&copy.target, &to, &Caps::default())?;
                if report.is_some_and(|report| report.left_out.is_empty()) {
                    inventory.verifier_copies.push((copy.target.clone(), to));
                }
            } else if let Ok(Some(bytes)) = container.read(&copy.target, COMPARED) {
                let file = to.join("file");
                std::fs::write(&file, bytes).map_err(ScanError::io("write", &file))?;
                inventory.verifier_copies.push((copy.target.clone(), file));
            }
        }
        Ok(())
    }

    fn keep_work(&self, container: &Container, inventory: &mut ImageInventory) -> Result<(), ScanError> {
        if self.workdir == Path::new("/") {
            return Ok(());
        }
        let to = self.scratch.join("work");
        std::fs::create_dir_all(&to).map_err(ScanError::io("create", &to))?;
        let report = container.fetch(self.workdir, &to, &WORK)?;
        // If there is none, the daemon makes an empty one.
        let is_whole = report.is_none_or(|report| report.left_out.is_empty());
        if is_whole {
            let manifest = Manifest::scan(&to, &WORK)?;
            inventory.work = Some((to, manifest));
        }
        Ok(())
    }
}

/// What of a work folder is taken after the agent.
pub(crate) const WORK_CAPS: Caps = WORK;

fn is_step(path: &Path) -> bool {
    let part = |n: usize| path.iter().nth(n).and_then(|part| part.to_str());
    part(0) == Some("steps") && matches!(part(2), Some("tests" | "solution"))
}

/// The folder of an image's `SKILL.md`, if it is below one called `skills`.
fn package(document: &Path) -> Option<PathBuf> {
    let folder = document.parent()?;
    let beneath = folder.iter().any(|part| part == "skills" || part == "skill");
    (beneath && folder != Path::new("/")).then(|| folder.to_path_buf())
}

/// The lines to search for, one a line, without those that a shell or `grep` would interpret.
fn lines(texts: &[SearchText]) -> String {
    let mut text = String::new();
    for one in texts {
        let mut lines: Vec<&str> =
            one.body.lines().map(str::trim).filter(|line| line.chars().count() >= LINE).collect();
        lines.sort_by_key(|line| (std::cmp::Reverse(line.len()), *line));
        lines.dedup();
        for line in lines.into_iter().take(LINES_EACH) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// The search script, for any shell and `find`. Each line of its output begins with a letter for
/// its kind.
fn script(texts: &[SearchText], by_line: bool, verifier_copies: bool) -> String {
    let sizes: BTreeSet<usize> = texts.iter().map(|one| one.bytes.len()).collect();
    let sizes: Vec<String> = sizes.iter().map(|size| format!("-size {size}c")).collect();
    let prune = "-xdev \\( -path /proc -o -path /sys -o -path /dev \\) -prune -o";
    let folders = skill_folders().collect::<Vec<_>>().join(" ");
    let mut text = format!(
        r#"for t in find grep xargs sed; do command -v $t > /dev/null 2>&1 || echo "!$t"; done
IFS=:
for d in $PATH; do
  echo "W$d"
  for f in "$d"/*; do if [ -e "$f" ] || [ -h "$f" ]; then echo "P$f"; fi; done
done
unset IFS
find /lib/ /lib64/ /usr/lib /usr/lib64 /usr/local/lib -name '*.so*' 2> /dev/null | sed 's/^/L/'
find / {prune} -iname skill.md -print 2> /dev/null | sed 's/^/S/'
for h in /root /home/* "$W" /; do for s in {folders}; do
  for f in "$h/$s"/*; do if [ -e "$f" ] || [ -h "$f" ]; then echo "F$f"; fi; done
done; done
find / {prune} -type f -size -20480k \( -name '*.tar' -o -name '*.tar.*' -o -name '*.tgz' -o -name '*.zip' \) -print 2> /dev/null |
  while IFS= read -r f; do
    case "$f" in *.zip) unzip -l "$f" ;; *) tar -tf "$f" ;; esac 2> /dev/null | grep -qi 'skill\.md *$' && echo "A$f"
  done
find / {prune} -type d \( -name '*.dist-info' -o -name '*.egg-info' \) -path '*-packages/*' -print 2> /dev/null | sed 's/^/M/'
for p in /tests /solution /logs/verifier; do if [ -e $p ] || [ -h $p ]; then echo "G$p"; fi; done
"#
    );
    if verifier_copies {
        // A Dockerfile that copies its whole context copies them too.
        text.push_str(&format!(
            "find / {prune} -type d -name {} -print 2> /dev/null | sed 's/^/F/'\n",
            assay_task::VERIFIERS
        ));
    }
    if !sizes.is_empty() {
        text.push_str(&format!(
            "find / {prune} -type f \\( {} \\) -print 2> /dev/null | sed 's/^/C/'\n",
            sizes.join(" -o ")
        ));
    }
    if by_line {
        text.push_str(&format!(
            "find / {prune} -type f -size -2049k -print0 2> /dev/null | xargs -0 grep -lF -f {LINES} 2> /dev/null | sed 's/^/C/'\n"
        ));
    }
    text.push_str("echo .\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baked_skill_is_its_folder() {
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(package(Path::new(path)).as_deref(), expected.map(Path::new), "{path}");
        };
        check("/root/.claude/skills/x/SKILL.md", Some("/root/.claude/skills/x"));
        check("/opt/skills/SKILL.md", Some("/opt/skills"));
        check("/usr/share/doc/x/SKILL.md", None);
        check("/SKILL.md", None);
    }

    /// What an image bakes in there would reach every condition of a trial with that agent.
    #[test]
    fn the_skill_folders_of_all_harnesses_are_searched() {
        let text = script(&[], false, false);
        let line = text.lines().find(|line| line.contains("for s in ")).unwrap();
        let searched: BTreeSet<&str> =
            line.split_whitespace().map(|word| word.trim_end_matches(';')).collect();
        let folders: Vec<&str> = HARNESSES.iter().filter_map(|harness| harness.skills_dir()).collect();
        assert!(folders.contains(&"/root/.claude/skills"), "{folders:?}");
        for folder in folders {
            let inside = folder.strip_prefix("/root/").or(folder.strip_prefix('/')).unwrap();
            assert!(searched.contains(inside), "{folder} in {searched:?}");
        }
        for folder in OTHER_SKILL_FOLDERS {
            assert!(searched.contains(folder), "{folder}");
            assert_eq!(skill_folders().filter(|other| *other == folder).count(), 1, "{folder}");
        }
    }

    #[test]
    fn only_long_lines_are_searched_for() {
        let long = "x".repeat(LINE);
        let one = |body: &str| SearchText { what: String::new(), bytes: Vec::new(), body: body.to_owned() };
        assert_eq!(lines(&[one("short\n")]), "");
        assert_eq!(lines(&[one(&format!("  {long}  \nshort\n{long}\n"))]), format!("{long}\n"));
        let many: String = (0..100).map(|n| format!("{n} {long}\n")).collect();
        assert_eq!(lines(&[one(&many)]).lines().count(), LINES_EACH);
    }
}
