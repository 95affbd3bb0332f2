use assay_trace::Trajectory;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::directive::{Kind, Modality, Probe};
use crate::evidence::SkillText;

/// A required directive for a text.
pub(super) fn text_directive(text: &str) -> Directive {
    directive(Kind::Literal, Probe::Text(text.to_owned()), text)
}

fn directive(kind: Kind, probe: Probe, line: &str) -> Directive {
    Directive {
        kind,
        modality: Modality::Required,
        file: "SKILL.md".to_owned(),
        line: 7,
        text: line.to_owned(),
        subject: line.to_owned(),
        example: false,
        condition: None,
        applies: None,
        probe,
        instead: Vec::new(),
    }
}

fn text(text: &str) -> Probe {
    Probe::Text(text.to_owned())
}

fn command(program: &str, words: &[&str]) -> Probe {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    Probe::Command { program: program.to_owned(), words }
}

fn sequence(first: Probe, then: Probe) -> Probe {
    Probe::Sequence { first: Box::new(first), then: Box::new(then) }
}

/// One call of a run and its result.
type Call<'a> = (&'a str, Value, &'a str);

fn shell<'a>(text: &str, result: &'a str) -> Call<'a> {
    ("bash", json!({"command": text}), result)
}

fn write(path: &str, text: &str) -> Call<'static> {
    ("Write", json!({"file_path": path, "content": text}), "ok")
}

fn trajectory(calls: &[Call<'_>], answer: &str) -> Trajectory {
    let mut steps = vec![json!({"step_id": 1, "source": "user", "message": "Fire the pots."})];
    for (tool, arguments, result) in calls {
        steps.push(json!({
            "step_id": steps.len() + 1, "source": "agent", "message": "",
            "tool_calls": [{"tool_call_id": "c", "function_name": tool, "arguments": arguments}],
            "observation": {"results": [{"source_call_id": "c", "content": result}]},
        }));
    }
    steps.push(json!({"step_id": steps.len() + 1, "source": "agent", "message": answer}));
    let agent = json!({"name": "t", "version": "1"});
    serde_json::from_value(json!({"schema_version": "ATIF-v1.7", "agent": agent, "steps": steps})).unwrap()
}

const BODY: &str = "Every glaze of a firing is written with its KX code and no other code.\n\
    The cooling of a kiln takes at least 340 minutes, measured at the lower probe.\n\
    The log of a firing is called kiln-log.tsv and lies beside the plan of the day.\n";

fn skill() -> SkillText {
    SkillText::parse(format!("---\nname: kiln-firing\ndescription: Fires pots.\n---\n{BODY}").as_bytes())
}

fn material(calls: &[Call<'_>], left: &[(&str, &str)]) -> RunEvidence {
    let files = left.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    RunEvidence::new(&trajectory(calls, "Done with KX-99."), &Left { files }, [&skill()])
}

/// Status, and step and text of its place.
type Expected<'a> = (Status, Option<(usize, &'a str)>);

const UNKNOWN: Expected<'static> = (Status::Unknown, None);

fn followed(step: usize, text: &str) -> Expected<'_> {
    (Status::Followed, Some((step, text)))
}

fn violated(step: usize, text: &str) -> Expected<'_> {
    (Status::Violated, Some((step, text)))
}

