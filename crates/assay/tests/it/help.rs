//! Help, completions and man pages. docs/COMMANDS.md holds every help; a test beside the definitions compares them.

use crate::fixture::Fixture;

/// What a command prints on a terminal of so many columns.
fn screen(columns: u16, args: &[&str]) -> String {
    Fixture::new().env("COLUMNS", &columns.to_string()).assay(args).ok().stdout
}

#[test]
#[expect(clippy::too_many_lines, reason = "two whole screens")]
fn the_screen_of_assay() {
    insta::assert_snapshot!(screen(80, &["--help"]), @r"
    Lint agent skills and measure whether they help

    assay lints skills, and measures their effect: it runs agents on tasks with and
    without a skill, in a sandbox, and reports the difference in mean score with a
    confidence interval.

    An experiment lists tasks, agents and conditions; a condition says which skills
    an agent gets. One condition is the baseline, usually the one without skills. A
    trial is one execution of one task by one agent under one condition; each
    repetition is a trial of its own. The trials of an experiment form a run. Runs
    are kept in the store, a folder (.assay by default).

    Start with `assay lint FOLDER`, or with `assay init experiment`.

    Usage: assay [OPTIONS] <COMMAND>

    Skills:
      lint      Lint skills: per-client validity, safety and quality rules
      search    Find the skills that fit a request
      route     Show which skill would be chosen for a request

    Experiments:
      init      Write a new experiment, task or CI workflow
      draft     Draft an evaluation from a skill
      task      Check tasks, or run one task once
      plan      Forecast an experiment's cost and statistical power
      run       Run an experiment: agents with and without skills
      worker    Execute trials of a run that another process started

    Results:
      appraise  Get a second opinion on results that another tool recorded
      show      List runs, or show a run's trials or one trial
      view      Show runs, trials, pairs and skills in a browser
      report    Report whether each skill helped in a run
      compare   Compare two runs, condition by condition
      gate      Decide whether changed skills meet a policy
      audit     Show how a skill changed agents' behavior
      judge     Check rubrics, and measure the errors of judges

    Data:
      trace     Convert, show and summarize agent transcripts
      import    Import trials that another harness executed
      export    Export the store's results for other tools

    Tools:
      agent     Install, list and test CLI agents
      gateway   Run a metering proxy between an agent and its model
      doctor    Check the environment and suggest fixes
      gc        Remove unreferenced data and leftovers of crashed runs
      help      Print this message or the help of the given subcommand(s)

    Lab:
      lab       Evaluate assay itself and reproduce published results

    Global options:
          --store <DIR>
              Folder where trials and runs are stored [default: .assay]
              
              [env: ASSAY_STORE]

          --format <FORMAT>
              Output format

              Possible values:
              - terminal: Human-readable text
              - markdown: Markdown; `report` and `appraise`
              - html:     One self-contained page; `report`, `appraise` and `audit
                show`
              - json:     JSON; some commands print JSON Lines, and their help says
                so
              - sarif:    SARIF 2.1.0; `lint` only
              - junit:    JUnit XML; `lint` only
              - github:   GitHub Actions annotations; `lint` only
              
              [default: terminal]

          --color <WHEN>
              When to use colors [default: auto]

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [env: ASSAY_COLOR]

      -q, --quiet
              Print nothing but errors to standard error; standard output is not
              affected

      -v, --verbose...
              Print more details

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Exit status:
      0    success
      1    completed with a negative result, such as a lint error or a failed task
           check; see the help of each command
      2    invalid usage or invalid input
      3    infrastructure error: no sandbox, no network, or no reply from a model
      130  interrupted; finished trials are kept

    Examples:
      assay lint skills
      assay run experiment.toml
    ");
    insta::assert_snapshot!(screen(120, &["--help"]), @r"
    Lint agent skills and measure whether they help

    assay lints skills, and measures their effect: it runs agents on tasks with and without a skill, in
    a sandbox, and reports the difference in mean score with a confidence interval.

    An experiment lists tasks, agents and conditions; a condition says which skills an agent gets. One
    condition is the baseline, usually the one without skills. A trial is one execution of one task by
    one agent under one condition; each repetition is a trial of its own. The trials of an experiment
    form a run. Runs are kept in the store, a folder (.assay by default).

    Start with `assay lint FOLDER`, or with `assay init experiment`.

    Usage: assay [OPTIONS] <COMMAND>

    Skills:
      lint      Lint skills: per-client validity, safety and quality rules
      search    Find the skills that fit a request
      route     Show which skill would be chosen for a request

    Experiments:
      init      Write a new experiment, task or CI workflow
      draft     Draft an evaluation from a skill
      task      Check tasks, or run one task once
      plan      Forecast an experiment's cost and statistical power
      run       Run an experiment: agents with and without skills
      worker    Execute trials of a run that another process started

    Results:
      appraise  Get a second opinion on results that another tool recorded
      show      List runs, or show a run's trials or one trial
      view      Show runs, trials, pairs and skills in a browser
      report    Report whether each skill helped in a run
      compare   Compare two runs, condition by condition
      gate      Decide whether changed skills meet a policy
      audit     Show how a skill changed agents' behavior
      judge     Check rubrics, and measure the errors of judges

    Data:
      trace     Convert, show and summarize agent transcripts
      import    Import trials that another harness executed
      export    Export the store's results for other tools

    Tools:
      agent     Install, list and test CLI agents
      gateway   Run a metering proxy between an agent and its model
      doctor    Check the environment and suggest fixes
      gc        Remove unreferenced data and leftovers of crashed runs
      help      Print this message or the help of the given subcommand(s)

    Lab:
      lab       Evaluate assay itself and reproduce published results

    Global options:
          --store <DIR>
              Folder where trials and runs are stored [default: .assay]
              
              [env: ASSAY_STORE]

          --format <FORMAT>
              Output format

              Possible values:
              - terminal: Human-readable text
              - markdown: Markdown; `report` and `appraise`
              - html:     One self-contained page; `report`, `appraise` and `audit show`
              - json:     JSON; some commands print JSON Lines, and their help says so
              - sarif:    SARIF 2.1.0; `lint` only
              - junit:    JUnit XML; `lint` only
              - github:   GitHub Actions annotations; `lint` only
              
              [default: terminal]

          --color <WHEN>
              When to use colors [default: auto]

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [env: ASSAY_COLOR]

      -q, --quiet
              Print nothing but errors to standard error; standard output is not affected

      -v, --verbose...
              Print more details

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Exit status:
      0    success
      1    completed with a negative result, such as a lint error or a failed task
           check; see the help of each command
      2    invalid usage or invalid input
      3    infrastructure error: no sandbox, no network, or no reply from a model
      130  interrupted; finished trials are kept

    Examples:
      assay lint skills
      assay run experiment.toml
    ");
}

#[test]
#[expect(clippy::too_many_lines, reason = "two whole screens")]
fn the_screen_of_run() {
    insta::assert_snapshot!(screen(80, &["run", "--help"]), @r"
    Run an experiment: agents with and without skills

    Executes every trial that has no result in the store, retries trials that ended
    in an infrastructure error, and prints the report. You can interrupt the command
    at any time; the next `assay run` resumes. The run is named after the
    experiment. A changed experiment gets a new run, whose name has a number
    appended (my-suite-2).

    Before the trials, each task is checked once: the reference solution must pass
    the task's tests (oracle check), and the tests must fail if nothing is done
    (no-op check). Tasks that fail a check are excluded.

    Usage: assay run [OPTIONS] <EXPERIMENT>

    Arguments:
      <EXPERIMENT>
              The experiment: a file, or a folder with an experiment.toml

    Options:
          --prices <FILE>
              File with prices of models for agents without a price [default:
              assay's list prices]
              
              Has the format of `assay trace stats --prices`. Unlike it, only models
              of the experiment are priced; a model that is not listed has no cost.

          --same-server <SERVER>
              Reuse results of another server: an address, or a `server` name;
              repeatable
              
              Results belong to the server that the experiment declares, and those
              of another server are not reused. With this option, trials without a
              result use one of SERVER, and the plan and the report say so.
              `unknown` means results of assay 0.1.0 of whose server nothing is
              known.

          --only <KEY=VALUE,…>
              Run only the trials that match, such as task=pivot*,agent=claude;
              repeatable
              
              KEY is task, condition, agent or repetition. Names may contain *. A
              trial must match every key that is given. If a key is given several
              times, one of the key's values must match.

          --dry-run
              Print what would be run, and run nothing

          --allow-unsandboxed
              Allow sandbox `none`, in which commands of the experiment run with
              your permissions
              
              Only for experiments that you trust: nothing is isolated.
              docs/SECURITY.md describes the sandboxes.

          --allow-outside
              Allow the experiment to name paths outside of its Git work tree
              
              Without a work tree: outside of the nearest folder with an assay.toml,
              else of the experiment's folder. Texts of such paths can enter
              prompts, which are sent to the model's provider.

          --allow-unsafe
              Give agents skills that have a safety error
              
              `assay lint` lists and explains the errors, and `assay plan` names the
              skills.

          --replay <DIR>
              Do not call the models of CLI agents; use recorded replies
              
              DIR is the store that contains the recorded replies. The built-in
              agent `loop` is not replayed: it still calls its model.

      -j, --jobs <N>
              Concurrent trials [default: as in the experiment]

          --executor <EXECUTOR>
              What executes the trials: threads of this process, or workers
              
              With `workers`, this process plans, checks and reports, and `assay
              worker` executes the trials, on any number of machines that have the
              store, the tasks and the skills in the same folders. If this process
              ends, workers finish what it has begun.
              
              With `slurm`, this process submits workers as a job array of --jobs
              tasks, each with one trial at a time, and submits further ones in
              place of those that are lost. Started again, in any shell of the
              cluster, it follows the workers that are in the queue.

              Possible values:
              - local:   This process
              - workers: `assay worker`, on any machine
              - slurm:   `assay worker`, started by Slurm
              
              [default: local]

          --sbatch <OPTIONS>
              Options of sbatch, in one string; with --executor slurm
              
              Slurm's environment variables, such as SBATCH_PARTITION, hold as well.

          --cancel-on-interrupt
              Cancel the Slurm jobs when this process is interrupted [default: they
              go on]

          --max-trials <N>
              Execute at most N trials now; the next `assay run` resumes

          --max-usd <AMOUNT>
              Spend at most this many US dollars in this invocation
              
              Each paid model needs a `price` in its [[agents]] table of the
              experiment. A trial that would probably exceed the cap is not started.
              Each request under way sets aside what it may cost (its prompt, and
              its limit of output tokens, else 8,192), and others wait while that
              does not fit: at most one request exceeds the cap. If the provider
              reports no usage for a reply, its cost is estimated from characters,
              and the report says so.

          --max-tokens <N>
              Use at most N tokens in this invocation, input and output
              
              At most one request exceeds the cap, as with --max-usd. If the
              provider reports no usage for a request, it counts as 0 tokens, and
              the report says so.

          --no-cap
              Allow models of remote providers without --max-usd, --max-tokens or
              --max-trials
              
              Without --no-cap, one of these three options is required for such
              models.

          --allow-no-verdict
              Run a design that has too few tasks for any verdict
              
              A confidence interval needs at least five tasks, or effective clusters
              of tasks. Without this option such a design is refused before its
              first trial, unless --only or --max-trials select a part of it, or all
              its trials are recorded.

          --no-retry
              Do not retry trials that had an infrastructure error in an earlier
              invocation

          --reuse-imported
              Use results of imported runs instead of executing their trials
              
              `assay import run` brings results that others produced. They are no
              results of this store: without this option their trials are executed
              here. With it, the plan records how many results were imported, and so
              does the report.

          --no-preflight
              Skip the preflight, a first request to each model that shows whether
              the model replies

          --no-checks
              Skip the oracle and no-op checks of tasks
              
              Tasks that cannot be solved, or that pass without any work, are then
              not detected.

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --store <DIR>
              Folder where trials and runs are stored [default: .assay]
              
              [env: ASSAY_STORE]

          --format <FORMAT>
              Output format

              Possible values:
              - terminal: Human-readable text
              - markdown: Markdown; `report` and `appraise`
              - html:     One self-contained page; `report`, `appraise` and `audit
                show`
              - json:     JSON; some commands print JSON Lines, and their help says
                so
              - sarif:    SARIF 2.1.0; `lint` only
              - junit:    JUnit XML; `lint` only
              - github:   GitHub Actions annotations; `lint` only
              
              [default: terminal]

          --color <WHEN>
              When to use colors [default: auto]

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [env: ASSAY_COLOR]

      -q, --quiet
              Print nothing but errors to standard error; standard output is not
              affected

      -v, --verbose...
              Print more details

    Examples:
      assay run experiment.toml --dry-run
      assay run experiment.toml --jobs 8 --max-usd 20
      assay run experiment.toml --executor slurm --jobs 64 --sbatch
      '--partition=long --mem=4G'
    ");
    insta::assert_snapshot!(screen(120, &["run", "--help"]), @r"
    Run an experiment: agents with and without skills

    Executes every trial that has no result in the store, retries trials that ended in an infrastructure
    error, and prints the report. You can interrupt the command at any time; the next `assay run`
    resumes. The run is named after the experiment. A changed experiment gets a new run, whose name has
    a number appended (my-suite-2).

    Before the trials, each task is checked once: the reference solution must pass the task's tests
    (oracle check), and the tests must fail if nothing is done (no-op check). Tasks that fail a check
    are excluded.

    Usage: assay run [OPTIONS] <EXPERIMENT>

    Arguments:
      <EXPERIMENT>
              The experiment: a file, or a folder with an experiment.toml

    Options:
          --prices <FILE>
              File with prices of models for agents without a price [default: assay's list prices]
              
              Has the format of `assay trace stats --prices`. Unlike it, only models of the experiment
              are priced; a model that is not listed has no cost.

          --same-server <SERVER>
              Reuse results of another server: an address, or a `server` name; repeatable
              
              Results belong to the server that the experiment declares, and those of another server are
              not reused. With this option, trials without a result use one of SERVER, and the plan and
              the report say so. `unknown` means results of assay 0.1.0 of whose server nothing is
              known.

          --only <KEY=VALUE,…>
              Run only the trials that match, such as task=pivot*,agent=claude; repeatable
              
              KEY is task, condition, agent or repetition. Names may contain *. A trial must match every
              key that is given. If a key is given several times, one of the key's values must match.

          --dry-run
              Print what would be run, and run nothing

          --allow-unsandboxed
              Allow sandbox `none`, in which commands of the experiment run with your permissions
              
              Only for experiments that you trust: nothing is isolated. docs/SECURITY.md describes the
              sandboxes.

          --allow-outside
              Allow the experiment to name paths outside of its Git work tree
              
              Without a work tree: outside of the nearest folder with an assay.toml, else of the
              experiment's folder. Texts of such paths can enter prompts, which are sent to the model's
              provider.

          --allow-unsafe
              Give agents skills that have a safety error
              
              `assay lint` lists and explains the errors, and `assay plan` names the skills.

          --replay <DIR>
              Do not call the models of CLI agents; use recorded replies
              
              DIR is the store that contains the recorded replies. The built-in agent `loop` is not
              replayed: it still calls its model.

      -j, --jobs <N>
              Concurrent trials [default: as in the experiment]

          --executor <EXECUTOR>
              What executes the trials: threads of this process, or workers
              
              With `workers`, this process plans, checks and reports, and `assay worker` executes the
              trials, on any number of machines that have the store, the tasks and the skills in the
              same folders. If this process ends, workers finish what it has begun.
              
              With `slurm`, this process submits workers as a job array of --jobs tasks, each with one
              trial at a time, and submits further ones in place of those that are lost. Started again,
              in any shell of the cluster, it follows the workers that are in the queue.

              Possible values:
              - local:   This process
              - workers: `assay worker`, on any machine
              - slurm:   `assay worker`, started by Slurm
              
              [default: local]

          --sbatch <OPTIONS>
              Options of sbatch, in one string; with --executor slurm
              
              Slurm's environment variables, such as SBATCH_PARTITION, hold as well.

          --cancel-on-interrupt
              Cancel the Slurm jobs when this process is interrupted [default: they go on]

          --max-trials <N>
              Execute at most N trials now; the next `assay run` resumes

          --max-usd <AMOUNT>
              Spend at most this many US dollars in this invocation
              
              Each paid model needs a `price` in its [[agents]] table of the experiment. A trial that
              would probably exceed the cap is not started. Each request under way sets aside what it
              may cost (its prompt, and its limit of output tokens, else 8,192), and others wait while
              that does not fit: at most one request exceeds the cap. If the provider reports no usage
              for a reply, its cost is estimated from characters, and the report says so.

          --max-tokens <N>
              Use at most N tokens in this invocation, input and output
              
              At most one request exceeds the cap, as with --max-usd. If the provider reports no usage
              for a request, it counts as 0 tokens, and the report says so.

          --no-cap
              Allow models of remote providers without --max-usd, --max-tokens or --max-trials
              
              Without --no-cap, one of these three options is required for such models.

          --allow-no-verdict
              Run a design that has too few tasks for any verdict
              
              A confidence interval needs at least five tasks, or effective clusters of tasks. Without
              this option such a design is refused before its first trial, unless --only or --max-trials
              select a part of it, or all its trials are recorded.

          --no-retry
              Do not retry trials that had an infrastructure error in an earlier invocation

          --reuse-imported
              Use results of imported runs instead of executing their trials
              
              `assay import run` brings results that others produced. They are no results of this store:
              without this option their trials are executed here. With it, the plan records how many
              results were imported, and so does the report.

          --no-preflight
              Skip the preflight, a first request to each model that shows whether the model replies

          --no-checks
              Skip the oracle and no-op checks of tasks
              
              Tasks that cannot be solved, or that pass without any work, are then not detected.

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --store <DIR>
              Folder where trials and runs are stored [default: .assay]
              
              [env: ASSAY_STORE]

          --format <FORMAT>
              Output format

              Possible values:
              - terminal: Human-readable text
              - markdown: Markdown; `report` and `appraise`
              - html:     One self-contained page; `report`, `appraise` and `audit show`
              - json:     JSON; some commands print JSON Lines, and their help says so
              - sarif:    SARIF 2.1.0; `lint` only
              - junit:    JUnit XML; `lint` only
              - github:   GitHub Actions annotations; `lint` only
              
              [default: terminal]

          --color <WHEN>
              When to use colors [default: auto]

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [env: ASSAY_COLOR]

      -q, --quiet
              Print nothing but errors to standard error; standard output is not affected

      -v, --verbose...
              Print more details

    Examples:
      assay run experiment.toml --dry-run
      assay run experiment.toml --jobs 8 --max-usd 20
      assay run experiment.toml --executor slurm --jobs 64 --sbatch '--partition=long --mem=4G'
    ");
}

#[test]
fn completions_are_written_for_every_shell() {
    let lab = Fixture::new();
    for (shell, expected) in [
        ("bash", "_assay()"),
        ("elvish", "edit:completion:arg-completer[assay]"),
        ("fish", "complete -c assay"),
        ("powershell", "Register-ArgumentCompleter"),
        ("zsh", "#compdef assay"),
    ] {
        let text = lab.assay(&["completions", shell]).ok().stdout;
        for part in [expected, "cta-2026", "equivalence-margin"] {
            assert!(text.contains(part), "{shell}: no {part:?}");
        }
    }
    lab.assay(&["completions", "tcsh"]).ended(2);
    lab.assay(&["completions", "bash", "--out", "man1"]).ended(2);
}

#[test]
fn man_pages_are_written_for_every_command() {
    let lab = Fixture::new();
    lab.assay(&["completions", "man"]).ended(2);
    let ran = lab.assay(&["completions", "man", "--out", "share/man1"]).ok();
    assert_eq!(ran.stdout, "");
    let page = |name: &str| std::fs::read_to_string(lab.path(&format!("share/man1/{name}.1"))).unwrap();
    let (root, run) = (page("assay"), page("assay-run"));
    assert!(root.contains(".TH assay 1") && root.contains("Exit status"), "{root}");
    assert!(run.contains("assay\\-run") && run.contains("no\\-retry"), "{run}");
    page("assay-lab-corpus-funnel");
    assert!(!lab.path("share/man1/assay-trial.1").exists(), "a hidden command");
}

#[test]
fn help_of_a_command_is_the_same_both_ways() {
    let lab = Fixture::new();
    for path in [&["lint"][..], &["lab", "corpus", "funnel"]] {
        let option = lab.assay(&[path, &["--help"]].concat()).ok().stdout;
        assert_eq!(lab.assay(&[&["help"], path].concat()).ok().stdout, option);
    }
}

#[test]
fn versions_are_told() {
    let ran = Fixture::new().assay(&["--version"]).ok();
    assert_eq!(ran.stdout, concat!("assay ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn a_command_that_moved_names_the_new_one() {
    let lab = Fixture::new();
    for (old, new) in [
        ("runs", "show"),
        ("history", "show --history"),
        ("trial run tasks/t1", "task run"),
        ("health lib", "lab health"),
        ("corpus funnel in.jsonl", "lab corpus"),
        ("simulate", "lab simulate"),
        ("bench harness", "lab bench"),
        ("search bench --corpus a", "lab search bench"),
        ("search train --corpus a", "lab search train"),
        ("route bench --prompts a", "lab route bench"),
        ("audit pairs --with a --method cta-2026", "lab cta-2026 pairs"),
        ("lint --self-test", "lab self-test"),
        ("plan a --no-effect-within 0.1", "plan --equivalence-margin"),
    ] {
        let ran = lab.assay(&old.split(' ').collect::<Vec<_>>()).ended(2);
        assert_eq!(ran.stdout, "");
        let ending = format!(" is now `assay {new}`\n");
        assert!(ran.stderr.starts_with("error: `assay ") && ran.stderr.ends_with(&ending), "{}", ran.stderr);
    }
    lab.assay(&["help", "lab", "corpus"]).ok();
}
