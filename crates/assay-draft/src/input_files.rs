//! Files that tasks may be given: the user's, and those that a program of a task makes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use assay_diagnostic::clean;
use assay_fs::tree::Tree;
use assay_fs::{FileKind, tree};
use assay_sandbox::{Exec, Exit, Limits, Mount, Network, Root, Sandbox, SandboxError, Sink, Spec};

use crate::error::{DraftError, InputFault};
use crate::folder::make_folder;
use crate::proposal::{INPUT_BYTES, write_dockerfile};
use crate::review::Fault;
use crate::sources::InputFile;

/// Most inputs of a draft.
const MOST: usize = 200;

/// Most characters of the beginning of a text, and of all beginnings together.
const BEGINNING: usize = 1_500;
const BEGINNINGS: usize = 20_000;

/// The program that makes files, in a task's folder.
pub(crate) const GENERATOR: &str = "tests/generate.py";

/// How long it may run.
const GENERATOR_TIME: Duration = Duration::from_mins(1);

/// Most files that it may make.
const GENERATED: usize = 200;

/// Copies the user's files into the folder of a draft.
pub(crate) fn copy_inputs(from: &Path, to: &Path) -> Result<(), DraftError> {
    let walk = tree::walk(from);
    if let Some(problem) = walk.problems.first() {
        return Err(DraftError::read(&problem.path, problem.source.to_string()));
    }
    let files: Vec<&Path> = walk
        .nodes
        .iter()
        .filter(|node| node.kind == FileKind::File)
        .map(|node| node.path.as_path())
        .collect();
    if let Some(link) = walk.nodes.iter().find(|node| node.kind == FileKind::Link) {
        return Err(InputFault::Link(from.join(&link.path)).into());
    }
    if files.is_empty() || files.len() > MOST {
        return Err(InputFault::Count { path: from.to_owned(), files: files.len(), most: MOST }.into());
    }
    for path in files {
        let shown = from.join(path);
        let name = path.to_str().filter(|name| !name.chars().any(char::is_control));
        if name.is_none() {
            return Err(InputFault::Name(shown).into());
        }
        let content = assay_fs::read_within(from, path, INPUT_BYTES)
            .map_err(|error| DraftError::read(&shown, error))?;
        if content.truncated {
            return Err(InputFault::Length { path: shown, most: INPUT_BYTES }.into());
        }
        let into = to.join(path);
        make_folder(into.parent().unwrap_or(to))?;
        fs::write(&into, content.bytes)
            .map_err(|error| DraftError::io(format!("write {}", into.display()), error))?;
    }
    Ok(())
}

/// The inputs of a draft, as a model sees them.
pub(crate) fn list_inputs(folder: &Path) -> Vec<InputFile> {
    let mut room = BEGINNINGS;
    let nodes = tree::walk(folder).nodes;
    let files = nodes.into_iter().filter(|node| node.kind == FileKind::File);
    let listed = files.filter_map(|node| {
        let path = node.path.to_str()?.to_owned();
        let bytes = fs::metadata(folder.join(&node.path)).ok()?.len();
        let content = assay_fs::read_within(folder, &node.path, 64 << 10).ok()?;
        let text = match String::from_utf8(content.bytes) {
            Ok(text) => Some(text),
            // A character that the limit cuts.
            Err(error) if content.truncated && error.utf8_error().error_len().is_none() => {
                Some(String::from_utf8_lossy(error.as_bytes()).into_owned())
            }
            Err(_) => None,
        };
        let beginning = text.filter(|text| !text.contains('\0')).map(|text| {
            let part: String = text.chars().take(BEGINNING.min(room)).collect();
            room = room.saturating_sub(part.chars().count());
            part
        });
        Some(InputFile { path, bytes, beginning })
    });
    listed.take(MOST).collect()
}

