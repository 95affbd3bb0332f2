//! Paths and file names that a text mentions.

use std::collections::BTreeMap;

use super::subject::Text;

/// A path or file name in a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mention {
    /// As written, without `./`.
    pub(super) path: String,
    /// Its line, from 1.
    pub(super) line: usize,
}

/// The last part of a path.
pub(super) fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The ending of a path's name, without the dot.
pub(super) fn extension(path: &str) -> Option<&str> {
    name(path).rsplit_once('.').map(|(_, extension)| extension)
}

/// Endings that make a bare word a file's name. A longer path may have any.
const ENDINGS: &str = " csv tsv txt json jsonl ndjson yaml yml toml xml html htm md pdf png jpg jpeg gif svg xlsx xls docx doc pptx \
    ppt db sqlite sqlite3 sql py sh js ts log zip tar gz tgz bz2 xz parquet npy npz pkl wav mp3 mp4 avi mov mkv ini cfg conf \
    env lock bib tex dat bin stl obj gltf glb ipynb rs go java c cpp h hpp lean v pddl cif pdb xyz out diff patch pcap srt vtt ";

/// Every path and file name in a text, without addresses, patterns and templates.
pub(super) fn mentions(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    for (index, there) in text.lines().enumerate() {
        let part = |c: char| {
            c.is_alphanumeric()
                || matches!(
                    c,
                    '/' | '.' | '_' | '-' | '~' | '+' | ':' | '@' | '{' | '}' | '$' | '*' | '<' | '>' | '%'
                )
        };
        let mut at = 0;
        for token in there.split(|c: char| !part(c)) {
            let end = at + token.len();
            // The sign that divides it from the next token.
            let sign = there[end..].chars().next();
            at = end + sign.map_or(0, char::len_utf8);
            // `log.txt(` is a call, not a file.
            if sign == Some('(') && !token.contains('/') {
                continue;
            }
            if token.contains("://") || token.contains(['@', '$', '*', '{', '}', '<', '>', '%', '~']) {
                continue;
            }
            for piece in token.split(':') {
                if let Some(path) = path(piece) {
                    found.push(Mention { path: path.to_owned(), line: index + 1 });
                }
            }
        }
    }
    found
}

fn path(piece: &str) -> Option<&str> {
    let mut path = piece.trim_end_matches(['.', '/', '-', '+']);
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    if path.len() > 200
        || path.contains("//")
        || !path.contains(|c: char| c.is_ascii_alphabetic())
        || path.contains("..")
    {
        return None;
    }
    let ending = extension(path).filter(|ending| {
        !ending.is_empty()
            && ending.len() <= 7
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
            && ending.contains(|c: char| c.is_ascii_alphabetic())
    });
    let stem = name(path).rsplit_once('.').map_or("", |(stem, _)| stem);
    if let Some(inside) = path.strip_prefix('/') {
        let parts = inside.split('/').filter(|part| !part.is_empty()).count();
        return (parts >= 2 || (parts == 1 && ending.is_some())).then_some(path);
    }
    let ending = ending.filter(|_| !stem.is_empty())?;
    (path.contains('/') || ENDINGS.contains(&format!(" {ending} "))).then_some(path)
}

/// The mentions of some texts: each path once, with the text and the line of its first occurrence.
pub(super) fn all<'a>(texts: impl IntoIterator<Item = &'a Text>) -> BTreeMap<String, (&'a Text, usize)> {
    let mut found = BTreeMap::new();
    for text in texts {
        for mention in mentions(&text.text) {
            found.entry(mention.path).or_insert((text, mention.line));
        }
    }
    found
}
