//! Terms and phrases that this project has given up, and that must not come back: in names, messages, help, reports, documents
//! and comments. `docs/GLOSSARY.md` has the terms that replaced them.

use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// Labels and messages that users saw: where, and what was said there.
const LABELS: &[(&str, &[&str])] = &[
    ("lint", &["Tell what each client makes of skills", "what is worth mending"]),
    ("search bench", &["Hold retrievers against requests with known answers"]),
    ("gc", &["Take away what dead processes left", "and what no run needs"]),
    ("corpus", &["Work with skills by the thousand", "sift, compare, count"]),
    ("history", &["List what runs came to", "what runs came to"]),
    ("doctor", &["Tell what works on this machine", "what to do about the rest"]),
    ("gateway", &["Stand between an agent and a model"]),
    ("plan", &["no lift at all with a chance", "with a chance of 80"]),
    ("plan", &["of a skill that does nothing it will say"]),
    ("plan --lift", &["A true lift that is to be found"]),
    ("plan --p", &["A p value that a gate asks for", "whether it can be met"]),
    ("report", &["tasks of this kind would be needed"]),
    ("run", &["solutions and doing nothing", "of which 0 are in the store"]),
    ("report head", &["no effect\" means", "no effect” means", "judged as one family"]),
    ("forest", &["the interval that the verdict reads", "thick part:"]),
    ("report", &["How far the skills came", "What became of the skills"]),
    ("report", &["Tests that a condition turned", "tests that a condition turned"]),
    ("audit", &["line whole", "tokens against"]),
    ("audit show", &["adoption against the other", "words of evidence"]),
    ("lint", &["every session pays for them", "about 100 are meant"]),
    ("RULES", &["Says so:"]),
    ("README", &["a door that assay keeps"]),
    ("README", &["a second life of the container", "nothing of the agent is alive"]),
    ("error", &["when the disk is well"]),
    ("route", &["off topic left alone", "same in any order"]),
    ("corpus page", &["lines that hold none", "at the commonest value", "least, greatest"]),
];

/// Sentences of code and documents: where, and what they said.
const SENTENCES: &[(&str, &[&str])] = &[
    ("gateway", &["the model's name is none"]),
    ("report", &["What there is, is negative", "What there is, is positive"]),
    ("report", &["could not have told"]),
    ("plan", &["reach some hosts and not others", "which nothing holds it to"]),
    ("executor", &["so nothing shows that it can be passed"]),
    ("lease", &["changes hands all the time"]),
    ("--no-checks", &["Do not play solution and nothing first", "then go unnoticed"]),
    ("--seed", &["Of the orders and the intervals", "Of the intervals and tests"]),
    ("lint --baseline", &["Tell only what this file does not know"]),
    ("gc", &["what dead processes left"]),
    ("container", &["Who sits at a container"]),
    ("environment", &["where it was to write some"]),
    ("sandbox", &["Has every command from now on stand still"]),
    ("import", &["A folder that is none", "A pattern that is none"]),
    ("STATISTICS.md", &["those who see none of these tasks move"]),
    ("RETRIEVAL.md", &["What is no message gets an error"]),
    ("PERFORMANCE.md", &["were wanted", "was wanted"]),
    ("README", &["The door gives it a token"]),
];

/// References to documents that are not in the repository.
const ABSENT_DOCUMENTS: &[&str] =
    &["VALIDITY", "REVIEW.md", "researcher plan", "the study in Python", "VOICE.md"];

/// Phrases that read like a translation, in whatever is read by people.
const PHRASES: &[&str] = &[
    "came to nothing",
    "what became of",
    "is none:",
    "there is none in",
    "by hand of",
    "whoever",
    "look now and then",
    "stands in the",
    "lies in the",
];

/// Words of types, variants, traits, modules, constants and fields, whole or as a part of the name.
const NAME_PARTS: &[&str] = &[
    "desk",
    "desks",
    "seat",
    "workshop",
    "door",
    "doors",
    "gauge",
    "outlet",
    "outlets",
    "shipped",
    "shipping",
    "outfit",
    "purse",
    "fabric",
    "sought",
    "surroundings",
    "taped",
    "came",
    "grader",
    "roster",
    "touched",
];

/// Names of types and modules that mean something else in every place.
const TYPES: &[&str] = &[
    "once", "kept", "way", "ways", "reach", "make", "makes", "leave", "survey", "question", "place",
    "ground", "material", "scene", "setting", "looked", "asked", "wanted", "found", "house", "lab", "stage",
    "hold", "talk", "room",
];

