//! Complete packages, synthetic and real ones.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;
use pulldown_cmark::{Event, Parser, Tag};
use serde_json::{Map, Value};

use super::facts::OPTIONS;
use super::*;

const LEDGER: &str = include_str!("tests/ledger.md");
const DEPLOY: &str = include_str!("tests/deploy.md");
const SHAPES: &str = include_str!("tests/shapes.md");

/// Counts of blocks: headings by level, lists by kind, items, code blocks, tables, rows, quotes.
fn layout(text: &str) -> BTreeMap<String, usize> {
    let mut out = BTreeMap::new();
    for event in Parser::new_ext(text, OPTIONS) {
        let kind = match event {
            Event::Start(Tag::Heading { level, .. }) => format!("heading {level}"),
            Event::Start(Tag::List(start)) => format!("list, ordered {}", start.is_some()),
            Event::Start(Tag::Item) => "item".to_owned(),
            Event::Start(Tag::CodeBlock(_)) => "code block".to_owned(),
            Event::Start(Tag::Table(columns)) => format!("table of {}", columns.len()),
            Event::Start(Tag::TableRow) => "row".to_owned(),
            Event::Start(Tag::BlockQuote(_)) => "quote".to_owned(),
            Event::Rule => "rule".to_owned(),
            Event::TaskListMarker(_) => "task".to_owned(),
            _ => continue,
        };
        *out.entry(kind).or_default() += 1;
    }
    out
}

fn original<'a>(
    name: &'a str,
    description: &'a str,
    body: &'a str,
    front_matter: &'a Map<String, Value>,
) -> Original<'a> {
    Original {
        name,
        directory: "folder",
        description,
        front_matter,
        body,
        files: &[],
        digest_hex: "6437b3ac38465133",
    }
}

/// The front matter and the body of the only file of a placebo.
fn split(files: &[MadeFile]) -> (Value, String) {
    let text = std::str::from_utf8(&files[0].bytes).unwrap();
    let (yaml, body) = text.strip_prefix("---\n").unwrap().split_once("---\n").unwrap();
    (serde_saphyr::from_str(yaml).unwrap_or_else(|error| panic!("{error}: {yaml}")), body.to_owned())
}

/// Makes the placebo of a body and checks its guarantees. Returns the body.
fn check(name: &str, description: &str, body: &str, seed: u64) -> String {
    let front_matter = Map::new();
    let files = placebo(&original(name, description, body, &front_matter), seed).unwrap();
    let (front_matter, made) = split(&files);
    assert_eq!(front_matter["name"], Value::String(name.to_owned()));
    assert_eq!(layout(&made), layout(body), "{name}\n{made}");
    let (wanted, have) = (tokens(body), tokens(&made));
    assert!(have.abs_diff(wanted) <= balance::tolerance(wanted), "{name}: {wanted} {have}\n{made}");
    assert_eq!(shared(body, &made), [""; 0], "{name}\n{made}");

    let new = front_matter["description"].as_str().unwrap();
    let (wanted, have) = (tokens(description), tokens(new));
    // Where as many tokens would be more characters than clients take, it has about as many
    // characters as they take.
    let full = (900..=1024).contains(&new.chars().count());
    assert!(full || have.abs_diff(wanted) <= (wanted / 10).max(2), "{name}: {wanted} {have} {new}");
    let common: Vec<_> = shared(description, new)
        .into_iter()
        .filter(|item| {
            !words::words(item.split_once(": ").unwrap().1).all(|word| name.to_lowercase().contains(&word))
        })
        .collect();
    assert_eq!(common, [""; 0], "{name}: {new}");
    made
}

#[test]
fn synthetic_bodies_keep_their_shape_and_lose_their_content() {
    let description = "Exports the general ledger of a month as the auditors want it. Use when somebody asks for a ledger export, \
        a trial balance or the month-end files.";
    for (name, body) in [("ledger-export", LEDGER), ("safe-deploys", DEPLOY), ("shapes", SHAPES)] {
        for seed in 0..20 {
            check(name, description, body, seed);
        }
    }
}

#[test]
fn output_is_deterministic_for_a_seed() {
    let made: Vec<_> =
        (0..5).map(|seed| check("ledger-export", "Exports the ledger.", LEDGER, seed)).collect();
    assert_eq!(made[0], check("ledger-export", "Exports the ledger.", LEDGER, 0));
    for pair in made.windows(2) {
        assert_ne!(pair[0], pair[1]);
    }
    let front_matter = Map::new();
    let one = original("a", "b", LEDGER, &front_matter);
    let other = Original { digest_hex: "00", ..one };
    assert_ne!(placebo(&one, 0), placebo(&other, 0));
}

