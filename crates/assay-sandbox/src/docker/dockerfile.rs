//! Analyzes a Dockerfile before a build: the images it starts from, what it needs from the builder,
//! and what is refused.
//!
//! Follows Docker's Dockerfile reference: parser directives, line continuation, heredocs, `ARG`
//! before `FROM`.

use std::collections::BTreeMap;

use assay_syntax::dockerfile::{Directive, Instruction, Source, UnclearHeredoc, Unknown, expand, heredocs};

/// Why a Dockerfile is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The first line of the instruction, from 1.
    pub(super) line: usize,
    /// The reason.
    pub(super) reason: String,
}

/// A Dockerfile as sent to the builder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rewritten {
    /// The text, with replaced images.
    pub(super) text: String,
    /// The first part that only BuildKit supports, with its line.
    pub(super) buildkit: Option<Refusal>,
}

/// Rewrites a Dockerfile. `image` returns the replacement for an image that it names; it is called
/// once for each occurrence.
pub(super) fn rewrite<E>(
    text: &str,
    args: &BTreeMap<String, String>,
    network: bool,
    mut image: impl FnMut(&str) -> Result<String, E>,
) -> Result<Result<Rewritten, Refusal>, E> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let source = Source::read(text);
    for directive in source.directives.iter().filter(|directive| directive.name == "syntax") {
        if let Some(refusal) = refused_syntax(directive) {
            return Ok(Err(refusal));
        }
        // It would make the builder run a program from a registry. If the daemon's own parser
        // cannot read the file without it, the daemon reports that.
        "#".clone_into(&mut lines[directive.line - 1]);
    }
    let value = |word: &str, known: &BTreeMap<String, String>| {
        expand(word, known, Unknown::Empty).unwrap_or_default()
    };
    let mut buildkit: Option<Refusal> = None;
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let mut stages: Vec<String> = Vec::new();
    let mut began = false;
    for instruction in source.instructions {
        let line = instruction.line;
        let refuse = |reason: String| Ok(Err(Refusal { line, reason }));
        let (flags, rest) = instruction.flags();
        if instruction.is_unclear {
            return refuse(UnclearHeredoc.to_string());
        }
        if let Some(reason) = asked_of_buildkit(&instruction, &flags, rest) {
            buildkit.get_or_insert(Refusal { line, reason });
        }
        if let Some(reason) = refused(&instruction.name, &flags, rest, network) {
            return refuse(reason);
        }
        let mut replacement = None;
        match instruction.name.as_str() {
            "ARG" if !began => {
                for word in rest.split_whitespace() {
                    let (name, default) = word.split_once('=').unwrap_or((word, ""));
                    let value = args.get(name).map_or_else(|| value(default, &known), Clone::clone);
                    known.insert(name.to_owned(), value);
                }
            }
            "FROM" => {
                began = true;
                let mut words = rest.split_whitespace();
                let Some(name) = words.next() else { return refuse("FROM without an image".to_owned()) };
                let name = value(name, &known);
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
                // A stage without a name is known only by its number, which is never the name of an
                // image.
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
            // The same number of lines, so that line numbers in the builder's messages are correct.
            let first = instruction.lines.start;
            for line in &mut lines[instruction.lines] {
                line.clear();
            }
            lines[first] = replacement;
        }
    }
    let mut text = lines.join("\n");
    text.push('\n');
    Ok(Ok(Rewritten { text, buildkit }))
}

/// A syntax other than Docker's own is a program from a registry.
fn refused_syntax(directive: &Directive) -> Option<Refusal> {
    let reason =
        format!("`# syntax={}` would run a program from a registry to read this file", directive.value);
    (!directive.is_default()).then_some(Refusal { line: directive.line, reason })
}

fn asked_of_buildkit(instruction: &Instruction, flags: &[&str], rest: &str) -> Option<String> {
    let keyword = instruction.name.as_str();
    let ours: &[&str] = match keyword {
        "RUN" => &["--mount", "--network", "--security", "--device"],
        "COPY" => &["--link", "--chmod", "--parents", "--exclude"],
        "ADD" => &["--link", "--chmod", "--checksum", "--keep-git-dir", "--exclude", "--unpack"],
        "ONBUILD" => &[],
        _ => return None,
    };
    let name = |flag: &&str| flag.split('=').next().unwrap_or_default().to_owned();
    if let Some(flag) = flags.iter().map(name).find(|flag| ours.contains(&flag.as_str())) {
        return Some(format!("{keyword} {flag}"));
    }
    let ends = heredocs(rest).ok().filter(|_| instruction.heredoc)?;
    ends.first().map(|(word, _)| format!("{keyword} <<{word}"))
}