/// The same for fields and variants. `expected` and `found`, what was kept, and the stage of a funnel are plain terms.
const FIELDS: &[&str] = &[
    "once", "way", "ways", "reach", "make", "makes", "leave", "survey", "ground", "scene", "house", "houses",
    "hold", "talk",
];

/// Names and words that are right where they are: the beginning of a path, the word, and why.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("crates/assay/src/", "mod lab", "the group of commands that measure assay"),
    ("crates/assay-corpus/src/funnel", "enum Stage", "a stage of the published funnel"),
    ("crates/assay-retrieval/src/background.rs", "whoever", "a word of a list of common words"),
    (
        "crates/assay-retrieval/src/rerank/chat.rs",
        "stands in the",
        "what a model is sent, which answers depend on",
    ),
    ("crates/assay-lab/src/self_test/payloads.rs", "whoever", "what an attack says"),
    ("crates/assay-task/src/plugin_eval", "struct GraderResult", A_GRADER),
    ("crates/assay-task/src/plugin_eval", "struct EvalGrader", A_GRADER),
    ("crates/assay-task/src/plugin_eval", "enum GraderArm", A_GRADER),
    ("crates/assay-task/src/plugin_eval", "enum GraderCheck", A_GRADER),
    ("crates/assay-task/src/plugin_eval", "enum GraderTarget", A_GRADER),
    ("crates/assay-task/src/plugin_eval", "mod grader", A_GRADER),
    ("crates/assay-trial/src/plugin_export", "struct CaseGrader", A_GRADER),
];

/// Why the word has a meaning there.
const A_GRADER: &str = "a check of a case of `claude plugin eval`, as its client calls it";

/// Functions say what they act on.
const BARE_VERBS: &[&str] = &[
    "look", "say", "hold", "settle", "tell", "take", "fit", "ask", "keep", "judge", "lay", "put", "give",
    "go", "seek", "mend", "live", "draw", "lie", "stand",
];

/// The file below the workspace, the line, the kind of offence, and the word.
type Offence = (String, usize, &'static str, String);

/// Everything in the workspace that the lists forbid.
fn offences(root: &Path) -> Vec<Offence> {
    let mut found = Vec::new();
    for path in files(root) {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let mut push =
            |line: usize, kind, word: &str| found.push((name.clone(), line, kind, word.to_owned()));
        phrases(&text, &mut push);
        if path.extension().is_some_and(|extension| extension == "rs") {
            let file = syn::parse_file(&text).unwrap();
            names(&file, &mut push);
        }
    }
    found.retain(|(file, _, _, word)| {
        !ALLOWED.iter().any(|(path, name, _)| file.starts_with(path) && word == name)
    });
    found.sort();
    found.dedup();
    found
}

/// Files that people read or that assay's output comes from.
fn files(root: &Path) -> Vec<PathBuf> {
    const KINDS: [&str; 9] = ["rs", "md", "html", "js", "css", "snap", "toml", "jsonl", "sh"];
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> =
        ["crates", "docs", "examples", "scripts", ".ci", ".github"].map(|name| root.join(name)).to_vec();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            let is = |end: &str| path.ends_with(end);
            if is("tests/it/formats")
                || is("tests/it/voice.rs")
                || is("tests/it/docs/links.rs")
                || is("crates/assay-lint/tests/data")
                || is("crates/assay-audit/tests/data/prohibitions")
            {
                continue;
            }
            let kind = path.extension().unwrap_or_default().to_str().unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if KINDS.contains(&kind) || folder.ends_with("scripts") || folder.ends_with(".ci") {
                files.push(path);
            }
        }
    }
    files.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
    files
}

/// Forbidden phrases of a text, also where a line or a comment breaks within one.
fn phrases(text: &str, push: &mut impl FnMut(usize, &'static str, &str)) {
    let mut flat = String::new();
    let mut starts = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let line = ["///", "//!", "//", "#"].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
        starts.push((flat.len(), number + 1));
        // A string may go on after a backslash, and a sentence in prose on the next line.
        for word in line.trim_end_matches('\\').split_whitespace() {
            flat.push_str(word);
            flat.push(' ');
        }
    }
    let line_of = |at: usize| starts[starts.partition_point(|&(start, _)| start <= at).saturating_sub(1)].1;
    let tables =
        LABELS.iter().map(|row| ("label", row.1)).chain(SENTENCES.iter().map(|row| ("sentence", row.1)));
    for (kind, phrases) in tables.chain([("absent document", ABSENT_DOCUMENTS), ("phrase", PHRASES)]) {
        for phrase in phrases {
            for (at, _) in flat.match_indices(phrase) {
                push(line_of(at), kind, phrase);
            }
        }
    }
}

