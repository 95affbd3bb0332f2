//! Skills that a model writes: from tasks, from documentation, or from recorded runs.
//!
//! A reply is hostile: names, paths and sizes are checked before anything is written.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use assay_judge::Request;
use assay_judge::format::slug;
use assay_skill::DESCRIPTION_LIMIT;
use assay_skill::generated::SkillOrigin;
use assay_syntax::parts::{Part, begin_part, enclose, mark_parts};
use assay_syntax::reply::read_document;
use serde::Deserialize;

use crate::complaint::Complaint;
use crate::prompts::Prompt;

/// Most skills of a reply, as in SkillsBench's condition with self-generated skills.
pub const MOST_SKILLS: usize = 5;

/// Most characters of the material in a request.
pub const MATERIAL_CHARS: usize = 120_000;

/// Most bytes of a skill's files together.
const SKILL_BYTES: usize = 256 << 10;

/// Most files of a skill beside its `SKILL.md`.
const FILES: usize = 20;

/// Most characters of a name and of a path.
const NAME_CHARS: usize = 60;

const SYSTEM: Prompt = Prompt {
    name: "skill-system",
    text: "You write skills for agents. Reply with one JSON object and nothing else.\n",
};
const REPLY: Prompt = Prompt { name: "skill-reply", text: include_str!("../prompts/skill-reply.md") };

/// The prompt for material of an origin.
pub fn prompt(origin: SkillOrigin) -> Prompt {
    match origin {
        SkillOrigin::Task => Prompt { name: "skill-task", text: include_str!("../prompts/skill-task.md") },
        SkillOrigin::Docs => Prompt { name: "skill-docs", text: include_str!("../prompts/skill-docs.md") },
        SkillOrigin::Runs => Prompt { name: "skill-runs", text: include_str!("../prompts/skill-runs.md") },
    }
}

/// The versions of the prompts of a request, joined by a hyphen: of the one for its origin, and of the form of the reply.
pub fn version(origin: SkillOrigin) -> String {
    format!("{}-{}", prompt(origin).version(), REPLY.version())
}

/// A skill as a model wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedText {
    /// Its name, and that of its folder: lower-case letters, digits and hyphens.
    pub name: String,
    /// The description for the front matter.
    pub description: String,
    /// The text after the front matter.
    pub body: String,
    /// Further files: path below the skill's folder, and content.
    pub files: Vec<(String, String)>,
}

/// What skills are written from: parts of texts of others, as they are shown to a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceText {
    text: String,
    mark: String,
    is_cut: bool,
}

impl SourceText {
    /// Joins groups of parts, each of at most `most` characters. If they are too long together, each
    /// group gets an equal share of the room.
    pub fn of_groups(groups: &[Vec<Part>], most: usize) -> Self {
        let mark = mark_parts(groups.iter().flatten(), &[]);
        let render = |group: &Vec<Part>| {
            let parts: String = group.iter().map(|part| begin_part(part, &mark)).collect();
            ends(&parts, most)
        };
        let rendered: Vec<String> = groups.iter().map(render).collect();
        let total: usize = rendered.iter().map(|group| group.chars().count()).sum();
        let share = MATERIAL_CHARS / rendered.len().max(1);
        let is_cut = total > MATERIAL_CHARS;
        let texts: Vec<String> =
            rendered.into_iter().map(|group| if is_cut { ends(&group, share) } else { group }).collect();
        Self { text: texts.join("\n"), mark, is_cut }
    }

