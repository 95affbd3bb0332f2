use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// The directives of a document, a line each: `+` for required, `-` for forbidden, `~` for an
/// example.
fn shown(markdown: &str) -> Vec<String> {
    let document = format!("---\nname: kiln\ndescription: Fires pots.\n---\n{markdown}");
    let mut package = SkillPackage::from_document(document.as_bytes());
    for path in ["references/glaze.md", "scripts/cool.py", "scripts/fire.py"] {
        package.files.push(SkillFile { path: path.to_owned(), text: String::new() });
    }
    let directives = extract(&package);
    for directive in &directives {
        check_regexes(&directive.probe);
    }
    let show = |directive: &Directive| {
        let sign = match directive.modality {
            Modality::Forbidden => '-',
            Modality::Required if directive.example => '~',
            Modality::Required => '+',
        };
        format!("{sign} {:?} {}", directive.kind, directive.subject)
    };
    directives.iter().map(show).collect()
}

fn check_regexes(probe: &Probe) {
    match probe {
        Probe::Layout(pattern) => drop(regex_syntax::parse(pattern).unwrap()),
        Probe::Sequence { first, then } => [first, then].into_iter().for_each(|probe| check_regexes(probe)),
        _ => {}
    }
}

#[track_caller]
fn check(markdown: &str, expected: &[&str]) {
    assert_eq!(shown(markdown), expected, "{markdown}");
}

/// The only directive of a document.
#[track_caller]
fn only(markdown: &str) -> Directive {
    let directives =
        extract(&SkillPackage::from_document(format!("---\nname: k\n---\n{markdown}").as_bytes()));
    assert_eq!(directives.len(), 1, "{markdown}: {directives:#?}");
    directives.into_iter().next().unwrap()
}

#[test]
fn prose_without_a_checkable_unit_gives_none() {
    check("Pots are fired with care. Never hurry, and look at the glaze before you decide.", &[]);
    check("The kiln has 3 doors. See step 2.", &[]);
    check("", &[]);
}

#[test]
fn the_front_matter_and_asides_give_none() {
    let package =
        SkillPackage::from_document(b"---\nname: k\ndescription: Use `kiln_code_7` always.\n---\nBody\n");
    assert_eq!(extract(&package), []);
    check(
        "## When to use this skill\n\nFor `kiln_code_7`.\n\n## Rules\n\nWrite `kiln_code_8`.",
        &["+ Literal kiln_code_8"],
    );
}

#[test]
fn commands_and_options() {
    check("Run `kilnctl soak --cone 6 --format json`.", &["+ Command kilnctl soak --cone --format json"]);
    check("Run this:\n\n```sh\n$ git rebase --onto release topic\n```", &["+ Flag --onto release"]);
    check("Pass `--dry-run` first.", &["+ Flag --dry-run"]);
    check("```sh\nls -la\ncd pots\n```", &[]);
}

#[test]
fn scripts_of_the_package() {
    check("`scripts/fire.py` fires them.", &["+ Script scripts/fire.py"]);
    check(
        "```\npython3 scripts/fire.py --cone 6 in.csv\n```",
        &["+ Script scripts/fire.py", "+ Flag --cone"],
    );
    check("```sh\npython \"$SKILL_DIR/scripts/cool.py\"\n```", &["+ Script scripts/cool.py"]);
    check("Read `references/glaze.md` for more.", &[]);
}

#[test]
fn files_columns_and_literals() {
    check("Write the result to `out/kiln.toml`.", &["+ File out/kiln.toml"]);
    check("Columns: `pot,shelf,cone`.", &["+ Column pot,shelf,cone"]);
    check(
        "The report has the columns `pot_id`, `shelf` and `cone`.",
        &["+ Column pot_id, shelf, cone", "+ Column pot_id", "+ Column shelf", "+ Column cone"],
    );
    check(
        "| code | meaning |\n|---|---|\n| K01 | cold |\n| K02 | hot |",
        &["+ Literal K01", "+ Literal K02"],
    );
    check(
        "The text is `Out of kiln`, the account `7777.25`.",
        &["+ Literal Out of kiln", "+ Literal 7777.25"],
    );
    check("Write \"cooling down\" as the status.", &["+ Literal cooling down"]);
}

