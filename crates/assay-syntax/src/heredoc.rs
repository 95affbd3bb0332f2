//! Here-documents of Dockerfiles, as BuildKit finds them.
//!
//! BuildKit divides a line into words as its own shell lexer does, keeping quotes. A word starts a
//! here-document if it is digits, `<<`, an optional `-`, optional white space and a name without
//! `<`. A line with an unclosed quote has none.

use std::iter::Peekable;
use std::str::Chars;

/// A line may have here-documents, and whether it does depends on the builder's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "whether this line has here-documents depends on Docker's version: write its `<<` or its `${{...}}` in another way"
)]
pub struct UnclearHeredoc;

/// Why a line has no words.
enum NoWords {
    /// A quote that is not closed: the builder finds no here-document.
    Open,
    /// A substitution that versions of the builder read differently.
    Unclear,
}

/// The delimiters of the here-documents of a line (`<<EOF`, `3<<-"EOF"`, `<< EOF`), and whether
/// tabs before them are stripped. Quoted text has none.
pub fn heredocs(rest: &str) -> Result<Vec<(String, bool)>, UnclearHeredoc> {
    if !rest.contains("<<") {
        return Ok(Vec::new());
    }
    match words(rest) {
        Ok(words) => Ok(words.iter().filter_map(|word| heredoc(word)).collect()),
        Err(NoWords::Open) => Ok(Vec::new()),
        Err(NoWords::Unclear) => Err(UnclearHeredoc),
    }
}

fn heredoc(word: &str) -> Option<(String, bool)> {
    let word = word.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("<<")?;
    let (word, strip) = word.strip_prefix('-').map_or((word, false), |word| (word, true));
    let name = word.trim_start_matches([' ', '\t']);
    if name.contains('<') {
        return None;
    }
    let name = unquoted(name);
    (!name.is_empty()).then_some((name, strip))
}

/// Words with their quotes and backslashes.
fn words(text: &str) -> Result<Vec<String>, NoWords> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_whitespace() {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            continue;
        }
        word.push(c);
        match c {
            '\'' => loop {
                let c = chars.next().ok_or(NoWords::Open)?;
                word.push(c);
                if c == '\'' {
                    break;
                }
            },
            '"' => loop {
                let c = chars.next().ok_or(NoWords::Open)?;
                word.push(c);
                match c {
                    '"' => break,
                    '\\' => word.extend(chars.next_if(|c| matches!(c, '"' | '$' | '\\'))),
                    '$' => variable(&mut chars, &mut word)?,
                    _ => {}
                }
            },
            '$' => variable(&mut chars, &mut word)?,
            '\\' => word.extend(chars.next()),
            // White space after it belongs to the word.
            '<' if chars.next_if_eq(&'<').is_some() => {
                word.push('<');
                while let Some(space) = chars.next_if(|c| c.is_whitespace()) {
                    if !matches!(space, ' ' | '\t') {
                        return Err(NoWords::Unclear);
                    }
                    word.push(space);
                }
            }
            _ => {}
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    Ok(words)
}

/// Passes over the rest of `${name}`, `${name:-word}` or `${name:+word}` with a plain word. Other
/// variables are read as text.
fn variable(chars: &mut Peekable<Chars<'_>>, word: &mut String) -> Result<(), NoWords> {
    if chars.next_if_eq(&'{').is_none() {
        return Ok(());
    }
    word.push('{');
    let mut name = String::new();
    while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
        name.push(c);
    }
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(NoWords::Unclear);
    }
    word.push_str(&name);
    if chars.next_if_eq(&':').is_some() {
        let modifier = chars.next_if(|c| matches!(c, '-' | '+')).ok_or(NoWords::Unclear)?;
        word.extend([':', modifier]);
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "_-./:,=@%+".contains(*c);
        while let Some(c) = chars.next_if(is_plain) {
            word.push(c);
        }
    }
    word.push(chars.next_if_eq(&'}').ok_or(NoWords::Unclear)?);
    Ok(())
}

/// A word of [`words`] without its quotes and backslashes.
fn unquoted(word: &str) -> String {
    let mut name = String::new();
    let mut quote = None;
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, '\\') => name.extend(chars.next()),
            (Some('"'), '\\') => {
                name.push(chars.next_if(|c| matches!(c, '"' | '$' | '\\')).unwrap_or(c));
            }
            _ => name.push(c),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn here_documents_match_the_builder() {
        let check = |rest: &str, expected: &[(&str, bool)]| {
            let found = heredocs(rest).unwrap();
            let found: Vec<_> = found.iter().map(|(name, strip)| (name.as_str(), *strip)).collect();
            assert_eq!(found, expected, "{rest}");
        };
        check("<<EOF", &[("EOF", false)]);
        check("<<-EOF", &[("EOF", true)]);
        check("3<<EOF", &[("EOF", false)]);
        check("<<A 3<<-B cat", &[("A", false), ("B", true)]);
        check("cat <<'A' <<-\"_b1\" <<é", &[("A", false), ("_b1", true), ("é", false)]);
        check("<<'one two' <<o\"n\"e\\ x", &[("one two", false), ("one x", false)]);
        check("<<\"a\\\"b\\n\" <<'c\\' <<\\#", &[("a\"b\\n", false), ("c\\", false), ("#", false)]);
        check("<<robots.txt <<2 <<$EOF /x", &[("robots.txt", false), ("2", false), ("$EOF", false)]);
        check("cat <<  EOF > /x", &[("EOF", false)]);
        check("cat << -EOF", &[("-EOF", false)]);
        check("cat <<EOF > ${DIR}/${X:-a/b}", &[("EOF", false)]);
        check("echo \"it's $x ${y}\" $(z) <<E", &[("E", false)]);
        for rest in [
            "\"<<EOF\"",
            "'<<EOF'",
            "echo \"a <<E b\"",
            "sh -c 'cat <<E '",
            "echo \\<<E",
            "echo a\\ <<E",
            "a<<E",
            "cat <<",
            "cat <<-",
            "cat <<- E",
            "cat <<\"\"",
            "cat <<<E",
            "cat <<E<F",
            "[\"cat\", \"a <<E\"]",
            // The line cannot be divided.
            "cat <<\"E",
            "cat <<'E\"",
            "true <<E # it's",
        ] {
            check(rest, &[]);
        }
        for rest in ["true <<E ${x", "true <<E # ${", "true <<E ${x#y}", "true <<E \"${x:-'}\"", "<<\u{a0}E"]
        {
            assert_eq!(heredocs(rest), Err(UnclearHeredoc), "{rest}");
        }
        assert_eq!(heredocs("echo ${x#y}"), Ok(Vec::new()));
    }
}
