//! Faults of drafted tasks.

use assay_draft::proposal::TaskFile;
use assay_draft::review::{Reference, review};

const SKILL: &str = "# Ledger\n\nAmounts in the export are always in minor units of the currency.\n\nExample: read the file \
sales.csv and write the total of each region as a table with two columns to totals.csv.\n";

const INSTRUCTION: &str = "The file /app/export.csv has the sales of a week. Write the revenue of each shop in euros, with two \
decimals, to /app/revenue.json, an object with the name of the shop as key.\n";

fn codes(instruction: &str, others: &[(&str, &str)], more: &[(&str, &str)]) -> Vec<String> {
    let mut files = vec![TaskFile { path: "instruction.md".to_owned(), text: instruction.to_owned() }];
    files.extend(
        more.iter().map(|(path, text)| TaskFile { path: (*path).to_owned(), text: (*text).to_owned() }),
    );
    let others: Vec<_> = others.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let reference = Reference { skills: &[("ledger", SKILL)], examples: &[], others: &others };
    review(&files, &reference).into_iter().map(|fault| fault.code).collect()
}

#[test]
fn leaks_and_repetitions_are_found() {
    let check = |instruction: &str, others: &[(&str, &str)], expected: &[&str]| {
        assert_eq!(codes(instruction, others, &[]), expected, "{instruction}");
    };
    check(INSTRUCTION, &[("other", "Sort the lines of /app/in.txt.")], &[]);
    let leak =
        format!("{INSTRUCTION}Note: amounts in the export are ALWAYS in minor units of the currency!\n");
    check(&leak, &[], &["copied-line"]);
    let example =
        "Read the file sales.csv and write the total of each region as a table with two columns to sums.csv.";
    check(example, &[], &["near-duplicate"]);
    check(INSTRUCTION, &[("again", &INSTRUCTION.replace("week", "month"))], &["near-duplicate"]);
}

#[test]
fn more_than_one_text_search_is_a_fault() {
    let check = |name: &str, tests: &str, expected: &[&str]| {
        assert_eq!(codes(INSTRUCTION, &[], &[(name, tests)]), expected, "{tests}");
    };
    let searches = &["text-searches"];
    check("tests/test.sh", "# grep\ngrep -q a /app/x && echo 1\n", &[]);
    check("tests/test.sh", "grep -q a /app/x\nif ! grep -q b /app/x; then\n  echo 0\nfi\n", searches);
    let one = "def test_a():\n    text = open('x').read()\n    assert 'a' in text\n    assert 'b' in text\n";
    check("tests/check.py", one, &[]);
    check("tests/check.py", &format!("{one}\ndef test_b():\n    assert \"c\" not in text\n"), searches);
    let compared = "def test_b():\n    rows = list(csv.reader(f))\n    assert 'a' in rows[0]\n    assert rows[1] == ['1']\n";
    check("tests/check.py", &format!("{one}\n{compared}"), &[]);
    check(
        "tests/check.py",
        "ok = 'a' in text\nalso = re.search('b', text)\nfor x in 'a', 'b':\n    pass\n",
        searches,
    );
    let helper = "def numbers(line):\n    return re.findall('[0-9]+', line)\n\ndef posts():\n    return [p for p in log() if 'text' in p]\n";
    check("tests/check.py", &format!("{helper}\n{one}"), &[]);
    let main = "def main():\n    reward['a'] = 'a' in text\n    reward['b'] = 'b' in text\n";
    check("tests/check.py", &format!("{helper}\n{main}"), searches);
    check("tests/data.txt", "grep grep\ngrep\n", &[]);
}

#[test]
fn defects_of_a_rubric_are_faults() {
    let rubric = |text: &str| {
        format!(
            r#"{{"schema": "assay.rubric/1", "sets": [{{"name": "quality", "items": [{{"id": "a", "text": "{text}", "points": 1}}]}}]}}"#
        )
    };
    let check = |text: &str, expected: &[&str]| {
        assert_eq!(codes(INSTRUCTION, &[], &[("tests/rubric.json", text)]), expected, "{text}");
    };
    check("{}", &["rubric"]);
    check(&rubric("The revenue of each shop is in euros, with two decimals"), &["rubric-in-task"]);
    check(&rubric("A comment in the program explains why rounding happens last"), &[]);
}