#[test]
fn formats() {
    check("The id is `<pot>-<yyyymmdd>-<nn>`.", &["+ Format <pot>-<yyyymmdd>-<nn>"]);
    check(
        "Files are named `NNN_<kiln>_<shelf>.csv`: `007_north_2.csv`.",
        &["+ Format NNN_<kiln>_<shelf>.csv"],
    );
    check("Dates are `yyyymmdd`, other characters `\\u00e9`.", &["+ Format yyyymmdd", "+ Format \\u00e9"]);
    check("The shelf 42017 becomes `42.017`.", &["+ Format 42.017"]);
    check("Tables begin with `stg_`.", &["+ Format stg_"]);
}

#[test]
fn thresholds() {
    let found = only("A soak of more than 25 minutes is a new firing.");
    let near = ["soak", "minutes", "new", "firing"].map(str::to_owned).to_vec();
    assert_eq!((found.kind, found.subject.as_str()), (Kind::Threshold, "25 minutes"));
    assert_eq!(found.probe, Probe::Number { value: "25".to_owned(), near });
    check("- Labels are cut to 18.\n- `64KiB` is 65536 and 5MB is 5000000.", &["+ Threshold 18"]);
    check("| clay | limit |\n|---|---|\n| grog | at most 0.35 |", &["+ Threshold 0.35"]);
}

#[test]
fn orders() {
    let order = "+ Order scripts/fire.py before scripts/cool.py";
    let both = |order: &'static str| ["+ Script scripts/fire.py", order, "+ Script scripts/cool.py"];
    let has = |markdown: &str| {
        let found = shown(markdown);
        for expected in both(order) {
            assert!(found.iter().any(|line| line == expected), "{markdown}: {found:?}");
        }
    };
    has("Run `scripts/fire.py` before `scripts/cool.py`.");
    has("Run `scripts/fire.py`, then `scripts/cool.py`.");
    has("After `scripts/fire.py`, run `scripts/cool.py`.");
    has("Before `scripts/cool.py`, run `scripts/fire.py`.");
    has("## Steps\n\n1. Run `scripts/fire.py`.\n2. Wait.\n3. Run `scripts/cool.py`.");
    has("```sh\npython scripts/fire.py && python scripts/cool.py\n```");
    check(
        "Never run `kilnctl open --now` until `kilnctl cool --wait` is done.",
        &["+ Order kilnctl cool --wait before kilnctl open --now"],
    );
    check("Rows are sorted by shelf, then by cone.", &["+ Order shelf, cone"]);
}

#[test]
fn prohibitions_and_alternatives() {
    check("Never use `kiln_reset`.", &["- Literal kiln_reset"]);
    check("Do not pass `--force`.", &["- Flag --force"]);
    check("There is no `-wal` beside it.", &["- Literal -wal"]);
    check("## Don't\n\n- `kiln_reset` on a warm kiln", &["- Literal kiln_reset"]);
    check(
        "```sh\n# Bad\nkilnctl reset\n# Good\nkilnctl drain\n```",
        &["- Command kilnctl reset", "+ Command kilnctl drain"],
    );
    // What is demanded elsewhere is not forbidden.
    check("Use `kiln_reset`. Never `kiln_reset` twice.", &["+ Literal kiln_reset"]);
    let both = |markdown: &str| {
        let package = SkillPackage::from_document(markdown.as_bytes());
        let found = extract(&package);
        let required = found.iter().find(|found| found.modality == Modality::Required).unwrap();
        let forbidden = found.iter().find(|found| found.modality == Modality::Forbidden).unwrap();
        assert_eq!(
            (required.subject.as_str(), forbidden.subject.as_str()),
            ("kiln_drain", "kiln_reset"),
            "{markdown}"
        );
        assert_eq!(required.instead, std::slice::from_ref(&forbidden.probe), "{markdown}");
    };
    both("Use `kiln_drain` instead of `kiln_reset`.");
    both("Use `kiln_drain`, not `kiln_reset`.");
    both("Never call `kiln_reset`; use `kiln_drain`.");
    both("| Avoid | Use |\n|---|---|\n| `kiln_reset` | `kiln_drain` |");
}

