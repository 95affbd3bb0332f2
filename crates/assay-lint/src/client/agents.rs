//! The specification and the agents, according to their source code or documentation.

use assay_diagnostic::group_digits;
use assay_skill::{DESCRIPTION_LIMIT, Document, Leniency, NAME_LIMIT, is_one_bracket};
use assay_syntax::yaml::{Kind, Node, Scalar, Yaml};

use super::{FieldError, LoadResult, skills_ref};
use crate::skill::Skill;

/// Claude Code truncates description and `when_to_use` to this length in a listing, in characters.
pub(crate) const CLAUDE_LISTING: usize = 1536;

/// The specification: like its reference validator, but front matter ends at a line `---`.
pub(super) fn spec(skill: &Skill) -> LoadResult {
    let verdict = skills_ref::check(skill);
    if let Some((name, _)) = verdict.shown {
        let description = text(skill, "description").unwrap_or_default();
        return LoadResult::loaded(name, description.trim());
    }
    LoadResult::dropped(verdict.errors.into_iter().next().unwrap_or_default())
}

/// Claude Code: uses the folder's name and the first paragraph as defaults. YAML that cannot be
/// parsed is parsed once more with values quoted, and ignored if that fails.
pub(super) fn claude_code(skill: &Skill) -> LoadResult {
    let Some(document) = exact(skill) else { return missing() };
    let quoted = (!yaml_as_written(document)).then(|| claude_retry(document)).flatten();
    let readable = (yaml_as_written(document) || quoted.is_some()) && fenced(document);
    let yaml = quoted.as_ref().unwrap_or(&skill.yaml);
    let value = |key: &str| yaml.field(key).map(|(_, value)| value).filter(|_| readable);
    let own =
        |key: &str| value(key).and_then(Node::text).map(str::to_owned).filter(|text| !text.trim().is_empty());
    let name = own("name").map_or_else(|| skill.directory().to_owned(), |name| name.trim().to_owned());
    let mut listing =
        own("description").map_or_else(|| document.first_paragraph(), |text| text.trim().to_owned());
    if let Some(when) = own("when_to_use") {
        listing = format!("{listing} - {}", when.trim());
    }
    let truncated = listing.chars().count() > CLAUDE_LISTING;
    let listing: String = listing.chars().take(CLAUDE_LISTING).collect();
    let hidden = value("disable-model-invocation").is_some_and(is_true);
    LoadResult {
        truncated,
        listed: !hidden,
        reason: hidden.then(|| "`disable-model-invocation` hides it from the model".to_owned()),
        ..LoadResult::loaded(name, listing)
    }
}

/// The fields as Claude Code parses them after an error: on lines `key: value` that are not indented,
/// values are quoted that contain a sign of YAML's or `: `. (`quoteProblematicValues` in ports of its
/// parser; observed with Claude Code 2.)
fn claude_retry(document: &Document) -> Option<Yaml> {
    let block = &document.text[document.yaml.clone()];
    let quoted: Vec<String> = block.lines().map(claude_line).collect();
    let yaml = Yaml::parse(&(quoted.join("\n") + "\n"), 0);
    (yaml.error.is_none() && matches!(yaml.root, Some(Node { kind: Kind::Map(_), .. }))).then_some(yaml)
}

