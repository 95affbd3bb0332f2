//! The safety rules contain nothing of the sets that they are measured on: no host, no author, no
//! package, no sentence.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::Path;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;

use assay_test::shared;

/// Hosts that occur in the sets as in half of all skills, and that rules name: public forges,
/// public indexes of packages, and the addresses of this machine.
const GENERIC: &[&str] = &["github.com", "gist.github.com", "pypi.org", "localhost", "127.0.0.1", "0.0.0.0"];

/// Shorter names of packages are ordinary words or names of formats (`pdf`, `discord`,
/// `summarize`).
const ORDINARY: usize = 12;

struct Sets {
    hosts: BTreeSet<String>,
    names: BTreeSet<String>,
    sentences: BTreeSet<String>,
}

/// Folders of the archive in which a package is named `author_package`.
const REGISTRY: [&str; 2] = ["gt-malicious", "gt-benign"];

fn sets(archive: &Path) -> Sets {
    let host = Regex::new(r"(?i)https?://(?:[^@/\s]*@)?([a-z0-9][a-z0-9.-]*\.[a-z0-9]{2,}|localhost)")
        .expect("well formed");
    let mut found = Sets { hosts: BTreeSet::new(), names: BTreeSet::new(), sentences: BTreeSet::new() };
    let file = fs::File::open(archive).expect("the sets");
    let mut tar = tar::Archive::new(zstd::Decoder::new(file).expect("zstd"));
    for entry in tar.entries().expect("a tar archive") {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("a path").to_string_lossy().trim_start_matches("./").to_owned();
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        let (set, package) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if REGISTRY.contains(&set)
            && let Some((author, name)) = package.split_once('_')
        {
            found.names.insert(author.to_owned());
            if name.len() >= ORDINARY {
                found.names.insert(name.to_owned());
            }
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("content");
        let Ok(text) = String::from_utf8(bytes) else { continue };
        for hit in host.captures_iter(&text) {
            found.hosts.insert(hit[1].to_ascii_lowercase());
        }
        // Text in files of code was not written by the sets' authors as an instruction.
        if Path::new(&path).extension().is_some_and(|end| end == "md") || set == "own" {
            let said = text.split(['\n', '.', '!', '?']).map(str::trim);
            found.sentences.extend(
                said.filter(|text| text.len() >= 30 && text.split_whitespace().count() >= 6)
                    .map(str::to_lowercase),
            );
        }
    }
    found
}

/// All sources of the rules and their tests.
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders =
        vec![root.join("../assay-safety/src"), root.join("../assay-safety/tests"), root.join("tests")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("own_words.rs")
                && path.extension().is_some_and(|end| end == "rs" || end == "md")
            {
                let text = fs::read_to_string(&path).unwrap_or_default().to_lowercase();
                files.push((path.display().to_string(), text));
            }
        }
    }
    files
}

#[test]
#[ignore = "needs shared data"]
fn rules_contain_no_words_of_the_sets() {
    let archive = shared("safety/sets.tar.zst");
    let sets = sets(&archive);
    assert!(sets.hosts.len() > 50 && sets.names.len() > 50 && sets.sentences.len() > 500);
    let hosts = sets.hosts.iter().filter(|host| !GENERIC.contains(&host.as_str()) && !reserved(host));
    let words: Vec<&String> = hosts.chain(&sets.names).chain(&sets.sentences).collect();
    let automaton =
        AhoCorasick::builder().match_kind(MatchKind::Standard).build(&words).expect("an automaton");
    let mut taken = BTreeSet::new();
    for (path, text) in sources() {
        // A pattern escapes the dots of a host.
        let plain = text.replace("\\.", ".");
        for found in automaton.find_overlapping_iter(&plain) {
            let letter = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
            if !plain[..found.start()].ends_with(letter) && !plain[found.end()..].starts_with(letter) {
                taken.insert(format!("{path}: {}", words[found.pattern().as_usize()]));
            }
        }
    }
    assert!(taken.is_empty(), "{taken:#?}");
}

/// Whether a host is one that RFC 2606 sets aside for examples.
fn reserved(host: &str) -> bool {
    ["example.com", "example.net", "example.org"].iter().any(|end| host.ends_with(end))
}
