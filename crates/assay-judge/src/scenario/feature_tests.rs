//! What becomes of each feature of the nine formats: it is resolved as the tool resolves it, refused or noted with its
//! line. Nothing of it becomes the text of an item or of an instruction.

use std::fs;

use super::*;

/// What becomes of a feature.
enum Expected {
    /// A text that an item, the instruction or the context has.
    Text(&'static str),
    /// A part of a reason for which it is refused.
    Refused(&'static str),
    /// A part of a note.
    Noted(&'static str),
}

use Expected::{Noted, Refused, Text};

/// Everything that tools resolve.
const LITERAL: [&str; 5] = ["file://", "{{", "{%", "${", "{criteria}"];

fn check(format: &str, feature: &str, files: &[(&str, &str)], expected: &Expected) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let found = find(folder.path()).unwrap();
    let mut texts: Vec<&str> = Vec::new();
    for scenario in &found.scenarios {
        texts.extend(scenario.rubric.all().map(|item| item.text.as_str()));
        texts.extend(scenario.rubric.context.as_deref());
        texts.extend(scenario.instruction.as_deref());
    }
    for text in &texts {
        assert!(!LITERAL.iter().any(|literal| text.contains(literal)), "{format}, {feature}: {text}");
    }
    let notes: Vec<&str> =
        found.scenarios.iter().flat_map(|scenario| &scenario.notes).map(String::as_str).collect();
    let reasons: Vec<&str> = found.refused.iter().map(|refused| refused.reason.as_str()).collect();
    let (part, among) = match expected {
        Text(part) => (part, &texts),
        Refused(part) => (part, &reasons),
        Noted(part) => (part, &notes),
    };
    let shown =
        format!("{format}, {feature}: no {part:?}\ntexts {texts:?}\nnotes {notes:?}\nrefused {reasons:?}");
    assert!(among.iter().any(|text| text.contains(part)), "{shown}");
}

/// A format with a file that has the feature in the place of `FEATURE`, and files beside it.
struct Layout {
    format: &'static str,
    file: &'static str,
    text: &'static str,
    others: &'static [(&'static str, &'static str)],
}

impl Layout {
    fn check(&self, feature: &str, value: &str, expected: &Expected) {
        let text = self.text.replace("FEATURE", value);
        let mut files = vec![(self.file, text.as_str())];
        files.extend(self.others);
        check(self.format, feature, &files, expected);
    }
}

const BESIDE: [(&str, &str); 2] = [("tone.txt", "It is kind.\n"), ("deep/tone.md", "It is calm.\n")];

/// A criterion of each format, in the third line of its file.
const CRITERIA: [Layout; 9] = [
    Layout {
        format: "tessl",
        file: "evals/a/criteria.json",
        text: "{\"context\": \"c\",\n\"checklist\": [{\"name\": \"n\", \"max_score\": 100,\n\"description\": \"FEATURE\"}]}",
        others: &[("evals/a/task.md", "Do it.")],
    },
    Layout {
        format: "tessl-criteria",
        file: "evals/a/criteria.json",
        text: "{\"name\": \"n\",\n\"criteria\": [{\"id\": \"n\", \"weight\": 100,\n\"description\": \"FEATURE\"}]}",
        others: &[("evals/a/task.md", "Do it.")],
    },
    Layout {
        format: "skill-creator",
        file: "evals/evals.json",
        text: "{\"skill_name\": \"s\",\n\"evals\": [{\"prompt\": \"Do it.\",\n\"expectations\": [\"FEATURE\"]}]}",
        others: &[],
    },
    Layout {
        format: "waza",
        file: "eval.yaml",
        text: "skill: s\ntasks: [{id: 1, prompt: Do it., graders: [{type: prompt, name: g, config: {prompt:\n  'FEATURE'}}]}]\n",
        others: &[],
    },
    Layout {
        format: "dotnet",
        file: "eval.yaml",
        text: "scenarios:\n- {name: a, prompt: Do it.,\n   rubric: ['FEATURE']}\n",
        others: &[],
    },
    Layout {
        format: "devai",
        file: "a.json",
        text: "{\"name\": \"t\", \"query\": \"Do it.\",\n\"requirements\": [{\"requirement_id\": 0,\n\"criteria\": \"FEATURE\"}]}",
        others: &[],
    },
    Layout {
        format: "paperbench",
        file: "a.json",
        text: "{\"id\": \"r\", \"requirements\": \"all\", \"weight\": 1,\n\"sub_tasks\": [{\"id\": \"a\", \"weight\": 1, \"sub_tasks\": [],\n\"requirements\": \"FEATURE\"}]}",
        others: &[],
    },
    Layout {
        format: "rewardkit",
        file: "tests/judge.toml",
        text: "[judge]\n[[criterion]]\ndescription = \"FEATURE\"\n",
        others: &[("instruction.md", "Do it.")],
    },
    Layout {
        format: "promptfoo",
        file: "promptfooconfig.yaml",
        text: "prompts: [Do it.]\ntests:\n  - assert: [{type: llm-rubric, value: 'FEATURE'}]\n",
        others: &BESIDE,
    },
];

#[test]
fn no_reference_becomes_a_criterion() {
    for layout in &CRITERIA {
        layout.check("a text", "It is short.", &Text("It is short."));
        let is_promptfoo = layout.format == "promptfoo";
        for (feature, value) in [
            ("a reference", "file://tone.txt"),
            ("a reference to a folder", "file://deep/tone.md"),
            ("a missing file", "file://none.txt"),
            ("an absolute path", "file:///etc/hostname"),
            ("a path out of the folder", "file://../tone.txt"),
        ] {
            let expected = match feature {
                "a reference" if is_promptfoo => Text("It is kind."),
                "a reference to a folder" if is_promptfoo => Text("It is calm."),
                _ => Refused("line 3: \"file://"),
            };
            layout.check(feature, value, &expected);
        }
        let template =
            if is_promptfoo || layout.format == "waza" { "line 3: " } else { "line 3: \"{{ rubric }}\"" };
        layout.check("a template", "{{ rubric }}", &Refused(template));
        if !is_promptfoo {
            layout.check("a variable", "${RUBRIC}", &Refused("line 3: \"${RUBRIC}\" is a reference"));
            layout.check("an at-file", "@rubrics/tone.txt", &Refused("line 3: \"@rubrics/tone.txt\""));
            layout.check(
                "the name of a file",
                "rubrics/tone.yaml",
                &Refused("line 3: \"rubrics/tone.yaml\""),
            );
        }
    }
}

#[test]
fn keys_that_are_not_read_are_named_with_their_line() {
    let rewrite =
        |text: &str, from: &str, to: &str| text.replacen(from, to, 1).replace("FEATURE", "It is short.");
    for layout in &CRITERIA {
        let (from, to) = match layout.format {
            "waza" | "dotnet" | "promptfoo" => ("tests:", "novel: 1\ntests:"),
            "rewardkit" => ("[judge]", "[judge]\nnovel = 1"),
            _ => ("{", "{\"novel\": 1,\n"),
        };
        let (from, to) = match layout.format {
            "waza" => ("tasks:", "novel: 1\ntasks:"),
            "dotnet" => ("scenarios:", "novel: 1\nscenarios:"),
            _ => (from, to),
        };
        let text = rewrite(layout.text, from, to);
        let mut files = vec![(layout.file, text.as_str())];
        files.extend(layout.others);
        let expected = match layout.format {
            "rewardkit" => Refused("line 2: `novel` is no key of `[judge]`"),
            "waza" | "promptfoo" => Noted("keys that are not read: `novel` (line 2)"),
            _ => Noted("keys that are not read: `novel` (line 1)"),
        };
        check(layout.format, "an unknown key", &files, &expected);
    }
}

#[test]
fn features_of_promptfoo() {
    let base = |text: &str, expected: &Expected, feature: &str| {
        let mut files = vec![("promptfooconfig.yaml", text)];
        files.extend(BESIDE);
        files.push(("prompts/two.txt", "Say {{word}}.\n---\nSing {{word}}.\n"));
        check("promptfoo", feature, &files, expected);
    };
    let test = "\ntests:\n  - vars: {word: [ping, pong]}\n    assert: [{type: llm-rubric, value: 'Says {{word | upper}}'}]\n";
    for (feature, text, expected) in [
        ("a matrix", format!("prompts: ['Say {{{{word}}}}']{test}"), Text("Say pong")),
        ("a filter", format!("prompts: ['Say {{{{word}}}}']{test}"), Text("Says PONG")),
        ("a prompt file", format!("prompts: [prompts/two.txt]{test}"), Text("Say ping.")),
        ("prompts of a file", format!("prompts: file://prompts/two.txt{test}"), Noted("1 other prompt is left out")),
        ("a missing prompt", format!("prompts: [prompts/none.txt]{test}"), Refused("line 1: \"prompts/none.txt\"")),
        ("a program", format!("prompts: [file://make.py]{test}"), Refused("line 1: \"file://make.py\"")),
        ("a tag", format!("prompts: ['{{% if word %}}x{{% endif %}}']{test}"), Refused("line 1: the prompt")),
        ("a comment", format!("prompts: ['{{# why #}}Say it']{test}"), Refused("line 1: the prompt")),
        ("an environment", format!("prompts: ['{{{{ env.KIND }}}}']{test}"), Refused("line 1: the prompt")),
        ("several prompts", format!("prompts: [a, b, c]{test}"), Noted("line 1: the first prompt is used; 2 other")),
        (
            "a template of assertions",
            "prompts: [p]\nassertionTemplates: {kind: {type: llm-rubric, value: Be kind.}}\ntests: [{assert: [{$ref: '#/assertionTemplates/kind'}]}]".to_owned(),
            Text("Be kind."),
        ),
        (
            "another file's template",
            "prompts: [p]\ntests: [{assert: [{$ref: 'other.yaml#/kind'}]}]".to_owned(),
            Refused("line 2: `$ref` refers to"),
        ),
        (
            "a reference to itself",
            "prompts: [p]\na: {$ref: '#/a'}\ntests: []".to_owned(),
            Refused("line 2: `$ref` refers to"),
        ),
        ("text around the prompt", format!("prompts: ['Say {{{{word}}}}']\ndefaultTest: {{options: {{prefix: 'Please. '}}}}{test}"), Text("Please. Say ping")),
        ("a transform", format!("prompts: [p]\ndefaultTest: {{options: {{transform: output.trim()}}}}{test}"), Refused("line 2: `transform` changes")),
        ("a judge's prompt", format!("prompts: [p]\ndefaultTest: {{options: {{rubricPrompt: x}}}}{test}"), Noted("`rubricPrompt` (line 2)")),
        ("lists that are kept", format!("prompts: ['{{{{word}}}}']\ndefaultTest: {{options: {{disableVarExpansion: true}}}}{test}"), Refused("the variable `word` is a list")),
        ("a threshold", "prompts: [p]\ntests:\n  - threshold: 0.5\n    assert: [{type: llm-rubric, value: Kind.}]".to_owned(), Noted("line 3: `threshold: 0.5` of the test")),
        ("another provider", "prompts: [p]\ntests:\n  - assert: [{type: llm-rubric, value: Kind., provider: q}]".to_owned(), Noted("`provider` (line 3)")),
        ("an assertion's transform", "prompts: [p]\ntests:\n  - assert: [{type: llm-rubric, value: Kind.}, {type: llm-rubric, value: x, transform: y}]".to_owned(), Noted("llm-rubric with `transform` (line 3)")),
        ("a repeated key", "prompts: [p]\nprompts: [q]\ntests: []".to_owned(), Refused("prompts")),
        ("test files", "prompts: [p]\ntests: file://all.csv".to_owned(), Refused("line 2: `tests` refers to \"file://all.csv\"")),
        ("scenarios", "prompts: [p]\ntests: []\nscenarios: []".to_owned(), Refused("line 3: `scenarios`")),
    ] {
        base(&text, &expected, feature);
    }
}

#[test]
fn features_of_the_other_formats() {
    let criterion = "[[criterion]]\ndescription = \"It is short.\"\n";
    let rewardkit = |head: &str, feature: &str, expected: &Expected| {
        let text = format!("{head}\n{criterion}");
        let files = [
            ("instruction.md", "Do it."),
            ("tests/judge.toml", text.as_str()),
            ("tests/preamble.md", "You are strict.\n{criteria}\n"),
            ("tests/bare.md", "You are strict.\n"),
        ];
        check("rewardkit", feature, &files, expected);
    };
    rewardkit("[judge]\nprompt_template = \"preamble.md\"", "a preamble", &Text("You are strict."));
    rewardkit(
        "[judge]\nprompt_template = \"bare.md\"",
        "no placeholder",
        &Refused("line 2: `prompt_template`"),
    );
    rewardkit("[judge]\nprompt_template = \"../x.md\"", "an escape", &Refused("line 2: `prompt_template`"));
    rewardkit(
        "[judge]\nprompt_template = \"/etc/x.md\"",
        "an absolute path",
        &Refused("line 2: `prompt_template`"),
    );
    rewardkit(
        "[judge]\nreference = \"/tests/a.md\"",
        "a reference solution",
        &Noted("line 2: the reference"),
    );
    rewardkit(
        "[scoring]\naggregation = \"weighted-sum\"\n[judge]",
        "an aggregation",
        &Refused("line 2: the aggregation"),
    );
    rewardkit("[judge]\nsamples = 3", "settings of the judge", &Text("It is short."));
    rewardkit("[novel]\nx = 1\n[judge]", "a table", &Refused("novel"));

    let waza = |task: &str, feature: &str, expected: &Expected| {
        let text = format!("inputs: {{who: a child}}\nskill: s\n{task}");
        check("waza", feature, &[("eval.yaml", text.as_str())], expected);
    };
    let task = |prompt: &str, grader: &str| {
        format!(
            "tasks:\n  - id: 1\n    prompt: '{prompt}'\n    graders: [{{type: prompt, name: g, config: {grader}}}]\n"
        )
    };
    let kind = "{prompt: Be kind.}";
    waza(&task("Ask {{ .Vars.who }}", kind), "an input", &Text("Ask a child"));
    waza(&task("Ask {{.JobID}}", kind), "another variable", &Refused("line 5: the template \"{{.JobID}}\""));
    waza(&task("Ask", "{prompt: 'For {{.Vars.none}}'}"), "no input", &Refused("line 6: the template"));
    waza("tasks_from: rows.csv\n", "rows of a file", &Refused("line 3: `tasks_from`"));
    waza(
        &task("Ask", "{prompt: Kind., threshold: 0.5}"),
        "a threshold",
        &Noted("settings of g that are not used: `threshold`"),
    );
    waza(&task("Ask", "{prompt: Kind., mode: pairwise}"), "pairs", &Refused("no requirement"));
    waza(
        &format!("{}    expected: {{outcomes: [x]}}\n", task("Ask", kind)),
        "outcomes",
        &Noted("`outcomes` (line 7)"),
    );
    check(
        "dotnet",
        "setup",
        &[(
            "eval.yaml",
            "scenarios:\n- {name: a, prompt: p, rubric: [Short.], expect_tools: [x], setup: {files: []}}\n",
        )],
        &Noted("`expect_tools` (line 2)"),
    );
    check(
        "tessl",
        "a repeated key",
        &[
            ("evals/a/criteria.json", "{\"context\": \"a\",\n\"context\": \"b\", \"checklist\": []}"),
            ("evals/a/task.md", "x"),
        ],
        &Refused("duplicate field `context` at line 2"),
    );
}

#[test]
#[cfg(unix)]
fn references_follow_no_links() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    fs::create_dir(&inside).unwrap();
    fs::write(folder.path().join("secret.txt"), "Outside.").unwrap();
    std::os::unix::fs::symlink(folder.path().join("secret.txt"), inside.join("tone.txt")).unwrap();
    let config = "prompts: [p]\ntests: [{assert: [{type: llm-rubric, value: file://tone.txt}]}]";
    fs::write(inside.join("promptfooconfig.yaml"), config).unwrap();
    let found = find(&inside).unwrap();
    assert!(found.scenarios.is_empty(), "{found:?}");
    assert!(found.refused[0].reason.contains("line 2: \"file://tone.txt\""), "{found:?}");
}
