//! `--fix` changes no value's type, and one run of it leaves nothing for a second one.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use assay_lint::{Diagnostic, Options, fix, lint};
use assay_skill::Document;
use assay_syntax::yaml::{Kind, Node, Yaml};
use serde_json::Value;

use assay_test::shared;

/// Puts a document into a package called `pdf`.
fn place(root: &Path, text: &[u8]) {
    fs::create_dir_all(root.join("pdf")).expect("created");
    fs::write(root.join("pdf/SKILL.md"), text).expect("written");
}

/// The result of one run of `--fix` on a document; a second run has to leave it unchanged.
fn fixed(root: &Path) -> (Vec<u8>, usize) {
    let file = root.join("pdf/SKILL.md");
    let count = |files: &[fix::Fixed]| files.iter().map(|fixed| fixed.findings).sum::<usize>();
    let before = fs::read(&file).expect("read");
    let (outcome, files) = fix::run(&[root.to_path_buf()], &Options::default());
    for file in &files {
        assert!(file.error.is_none(), "{}: {file:?}", String::from_utf8_lossy(&before));
    }
    let after = fs::read(&file).expect("read");
    let again = fix::run(&[root.to_path_buf()], &Options::default());
    let shown = String::from_utf8_lossy(&before);
    assert_eq!(count(&again.1), 0, "a second run fixes more in {shown}");
    assert_eq!(fs::read(&file).expect("read"), after, "a second run changes {shown}");
    let codes = |outcome: &assay_lint::Outcome| {
        let all = outcome.skills.iter().flat_map(|skill| &skill.diagnostics);
        all.map(|found| (found.code, found.message.clone())).collect::<Vec<_>>()
    };
    assert_eq!(codes(&outcome), codes(&again.0), "what is reported is what is left of {shown}");
    (after, count(&files))
}

fn find(root: &Path) -> Vec<Diagnostic> {
    lint(&[root.to_path_buf()], &Options::default())
        .skills
        .into_iter()
        .flat_map(|skill| skill.diagnostics)
        .collect()
}

/// Every value of a valid front matter, by its path, with its type for YAML readers.
fn types(bytes: &[u8]) -> BTreeMap<String, String> {
    fn collect(node: &Node, path: &str, types: &mut BTreeMap<String, String>) {
        match &node.kind {
            Kind::Map(entries) => {
                for (key, value) in entries {
                    collect(value, &format!("{path}.{}", key.text().unwrap_or("?")), types);
                }
                types.insert(path.to_owned(), "map".to_owned());
            }
            Kind::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    collect(item, &format!("{path}.{at}"), types);
                }
                types.insert(path.to_owned(), "list".to_owned());
            }
            _ => {
                types.insert(path.to_owned(), format!("{:?} {:?}", node.type_1_1(), node.type_1_2()));
            }
        }
    }
    let (document, _) = Document::parse(bytes, Path::new("SKILL.md"));
    let yaml = Yaml::parse(&document.text[document.yaml.clone()], 0);
    let mut types = BTreeMap::new();
    if let Some(root) = yaml.root.filter(|_| yaml.error.is_none()) {
        collect(&root, "", &mut types);
    }
    types
}

/// Runs `--fix` on a document: its values keep their types, and it is at its fixed point.
fn holds(root: &Path, text: &[u8], what: &str) -> usize {
    place(root, text);
    let (after, count) = fixed(root);
    let new = types(&after);
    for (path, kind) in types(text) {
        // A field may get its right name; its value is compared if the name stayed.
        if let Some(new) = new.get(&path) {
            assert_eq!(*new, kind, "{what}: `{path}`");
        }
    }
    count
}

#[test]
fn values_keep_their_types() {
    let temp = tempfile::tempdir().expect("a folder");
    let check = |front: &str, expected: &str| {
        place(temp.path(), format!("---\n{front}---\n# Forms\n\nRead it.\n").as_bytes());
        let (after, _) = fixed(temp.path());
        let text = String::from_utf8(after).expect("UTF-8");
        assert_eq!(text, format!("---\n{expected}---\n# Forms\n\nRead it.\n"), "{front}");
    };
    let stays = |front: &str| check(front, front);
    let good = "name: pdf\ndescription: Fills in forms. Use when one is empty.\n";
    for value in
        ["internal: true", "version: 1.10", "a: yes", "a: 2024-01-31", "a: null", "a: 0x1f", "a: ~", "a: NO"]
    {
        stays(&format!("{good}metadata:\n  {value}\n"));
    }
    stays("name: 2048\ndescription: Fills in forms. Use when one is empty.\n");
    stays("name: pdf\ndescription: 2024-01-31\n");
    stays(&format!("{good}compatibility: 3.11\n"));
    // When the block is repaired, its other values stay unchanged.
    check(
        "name: pdf\ndescription: Use when: a form is empty.\nmetadata:\n  internal: true\n  version: 1.10\n",
        "name: pdf\ndescription: \"Use when: a form is empty.\"\nmetadata:\n  internal: true\n  version: 1.10\n",
    );
    // A comment would become part of the value.
    stays("name: pdf\ndescription: Use when: a form is empty. # note\n");
    stays("name: pdf\ndescription: Use when: a form\n  is empty.\t# note\n");
    check(
        "name: pdf\ndescription: Use when: a form is empty (C#).\nlicense: MIT # note\n",
        "name: pdf\ndescription: \"Use when: a form is empty (C#).\"\nlicense: MIT # note\n",
    );
    // A tagged value is valid; between quotes it would be a text.
    stays("name: pdf\ndescription: Use when: a form is empty.\nmetadata:\n  count: !!int 3\n");
}

