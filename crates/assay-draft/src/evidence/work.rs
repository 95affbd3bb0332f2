//! Work on a task by a request: what it is shown, and the script that it replies with.

use assay_judge::Request;
use assay_syntax::parts::{Part, delimited};
use assay_syntax::reply::read_document;
use serde::Deserialize;

use crate::complaint::Complaint;
use crate::prompts::{SkillText, WITH, WITHOUT, WORK_SYSTEM, skill_data};
use crate::proposal::TaskFile;

/// Most characters of the given files in a request.
const GIVEN_CHARS: usize = 60_000;

/// Most bytes of a script.
const SCRIPT_BYTES: usize = 128 << 10;

/// Asks for the work without the skill. The request has the instruction and the given files, and nothing else of the draft.
pub(super) fn request_without(files: &[TaskFile], number: usize) -> Request {
    let number = number.to_string();
    let text = WITHOUT.fill(&[("task", &show_task(files)), ("number", &number)]);
    Request { system: WORK_SYSTEM.text.to_owned(), text }
}

/// Asks for the work with the skill.
pub(super) fn request_with(files: &[TaskFile], skill: &SkillText) -> Request {
    let task = show_task(files);
    let text = WITH.fill(&[("task", &task), ("skill", &skill_data(skill, &[&task]))]);
    Request { system: WORK_SYSTEM.text.to_owned(), text }
}

/// What an agent is given of a task: its instruction, and the files by the paths at which it finds them.
pub(super) fn show_task(files: &[TaskFile]) -> String {
    let instruction = files.iter().find(|file| file.path == "instruction.md");
    let mut parts: Vec<Part> =
        instruction.map(|file| ("the work".to_owned(), file.text.clone())).into_iter().collect();
    let mut left = GIVEN_CHARS;
    for file in files {
        let Some(path) = file.path.strip_prefix("environment/files/") else { continue };
        let count = file.text.chars().count();
        let mut text: String = file.text.chars().take(left).collect();
        if count > left {
            text.push_str("\n[the rest is not shown]");
        }
        left = left.saturating_sub(count);
        parts.push((format!("/app/{path}"), text));
    }
    delimited("WORK", &parts, &[])
}

#[derive(Deserialize)]
struct WorkReply {
    script: Script,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Script {
    Lines(Vec<String>),
    Text(String),
}

/// Reads the script of a reply.
///
/// # Errors
/// The reply contains no JSON of the form, or no script. The message is a complaint to the model.
pub(super) fn read_script(reply: &str) -> Result<String, Complaint> {
    let WorkReply { script } = read_document(reply)?;
    let text = match script {
        Script::Lines(lines) => lines.join("\n") + "\n",
        Script::Text(text) => text,
    };
    if text.trim().is_empty() {
        return Err(Complaint::new("`script` is empty"));
    }
    if text.len() > SCRIPT_BYTES || text.contains('\0') {
        return Err(Complaint::new(format!("`script` has more than {SCRIPT_BYTES} bytes, or is not a text")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TaskFile {
        TaskFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn work_without_the_skill_sees_instruction_and_given_files_only() {
        let files = [
            file("instruction.md", "Sum the sales."),
            file("environment/files/in/sales.csv", "North,1250"),
            file("tests/check.py", "the check"),
            file("tests/sales.csv", "the copy"),
            file("solution/solve.sh", "the solution"),
            file("doubles.toml", "the doubles"),
        ];
        let request = request_without(&files, 2);
        for part in ["Sum the sales.", "/app/in/sales.csv", "North,1250", "reply 2"] {
            assert!(request.text.contains(part), "{part}: {}", request.text);
        }
        for part in ["the check", "the copy", "the solution", "the doubles", "skill"] {
            assert!(!request.text.contains(part), "{part}: {}", request.text);
        }
        assert!(!request.system.contains("skill"), "{}", request.system);
        assert_ne!(request.text, request_without(&files, 3).text);
        let skill = SkillText {
            documents: vec![("ledger".to_owned(), "The rule.".to_owned())],
            ..SkillText::default()
        };
        let with = request_with(&files, &skill).text;
        assert!(with.contains("The rule.") && with.contains("Sum the sales.") && !with.contains("the check"));
    }

    #[test]
    fn long_files_are_cut() {
        let long = "x".repeat(GIVEN_CHARS - 1);
        let files = [
            file("environment/files/a", &long),
            file("environment/files/b", "abc"),
            file("environment/files/c", "def"),
        ];
        let shown = show_task(&files);
        assert!(
            shown.contains("a\n[the rest is not shown]") && !shown.contains("abc"),
            "{}",
            &shown[shown.len() - 200..]
        );
        assert!(shown.contains("/app/c") && !shown.contains("def"));
    }

    #[test]
    fn a_script_is_lines_or_a_text() {
        let check = |reply: &str, expected: Result<&str, &str>| match (read_script(reply), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(expected)) => assert!(found.to_string().contains(expected), "{reply}: {found}"),
            (found, _) => panic!("{reply}: {found:?}"),
        };
        check(r##"{"script": ["#!/bin/bash", "true"]}"##, Ok("#!/bin/bash\ntrue\n"));
        check(r#"Here it is: {"script": "true"}"#, Ok("true"));
        check(r#"{"script": [""]}"#, Err("`script` is empty"));
        check("I cannot.", Err("no JSON object"));
        check(&format!("{{\"script\": {:?}}}", "x".repeat(SCRIPT_BYTES + 1)), Err("more than"));
    }
}
