//! The commands in the code blocks of the project's documents.

use std::fs;
use std::path::Path;

/// One command, with the lines that continue it joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// The document, from the project's folder on.
    pub(crate) document: String,
    /// The heading above it.
    pub(crate) section: String,
    /// The command, without a comment behind it.
    pub(crate) text: String,
    /// The exit status that the comment names with `exits with N`, or 0.
    pub(crate) status: i32,
    /// The lines that a block in `console` shows below it.
    pub(crate) output: Vec<String>,
}

/// Every command that a reader is told to type: README.md, CONTRIBUTING.md, and docs/ without what is generated or tested as data.
pub(crate) fn commands(project: &Path) -> Vec<Line> {
    let mut documents = vec!["CONTRIBUTING.md".to_owned(), "README.md".to_owned()];
    for folder in ["docs", "docs/guide", "docs/lab"] {
        let Ok(entries) = fs::read_dir(project.join(folder)) else { continue };
        for entry in entries {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let is_page = Path::new(&name).extension().is_some_and(|extension| extension == "md");
            if is_page && name != "COMMANDS.md" && name != "RULES.md" {
                documents.push(format!("{folder}/{name}"));
            }
        }
    }
    documents.sort();
    let mut found = Vec::new();
    for document in documents {
        let text = fs::read_to_string(project.join(&document)).unwrap();
        found.extend(of_document(&document, &text));
    }
    found
}

fn of_document(document: &str, text: &str) -> Vec<Line> {
    let mut found: Vec<Line> = Vec::new();
    let (mut section, mut fence, mut open) = (String::new(), None, None::<String>);
    for line in text.lines() {
        if let Some(language) = line.strip_prefix("```") {
            fence = if fence.is_none() { Some(Fence::of(language)) } else { None };
            continue;
        }
        if fence.is_none()
            && let Some(title) = line.strip_prefix('#')
        {
            title.trim_start_matches('#').trim().clone_into(&mut section);
        }
        let code = match fence {
            Some(Fence::Shell | Fence::Console) => Some(line),
            Some(Fence::Other) => None,
            None => line.strip_prefix("    "),
        };
        let Some(code) = code else {
            open = None;
            continue;
        };
        let begins = match fence {
            // All of it is typed, but for comments.
            Some(Fence::Shell) => !code.trim().is_empty() && !code.starts_with('#'),
            Some(Fence::Console) => code.starts_with("$ "),
            _ => is_command(code.trim_start_matches("$ ")),
        };
        let code = code.trim_start_matches("$ ");
        let whole = match open.take() {
            Some(begun) => format!("{begun} {}", code.trim()),
            None if begins => code.trim().to_owned(),
            None => {
                if let (Some(Fence::Console), Some(last)) = (&fence, found.last_mut())
                    && last.document == document
                    && last.section == section
                {
                    last.output.push(code.to_owned());
                }
                continue;
            }
        };
        if let Some(begun) = whole.strip_suffix('\\') {
            open = Some(begun.trim_end().to_owned());
            continue;
        }
        let (text, comment) = whole.split_once(" #").unwrap_or((&whole, ""));
        let status =
            comment.split_once("exits with ").map_or(0, |(_, status)| status.trim().parse().unwrap());
        found.push(Line {
            document: document.to_owned(),
            section: section.clone(),
            text: text.trim().to_owned(),
            status,
            output: Vec::new(),
        });
    }
    found
}

/// What a fenced block contains.
enum Fence {
    /// Commands.
    Shell,
    /// Commands behind `$ `, and what they print.
    Console,
    /// Neither.
    Other,
}

impl Fence {
    fn of(language: &str) -> Self {
        match language {
            "sh" | "shell" | "bash" => Self::Shell,
            "console" => Self::Console,
            _ => Self::Other,
        }
    }
}

/// Whether a line of a block is typed, and not printed or a part of a file.
fn is_command(line: &str) -> bool {
    let mut words = line.split(' ').skip_while(|word| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        })
    });
    let first = words.next().unwrap_or_default();
    let is_known = matches!(first, "assay" | "cargo" | "cd" | "cp" | "git" | "sed" | "mkdir" | "pip" | "npm");
    // `assay: …` is a message, and `assay = …` a line of a file.
    let is_prose = matches!(words.next(), Some("=" | ":"));
    (is_known && !is_prose)
        || first.starts_with("scripts/")
        || first.starts_with("target/")
        || first == ".ci/run"
}

#[test]
fn commands_are_told_from_output_and_files() {
    let text = "# One\n\n    assay lint PATH…   # all of it\n    error: no\n    A_KEY=… assay run x \\\n      --dry-run\n\n## Two\n\n\
                ```toml\nassay = 1\n```\n\n    assay = \"1\"\n\n```sh\ncd x\nls\n```\n\n## Three\n\n```console\n$ rm y   # exits with 1\nrm: no\n```\n";
    let found = of_document("d", text);
    let last = found.last().unwrap();
    assert_eq!((last.status, last.output.as_slice()), (1, &["rm: no".to_owned()][..]));
    let found: Vec<(&str, &str)> =
        found.iter().map(|line| (line.section.as_str(), line.text.as_str())).collect();
    assert_eq!(
        found,
        [
            ("One", "assay lint PATH…"),
            ("One", "A_KEY=… assay run x --dry-run"),
            ("Two", "cd x"),
            ("Two", "ls"),
            ("Three", "rm y")
        ]
    );
}
