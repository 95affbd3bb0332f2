//! Detects actions of a skill that its user would not want.
//!
//! [`scan`] searches a [`Bundle`]: the page, scripts, resources, archives and links of a package. A
//! first pass over the bytes determines which kinds of rule can match; only then is a page cut into
//! pieces, a script parsed, a text decoded. All matching is in linear time, all recursion is
//! bounded, and anything a bound omits is itself a finding.
//!
//! `assay lab self-test` measures how often the scanner misses and how often it raises a false alarm; docs/SAFETY.md has
//! the figures.

mod archive;
mod arguments;
mod bundle;
mod calls;
mod commands;
mod disguise;
mod effects;
mod foreign;
#[cfg(test)]
mod fuzz;
mod lures;
mod mapped;
mod markdown;
mod needles;
mod package;
#[cfg(test)]
mod pages;
mod paths;
mod prose;
mod registry;
mod rule;
mod rules;
#[cfg(test)]
mod samples;
mod script;
mod secrets;
mod shell;
mod shell_state;
mod signals;
mod site;
mod unicode;
mod value;

use std::path::Path;

use assay_diagnostic::Severity;
use assay_skill::decode;

pub use bundle::{Bundle, File, Link};
pub use package::front_matter;
pub use registry::RULES;
pub use rule::{Family, Rule};
pub use site::Finding;
pub use value::rot13;

use assay_syntax::code::{self, Language};
use mapped::Mapped;
use markdown::{Kind, Piece};
use needles::Hits;
use rules::{ARCHIVE_EXECUTABLE, ENCODED_INSTRUCTION};
use site::{Scan, Scanners, Site};

static SCANNERS: Scanners = Scanners { file: scan_file, code, commands: shell::scan };

/// Scans a package. Findings come in the order of files, and of places within a file.
#[must_use]
pub fn scan(bundle: &Bundle) -> Vec<Finding> {
    let mut scan = Scan::new(&SCANNERS);
    for file in &bundle.files {
        if file.truncated {
            scan.whole(&file.path, &rules::UNSCANNED, "too large: only its beginning was scanned");
        }
        scan_file(&mut scan, &file.path, &file.bytes, 0);
    }
    package::scan(&mut scan, bundle);
    let mut findings = scan.findings;
    findings.sort_by(|a, b| {
        (&a.path, a.span.as_ref().map(|span| span.start))
            .cmp(&(&b.path, b.span.as_ref().map(|span| span.start)))
    });
    findings
}

/// Scans one file.
fn scan_file(scan: &mut Scan, path: &str, bytes: &[u8], depth: u8) {
    disguise::scan(scan, path, bytes);
    if archive::scan(scan, path, bytes, depth) {
        return;
    }
    if let Some(kind) = program(bytes) {
        scan.whole(path, &ARCHIVE_EXECUTABLE, format!("{kind}: its source cannot be reviewed"));
        return;
    }
    let decoded;
    let text = if bytes.is_ascii() && !bytes.contains(&0) {
        std::str::from_utf8(bytes).unwrap_or_default()
    } else {
        decoded = decode(bytes).text;
        // Pictures, fonts and the like.
        if decoded.bytes().take(8_192).filter(|&b| b == 0).count() > 4 {
            return;
        }
        &decoded
    };
    let site = Site { depth, ..Site::of(path) };
    for hidden in unicode::scan(text) {
        scan.report(&site, hidden.rule, hidden.span.clone(), hidden.message);
        if let Some(spelled) = hidden.spelled {
            let inner = site.inner(hidden.span, Some("decoding hidden characters"));
            check_prose(scan, &inner, &Mapped::verbatim(&spelled, 0), Kind::Hidden, "");
        }
    }
    // The pieces of a page are checked separately.
    let named = Path::new(path).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
    let page = named && !text.starts_with("#!");
    let hits = needles::hits(text.as_bytes(), |hits| {
        hits == Hits::ALL || page && hits.has(Hits::SECRET) && hits != Hits::SECRET
    });
    if hits.has(Hits::SECRET) {
        secrets::scan(scan, &site, text);
    }
    blobs(scan, &site, text);
    let foreign = !text.is_ascii();
    if hits.has(Hits::PROSE)
        || hits.has(Hits::CODE)
        || hits.has(Hits::COMMENT)
        || foreign
        || needles::spread(text.as_bytes())
        || foreign_of(path).is_some()
        || package::is_manifest(path)
    {
        contents(scan, &site, text, hits);
    }
}

