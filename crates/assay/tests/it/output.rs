//! What goes where: results to standard output, everything else to standard error, colour only where it is wanted.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use crate::fixture::{Fixture, needs_bubblewrap};
use crate::suite;

/// A fixture whose run `lab` is over. The skill is of use on five of six tasks.
fn done() -> Fixture {
    let lab = suite::lab(6).experiment(|e| suite::paired(e.conditions(&["none", "curated"]), 6));
    lab.write("tasks/t6/tests/test.sh", "#!/bin/bash\necho 0 > /logs/verifier/reward.txt\n");
    lab.assay(&["run", "experiment.toml", "--no-checks", "-q"]).ok();
    lab
}

/// Digits in the columns `tokens` and `time` become `#`: they differ from day to day, and from prompt to prompt. So do those
/// of a trial's id.
fn masked(report: &str) -> String {
    let mut columns: Vec<(usize, usize)> = Vec::new();
    let mut text = String::new();
    for line in report.lines() {
        let mut characters: Vec<char> = line.chars().collect();
        if let Some((before, _)) = line.split_once("assay show ") {
            let from = before.chars().count() + "assay show ".len();
            characters[from..]
                .iter_mut()
                .take_while(|c| c.is_ascii_hexdigit())
                .for_each(|digit| *digit = '#');
        }
        if line.trim_start().starts_with("condition ") && line.contains("tokens") {
            let at = |word: &str| line[..line.find(word).unwrap()].chars().count();
            columns = vec![(at("infra errors") + 12, at("tokens") + 6), (at("cost") + 4, at("time") + 4)];
        } else if line.trim().is_empty() {
            columns.clear();
        } else {
            for (from, to) in &columns {
                let digits = characters[*from..*to].iter_mut().filter(|c| c.is_ascii_digit());
                digits.for_each(|digit| *digit = '#');
            }
        }
        text.extend(characters);
        text.push('\n');
    }
    text
}

#[test]
fn the_report_reads_well() {
    needs_bubblewrap!();
    let lab = done();
    let report = lab.assay(&["report", "lab"]).ok();
    assert_eq!(report.stderr, "");
    insta::assert_snapshot!(masked(&report.stdout), @r"
    Run: lab · outcome: pass rate
    agent: loop · model: scripted:turns.jsonl · sandbox: bubblewrap · 6 tasks · 2 conditions (baseline:
    `none`) · 1 repetition · 12 valid trials · equivalence margin ±10 percentage points (pp)
    ! scripted:turns.jsonl takes its replies from a script: the figures are a demonstration and do not
      measure a model.

    Verdicts
     helps  curated against none: +83 pp (+30 to +100, 95% CI), 6 tasks.

     Comparisons with the baseline (lift, CIs, run-to-run noise and MDE in pp):
     condition  lift       95% CI  fixed-tasks 95% CI  normalized change  p (CI)  adjusted p (CI)  run-to-run noise  MDE  tasks better/equal/worse
     curated     +83  +30 to +100         +20 to +100              +0.83   0.010            0.010                 –  ±65                     5/1/0

    Conditions
     Results, with mean tokens, cost and time per valid trial:
     condition  pass rate      95% CI  tasks  valid trials  infra errors  tokens     cost   time
     none              0%    0 to 24%      6             6             0     ###  unknown  #.# s
     curated          83%  31 to 100%      6             6             0   #,###  unknown  #.# s

     Skill exposure funnel (share of valid trials):
     condition  offered  advertised  mentioned  opened  executed
     curated       100%        100%       100%    100%        0%

    Results by task
     For exploration only: a single task has too few trials for a verdict.

     Trials passed and, in brackets, the lift in pp:
     task  none     curated
     t1     0/1  1/1 (+100)
     t2     0/1  1/1 (+100)
     t3     0/1  1/1 (+100)
     t4     0/1  1/1 (+100)
     t5     0/1  1/1 (+100)
     t6     0/1    0/1 (+0)

    Next steps
     `curated`: the task `t6` fails in 1 of 1 trial. `assay show ############` shows one, `assay
       report lab --tests` lists all.
     `curated` helps: add the condition `placebo` to see whether any text of this length would. `assay
       run experiment.toml` then executes only its trials.

    Definitions of all terms and columns: `assay report lab --details` and docs/guide/reports.md
    ");
}

#[test]
fn results_and_progress_do_not_mix() {
    needs_bubblewrap!();
    let lab = done();
    let ran = lab.assay(&["run", "experiment.toml"]).ok();
    assert!(ran.stdout.starts_with("Run: lab · outcome: pass rate\n"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("\n10 trials planned: 0 executed, 10 cached, 0 infrastructure errors\n"));
    assert!(!ran.stdout.contains("in the store"), "{}", ran.stdout);
    assert!(ran.stderr.contains("trials: 10, 10 cached\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("t6 excluded: the oracle does not pass here"), "{}", ran.stderr);

    let ran = lab.assay(&["run", "experiment.toml", "--format", "json"]).ok();
    assert!(ran.json().is_object(), "one document and nothing else");
    let ran = lab.assay(&["run", "experiment.toml", "-q"]).ok();
    assert_eq!(ran.stderr, "");
}

#[test]
fn colour_is_where_it_is_wanted() {
    needs_bubblewrap!();
    let lab = done();
    let colored = |lab: &Fixture, args: &[&str]| {
        lab.assay(&[&["report", "lab"], args].concat()).ok().stdout.contains('\u{1b}')
    };
    assert!(!colored(&lab, &[]), "into a file");
    assert!(colored(&lab, &["--color", "always"]));
    // Defaults, then assay.toml, then the environment, then flags.
    lab.write("assay.toml", "color = \"always\"\n");
    assert!(colored(&lab, &[]));
    let lab = lab.env("ASSAY_COLOR", "never");
    assert!(!colored(&lab, &[]));
    assert!(colored(&lab, &["--color", "always"]));
}

#[test]
fn a_terminal_gets_colour_unless_it_is_told_not_to() {
    needs_bubblewrap!();
    if !["/usr/bin/script", "/bin/script"].iter().any(|path| fs::exists(path).unwrap()) {
        assay_test::report_skip("no program `script`, which plays the terminal");
        return;
    }
    let lab = done();
    let played = |words: &str| {
        let mut command = lab.command(&[]);
        let line = format!("{words} {} report lab", env!("CARGO_BIN_EXE_assay"));
        let shell = command.get_envs().map(|(name, value)| (name.to_owned(), value.unwrap().to_owned()));
        let env: Vec<_> = shell.collect();
        command = std::process::Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).env_clear().envs(env).env("SHELL", "/bin/sh");
        command.current_dir(lab.folder()).stdin(Stdio::null());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    for (words, expected) in [("", true), ("NO_COLOR=1", false), ("NO_COLOR=", true)] {
        let shown = played(words);
        assert!(shown.contains("curated against none"), "{shown}");
        assert_eq!(shown.contains('\u{1b}'), expected, "{words}: {shown}");
    }
    for columns in [80, 120, 200] {
        let shown = played(&format!("stty rows 50 cols {columns}; NO_COLOR=1"));
        let widest = shown.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= columns, "{widest} in {columns}: {shown}");
        assert!(shown.contains("curated against none:"), "{shown}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    needs_bubblewrap!();
    let lab = done();
    for format in ["terminal", "json"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = lab.command(&["report", "lab", "--format", format]);
        let output =
            command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.status.signal()), (Some(0), None), "{format}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{format}");
    }
}