    /// Whether a group was cut so that all have room.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

/// The beginning and the end of a text that is longer than `most` characters.
pub fn ends(text: &str, most: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= most {
        return text.to_owned();
    }
    let (head, tail) = (most * 2 / 3, most / 3);
    let left_out = chars.len() - head - tail;
    let text = |part: &[char]| part.iter().collect::<String>();
    format!(
        "{}\n[{left_out} characters are not shown]\n{}",
        text(&chars[..head]),
        text(&chars[chars.len() - tail..])
    )
}

/// Asks for at most `count` skills.
pub fn request(origin: SkillOrigin, material: &SourceText, count: usize) -> Request {
    let count = count.min(MOST_SKILLS).to_string();
    let label = match origin {
        SkillOrigin::Task => "TASKS",
        SkillOrigin::Docs => "DOCUMENTATION",
        SkillOrigin::Runs => "RUNS",
    };
    let reply =
        REPLY.fill(&[("count", &count), ("material", &enclose(label, &material.text, &material.mark))]);
    Request { system: SYSTEM.text.to_owned(), text: format!("{}{reply}", prompt(origin).text) }
}

#[derive(Deserialize)]
struct Reply {
    skills: Vec<ReplySkill>,
}

#[derive(Deserialize)]
struct ReplySkill {
    name: String,
    description: String,
    lines: Vec<String>,
    #[serde(default)]
    files: Vec<ReplyFile>,
}

#[derive(Deserialize)]
struct ReplyFile {
    path: String,
    lines: Vec<String>,
}

/// Reads the skills of a reply.
///
/// # Errors
/// The reply contains no JSON of the form, no skill, more than `count`, or a name, path or size that is not allowed. The message
/// is a complaint to the model.
pub fn read_skills(reply: &str, count: usize) -> Result<Vec<GeneratedText>, Complaint> {
    let skills = read_document::<Reply>(reply)?.skills;
    if skills.is_empty() {
        return Err(Complaint::new("`skills` is empty"));
    }
    if skills.len() > count {
        return Err(Complaint::new(format!("{} skills, at most {count} are allowed", skills.len())));
    }
    let mut names = BTreeSet::new();
    let mut read = Vec::new();
    for skill in skills {
        let ascii: String = skill.name.chars().filter(char::is_ascii).take(NAME_CHARS).collect();
        let name = slug(&ascii);
        if name.is_empty() {
            return Err(Complaint::new(format!(
                "{:?} is not an allowed name: use letters, digits and hyphens",
                skill.name
            )));
        }
        if !names.insert(name.clone()) {
            return Err(Complaint::new(format!("two skills are named {name}")));
        }
        let description = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
        if description.is_empty() || description.chars().count() > DESCRIPTION_LIMIT {
            return Err(Complaint::new(format!(
                "the description of {name} is empty or longer than {DESCRIPTION_LIMIT} characters"
            )));
        }
        let body = skill.lines.join("\n").trim().to_owned();
        if body.is_empty() {
            return Err(Complaint::new(format!("the skill {name} has no text")));
        }
        let files = read_files(&name, skill.files)?;
        let bytes = body.len() + files.iter().map(|(_, text)| text.len()).sum::<usize>();
        if bytes > SKILL_BYTES {
            return Err(Complaint::new(format!(
                "the skill {name} has {bytes} bytes, at most {SKILL_BYTES} are allowed"
            )));
        }
        read.push(GeneratedText { name, description, body, files });
    }
    Ok(read)
}

fn read_files(name: &str, files: Vec<ReplyFile>) -> Result<Vec<(String, String)>, Complaint> {
    if files.len() > FILES {
        return Err(Complaint::new(format!("the skill {name} has more than {FILES} files")));
    }
    let mut paths = BTreeSet::new();
    let mut read = Vec::new();
    for file in files {
        let is_part = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
        };
        let inside = file.path.starts_with("references/") || file.path.starts_with("scripts/");
        if !inside || file.path.len() > NAME_CHARS || !file.path.split('/').all(is_part) {
            return Err(Complaint::new(format!(
                "{:?} of the skill {name} is not an allowed path: files are below references/ or scripts/",
                file.path
            )));
        }
        if !paths.insert(file.path.to_lowercase()) {
            return Err(Complaint::new(format!("{} of the skill {name} occurs twice", file.path)));
        }
        read.push((file.path, file.lines.join("\n") + "\n"));
    }
    Ok(read)
}

/// The `SKILL.md` of a skill.
pub fn skill_document(skill: &GeneratedText) -> String {
    // A JSON string is a YAML string.
    let description = serde_json::Value::from(skill.description.clone());
    format!("---\nname: {}\ndescription: {description}\n---\n\n{}\n", skill.name, skill.body)
}

/// Writes a skill to a new folder below `into`.
///
/// # Errors
/// A file cannot be written, or the folder exists.
pub fn write_skill(into: &Path, skill: &GeneratedText) -> io::Result<()> {
    let folder = into.join(&skill.name);
    fs::create_dir(&folder)?;
    fs::write(folder.join("SKILL.md"), skill_document(skill))?;
    for (path, text) in &skill.files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&folder))?;
        fs::write(path, text)?;
    }
    Ok(())
}