#[test]
fn unusual_bodies_are_accepted() {
    let deep = format!("{}text\n", "> ".repeat(90));
    let bodies = [
        "",
        "\n",
        "Hi",
        "# A",
        "#",
        "- a\n- b\n",
        "-\n-\n",
        "1. a\n2. b\n\n   more of it here\n",
        "```\nunclosed = 1\n",
        "    indented code\n\ntext\n\n    more\n",
        "- a\n\n      code in an item\n",
        "---\n",
        "- ***\n- ___\n",
        "* - + a\n",
        "# A\r\n\r\n- b\r\n- c\r\n\r\n```\r\nd\r\n```\r\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n| | |\n",
        "> quote\n> # inside\n> - a\n",
        "- [ ] to do\n- [x] done\n",
        "<div>\n<b>x</b>\n</div>\n\ntext\n",
        "Setext\n======\n\nOther\n-----\n",
        "- a\n- b\n\n\n* c\n* d\n\n1. e\n\n1) f\n",
        "- a\n  1. [Step 1]: [Description]\n  2. b\n",
        "日本語の説明です。\n\n- 項目\n- 項目\n",
        deep.as_str(),
    ];
    for body in bodies {
        check("odd", "Something odd for the tests.", body, 1);
    }
}

#[test]
fn placebo_is_made_despite_a_clashing_bank() {
    let bank = [
        include_str!("bank/sentences.txt"),
        include_str!("bank/phrases.txt"),
        include_str!("bank/inert.txt"),
        include_str!("bank/words.txt"),
    ]
    .concat();
    // As prose only runs of three words are taken; as code every word is.
    check("bank", "Says what the bank says.", &bank, 1);
    check(
        "bank",
        "Says what the bank says.",
        &format!("# All of it\n\n```\n{bank}\n```\n\n- and\n- an item\n"),
        1,
    );
    // And a placebo has a placebo.
    let made = check("ledger-export", "Exports the ledger.", LEDGER, 1);
    check("ledger-export", "Exports the ledger.", &made, 1);
}

#[test]
fn placebo_keeps_any_name() {
    for name in [
        "a",
        "Yes",
        "1e3",
        "a: b #c",
        "\"quoted\" \\ and\nbroken",
        "---",
        "été 東京 😀",
        "",
        " x ",
        "- a",
        "\u{85}\u{0}\u{feff}",
    ] {
        let front_matter = Map::new();
        let made =
            placebo(&original(name, "Does this and that for everybody.", "Text.", &front_matter), 1).unwrap();
        assert_eq!(split(&made).0["name"], Value::String(name.to_owned()), "{name:?}");
    }
}

#[test]
fn a_description_names_the_domain_and_stays_short_enough_for_clients() {
    let long = "用途说明。".repeat(120);
    let front_matter = Map::new();
    let made = placebo(&original("ledger-export", &long, "Text.", &front_matter), 1).unwrap();
    let (front_matter, _) = split(&made);
    let description = front_matter["description"].as_str().unwrap();
    assert!(description.contains("ledger export"), "{description}");
    assert!((800..=1024).contains(&description.chars().count()), "{description}");
}

#[test]
fn overlong_originals_are_rejected() {
    let front_matter = Map::new();
    let many = "word ".repeat(200_001);
    let refused = placebo(&original("a", "b", &many, &front_matter), 1);
    assert_eq!(refused, Err(PlaceboError::TooLong { tokens: tokens(&many), limit: 200_000 }));
    let blank = " ".repeat(5 << 20);
    let refused = placebo(&original("a", "b", &blank, &front_matter), 1);
    assert_eq!(refused, Err(PlaceboError::TooLarge { bytes: 5 << 20, limit: 4 << 20 }));
}

#[test]
fn long_and_nested_bodies_take_bounded_time() {
    let front_matter = Map::new();
    let bodies = [
        "> ".repeat(200_000),
        "- ".repeat(200_000),
        "* a\n".repeat(40_000),
        "[".repeat(200_000),
        "`".repeat(100_001),
        "<a ".repeat(50_000),
        format!("```\n{}", "x = 1\n".repeat(30_000)),
        "|a".repeat(2_000) + "\n" + &"|-".repeat(2_000) + "\n" + &"|b\n".repeat(20),
        "\n".repeat(1 << 20),
    ];
    for body in bodies {
        let begun = std::time::Instant::now();
        let _ = placebo(&original("a", "b", &body, &front_matter), 1);
        assert!(begun.elapsed().as_secs() < 30, "{}: {:?}", &body[..10], begun.elapsed());
    }
}

