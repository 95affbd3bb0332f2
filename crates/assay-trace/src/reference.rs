//! Detects references to a skill in tool calls and in texts sent to the model.
//!
//! A name alone is not a reference, because `xlsx`, `pdf` and `git` occur in many commands that
//! have nothing to do with the skills of these names. A tool call refers to a skill by a path below
//! its folder, by its `SKILL.md`, or by the client's own tool for skills. A text refers to it by
//! its entry in a listing, by its description, or by such a path.

use assay_syntax::shell::program;
use serde_json::Value;

use crate::offered::OfferedSkill;
use crate::shell::{entered, join, simple_commands};
use crate::trajectory::ToolCall;

/// Arguments that are run. A path that is read is not, though it looks like a command of one word.
const COMMANDS: [&str; 5] = ["command", "cmd", "script", "code", "input"];

/// Arguments that give the folder of a command.
const FOLDERS: [&str; 5] = ["workdir", "cwd", "working_directory", "directory", "dir_path"];

/// The tools by which clients give a skill to their model: Claude Code, OpenCode and Qwen Code have
/// `skill`, Gemini CLI `activate_skill`.
const SKILL_TOOLS: [&str; 7] =
    ["skill", "activate_skill", "load_skill", "use_skill", "invoke_skill", "read_skill", "view_skill"];

/// The arguments that name the skill in a call of such a tool.
const SKILL_ARGUMENTS: [&str; 5] = ["skill", "name", "skill_name", "command", "id"];

/// The names that clients give to the folder with the skills.
const PARENTS: [&str; 2] = ["skills", "skill"];

/// An entry of a listing has the beginning of the description within this many characters of the
/// name.
const ENTRY_GAP: usize = 60;

/// How many characters of a description identify it, because listings cut it short.
const BEGINNING: usize = 24;

/// A beginning shorter than this could occur anywhere.
const SHORTEST_BEGINNING: usize = 8;

/// Words with more brace groups than this are not expanded: they are code or JSON, not paths.
const MOST_BRACES: usize = 8;

/// At most this many expansions of a word are checked.
const MOST_EXPANDED: usize = 64;

/// One skill, as it can be referred to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reference<'a> {
    name: &'a str,
    description: &'a str,
    mount: &'a str,
    files: &'a [String],
}

impl<'a> Reference<'a> {
    pub(crate) fn new(skill: &OfferedSkill<'a>) -> Self {
        Self { name: skill.name, description: skill.description, mount: skill.mount, files: skill.files }
    }

    /// A skill whose folder is unknown.
    pub(crate) fn anywhere(name: &'a str, description: &'a str) -> Self {
        Self { name, description, mount: "", files: &[] }
    }

    /// Whether a tool call mentions the skill.
    pub(crate) fn is_called(&self, call: &ToolCall) -> bool {
        if self.name.is_empty() {
            return false;
        }
        if is_skill_tool(&call.function_name) {
            let name = SKILL_ARGUMENTS.iter().filter_map(|key| call.arguments.get(*key)?.as_str());
            if name.into_iter().any(|name| self.is_own_name(name)) {
                return true;
            }
        }
        let texts = strings(&call.arguments);
        let folder_name = self.mount.rsplit('/').next().unwrap_or_default();
        let could = |text: &&&str| {
            text.contains(self.name)
                || (!folder_name.is_empty() && text.contains(folder_name))
                || text.contains("SKILL.md")
        };
        if !texts.iter().any(|text| could(&text)) {
            return false;
        }
        let run: Vec<&str> = commands(&call.arguments).collect();
        let folder = working_folder(&call.arguments);
        run.iter().any(|command| self.is_in_command(command, folder))
            || texts.iter().filter(|text| !run.contains(text)).any(|text| self.is_in_text(text))
    }

    /// Whether a text advertises the skill to the model. Text inserted by the harness may list
    /// skills without calling them skills; in a person's text, a line that begins with a name needs
    /// that word.
    pub(crate) fn is_listed(&self, text: &str, by_harness: bool) -> bool {
        let description = self.description.trim();
        if !description.is_empty() && text.contains(description) {
            return true;
        }
        !self.name.is_empty()
            && contains_word(text, self.name)
            && (self.has_entry(text, by_harness) || self.is_path_in(text))
    }

