//! Scripts, and the files of evaluations.

use std::collections::BTreeSet;
use std::path::Path;

use crate::client::AGENTS;
use crate::diagnostic::Severities;
use crate::diagnostic::Severity::{Info, Warning};
use crate::rule::{Family, Findings, Rule, rule};
use crate::skill::{Resource, Skill};
use assay_syntax::code::{self, Language, Node};

pub(super) struct Scripts;

const ADVICE: Severities = Severities::all(Info);
const MILD: Severities = Severities::all(Warning);

const RULES: &[Rule] = &[
    rule!(
        "script-shebang",
        ADVICE,
        [154],
        "agnix, NVIDIA",
        "an executable script without a `#!` line, or a script with one that is not executable",
        "Start the script with a line such as `#!/usr/bin/env bash` and make it executable, or run it with its interpreter."
    ),
    rule!(
        "script-import",
        ADVICE,
        [48, 155],
        "specification; NVIDIA",
        "a Python script imports a module that is neither in the standard library nor mentioned in the package",
        "Say in SKILL.md how to install the module, or declare it in the script's metadata."
    ),
    rule!(
        "script-input",
        Severities::none().with(Warning, &AGENTS),
        [48],
        "agnix",
        "a script waits for keyboard input and has no non-interactive mode",
        "Accept an option such as `--yes`, or fail with a message if standard input is not a terminal."
    ),
    rule!(
        "evals-format",
        MILD,
        [71, 72],
        "the evaluation guide",
        "evals/evals.json or a file of trigger queries does not follow the format of the evaluation guide",
        "Write `{skill_name, evals: [{id, prompt, expected_output, files, assertions}]}`."
    ),
    rule!(
        "evals-shipped",
        MILD,
        [157],
        "NVIDIA, waza",
        "the package contains the expected answers of an evaluation, which an agent can read",
        "Keep evaluations outside of the package."
    ),
];

impl Family for Scripts {
    fn rules(&self) -> &'static [Rule] {
        RULES
    }

    fn check(&self, skill: &Skill, findings: &mut Findings) {
        if skill.entries().next().is_none() {
            return;
        }
        for file in skill.resources() {
            let first = file.text.lines().next().unwrap_or("");
            let script = ["sh", "bash", "py", "rb", "pl"].iter().any(|extension| ends(file, extension));
            if script && file.executable && !first.starts_with("#!") {
                findings
                    .add_in(
                        "script-shebang",
                        skill,
                        file,
                        &(0..first.len()),
                        "executable, but the first line names no interpreter",
                    )
                    .hint("start it with a line such as `#!/usr/bin/env bash`");
            } else if script && !file.executable && first.starts_with("#!") {
                findings
                    .add_in(
                        "script-shebang",
                        skill,
                        file,
                        &(0..first.len()),
                        "the first line names an interpreter, but the file is not executable",
                    )
                    .hint("run `chmod +x` on it, or remove the line and run it with its interpreter");
            }
            if ends(file, "py") {
                imports(skill, file, findings);
            }
            input(skill, file, findings);
            if ends(file, "json") && (file.path.starts_with("evals/") || file.path.contains("eval")) {
                evals(skill, file, findings);
            }
        }
    }
}

/// Words of a script with a non-interactive mode: an option for the answer, or a check of standard
/// input.
const UNATTENDED: [&str; 9] = [
    "isatty",
    "isTTY",
    "[ -t 0",
    "[[ -t 0",
    "--yes",
    "--force",
    "--no-input",
    "--non-interactive",
    "--auto-approve",
];

/// Calls that wait for keyboard input.
fn input(skill: &Skill, file: &Resource, findings: &mut Findings) {
    let text = code::head(&file.text);
    let mentions = ["input(", "getpass", "read ", "question("].iter().any(|word| text.contains(word));
    let tests = file.path.split('/').any(|part| part.starts_with("test"));
    if !mentions || tests || UNATTENDED.iter().any(|word| text.contains(word)) {
        return;
    }
    let Some(language) = Language::of(&file.path, text) else { return };
    let Some(tree) = code::tree(language, text) else { return };
    let mut places = Vec::new();
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        if waits(language, node, text) {
            places.push(node.byte_range());
        }
        pending.extend(code::named(node));
    }
    places.sort_by_key(|place| place.start);
    let Some(first) = places.first() else { return };
    let more = match places.len() - 1 {
        0 => String::new(),
        1 => ", and another one below".to_owned(),
        more => format!(", and {more} more below"),
    };
    findings
        .add_in(
            "script-input",
            skill,
            file,
            first,
            format!("this call waits for keyboard input{more}: an agent's shell hangs"),
        )
        .hint("accept an option for the answer, or fail with a message if standard input is not a terminal");
}

/// Whether a node is a call that reads an answer from the terminal.
fn waits(language: Language, node: Node<'_>, text: &str) -> bool {
    let field = |name: &str| node.child_by_field_name(name).map_or("", |child| code::text(child, text));
    match (language, node.kind()) {
        (Language::Python, "call") => {
            matches!(field("function"), "input" | "raw_input" | "getpass" | "getpass.getpass")
        }
        // Without a prompt, `read` mostly takes lines of a file or of a pipe.
        (Language::Shell, "command") => {
            field("name") == "read"
                && code::text(node, text).split_whitespace().skip(1).any(|word| {
                    word.starts_with('-') && !word.starts_with("--") && word.ends_with('p')
                        || word.starts_with("-p")
                })
        }
        (Language::JavaScript, "call_expression") => {
            text.contains("readline") && field("function").ends_with(".question")
        }
        _ => false,
    }
}

