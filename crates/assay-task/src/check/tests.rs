//! A made task for each rule that fires, and one for which it does not.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use assay_skill::Package;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const TOML: &str =
    "schema_version = \"1.4\"\n[task]\nname = \"group/sums\"\n[metadata.assay]\nfew_tests = \"one sum\"\n";
const INSTRUCTION: &str = "`data.csv` holds amounts, one on a line.\n\nWrite their sum to `/app/out/sum.json`: an object with the key `sum`, \
    which must be a number with two decimals.\n";
const TEST: &str = "#!/bin/bash\ngrep -q '\"sum\"' /app/out/sum.json\n";
const SOLVE: &str = "#!/bin/bash\nawk -f add.awk data.csv > /app/out/sum.json\n";

/// A task without findings, with changes.
fn make_task(changes: &[(&str, &str)]) -> (TempDir, PathBuf) {
    let temp = TempDir::new().unwrap();
    let root = temp.path().join("sums");
    let plain = [
        ("task.toml", TOML),
        ("instruction.md", INSTRUCTION),
        ("environment/Dockerfile", "FROM python:3.12-slim\nWORKDIR /app\nCOPY data.csv .\n"),
        ("environment/data.csv", "1.50\n2.25\n"),
        ("tests/test.sh", TEST),
        ("solution/solve.sh", SOLVE),
    ];
    for (path, text) in plain.iter().chain(changes) {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        if Path::new(path).extension().is_some_and(|ending| ending == "sh") {
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    (temp, root)
}

fn findings(changes: &[(&str, &str)], context: &Context<'_>) -> Vec<Finding> {
    let (_temp, root) = make_task(changes);
    super::check(&Task::load(&root).unwrap(), context)
}

/// The findings of one code, as `level line message`.
fn of(changes: &[(&str, &str)], code: &str) -> Vec<String> {
    let found = findings(changes, &Context { all_rules: true, ..Context::default() });
    let line = |finding: &Finding| finding.line.map_or(String::new(), |line| format!("{line} "));
    let one = |finding: &Finding| format!("{} {}{}", finding.word(), line(finding), finding.message);
    found.iter().filter(|finding| finding.code == code).map(one).collect()
}

/// Checks for one finding of a code whose text contains a part; for none if the part is empty.
fn check(code: &str, changes: &[(&str, &str)], part: &str) {
    let found = of(changes, code);
    if part.is_empty() {
        assert_eq!(found, [""; 0], "{code}: {changes:?}");
    } else {
        assert!(found.iter().any(|finding| finding.contains(part)), "{code}: {changes:?}: {found:?}");
    }
}

const SKILL: &str = "environment/skills/adder-kit/SKILL.md";

fn skill(body: &str) -> String {
    format!("---\nname: adder-kit\ndescription: Adds.\n---\n{body}\n")
}

#[test]
fn a_good_task_has_no_findings() {
    assert_eq!(findings(&[], &Context::default()), []);
    assert_eq!(verdict(&[], false), Verdict::Ok);
    assert_eq!(findings(&[(SKILL, &skill("Add the amounts."))], &Context::default()), []);
}

#[test]
fn rule_names_are_unique() {
    let mut codes: Vec<&str> = TASK_RULES.iter().map(|rule| rule.code).collect();
    let all = codes.len();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), all);
}

/// Nine notes of one kind once pushed a failure of another out of the twelve that are shown, and
/// the verdict with it.
#[test]
fn many_notes_do_not_hide_a_failure() {
    let copies: String = (0..20).map(|number| format!("COPY skills /root/.agent{number}/skills\n")).collect();
    let docker = format!("FROM python:3.12-slim\nWORKDIR /app\nCOPY data.csv .\nRUN true\n{copies}");
    let compose = "services:\n  main:\n    build: .\n    privileged: true\n    volumes: [\"/:/host\"]\n";
    let changes = [
        ("environment/Dockerfile", docker.as_str()),
        ("environment/docker-compose.yaml", compose),
        (SKILL, &skill("Add the amounts.")),
    ];
    let found = findings(&changes, &Context::default());
    assert_eq!(verdict(&found, false), Verdict::Fail, "{found:#?}");
    let of = |code: &str| found.iter().filter(|finding| finding.code == code).collect::<Vec<_>>();
    assert_eq!(of("compose-hostile").len(), 2);
    let notes = of("skill-baked");
    assert_eq!(notes.len(), 12);
    assert!(notes[11].message.ends_with("; 8 more like it"), "{:?}", notes[11]);
}

/// Licences beside skills are not skills.
#[test]
fn licence_folders_are_not_skills() {
    let missing = |path: &str, part: &str| check("document-missing", &[(path, "x\n")], part);
    missing("environment/skills/licenses/apache-2.0.txt", "");
    missing("environment/skills/vendor/LICENSE", "");
    missing("environment/skills/vendor/scripts/run.py", "fail missing SKILL.md");
    missing("environment/skills/licence-finder/scripts/run.py", "fail missing SKILL.md");
}