    /// Whether a tool that is offered to the model lists the skill: the client's tool for skills
    /// names it in its schema, or a description contains its entry.
    pub(crate) fn is_listed_by_tool(&self, tool: &str, description: &str, schema: &Value) -> bool {
        self.is_listed(description, true)
            || (is_skill_tool(tool) && choices(schema).iter().any(|choice| self.is_own_name(choice)))
    }

    /// The path below the skill's folder that a path leads to, empty for the folder itself.
    pub(crate) fn file_at(&self, path: &str) -> Option<String> {
        let path = Path::parse(path);
        let rest = if self.mount.is_empty() { self.below_name(&path) } else { self.below_mount(&path) };
        rest.map(|rest| rest.join("/"))
    }

    /// `name`, `/name`, or `plugin:name`.
    fn is_own_name(&self, name: &str) -> bool {
        let name = name.trim().trim_start_matches('/');
        name == self.name || name.rsplit_once(':').is_some_and(|(_, name)| name == self.name)
    }

    fn is_in_command(&self, command: &str, folder: &str) -> bool {
        let mut folder = folder.to_owned();
        if self.has_mount(command) || (self.mount.is_empty() && asks_for_skills(command)) {
            return true;
        }
        simple_commands(command).iter().any(|simple| {
            let words: Vec<&str> = program(simple).iter().map(String::as_str).collect();
            if let Some(entered) = entered(&words) {
                folder = join(&folder, entered);
                return self.file_at(&folder).is_some();
            }
            // `find … ! -name SKILL.md` looks for everything else.
            let follows_option = (1..words.len()).any(|at| {
                let is_negated = at > 1 && matches!(words[at - 2], "!" | "-not");
                let is_search = matches!(words[at - 1], "-name" | "-iname" | "-g" | "--glob");
                words[at] == "SKILL.md" && is_search && !is_negated
            });
            follows_option || simple.iter().any(|word| self.is_path(word, &folder))
        })
    }

    fn is_in_text(&self, text: &str) -> bool {
        self.is_path_in(text) || (self.mount.is_empty() && asks_for_skills(text))
    }

    fn is_path_in(&self, text: &str) -> bool {
        self.has_mount(text) || text.split_whitespace().any(|word| self.is_path(word, ""))
    }

    /// Whether a word contains a path into the skill, relative to a folder.
    fn is_path(&self, word: &str, folder: &str) -> bool {
        let holds = |word: &str| {
            let pieces = word.split(|c: char| c.is_whitespace() || "\"'`;|&()<>,=:".contains(c));
            pieces.filter(|piece| !piece.is_empty()).any(|piece| {
                let path = join(folder, piece);
                self.file_at(&path).is_some() || (piece.contains('*') && self.is_matched(&path))
            })
        };
        if word.contains('{') && word.contains(',') && word.matches('}').count() <= MOST_BRACES {
            let mut expanded = Vec::new();
            expand(word, &mut expanded);
            return expanded.iter().any(|word| holds(word));
        }
        holds(word)
    }