fn claude_line(line: &str) -> String {
    let parts = line.split_once(':').filter(|(key, value)| {
        let is_key = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '-');
        !key.is_empty() && key.chars().all(is_key) && value.starts_with(char::is_whitespace)
    });
    let Some((key, value)) = parts.map(|(key, value)| (key, value.trim())) else { return line.to_owned() };
    let is_quoted = |quote: char| value.len() > 1 && value.starts_with(quote) && value.ends_with(quote);
    let is_problem = value.contains(['{', '}', '[', ']', '*', '&', '#', '!', '|', '>', '%', '@', '`'])
        || value.contains(": ");
    if is_quoted('"') || is_quoted('\'') || !is_problem {
        return line.to_owned();
    }
    format!("{key}: \"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Codex: closed front matter from the first line; name and description on one line, within their
/// limits.
pub(super) fn codex(skill: &Skill) -> LoadResult {
    let Some(document) = exact(skill) else { return missing() };
    if !skill.is_utf8() {
        return LoadResult::dropped("not UTF-8");
    }
    if !fenced(document) || document.yaml.is_empty() {
        return LoadResult::dropped("no front matter between `---` lines");
    }
    if !yaml_as_written(document) || twice(skill, &["name", "description", "metadata"]) {
        return LoadResult::dropped("invalid YAML");
    }
    if !matches!(skill.yaml.root, Some(Node { kind: Kind::Map(_), .. })) {
        return LoadResult::dropped("the front matter is not a mapping");
    }
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let own = |key: &str| -> Result<Option<String>, FieldError> {
        let Some((_, value)) = skill.field(key) else { return Ok(None) };
        match value.type_1_2() {
            // serde_yaml has no dates.
            Some(Scalar::Text | Scalar::Date) => Ok(value.text().map(one_line)),
            Some(Scalar::Null) => Ok(None),
            _ if value.kind == Kind::Alias => Ok(None),
            _ => Err(FieldError::NotText(key.to_owned())),
        }
    };
    let (name, description) = match (own("name"), own("description")) {
        (Ok(name), Ok(description)) => (name, description.unwrap_or_default()),
        (Err(error), _) | (_, Err(error)) => return LoadResult::dropped(error.to_string()),
    };
    let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| skill.directory().to_owned());
    let limits = [("name", &name, NAME_LIMIT), ("description", &description, DESCRIPTION_LIMIT)];
    for (field, text, limit) in limits {
        let length = text.chars().count();
        if length > limit {
            return LoadResult::dropped(format!(
                "{field} has {} characters (limit {})",
                group_digits(length),
                group_digits(limit)
            ));
        }
    }
    if let Some(short) = skill.field("metadata").and_then(|(_, map)| map.get("short-description")) {
        let length = short.text().map_or(0, |text| one_line(text).chars().count());
        if length > DESCRIPTION_LIMIT {
            return LoadResult::dropped(format!(
                "short-description has {} characters (limit {})",
                group_digits(length),
                group_digits(DESCRIPTION_LIMIT)
            ));
        }
    }
    let implicit = implicit_invocation(skill);
    LoadResult {
        listed: implicit,
        reason: (!implicit).then(|| "agents/openai.yaml forbids implicit invocation".to_owned()),
        ..LoadResult::loaded(name, description)
    }
}

