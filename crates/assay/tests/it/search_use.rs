//! `assay search REQUEST` and `assay search index`.

use std::fs;

use serde_json::json;

use crate::fixture::Fixture;

fn lab() -> Fixture {
    Fixture::new()
        .file("library/tables/pivot/SKILL.md", "---\nname: pivot-tables\ndescription: Use for tables. Makes a pivot table from an export.\n---\n# Pivot\nSum the rows.\n")
        .file("library/log-audit/SKILL.md", "---\nname: log-audit\ndescription: Audits logs.\n---\n# Errors\nCount the errors of each hour.\n")
        .file("library/letters/SKILL.md", "---\nname: letters\ndescription: Writes letters.\n---\nBe short.\n")
        .file("library/more/letters/SKILL.md", "---\nname: letters\ndescription: Writes long letters.\n---\nBe long.\n")
        .file("library/notes/README.md", "no skill")
}

const REQUEST: &str = "make a pivot table from this export";

#[test]
fn a_request_finds_its_skill_and_says_why() {
    let lab = lab();
    let found = lab.assay(&["search", REQUEST, "--library", "library", "--why"]).ok();
    let expected = "  1  pivot-tables  ";
    assert!(found.stdout.starts_with(expected), "{}", found.stdout);
    for told in [
        "  tables/pivot\n",
        "description: “Makes a pivot table from an export.”",
        "words: make, pivot, table, from, export",
    ] {
        assert!(found.stdout.contains(told), "{told:?} is not in {}", found.stdout);
    }
    let plain = lab.assay(&["search", REQUEST, "--library", "library"]).ok();
    assert!(!plain.stdout.contains("words: "), "{}", plain.stdout);
    let json =
        lab.assay(&["--format", "json", "search", REQUEST, "--library", "library", "-k", "1"]).ok().json();
    assert_eq!(
        (&json["schema"], &json["skills"], &json["fits"]),
        (&json!("assay.search/1"), &json!(4), &json!(true))
    );
    let hit = &json["hits"][0];
    assert_eq!(
        (json["hits"].as_array().unwrap().len(), &hit["rank"], &hit["id"]),
        (1, &json!(1), &json!("tables/pivot"))
    );
    assert_eq!(hit["why"]["field"], "description");
    // Two skills of one name are two skills.
    let two = lab.assay(&["--format", "json", "search", "letter", "--library", "library"]).ok().json();
    let ids: Vec<&str> =
        two["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), ids.contains(&"letters"), ids.contains(&"more/letters")), (2, true, true));
}

#[test]
fn what_no_skill_serves_is_said() {
    let lab = lab();
    let check = |request: &str, expected: &str| {
        let said = lab.assay(&["search", request, "--library", "library"]).ok();
        assert!(said.stdout.starts_with(expected), "{request}: {}", said.stdout);
    };
    check("xylophone quartet", "No skill fits: no skill contains a word of the request\n");
    check("the of", "No skill fits: the request has only stop words\n");
    check(
        "please tune my grand piano, repair its seventeen broken strings and count them",
        "No skill fits: confidence below the threshold; closest skills:\n",
    );
}

#[test]
fn an_index_answers_as_the_library_does() {
    let lab = lab();
    let hits = |args: &[&str]| {
        let found = lab.assay(&[&["--format", "json", "search", REQUEST][..], args].concat()).ok().json();
        found["hits"].clone()
    };
    let direct = hits(&["--library", "library"]);
    let made = lab.assay(&["search", "index", "--library", "library", "--out", "own.index"]).ok();
    assert!(made.stdout.starts_with("own.index: 4 skills, "), "{}", made.stdout);
    assert_eq!(hits(&["--index", "own.index"]), direct);
    assert_eq!(hits(&["--index", "own.index", "--library", "library"]), direct);
    assert_eq!(
        fs::read_dir(lab.folder()).unwrap().flatten().filter(|entry| entry.path().is_file()).count(),
        1
    );

    let refused = |expected: &str| {
        let args = ["search", REQUEST, "--library", "library", "--index", "own.index"];
        let refused = lab.assay(&args).ended(2);
        assert!(refused.stderr.contains(expected), "{expected:?} is not in {}", refused.stderr);
    };
    // Rewritten as it was: the same library.
    let text = fs::read_to_string(lab.path("library/letters/SKILL.md")).unwrap();
    lab.write("library/letters/SKILL.md", &text);
    assert_eq!(hits(&["--index", "own.index", "--library", "library"]), direct);
    lab.write("library/letters/SKILL.md", text.replace("short", "brief"));
    refused("own.index is out of date");
    lab.write("library/letters/SKILL.md", &text);
    // A skill where there was none.
    lab.write("library/notes/new/SKILL.md", "---\nname: new\ndescription: New.\n---\n");
    refused("own.index is out of date");
    lab.assay(&["search", "index", "--library", "library", "--out", "own.index"]).ok();
    assert_eq!(hits(&["--index", "own.index", "--library", "library"]), hits(&["--library", "library"]));
    fs::remove_dir_all(lab.path("library/more")).unwrap();
    refused("own.index is out of date");

    let mut bytes = fs::read(lab.path("own.index")).unwrap();
    bytes[8] = 77;
    fs::write(lab.path("own.index"), &bytes).unwrap();
    refused("own.index has format 77; this version of assay reads format 2");
    lab.write("own.index", "{}");
    refused("own.index is not an assay index");
}

#[test]
fn a_corpus_is_indexed_too() {
    let lab = Fixture::new().file(
        "corpus.jsonl",
        "{\"id\":\"s1\",\"name\":\"pivot\",\"description\":\"Makes pivot tables.\",\"skill_md\":\"x\"}\n{\"id\":\"s2\",\"name\":\"log\",\"skill_md\":\"y\"}\n",
    );
    let first = |args: &[&str]| {
        let found = lab.assay(&[&["--format", "json", "search", REQUEST][..], args].concat()).ok().json();
        found["hits"][0]["id"].clone()
    };
    assert_eq!(first(&["--corpus", "corpus.jsonl"]), "s1");
    lab.assay(&["search", "index", "--corpus", "corpus.jsonl", "--out", "own.index"]).ok();
    assert_eq!(first(&["--corpus", "corpus.jsonl", "--index", "own.index"]), "s1");
    lab.write("corpus.jsonl", "{\"id\":\"s3\",\"name\":\"pivot\"}\n");
    lab.assay(&["search", REQUEST, "--corpus", "corpus.jsonl", "--index", "own.index"]).ended(2);
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let lab = lab().file("empty/README.md", "no skill");
    let check = |args: &[&str], expected: &str| {
        let refused = lab.assay(&[&["search"], args].concat()).ended(2);
        assert!(refused.stderr.contains(expected), "{expected:?} is not in {}", refused.stderr);
    };
    check(&["  ", "--library", "library"], "the request is empty");
    check(&["--library", "library"], "no request given");
    check(&["anything"], "no skills to search");
    check(&["anything", "--library", "empty"], "no skill in empty");
    check(&["anything", "--library", "nowhere"], "no skill in nowhere");
    check(&["anything", "--index", "nowhere.index"], "cannot read the index nowhere.index");
    check(&["index", "--library", "empty", "--out", "own.index"], "no skill in empty");
    assert!(!lab.path("own.index").exists());
    let unwritable = lab.assay(&["search", "index", "--library", "library", "--out", "no/folder/own.index"]);
    assert!(unwritable.ended(3).stderr.contains("cannot write the index no/folder/own.index"));
}