#[track_caller]
fn check_left(directive: &Directive, calls: &[Call<'_>], left: &[(&str, &str)], expected: Expected<'_>) {
    let found = assess(std::slice::from_ref(directive), &material(calls, left)).remove(0);
    let place = found.place.as_ref().map(|place| (place.step, place.text.as_str()));
    assert_eq!((found.status, place), expected, "{:?} in {calls:?}", directive.probe);
}

#[track_caller]
fn check(directive: &Directive, calls: &[Call<'_>], expected: Expected<'_>) {
    check_left(directive, calls, &[], expected);
}

#[test]
fn commands_match_in_commands() {
    let sieve = directive(Kind::Command, command("sieve", &["grade", "--fine"]), "Run `sieve grade --fine`.");
    let yes = |line: &str, shown: &str| check(&sieve, &[shell(line, "")], followed(2, shown));
    let no = |line: &str| check(&sieve, &[shell(line, "")], UNKNOWN);
    yes("sieve grade --fine clay.csv", "sieve grade --fine clay.csv");
    yes(
        "cd x && FOO=1 sudo /opt/bin/sieve grade -v --fine=2 | tail -3",
        "FOO=1 sudo /opt/bin/sieve grade -v --fine=2",
    );
    yes("bash -lc 'ls; sieve grade --fine'", "sieve grade --fine");
    yes("uv run --with x sieve grade --fine", "uv run --with x sieve grade --fine");
    yes("python3 -m sieve grade --fine", "python3 -m sieve grade --fine");
    yes(
        "python3 - <<'E'\nsubprocess.run(['sieve', 'grade', '--fine'])\nE",
        "subprocess.run(['sieve', 'grade', '--fine'])",
    );
    yes("cat > go.sh <<'E'\nsieve grade --fine\nE", "sieve grade --fine");
    no("echo 'sieve grade --fine'");
    no("sieve --fine grade");
    no("sieve grade");
    no("cat > notes.md <<'E'\nUse sieve grade --fine.\nE");
    no("cat > go.sh <<'E'\n# sieve grade --fine\nE");
    let workflow = write("ci.yml", "  - run: sieve grade --fine");
    check(&sieve, &[workflow], followed(2, "- run: sieve grade --fine"));
}

#[test]
fn texts_match_in_what_was_written_left_and_printed() {
    let code = text_directive("KX-41");
    check(&code, &[write("a.csv", "x,KX-41\n")], followed(2, "x,KX-41"));
    check(&code, &[shell("echo 'KX-41' >> a.csv", "")], followed(2, "echo KX-41 >> a.csv"));
    check(&code, &[shell("cat > a.csv <<E\nKX-41,1\nE", "")], followed(2, "KX-41,1"));
    check(&code, &[shell("python3 - <<E\nw('KX-41')\nE", "")], followed(2, "w('KX-41')"));
    check_left(&code, &[], &[("out/a.csv", "KX-41;3")], followed(0, "KX-41;3"));
    // The output of the agent's script, and not that of others.
    check(&code, &[shell("cat > fire.py <<E\nx\nE\npython3 fire.py", "row KX-41")], followed(2, "row KX-41"));
    check(&code, &[shell("cat plan.csv", "row KX-41")], UNKNOWN);
    // What was written is a better place than what was printed, and the file than the output.
    let printed = shell("python3 -c 'f()'", "KX-41");
    check_left(&code, std::slice::from_ref(&printed), &[("a", "KX-41 left")], followed(0, "KX-41 left"));
    check(&code, &[printed, write("a", "KX-41 written")], followed(3, "KX-41 written"));
    // Context of an edit is not written by it.
    let edit =
        |old: &str, new: &str| ("Edit", json!({"file_path": "a", "old_string": old, "new_string": new}), "");
    check(&code, &[edit("KX-41\nb", "KX-41\nc")], UNKNOWN);
    check(&code, &[edit("b", "KX-41")], followed(2, "KX-41"));
    let patch = |line: &str| {
        let text = format!("*** Begin Patch\n*** Update File: a\n@@\n{line}\n*** End Patch");
        ("apply_patch", json!({"input": text}), "")
    };
    check(&code, &[patch(" KX-41")], UNKNOWN);
    check(&code, &[patch("+KX-41")], followed(2, "KX-41"));
    // Plans and searches do nothing.
    check(&code, &[("TodoWrite", json!({"todos": [{"content": "write KX-41"}]}), "")], UNKNOWN);
    check(&code, &[("Grep", json!({"pattern": "KX-41"}), "")], UNKNOWN);
    // Only where nothing was written is the answer what the run made.
    check(&text_directive("KX-99"), &[shell("ls", "")], followed(3, "Done with KX-99."));
    check(&text_directive("KX-99"), &[write("a", "b")], UNKNOWN);
    let file = directive(Kind::File, text("kiln-log.tsv"), "Write `kiln-log.tsv`.");
    check(&file, &[write("out/kiln-log.tsv", "a")], followed(2, "out/kiln-log.tsv"));
}

#[test]
fn reading_a_skill_is_not_following_it() {
    let code = text_directive("KX-41");
    let file = directive(Kind::File, text("glaze.md"), "Read `references/glaze.md`.");
    for call in [
        shell("cat /skills/kiln-firing/SKILL.md", "KX-41"),
        shell("cat .claude/skills/kiln-firing/references/glaze.md", "KX-41"),
        shell("cd /skills/kiln-firing && grep -r KX-41 . && cat references/glaze.md", "KX-41"),
        shell("python3 -c 'print(open(\"x\").read())'", &format!("{BODY}KX-41")),
        ("Read", json!({"file_path": "/opt/kiln-firing/references/glaze.md"}), "KX-41"),
        ("Skill", json!({"skill": "kiln-firing"}), "KX-41"),
    ] {
        check(&code, std::slice::from_ref(&call), UNKNOWN);
        check(&file, &[call], UNKNOWN);
    }
    // A copy of the whole document is a quotation.
    let quoted = format!("{BODY}KX-41\n");
    check_left(&code, &[write("notes.md", &quoted)], &[("notes.md", &quoted)], UNKNOWN);
}

#[test]
fn scripts_are_run_sourced_or_imported() {
    let script =
        directive(Kind::Script, Probe::Script("scripts/fire.py".to_owned()), "Run `scripts/fire.py`.");
    let yes = |line: &str, shown: &str| check(&script, &[shell(line, "")], followed(2, shown));
    let no = |line: &str| check(&script, &[shell(line, "")], UNKNOWN);
    yes(
        "python3 /skills/kiln-firing/scripts/fire.py a.csv",
        "python3 /skills/kiln-firing/scripts/fire.py a.csv",
    );
    yes("cd /skills/kiln-firing && ./scripts/fire.py", "./scripts/fire.py");
    yes("cp /skills/kiln-firing/scripts/fire.py /tmp/; python3 /tmp/fire.py", "python3 /tmp/fire.py");
    yes("python3 - <<E\nimport fire\nE", "import fire");
    yes(
        "python3 -c \"exec(open('/skills/kiln-firing/scripts/fire.py').read())\"",
        "exec(open('/skills/kiln-firing/scripts/fire.py').read())",
    );
    no("cat /skills/kiln-firing/scripts/fire.py");
    no("ls scripts/fire.py; chmod +x scripts/fire.py; wc -l scripts/fire.py");
    let left = [("fire.py", "import csv")];
    let copied = shell("cp /skills/kiln-firing/scripts/fire.py . && python3 fire.py", "");
    check_left(&script, &[copied], &left, followed(2, "python3 fire.py"));
    // The agent's own script of that name is another.
    no("cat > fire.py <<E\nx\nE\npython3 fire.py");
    let sourced = directive(Kind::Script, Probe::Script("env.sh".to_owned()), "Source `env.sh`.");
    check(
        &sourced,
        &[shell(". /skills/kiln-firing/env.sh && make", "")],
        followed(2, ". /skills/kiln-firing/env.sh"),
    );
}

#[test]
fn thresholds_are_numbers_near_a_word() {
    let near = vec!["cooling".to_owned(), "kiln".to_owned()];
    let number = Probe::Number { value: "20".to_owned(), near };
    let cooling = directive(Kind::Threshold, number, "The cooling of a kiln takes at least 20 minutes.");
    let yes = |code: &str, shown: &str| check(&cooling, &[write("a.py", code)], followed(2, shown));
    let no = |code: &str| check(&cooling, &[write("a.py", code)], UNKNOWN);
    yes("COOLING = 20\n", "COOLING = 20");
    yes("if t < timedelta(minutes=20):\n", "if t < timedelta(minutes=20):");
    yes("COOLING_SECONDS = 1200\n", "COOLING_SECONDS = 1200");
    yes("# cooling of the kiln\nLIMIT = 20\n", "LIMIT = 20");
    yes("if t < 20 * 60:\n", "if t < 20 * 60:");
    no("LIMIT = 20\n");
    no("COOLING = 21\n");
    no("COOLING = 0\na = 1\nLIMIT = 20\n");
    // Rows are data and no rule.
    check(&cooling, &[write("a.csv", "cooling,20\n")], UNKNOWN);
}

#[test]
fn sequences_have_an_order() {
    let order = directive(
        Kind::Order,
        sequence(command("sieve", &[]), command("glaze", &[])),
        "Run `sieve` before `glaze`.",
    );
    check(&order, &[shell("sieve a", ""), shell("glaze a", "")], followed(3, "glaze a"));
    check(&order, &[shell("sieve a && glaze a", "")], followed(2, "glaze a"));
    check(&order, &[shell("sieve a | glaze", "")], followed(2, "glaze"));
    check(&order, &[shell("glaze a", ""), shell("sieve a", "")], violated(2, "glaze a"));
    check(&order, &[shell("glaze a", "")], UNKNOWN);
    check(&order, &[write("a.sh", "sieve a\nglaze a\n")], followed(2, "glaze a"));
    // Functions may be called in another order than they are defined in.
    let texts = directive(Kind::Order, sequence(text("dry_pots"), text("fire_pots")), "Dry before firing.");
    check(&texts, &[write("a.py", "dry_pots()\nfire_pots()\n")], followed(2, "fire_pots()"));
    check(&texts, &[write("a.py", "def fire_pots(): pass\ndef dry_pots(): pass\n")], UNKNOWN);
    check(&texts, &[write("a", "dry_pots, fire_pots")], followed(2, "dry_pots, fire_pots"));
    check(&texts, &[write("a", "fire_pots, dry_pots")], UNKNOWN);
}

#[test]
fn prohibitions_are_never_followed_by_absence() {
    let mut never = text_directive("RAW_GLAZE");
    never.modality = Modality::Forbidden;
    check(&never, &[write("a", "KX-41")], UNKNOWN);
    check(&never, &[write("a", "RAW_GLAZE")], violated(2, "RAW_GLAZE"));
    never.instead = vec![text("FRIT")];
    check(&never, &[write("a", "FRIT")], followed(2, "FRIT"));
    check(&never, &[write("a", "FRIT\nRAW_GLAZE")], violated(2, "RAW_GLAZE"));
    never.applies = Some(text("glaze"));
    check(&never, &[write("a", "FRIT")], (Status::NotApplicable, None));
    check(&never, &[write("a", "glaze FRIT")], followed(2, "glaze FRIT"));
}

#[test]
fn what_is_done_instead_violates_a_demand() {
    let mut demand = text_directive("KX-41");
    demand.instead = vec![text("GLZ-41")];
    check(&demand, &[write("a", "GLZ-41")], violated(2, "GLZ-41"));
    check(&demand, &[write("a", "GLZ-41\nKX-41")], followed(2, "KX-41"));
    demand.applies = Some(text("glaze"));
    check(&demand, &[write("a", "GLZ-41")], (Status::NotApplicable, None));
    demand.applies = None;
    demand.example = true;
    check(&demand, &[write("a", "GLZ-41")], UNKNOWN);
}

#[test]
fn a_diff_gives_its_added_lines() {
    let diff = "added out\nnothing to a folder\nadded out/a.csv\n--- /dev/null\n+++ out/a.csv\n@@ -0,0 +1,2 @@\n+x,KX-41\n+y\nmodified b\n--- b\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same\n";
    let files = Left::of_diff(diff).files;
    let expected = [("out/a.csv", "x,KX-41\ny\n"), ("b", "new\n")];
    assert_eq!(files, expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
    assert_eq!(Left::of_diff("").files, []);
}

/// A skill without text, and with these demands.
fn bare_skill(subjects: &[&str]) -> SkillText {
    let mut skill =
        SkillText::parse(b"---\nname: kiln-firing\ndescription: Fires pots with zqx_flux.\n---\n");
    skill.directives = subjects.iter().map(|subject| text_directive(subject)).collect();
    skill
}

fn wrote(text: &str) -> RunEvidence {
    material(&[write("a.py", text)], &[])
}

#[track_caller]
fn check_scores(skill: &SkillText, prompt: &str, runs: &[RunEvidence], expected: &[f64]) {
    let found = adherences(skill, runs, &Known::new(prompt, runs));
    let found: Vec<f64> = found.iter().map(|adherence| adherence.score).collect();
    let near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9);
    assert!(near && found.len() == expected.len(), "{found:?} {expected:?}");
}

#[test]
fn scores_are_those_computed_by_hand() {
    let skill = bare_skill(&["zqx_oven", "zqx_kiln", "zqx_flux"]);
    let (none, one, two) = (wrote("x"), wrote("zqx_oven"), wrote("zqx_oven zqx_kiln"));
    // One directive that nothing else explains: 1 / (1 + 4.5).
    check_scores(&skill, "", &[one.clone(), none.clone()], &[1.0 / 5.5, 0.0]);
    // What the only other run follows too weighs nothing.
    check_scores(&skill, "", &[two.clone(), one.clone()], &[1.0 / 5.5, 0.0]);
    // Copies are one run.
    check_scores(&skill, "", &[one.clone(), one.clone(), none.clone()], &[1.0 / 5.5, 1.0 / 5.5, 0.0]);
    check_scores(&skill, "", std::slice::from_ref(&two), &[2.0 / 6.5]);
    // What the task or the description has is no evidence.
    check_scores(&skill, "Write zqx_oven.", &[two.clone(), none.clone()], &[1.0 / 5.5, 0.0]);
    check_scores(&skill, "", &[wrote("zqx_flux"), none.clone()], &[0.0, 0.0]);
    // Of five other runs two follow it: P(X > 2) / P(X > 0) is 16/31.
    let runs: Vec<RunEvidence> = ["zqx_oven 1", "zqx_oven 2", "zqx_oven 3", "4", "5", "6"].map(wrote).into();
    let weight = 16.0 / 31.0;
    let score = weight / (weight + 4.5);
    check_scores(&skill, "", &runs, &[score, score, score, 0.0, 0.0, 0.0]);
    // An example weighs half.
    let mut example = bare_skill(&["zqx_oven"]);
    example.directives[0].example = true;
    check_scores(&example, "", &[one.clone(), none.clone()], &[0.5 / 5.0, 0.0]);
    // Common names weigh nothing.
    let common = bare_skill(&["import json"]);
    check_scores(&common, "", &[wrote("import json"), none], &[0.0, 0.0]);
}

#[test]
fn what_can_be_adopted_is_what_only_the_skill_explains() {
    let check = |skill: &SkillText, prompt: &str, weight: f64, reaches: bool| {
        let known = Known::new(prompt, &[wrote("x")]);
        let found = attainable(skill, &known);
        assert!((found - weight).abs() < 1e-9, "{found} and not {weight}");
        assert_eq!(can_adopt(found), reaches, "{found}");
        // No run has more, and one that follows everything has it.
        let all: String = skill.directives.iter().map(|one| format!("{}\n", one.subject)).collect();
        let runs = [wrote(&all), wrote("x")];
        let best = adherences(skill, &runs, &known)[0].score;
        assert!((best - weight / (weight + 4.5)).abs() < 1e-9, "{best}");
    };
    check(&bare_skill(&[]), "", 0.0, false);
    // Common; in the description; in the task.
    check(&bare_skill(&["import json"]), "", 0.0, false);
    check(&bare_skill(&["zqx_flux"]), "", 0.0, false);
    check(&bare_skill(&["zqx_oven", "zqx_kiln"]), "Write zqx_oven and zqx_kiln.", 0.0, false);
    // One subject counts once.
    check(&bare_skill(&["zqx_oven", "zqx_oven"]), "", 1.0, false);
    check(&bare_skill(&["zqx_oven", "zqx_kiln"]), "", 2.0, true);
    let mut skill = bare_skill(&["zqx_oven", "zqx_kiln"]);
    skill.directives[0].example = true;
    check(&skill, "", 1.5, true);
    skill.directives[1].modality = Modality::Forbidden;
    let known = Known::new("", &[]);
    assert!((attainable(&skill, &known) - 0.5).abs() < 1e-9);
}

#[test]
fn inputs_are_what_was_seen_before_the_first_write() {
    let skill = bare_skill(&["zqx_oven"]);
    let with_input = |calls: &[Call<'_>]| [material(calls, &[]), wrote("x")];
    let reads = shell("cat plan.csv", "zqx_oven,1");
    let writes = write("a.py", "zqx_oven");
    check_scores(&skill, "", &with_input(&[reads.clone(), writes.clone()]), &[0.0, 0.0]);
    check_scores(&skill, "", &with_input(&[writes.clone(), reads]), &[1.0 / 5.5, 0.0]);
    // What another run of the task saw is an input too, and what came from a skill is none.
    let seen = material(&[shell("cat plan.csv", "zqx_oven,1")], &[]);
    check_scores(&skill, "", &[material(std::slice::from_ref(&writes), &[]), seen], &[0.0, 0.0]);
    let reads = shell("cat /skills/kiln-firing/glazes.md", "zqx_oven");
    check_scores(&skill, "", &with_input(&[reads, writes]), &[1.0 / 5.5, 0.0]);
}

#[test]
fn text_alone_is_worth_less_than_half_a_directive() {
    let lines: String =
        (0..40).map(|at| format!("zqxab{at} zqxbc{at} zqxcd{at} zqxde{at} zqxef{at}\n")).collect();
    let skill = SkillText::parse(format!("---\nname: k\ndescription: d\n---\n{lines}").as_bytes());
    let quoted: String = lines.lines().take(30).map(|line| format!("{line}\n")).collect();
    let skill = SkillText { directives: Vec::new(), ..skill };
    let runs = [wrote(&quoted), wrote("x")];
    // 150 words.
    let evidence = 0.5 * 150.0 / 170.0;
    check_scores(&skill, "", &runs, &[evidence / (evidence + 4.5), 0.0]);
    let found = adherences(&skill, &runs, &Known::new("", &runs));
    assert_eq!(found[0].passages.len(), 30);
    assert!(!found[0].adopted());
}

/// A demand for a round number beside a word.
fn limit(value: &str, word: &str) -> Directive {
    let probe = Probe::Number { value: value.to_owned(), near: vec![word.to_owned()] };
    directive(Kind::Threshold, probe, &format!("At most {value} {word}."))
}

#[test]
fn limits_are_specific_if_runs_without_the_skill_do_not_have_them() {
    let mut skill = bare_skill(&[]);
    skill.directives = vec![limit("20", "pots"), limit("100", "minutes")];
    let with = |at: usize| wrote(&format!("pots = 20 + {at}\nminutes = 100\n"));
    let without = |at: usize| wrote(&format!("pots = 7{at}\nminutes = 35\n"));
    // One run without them says nothing of how usual they are.
    check_scores(&skill, "", &[with(1), without(1)], &[0.0, 0.0]);
    // Five that have neither do: of nine others, four follow, and five do not.
    let runs: Vec<RunEvidence> = (1..=5).map(with).chain((1..=5).map(without)).collect();
    let background = 256.0 / 511.0;
    let evidence = 2.0 * background * (1.0 - 4.0 / 8.0);
    let score = evidence / (evidence + 4.5);
    check_scores(&skill, "", &runs, &[score, score, score, score, score, 0.0, 0.0, 0.0, 0.0, 0.0]);
    // What every run has is no evidence.
    let runs: Vec<RunEvidence> = (1..=4).map(with).collect();
    check_scores(&skill, "", &runs, &[0.0; 4]);
}

#[test]
fn of_calls_with_the_same_words_the_heaviest_counts() {
    let mut skill = bare_skill(&[]);
    let call = |words: &[&str]| {
        let subject = format!("zqx_sieve {}", words.join(" "));
        directive(Kind::Command, command("zqx_sieve", words), &subject)
    };
    skill.directives = vec![call(&["--fine"]), call(&["--fine", "--dry"]), call(&["--coarse"])];
    let ran = |line: &str| material(&[shell(line, "")], &[]);
    let runs = [ran("zqx_sieve --fine --dry a"), wrote("x")];
    check_scores(&skill, "", &runs, &[1.0 / 5.5, 0.0]);
    let runs = [ran("zqx_sieve --fine --dry a; zqx_sieve --coarse b"), wrote("x")];
    check_scores(&skill, "", &runs, &[2.0 / 6.5, 0.0]);
}

#[test]
fn declared_answers_count_once_a_line() {
    let skill = bare_skill(&["zqx_oven"]);
    let check = |name: &str, line: usize, answer: &str, passed: Option<bool>| DeclaredCheck {
        name: name.to_owned(),
        passed,
        file: "SKILL.md".to_owned(),
        line,
        answer: answer.to_owned(),
        canary: true,
    };
    let scores = |prompt: &str, runs: &[RunEvidence], declared: &[Vec<DeclaredCheck>]| -> Vec<f64> {
        let known = Known::new(prompt, runs);
        let found = Cohort::new(&skill, runs, &known).with_declared(declared).adherences();
        found.iter().map(|adherence| adherence.score).collect()
    };
    let near = |found: Vec<f64>, expected: &[f64]| {
        let is_near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9);
        assert!(is_near && found.len() == expected.len(), "{found:?} {expected:?}");
    };
    let given = |first: Option<bool>, second: Option<bool>| {
        vec![check("d1", 40, "kept warm", first), check("d2", 41, "twice", second)]
    };
    let runs = [wrote("a"), wrote("b")];
    let declared = [given(Some(true), Some(true)), given(Some(false), None)];
    near(scores("", &runs, &declared), &[2.0 / 6.5, 0.0]);
    // What the task says is no evidence, and neither is what the other run gave as well.
    near(scores("Have it kept warm.", &runs, &declared), &[1.0 / 5.5, 0.0]);
    let declared = [given(Some(true), Some(true)), given(Some(true), Some(false))];
    near(scores("", &runs, &declared), &[1.0 / 5.5, 0.0]);
    // The directive of line 7 and the answer of line 7 are one.
    let runs = [wrote("zqx_oven"), wrote("b")];
    let declared = [vec![check("d1", 7, "zqx_oven", Some(true))], Vec::new()];
    near(scores("", &runs, &declared), &[1.0 / 5.5, 0.0]);
}

/// A few calls that write, run and read.
fn calls() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0..4_usize, 0..WORDS.len()), 0..6)
}

