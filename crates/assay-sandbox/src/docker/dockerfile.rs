//! What a Dockerfile says, as far as a build by us needs it: which images it starts from, what it asks of the builder, and
//! what is refused.
//!
//! Written after the Dockerfile reference of Docker: parser directives, line continuation, heredocs, `ARG` before `FROM`.

use std::collections::BTreeMap;

/// Why a Dockerfile is not built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The line that the instruction begins on, from 1.
    pub(super) line: usize,
    /// What it is about.
    pub(super) reason: String,
}

/// A Dockerfile as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rewritten {
    /// The text, with other images where there are to be others.
    pub(super) text: String,
    /// The first thing in it that only BuildKit can do, with its line.
    pub(super) buildkit: Option<Refusal>,
}

struct Instruction {
    /// Lines, from 0, the last one included.
    first: usize,
    last: usize,
    keyword: String,
    rest: String,
}

/// Goes through a Dockerfile. `image` gives what to write for an image that it names; it is called once for each place.
pub(super) fn rewrite<E>(
    text: &str,
    args: &BTreeMap<String, String>,
    network: bool,
    mut image: impl FnMut(&str) -> Result<String, E>,
) -> Result<Result<Rewritten, Refusal>, E> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let escape = match directives(&mut lines) {
        Ok(escape) => escape,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let mut buildkit: Option<Refusal> = None;
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let mut stages: Vec<String> = Vec::new();
    let mut began = false;
    for instruction in instructions(&lines, escape) {
        let line = instruction.first + 1;
        let refuse = |reason: String| Ok(Err(Refusal { line, reason }));
        let (flags, rest) = flags(&instruction.rest);
        if let Some(reason) = asked_of_buildkit(&instruction.keyword, &flags, rest) {
            buildkit.get_or_insert(Refusal { line, reason });
        }
        if let Some(reason) = refused(&instruction.keyword, &flags, rest, network) {
            return refuse(reason);
        }
        let mut replacement = None;
        match instruction.keyword.as_str() {
            "ARG" if !began => {
                for word in rest.split_whitespace() {
                    let (name, default) = word.split_once('=').unwrap_or((word, ""));
                    let value = args.get(name).map_or_else(|| expand(unquote(default), &known), Clone::clone);
                    known.insert(name.to_owned(), value);
                }
            }
            "FROM" => {
                began = true;
                let mut words = rest.split_whitespace();
                let Some(name) = words.next() else { return refuse("FROM without an image".to_owned()) };
                let name = expand(unquote(name), &known);
                let alias = match (words.next(), words.next()) {
                    (Some(word), Some(alias)) if word.eq_ignore_ascii_case("as") => {
                        Some(alias.to_lowercase())
                    }
                    _ => None,
                };
                if name != "scratch" && !stages.contains(&name.to_lowercase()) {
                    let other = image(&name)?;
                    let flags: String = flags.iter().map(|flag| format!("{flag} ")).collect();
                    let alias = alias.as_ref().map(|alias| format!(" AS {alias}")).unwrap_or_default();
                    replacement = Some(format!("FROM {flags}{other}{alias}"));
                }
                // A stage without a name is known by its number alone, and no image is called that.
                stages.push(alias.unwrap_or_else(|| format!("{}", stages.len())));
            }
            "COPY" => {
                if let Some(name) = flags.iter().find_map(|flag| flag.strip_prefix("--from=")) {
                    let is_stage = name.parse::<usize>().is_ok() || stages.contains(&name.to_lowercase());
                    if !is_stage {
                        let other = image(name)?;
                        let flags: String = flags
                            .iter()
                            .map(|flag| match flag.strip_prefix("--from=") {
                                Some(_) => format!("--from={other} "),
                                None => format!("{flag} "),
                            })
                            .collect();
                        replacement = Some(format!("COPY {flags}{rest}"));
                    }
                }
            }
            _ => {}
        }
        if let Some(replacement) = replacement {
            // As many lines as before: what the builder says of a line stays true.
            for line in &mut lines[instruction.first..=instruction.last] {
                line.clear();
            }
            lines[instruction.first] = replacement;
        }
    }
    let mut text = lines.join("\n");
    text.push('\n');
    Ok(Ok(Rewritten { text, buildkit }))
}

/// Reads the directives at the top, and takes out `syntax`, which would have the builder run a program from a registry.
fn directives(lines: &mut [String]) -> Result<char, Refusal> {
    let mut escape = '\\';
    for (number, line) in lines.iter_mut().enumerate() {
        let Some(comment) = line.trim_start_matches('\u{feff}').trim().strip_prefix('#') else { break };
        let Some((name, value)) = comment.split_once('=') else { break };
        match (name.trim().to_lowercase().as_str(), value.trim()) {
            ("escape", "`") => escape = '`',
            ("escape" | "check", _) => {}
            ("syntax", value) => {
                let plain = value.strip_prefix("docker.io/").unwrap_or(value);
                let name = plain.split([':', '@']).next().unwrap_or_default();
                if name != "docker/dockerfile" {
                    return Err(Refusal {
                        line: number + 1,
                        reason: format!(
                            "`# syntax={value}` would have a program from a registry read this file"
                        ),
                    });
                }
                // What the daemon's own reader cannot read, it says itself.
                "#".clone_into(line);
            }
            _ => break,
        }
    }
    Ok(escape)
}