/// Runs the generator of a task twice, and puts its files into the task's folder. Returns the fault, if there is one.
pub(crate) fn generate_files(
    sandbox: &dyn Sandbox,
    task: &Path,
    work: &Path,
) -> Result<Option<Fault>, DraftError> {
    let mut made = Vec::new();
    for number in [1, 2] {
        let out = work.join(format!("generated-{number}"));
        if out.is_dir() {
            assay_fs::remove_tree(&out)
                .map_err(|error| DraftError::io(format!("remove {}", out.display()), error))?;
        }
        make_folder(&out)?;
        if let Err(fault) = run_generator(sandbox, &task.join(GENERATOR), &out)? {
            return Ok(Some(fault));
        }
        if let Err(fault) = check_output(&out) {
            return Ok(Some(fault));
        }
        made.push(out);
    }
    let digests: Vec<_> = made.iter().map(|out| Tree::read(out).digest()).collect();
    if digests[0] != digests[1] {
        let message = "two executions of tests/generate.py write different files".to_owned();
        return Ok(Some(Fault::new("generator-unstable", message)));
    }
    let failed = |error| DraftError::io(format!("write to {}", task.display()), error);
    for (from, to) in [("files", "environment/files"), ("tests", "tests")] {
        let from = made[0].join(from);
        for node in tree::walk(&from).nodes.iter().filter(|node| node.kind == FileKind::File) {
            let into = task.join(to).join(&node.path);
            make_folder(into.parent().unwrap_or(task))?;
            fs::copy(from.join(&node.path), &into).map_err(failed)?;
        }
    }
    write_dockerfile(task).map_err(failed)?;
    Ok(None)
}

fn generator_fault(message: String) -> Fault {
    Fault::new("generator-fails", message)
}

/// Whether a task may have what its generator wrote.
fn check_output(out: &Path) -> Result<(), Fault> {
    let walk = tree::walk(out);
    let mut bytes = 0;
    let mut files = 0;
    for node in &walk.nodes {
        let shown = node.path.display();
        match node.kind {
            FileKind::File => {
                files += 1;
                bytes += fs::metadata(out.join(&node.path)).map_or(0, |found| found.len());
            }
            FileKind::Directory => {}
            _ => {
                return Err(generator_fault(format!(
                    "tests/generate.py writes {shown}, which is neither a file nor a folder"
                )));
            }
        }
        let inside = node.path.starts_with("files") || node.path.starts_with("tests");
        let own =
            ["tests/generate.py", "tests/test.sh", "tests/check.py", "tests/sets.py", "tests/items.json"];
        if !inside || own.iter().any(|own| node.path == Path::new(own)) {
            return Err(generator_fault(format!(
                "tests/generate.py writes {shown}: files are below files/ or tests/, and not its own"
            )));
        }
    }
    if files == 0 || files > GENERATED || bytes > INPUT_BYTES {
        return Err(generator_fault(format!(
            "tests/generate.py writes {files} files of {bytes} bytes: 1 to {GENERATED} files of at most {INPUT_BYTES} bytes are allowed"
        )));
    }
    Ok(())
}