#[test]
fn compose_file_of_another_name_is_reported() {
    check("compose-name", &[("environment/docker-compose.yml", "services: {}\n")], "warn ignored");
    check("compose-name", &[], "");
}

/// In Docker an image has its own work folder, and the agent may write to `/`.
#[test]
fn root_work_folder_is_judged_by_sandbox() {
    let docker = |text: &str, part: &str| check("workdir-system", &[("environment/Dockerfile", text)], part);
    docker("FROM x:1\nCOPY data.csv /app/\n", "info no WORKDIR: Docker uses the image's");
    docker("FROM x:1\nWORKDIR /\n", "warn the work folder / is a system folder: in bubblewrap");
    docker("FROM x:1\nRUN make\n", "");
    docker("FROM x:1\nWORKDIR /\nRUN make\n", "");
}

#[test]
fn opt_in_rules_are_off_by_default() {
    let vague =
        "Look at the amounts in the list we have got and find out what they come to when they are added.\n";
    let count = |all_rules| {
        let context = Context { all_rules, ..Context::default() };
        let found = findings(&[("instruction.md", vague)], &context);
        found.iter().filter(|finding| finding.code == "instruction-success").count()
    };
    assert_eq!((count(false), count(true)), (0, 1));
}

/// Rules that search for English words have no findings in other languages.
#[test]
fn other_languages_have_no_word_findings() {
    let chinese = "修复求和函数，使其忽略空行。\n";
    let german =
        "Bitte die Summe aller Beträge berechnen und dabei leere Zeilen sowie Kommentare überspringen.\n";
    for text in [chinese, german] {
        for code in ["instruction-success", "instruction-format", "instruction-output-path"] {
            check(code, &[("instruction.md", text)], "");
        }
    }
    let long = "修复求和函数，使其忽略空行，并且保留其它所有的行为不变。\n";
    check("instruction-length", &[("instruction.md", long)], "");
}

#[test]
fn solutions_that_need_skills_are_reported() {
    let solve = |line: &str, part: &str| {
        check("solution-needs-skill", &[("solution/solve.sh", &format!("{SOLVE}{line}\n"))], part);
    };
    solve(
        "python3 /root/.claude/skills/adder-kit/scripts/add.py",
        "warn 3 the solution uses /root/.claude/skills/adder-kit",
    );
    solve("cp ~/.agents/skills/adder-kit/table.csv .", "warn 3 the solution uses ~/.agents/skills");
    solve("ls /root/.claude/skills", "info 3 the solution uses /root/.claude/skills");
    solve("# as in /root/.claude/skills/adder-kit", "");
    solve("python3 /app/skills/add.py", "");
    let docker = "FROM python:3.12-slim\nWORKDIR /app\nCOPY skills /srv/skills\n";
    check(
        "solution-needs-skill",
        &[
            ("environment/Dockerfile", docker),
            (SKILL, &skill("Add.")),
            ("solution/solve.sh", "#!/bin/bash\npython3 add.py\n"),
            ("solution/add.py", "import sys\nsys.path.append('/srv/skills/adder-kit')\n"),
        ],
        "warn 2 the solution uses /srv/skills/adder-kit",
    );
}

#[test]
fn reader_diagnostics_are_findings() {
    let (_temp, root) = make_task(&[]);
    fs::remove_dir_all(root.join("solution")).unwrap();
    let found = super::check(&Task::load(&root).unwrap(), &Context::default());
    assert!(
        found
            .iter()
            .any(|finding| finding.code == "solution-missing" && finding.severity == Severity::Warning)
    );
}