fn ends(file: &Resource, extension: &str) -> bool {
    Path::new(&file.path).extension().is_some_and(|own| own.eq_ignore_ascii_case(extension))
}

/// Modules of Python's standard library that scripts of the corpus import.
const STANDARD: &str = " __future__ abc argparse array ast asyncio atexit base64 bisect builtins bz2 calendar cmath codecs collections colorsys \
     concurrent configparser contextlib contextvars copy copyreg csv ctypes curses dataclasses datetime dbm decimal difflib dis \
     doctest email encodings enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc getopt getpass \
     gettext glob graphlib grp gzip hashlib heapq hmac html http imaplib importlib inspect io ipaddress itertools json keyword \
     linecache locale logging lzma mailbox marshal math mimetypes mmap multiprocessing netrc numbers operator optparse os pathlib \
     pdb pickle pkgutil platform plistlib poplib posixpath pprint profile pstats pty pwd py_compile queue quopri random re \
     readline reprlib resource runpy sched secrets select selectors shelve shlex shutil signal site smtplib socket socketserver \
     sqlite3 ssl stat statistics string stringprep struct subprocess symtable sys sysconfig tarfile tempfile termios textwrap \
     threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle types typing unicodedata \
     unittest urllib uuid venv warnings wave weakref webbrowser wsgiref xml xmlrpc zipapp zipfile zipimport zlib zoneinfo ";

/// Imports at the start of a line. A module that the package's text or the script mentions
/// elsewhere counts as declared.
fn imports(skill: &Skill, file: &Resource, findings: &mut Findings) {
    let local: BTreeSet<&str> = skill
        .resources()
        .iter()
        .flat_map(|other| other.path.split('/'))
        .map(|part| part.trim_end_matches(".py"))
        .collect();
    let declared = |module: &str| {
        let names = [module, alias(module)];
        let mentions =
            |text: &str| names.iter().any(|name| text.to_lowercase().contains(&name.to_lowercase()));
        mentions(skill.text())
            || skill.resources().iter().any(|other| {
                let manifest =
                    ["requirements", "pyproject.toml", "setup.py", "setup.cfg", "environment.y", "Pipfile"];
                manifest.iter().any(|name| other.path.contains(name)) && mentions(&other.text)
            })
    };
    let header = file.text.lines().take(40).collect::<Vec<_>>().join("\n");
    let mut reported = BTreeSet::new();
    let mut at = 0;
    for line in file.text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let rest = line.strip_prefix("import ").or_else(|| line.strip_prefix("from "));
        let Some(rest) = rest else { continue };
        let module =
            rest.trim_start().split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
        let standard = STANDARD.contains(&format!(" {module} "));
        if module.is_empty()
            || standard
            || local.contains(module)
            || declared(module)
            || !reported.insert(module)
        {
            continue;
        }
        // Declared in the script's metadata block, or in an install comment.
        if header.contains("/// script") && header.contains("dependencies") || header.contains("pip install")
        {
            continue;
        }
        findings
            .add_in(
                "script-import",
                skill,
                file,
                &(start..start + line.trim_end().len()),
                format!("`{module}` is imported but not mentioned elsewhere in the package"),
            )
            .hint("say in SKILL.md how to install it, or declare it in the script's metadata");
    }
}

/// Package names of some modules.
fn alias(module: &str) -> &str {
    match module {
        "yaml" => "pyyaml",
        "PIL" => "pillow",
        "cv2" => "opencv",
        "bs4" => "beautifulsoup4",
        "sklearn" => "scikit-learn",
        "docx" => "python-docx",
        "pptx" => "python-pptx",
        "dotenv" => "python-dotenv",
        "dateutil" => "python-dateutil",
        other => other,
    }
}

fn evals(skill: &Skill, file: &Resource, findings: &mut Findings) {
    let Ok(value) = serde_json::from_str::<serde_json::Value>(&file.text) else {
        if file.path.starts_with("evals/") {
            findings.add_in("evals-format", skill, file, &(0..0), "not JSON").hint("fix it");
        }
        return;
    };
    let tasks = value.get("evals").and_then(|evals| evals.as_array());
    if file.path == "evals/evals.json" {
        let whole = value.get("skill_name").is_some_and(serde_json::Value::is_string)
            && tasks.is_some_and(|tasks| {
                tasks.iter().all(|task| task.get("prompt").is_some_and(serde_json::Value::is_string))
            });
        if !whole {
            findings
                .add_in(
                    "evals-format",
                    skill,
                    file,
                    &(0..0),
                    "missing `skill_name`, or no `evals` list whose items have a `prompt`",
                )
                .hint("write {skill_name, evals: [{id, prompt, expected_output, files, assertions}]}");
        }
    }
    let answers = tasks.into_iter().flatten().any(|task| {
        ["expected_output", "assertions", "expectations"]
            .iter()
            .any(|key| task.get(key).is_some_and(|value| !value.is_null()))
    });
    if answers {
        findings
            .add_in(
                "evals-shipped",
                skill,
                file,
                &(0..0),
                "expected answers are in the package, where an agent can read them",
            )
            .hint("keep evaluations outside of the package");
    }
}
