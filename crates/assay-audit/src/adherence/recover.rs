//! Files of a skill's package as runs were shown them, for when only its document was kept.

use assay_syntax::shell::{Operator, Simple, Source as Grammar, commands, program, program_name};
use assay_trace::{Source, Trajectory};

use super::call::{argument, command_text, cut, join};
use crate::directive::SkillFile;

/// The document of a skill, by its path in the package.
const DOCUMENT: &str = "SKILL.md";

/// Shortest text of a file that is worth reading, in bytes.
const SHORTEST: usize = 40;

/// What a command prints.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Output {
    /// A file of the package, by its path in it.
    File(String),
    /// A text.
    Text(String),
    /// Something else.
    Other,
}

/// The documents of a package, other than its `SKILL.md`, that a run was shown whole: by a tool that
/// reads files, or by `cat`. `document` is the text of the `SKILL.md`.
///
/// Every run is scored with the same directives, whichever run was shown the files.
pub fn files_shown(name: &str, document: &str, trajectory: &Trajectory) -> Vec<SkillFile> {
    let mut found: Vec<SkillFile> = Vec::new();
    if name.is_empty() {
        return found;
    }
    for step in trajectory.steps.iter().filter(|step| step.source == Source::Agent) {
        let results =
            step.observation.as_ref().map(|observation| observation.results.as_slice()).unwrap_or_default();
        for call in &step.tool_calls {
            let result =
                results.iter().find(|result| result.source_call_id.as_deref() == Some(&call.tool_call_id));
            let Some(text) = result.and_then(|result| result.content.as_deref()).map(cut) else { continue };
            let command =
                ["command", "cmd"].iter().find_map(|key| call.arguments.get(*key)).map(command_text);
            let files = match command {
                Some(command) => printed_files(&outputs(&command, name), document, text),
                None => argument(&call.arguments, &["file_path", "path", "absolute_path", "filePath"])
                    .and_then(|path| in_package(path, name))
                    .map(|path| SkillFile { path, text: without_numbers(text) })
                    .into_iter()
                    .collect(),
            };
            for file in files {
                if !is_document(&file.path) || file.path == DOCUMENT || file.text.len() < SHORTEST {
                    continue;
                }
                match found.iter_mut().find(|known| known.path == file.path) {
                    Some(known) if known.text.len() < file.text.len() => *known = file,
                    Some(_) => {}
                    None => found.push(file),
                }
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn is_document(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| matches!(extension, "md" | "mdx" | "txt" | "rst"))
}

/// The path in the package of a path below a folder with the skill's name.
fn in_package(path: &str, name: &str) -> Option<String> {
    let folder = format!("/{name}/");
    let path = format!("/{path}");
    let at = path.rfind(&folder)?;
    let rest = path[at + folder.len()..].trim_start_matches("./");
    (!rest.is_empty() && !rest.contains(['*', '$', '{'])).then(|| rest.to_owned())
}

/// What the commands of a line print, in order.
fn outputs(command: &str, name: &str) -> Vec<Output> {
    let mut folder = String::new();
    let mut outputs = Vec::new();
    let mut piped = false;
    for simple in commands(command, Grammar::Command) {
        let words = program(&simple.words);
        let Some((first, arguments)) = words.split_first() else { continue };
        let was_piped = std::mem::replace(&mut piped, simple.end == Operator::Pipe);
        match program_name(first) {
            _ if was_piped => {}
            _ if simple.end == Operator::Pipe => outputs.push(Output::Other),
            "cd" => folder = join(&folder, arguments.first().map_or("~", String::as_str)),
            "cat" if !redirects(&simple) => {
                for path in arguments.iter().filter(|word| !word.starts_with('-')) {
                    let path = in_package(&join(&folder, path), name);
                    outputs.push(path.map_or(Output::Other, Output::File));
                }
            }
            "echo" if !redirects(&simple) => outputs.push(Output::Text(arguments.join(" "))),
            _ => outputs.push(Output::Other),
        }
    }
    outputs
}

fn redirects(simple: &Simple) -> bool {
    simple.here_document.is_some() || simple.words.iter().any(|word| word.starts_with(['>', '<']))
}

/// Divides what was printed among the files that were.
fn printed_files(outputs: &[Output], document: &str, text: &str) -> Vec<SkillFile> {
    let mut found = Vec::new();
    let document = document.trim();
    let mut rest = text;
    for (at, output) in outputs.iter().enumerate() {
        match output {
            Output::File(path) if path == DOCUMENT => {
                let Some(begins) = rest.find(document).filter(|_| !document.is_empty()) else {
                    return found;
                };
                rest = &rest[begins + document.len()..];
            }
            Output::File(path) => {
                let end = end_of(rest, outputs.get(at + 1), document);
                let own = rest[..end].trim_matches('\n');
                found.push(SkillFile { path: path.clone(), text: format!("{own}\n") });
                rest = &rest[end..];
            }
            Output::Text(text) => {
                if let Some(begins) = rest.find(text.as_str()).filter(|_| !text.is_empty()) {
                    rest = &rest[begins + text.len()..];
                }
            }
            // The end of its output is unknown.
            Output::Other => return found,
        }
    }
    found
}

/// Where a file ends that begins a text, and that this output follows.
fn end_of(text: &str, next: Option<&Output>, document: &str) -> usize {
    let line = |wanted: &dyn Fn(&str) -> bool| {
        let mut at = 0;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            if number > 0 && wanted(line.trim_end()) {
                return at;
            }
            at += line.len();
        }
        text.len()
    };
    match next {
        Some(Output::Text(next)) if !next.is_empty() => line(&|line| line == next),
        Some(Output::File(path)) if path == DOCUMENT => text.find(document).unwrap_or(text.len()),
        Some(Output::File(path)) if is_document(path) => line(&|line| line.starts_with("# ")),
        Some(Output::File(_)) => line(&|line| line.starts_with("#!") || line.starts_with("\"\"\"")),
        Some(Output::Text(_) | Output::Other) => {
            line(&|line| line.is_empty() || line.starts_with(['/', '.']) || line.starts_with("total "))
        }
        None => line(&|line| line.starts_with("[exit ")),
    }
}

/// A text without the numbers that viewers of files put before lines.
fn without_numbers(text: &str) -> String {
    let strip = |line: &str| {
        let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        let numbered = rest.len() < line.trim_start().len();
        match rest.chars().next() {
            Some(mark @ ('\t' | '→')) if numbered => rest[mark.len_utf8()..].to_owned(),
            _ => line.to_owned(),
        }
    };
    text.lines().map(|line| strip(line) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const GATE: &str = "# Gate\n\nThe gate answers KX-41 where a tray is too wet to fire.\n";
    const DOC: &str = "---\nname: kiln\n---\n# Kiln\n\nRead `references/gate.md`.\n";

    fn shown(tool: &str, arguments: &Value, result: &str) -> Vec<(String, String)> {
        let trajectory = serde_json::from_value(json!({
            "schema_version": "ATIF-v1.7", "agent": {"name": "t", "version": "1"},
            "steps": [{
                "step_id": 1, "source": "agent", "message": "",
                "tool_calls": [{"tool_call_id": "c", "function_name": tool, "arguments": arguments}],
                "observation": {"results": [{"source_call_id": "c", "content": result}]},
            }],
        }))
        .unwrap();
        files_shown("kiln", DOC, &trajectory).into_iter().map(|file| (file.path, file.text)).collect()
    }

    #[test]
    fn files_are_divided_by_what_was_printed_between_them() {
        let gate = ("references/gate.md".to_owned(), GATE.to_owned());
        let check = |command: &str, result: &str, expected: &[(String, String)]| {
            assert_eq!(shown("bash", &json!({"command": command}), result), expected, "{command}");
        };
        let one = std::slice::from_ref(&gate);
        check("cat /skills/kiln/references/gate.md", GATE, one);
        check("cd /skills/kiln && cat references/gate.md", &format!("{GATE}[exit status 0]"), one);
        check("cat /skills/kiln/SKILL.md /skills/kiln/references/gate.md", &format!("{DOC}{GATE}"), one);
        check(
            "cat /skills/kiln/SKILL.md; echo ----; cat /skills/kiln/references/gate.md; echo ---; cat /skills/kiln/x.py",
            &format!("{DOC}----\n{GATE}---\nimport os\n"),
            one,
        );
        check(
            "cat /skills/kiln/references/gate.md /skills/kiln/x.py",
            &format!("{GATE}#!/usr/bin/env python3\nimport os\n"),
            one,
        );
        let wet = ("references/wet.md".to_owned(), format!("# Wet\n{}\n", "w".repeat(50)));
        check(
            "cat /skills/kiln/references/gate.md /skills/kiln/references/wet.md",
            &format!("{GATE}{}", wet.1),
            &[gate.clone(), wet.clone()],
        );
        check("cat /skills/kiln/references/gate.md | head -1", "# Gate", &[]);
        check("ls; cat /skills/kiln/references/gate.md", GATE, &[]);
        check("cat gate.md", GATE, &[]);
        check("cat /skills/kiln/SKILL.md /skills/kiln/references/gate.md", "---\nname: ki[cut]", &[]);
        let numbered: String =
            GATE.lines().enumerate().map(|(at, line)| format!("{:5}→{line}\n", at + 1)).collect();
        let path = json!({"file_path": "/home/u/.claude/skills/kiln/references/gate.md"});
        assert_eq!(shown("Read", &path, &numbered), one);
    }
}