#[test]
fn script_form() {
    check("script-form", &[("tests/test.sh", "grep -q sum /app/out/sum.json\n")], "info 1 no `#!` line");
    let (_temp, root) = make_task(&[]);
    fs::set_permissions(root.join("tests/test.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    let found = super::check(&Task::load(&root).unwrap(), &Context::default());
    assert_eq!(found.iter().filter(|finding| finding.code == "script-form").count(), 1);
}

#[test]
fn unread_files_are_reported() {
    let long = "x ".repeat(400_000);
    check("unread", &[("tests/table.txt", &long)], "only its beginning");
    check("unread", &[("tests/table.txt", "x")], "");
}

#[test]
fn several_rewards_without_the_reward_are_a_warning() {
    let verifier = |script: &str, part: &str| check("several-rewards", &[("tests/test.sh", script)], part);
    let warned = "warn the verifier writes several rewards";
    verifier("echo \"{\\\"a\\\": $a, \\\"b\\\": $b}\" > /logs/verifier/reward.json\n", warned);
    verifier("echo '{\"a\": 1, \"b\": 0}' > /logs/verifier/reward.json\n", warned);
    verifier("for k in $(cat keys); do r=\"$r\\\"$k\\\": 1, \"; done; echo \"{$r}\" > reward.json\n", warned);
    // One key, the key `reward`, or another file.
    verifier("echo \"{\\\"accuracy\\\": $a}\" > /logs/verifier/reward.json\n", "");
    verifier("echo \"{\\\"a\\\": $a, \\\"reward\\\": $all}\" > /logs/verifier/reward.json\n", "");
    verifier(
        "echo \"{\\\"a\\\": 1, \\\"b\\\": 0}\" > /tmp/parts.json; echo 1 > /logs/verifier/reward.txt\n",
        "",
    );
    let python = |code: &str, part: &str| {
        let files = [("tests/test.sh", "python3 /tests/check.py\n"), ("tests/check.py", code)];
        check("several-rewards", &files, part);
    };
    python("results[name] = 1\njson.dump(results, open('/logs/verifier/reward.json', 'w'))\n", warned);
    python("out = {'a': a(), 'b': b()}\njson.dump(out, open('/logs/verifier/reward.json', 'w'))\n", warned);
    python(
        "out = {'a': a(), 'b': b()}\nout['reward'] = min(out.values())\njson.dump(out, open('/logs/verifier/reward.json', 'w'))\n",
        "",
    );
    python("json.dump(dict(reward=1, a=2), open('/logs/verifier/reward.json', 'w'))\n", "");
}

#[test]
fn tests_are_counted() {
    let bare = TOML.replace("few_tests = \"one sum\"\n", "");
    let few = |tests: &str, part: &str| {
        check("few-tests", &[("task.toml", &bare), ("tests/test_it.py", tests)], part);
    };
    let many = |each: &str| (0..10).map(|number| each.replace('#', &number.to_string())).collect::<String>();
    few("def test_a():\n    assert 1\n", "warn 1 test, fewer than 3");
    few("def test_a():\n    assert 1\n    assert 2\n", "warn 1 test with 2 assertions, fewer than 3");
    few("def test_a():\n    assert 1\n    assert 2\n    assert 3\n", "");
    few(&many("def test_#():\n    pass\n"), "");
    few(&many("class T#:\n    def test_it(self):\n        pass\n"), "");
    few(&many("@check\ndef named_#():\n    pass\n"), "");
    few("@pytest.mark.parametrize('x', X)\ndef test_a(x):\n    pass\n", "info the number of tests");
    few("for name in WANT:\n    check(one(name))\n", "info the number of tests");
    few(&many("assert read() == #\n"), "");
    check("few-tests", &[("tests/test_it.py", "def test_a(): pass\n")], "");
    let shell = many("[ \"$(cat /app/out/sum.json)\" = # ] || exit 1\n");
    check("few-tests", &[("task.toml", &bare), ("tests/test.sh", &shell)], "");
    check("few-tests", &[("task.toml", &bare)], "warn 1 test,");
    let ten = many("def test_#():\n    pass\n");
    let nine = ten.replacen("def test_0():\n    pass\n", "", 1);
    let reason = bare.replace("[metadata.assay]\n", "[metadata.assay]\nmany_tests = \"one for each rule\"\n");
    check("many-tests", &[("tests/test_it.py", &ten)], "info 10 tests, 10 or more");
    check("many-tests", &[("tests/test_it.py", &nine)], "");
    check("many-tests", &[("task.toml", &reason), ("tests/test_it.py", &ten)], "");
    check("many-tests", &[("tests/test.sh", &shell)], "info 10 tests");
    let runs = format!("{TEST}for part in a b c; do python3 -m pytest \"/app/$part\"; done\n");
    check("few-tests", &[("task.toml", &bare), ("tests/test.sh", &runs)], "info the number of tests");
}

#[test]
fn instructions_that_name_a_skill_are_reported() {
    let say = |text: &str, part: &str| {
        let instruction = format!("{INSTRUCTION}{text}\n");
        check("instruction-names-skill", &[("instruction.md", &instruction), (SKILL, &skill("Add."))], part);
    };
    say("Use adder-kit.", "fail 4 names the skill `adder-kit`");
    say("Read SKILL.md first.", "fail 4 asks the agent to use skills: `skill.md`");
    say("Use the adder-kits of the kitchen.", "");
    say("This takes some skill.", "");
    say("You have to apply skills in order to add.", "fail 4 asks the agent to use skills: `apply skills`");
    say(
        "Use the table export skill, then stop.",
        "fail 4 asks the agent to use skills: `use the table export skill`",
    );
    say("- `log`: the names of all adding skills used", "fail 4 asks the agent to use skills: `skills used`");
    say("Use your writing skills.", "");
    say("You need no special skills.", "");
    say("The advertisements list the required skills.", "");
    say("List the amounts, with the skill of an accountant.", "");
    say("Read the file and rank the people by skill.", "");
    say("Write a column `skill` that is used by nobody.", "");
    say("Leave `sum.adder-kit` where it is.", "");
    let (_temp, root) = make_task(&[(
        "instruction.md",
        "Make a pdf of the ledger-export, saved as `out/a.pdf`; it must be one page long.\n",
    )]);
    let library = TempDir::new().unwrap();
    let package = |name: &str| {
        let dir = library.path().join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("SKILL.md"), format!("---\nname: {name}\ndescription: d\n---\nx\n")).unwrap();
        Package::load(&dir).package.unwrap()
    };
    let (pdf, export) = (package("pdf"), package("ledger-export"));
    let context = Context { library: vec![&pdf, &export], all_rules: true, ..Context::default() };
    let found = super::check(&Task::load(&root).unwrap(), &context);
    let levels: Vec<Severity> =
        found.iter().filter(|f| f.code == "instruction-names-skill").map(|f| f.severity).collect();
    assert_eq!(levels, [Severity::Error, Severity::Info], "{found:?}");
}

#[test]
fn instructions_without_requirements_are_reported() {
    let vague =
        "Look at the amounts in the list we have got and find out what they come to when they are added.\n";
    let say = |code: &str, text: &str, part: &str| check(code, &[("instruction.md", text)], part);
    say("instruction-output-path", vague, "warn the path of the result");
    say("instruction-output-path", INSTRUCTION, "");
    say(
        "instruction-output-path",
        "Give the sum of all amounts as your final message, please: just one number.\n",
        "",
    );
    say("instruction-format", vague, "warn the format of the result");
    say("instruction-format", INSTRUCTION, "");
    say("instruction-success", vague, "warn no success criteria");
    say("instruction-success", INSTRUCTION, "");
    say("instruction-length", "Do it.\n", "warn 1 2 words");
    say("instruction-length", &"word ".repeat(2_000), "info 1 2000 words");
    say("instruction-length", INSTRUCTION, "");
    let steps = [
        "Open the file",
        "Read each line",
        "Parse the amount",
        "Compute the sum",
        "Filter it",
        "Run the check",
    ];
    let recipe: String =
        steps.iter().enumerate().map(|(number, step)| format!("{}. {step}\n", number + 1)).collect();
    say("instruction-recipe", &format!("{INSTRUCTION}{recipe}"), "warn 4 6 numbered steps");
    let list: String = (1..9).map(|number| format!("{number}. The sum of column {number}.\n")).collect();
    say("instruction-recipe", &format!("{INSTRUCTION}{list}"), "");
    say(
        "instruction-recipe",
        &format!("{INSTRUCTION}```bash\na b\nc d\ne f\ng h\n```\n"),
        "warn 5 4 commands",
    );
    say("instruction-recipe", &format!("{INSTRUCTION}```json\n{{\n1\n2\n3\n}}\n```\n"), "");
}

#[test]
fn paths_agree() {
    let tests = |text: &str, code: &str, part: &str| check(code, &[("tests/test_it.py", text)], part);
    tests(
        "X = open('/root/report/final.txt')\n",
        "path-unmentioned",
        "warn 1 the tests read /root/report/final.txt",
    );
    tests(
        "X = open('/app/out/sum.json')\nY = open('/app/data.csv')\n# /root/other.txt\n",
        "path-unmentioned",
        "",
    );
    tests("X = '/logs/verifier/reward.txt', '/usr/bin/python3', '/tmp/x.txt'\n", "path-unmentioned", "");
    let ask = |text: &str, part: &str| {
        check("path-untested", &[("instruction.md", &format!("{INSTRUCTION}{text}\n"))], part);
    };
    ask("\nAlso save a chart as `out/chart.png`.", "warn 5 asks for out/chart.png");
    ask("\nThe amounts are explained in `notes.txt`.", "");
    ask("\nWrite a script in `add.py`, which reads `rates.csv`.", "warn 5 asks for add.py");
    ask("\nCreate the report from `rates.csv`.", "");
    ask("\nSave it in a format such as `rates.csv`.", "");
    ask("", "");
    check(
        "path-untested",
        &[
            ("instruction.md", "Write one file a currency, such as `out/EUR.lx`.\n"),
            ("tests/t.py", "p = f'{c}.lx'\n"),
        ],
        "",
    );
    check(
        "path-typo",
        &[
            ("tests/t.py", "x = 'out/summary.json'\n"),
            ("solution/solve.sh", "#!/bin/sh\npython3 > out/sumary.json\n"),
        ],
        "sum",
    );
    check(
        "path-typo",
        &[
            ("tests/t.py", "x = 'out/batch_01.json', 'out/batch_02.json'\n"),
            ("solution/solve.sh", "#!/bin/sh\ncp out/batch_03.json .\n"),
        ],
        "",
    );
    check("path-typo", &[], "");
}

#[test]
fn dependencies_are_pinned() {
    let docker = |code: &str, line: &str, part: &str| {
        check(
            code,
            &[("environment/Dockerfile", &format!("FROM python:3.12-slim\n{line}\nWORKDIR /app\n"))],
            part,
        );
    };
    docker("dependency-unpinned", "RUN pip install numpy==2.1.0 pandas", "warn 2 no version: pandas");
    docker(
        "dependency-unpinned",
        "RUN pip install --no-cache-dir \\\n    numpy \\\n    scipy",
        "warn 2 no version: numpy, scipy",
    );
    docker("dependency-unpinned", "RUN python3 -m pip install -r requirements.txt numpy==2.1.0", "");
    docker(
        "dependency-unpinned",
        "RUN apt-get update && apt-get install -y jq curl=8.5.0-2",
        "info 2 no version: jq",
    );
    docker("dependency-unpinned", "RUN npm install -g prettier", "warn 2 no version: prettier");
    docker("dependency-unpinned", "RUN npm install @scope/tool@1.2.3", "");
    docker("dependency-unpinned", "RUN uv pip install ruff", "warn 2 no version: ruff");
    check(
        "dependency-unpinned",
        &[("environment/requirements.txt", "a==1\nb>=2\n# c\n")],
        "info 2 no exact version: b>=2",
    );
    docker("dependency-unpinned", "RUN pip install 'a<3' b", "warn 2 no version: b; no exact version: a<3");
    docker("dependency-unpinned", "RUN pip install --retries 5 --timeout 300 a==1", "");
    // The lines after a here-document are read; its content is read if it is a script.
    let after = "RUN python3 - <<'PY'\nfrom tool import part\nPY\nRUN pip install late";
    docker("image-unpinned", after, "");
    docker("dependency-unpinned", after, "warn 5 no version: late");
    docker(
        "dependency-unpinned",
        "RUN cat <<EOF > /x && pip install late\npip install never\nEOF",
        "warn 2 no version: late",
    );
    docker(
        "dependency-unpinned",
        "RUN cat << EOF > /x && pip install late\npip install never\nEOF\nRUN cat 3<<-E\npip install never\n\tE",
        "warn 2 no version: late",
    );
    docker(
        "dependency-unpinned",
        "RUN --mount=type=cache,target=/c <<EOF\nset -e\npip install inner\nEOF",
        "warn 4 no version: inner",
    );
    check("dependency-unpinned", &[("tests/test.sh", "#!/bin/bash\nuvx -w pytest==8.4.1 pytest\n")], "");
    let image = |from: &str, part: &str| check("image-unpinned", &[("environment/Dockerfile", from)], part);
    image("FROM python:latest\n", "warn 1 the image python:latest is tagged `latest`");
    image("FROM ubuntu\n", "warn 1 the image ubuntu has no tag");
    image("FROM localhost:5000/base\n", "warn 1");
    image("FROM rust:1.85 AS build\nFROM build\nFROM scratch\nFROM x@sha256:00\nFROM ${BASE}\n", "");
    docker(
        "script-piped",
        "RUN curl -sSf https://example.com/install | sh",
        "warn 2 downloads and runs https://example.com/install",
    );
    docker("script-piped", "RUN curl https://example.com/0.7.13/install.sh | bash", "info 2");
    docker("script-piped", "RUN curl https://example.com/data.csv | sort", "");
    docker("script-piped", "RUN curl https://example.com/install 2>&1 | timeout 60 sh", "warn 2 downloads");
}

#[test]
fn verifiers_that_fetch_are_reported() {
    let grade = |line: &str, part: &str| {
        check("verifier-fetches", &[("tests/test.sh", &format!("{TEST}{line}\n"))], part);
    };
    for line in [
        "apt-get install -y curl",
        "pip install pytest==8.4.1",
        "uvx pytest",
        "npm ci",
        "python3 -m pip install x",
        "sudo git clone u",
    ] {
        grade(line, "info 3 the verifier downloads");
    }
    grade("curl -s http://localhost:8000/health", "");
    grade("cat <<EOF\npip install pytest\nEOF", "");
    grade("if ! command -v uvx; then exit 1; fi", "");
    // All commands of a file that fetch are one finding.
    let many = format!("{TEST}apt-get update\napt-get install -y curl\npip install pytest\n");
    for (granted, level) in
        [(None, Severity::Info), (Some(true), Severity::Info), (Some(false), Severity::Warning)]
    {
        let context = Context { verifier_network: granted, ..Context::default() };
        let found = findings(&[("tests/test.sh", &many)], &context);
        let own: Vec<_> = found.iter().filter(|finding| finding.code == "verifier-fetches").collect();
        assert_eq!((own.len(), own[0].severity), (1, level), "{found:?}");
        assert!(own[0].message.ends_with("`apt-get update`, and by 2 more commands"), "{own:?}");
    }
}

#[test]
fn hard_coded_answers_are_reported() {
    let solve = |script: &str, test: &str, part: &str| {
        check("answer-hard-coded", &[("solution/solve.sh", script), ("tests/t.py", test)], part);
    };
    let test = "assert read() == '48291.75'\n";
    solve(
        "#!/bin/bash\nmkdir -p out\necho '{\"sum\": 48291.75}' > /app/out/sum.json\n",
        test,
        "warn 3 only writes",
    );
    solve("#!/bin/bash\ncat > out/a.json <<'EOF'\n{\"sum\": 48291.75}\nEOF\n", test, "warn 3");
    solve("#!/bin/bash\necho 12 > /app/out/sum.json\n", "x = 1\n", "info 1 only writes");
    solve(
        "#!/bin/bash\necho north.wav > /app/pick.txt\n",
        "assert pick == 'north.wav'\n",
        "warn 2 only writes",
    );
    // A program is work, and a word of its grammar is not an answer.
    solve("#!/bin/bash\ncat > /app/add.py <<'EOF'\nprint(48291.75)\nEOF\n", test, "");
    solve(
        "#!/bin/bash\ncat > out/a.yaml <<'EOF'\npaths:\n  x: 1\nEOF\n",
        "assert 'paths' in doc\n",
        "info 1 only writes",
    );
    solve("#!/bin/bash\npython3 - <<'EOF'\nprint(48291.75)\nEOF\n", test, "");
    check(
        "answer-hard-coded",
        &[
            (
                "instruction.md",
                "Write the line `Hello, dear world` to `out/hello.txt`: exactly this, and nothing else at all.\n",
            ),
            ("solution/solve.sh", "#!/bin/bash\necho 'Hello, dear world' > out/hello.txt\n"),
            ("tests/t.py", "assert text == 'Hello, dear world'\n"),
        ],
        "",
    );
}

#[test]
fn missing_resources_are_reported() {
    let toml = |wish: &str| format!("{TOML}[environment]\n{wish}\n");
    check("resources", &[("task.toml", &toml("gpus = 1"))], "fail requires a GPU");
    check("resources", &[("task.toml", &toml("cpus = 64"))], "");
    let small = Context { cpus: Some(2.0), memory_bytes: Some(1 << 30), ..Context::default() };
    let found = findings(&[("task.toml", &toml("cpus = 64\nmemory_mb = 4096"))], &small);
    assert_eq!(found.iter().filter(|f| f.code == "resources").count(), 2, "{found:?}");
}

const PROSE: &str =
    "Every voucher older than ninety days moves to the dormant ledger before quarterly totals are printed";

#[test]
fn leaks_are_found_with_both_places() {
    let context = Context::default();
    let long = "for voucher in ledger: balance[voucher.account] += convert(voucher.amount, rates[voucher.currency]); ".to_owned()
        + "dormant = [a for a in accounts if age(a) > ninety and not frozen(a)]; publish(sorted(dormant), quarter, totals, signature)";
    let cases: [(&str, &str, &str, &str, Severity); 9] = [
        ("leak-words", PROSE, "instruction.md", PROSE, Severity::Warning),
        ("leak-words", PROSE, "tests/notes.txt", PROSE, Severity::Warning),
        ("leak-answer", &long, "solution/solve.sh", &long, Severity::Error),
        (
            "leak-names",
            "Write `/app/result/final.xml`.",
            "tests/t.py",
            "x = '/app/result/final.xml'",
            Severity::Warning,
        ),
        ("leak-names", "Read `vouchers.csv`.", "instruction.md", "Read `vouchers.csv`.", Severity::Info),
        ("leak-constants", "It comes to 48291.", "tests/t.py", "assert total == 48291", Severity::Warning),
        (
            "leak-constants",
            "Divide by 999983.",
            "solution/solve.sh",
            "awk '{ print $1 % 999983 }'",
            Severity::Info,
        ),
        (
            "leak-constants",
            "Say `Out of balance`.",
            "tests/t.py",
            "assert 'Out of balance' in text",
            Severity::Warning,
        ),
        (
            "leak-commands",
            "```bash\nledger load vouchers.db\nledger age --days 90\nledger print totals\n```",
            "solution/solve.sh",
            "ledger load vouchers.db\nledger age --days 90\nledger print totals",
            Severity::Warning,
        ),
    ];
    for (code, body, file, text, level) in cases {
        let found = findings(&[(SKILL, &skill(body)), (file, &format!("#!/bin/bash\n{text}\n"))], &context);
        let leak = found.iter().find(|finding| finding.code == code);
        let leak = leak.unwrap_or_else(|| panic!("{code} {file}: {found:?}"));
        let (skill, task) = (leak.skill_span.as_ref().unwrap(), leak.task_span.as_ref().unwrap());
        assert_eq!(leak.severity, level, "{leak:?}");
        assert!(skill.file.ends_with("adder-kit/SKILL.md") && skill.line >= 5, "{leak:?}");
        assert!(task.file.ends_with(file) && task.line == 2 && !task.text.is_empty(), "{leak:?}");
    }
}

#[test]
fn text_shown_to_the_agent_is_not_a_leak() {
    let context = Context::default();
    let leaks = |changes: &[(&str, &str)]| -> Vec<String> {
        let found = findings(changes, &context);
        found
            .into_iter()
            .filter(|f| f.code.starts_with("leak-"))
            .map(|f| format!("{} {}", f.code, f.message))
            .collect()
    };
    let body = skill(&format!("{PROSE}. It is 48291, in `/app/result/final.xml`, called `Out of balance`."));
    let test =
        format!("# {PROSE}\nassert x == 48291 and 'Out of balance' in open('/app/result/final.xml')\n");
    let shown = format!("{PROSE}\n48291 /app/result/final.xml Out of balance\n");
    assert_eq!(leaks(&[(SKILL, &body), ("tests/t.py", &test), ("environment/notes.txt", &shown)]), [""; 0]);
    assert_eq!(leaks(&[(SKILL, &body), ("tests/t.py", &test)]).len(), 4);
    // Words of grammar, common numbers, plain words.
    let plain = "if it is not there then the one that you have in the file is the one to use in 2024 with 1000 and `encoding`";
    let both = [
        (SKILL, skill(plain)),
        ("tests/t.py", format!("# {plain}\nassert x == 1000 and 'encoding' and 2024\n")),
    ];
    assert_eq!(leaks(&[(both[0].0, &both[0].1), (both[1].0, &both[1].1)]), [""; 0]);
}

#[test]
fn answers_that_a_task_declares_are_no_leaks() {
    // The body of the skill begins on line 5.
    let body = format!("{PROSE}\n\nIt comes to 48291.\n\nDivide by 999983.");
    let items = |lines: &str, set: &str| {
        format!(
            r#"{{"items": [{{"set": "{set}", "id": "d1", "file": "SKILL.md", "lines": "{lines}", "quote": "{PROSE}"}}]}}"#
        )
    };
    let test = format!("# {PROSE}\nassert total == 48291\nassert x % 999983 == 0\n");
    let codes = |items: &str, more: &[(&str, &str)]| {
        let skill = skill(&body);
        let own = [(SKILL, skill.as_str()), ("tests/t.py", test.as_str()), ("tests/items.json", items)];
        let found = findings(&[&own[..], more].concat(), &Context::default());
        let mut codes: Vec<String> = found.into_iter().map(|finding| finding.code).collect();
        codes.retain(|code| code.starts_with("leak-"));
        codes.sort();
        codes.dedup();
        codes
    };
    let all = ["leak-constants", "leak-words"];
    assert_eq!(codes("{}", &[]), all);
    assert_eq!(codes(&items("5", "gc"), &[]), all);
    assert_eq!(codes(&items("5", "if"), &[]), ["leak-constants"]);
    assert_eq!(codes(&items("5,7,9", "if"), &[]), [""; 0]);
    assert_eq!(codes(&items("1-9", "if"), &[]), [""; 0]);
    // What the instruction shows is a leak for every arm.
    let instruction = format!("{INSTRUCTION}\n{PROSE}\n");
    assert_eq!(codes(&items("1-9", "if"), &[("instruction.md", &instruction)]), ["leak-words"]);
    assert_eq!(codes("not JSON", &[]), all);
}

#[test]
fn a_skill_of_the_experiment_leaks_too() {
    let (temp, root) = make_task(&[("tests/t.py", "assert total == 48291\n")]);
    let dir = temp.path().join("adder-kit");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("SKILL.md"), skill("It comes to 48291.")).unwrap();
    let package = Package::load(&dir).package.unwrap();
    let task = Task::load(&root).unwrap();
    let context = Context { skills: vec![&package], ..Context::default() };
    let found = super::check(&task, &context);
    assert!(found.iter().any(|finding| finding.code == "leak-constants"), "{found:?}");
    assert_eq!(super::check(&task, &Context::default()), []);
}

