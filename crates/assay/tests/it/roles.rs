//! Conditions are known by what they are, not by their names.

use std::fs;
use std::path::{Path, PathBuf};

use assay_store::ConditionRole;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde_json::{Value, json};

use crate::fixture::{Design, Fixture, needs_bubblewrap};
use crate::suite;

/// The crates that know trials or reports; the others know no condition.
const CRATES: [&str; 10] = [
    "assay",
    "assay-analysis",
    "assay-draft",
    "assay-gate",
    "assay-judge",
    "assay-lab",
    "assay-report",
    "assay-store",
    "assay-trial",
    "assay-view",
];

/// Where names of conditions are read and given.
const HOME: &str = "crates/assay-store/src/role.rs";

/// Literals that have another meaning where they are: the beginning of a path, the literal, and the meaning.
const ALLOWED: &[(&str, &str, &str)] = &[
    (
        "crates/assay-judge/src/format/rewardkit.rs",
        "negative",
        "a criterion of rewardkit that must not be met",
    ),
    ("crates/assay-lab/src/simulate/ablation.rs", "none", "a skill of which no section matters"),
    ("crates/assay-trial/src/import/facts.rs", "none", "a cell that says that a task has no skills"),
    ("crates/assay-report/src/audit/mod.rs", "none", "a list without findings"),
    ("crates/assay/src/commands/doctor.rs", "none", "a machine without control groups"),
    ("crates/assay-draft/src/requests/report.rs", "negative", "a request that needs no skill"),
    ("crates/assay-draft/src/status.rs", "none", "a draft without a stage"),
    ("crates/assay-lab/src/commands/bench/export.rs", "curated", "a key of the plan's tasks"),
    ("crates/assay-lab/src/commands/taxonomy.rs", "none", "no category"),
    ("crates/assay-lab/src/routing/prompts.rs", "none", "a request that no skill serves"),
    ("crates/assay/src/commands/run.rs", "none", "a sandbox"),
    ("crates/assay/src/commands/trial.rs", "none", "a sandbox"),
    ("crates/assay-trial/src/run/worker.rs", "none", "a sandbox"),
    ("crates/assay-report/src/task_review/markdown.rs", "none", "a task without skills"),
    ("crates/assay-analysis/src/explore/strata.rs", "none", "a stratum of tasks without skills"),
    ("crates/assay-analysis/src/settings.rs", "none", "a setting that is not there"),
    ("crates/assay-draft/src/requests/review.rs", "none", "a router that chose no skill"),
    ("crates/assay-trial/src/experiment/requests.rs", "documents", "a key of tasks"),
    ("crates/assay-trial/src/experiment/requests.rs", "none", "a sandbox"),
    ("crates/assay-trial/src/experiment/file.rs", "none", "no network"),
    ("crates/assay-trial/src/run/doubles/mod.rs", "none", "a sandbox"),
    ("crates/assay-trial/src/run/egress_proxy.rs", "none", "a sandbox"),
    ("crates/assay-trial/src/run/environment/folders.rs", "none", "a sandbox"),
];

/// The file below the workspace, the line, and the literal.
type Offence = (String, usize, String);

