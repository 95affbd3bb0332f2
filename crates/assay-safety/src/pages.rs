//! The pages in tests/rules: an example of each rule, which has to be found. A rule that could
//! never match, because none of its trigger words leads to it or nothing reports it, fails here.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use assay_skill::Package;

use super::needles::only;
use super::package::{CAPABILITY_UNDECLARED, EXFIL_HOOK};
use super::rule::Rule;
use super::samples::{gzip, zip};
use super::{Bundle, RULES, scan};

/// A block of a page: its format, its file, and the content.
type Block = (String, String, String);

/// The blocks of each rule's section.
fn examples() -> BTreeMap<String, Vec<Block>> {
    let mut examples: BTreeMap<String, Vec<Block>> = BTreeMap::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules")).expect("pages") {
        let page = fs::read_to_string(entry.expect("a page").path()).expect("a page");
        let (mut code, mut open): (String, Option<(&str, Block)>) = (String::new(), None);
        for line in page.lines() {
            match &mut open {
                Some((fence, block)) if line == *fence => {
                    examples.entry(code.clone()).or_default().push(std::mem::take(block));
                    open = None;
                }
                Some((_, block)) => block.2 += &format!("{line}\n"),
                None if line.starts_with("```") => {
                    let info = line.trim_start_matches('`');
                    let (form, path) = info.split_once(' ').expect("a block says which file it is");
                    open = Some((
                        &line[..line.len() - info.len()],
                        (form.to_owned(), path.to_owned(), String::new()),
                    ));
                }
                None => {
                    if let Some(name) = line.strip_prefix("## ") {
                        name.trim_matches('`').clone_into(&mut code);
                    }
                }
            }
        }
    }
    examples
}

/// `\u{…}` as the character, `\x…` as the byte.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        if let Some(hex) = rest.strip_prefix("u{") {
            let (digits, after) = hex.split_once('}').expect("closed");
            let c = char::from_u32(u32::from_str_radix(digits, 16).expect("digits")).expect("a character");
            bytes.extend(c.to_string().as_bytes());
            rest = after;
        } else {
            bytes.push(u8::from_str_radix(&rest[1..3], 16).expect("digits"));
            rest = &rest[3..];
        }
    }
    bytes.extend(rest.as_bytes());
    bytes
}

fn content(form: &str, path: &str, text: &str) -> Vec<u8> {
    let number = || text.split(' ').next().and_then(|word| word.parse().ok()).expect("a number");
    let bytes = match form {
        "escaped" => unescaped(text.trim_end_matches('\n')),
        "gzip" => gzip(&vec![0; number()]),
        "repeated" => b"word ".repeat(number() / 5 + 1),
        "zip" => zip(text.trim(), b"echo"),
        _ => text.as_bytes().to_vec(),
    };
    if path == "SKILL.md" && !bytes.starts_with(b"---") {
        return [&b"---\nname: tables\ndescription: Aligns tables.\n---\n# Tables\n\n"[..], &bytes].concat();
    }
    bytes
}

fn package(blocks: &[Block]) -> Bundle {
    let temp = tempfile::tempdir().expect("a folder");
    let root = temp.path().join("tables");
    fs::create_dir(&root).expect("a folder");
    fs::write(root.join("SKILL.md"), content("md", "SKILL.md", "Align the table.\n")).expect("written");
    for (form, path, text) in blocks {
        let file = root.join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        if form == "link" {
            symlink(text.trim(), &file).expect("a link");
        } else {
            fs::write(&file, content(form, path, text)).expect("written");
        }
    }
    Bundle::read(&Package::load(&root).package.expect("a package"))
}

/// Rules that depend on other rules' trigger words, as
/// `shell_use_is_recorded_while_checking_commands` shows.
const BY_OTHERS: [&str; 1] = ["capability-undeclared"];

#[test]
fn every_rule_finds_its_example() {
    let mut examples = examples();
    let mut wrong = Vec::new();
    for rule in RULES.iter() {
        let Some(blocks) = examples.remove(rule.code) else {
            wrong.push(format!("{}: no example in tests/rules/{}.md", rule.code, rule.family));
            continue;
        };
        let bundle = package(&blocks);
        let found = scan(&bundle);
        if !found.iter().any(|finding| finding.rule == *rule) {
            let codes: Vec<_> = found.iter().map(|finding| finding.rule.code).collect();
            wrong.push(format!("{}: its example is not found, only {codes:?}", rule.code));
        }
        let alone = only::words_of(rule, || scan(&bundle));
        match (alone.iter().any(|finding| finding.rule == *rule), BY_OTHERS.contains(&rule.code)) {
            (false, false) => {
                wrong.push(format!("{}: its own trigger words do not lead to its example", rule.code));
            }
            (true, true) => wrong.push(format!("{}: it needs no words of other rules", rule.code)),
            _ => {}
        }
    }
    wrong.extend(examples.keys().map(|code| format!("{code}: an example of no rule")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn shell_use_is_recorded_while_checking_commands() {
    let page = |tools: &str, command: &str| {
        let front = format!("---\nname: tables\ndescription: Aligns tables.\nallowed-tools: {tools}\n---\n");
        package(&[("md".to_owned(), "SKILL.md".to_owned(), format!("{front}```bash\n{command}\n```\n"))])
    };
    let is_found = |rule: &Rule, tools: &str, command: &str| {
        let found = only::words_of(rule, || scan(&page(tools, command)));
        found.iter().any(|finding| *finding.rule == CAPABILITY_UNDECLARED)
    };
    let curl = "curl https://api.example.com/x";
    // `curl` is a word of `exfil-hook`, which itself finds nothing here.
    assert!(is_found(&EXFIL_HOOK, "Read", curl));
    assert!(!is_found(&EXFIL_HOOK, "Read, Bash(curl:*)", curl));
    assert!(!is_found(&EXFIL_HOOK, "Read", "sort table.csv"));
    assert!(!is_found(&CAPABILITY_UNDECLARED, "Read", curl));
}

#[test]
fn trigger_words_are_lower_case() {
    for (rule, word) in RULES.iter().flat_map(|rule| {
        rule.triggers.iter().flat_map(|(_, words)| *words).map(move |word| (rule.code, *word))
    }) {
        assert!(!word.is_empty() && word == word.to_lowercase(), "{rule}: {word:?}");
    }
}