/// Runs a generator in bubblewrap without network. The inner error is what went wrong.
fn run_generator(sandbox: &dyn Sandbox, script: &Path, out: &Path) -> Result<Result<(), Fault>, DraftError> {
    let failed =
        |error: SandboxError| DraftError::Generator { script: script.to_owned(), source: error.into() };
    let absolute = |path: &Path| {
        path.canonicalize().map_err(|error| DraftError::io(format!("open {}", path.display()), error))
    };
    let mount =
        |source: PathBuf, target: &str, writable: bool| Mount { source, target: target.into(), writable };
    let spec = Spec {
        root: Root::Host,
        mounts: vec![
            mount(absolute(script)?, "/generator/generate.py", false),
            mount(absolute(out)?, "/out", true),
        ],
        tmpfs: Vec::new(),
        workdir: "/out".into(),
        env: [
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("HOME", "/tmp"),
            ("LANG", "C.UTF-8"),
            ("TZ", "UTC"),
            ("PYTHONHASHSEED", "0"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec(),
        network: Network::None,
        limits: Limits {
            cpus: None,
            memory_bytes: Some(1 << 30),
            pids: Some(64),
            storage_bytes: Some(64 << 20),
        },
        label: "generator".to_owned(),
    };
    let mut session = sandbox.start(&spec).map_err(failed)?;
    let command = Exec {
        argv: ["python3", "-s", "/generator/generate.py"].map(str::to_owned).to_vec(),
        env: Vec::new(),
        cwd: None,
        deadline: Some(Instant::now() + GENERATOR_TIME),
        stdout: Sink { keep: 2_000, ..Sink::default() },
        stderr: None,
    };
    let outcome = session.exec(&command, &AtomicBool::new(false)).map_err(failed)?;
    session.stop().map_err(failed)?;
    if outcome.exit == Exit::Code(0) {
        return Ok(Ok(()));
    }
    let ended = match outcome.exit {
        Exit::Code(code) => format!("ends with status {code}"),
        Exit::Deadline => format!("runs for more than {} s", GENERATOR_TIME.as_secs()),
        Exit::Limit(_) => "exceeds its limit of memory or disk".to_owned(),
        other => format!("ends with {other:?}"),
    };
    Ok(Err(generator_fault(format!("tests/generate.py {ended}: {}", clean(&outcome.stdout.text())))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, bytes: &[u8]) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    #[test]
    fn what_a_generator_may_write_is_limited() {
        let check = |files: &[&str], expected: &str| {
            let out = tempfile::tempdir().unwrap();
            for path in files {
                write(out.path(), path, b"x");
            }
            let found = check_output(out.path()).err();
            let code = found.as_ref().map(|fault| fault.code.as_str());
            assert_eq!(code, (!expected.is_empty()).then_some("generator-fails"), "{files:?}");
            let message = found.map_or_else(String::new, |fault| fault.message);
            assert!(message.contains(expected), "{files:?}: {message}");
        };
        check(&["files/a.csv", "files/b/c.csv", "tests/expected.json"], "");
        check(&[], "writes 0 files of 0 bytes");
        check(&["a.csv"], "writes a.csv: files are below files/ or tests/");
        check(&["files/a.csv", "tests/test.sh"], "writes tests/test.sh");
        let many: Vec<String> = (0..=GENERATED).map(|number| format!("files/{number}")).collect();
        check(&many.iter().map(String::as_str).collect::<Vec<_>>(), "writes 201 files");
        let out = tempfile::tempdir().unwrap();
        write(out.path(), "files/a", b"x");
        std::os::unix::fs::symlink("a", out.path().join("files/link")).unwrap();
        let fault = check_output(out.path()).unwrap_err();
        assert!(fault.message.contains("files/link, which is neither a file nor a folder"), "{fault:?}");
    }

    #[test]
    fn inputs_are_copied_or_refused() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        fs::create_dir(&from).unwrap();
        let refused = |expected: &str| {
            let error = copy_inputs(&from, &to).unwrap_err();
            assert!(matches!(error, DraftError::Input(_)) && error.to_string().contains(expected), "{error}");
        };
        refused("contains 0 files, 1 to 200 are allowed");
        write(&from, "data/sales.csv", b"shop,cents\n");
        write(&from, "image.png", b"\x89PNG\0");
        std::os::unix::fs::symlink("image.png", from.join("link")).unwrap();
        refused("link is a link");
        fs::remove_file(from.join("link")).unwrap();
        write(&from, "a\nb", b"x");
        refused("is not an allowed name");
        fs::remove_file(from.join("a\nb")).unwrap();
        copy_inputs(&from, &to).unwrap();
        let listed: Vec<_> =
            list_inputs(&to).into_iter().map(|input| (input.path, input.bytes, input.beginning)).collect();
        let expected = [
            ("data/sales.csv".to_owned(), 11, Some("shop,cents\n".to_owned())),
            ("image.png".to_owned(), 5, None),
        ];
        assert_eq!(listed, expected);
    }
}