/// Checks a text by the type in its file's name.
fn contents(scan: &mut Scan, site: &Site<'_>, text: &str, hits: Hits) {
    let name = site.path.rsplit(['/', '!']).next().unwrap_or(site.path).to_ascii_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    if let Some(language) = Language::of(site.path, text) {
        let site = Site { script: true, ..*site };
        if hits.has(Hits::CODE) {
            code(scan, &site, language, text);
        }
        if hits.has(Hits::PROSE) || !text.is_ascii() {
            for piece in script::spoken(language, text) {
                check_prose(scan, &site, &piece, Kind::Text, "");
            }
        }
    } else if let Some(comments) = foreign_of(site.path) {
        let site = Site { script: true, ..*site };
        foreign::scan(scan, &site, comments, text);
        paragraphs(scan, &site, text);
    } else if matches!(ending, "md" | "markdown" | "mdx" | "mdc" | "txt" | "rst" | "html" | "htm")
        || !name.contains('.') && name != "makefile" && name != "dockerfile"
    {
        page(scan, site, text);
    } else {
        let site = Site { script: true, ..*site };
        package::manifest(scan, &site, &name, text);
        if hits.has(Hits::CODE) {
            for (at, line) in package::recipes(&name, text) {
                let piece = Mapped::verbatim(&line, at);
                shell::scan(scan, &Site { map: Some(&piece), ..site }, &piece.text);
            }
        }
        paragraphs(scan, &site, text);
    }
}

/// The language of a script that is not parsed, by its ending.
fn foreign_of(path: &str) -> Option<foreign::Foreign> {
    let name = path.rsplit(['/', '!']).next().unwrap_or(path);
    foreign::Foreign::named(&name.rsplit_once('.')?.1.to_ascii_lowercase())
}

/// Text of no known form: paragraph by paragraph.
fn paragraphs(scan: &mut Scan, site: &Site<'_>, text: &str) {
    let mut at = 0;
    for part in code::head(text).split("\n\n") {
        if !part.trim().is_empty() {
            check_prose(scan, site, &Mapped::verbatim(part, at), Kind::Text, "");
        }
        at += part.len() + 2;
    }
}

/// Checks a Markdown page.
fn page(scan: &mut Scan, site: &Site<'_>, text: &str) {
    let text = code::head(text);
    let (matter, body) = package::front_matter(text);
    if site.depth == 0 {
        lures::scan(scan, site, text);
        package::hooks(scan, site, text, matter.clone());
    }
    for piece in markdown::pieces(text, matter, body) {
        one(scan, site, &piece);
    }
}

/// Checks one piece of a page.
fn one(scan: &mut Scan, site: &Site<'_>, piece: &Piece) {
    let coded = piece.coded;
    match piece.kind {
        Kind::Block => {
            let inner = || {
                let described = site.mentioned
                    || prose::described_strongly(&piece.context)
                    || prose::marked(&piece.text.text);
                Site { map: Some(&piece.text), mentioned: described, ..*site }
            };
            match Language::named(&piece.language) {
                Some(language) if coded => code(scan, &inner(), language, &piece.text.text),
                Some(_) => {}
                None if foreign::Foreign::named(&piece.language).is_some() => {
                    if coded && let Some(comments) = foreign::Foreign::named(&piece.language) {
                        foreign::scan(scan, &inner(), comments, &piece.text.text);
                    }
                }
                None if matches!(piece.language.as_str(), "markdown" | "md") && site.depth < 3 => {
                    let nested = inner().inner(0..piece.text.text.len(), None);
                    page(scan, &nested, &piece.text.text);
                }
                None => {
                    if coded
                        && matches!(
                            piece.language.as_str(),
                            "" | "text" | "txt" | "plaintext" | "cmd" | "bat"
                        )
                    {
                        shell::scan(scan, &inner(), &piece.text.text);
                    } else if coded {
                        let inner = inner();
                        for (at, line) in package::recipes(&piece.language, &piece.text.text) {
                            let span = inner.span(at..at + line.len().min(piece.text.text.len() - at));
                            shell::scan(scan, &Site { fixed: Some((span.start, span.end)), ..inner }, &line);
                        }
                    }
                    check_prose(scan, site, &piece.text, Kind::Block, &piece.context);
                }
            }
        }
        Kind::Code => {
            if coded {
                let described = prose::described_strongly(&piece.context) || prose::forbidden(&piece.context);
                let inner = Site { map: Some(&piece.text), mentioned: site.mentioned || described, ..*site };
                shell::scan(scan, &inner, &piece.text.text);
            }
        }
        kind => {
            check_prose(scan, site, &piece.text, kind, &piece.context);
            if coded {
                bare_commands(scan, site, piece);
            }
        }
    }
}