#[test]
fn no_finding_suggests_quoting_internal_markers() {
    let temp = tempfile::tempdir().expect("a folder");
    place(
        temp.path(),
        b"---\nname: pdf\ndescription: Fills in forms. Use when one is empty.\nmetadata:\n  internal: true\n---\n# F\n\nRead it.\n",
    );
    let found = find(temp.path());
    assert!(found.iter().all(|found| !found.message.contains("`true`")), "{found:?}");
}

#[test]
fn one_fix_run_reaches_the_fixed_point() {
    let temp = tempfile::tempdir().expect("a folder");
    place(
        temp.path(),
        b"\n\n---\ndesciption: Use when: a form is empty.\nmetadata:\n  version: 1.10\n---\n# Forms\n\nRead it.\n",
    );
    let (after, count) = fixed(temp.path());
    assert_eq!(
        String::from_utf8(after).expect("UTF-8"),
        "---\nname: pdf\ndescription: \"Use when: a form is empty.\"\nmetadata:\n  version: 1.10\n---\n# Forms\n\nRead it.\n"
    );
    assert_eq!(count, 4, "blank lines, quotes, the name, the field's name");
}

#[test]
fn fields_are_renamed_only_if_safe() {
    let temp = tempfile::tempdir().expect("a folder");
    let check = |front: &str, has_fix: bool| {
        place(temp.path(), format!("---\n{front}---\n# Forms\n\nRead it.\n").as_bytes());
        let found = find(temp.path());
        let misspelt: Vec<_> = found.iter().filter(|found| found.code == "field-misspelt").collect();
        assert!(!misspelt.is_empty(), "{front}");
        assert!(misspelt.iter().all(|found| found.fix.is_some() == has_fix), "{front}: {misspelt:?}");
    };
    check("name: pdf\ndesciption: Fills in forms. Use when one is empty.\n", true);
    check("name: pdf\nDescription: Fills in forms. Use when one is empty.\n", true);
    let good = "name: pdf\ndescription: Fills in forms. Use when one is empty.\n";
    check(&format!("{good}metdata:\n  a: b\n"), true);
    check(&format!("{good}metdata: text\n"), false);
    check(&format!("{good}desciption: Another.\n"), false);
    check("name: pdf\ndesciption: One.\ndescripton: Another.\n", false);
    check("name: pdf\ndesciption: 2024-01-31\n", false);
    // These grant or run something.
    check(&format!("{good}allowed_tools: Bash\n"), false);
    check(&format!("{good}user-invokable: false\n"), false);
}

#[test]
fn suggested_names_are_valid() {
    let temp = tempfile::tempdir().expect("a folder");
    let check = |name: &str, expected: &str| {
        place(
            temp.path(),
            format!("---\nname: {name}\ndescription: Fills in forms. Use when one is empty.\n---\n# F\n")
                .as_bytes(),
        );
        let found = find(temp.path());
        let hint =
            found.iter().find(|found| found.code == "name-case").and_then(|found| found.hint.as_deref());
        assert_eq!(hint, Some(expected), "{name}");
    };
    check("My Skill", "write `my-skill`");
    check("My_Skill!", "write `my-skill`");
    check("PDF--Forms-", "write `pdf-forms`");
    check("\u{c4}pfel", "use only lowercase letters, digits and single hyphens");
    check(&"A".repeat(65), "use only lowercase letters, digits and single hyphens");
}

#[test]
#[ignore = "needs shared data"]
fn vectors_keep_their_types_and_need_one_run() {
    let file = shared("spec/conformance.json");
    let vectors: Vec<Value> = serde_json::from_slice(&fs::read(file).expect("readable")).expect("JSON");
    let temp = tempfile::tempdir().expect("a folder");
    let mut count = 0;
    for vector in vectors {
        let Some(content) = vector["content"].as_str() else { continue };
        count += holds(temp.path(), content.as_bytes(), &vector["id"].to_string());
    }
    assert!(count > 3, "only {count} fixed");
}

#[test]
#[ignore = "needs shared data"]
fn real_skills_keep_their_types_and_need_one_run() {
    let file = shared("skills/corpus_raw.jsonl.zst");
    let reader = zstd::Decoder::new(fs::File::open(file).expect("readable")).expect("zstd");
    let temp = tempfile::tempdir().expect("a folder");
    let (mut seen, mut count) = (0, 0);
    for line in BufReader::new(reader).lines().take(12_000).step_by(30) {
        let record: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let text = record["skill_md"].as_str().expect("a document");
        count += holds(temp.path(), text.as_bytes(), &record["id"].to_string());
        seen += 1;
    }
    assert!(seen > 300 && count > 0, "{seen} documents, {count} fixed");
}
