//! A task's texts, read once for all rules.

use std::path::{Path, PathBuf};

use assay_fs::tree::{self, Node};
use assay_skill::{FileKind, Package, decode};

use super::finding::Span;
use crate::{Layout, Task};

/// Most bytes of one text that are read.
const TEXT_CAP: u64 = 512 << 10;
/// Most bytes of all texts of one kind.
const KIND_CAP: usize = 4 << 20;
/// Most files of one kind.
const FILES: usize = 2_000;
/// Most characters of a span's text.
const SPAN_CHARS: usize = 160;

/// The context of rules in addition to the task.
#[derive(Debug, Default)]
pub struct Context<'a> {
    /// The skills that an experiment pairs with the task, in addition to its own.
    pub skills: Vec<&'a Package>,
    /// Every skill of the experiment: an instruction should name none of them.
    pub library: Vec<&'a Package>,
    /// Whether the experiment lets verifiers reach the network; `None` without an experiment.
    pub verifier_network: Option<bool>,
    /// Whether opt-in rules are applied too.
    pub all_rules: bool,
    /// Processors of this machine.
    pub cpus: Option<f64>,
    /// Memory of this machine, in bytes.
    pub memory_bytes: Option<u64>,
}

/// A text of a task or of a skill.
#[derive(Debug, Clone)]
pub struct Text {
    /// Its path.
    pub file: PathBuf,
    /// Its content.
    pub text: String,
}

impl Text {
    /// Its lines, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        self.file.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// The ending of the file's name, without the dot.
    pub fn extension(&self) -> &str {
        self.file.extension().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Whether it is a shell script, by its name or its first line.
    pub fn is_shell(&self) -> bool {
        let first = self.text.lines().next().unwrap_or_default();
        matches!(self.extension(), "sh" | "bash") || (first.starts_with("#!") && first.contains("sh"))
    }

    /// Whether it is a program, and not data.
    pub fn is_code(&self) -> bool {
        self.is_shell()
            || matches!(
                self.extension(),
                "py" | "js"
                    | "ts"
                    | "mjs"
                    | "rb"
                    | "pl"
                    | "go"
                    | "rs"
                    | "c"
                    | "cpp"
                    | "java"
                    | "r"
                    | "R"
                    | "jl"
                    | "lua"
            )
    }

    /// The place of some lines.
    pub fn span(&self, line: usize, end_line: usize) -> Span {
        let mut text = String::new();
        for (_, there) in self.lines().skip(line.saturating_sub(1)).take((end_line + 1).saturating_sub(line))
        {
            if !text.is_empty() {
                text.push(' ');
            }
            text.extend(there.trim().chars().take(SPAN_CHARS));
            if text.chars().count() >= SPAN_CHARS {
                text = text.chars().take(SPAN_CHARS).collect::<String>() + "…";
                break;
            }
        }
        Span { file: self.file.clone(), line, end_line, text }
    }
}

/// A skill's texts.
#[derive(Debug)]
pub struct SkillTexts {
    /// Its name.
    pub name: String,
    /// Its files' names, relative to it.
    pub files: Vec<PathBuf>,
    /// Its texts.
    pub texts: Vec<Text>,
}

/// The input of the rules.
#[derive(Debug)]
pub struct Subject<'a> {
    /// The task.
    pub task: &'a Task,
    /// The context.
    pub context: &'a Context<'a>,
    /// `instruction.md`, or `task.md`, or those of the steps.
    pub instructions: Vec<Text>,
    /// What grades.
    pub tests: Vec<Text>,
    /// What solves.
    pub solution: Vec<Text>,
    /// The agent's files without skills, with the Dockerfile and what test doubles answer.
    pub environment: Vec<Text>,
    /// The names of all files that the agent finds, texts or not.
    pub visible: Vec<PathBuf>,
    /// The skills that are meant for the task.
    pub skills: Vec<SkillTexts>,
    /// Files that were not read, with the reason.
    pub unread: Vec<(PathBuf, &'static str)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Instruction,
    Tests,
    Solution,
    Environment,
    Other,
}

impl<'a> Subject<'a> {
    /// Reads a task's texts. What cannot be read is in [`Subject::unread`].
    pub fn read(task: &'a Task, context: &'a Context<'a>) -> Self {
        let mut subject = Self {
            task,
            context,
            instructions: Vec::new(),
            tests: Vec::new(),
            solution: Vec::new(),
            environment: Vec::new(),
            visible: Vec::new(),
            skills: Vec::new(),
            unread: Vec::new(),
        };
        let mut nodes = tree::walk(&task.root).nodes;
        nodes.sort_by(|a, b| a.path.cmp(&b.path));
        for kind in [Kind::Instruction, Kind::Tests, Kind::Solution, Kind::Environment] {
            let files: Vec<&Node> = nodes
                .iter()
                .filter(|node| node.kind == FileKind::File && kind_of(task, &node.path) == kind)
                .collect();
            if kind == Kind::Environment {
                let is_found = |node: &&&Node| !is_double(&node.path);
                subject.visible = files.iter().filter(is_found).map(|node| node.path.clone()).collect();
            }
            let texts = read(&task.root, files.iter().map(|node| node.path.as_path()), &mut subject.unread);
            match kind {
                Kind::Instruction => subject.instructions = texts,
                Kind::Tests => subject.tests = texts,
                Kind::Solution => subject.solution = texts,
                Kind::Environment | Kind::Other => subject.environment = texts,
            }
        }
        for (file, bytes) in task.shared_scripts() {
            subject.tests.push(Text { file, text: decode(bytes).text });
        }
        let mut packages: Vec<&Package> = task.skills.iter().collect();
        packages.extend(
            context.skills.iter().filter(|skill| task.skills.iter().all(|own| own.digest != skill.digest)),
        );
        packages.extend(context.library.iter().filter(|skill| task.required_skills.contains(&skill.name)));
        packages.sort_by(|a, b| (&a.name, a.digest).cmp(&(&b.name, b.digest)));
        packages.dedup_by(|a, b| a.digest == b.digest);
        for package in packages {
            let files: Vec<PathBuf> = package
                .files
                .iter()
                .filter(|entry| entry.kind == FileKind::File)
                .map(|entry| PathBuf::from(&entry.path))
                .collect();
            let texts = read(&package.root, files.iter().map(PathBuf::as_path), &mut subject.unread);
            subject.skills.push(SkillTexts { name: package.name.clone(), files, texts });
        }
        subject
    }