#[test]
fn tasks_of_task_md_are_checked() {
    let temp = TempDir::new().unwrap();
    let write = |path: &str, text: &str| {
        let file = temp.path().join("one").join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write("task.md", &INSTRUCTION.replace("Write", "Use the skill. Write"));
    write("verify.sh", "#!/bin/bash\ngrep -q '\"sum\"' out/sum.json\n");
    write("metadata.json", "{\"target_skill\": \"adder-kit\"}");
    write("starting/data.csv", "1\n");
    write("solution/solve.sh", "#!/bin/bash\nawk x data.csv\n");
    let task = Task::load(&temp.path().join("one")).unwrap();
    let found = super::check(&task, &Context::default());
    let codes: Vec<&str> =
        found.iter().filter(|f| f.severity > Severity::Info).map(|f| f.code.as_str()).collect();
    assert_eq!(codes, ["few-tests", "instruction-names-skill"], "{found:?}");
}

#[test]
fn verdicts_add_up() {
    let finding = |level| Finding::new(level, "x", "f", "m", "");
    assert_eq!(verdict(&[finding(Severity::Info)], false), Verdict::Ok);
    assert_eq!(verdict(&[finding(Severity::Info), finding(Severity::Warning)], false), Verdict::Warn);
    assert_eq!(verdict(&[finding(Severity::Warning)], true), Verdict::Unchecked);
    assert_eq!(verdict(&[finding(Severity::Error)], true), Verdict::Fail);
}

#[test]
fn tasks_are_found_and_other_folders_reported() {
    let (temp, root) = make_task(&[]);
    let top = temp.path();
    let write = |path: &str, text: &str| {
        let file = top.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    fs::create_dir_all(top.join("deep/er")).unwrap();
    fs::rename(&root, top.join("deep/er/sums")).unwrap();
    write("old/task.yaml", "instruction: x\n");
    write("nearly/instruction.md", "x\n");
    write("inspect/evals.py", "from inspect_ai import task\n");
    write("swe/data.jsonl", "{\"instance_id\": 1, \"base_commit\": \"x\"}\n");
    write("shared/helper.py", "x\n");
    write(".hidden/instruction.md", "x\n");
    symlink(top.join("deep"), top.join("deep/loop")).unwrap();
    let found =
        find(&[top.to_path_buf(), top.join("swe/data.jsonl"), top.join("nowhere"), top.join("shared")]);
    assert_eq!(found.tasks, [top.join("deep/er/sums")]);
    let refused: Vec<(&Path, &str)> =
        found.refused.iter().map(|r| (r.path.strip_prefix(top).unwrap(), r.code)).collect();
    let expected = [
        ("inspect", "foreign-dialect"),
        ("nearly", "not-a-task"),
        ("old", "foreign-dialect"),
        ("swe", "foreign-dialect"),
        ("swe/data.jsonl", "foreign-dialect"),
        ("nowhere", "unreadable"),
        ("shared", "not-a-task"),
    ];
    assert_eq!(refused, expected.map(|(path, code)| (Path::new(path), code)));
    assert_eq!(found.skipped, [top.join("shared")]);
}

#[test]
fn documented_rules_match_the_registry() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/TASKS.md");
    let mut table = "| code | weighs | what it finds |\n|---|---|---|\n".to_owned();
    for rule in TASK_RULES {
        let asked = if rule.is_opt_in { ", opt-in" } else { "" };
        table.push_str(&format!("| `{}` | {}{asked} | {} |\n", rule.code, rule.levels, rule.summary));
    }
    let (begin, end) = ("<!-- rules: begin -->\n", "<!-- rules: end -->");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(begin).unwrap();
    let (there, after) = rest.split_once(end).unwrap();
    if std::env::var_os("ASSAY_BLESS").is_some() {
        fs::write(&path, format!("{before}{begin}{table}{end}{after}")).unwrap();
    } else {
        assert_eq!(there, table, "docs/TASKS.md is stale: ASSAY_BLESS=1 cargo test -p assay-task table");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any task, rules give bounded findings, and the same twice.
    #[test]
    fn arbitrary_tasks_never_break_a_rule(
        instruction in "[ -~\n`'\"/é\\\\]{1,200}",
        test in "[ -~\n`'\"|<&;#/é\\\\]{0,200}",
        docker in "(FROM|RUN|run|COPY| |\\\\\n|[ -~é]){0,20}",
        body in "[ -~\n`'\"/é]{0,200}",
    ) {
        let texts = [
            ("instruction.md", format!("x{instruction}")),
            ("tests/test.sh", test.clone()),
            ("tests/t.py", test.clone()),
            ("solution/solve.sh", test),
            ("environment/Dockerfile", format!("FROM x:1\n{docker}")),
            (SKILL, skill(&body)),
        ];
        let changes: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let (_temp, root) = make_task(&changes);
        if let Ok(task) = Task::load(&root) {
            let context = Context { all_rules: true, ..Context::default() };
            let once = super::check(&task, &context);
            prop_assert_eq!(&once, &super::check(&task, &context));
            for one in &once {
                let alike = |other: &&Finding| (&other.code, other.severity) == (&one.code, one.severity);
                prop_assert!(once.iter().filter(alike).count() <= MOST);
            }
        }
    }
}