    /// Whether the complete path of the folder is in a text; it may contain spaces.
    fn has_mount(&self, text: &str) -> bool {
        let joins = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | '/' | '}');
        !self.mount.is_empty()
            && text.match_indices(self.mount).any(|(at, _)| {
                let after = &text[at + self.mount.len()..];
                let ends = after.chars().next().is_none_or(|c| {
                    !c.is_alphanumeric() && c != '-' && c != '_' && (c != '.' || !continues(&after[1..]))
                });
                ends && !text[..at].chars().next_back().is_some_and(joins)
            })
    }

    fn below_mount<'p>(&self, path: &'p Path<'_>) -> Option<&'p [&'p str]> {
        let mount: Vec<&str> = self.mount.split('/').filter(|part| !part.is_empty()).collect();
        let parts = path.parts.as_slice();
        match path.root {
            Root::System => parts.starts_with(&mount).then(|| &parts[mount.len()..]),
            // The position of the home or the folder is unknown: its last components have to be the
            // mount's.
            Root::Home | Root::Unknown => (1..mount.len()).rev().find_map(|common| {
                let tail = &mount[mount.len() - common..];
                if parts.len() < common || parts[..common].iter().ne(tail) {
                    return None;
                }
                let rest = &parts[common..];
                (common > 1 || (path.root == Root::Unknown && self.is_file(rest))).then_some(rest)
            }),
        }
    }

    fn below_name<'p>(&self, path: &'p Path<'_>) -> Option<&'p [&'p str]> {
        let parts = path.parts.as_slice();
        (0..parts.len()).find_map(|at| {
            let rest = &parts[at + 1..];
            let is_skills_folder = at > 0 && PARENTS.contains(&parts[at - 1]);
            (parts[at] == self.name && (is_skills_folder || self.is_file(rest))).then_some(rest)
        })
    }

    /// Whether a path is that of a file of the skill, and not one that any folder may have.
    fn is_file(&self, parts: &[&str]) -> bool {
        match parts {
            [] => false,
            [one] => *one == "SKILL.md",
            _ => self.files.contains(&parts.join("/")),
        }
    }

    /// Whether a pattern matches the skill's `SKILL.md`.
    fn is_matched(&self, pattern: &str) -> bool {
        let pattern = Path::parse(pattern);
        let parts = pattern.parts.as_slice();
        if self.mount.is_empty() {
            // The path above the skill's folder is unknown.
            return match parts {
                [.., folder, "SKILL.md"] => *folder == "**" || matches_part(folder, self.name),
                _ => false,
            };
        }
        let mut own: Vec<&str> = self.mount.split('/').filter(|part| !part.is_empty()).collect();
        own.push("SKILL.md");
        match pattern.root {
            Root::System => matches_parts(parts, &own),
            Root::Home | Root::Unknown => (0..own.len()).any(|at| matches_parts(parts, &own[at..])),
        }
    }

    /// Whether a text contains the skill's entry in a listing.
    fn has_entry(&self, text: &str, by_harness: bool) -> bool {
        let beginning: String = self.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let beginning: String = beginning.chars().take(BEGINNING).collect();
        let described = beginning.chars().count() >= SHORTEST_BEGINNING;
        let of_skills = |at: usize| {
            let before = &text[..at];
            before.contains("skill") || before.contains("Skill") || before.contains("SKILL")
        };
        words(text, self.name).any(|at| {
            let after = &text[at + self.name.len()..];
            if described {
                let near: String = after.chars().take(ENTRY_GAP + 2 * BEGINNING).collect();
                if near.split_whitespace().collect::<Vec<_>>().join(" ").contains(beginning.trim_end()) {
                    return true;
                }
            }
            let line = text[..at].rsplit('\n').next().unwrap_or_default();
            let tagged = (line.ends_with("<name>") && after.starts_with("</name>"))
                || (line.ends_with("skill name=\"") && after.starts_with('"'));
            (tagged || is_item(line, after)) && (by_harness || of_skills(at))
        })
    }
}

/// Whether a name is an item of a list: at the start of a bullet, alone or before a colon or a
/// dash, or between commas after a colon on a line that mentions skills.
fn is_item(before: &str, after: &str) -> bool {
    let after = after.trim_start_matches(['*', '`', '"']);
    let ends = after.is_empty()
        || [":", " -", " –", " —", " (", "\n", "\r"].iter().any(|end| after.starts_with(end));
    let marks = before.trim_start();
    let is_bullet =
        marks.starts_with(['-', '*', '•', '+']) || marks.starts_with(|c: char| c.is_ascii_digit());
    let is_bare =
        |text: &str| text.chars().all(|c| c.is_whitespace() || c.is_ascii_digit() || "-*•+.)`\"".contains(c));
    if is_bullet && is_bare(marks) && ends {
        return true;
    }
    let Some((heading, items)) = before.split_once(':') else { return false };
    let item = items.rsplit(',').next().unwrap_or_default();
    heading.to_lowercase().ends_with("skills")
        && is_bare(item)
        && (ends || after.starts_with(',') || after.starts_with('.'))
}