fn instructions(lines: &[String], escape: char) -> Vec<Instruction> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let first = at;
        let begin = lines[at].trim();
        at += 1;
        if begin.is_empty() || begin.starts_with('#') {
            continue;
        }
        let mut last = first;
        let mut text = String::new();
        let mut piece = begin;
        while let Some(cut) = piece.strip_suffix(escape) {
            text.push_str(cut);
            text.push(' ');
            // Comments and empty lines within an instruction are skipped.
            while at < lines.len() && (lines[at].trim().is_empty() || lines[at].trim().starts_with('#')) {
                at += 1;
            }
            if at == lines.len() {
                piece = "";
                break;
            }
            piece = lines[at].trim();
            last = at;
            at += 1;
        }
        text.push_str(piece);
        let (keyword, rest) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
        let keyword = keyword.to_uppercase();
        if matches!(keyword.as_str(), "RUN" | "COPY" | "ADD") {
            for word in heredocs(rest) {
                while at < lines.len() && lines[at].trim_start_matches('\t') != word {
                    at += 1;
                }
                at = (at + 1).min(lines.len());
                last = at.saturating_sub(1);
            }
        }
        found.push(Instruction { first, last, rest: rest.trim().to_owned(), keyword });
    }
    found
}

/// The words that end the heredocs which an instruction opens.
fn heredocs(rest: &str) -> Vec<String> {
    let word = |token: &str| {
        let token = token.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("<<")?;
        let token = unquote(token.strip_prefix('-').unwrap_or(token));
        let named = token.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        named.then(|| token.to_owned())
    };
    rest.split_whitespace().filter_map(word).collect()
}

fn flags(rest: &str) -> (Vec<String>, &str) {
    let mut flags = Vec::new();
    let mut rest = rest.trim_start();
    while rest.starts_with("--") {
        let (flag, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        flags.push(flag.to_owned());
        rest = after.trim_start();
    }
    (flags, rest)
}

fn asked_of_buildkit(keyword: &str, flags: &[String], rest: &str) -> Option<String> {
    let ours: &[&str] = match keyword {
        "RUN" => &["--mount", "--network", "--security", "--device"],
        "COPY" => &["--link", "--chmod", "--parents", "--exclude"],
        "ADD" => &["--link", "--chmod", "--checksum", "--keep-git-dir", "--exclude", "--unpack"],
        _ => return None,
    };
    let name = |flag: &String| flag.split('=').next().unwrap_or_default().to_owned();
    if let Some(flag) = flags.iter().map(name).find(|flag| ours.contains(&flag.as_str())) {
        return Some(format!("{keyword} {flag}"));
    }
    heredocs(rest).first().map(|word| format!("{keyword} <<{word}"))
}

fn refused(keyword: &str, flags: &[String], rest: &str, network: bool) -> Option<String> {
    for flag in flags {
        let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
        let value = unquote(value);
        match (keyword, name) {
            ("RUN", "--security") if value != "sandbox" => {
                return Some(format!("RUN --security={value} asks for privileges"));
            }
            ("RUN", "--network") if value == "host" => {
                return Some("RUN --network=host asks for the host's network".to_owned());
            }
            ("RUN", "--device") => return Some("RUN --device asks for a device of the host".to_owned()),
            ("RUN", "--mount") => {
                let kind = value.split(',').find_map(|part| part.trim().strip_prefix("type="));
                if let Some(kind) = kind.filter(|kind| matches!(*kind, "secret" | "ssh")) {
                    return Some(format!("RUN --mount=type={kind} asks for a secret of the user"));
                }
            }
            _ => {}
        }
    }
    let remote = |word: &str| {
        let word = word.trim_matches(['"', '\'', '[', ']', ',']);
        ["http://", "https://", "git://", "git@", "ssh://"].iter().any(|scheme| word.starts_with(scheme))
    };
    let onbuild = rest.to_ascii_uppercase().starts_with("ADD");
    if (keyword == "ADD" || keyword == "ONBUILD" && onbuild)
        && !network
        && rest.split_whitespace().any(remote)
    {
        return Some(
            "ADD of an address has the daemon itself fetch it, and this build is to have no network"
                .to_owned(),
        );
    }
    None
}

fn unquote(word: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = word.strip_prefix(quote).and_then(|word| word.strip_suffix(quote)) {
            return inner;
        }
    }
    word
}

