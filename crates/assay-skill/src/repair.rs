//! One repair of YAML that does not parse: quotes for values that need them.
//!
//! `description: Use when: asked` is the most common mistake in front matter. The implementation
//! guide for clients suggests one retry with such values quoted. Tabs in the indentation, the next
//! most common, are also repaired.

/// Quotes the values of a block that a YAML parser cannot read. `None` if there is nothing to
/// quote.
///
/// Checked are lines `key: value` at any depth, with the more deeply indented lines after them. A
/// plain value is quoted if it contains `: ` or ends in `:` or begins with a character that no
/// plain value may begin with, and a quoted or bracketed one if it does not end as it began.
pub fn quote_values(yaml: &str) -> Option<String> {
    let lines: Vec<String> = yaml.lines().map(expand_tabs).collect();
    let mut out = String::with_capacity(yaml.len() + 16);
    let mut changed = lines.iter().zip(yaml.lines()).any(|(expanded, line)| expanded != line);
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        at += 1;
        // An entry without a value is as it is, and the lines below it are entries of their own.
        let Some((indent, key, value)) = entry(line).filter(|(.., value)| !value.is_empty()) else {
            out.push_str(line);
            out.push('\n');
            continue;
        };
        let deeper =
            lines[at..].iter().take_while(|next| next.trim().is_empty() || indent_of(next) > indent).count();
        let mut rest = &lines[at..at + deeper];
        while rest.last().is_some_and(|line| line.trim().is_empty()) {
            rest = &rest[..rest.len() - 1];
        }
        if value.starts_with(['|', '>']) {
            for kept in std::iter::once(line).chain(rest) {
                out.push_str(kept);
                out.push('\n');
            }
            at += rest.len();
            continue;
        }
        let mut whole = value.to_owned();
        for next in rest {
            whole.push(' ');
            whole.push_str(next.trim());
        }
        at += rest.len();
        if needs_quotes(whole.trim()) {
            changed = true;
            out.push_str(&line[..indent]);
            out.push_str(key);
            out.push_str(": ");
            push_quoted(&mut out, whole.trim());
            out.push('\n');
        } else {
            for line in std::iter::once(line).chain(rest) {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    changed.then_some(out)
}

/// Tabs that indent, as two spaces each.
fn expand_tabs(line: &str) -> String {
    let body = line.trim_start_matches([' ', '\t']);
    let indent = &line[..line.len() - body.len()];
    format!("{}{body}", indent.replace('\t', "  "))
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Indentation, key and value of a line `key: value` or `key:`.
fn entry(line: &str) -> Option<(usize, &str, &str)> {
    let indent = indent_of(line);
    let (key, value) = line[indent..].split_once(':')?;
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let separated = value.is_empty() || value.starts_with([' ', '\t']);
    (plain && separated && !key.starts_with('-')).then(|| (indent, key, value.trim()))
}

fn needs_quotes(value: &str) -> bool {
    let ends = |close: char| value.len() > 1 && value.ends_with(close);
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => !ends(quote) || inner_quote(value, quote),
        Some('[' | '{') => !is_one_bracket(value),
        Some('@' | '`' | '%' | '&' | '*' | '!' | ',' | ']' | '}') => true,
        Some('-' | '?' | ':') if value[1..].starts_with(' ') => true,
        _ => value.contains(": ") || value.ends_with(':') || value.contains(":\t"),
    }
}

/// Whether the bracket that opens a value closes at its end: `[harbor] [date]` is two.
pub fn is_one_bracket(value: &str) -> bool {
    let mut depth = 0_usize;
    for (at, sign) in value.char_indices() {
        match sign {
            '[' | '{' => depth += 1,
            ']' | '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1 == value.len();
                }
            }
            _ => {}
        }
    }
    false
}

/// Whether the quote that opens a value also occurs, unescaped, before its end.
fn inner_quote(value: &str, quote: char) -> bool {
    let inner = &value[1..value.len() - 1];
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\\' && quote == '"' {
            chars.next();
        } else if c == quote && (quote == '"' || chars.next() != Some('\'')) {
            return true;
        }
    }
    false
}

fn push_quoted(out: &mut String, value: &str) {
    out.push('"');
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_if_necessary() {
        let check = |yaml: &str, expected: Option<&str>| {
            assert_eq!(quote_values(yaml).as_deref(), expected, "{yaml}");
        };
        check("name: a\ndescription: b c\n", None);
        check("description: Use when: asked\n", Some("description: \"Use when: asked\"\n"));
        check("description: Steps:\n", Some("description: \"Steps:\"\n"));
        check("description: Say \"hi\": now\n", Some("description: \"Say \\\"hi\\\": now\"\n"));
        check("description: a: b\n  and c\nname: x\n", Some("description: \"a: b and c\"\nname: x\n"));
        check("description: a\n  b: c\n", Some("description: \"a b: c\"\n"));
        check("description: \"a\" or \"b\"\n", Some("description: \"\\\"a\\\" or \\\"b\\\"\"\n"));
        check("description: 'it''s'\n", None);
        check("description: @here\n", Some("description: \"@here\"\n"));
        check("tags: [a, b]\nother: [a\n", Some("tags: [a, b]\nother: \"[a\"\n"));
        check("hint: [a] [b]\ntags: [[a], b]\n", Some("hint: \"[a] [b]\"\ntags: [[a], b]\n"));
        check("metadata:\n  note: a: b\n", Some("metadata:\n  note: \"a: b\"\n"));
        check("metadata:\n\ta: b\n", Some("metadata:\n  a: b\n"));
        check("description: |\n  a: b: c\nname: x\n", None);
        check("url: http://x/\n", None);
        check("- a: b\n", None);
    }
}