/// Whether a tool passes skills to its model.
fn is_skill_tool(name: &str) -> bool {
    SKILL_TOOLS.contains(&name.to_ascii_lowercase().as_str())
}

/// The commands of a call.
pub(crate) fn commands(arguments: &Value) -> impl Iterator<Item = &str> {
    COMMANDS.iter().filter_map(|name| arguments.get(*name)).flat_map(strings)
}

/// The folder in which a call is run, if it gives one.
pub(crate) fn working_folder(arguments: &Value) -> &str {
    FOLDERS.iter().find_map(|name| arguments.get(*name)?.as_str()).unwrap_or_default()
}

/// How a path begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Root {
    System,
    Home,
    Unknown,
}

/// A path in its parts, with `.` and `..` taken out.
struct Path<'a> {
    root: Root,
    parts: Vec<&'a str>,
}

impl<'a> Path<'a> {
    fn parse(path: &'a str) -> Self {
        let home = ["~", "$HOME", "${HOME}"]
            .iter()
            .find_map(|home| path.strip_prefix(home).filter(|rest| rest.is_empty() || rest.starts_with('/')));
        let (root, rest) = match home {
            Some(rest) => (Root::Home, rest),
            None if path.starts_with('/') => (Root::System, path),
            None => (Root::Unknown, path),
        };
        let mut parts = Vec::new();
        for part in rest.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        // A sentence may end with the path.
        if let Some(last) = parts.last_mut() {
            *last = last.trim_end_matches(['.', '!', '?', ']', '}']);
        }
        Self { root, parts }
    }
}

/// Expands braces: `{a,b}/c` is `a/c` and `b/c`. Stops after `MOST_EXPANDED` words.
fn expand(word: &str, into: &mut Vec<String>) {
    if into.len() >= MOST_EXPANDED {
        return;
    }
    let group = word.find('}').and_then(|close| Some((word[..close].rfind('{')?, close)));
    match group {
        Some((open, close)) => {
            for choice in word[open + 1..close].split(',') {
                expand(&format!("{}{choice}{}", &word[..open], &word[close + 1..]), into);
            }
        }
        None => into.push(word.to_owned()),
    }
}

/// Whether a pattern of folders matches a path; `**` matches any number of folders.
fn matches_parts(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) if rest.first() == Some(&"**") => matches_parts(rest, path),
        (Some((&"**", rest)), _) => {
            matches_parts(rest, path) || (!path.is_empty() && matches_parts(pattern, &path[1..]))
        }
        (Some((part, rest)), Some((own, below))) => matches_part(part, own) && matches_parts(rest, below),
        _ => false,
    }
}

/// Whether a pattern with `*` and `?` matches a name.
fn matches_part(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, from)) = star else { return false };
                star = Some((at, from + 1));
                p = at + 1;
                n = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Whether a text names a `SKILL.md` outside any named folder, as a search for skills does.
fn asks_for_skills(text: &str) -> bool {
    text.match_indices("SKILL.md").any(|(at, _)| {
        let before = &text[..at];
        let Some(path) = before.strip_suffix('/') else {
            return !before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_');
        };
        path.rsplit(['/', ' ', '"', '\'']).next().is_some_and(|folder| {
            folder.is_empty() || folder == "skills" || folder.chars().all(|c| matches!(c, '*' | '.' | '~'))
        })
    })
}

/// The positions of `word` in `text` with no letter, digit, `-` or `_` beside it.
fn words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let joins = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(word).map(|(at, _)| at).filter(move |at| {
        !text[..*at].chars().next_back().is_some_and(joins)
            && !text[at + word.len()..].chars().next().is_some_and(joins)
    })
}

fn contains_word(text: &str, word: &str) -> bool {
    words(text, word).next().is_some()
}