const WORDS: [&str; 6] = ["KX-41", "zqx_oven", "cooling = 340", "sieve grade --fine", "import os", "nothing"];

fn made(calls: &[(usize, usize)]) -> RunEvidence {
    let call = |(tool, word): &(usize, usize)| match tool {
        0 => write("a.py", WORDS[*word]),
        1 => shell(WORDS[*word], ""),
        2 => shell("cat a.csv", WORDS[*word]),
        _ => shell("python3 -c 'x'", WORDS[*word]),
    };
    material(&calls.iter().map(call).collect::<Vec<_>>(), &[])
}

fn demands() -> SkillText {
    let mut skill = bare_skill(&["KX-41", "zqx_oven"]);
    let near = vec!["cooling".to_owned()];
    let number = Probe::Number { value: "340".to_owned(), near };
    skill.directives.push(directive(Kind::Threshold, number, "Cool for 340 minutes."));
    skill.directives.push(directive(Kind::Command, command("sieve", &["grade"]), "sieve grade"));
    let order = sequence(text("KX-41"), text("zqx_oven"));
    skill.directives.push(directive(Kind::Order, order, "KX-41 before zqx_oven"));
    skill
}

proptest! {
    #[test]
    fn a_status_does_not_depend_on_other_runs(one in calls(), others in prop::collection::vec(calls(), 0..4)) {
        let skill = demands();
        let runs: Vec<RunEvidence> = std::iter::once(&one).chain(&others).map(|calls| made(calls)).collect();
        let alone = assess(&skill.directives, &runs[0]);
        let among = adherences(&skill, &runs, &Known::new("", &runs)).swap_remove(0);
        for (alone, among) in alone.iter().zip(&among.assessments) {
            prop_assert_eq!((alone.status, &alone.place), (among.status, &among.place));
        }
        prop_assert!((0.0..1.0).contains(&among.score));
    }

    #[test]
    fn what_is_followed_stays_followed_when_more_is_done(one in calls(), more in calls()) {
        let skill = demands();
        let longer: Vec<(usize, usize)> = one.iter().chain(&more).copied().collect();
        let (before, after) =
            (assess(&skill.directives, &made(&one)), assess(&skill.directives, &made(&longer)));
        for ((before, after), directive) in before.iter().zip(&after).zip(&skill.directives) {
            prop_assert!(before.status != Status::Followed || after.status == Status::Followed, "{:?}", directive);
        }
    }

    #[test]
    fn the_order_of_runs_does_not_move_scores(mut runs in prop::collection::vec(calls(), 1..6)) {
        let skill = demands();
        let scores = |runs: &[Vec<(usize, usize)>]| {
            let runs: Vec<RunEvidence> = runs.iter().map(|calls| made(calls)).collect();
            let found = adherences(&skill, &runs, &Known::new("", &runs));
            found.iter().map(|adherence| adherence.score.to_bits()).collect::<Vec<_>>()
        };
        let straight = scores(&runs);
        runs.reverse();
        let mut back = scores(&runs);
        back.reverse();
        prop_assert_eq!(straight, back);
    }
}
