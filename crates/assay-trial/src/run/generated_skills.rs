//! The skills that an agent wrote, where its condition asks for some.

use std::path::Path;

use assay_fs::{FileKind, read_beneath, tree};
use assay_skill::Document;
use assay_store::GeneratedSkill;
use assay_trace::{OfferedSkill, Trajectory, exposure};

/// The file that makes a folder a skill.
const SKILL_FILE: &str = "SKILL.md";

/// Most skills that are recorded: the agent is asked for five.
const MOST: usize = 100;

/// Longest SKILL.md that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// The skills below a folder, in order of path. `mount` is the folder's path in the sandbox.
pub(crate) fn generated_skills(folder: &Path, mount: &Path, trajectory: &Trajectory) -> Vec<GeneratedSkill> {
    let nodes = tree::walk(folder).nodes;
    let files = || nodes.iter().filter(|node| node.kind == FileKind::File);
    let documents = files().filter(|node| node.path.file_name().is_some_and(|name| name == SKILL_FILE));
    let skill = |node: &tree::Node| {
        let bytes = read_beneath(folder, &node.path, LONGEST).ok()??;
        let (document, _) = Document::parse(&bytes, &node.path);
        let body = document.text.get(document.body_start..).unwrap_or_default();
        // An empty file teaches nothing.
        if body.trim().is_empty() {
            return None;
        }
        let own = node.path.parent().unwrap_or(Path::new(""));
        let name = own.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.or_else(|| document.name.clone()).unwrap_or_default();
        let paths: Vec<String> = files()
            .filter_map(|file| Some(file.path.strip_prefix(own).ok()?.to_string_lossy().into_owned()))
            .collect();
        let offered = OfferedSkill {
            name: &name,
            description: document.description.as_deref().unwrap_or_default(),
            body,
            mount: &mount.join(own).display().to_string(),
            files: &paths,
        };
        let opened = exposure(trajectory, &[offered]).iter().any(|seen| seen.opened.is_some());
        let bytes = files().filter(|file| file.path.starts_with(own)).map(|file| file.size).sum();
        Some(GeneratedSkill { name, bytes, opened })
    };
    documents.filter_map(skill).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use assay_trace::{AgentInfo, Observation, ObservationResult, Source, ToolCall};
    use serde_json::json;

    use super::*;

    #[test]
    fn folders_with_a_skill_file_are_skills() {
        let folder = tempfile::tempdir().unwrap();
        let body = "# Sums\n\nAdd the amounts of each month, and write the total below them.\n";
        let head = "---\nname: sums\ndescription: Adds amounts.\n---\n";
        for (path, text) in [
            ("sums/SKILL.md", format!("{head}{body}")),
            ("sums/scripts/add.py", "print(1)\n".to_owned()),
            ("group/plain/SKILL.md", body.replace("month", "year")),
            ("empty/SKILL.md", format!("{head}\n")),
            ("notes/README.md", body.to_owned()),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut trajectory = Trajectory::new(AgentInfo { name: "loop".into(), ..AgentInfo::default() });
        let step = trajectory.add_step(Source::Agent, "");
        step.tool_calls.push(ToolCall {
            tool_call_id: "1".into(),
            function_name: "bash".into(),
            arguments: json!({ "command": "cat /skills/sums/SKILL.md" }),
            ..ToolCall::default()
        });
        step.observation = Some(Observation {
            results: vec![ObservationResult {
                content: Some(body.to_owned()),
                ..ObservationResult::default()
            }],
        });
        let found = generated_skills(folder.path(), Path::new("/skills"), &trajectory);
        let found: Vec<(&str, u64, bool)> =
            found.iter().map(|skill| (skill.name.as_str(), skill.bytes, skill.opened)).collect();
        let size = |text: &str| text.len() as u64;
        assert_eq!(
            found,
            [("plain", size(body) - 1, false), ("sums", size(head) + size(body) + size("print(1)\n"), true)]
        );
        assert!(
            generated_skills(&folder.path().join("absent"), Path::new("/skills"), &trajectory).is_empty()
        );
    }
}