/// Whether a name continues after a dot.
fn continues(text: &str) -> bool {
    text.chars().next().is_some_and(char::is_alphanumeric)
}

/// Every string in a value.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(map) => map.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// The values between which a schema lets choose.
fn choices(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| if key == "enum" { strings(value) } else { choices(value) })
            .collect(),
        Value::Array(items) => items.iter().flat_map(choices).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DESCRIPTION: &str = "Work with spreadsheets: read, write and recalculate workbooks.";

    fn called(mount: &str, tool: &str, arguments: &Value) -> bool {
        let files = ["SKILL.md".to_owned(), "recalc.py".to_owned(), "scripts/check.py".to_owned()];
        let skill = OfferedSkill { name: "xlsx", description: DESCRIPTION, body: "", mount, files: &files };
        Reference::new(&skill).is_called(&ToolCall {
            function_name: tool.to_owned(),
            arguments: arguments.clone(),
            ..ToolCall::default()
        })
    }

    #[test]
    fn same_file_name_elsewhere_is_not_a_reference() {
        for mount in ["", "/skills/xlsx", "/root/.claude/skills/xlsx"] {
            for command in [
                "python3 -c \"wb.save('/app/plan.xlsx')\"",
                "cat > make.py <<'E'\nimport openpyxl\nwb.save('/app/plan.xlsx')\nE\npython3 make.py",
                "pip install xlsx",
                "git add xlsx",
                "ls /app/xlsx",
                "mkdir -p out/xlsx && mv plan.xlsx out/xlsx/",
                "cat /app/xlsx/README.md",
                "python3 xlsx/recalc.py",
                "file --mime-type a.xlsx | grep xlsx",
                "find . -name '*.xlsx'",
                "ls /skills/xlsx-writer /skills/my-xlsx",
                "cat /skills/pdf/xlsx.md",
                "cd /app && ls xlsx",
                "cat /skills/pdf/SKILL.md",
            ] {
                assert!(!called(mount, "bash", &json!({ "command": command })), "{mount:?}: {command}");
            }
            // If a skill's folder is unknown, any `SKILL.md` may be its own.
            let reads = "cd /skills/pdf && cat -n SKILL.md; find . ! -name SKILL.md";
            assert!(mount.is_empty() || !called(mount, "bash", &json!({ "command": reads })), "{mount}");
            // Time and stack do not grow with the agent's text.
            for long in ["{\"a\":1,\"b\":2},".repeat(20_000), "**/*/".repeat(400)] {
                called(mount, "bash", &json!({ "command": format!("cat xlsx{long}") }));
                called(mount, "Glob", &json!({ "pattern": format!("{long}xlsx/none") }));
            }
            assert!(!called(mount, "Write", &json!({"file_path": "/app/plan.xlsx", "content": "xlsx"})));
            assert!(!called(mount, "Skill", &json!({"skill": "pdf", "args": "turn it into xlsx"})));
            assert!(!called(mount, "Task", &json!({"name": "xlsx"})));
        }
    }

    #[test]
    fn paths_below_the_folder_are_references() {
        for mount in ["", "/root/.claude/skills/xlsx"] {
            for command in [
                "cat /root/.claude/skills/xlsx/SKILL.md",
                "cat ~/.claude/skills/xlsx/SKILL.md",
                "ls \"$HOME/.claude/skills/xlsx\"",
                "cat .claude/skills/xlsx/recalc.py",
                "cd /root/.claude/skills && cat xlsx/SKILL.md",
                "cd ~/.claude/skills; ls xlsx",
                "cd /root/.claude/skills/xlsx && python3 recalc.py",
                "head -n 5 /root/.claude/skills/*/SKILL.md",
                "cat /root/.claude/skills/{pdf,xlsx}/SKILL.md",
                "find / -name SKILL.md",
                "python3 -c \"import sys; sys.path.append('/root/.claude/skills/xlsx')\"",
                "PYTHONPATH=/root/.claude/skills/xlsx:/app python3 make.py",
                "cat xlsx/scripts/check.py",
                "echo See /root/.claude/skills/xlsx.",
            ] {
                assert!(called(mount, "bash", &json!({ "command": command })), "{mount:?}: {command}");
            }
            let argv =
                json!({"command": ["bash", "-lc", "cat SKILL.md"], "workdir": "/root/.claude/skills/xlsx"});
            assert!(called(mount, "exec_command", &argv));
            for path in ["/root/.claude/skills/xlsx", "/root/.claude/skills/xlsx/SKILL.md"] {
                assert!(called(mount, "Read", &json!({ "file_path": path })), "{path}");
            }
            assert!(called(mount, "Glob", &json!({"pattern": "**/xlsx/SKILL.md"})));
            assert!(called(mount, "Glob", &json!({"pattern": "**/*lsx*/SKILL.md"})));
        }
        // If the folder is known, the same folder elsewhere is a different one.
        let elsewhere = json!({"command": "cat /app/skills/xlsx/SKILL.md"});
        assert!(called("", "bash", &elsewhere) && !called("/skills/xlsx", "bash", &elsewhere));
        let spaced = json!({"command": "cat '/my skills/xlsx/SKILL.md'"});
        assert!(called("/my skills/xlsx", "bash", &spaced));
    }

    #[test]
    fn client_skill_tools_reference_a_skill_by_name() {
        for (tool, arguments) in [
            ("Skill", json!({"skill": "xlsx", "args": "plan"})),
            ("Skill", json!({"skill": "document-skills:xlsx"})),
            ("Skill", json!({"command": "/xlsx"})),
            ("skill", json!({"name": "xlsx"})),
            ("activate_skill", json!({"name": "xlsx"})),
        ] {
            assert!(called("/skills/xlsx", tool, &arguments), "{tool} {arguments}");
            assert!(called("", tool, &arguments), "{tool} {arguments}");
        }
    }

    #[test]
    fn skill_is_listed_only_by_a_listing_entry() {
        let skill = Reference::anywhere("xlsx", DESCRIPTION);
        for (text, by_harness) in [
            ("- pdf: Read PDF files.\n- xlsx: Work with spreadsheets: read, wri…", true),
            ("- pdf: Read PDF files.\n- xlsx: Work with spreadsheets: read, wri…", false),
            ("<skill>\n<name>xlsx</name>\n<description>\nWork with\n  spreadsheets: read", false),
            ("<available_skills><skill><name>xlsx</name></skill></available_skills>", false),
            ("The following skills are available:\n\n- pdf\n- xlsx\n- docx", false),
            ("- pdf\n- xlsx\n", true),
            ("1. **xlsx**: Tables", true),
            ("Available skills: pdf, xlsx, docx", false),
            ("<skill name=\"xlsx\">\nUse formulas.\n</skill>", false),
            ("Base directory for this skill: /home/dev/.claude/skills/xlsx\n\n# Tables", false),
            (DESCRIPTION, false),
        ] {
            assert!(skill.is_listed(text, by_harness), "{text}");
        }
        for (text, by_harness) in [
            ("Write the plan to /app/plan.xlsx.", false),
            ("Write the plan as xlsx: one sheet a year.", false),
            ("Formats:\n- csv\n- xlsx\n", false),
            ("You have no skills. The output is an xlsx file", false),
            ("The reader takes pdf, xlsx and docx files.", true),
            ("Examples:\n- `skill: \"pdf\"` calls pdf\n- `skill: \"xlsx\"` calls xlsx", true),
            ("Skills: xlsx-writer, my-xlsx", true),
        ] {
            assert!(!skill.is_listed(text, by_harness), "{text}");
        }
        let schema = json!({"properties": {"name": {"enum": ["pdf", "xlsx"]}}});
        assert!(skill.is_listed_by_tool("activate_skill", "Gives a skill.", &schema));
        assert!(!skill.is_listed_by_tool("convert", "Converts a file.", &schema));
        let example = json!({"properties": {"skill": {"description": "The skill, e.g. \"xlsx\""}}});
        assert!(!skill.is_listed_by_tool("Skill", "Calls a skill by its name.", &example));
    }
}