/// Commands in running text without code formatting.
fn bare_commands(scan: &mut Scan, site: &Site<'_>, piece: &Piece) {
    use std::sync::LazyLock;
    static PATTERN: LazyLock<regex::Regex> = LazyLock::new(|| {
        paths::regex(
            r"(?:^|[\s:\x22'(])((?:curl|wget)\s+[^\n`]*\||eval\s+[\x22$]|echo\s+[^\n`]*\|\s*base64\s|(?:ba|z)?sh\s+-c\s|(?:ba|z)?sh\s+<\(|cat\s+[~/$][^\n`]*\||python3?\s+-c\s|crontab\s+-)[^\n`]*",
        )
    });
    let text = &piece.text.text;
    for found in PATTERN.captures_iter(text).take(20) {
        let Some(start) = found.get(1) else { continue };
        let end = text[start.start()..].find(['\n', '`']).map_or(text.len(), |at| start.start() + at);
        let described = piece.kind != Kind::Hidden
            && (prose::described_strongly(&piece.context) || prose::described_strongly(text))
            || prose::forbidden(&text[..start.start()]);
        let line = text[start.start()..end].trim_end_matches(['.', '"', '\'', ')', ' ']);
        let mut command = Mapped::default();
        for (at, c) in line.char_indices() {
            command.push_char(c, piece.text.source(start.start() + at));
        }
        shell::scan(
            scan,
            &Site { map: Some(&command), mentioned: site.mentioned || described, ..*site },
            &command.text,
        );
    }
}

/// Checks the prose of a text.
fn check_prose(scan: &mut Scan, site: &Site<'_>, text: &Mapped, kind: Kind, context: &str) {
    for phrase in prose::scan(text, kind, context) {
        let here = Site { map: None, mentioned: site.mentioned || phrase.mentioned, ..*site };
        scan.report(&here, phrase.rule, phrase.span, phrase.message);
    }
    if kind == Kind::Hidden && prose::directs(&text.text) {
        let here = Site { map: Some(text), ..*site };
        scan.report(
            &here,
            &rules::CONCEAL_DIRECTIVE,
            0..text.text.len(),
            "invisible text addresses the agent",
        );
    }
    // Thirteen places on, the commonest words of an instruction are these.
    if site.depth == 0 && prose::turned(&text.text) {
        let turned = value::rot13(&text.text);
        reveal(scan, &Site { map: Some(text), ..*site }, 0..text.text.len(), &turned, "rot13");
    }
}