/// `$NAME`, `${NAME}`, `${NAME:-default}` and `${NAME:+other}`; what is not known is empty.
fn expand(text: &str, known: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(inner) = rest.strip_prefix('{') {
            let (inner, after) = inner.split_once('}').unwrap_or((inner, ""));
            rest = after;
            let end = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inner.len());
            let value = known.get(&inner[..end]).filter(|value| !value.is_empty());
            let modifier = &inner[end..];
            if let Some(other) = modifier.strip_prefix(":-").or_else(|| modifier.strip_prefix('-')) {
                out.push_str(value.map_or(other, String::as_str));
            } else if let Some(other) = modifier.strip_prefix(":+").or_else(|| modifier.strip_prefix('+')) {
                out.push_str(if value.is_some() { other } else { "" });
            } else {
                out.push_str(value.map_or("", String::as_str));
            }
        } else {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            out.push_str(known.get(&rest[..end]).map_or("", String::as_str));
            rest = &rest[end..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn run(text: &str, network: bool) -> (Result<Rewritten, Refusal>, Vec<String>) {
        let mut seen = Vec::new();
        let done = rewrite(text, &BTreeMap::new(), network, |name| {
            seen.push(name.to_owned());
            Ok::<_, Infallible>("base:1".to_owned())
        });
        let Ok(done) = done;
        (done, seen)
    }

    #[test]
    fn names_other_images_and_nothing_else() {
        for (text, expected, images) in [
            ("FROM debian:12\nRUN true", "FROM base:1\nRUN true\n", vec!["debian:12"]),
            ("from  debian  as Build\nFROM build\n", "FROM base:1 AS build\nFROM build\n", vec!["debian"]),
            ("FROM scratch\nCOPY a /\n", "FROM scratch\nCOPY a /\n", vec![]),
            (
                "# syntax=docker/dockerfile:1.4\n#x\nFROM \\\n# no\n  a/b\nCMD x",
                "#\n#x\nFROM base:1\n\n\nCMD x\n",
                vec!["a/b"],
            ),
            (
                "ARG V=12\nARG I=\"deb:$V\"\nFROM ${I}",
                "ARG V=12\nARG I=\"deb:$V\"\nFROM base:1\n",
                vec!["deb:12"],
            ),
            ("FROM ${X:-deb}${Y:+no}-$Z.x", "FROM base:1\n", vec!["deb-.x"]),
            (
                "FROM a AS x\nCOPY --from=x /a /b\nCOPY --from=0 /a /b\nCOPY --chown=1 --from=tool:2 /a /b",
                "FROM base:1 AS x\nCOPY --from=x /a /b\nCOPY --from=0 /a /b\nCOPY --chown=1 --from=base:1 /a /b\n",
                vec!["a", "tool:2"],
            ),
            ("# escape=`\nFROM a\nRUN x `\nFROM y", "# escape=`\nFROM base:1\nRUN x `\nFROM y\n", vec!["a"]),
            ("FROM --platform=linux/amd64 a", "FROM --platform=linux/amd64 base:1\n", vec!["a"]),
            (
                "FROM a\nRUN cat <<E\nFROM no\nE\nFROM b",
                "FROM base:1\nRUN cat <<E\nFROM no\nE\nFROM base:1\n",
                vec!["a", "b"],
            ),
        ] {
            let (done, seen) = run(text, false);
            assert_eq!(done.as_ref().map(|d| d.text.as_str()), Ok(expected), "{text:?}");
            assert_eq!(seen, images, "{text:?}");
        }
    }

    #[test]
    fn refuses_what_reaches_out_of_a_build() {
        for (text, line, words) in [
            ("# syntax=evil/frontend\nFROM a", 1, "evil/frontend"),
            ("FROM a\nRUN --security=insecure mount", 2, "privileges"),
            ("FROM a\n\nRUN --network=host curl", 3, "host's network"),
            ("FROM a\nRUN --mount=type=secret,id=x cat", 2, "secret"),
            ("FROM a\nRUN --mount=id=x,type=ssh cat", 2, "secret"),
            ("FROM a\nRUN --device=x cat", 2, "device"),
            ("FROM a\nADD https://host/x /x", 2, "fetch"),
            ("FROM a\nADD [\"http://host/x\", \"/x\"]", 2, "fetch"),
            ("FROM a\nONBUILD ADD git@host:x /x", 2, "fetch"),
            ("FROM", 1, "without an image"),
        ] {
            let refusal = run(text, false).0.unwrap_err();
            assert_eq!(refusal.line, line, "{text:?}");
            assert!(refusal.reason.contains(words), "{text:?}: {}", refusal.reason);
        }
        assert!(run("FROM a\nADD https://host/x /x", true).0.is_ok());
    }

    #[test]
    fn sees_what_only_buildkit_builds() {
        for (text, expected) in [
            ("FROM a\nRUN echo $((1<<2))", None),
            ("FROM a\nRUN cat <<< x", None),
            ("FROM a\nRUN <<EOF\nx\nEOF", Some("RUN <<EOF")),
            ("FROM a\nCOPY <<-\"EOF\" /x\nx\n\tEOF", Some("COPY <<EOF")),
            ("FROM a\nRUN --mount=type=cache,target=/x y", Some("RUN --mount")),
            ("FROM a\nCOPY --chmod=755 x y", Some("COPY --chmod")),
            ("FROM a\nCOPY --chown=1 x y", None),
        ] {
            let found = run(text, false).0.unwrap().buildkit.map(|found| found.reason);
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
    }
}