#[test]
fn files_keep_their_paths_order_and_executable_bit() {
    let file = |path: &str, text: &str, executable| MadeFile {
        path: path.to_owned(),
        bytes: text.as_bytes().to_vec(),
        executable,
    };
    let script = "#!/usr/bin/env python3\nimport json\nledger = json.load(open('ledger.json'))\nprint(ledger['total'])\n".repeat(4);
    let files = [
        file("SKILL.md", "---\nname: x\n---\nbody", false),
        file("references/rules.md", LEDGER, false),
        file("scripts/export.py", &script, true),
        file("assets/rates.csv", "currency,rate\nEUR,1.08\n", false),
    ];
    let front_matter = Map::new();
    let one =
        Original { files: &files, ..original("ledger-export", "Exports the ledger.", DEPLOY, &front_matter) };
    let made = placebo(&one, 1).unwrap();
    let paths = |files: &[MadeFile]| {
        files.iter().map(|file| (file.path.clone(), file.executable)).collect::<Vec<_>>()
    };
    assert_eq!(paths(&made), paths(&files));
    let text = |at: usize| std::str::from_utf8(&made[at].bytes).unwrap();
    assert_eq!(layout(text(1)), layout(LEDGER));
    // The content of every file is kept out of every text.
    for at in [0, 1, 3] {
        let made = text(at).split("---\n").last().unwrap();
        assert_eq!(shared(DEPLOY, made), [""; 0]);
        assert_eq!(shared(LEDGER, made), [""; 0]);
        assert_eq!(shared(&format!("```\n{script}\n```\n"), made), [""; 0]);
    }
    let lower = [file("skill.md", "body", false)];
    assert_eq!(placebo(&Original { files: &lower, ..one }, 1).unwrap()[0].path, "skill.md");
}

/// Every `SKILL.md` below a folder, sorted.
fn skills(folder: &std::path::Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            skills(&path, found);
        } else if path.file_name().is_some_and(|name| name == "SKILL.md") {
            found.push(path);
        }
    }
}

#[test]
#[ignore = "needs shared data"]
fn real_skills_keep_their_shape_and_lose_their_content() {
    let mut found = Vec::new();
    for folder in ["health", "cta"] {
        skills(&assay_test::shared(folder), &mut found);
    }
    assert!(found.len() >= 30, "{}", found.len());
    for path in found {
        let text = std::fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
        let name = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let (_, body) =
            text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).unwrap_or(("", &text));
        check(name, &text[..text.len().min(300)].chars().take(250).collect::<String>(), body, 1);
    }
}

#[test]
#[ignore = "needs shared data"]
fn a_sample_of_the_public_corpus_keeps_its_shape_and_loses_its_content() {
    use std::io::BufRead as _;
    let mut unpack = std::process::Command::new("zstd");
    unpack.args(["-dcq", "--long=27"]).arg(assay_test::shared("skills/corpus_raw.jsonl.zst"));
    let mut unpack = unpack.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let lines = std::io::BufReader::new(unpack.stdout.take().unwrap()).lines();
    let mut checked = 0;
    for line in lines.step_by(9).take(200) {
        let skill: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let text = skill["skill_md"].as_str().unwrap().replace("\r\n", "\n");
        let (_, body) =
            text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).unwrap_or(("", &text));
        check(skill["name"].as_str().unwrap(), skill["description"].as_str().unwrap_or_default(), body, 1);
        checked += 1;
    }
    // Enough was read: do not wait for the rest.
    let _ = unpack.kill();
    unpack.wait().unwrap();
    assert_eq!(checked, 200);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_input_panics(
        name in "(?s:.{0,20})",
        description in "(?s:.{0,60})",
        body in "([-#>*`|~\\[\\] \n\t1.a_<!=+x]|(?s:.)|\r\n|\\n    |```|- |1\\. ){0,120}",
        path in "[a-z./]{0,12}",
        bytes in proptest::collection::vec(any::<u8>(), 0..80),
        executable in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let files = [MadeFile { path, bytes, executable }];
        let front_matter = Map::new();
        let one = Original { files: &files, ..original(&name, &description, &body, &front_matter) };
        if let Ok(made) = placebo(&one, seed) {
            let document = made.iter().find(|file| file.path.eq_ignore_ascii_case("SKILL.md")).unwrap();
            let (front_matter, text) = split(std::slice::from_ref(document));
            prop_assert_eq!(&front_matter["name"], &Value::String(name));
            prop_assert!(tokens(&text).abs_diff(tokens(&body)) <= balance::tolerance(tokens(&body)));
            prop_assert_eq!(shared(&body, &text), Vec::<String>::new());
        }
    }
}
