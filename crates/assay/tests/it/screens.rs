//! Whole screens at 80 and at 120 columns. Those of the help are in `help.rs`.

use crate::fixture::{Fixture, needs_bubblewrap};
use crate::formats::documents;

/// Both widths, each with a fixture that is made for it.
fn screens(fixture: impl Fn() -> Fixture, args: &[&str], code: i32) -> [String; 2] {
    [80, 120].map(|columns| {
        let ran = fixture().columns(columns).assay(args).ended(code);
        let screen = if code == 2 { ran.stderr } else { ran.stdout };
        let widest = screen.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        assert!(widest <= usize::from(columns), "{widest} characters in {columns} columns:\n{screen}");
        screen
    })
}

#[test]
#[expect(clippy::too_many_lines, reason = "two whole screens")]
fn the_screen_of_report() {
    let [narrow, wide] = screens(documents, &["--store", "store", "report", "demo"], 0);
    insta::assert_snapshot!(narrow, @r"
    Run: demo · outcome: mean of the rewards (older plan)
    agent: loop · model: scripted:turns.jsonl · sandbox: bubblewrap · 6 tasks · 3
    conditions (baseline: `none`) · 1 repetition · 15 valid trials · equivalence
    margin ±10 percentage points (pp) · primary comparison: `curated` against the
    baseline, judged by its 95% CI · 1 other comparison
    ! scripted:turns.jsonl takes its replies from a script: the figures are a
      demonstration and do not measure a model.
    ! Of 18 records, 18 have no signature of a known key (written by an earlier
      version, on another machine or by hand).
    ! `placebo` was opened in only 0% of its trials and is therefore effectively a
      second baseline.

    Verdicts
     inconclusive  curated against none: +30 pp (−86 to +100, 95% CI), 5 tasks. If
                   the trials with infrastructure errors had passed at a rate up to
                   25 pp higher than the valid trials in one condition and up to 25
                   pp lower in the other, the lift would be +29 to +38 pp. The lift
                   leaves out 1 task without a valid trial under one of the
                   conditions, and these bounds count it. This design had too little
                   power to detect an effect. ≈64 tasks in total would be needed to
                   detect a lift of +30 pp, and ≈552 tasks to detect a lift of ±10
                   pp (80% power).
     inconclusive  placebo against none: −40 pp (−100 to +28, 95% CI), 5 tasks. If
                   the trials with infrastructure errors had passed at a rate up to
                   25 pp higher than the valid trials in one condition and up to 25
                   pp lower in the other, the lift would be −46 to −32 pp. The lift
                   leaves out 1 task without a valid trial under one of the
                   conditions, and these bounds count it. The data show neither an
                   effect nor its absence (±10 pp). ≈18 tasks in total would be
                   needed to detect a lift of −40 pp, and ≈239 tasks to detect a
                   lift of ±10 pp (80% power).

     Comparisons with the baseline (lift, CIs, run-to-run noise and MDE in pp):
     condition  lift  pass rate lift       95% CI  fixed-tasks 95% CI
     curated     +30             +40  −86 to +100         −40 to +100
     placebo     −40             −40  −100 to +28         −100 to +30

     condition  normalized change  p (CI)  adjusted p (CI)  run-to-run noise   MDE
     curated                +0.60   0.490            0.490                 –  >100
     placebo                −0.80   0.178            0.178                 –   ±91

     condition  tasks better/equal/worse
     curated                       3/1/1
     placebo                       0/3/2

    Conditions
     Results, with mean tokens, cost and time per valid trial:
     condition  score      95% CI  pass rate  tasks  valid trials  infra errors
     none         50%   0 to 100%        40%      5             5             1
     curated      80%  12 to 100%        80%      5             5             0
     placebo      10%    0 to 47%         0%      5             5             1

     condition  tokens     cost   time
     none          299  $0.0003  0.1 s
     curated     1,096  $0.0012  0.1 s
     placebo       277  $0.0003  0.1 s
     none: 1 of 6 executed trials ended with an infrastructure error (verifier 1);
       the score would be 42% if all such trials had failed, and 58% if all had
       passed
     placebo: 1 of 6 executed trials ended with an infrastructure error (verifier
       1); the score would be 8% if all such trials had failed, and 25% if all had
       passed

     Skill exposure funnel (share of valid trials):
     condition  offered  advertised  mentioned  opened  executed
     curated       100%        100%       100%    100%       40%
     placebo       100%        100%         0%      0%        0%

    Results by task
     For exploration only: a single task has too few trials for a verdict.

     Mean score, trials passed and, in brackets, the lift in pp:
     task                  none           curated             placebo
     easy             100%, 1/1    100%, 1/1 (+0)      0%, 0/1 (−100)
     half              50%, 0/1   100%, 1/1 (+50)       50%, 0/1 (+0)
     harmed           100%, 1/1    0%, 0/1 (−100)      0%, 0/1 (−100)
     lost    0/0, 1 infra error         100%, 1/1  0/0, 1 infra error
     word-1             0%, 0/1  100%, 1/1 (+100)        0%, 0/1 (+0)
     word-2             0%, 0/1  100%, 1/1 (+100)        0%, 0/1 (+0)

    Next steps
     2 trials have no result: run the experiment again, which executes only these.
     `curated` is inconclusive: the scores give partial credit, and the pass rate
       differs by +40 pp. A verdict on passes alone may differ.
     `curated`: the task `harmed` fails in 1 of 1 trial. `assay --store store show
       dd2810de33d7` shows one, `assay --store store report demo --tests` lists all.

    Definitions of all terms and columns: `assay --store store report demo
    --details` and docs/guide/reports.md
    ");
    insta::assert_snapshot!(wide, @r"
    Run: demo · outcome: mean of the rewards (older plan)
    agent: loop · model: scripted:turns.jsonl · sandbox: bubblewrap · 6 tasks · 3 conditions (baseline: `none`) · 1
    repetition · 15 valid trials · equivalence margin ±10 percentage points (pp) · primary comparison: `curated` against the
    baseline, judged by its 95% CI · 1 other comparison
    ! scripted:turns.jsonl takes its replies from a script: the figures are a demonstration and do not measure a model.
    ! Of 18 records, 18 have no signature of a known key (written by an earlier version, on another machine or by hand).
    ! `placebo` was opened in only 0% of its trials and is therefore effectively a second baseline.

    Verdicts
     inconclusive  curated against none: +30 pp (−86 to +100, 95% CI), 5 tasks. If the trials with infrastructure errors had
                   passed at a rate up to 25 pp higher than the valid trials in one condition and up to 25 pp lower in the
                   other, the lift would be +29 to +38 pp. The lift leaves out 1 task without a valid trial under one of the
                   conditions, and these bounds count it. This design had too little power to detect an effect. ≈64 tasks in
                   total would be needed to detect a lift of +30 pp, and ≈552 tasks to detect a lift of ±10 pp (80% power).
     inconclusive  placebo against none: −40 pp (−100 to +28, 95% CI), 5 tasks. If the trials with infrastructure errors had
                   passed at a rate up to 25 pp higher than the valid trials in one condition and up to 25 pp lower in the
                   other, the lift would be −46 to −32 pp. The lift leaves out 1 task without a valid trial under one of the
                   conditions, and these bounds count it. The data show neither an effect nor its absence (±10 pp). ≈18
                   tasks in total would be needed to detect a lift of −40 pp, and ≈239 tasks to detect a lift of ±10 pp (80%
                   power).

     Comparisons with the baseline (lift, CIs, run-to-run noise and MDE in pp):
     condition  lift  pass rate lift       95% CI  fixed-tasks 95% CI  normalized change  p (CI)  adjusted p (CI)
     curated     +30             +40  −86 to +100         −40 to +100              +0.60   0.490            0.490
     placebo     −40             −40  −100 to +28         −100 to +30              −0.80   0.178            0.178

     condition  run-to-run noise   MDE  tasks better/equal/worse
     curated                   –  >100                     3/1/1
     placebo                   –   ±91                     0/3/2

    Conditions
     Results, with mean tokens, cost and time per valid trial:
     condition  score      95% CI  pass rate  tasks  valid trials  infra errors  tokens     cost   time
     none         50%   0 to 100%        40%      5             5             1     299  $0.0003  0.1 s
     curated      80%  12 to 100%        80%      5             5             0   1,096  $0.0012  0.1 s
     placebo      10%    0 to 47%         0%      5             5             1     277  $0.0003  0.1 s
     none: 1 of 6 executed trials ended with an infrastructure error (verifier 1); the score would be 42% if all such
       trials had failed, and 58% if all had passed
     placebo: 1 of 6 executed trials ended with an infrastructure error (verifier 1); the score would be 8% if all such
       trials had failed, and 25% if all had passed

     Skill exposure funnel (share of valid trials):
     condition  offered  advertised  mentioned  opened  executed
     curated       100%        100%       100%    100%       40%
     placebo       100%        100%         0%      0%        0%

    Results by task
     For exploration only: a single task has too few trials for a verdict.

     Mean score, trials passed and, in brackets, the lift in pp:
     task                  none           curated             placebo
     easy             100%, 1/1    100%, 1/1 (+0)      0%, 0/1 (−100)
     half              50%, 0/1   100%, 1/1 (+50)       50%, 0/1 (+0)
     harmed           100%, 1/1    0%, 0/1 (−100)      0%, 0/1 (−100)
     lost    0/0, 1 infra error         100%, 1/1  0/0, 1 infra error
     word-1             0%, 0/1  100%, 1/1 (+100)        0%, 0/1 (+0)
     word-2             0%, 0/1  100%, 1/1 (+100)        0%, 0/1 (+0)

    Next steps
     2 trials have no result: run the experiment again, which executes only these.
     `curated` is inconclusive: the scores give partial credit, and the pass rate differs by +40 pp. A verdict on passes
       alone may differ.
     `curated`: the task `harmed` fails in 1 of 1 trial. `assay --store store show dd2810de33d7` shows one, `assay --store
       store report demo --tests` lists all.

    Definitions of all terms and columns: `assay --store store report demo --details` and docs/guide/reports.md
    ");
}

#[test]
fn the_details_of_a_report_fit_too() {
    screens(documents, &["--store", "store", "report", "demo", "--details"], 0);
}

fn experiment() -> Fixture {
    let tasks = (1..=12).fold(Fixture::new(), |lab, n| lab.task(&format!("t{n:02}"), |task| task));
    tasks.script(&[]).skill("reports", "Ends reports.", "Write the agreed word.").experiment(|design| {
        (1..=12).fold(design.conditions(&["none", "curated"]).repetitions(2), |design, n| {
            design.pair(&format!("t{n:02}"), &["reports"])
        })
    })
}

#[test]
fn the_screen_of_plan() {
    needs_bubblewrap!();
    let args = ["plan", "experiment.toml", "--lift", "0.3", "--equivalence-margin", "0.15"];
    let [narrow, wide] = screens(experiment, &args, 1);
    insta::assert_snapshot!(narrow, @r"
    lab: 48 trials, 0 cached
      loop with scripted:turns.jsonl, none: 24 trials, 0 cached, no cost, time
        unknown
      loop with scripted:turns.jsonl, curated: 24 trials, 0 cached, no cost, time
        unknown
    Agent time limit: 60 s (set by the experiment)
    Memory limit: 4096 MB (default)
    Estimated cost: none (no model is billed)
    Estimated time: unknown (no recorded trials)

    Design: 12 tasks, 2 repetitions, 1 comparison, equivalence margin ±10 pp
      Baseline pass rate: 40% (assumed)
      Minimum detectable effect (80% power): 44 pp
      Smallest attainable equivalence margin (80% power): ±30 pp
      Expected verdicts if the true effect is zero: helps 0%, harms 0%, negligible
        0%, inconclusive 99%

    Same number of trials, other numbers of tasks (independent) and repetitions
      tasks  repetitions  MDE (pp)  smallest margin (pp)  power at +30 pp
         24            1       +32                   ±27              73%
         12            2       +44                   ±30              48%  this plan
          8            3       +53                   ±34              28%

    To detect a lift of +30 pp
      Expected verdicts of this design: helps 48%, harms 0%, negligible 0%,
        inconclusive 52%
      Needed for 80% power: 21 tasks, with 2 repetitions of each

    To show a negligible effect (equivalence margin ±15 pp)
      Needed for 80% power: 37 tasks, with 2 repetitions of each

    Impossible: an equivalence margin of ±15 pp is below ±22.09 pp, the smallest
      that this many tasks can show even if none of them differs
    ");
    insta::assert_snapshot!(wide, @r"
    lab: 48 trials, 0 cached
      loop with scripted:turns.jsonl, none: 24 trials, 0 cached, no cost, time unknown
      loop with scripted:turns.jsonl, curated: 24 trials, 0 cached, no cost, time unknown
    Agent time limit: 60 s (set by the experiment)
    Memory limit: 4096 MB (default)
    Estimated cost: none (no model is billed)
    Estimated time: unknown (no recorded trials)

    Design: 12 tasks, 2 repetitions, 1 comparison, equivalence margin ±10 pp
      Baseline pass rate: 40% (assumed)
      Minimum detectable effect (80% power): 44 pp
      Smallest attainable equivalence margin (80% power): ±30 pp
      Expected verdicts if the true effect is zero: helps 0%, harms 0%, negligible 0%, inconclusive 99%

    Same number of trials, other numbers of tasks (independent) and repetitions
      tasks  repetitions  MDE (pp)  smallest margin (pp)  power at +30 pp
         24            1       +32                   ±27              73%
         12            2       +44                   ±30              48%  this plan
          8            3       +53                   ±34              28%

    To detect a lift of +30 pp
      Expected verdicts of this design: helps 48%, harms 0%, negligible 0%, inconclusive 52%
      Needed for 80% power: 21 tasks, with 2 repetitions of each

    To show a negligible effect (equivalence margin ±15 pp)
      Needed for 80% power: 37 tasks, with 2 repetitions of each

    Impossible: an equivalence margin of ±15 pp is below ±22.09 pp, the smallest that this many tasks can show even if none
      of them differs
    ");
}

fn library() -> Fixture {
    let fields = "See [the fields of a form](references/fields.md), and fill in each of them in the order of the pages.";
    Fixture::new().skill("pdf", "Fills PDF forms that have fields.", fields)
}

#[test]
fn the_screen_of_lint() {
    let [narrow, wide] = screens(library, &["lint", "skills", "-v"], 0);
    insta::assert_snapshot!(narrow, @r"
    info[description-when]: the description does not say when to use the skill
     --> skills/pdf/SKILL.md:3:14
      |
    3 | description: Fills PDF forms that have fields.
      |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: add a phrase such as `Use when …`

    warning[link-broken]: `references/fields.md` is not in the package
     --> skills/pdf/SKILL.md:6:5
      |
    6 | See [the fields of a form](references/fields.md), and fill in each of ...
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: correct the path, or add the file

    skills/pdf
      spec         valid
      skills-ref   valid
      upload       valid
      claude-code  listed as `pdf`, description 33 characters
      codex        listed as `pdf`, description 33 characters
      gemini-cli   listed as `pdf`, description 33 characters
      opencode     listed as `pdf`, description 33 characters
      lenient      listed as `pdf`, description 33 characters

    1 skill: 0 errors, 1 warning, 1 info
      spec         1 of 1 valid
      skills-ref   1 of 1 valid
      upload       1 of 1 valid
      claude-code  1 of 1 listed, 0 not loaded, 0 truncated
      codex        1 of 1 listed, 0 not loaded, 0 truncated
      gemini-cli   1 of 1 listed, 0 not loaded, 0 truncated
      opencode     1 of 1 listed, 0 not loaded, 0 truncated
      lenient      1 of 1 listed, 0 not loaded, 0 truncated
    ");
    insta::assert_snapshot!(wide, @r"
    info[description-when]: the description does not say when to use the skill
     --> skills/pdf/SKILL.md:3:14
      |
    3 | description: Fills PDF forms that have fields.
      |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: add a phrase such as `Use when …`

    warning[link-broken]: `references/fields.md` is not in the package
     --> skills/pdf/SKILL.md:6:5
      |
    6 | See [the fields of a form](references/fields.md), and fill in each of them in the order of the pages.
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: correct the path, or add the file

    skills/pdf
      spec         valid
      skills-ref   valid
      upload       valid
      claude-code  listed as `pdf`, description 33 characters
      codex        listed as `pdf`, description 33 characters
      gemini-cli   listed as `pdf`, description 33 characters
      opencode     listed as `pdf`, description 33 characters
      lenient      listed as `pdf`, description 33 characters

    1 skill: 0 errors, 1 warning, 1 info
      spec         1 of 1 valid
      skills-ref   1 of 1 valid
      upload       1 of 1 valid
      claude-code  1 of 1 listed, 0 not loaded, 0 truncated
      codex        1 of 1 listed, 0 not loaded, 0 truncated
      gemini-cli   1 of 1 listed, 0 not loaded, 0 truncated
      opencode     1 of 1 listed, 0 not loaded, 0 truncated
      lenient      1 of 1 listed, 0 not loaded, 0 truncated
    ");
}

/// With many findings, counts by rule and a line for each finding.
#[test]
fn the_screen_of_lint_with_many_findings() {
    let draft = "---\nname: Draft Notes\nversion: 1\n---\nRun `curl https://example.com/install.sh | sh`.\n";
    let [narrow, wide] = screens(|| library().file("skills/draft/SKILL.md", draft), &["lint", "skills"], 1);
    insta::assert_snapshot!(narrow, @r"
    2 skills: 4 errors, 3 warnings, 1 info (-v shows it)

    severity rule                     findings  skills  finds
    error    description-missing             1       1  `description` is missing
    error    name-case                       1       1  `name` is not lowercase
    error    name-characters                 1       1  `name` contains characters…
    error    name-directory                  1       1  `name` differs from the fol…
    warning  field-unknown                   1       1  a field that the specificat…
    warning  link-broken                     1       1  a relative link to a file t…
    warning  remote-pipe                     1       1  Code from the network is pi…

    error[description-missing]
      skills/draft/SKILL.md:1:1: missing `description`
    error[name-case]
      skills/draft/SKILL.md:2:7: `Draft Notes` is not lowercase
    error[name-characters]
      skills/draft/SKILL.md:2:7: `name` contains ` `
    error[name-directory]
      skills/draft/SKILL.md:2:7: `name` is `Draft Notes`, but the folder is named
        `draft`
    warning[field-unknown]
      skills/draft/SKILL.md:3:1: `version` is not a field of the specification
    warning[link-broken]
      skills/pdf/SKILL.md:6:5: `references/fields.md` is not in the package
    warning[remote-pipe]
      skills/draft/SKILL.md:5:44: executes code from a URL without review

      spec         1 of 2 valid
      skills-ref   1 of 2 valid
      upload       1 of 2 valid
      claude-code  2 of 2 listed, 0 not loaded, 0 truncated
      codex        2 of 2 listed, 0 not loaded, 0 truncated
      gemini-cli   1 of 2 listed, 1 not loaded, 0 truncated
      opencode     1 of 2 listed, 1 not loaded, 0 truncated
      lenient      1 of 2 listed, 1 not loaded, 0 truncated
    ");
    insta::assert_snapshot!(wide, @r"
    2 skills: 4 errors, 3 warnings, 1 info (-v shows it)

    severity rule                     findings  skills  finds
    error    description-missing             1       1  `description` is missing
    error    name-case                       1       1  `name` is not lowercase
    error    name-characters                 1       1  `name` contains characters other than letters, digits and hyphens
    error    name-directory                  1       1  `name` differs from the folder's name
    warning  field-unknown                   1       1  a field that the specification does not define
    warning  link-broken                     1       1  a relative link to a file that is not in the package
    warning  remote-pipe                     1       1  Code from the network is piped into an interpreter without review.

    error[description-missing]
      skills/draft/SKILL.md:1:1: missing `description`
    error[name-case]
      skills/draft/SKILL.md:2:7: `Draft Notes` is not lowercase
    error[name-characters]
      skills/draft/SKILL.md:2:7: `name` contains ` `
    error[name-directory]
      skills/draft/SKILL.md:2:7: `name` is `Draft Notes`, but the folder is named `draft`
    warning[field-unknown]
      skills/draft/SKILL.md:3:1: `version` is not a field of the specification
    warning[link-broken]
      skills/pdf/SKILL.md:6:5: `references/fields.md` is not in the package
    warning[remote-pipe]
      skills/draft/SKILL.md:5:44: executes code from a URL without review

      spec         1 of 2 valid
      skills-ref   1 of 2 valid
      upload       1 of 2 valid
      claude-code  2 of 2 listed, 0 not loaded, 0 truncated
      codex        2 of 2 listed, 0 not loaded, 0 truncated
      gemini-cli   1 of 2 listed, 1 not loaded, 0 truncated
      opencode     1 of 2 listed, 1 not loaded, 0 truncated
      lenient      1 of 2 listed, 1 not loaded, 0 truncated
    ");
}

#[test]
fn the_screens_of_errors() {
    let fixture = || experiment_with("curatd");
    let [narrow, wide] = screens(fixture, &["plan", "experiment.toml"], 2);
    insta::assert_snapshot!(narrow, @r#"
    error: experiment.toml:5:14: unknown condition "curatd": expected one of none,
      curated, placebo, documents[:DIR], plain, negative, full, plus-related,
      plus-unrelated, self-generated, generated-from-task[:DIR],
      generated-from-docs[:DIR], generated-from-runs[:DIR], version:DIR|GITREF,
      counterfactual
      5 | conditions = ["none", "curatd"]
        |              ^
    "#);
    insta::assert_snapshot!(wide, @r#"
    error: experiment.toml:5:14: unknown condition "curatd": expected one of none, curated, placebo, documents[:DIR], plain,
      negative, full, plus-related, plus-unrelated, self-generated, generated-from-task[:DIR], generated-from-docs[:DIR],
      generated-from-runs[:DIR], version:DIR|GITREF, counterfactual
      5 | conditions = ["none", "curatd"]
        |              ^
    "#);
    let [narrow, wide] = screens(Fixture::new, &["plan", "experiments/skills/experiment.toml"], 2);
    insta::assert_snapshot!(narrow, @r"
    error: cannot read experiments/skills/experiment.toml
      cause: No such file or directory (os error 2)
      hint: `assay init experiment` creates one
    ");
    insta::assert_snapshot!(wide, @r"
    error: cannot read experiments/skills/experiment.toml
      cause: No such file or directory (os error 2)
      hint: `assay init experiment` creates one
    ");
}

fn experiment_with(condition: &'static str) -> Fixture {
    let lab = Fixture::new().task("t1", |task| task).script(&[]);
    lab.skill("reports", "Ends reports.", "Write the agreed word.")
        .experiment(|design| design.conditions(&["none", condition]))
}