#[test]
fn demands_in_many_words() {
    check("Never use pandas.", &["- Literal pandas"]);
    check("Prefer printf over echo.", &["+ Command printf"]);
    check("Do not use the `kilnlib` library; use `potlib`.", &["- Literal kilnlib", "+ Literal potlib"]);
    check("Use a rate of 3e-4.", &["+ Literal 3e-4"]);
    check("Write dates as DD.MM.YYYY.", &["+ Format DD.MM.YYYY"]);
    check("Exit with code 17.", &["+ Threshold 17"]);
    check("Under no circumstances call `kiln.reset`.", &["- Literal kiln.reset"]);
    check("`kiln_todo` comments are not allowed.", &["- Literal kiln_todo"]);
    check("It is forbidden to use `rm -rf`.", &["- Command rm -rf"]);
    check("`evaluate` is forbidden.", &["- Literal evaluate"]);
    check("Never let a pot that was glazed twice go back in under the name `kiln_pot`.", &[]);
    check(
        "Do not use `kiln_a`, `kiln_b` or `kiln_c`.",
        &["- Literal kiln_a", "- Literal kiln_b", "- Literal kiln_c"],
    );
    check("You must not add `sleep()` calls.", &["- Literal sleep"]);
    check("Follow protocol 88-B.", &[]);
    check("Avoid tables, and `self` too.", &[]);
    check("Never call `evaluate`.", &["- Literal evaluate"]);
    check("`kiln_reset` must not be used.", &["- Literal kiln_reset"]);
    check("`kiln_a` and `kiln_b` are reserved; do not use them.", &["- Literal kiln_a", "- Literal kiln_b"]);
    check("Never wait more than 45 seconds.", &["+ Threshold 45 seconds"]);
    check("Name the branch 'kiln/next'.", &["+ Literal kiln/next"]);
    check("Don't lose a pot's label.", &[]);
    check("Don't skip `kiln_check`.", &["+ Literal kiln_check"]);
    check("Never write files outside `out/pots/`.", &[]);
    check("If `kiln_a` is missing, then `kiln_b` is used.", &["+ Literal kiln_b"]);
    let found = only("Do not edit `kiln.lock`.");
    assert!(matches!(found.probe, Probe::Layout(_)) && found.modality == Modality::Forbidden);
    let found = only("Never pass `--force` on shared shelves.");
    assert_eq!(found.condition.as_deref(), Some("on shared shelves"));
    let order = "+ Order kilnctl drain --all before kilnctl cool --all".to_owned();
    assert!(shown("Run `kilnctl drain --all`. Then run `kilnctl cool --all`.").contains(&order));
    let files = "Do this in order:\n\n1. Write `out/a.csv`.\n2. Write `out/b.csv`.";
    assert!(shown(files).contains(&"+ Order out/a.csv before out/b.csv".to_owned()));
    check("| glaze | cone |\n|---|---|\n| ash | 104 |", &["+ Threshold 104"]);
    check(
        "`soak_minutes` is 216 for stoneware, 96 for raku.",
        &["+ Literal soak_minutes", "+ Threshold 216", "+ Threshold 96"],
    );
    check("```\nsalt   weight x 0.85\n```", &["+ Threshold 0.85"]);
    check("| result | meaning |\n|---|---|\n| `cracked` | thrown away |", &["+ Literal cracked"]);
    check("Set the flag `u` on it.", &["+ Literal u"]);
}

#[test]
fn conditions() {
    let check = |markdown: &str, expected: Option<&str>| {
        assert_eq!(only(markdown).condition.as_deref(), expected, "{markdown}");
    };
    check("Write `kiln_cold`.", None);
    check("If the door is open, write `kiln_cold`.", Some("If the door is open"));
    check("Write `kiln_cold` when the door is open.", Some("when the door is open"));
    check("## For stoneware\n\nWrite `kiln_cold`.", Some("For stoneware"));
    check("When the door is open:\n\n- write `kiln_cold`", Some("When the door is open"));
    check("| when | write |\n|---|---|\n| the door is open | `kiln_cold` |", Some("the door is open"));
    let found = only("If `door.lock` is missing, write `kiln_cold`.");
    assert_eq!(found.applies, Some(Probe::Text("door.lock".to_owned())));
}