    /// The file of the instruction, for findings about it as a whole.
    pub fn instruction_file(&self) -> PathBuf {
        self.instructions.first().map_or_else(|| self.task.root.clone(), |text| text.file.clone())
    }

    /// The instruction with its lines.
    pub fn instruction_lines(&self) -> impl Iterator<Item = (&Text, usize, &str)> {
        self.instructions.iter().flat_map(|text| text.lines().map(move |(line, there)| (text, line, there)))
    }

    /// Whether the instruction contains a text.
    pub fn instruction_contains(&self, text: &str) -> bool {
        self.instructions.iter().any(|instruction| instruction.text.contains(text))
    }

    /// Whether the instruction is in English, judged by a few common words: rules that search for
    /// words know no other language.
    pub fn is_english(&self) -> bool {
        const COMMON: &str =
            " the a an and or of to in is are be for with that this it you your from on as all if not ";
        let (mut words, mut common, mut other) = (0_usize, 0_usize, 0_usize);
        for word in self.instructions.iter().flat_map(|text| text.text.split_whitespace()) {
            let word = word.trim_matches(|c: char| !c.is_alphabetic()).to_lowercase();
            words += usize::from(!word.is_empty());
            common += usize::from(!word.is_empty() && COMMON.contains(&format!(" {word} ")));
            other += word.chars().filter(|c| !c.is_ascii()).count();
        }
        // Of English prose a third or more is such words; a list of names has fewer.
        common * 12 >= words && other * 2 <= words.max(1)
    }

    /// Whether the agent is shown a text: in the instruction, or in a file that it finds.
    pub fn is_shown_to_agent(&self, text: &str) -> bool {
        self.instruction_contains(text) || self.environment.iter().any(|file| file.text.contains(text))
    }

    /// Whether the agent finds a file of that name.
    pub fn finds(&self, name: &str) -> bool {
        self.visible.iter().any(|path| path.iter().any(|part| part == name))
    }
}

/// Whether a path is one of the files that declare test doubles.
fn is_double(path: &Path) -> bool {
    path == Path::new("doubles.toml") || path.starts_with("doubles")
}

fn kind_of(task: &Task, path: &Path) -> Kind {
    let first = path.iter().next().and_then(|part| part.to_str()).unwrap_or_default();
    let alone = path.iter().count() == 1;
    match task.layout {
        Layout::TaskMd => match first {
            "task.md" => Kind::Instruction,
            "solution" => Kind::Solution,
            "starting" => Kind::Environment,
            "metadata.json" | "rubric.json" => Kind::Other,
            _ if alone
                && ["readme", "review", "notes"]
                    .iter()
                    .any(|name| first.to_ascii_lowercase().starts_with(name)) =>
            {
                Kind::Other
            }
            _ => Kind::Tests,
        },
        Layout::Harbor => {
            let (first, rest) = if first == "steps" {
                let rest: PathBuf = path.iter().skip(2).collect();
                (rest.iter().next().and_then(|part| part.to_str()).unwrap_or_default().to_owned(), rest)
            } else {
                (first.to_owned(), path.to_path_buf())
            };
            match first.as_str() {
                "instruction.md" => Kind::Instruction,
                "tests" => Kind::Tests,
                "solution" => Kind::Solution,
                "environment" => {
                    let inside = rest.strip_prefix("environment").unwrap_or(&rest);
                    let out = task.environment.left_out.iter().any(|left| inside.starts_with(left));
                    if out { Kind::Other } else { Kind::Environment }
                }
                "workdir" => Kind::Environment,
                // What doubles answer, the agent is shown if it calls them.
                "doubles.toml" | "doubles" if task.doubles.is_some() => Kind::Environment,
                _ => Kind::Other,
            }
        }
    }
}

fn read<'a>(
    root: &Path,
    files: impl Iterator<Item = &'a Path>,
    unread: &mut Vec<(PathBuf, &'static str)>,
) -> Vec<Text> {
    let mut texts = Vec::new();
    let mut bytes = 0;
    for (number, path) in files.enumerate() {
        let file = root.join(path);
        if number >= FILES || bytes >= KIND_CAP {
            unread.push((file, "the task has too many files"));
            continue;
        }
        match assay_fs::read_within(root, path, TEXT_CAP) {
            // Pictures, databases and the like have nothing to read.
            Ok(content) if content.bytes.contains(&0) => {}
            Ok(content) => {
                if content.truncated {
                    unread.push((file.clone(), "only its beginning was read"));
                }
                bytes += content.bytes.len();
                texts.push(Text { file, text: decode(&content.bytes).text });
            }
            Err(_) => unread.push((file, "it is unreadable")),
        }
    }
    texts
}