/// The names of conditions among the string literals of a program, outside its tests.
fn literals(program: TokenStream, found: &mut Vec<(usize, String)>) {
    let mut tokens = program.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Literal(literal) => {
                let Ok(syn::Lit::Str(text)) = syn::parse_str::<syn::Lit>(&literal.to_string()) else {
                    continue;
                };
                // `version` is a condition with an argument only.
                let is_name = !text.value().contains(' ') && text.value() != ConditionRole::Version.name();
                if is_name && ConditionRole::of(&text.value()) != ConditionRole::Other {
                    found.push((literal.span().start().line, text.value()));
                }
            }
            TokenTree::Group(group) => literals(group.stream(), found),
            TokenTree::Punct(sign) if sign.as_char() == '#' => {
                let is_test = matches!(tokens.peek(), Some(TokenTree::Group(group))
                    if group.delimiter() == Delimiter::Bracket && group.stream().to_string() == "cfg (test)");
                if is_test {
                    // The item ends with its body, or with a semicolon.
                    tokens.next();
                    let ends = |token: &TokenTree| match token {
                        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                        TokenTree::Punct(sign) => sign.as_char() == ';',
                        _ => false,
                    };
                    let _ = tokens.find(ends);
                }
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

/// The sources of a crate without its tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && name != "tests" {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs")
                && !matches!(name.as_str(), "tests.rs" | "testing.rs")
            {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn conditions_are_not_recognized_by_their_names() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let (mut found, mut used): (Vec<Offence>, _) = (Vec::new(), vec![false; ALLOWED.len()]);
    for path in CRATES.iter().flat_map(|name| sources(&root.join("crates").join(name).join("src"))) {
        let file = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if file == HOME || file.starts_with("crates/assay-trial/src/condition/") {
            continue;
        }
        let mut here = Vec::new();
        literals(fs::read_to_string(&path).unwrap().parse().unwrap(), &mut here);
        for (line, literal) in here {
            match ALLOWED.iter().position(|(path, word, _)| file.starts_with(path) && *word == literal) {
                Some(at) => used[at] = true,
                None => found.push((file.clone(), line, literal)),
            }
        }
    }
    let lines: Vec<String> = found
        .iter()
        .map(|(file, line, literal)| format!("{file}:{line}: {literal:?}: ask for the role"))
        .collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
    let unused: Vec<_> = ALLOWED.iter().zip(used).filter(|(_, used)| !used).collect();
    assert!(unused.is_empty(), "no longer needed: {unused:?}");
}

#[test]
fn a_name_of_a_condition_is_found() {
    let check = |program: &str, expected: &[(usize, &str)]| {
        let mut found = Vec::new();
        literals(program.parse().unwrap(), &mut found);
        let expected: Vec<(usize, String)> =
            expected.iter().map(|(line, literal)| (*line, (*literal).to_owned())).collect();
        assert_eq!(found, expected, "{program}");
    };
    check("fn f(a: &str) -> bool {\n    a == \"curated\"\n}", &[(2, "curated")]);
    check("const A: [&str; 2] = [\"none\", r\"placebo\"];", &[(1, "none"), (1, "placebo")]);
    check("fn f() {\n    print!(\"{}\", \"negative\")\n}", &[(2, "negative")]);
    check("/// The name \"none\".\nfn f() {}", &[]);
    check("fn f() { print(\"the condition `none`\") }", &[]);
    check(
        "#[cfg(test)]\nmod tests {\n    const A: &str = \"none\";\n}\nconst B: &str = \"full\";",
        &[(5, "full")],
    );
    check("const A: [&str; 3] = [\"version\", \"version:v1\", \"version: {}\"];", &[(1, "version:v1")]);
    check("#[cfg(test)]\nmod tests;\nconst B: &str = \"full\";", &[(3, "full")]);
}

/// The usual names and others, in the same alphabetical order: the audit lists arms by name.
const NAMES: [(&str, &str); 3] = [("none", "bare"), ("curated", "aid"), ("placebo", "sham")];

/// The experiment with the usual names of conditions, or with others.
fn named(design: Design, renamed: bool) -> Design {
    let conditions = NAMES.map(|(usual, other)| if renamed { other } else { usual });
    let design = suite::paired(design.conditions(&conditions).repetitions(2), 6);
    let table = |(usual, other): (&str, &str)| format!("[condition.{other}]\nis = \"{usual}\"\n");
    let tables: String = NAMES.map(table).concat();
    if renamed { design.table(&tables) } else { design }
}

/// What depends on conditions in the report of a run and in its audit, with the usual names.
fn findings(lab: &Fixture, run: &str) -> Value {
    let usual = |text: String| {
        let text = text.replace(run, "RUN");
        NAMES.iter().fold(text, |text, (usual, other)| {
            let quoted = |quote: &str, text: String| {
                text.replace(&format!("{quote}{other}{quote}"), &format!("{quote}{usual}{quote}"))
            };
            let text = quoted("\"", quoted("`", text));
            let after_comma = |quote: &str, text: String| {
                text.replace(&format!(", {other}{quote}"), &format!(", {usual}{quote}"))
            };
            after_comma("\"", after_comma("`", text))
        })
    };
    let document = lab.assay(&["report", run, "--format", "json"]).json();
    let mut found = serde_json::Map::new();
    for part in ["primary", "arms", "comparisons", "next_steps", "tasks"] {
        found.insert(part.to_owned(), document[part].clone());
    }
    found.insert("skills".to_owned(), document["provenance"]["skills"].clone());
    let audit = lab.assay(&["audit", "corpus", run, "--format", "json"]).stdout;
    let audit = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    found.insert("audit".to_owned(), Value::Array(audit));
    let page = lab.assay(&["report", run, "--format", "markdown"]).stdout;
    let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let header = flat.split("skills: ").nth(1).and_then(|rest| rest.split(" · ").next()).unwrap().to_owned();
    found.insert("header".to_owned(), Value::String(header));
    serde_json::from_str(&usual(Value::Object(found).to_string())).unwrap()
}

#[test]
fn the_same_trials_give_the_same_verdicts_under_other_names() {
    needs_bubblewrap!();
    let lab = suite::lab(6).experiment(|design| named(design, false));
    let (first, _) = lab.run(&["--no-checks"]);
    assert_eq!(
        (&first["executed"], &first["report"]["primary"]),
        (&json!(36), &json!("curated")),
        "{first:#}"
    );
    let lab = lab.experiment(|design| named(design, true));
    let (second, _) = lab.run(&["--no-checks"]);
    assert_eq!((&second["executed"], &second["report"]["primary"]), (&json!(0), &json!("aid")), "{second:#}");
    let runs = [&first, &second].map(|document| document["run"].as_str().unwrap().to_owned());
    assert_ne!(runs[0], runs[1]);
    let [usual, renamed] = [&runs[0], &runs[1]].map(|run| findings(&lab, run));
    for (part, found) in usual.as_object().unwrap() {
        assert_eq!(*found, renamed[part], "{part}");
    }
    assert_eq!(usual["comparisons"][0]["role"], json!("curated"));
    assert_eq!(usual["comparisons"][0]["verdict"], json!("helps"));
    let measured = usual["skills"].as_array().unwrap().iter().map(|skill| skill["measured"].as_bool());
    assert_eq!(measured.filter(|measured| *measured == Some(true)).count(), 1);
}
