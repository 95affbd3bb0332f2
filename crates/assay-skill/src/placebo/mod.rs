//! The placebo of a skill: the same package without its content.
//!
//! The value of a skill is what it adds to a text of the same name, shape and length without
//! content. [`placebo`] generates that text. It keeps the name, every path, the headings with their
//! levels, the lists with their items, the code blocks, tables and quotes, and the number of tokens
//! of the body within 2% (3 tokens, if that is more). All words are drawn from a fixed bank of true
//! and useless sentences, by the package's digest and the seed.
//!
//! Nothing drawn repeats three words in a row, an identifier, a command, a path or a number of the
//! original; [`shared`] returns such repetitions. If no suitable piece of the bank is left, single
//! words of it are used, and finally invented words. Some overlap is unavoidable:
//!
//! - the name, and its words in the description;
//! - the paths of files, since the layout is kept (no text names them);
//! - the numbers that count the items of a list (every list counts from 1) and the stop words of
//!   English;
//! - in scripts, the interpreter's line and the one call that prints, since they must run;
//! - the values of the few front-matter keys that change what a client does rather than the skill's
//!   text (`allowed-tools`, `disable-model-invocation`, `user-invocable`, `model` and similar
//!   ones). All other keys are omitted, the licence too, because the text is not the author's.
//!
//! Other files: a script prints one usage line and exits 0, the rest of it is comment; Markdown is
//! treated like the body; JSON, CSV, XML and settings stay valid without content; other files
//! become as many zero bytes, 1 MiB at most, and a compiled program becomes a shell script. Sizes
//! stay about the same, up to 256 KiB for a text and 64 KiB for a script. Empty files stay empty.
//! Lists nested more than 48 deep are generated up to that depth. The language of a placebo is
//! English, whatever the original's.

mod balance;
mod bank;
mod body;
mod draw;
mod error;
mod facts;
mod files;
mod leaf;
mod matter;
mod package;
mod render;
mod skeleton;
#[cfg(test)]
mod tests;
mod words;

use self::draw::{Draw, Rng};
pub use self::error::PlaceboError;
use self::facts::Facts;
use self::files::Format;
pub use self::package::{MadeFile, Original};
use crate::tokens;

/// Of a longer file only this many bytes are compared with the drawn text.
const COMPARED_OF_A_FILE: usize = 1024 * 1024;
/// Of all files of a package, in their order, only this many bytes are compared.
const COMPARED_OF_ALL: usize = 16 * 1024 * 1024;

/// Generates the same package without content: every file of the original in its order, `SKILL.md`
/// last if it was not among them. Deterministic in (digest, seed). Paths do not change.
pub fn placebo(original: &Original<'_>, seed: u64) -> Result<Vec<MadeFile>, PlaceboError> {
    if original.body.len() > body::BYTE_LIMIT {
        return Err(PlaceboError::TooLarge { bytes: original.body.len(), limit: body::BYTE_LIMIT });
    }
    let length = tokens(original.body);
    if length > body::TOKEN_LIMIT {
        return Err(PlaceboError::TooLong { tokens: length, limit: body::TOKEN_LIMIT });
    }
    let document = document_of(original.files);
    let facts = facts(original, document);
    let draw = |purpose: &str| Draw::new(&facts, Rng::new(original.digest_hex, seed, purpose));

    let name = if words::words(original.name).next().is_some() { original.name } else { original.directory };
    let description = body::description(original.description, name, &mut draw("description"));
    let mut text = matter::front_matter(original.name, &description, original.front_matter);
    text.push_str(&body::body(original.body, &mut draw("body"))?);

    let mut made: Vec<_> = original
        .files
        .iter()
        .enumerate()
        .map(|(at, file)| {
            if Some(at) == document {
                MadeFile { bytes: text.clone().into_bytes(), ..file.clone() }
            } else {
                files::make(file, &mut draw(&format!("file {}", file.path)))
            }
        })
        .collect();
    if document.is_none() {
        made.push(MadeFile { path: "SKILL.md".to_owned(), bytes: text.into_bytes(), executable: false });
    }
    Ok(made)
}

/// Lists what a placebo shares with its original that it should not, each item once as `kind:
/// item`, sorted: runs of three words that are not all stop words, identifiers (every word of code
/// counts, and every `snake_case` or `camelCase` one of prose), commands, paths and numbers. Case
/// is ignored, and so are the numbers that count the placebo's list items. Both texts are read as
/// Markdown.
pub fn shared(original: &str, placebo: &str) -> Vec<String> {
    let mut facts = Facts::default();
    facts.markdown(original);
    facts.repeated_by(placebo).into_iter().collect()
}

/// Where `SKILL.md` is among the files; in another case if need be.
fn document_of(files: &[MadeFile]) -> Option<usize> {
    let exact = files.iter().position(|file| file.path == "SKILL.md");
    exact.or_else(|| files.iter().position(|file| file.path.eq_ignore_ascii_case("SKILL.md")))
}

/// The parts of the whole package that the placebo must not repeat.
fn facts(original: &Original<'_>, document: Option<usize>) -> Facts {
    let mut facts = Facts::default();
    facts.markdown(original.body);
    facts.markdown(original.description);
    for (key, value) in original.front_matter {
        if key != "name" && key != "description" {
            facts.markdown(&value.to_string());
        }
    }
    let mut left = COMPARED_OF_ALL;
    for (at, file) in original.files.iter().enumerate() {
        if Some(at) == document || files::is_binary(&file.bytes) {
            continue;
        }
        let text = String::from_utf8_lossy(&file.bytes[..file.bytes.len().min(COMPARED_OF_A_FILE).min(left)]);
        left -= text.len().min(left);
        match files::format(file) {
            Format::Markdown | Format::Text => facts.markdown(&text),
            Format::Script { .. } | Format::Comment(..) => facts.code(&text),
            Format::Json | Format::JsonLines | Format::Table(_) | Format::Xml | Format::Binary => {
                facts.data(&text);
            }
        }
    }
    facts
}
