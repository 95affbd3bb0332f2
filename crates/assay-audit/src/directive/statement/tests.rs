use super::*;
use crate::directive::SkillFile;

fn package(files: &[(&str, &str)]) -> SkillPackage {
    let files =
        files.iter().map(|(path, text)| SkillFile { path: (*path).to_owned(), text: (*text).to_owned() });
    SkillPackage { name: "kiln".to_owned(), description: String::new(), files: files.collect() }
}

fn shown(statement: &Statement) -> String {
    let range = |(first, last): &(usize, usize)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    let lines: Vec<String> = statement.lines.iter().map(range).collect();
    format!("{} {}", lines.join(","), statement.text)
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let found = read_statements(&package(&[("SKILL.md", text)]));
    let found: Vec<String> = found.statements.iter().map(shown).collect();
    assert_eq!(found, expected);
}

#[test]
fn sentences_that_tell_are_statements_and_descriptions_are_none() {
    check(
        "# T\n\n## Firing\n\nKilns are hot. Heat the pots to 1,040 degrees. Never open the lid.\nThe lid is heavy.\n",
        &["5 Heat the pots to 1,040 degrees.", "5 Never open the lid."],
    );
    check(
        "# T\n\n## Firing\n\nIf a pot cracks, log it in `cracks.csv`.\n",
        &["5 If a pot cracks, log it in cracks.csv."],
    );
    check("# T\n\n## Overview\n\nThis skill fires pots in `kilns`.\n", &[]);
    check("# T\n\n## Resources\n\n- Read the whole manual.\n", &[]);
    check("# T\n\n## Glazing\n\nSee the [guide](guide.md) for all colors.\n", &[]);
}

#[test]
fn items_are_statements_and_lists_of_names_are_one() {
    check(
        "# T\n\n## Rules\n\n1. **Weigh.** Weigh each pot before it is fired and after it has cooled down.\n2. Pots that are thicker than a thumb dry for two weeks.\n",
        &[
            "5 Weigh. Weigh each pot before it is fired and after it has cooled down.",
            "6 Pots that are thicker than a thumb dry for two weeks.",
        ],
    );
    check(
        "# T\n\nPots are always dry.\n\n- Name the log `a.txt`.\n- Weigh all pots.\n",
        &["3 Pots are always dry.", "5 Name the log a.txt.", "6 Weigh all pots."],
    );
    check(
        "# T\n\n## Rules\n\nKeep away from the kiln:\n\n- children\n- wet clay\n\nThen wait.\n",
        &["5,7-8 Keep away from the kiln: children; wet clay", "10 Then wait."],
    );
}

#[test]
fn rows_are_statements_if_they_fix_something() {
    check(
        "# T\n\n## Cones\n\n| Clay | Cone |\n|---|---|\n| stoneware | cone 6 |\n| other | unknown |\n",
        &["7 stoneware | cone 6"],
    );
    check(
        "# T\n\n## Faults\n\n| When | Do |\n|---|---|\n| a pot cracks | tell the potter |\n",
        &["7 a pot cracks | tell the potter"],
    );
}

#[test]
fn commands_are_statements_and_templates_are_one() {
    check(
        "# T\n\n## Run\n\n```sh\n# Start.\ncd kiln\nkiln fire --cone 6 \\\n  --slow\necho \"== Done ==\"\n```\n",
        &["8-9 kiln fire --cone 6 --slow", "10 echo \"== Done ==\""],
    );
    check(
        "# T\n\n## Log\n\nWrite the log in this form:\n\n```\nPot: NAME\nCone: N\n```\n",
        &["5,8-9 Write the log in this form:"],
    );
}

#[test]
fn front_matter_is_left_out_and_quotes_are_on_their_lines() {
    let text = "---\nname: kiln\ndescription: Always fire pots.\n---\n# T\n\n## Firing\n\n- **Never** open the `lid` of a kiln that is still hot.\n";
    let found = read_statements(&package(&[("SKILL.md", text)]));
    let [statement] = &found.statements[..] else { panic!("{found:?}") };
    let line = text.lines().nth(statement.lines[0].0 - 1).unwrap();
    assert!(!statement.quote.is_empty() && line.contains(&statement.quote), "{statement:?}");
    assert_eq!(statement.lines, [(9, 9)]);
}

#[test]
fn a_long_package_has_fewer_statements_for_its_length_and_references_are_joined_first() {
    let rules = |count: usize, section: &str| {
        let items: String =
            (0..count).map(|at| format!("- Fire the pot number {at} only after all the others.\n")).collect();
        format!("## {section}\n\n{items}\n")
    };
    let main = format!("# T\n\n{}", rules(10, "Main"));
    let reference: String = (0..12).map(|at| rules(20, &format!("Part {at}"))).collect();
    let found = read_statements(&package(&[("SKILL.md", &main), ("references/parts.md", &reference)]));
    let of_main = found.statements.iter().filter(|statement| statement.file == "SKILL.md").count();
    assert_eq!((of_main, found.statements.len() <= STATEMENTS), (10, true), "{}", found.statements.len());
    let joined = found.statements.iter().find(|statement| statement.file == "references/parts.md").unwrap();
    assert_eq!(joined.lines, [(3, 22)], "{joined:?}");
}

#[test]
fn what_exceeds_the_limit_is_left_out_by_whole_lines() {
    let line = format!("- Fire the pot {} before all others.\n", "x".repeat(1000));
    let long = line.repeat(DOCUMENT_BYTES / line.len() + 5);
    let package = package(&[("SKILL.md", &long), ("a.md", "Fire it.\n"), ("b.py", "x\n")]);
    let found = read_statements(&package);
    let read: Vec<(&str, usize, usize)> = found
        .documents
        .iter()
        .map(|document| (document.file.as_str(), document.lines, document.read_to))
        .collect();
    let lines = DOCUMENT_BYTES / line.len();
    assert_eq!(read, [("SKILL.md", lines + 5, lines), ("a.md", 1, 0)]);
    assert!(found.statements.iter().all(|statement| statement.lines.last().unwrap().1 <= lines));
}

#[test]
fn any_text_is_read() {
    for text in [
        "",
        "---",
        "# ",
        "|",
        "```",
        "- \n- \n",
        "```sh\n\\\n```",
        "**:**",
        "1. a:\n   - b\n   - c\n",
        "\u{feff}# é\n\nNever “é”.\n",
    ] {
        read_statements(&package(&[("SKILL.md", text)]));
    }
    assert_eq!(read_statements(&SkillPackage::default()), Statements::default());
}