fn refused(keyword: &str, flags: &[&str], rest: &str, network: bool) -> Option<String> {
    for flag in flags {
        let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
        let value = unquote(value);
        match (keyword, name) {
            ("RUN", "--security") if value != "sandbox" => {
                return Some(format!("RUN --security={value} requests privileges"));
            }
            ("RUN", "--network") if value == "host" => {
                return Some("RUN --network=host requests the host's network".to_owned());
            }
            ("RUN", "--device") => return Some("RUN --device requests a host device".to_owned()),
            ("RUN", "--mount") => {
                let kind = value.split(',').find_map(|part| part.trim().strip_prefix("type="));
                if let Some(kind) = kind.filter(|kind| matches!(*kind, "secret" | "ssh")) {
                    return Some(format!("RUN --mount=type={kind} requests a secret of the user"));
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
        return Some("ADD of a URL makes the daemon download it, but this build has no network".to_owned());
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
    fn replaces_image_names_only() {
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
            ("\u{feff}FROM deb\\\nian", "FROM base:1\n\n", vec!["debian"]),
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
    fn refuses_access_outside_the_build() {
        for (text, line, words) in [
            ("# syntax=evil/frontend\nFROM a", 1, "evil/frontend"),
            ("FROM a\nRUN --security=insecure mount", 2, "privileges"),
            ("FROM a\n\nRUN --network=host curl", 3, "host's network"),
            ("FROM a\nRUN echo \\\\\nRUN --network=host curl", 3, "host's network"),
            ("FROM a\nRUN echo \"a <<E b\"\nRUN --network=host curl \\\nE", 3, "host's network"),
            ("FROM a\nRUN --mount=type=secret,id=x cat", 2, "secret"),
            ("FROM a\nRUN --mount=id=x,type=ssh cat", 2, "secret"),
            ("FROM a\nRUN --device=x cat", 2, "device"),
            ("FROM a\nADD https://host/x /x", 2, "download"),
            ("FROM a\nADD [\"http://host/x\", \"/x\"]", 2, "download"),
            ("FROM a\nONBUILD ADD git@host:x /x", 2, "download"),
            ("FROM", 1, "without an image"),
            // A continued line goes on where it was split.
            ("FROM a\nRUN --secu\\\nrity=insecure mount", 2, "privileges"),
            ("FROM a\nRUN <<'E\\'\nE\\\nRUN --network=host curl", 4, "host's network"),
            ("FROM a\nRUN true <<E # it's\nRUN --network=host curl\nE", 3, "host's network"),
            ("FROM a\nRUN true <<E ${x#y}\nRUN --network=host curl\nE", 2, "depends on Docker's version"),
            // A heredoc without an end hides nothing.
            ("FROM a\nRUN cat <<E\nRUN --network=host curl", 3, "host's network"),
        ] {
            let refusal = run(text, false).0.unwrap_err();
            assert_eq!(refusal.line, line, "{text:?}");
            assert!(refusal.reason.contains(words), "{text:?}: {}", refusal.reason);
        }
        assert!(run("FROM a\nADD https://host/x /x", true).0.is_ok());
    }

    #[test]
    fn detects_buildkit_features() {
        for (text, expected) in [
            ("FROM a\nRUN echo $((1<<2))", None),
            ("FROM a\nRUN echo $(( 1 <<2 ))", None),
            ("FROM a\nRUN sh -c \"cat <<E\"", None),
            ("FROM a\nRUN cat <<< x", None),
            ("FROM a\nRUN <<EOF\nx\nEOF", Some("RUN <<EOF")),
            ("FROM a\nCOPY <<-\"EOF\" /x\nx\n\tEOF", Some("COPY <<EOF")),
            ("FROM a\nRUN cat << EOF\nx\nEOF", Some("RUN <<EOF")),
            ("FROM a\nONBUILD RUN 3<<EOF\nx\nEOF", Some("ONBUILD <<EOF")),
            ("FROM a\nRUN --mount=type=cache,target=/x y", Some("RUN --mount")),
            ("FROM a\nCOPY --chmod=755 x y", Some("COPY --chmod")),
            ("FROM a\nCOPY --chown=1 x y", None),
        ] {
            let found = run(text, false).0.unwrap().buildkit.map(|found| found.reason);
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
    }
}