#[test]
fn code_gives_examples() {
    check(
        "Like so.\n\n```python\nimport kilnlib\nkilnlib.fire_all(cone=6, mode=\"slow\")\n```",
        &["~ Literal kilnlib", "~ Literal kilnlib.fire_all", "~ Literal cone=6", "~ Literal mode=slow"],
    );
    check("```yaml\nsoak_policy: slow\nname: north\n```", &["~ Literal soak_policy: slow"]);
    check("```sql\nBEGIN IMMEDIATE;\n```", &["~ Literal BEGIN IMMEDIATE"]);
    check("```java\n@KilnTest\nvoid fires() {}\n```", &["~ Literal @KilnTest"]);
    check(
        "```markdown\n# Firing report\n## Shelf losses\n```",
        &["+ Literal Firing report", "+ Literal Shelf losses"],
    );
    check("```mermaid\nkiln_a --> kiln_b\n```", &[]);
}

#[test]
fn a_subject_counts_once_and_a_demand_goes_before_an_example() {
    let found =
        only("```python\nkiln_fire_all()\n```\n\nCall `kiln_fire_all` once, and `kiln_fire_all` again.");
    assert_eq!((found.example, found.line), (false, 8));
}

#[test]
fn other_documents_count_with_their_lines() {
    let mut package = SkillPackage::from_document(b"---\nname: k\n---\nWrite `kiln_a1`.\n");
    let file = |path: &str, text: &str| SkillFile { path: path.to_owned(), text: text.to_owned() };
    package.files.push(file("references/more.md", "# More\n\nWrite `kiln_b2`.\n"));
    package.files.push(file("scripts/x.py", "print('kiln_c3')\n"));
    let found: Vec<_> = extract(&package).into_iter().map(|d| (d.file, d.line, d.text)).collect();
    let line = |file: &str, line: usize, text: &str| (file.to_owned(), line, text.to_owned());
    assert_eq!(
        found,
        [line("SKILL.md", 4, "Write `kiln_a1`."), line("references/more.md", 3, "Write `kiln_b2`.")]
    );
}

#[test]
fn the_number_of_directives_is_bounded() {
    let many: String = (0..3000).map(|at| format!("- Write `kiln_code_{at}`.\n")).collect();
    assert_eq!(extract(&SkillPackage::from_document(many.as_bytes())).len(), DIRECTIVES);
}

#[test]
fn work_grows_with_the_length_of_a_skill() {
    let pieces = [
        "never `a_b` not \"x y\" if (",
        "| `a_b` | 3 minutes |\n|---|---|\n",
        "1. Run `k a --b` before `c`.\n",
        "<a_b>-",
        "```sh\n",
        "a.b(",
        "`` ` ",
        "do not use 5 or more, ",
        "sorted by a, b, ",
    ];
    for piece in pieces {
        let text = piece.repeat((64 << 10) / piece.len());
        let started = Instant::now();
        let _ = extract(&SkillPackage::from_document(text.as_bytes()));
        assert!(started.elapsed() < Duration::from_secs(30), "{piece}: {:?}", started.elapsed());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_skill(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = extract(&SkillPackage::from_document(&bytes));
    }

    #[test]
    fn any_markdown_gives_the_same_directives_twice(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "`", "```sh\n", "```python\n", "\n", "| ", "|---|", " never ", "do not ", "use ", "`a_b`", "`--c d`", "<x>", "{y}", "é", "“", "”",
                "\"", "1. ", "- ", "# ", "If ", ", ", ". ", "20 minutes", "0.05", "ß", "…", "`k l --m`", "x.y(", "yyyy-mm-dd", "before ", "then ",
                "**", "日本", "`NN_*`", " is ", "sorted by ", "a, b", "(", ")", "\u{0}", "\\u00e9", "=", ": ",
            ]),
            0..40,
        )
    ) {
        let package = SkillPackage::from_document(pieces.concat().as_bytes());
        let found = extract(&package);
        for directive in &found {
            check_regexes(&directive.probe);
            prop_assert!(directive.line >= 1 && !directive.subject.is_empty());
        }
        prop_assert_eq!(found, extract(&package));
    }
}