/// Gemini CLI: name and description must be strings; if YAML has none, it searches for `name:` and
/// `description:` lines.
pub(super) fn gemini_cli(skill: &Skill) -> LoadResult {
    let Some(document) = exact(skill) else { return missing() };
    if !fenced(document)
        || document.byte_order_mark
        || !document.text.starts_with("---\n") && !document.text.starts_with("---\r\n")
    {
        return LoadResult::dropped("no front matter between `---` lines");
    }
    let value = |key: &str| skill.field(key).map(|(_, value)| value);
    let is_text = |key: &str| value(key).is_some_and(|value| value.type_1_2() == Some(Scalar::Text));
    let parsed = yaml_as_written(document) && !twice(skill, &[]) && is_text("name") && is_text("description");
    let pair = if parsed {
        value("name")
            .and_then(Node::text)
            .zip(value("description").and_then(Node::text))
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
    } else {
        by_lines(&document.text[document.fence.as_ref().map_or(0..0, |fence| fence.inside.clone())])
    };
    let Some((name, description)) = pair else {
        return LoadResult::dropped("missing `name` or `description`");
    };
    let name: String = name.chars().map(|c| if r#":\/<>*?"|"#.contains(c) { '-' } else { c }).collect();
    LoadResult::loaded(name, description)
}

/// The values of `name:` and `description:` lines, with indented lines after the latter.
fn by_lines(block: &str) -> Option<(String, String)> {
    let (mut name, mut description) = (None, None);
    let mut lines = block.lines().peekable();
    while let Some(line) = lines.next() {
        let line = line.trim_start();
        if let Some(value) = line.strip_prefix("name:") {
            name = Some(value.trim().to_owned());
        } else if let Some(value) = line.strip_prefix("description:") {
            let mut parts = vec![value.trim()];
            while let Some(next) =
                lines.next_if(|next| next.starts_with([' ', '\t']) && !next.trim().is_empty())
            {
                parts.push(next.trim());
            }
            parts.retain(|part| !part.is_empty());
            description = Some(parts.join(" "));
        }
    }
    name.zip(description)
}

/// OpenCode: name and description must be strings. Its documentation has a pattern for the name;
/// its loader accepts any.
pub(super) fn opencode(skill: &Skill) -> LoadResult {
    let Some(document) = exact(skill) else { return missing() };
    // Its parser removes a byte-order mark.
    if document.fence.as_ref().is_none_or(|fence| fence.line != 1 || fence.long || !fence.closed) {
        return LoadResult::dropped("no front matter between `---` lines");
    }
    // It quotes values with a colon only.
    let block = &document.text[document.yaml.clone()];
    let has_brackets = block
        .lines()
        .filter_map(|line| line.split_once(": "))
        .any(|(_, value)| value.trim_start().starts_with(['[', '{']) && !is_one_bracket(value.trim()));
    if !matches!(&document.trouble, None | Some((_, Leniency::Quoted)))
        || (document.trouble.is_some() && has_brackets)
    {
        return LoadResult::dropped("invalid YAML");
    }
    for key in ["name", "description"] {
        let text = skill.field(key).and_then(|(_, value)| value.type_1_2());
        if text != Some(Scalar::Text) {
            return LoadResult::dropped(format!("`{key}` is missing or not a string"));
        }
    }
    LoadResult::loaded(
        text(skill, "name").unwrap_or_default(),
        text(skill, "description").unwrap_or_default(),
    )
}

/// 1 to 64 of a to z, 0 to 9 and single hyphens between them.
pub(crate) fn is_slug(name: &str) -> bool {
    (1..=NAME_LIMIT).contains(&name.len())
        && name.split('-').all(|part| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
}

/// The client implementation guide: warn and load, but skip skills without a description, or with
/// YAML that quoting values does not repair.
pub(super) fn lenient(skill: &Skill) -> LoadResult {
    let Some(package) = &skill.package else { return missing() };
    let Some(document) = exact(skill) else { return missing() };
    if matches!(document.trouble, Some((_, Leniency::None))) || document.fence.is_none() {
        return LoadResult::dropped("no readable front matter");
    }
    match document.description.as_deref() {
        Some(description) => LoadResult::loaded(&package.name, description),
        None => LoadResult::dropped("missing description"),
    }
}

fn exact(skill: &Skill) -> Option<&Document> {
    skill.document.as_ref().filter(|_| skill.exact_name())
}

fn missing() -> LoadResult {
    LoadResult::dropped("no readable SKILL.md")
}

/// Whether the YAML can be parsed as written, or with the last of duplicate keys.
fn yaml_as_written(document: &Document) -> bool {
    matches!(document.trouble, None | Some((_, Leniency::LastKey)))
}

/// Whether the first line is a fence of three dashes, without a byte-order mark, and another one
/// closes it.
fn fenced(document: &Document) -> bool {
    document.fence.as_ref().is_some_and(|fence| fence.line == 1 && !fence.long && fence.closed)
        && !document.byte_order_mark
}

/// Whether one of the keys occurs twice; any key, if none is given.
fn twice(skill: &Skill, keys: &[&str]) -> bool {
    let fields = skill.yaml.fields();
    fields.iter().enumerate().any(|(at, (key, _))| {
        key.text().is_some_and(|text| keys.is_empty() || keys.contains(&text))
            && fields[..at].iter().any(|(earlier, _)| earlier.text() == key.text())
    })
}

/// A scalar field as text.
fn text(skill: &Skill, key: &str) -> Option<String> {
    skill.field(key).and_then(|(_, value)| value.text()).map(str::to_owned)
}

fn is_true(value: &Node) -> bool {
    value.type_1_2() == Some(Scalar::Bool)
        && value.text().is_some_and(|text| text.eq_ignore_ascii_case("true"))
}

/// `policy.allow_implicit_invocation` of agents/openai.yaml: true unless it is false. An unreadable
/// file is ignored.
fn implicit_invocation(skill: &Skill) -> bool {
    crate::openai_yaml::openai_yaml(skill).is_none_or(|(_, yaml)| {
        let policy = yaml.field("policy").map(|(_, policy)| policy);
        let value = policy.and_then(|policy| policy.get("allow_implicit_invocation"));
        value.is_none_or(|value| {
            value.type_1_2() != Some(Scalar::Bool)
                || value.text().is_none_or(|text| !text.eq_ignore_ascii_case("false"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_code_parses_broken_front_matter_once_more() {
        let check = |front_matter: &str, description: &str, listed: bool| {
            let temp = tempfile::TempDir::new().unwrap();
            let text = format!("---\nname: tides\n{front_matter}---\n# Tides\nFirst paragraph.\n");
            std::fs::write(temp.path().join("SKILL.md"), text).unwrap();
            let found = claude_code(&Skill::load(temp.path()));
            assert_eq!(
                (found.description.as_deref(), found.listed),
                (Some(description), listed),
                "{front_matter}"
            );
        };
        check(
            "description: Reads tables. Triggers: low, high.\n",
            "Reads tables. Triggers: low, high.",
            true,
        );
        check("description: Say \"low\": now.\n", "Say \"low\": now.", true);
        let hidden =
            "description: Reads tables.\nargument-hint: [harbor] [date]\ndisable-model-invocation: true\n";
        check(hidden, "Reads tables.", false);
        // It quotes lines, so that a value on several lines stays as it is.
        check("description:\n  Reads tables. Pairs with\n  charts: first these.\n", "First paragraph.", true);
    }
}