/// Forbidden names that a file declares.
fn names(file: &syn::File, push: &mut impl FnMut(usize, &'static str, &str)) {
    let mut names = Names { found: Vec::new() };
    names.visit_file(file);
    for (ident, kind) in names.found {
        let name = ident.to_string();
        let line = ident.span().start().line;
        let words = words(&name);
        if kind == "function" {
            if BARE_VERBS.contains(&name.as_str()) {
                push(line, "bare verb", &format!("fn {name}"));
            }
        } else {
            let whole = match kind {
                "field" | "variant" => FIELDS,
                "const" => &[],
                _ => TYPES,
            };
            if words.iter().any(|word| NAME_PARTS.contains(&word.as_str()))
                || whole.contains(&words.concat().as_str())
            {
                push(line, "name", &format!("{kind} {name}"));
            }
        }
    }
}

/// `OpenDoor` and `open_door`: open, door.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() && before.is_lowercase() {
            words.push(String::new());
        }
        if letter != '_' {
            words.last_mut().unwrap().extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The names that a file declares, each with what it names.
struct Names {
    found: Vec<(proc_macro2::Ident, &'static str)>,
}

impl Visit<'_> for Names {
    fn visit_signature(&mut self, signature: &syn::Signature) {
        self.found.push((signature.ident.clone(), "function"));
        visit::visit_signature(self, signature);
    }

    fn visit_item_struct(&mut self, item: &syn::ItemStruct) {
        self.found.push((item.ident.clone(), "struct"));
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &syn::ItemEnum) {
        self.found.push((item.ident.clone(), "enum"));
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &syn::ItemTrait) {
        self.found.push((item.ident.clone(), "trait"));
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &syn::ItemType) {
        self.found.push((item.ident.clone(), "type"));
        visit::visit_item_type(self, item);
    }

    fn visit_item_mod(&mut self, item: &syn::ItemMod) {
        self.found.push((item.ident.clone(), "mod"));
        visit::visit_item_mod(self, item);
    }

    fn visit_item_const(&mut self, item: &syn::ItemConst) {
        self.found.push((item.ident.clone(), "const"));
        visit::visit_item_const(self, item);
    }

    fn visit_variant(&mut self, variant: &syn::Variant) {
        self.found.push((variant.ident.clone(), "variant"));
        visit::visit_variant(self, variant);
    }

    fn visit_field(&mut self, field: &syn::Field) {
        self.found.extend(field.ident.clone().map(|ident| (ident, "field")));
        visit::visit_field(self, field);
    }
}

#[test]
fn abandoned_terms_and_phrases_do_not_come_back() {
    let found = offences(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
    let lines: Vec<String> =
        found.iter().map(|(file, line, kind, word)| format!("{file}:{line}: {kind}: {word}")).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

/// A term is found in each of the places that are looked at.
#[test]
fn an_abandoned_term_is_found() {
    let found = |text: &str| {
        let mut found = Vec::new();
        let mut push = |line: usize, _: &'static str, word: &str| found.push((line, word.to_owned()));
        phrases(text, &mut push);
        names(&syn::parse_file(text).unwrap(), &mut push);
        found
    };
    let check = |text: &str, expected: &[(usize, &str)]| {
        let expected: Vec<(usize, String)> =
            expected.iter().map(|(line, word)| (*line, (*word).to_owned())).collect();
        assert_eq!(found(text), expected, "{text}");
    };
    check("struct OpenDoor;", &[(1, "struct OpenDoor")]);
    check("struct A {\n    outlet: u8,\n}", &[(2, "field outlet")]);
    check("enum A {\n    Way,\n}", &[(2, "variant Way")]);
    check("impl A {\n    fn tell(&self) {}\n}", &[(2, "fn tell")]);
    check("fn tell_all() {}", &[]);
    check("/// It changes hands\n/// all the time.\nfn f() {}", &[(1, "changes hands all the time")]);
    check("fn f() {\n    print(\"Says so: {a}\");\n}", &[(2, "Says so:")]);
}