/// Checks what something decodes to. What breaks a rule there breaks one more for having been
/// hidden.
fn reveal(scan: &mut Scan, site: &Site<'_>, range: std::ops::Range<usize>, text: &str, via: &'static str) {
    if !scan.may(site) {
        return;
    }
    let inner = site.inner(range.clone(), Some(via));
    let mut apart = Scan::new(&SCANNERS);
    check_prose(&mut apart, &inner, &Mapped::verbatim(text, 0), Kind::Hidden, "");
    if needles::hits(text.as_bytes(), |hits| hits.has(Hits::CODE)).has(Hits::CODE) {
        shell::scan(&mut apart, &inner, text);
        for language in [Language::Python, Language::JavaScript] {
            script::scan(&mut apart, &inner, language, text, calls::check_call);
        }
    }
    let worst = apart
        .findings
        .iter()
        .filter(|finding| finding.severity > Severity::Info && finding.rule != &rules::CONCEAL_DIRECTIVE)
        // Of several with the same severity, the first.
        .min_by_key(|finding| std::cmp::Reverse(finding.severity));
    if let Some(finding) = worst {
        let message = format!("it decodes to {:?}: {}", unicode::excerpt(text), finding.message);
        scan.report(site, &ENCODED_INSTRUCTION, range, message);
        let own: Vec<_> =
            apart.findings.into_iter().filter(|finding| finding.severity > Severity::Info).collect();
        for finding in own {
            if let Some(span) = finding.span {
                let here = Site { fixed: Some((span.start, span.end)), ..*site };
                scan.report(&here, finding.rule, 0..0, finding.message);
            }
        }
    }
}

/// Longest runs of encoded text that are tried, and how many of them.
const BLOBS: usize = 200;

/// Bytes of which encoded text consists.
const ENCODED: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0_u8;
    while b < 128 {
        table[b as usize] =
            b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b'_' | b'%' | b'\\');
        b += 1;
    }
    table
};

/// Runs of base64, of hexadecimal digits, and of escapes, anywhere.
fn blobs(scan: &mut Scan, site: &Site<'_>, text: &str) {
    let bytes = text.as_bytes();
    let (mut start, mut tried) = (0, 0);
    for at in 0..=bytes.len() {
        let inside = bytes.get(at).is_some_and(|&b| ENCODED[usize::from(b)]);
        if inside {
            continue;
        }
        if at - start >= 24 && tried < BLOBS {
            let run = &text[start..at];
            if let Some((decoded, via)) = unwrapped(run) {
                tried += 1;
                reveal(scan, site, start..at, &decoded, via);
            }
        }
        start = at + 1;
    }
}

fn unwrapped(run: &str) -> Option<(String, &'static str)> {
    let readable = |text: &String| {
        let plain = text.chars().filter(|c| c.is_ascii_graphic() || c.is_whitespace()).count();
        plain * 20 >= text.chars().count() * 19 && text.contains([' ', '(', '/'])
    };
    let hexadecimal = run.bytes().all(|b| b.is_ascii_hexdigit()) || run.contains("\\x");
    if hexadecimal {
        return value::hex(run).filter(readable).map(|text| (text, "decoding hexadecimal digits"));
    }
    if run.matches('%').count() >= 8 {
        return value::percent(run).filter(readable).map(|text| (text, "percent decoding"));
    }
    // Of words and paths hardly any decode to text; a capital and a small letter are in every
    // longer piece of base64.
    let mixed = run.bytes().any(|b| b.is_ascii_uppercase()) && run.bytes().any(|b| b.is_ascii_lowercase());
    if !mixed || run.contains(['%', '\\']) || run.starts_with("eyJ") {
        return None;
    }
    value::base64(run).filter(readable).map(|text| (text, "decoding base64"))
}

/// Scans code.
fn code(scan: &mut Scan, site: &Site<'_>, language: Language, text: &str) {
    if site.depth == 0 {
        signals::scan(scan, site, language, text);
    }
    match language {
        Language::Shell => shell::scan(scan, site, text),
        Language::Python | Language::JavaScript => {
            script::scan(scan, site, language, text, calls::check_call);
        }
    }
}

/// What kind of compiled program some bytes are.
fn program(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x7f, b'E', b'L', b'F', ..] => Some("a compiled program (ELF)"),
        [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..] | [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..] => {
            Some("a compiled program (Mach-O)")
        }
        [b'M', b'Z', rest @ ..] if rest.len() > 62 && rest.contains(&0) => Some("a compiled program (PE)"),
        [0, b'a', b's', b'm', 1, ..] => Some("a compiled program (WebAssembly)"),
        // The mark of Python's compiled modules: two bytes of version, carriage return, line feed.
        [_, 0x0c..=0x0e, b'\r', b'\n', ..] => Some("a compiled Python module"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
