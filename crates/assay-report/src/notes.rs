//! Notes as sentences. Names in them are neither cleaned nor escaped.

use assay_analysis::{
    ArmName, ArmNames, AskedQuestion, Closing, ControlNote, EarlierKind, MatchedCondition, Note, OutcomeRule,
    PastRun, RecordOrigins, RepliedModel, Reuse, TokenNote,
};

use crate::text::{clean, count, counted, points};

/// Earlier runs that are named.
const RUNS: usize = 8;

/// Tasks that a note names.
const TASKS: usize = 5;

fn open_look(look: &str) -> String {
    format!(
        "The gate was interrupted: no verdict. Run it again: it goes on with its look {look} and the recorded trials."
    )
}

/// A note as a sentence.
pub fn note(note: &Note) -> String {
    match note {
        Note::Unusable { arm, on_controls, trials, timed_out, silent, infrastructure } => format!(
            "{} has no usable trials{}: of {}, {}. It has no pass rate and is not compared.",
            name(arm),
            if *on_controls { " on the negative controls" } else { "" },
            counted(*trials, "trial", "trials"),
            outcomes(*timed_out, *silent, *infrastructure)
        ),
        Note::OtherModelReplied(replied) => other_model_replied(replied),
        Note::Scripted { names } => scripted(names),
        Note::Planned(warning) => warning.clone(),
        Note::Imported { origin } => format!(
            "The trials were executed by {origin} and imported. Unknown: skill exposure, and so whether the treatment \
             of a condition was available to the agent, other contents of the sandbox, and tampering with the verifier."
        ),
        Note::SeveralRewards { tasks, rule } => several_rewards(tasks, *rule),
        Note::Late { trials } => format!(
            "{} graded after the agent's deadline, when the agent may still have been running. Such a trial counts as \
             timed out.",
            counted(*trials, "trial was", "trials were")
        ),
        Note::Clamped { trials, low, high } => format!(
            "{} a reward outside 0 to 1 ({low} to {high}). Scores are clamped to this range.",
            counted(*trials, "trial has", "trials have")
        )
        .replace('-', "−"),
        Note::DifferentTimes { arm, baseline, measured, overlap } => {
            different_times(arm, baseline, measured, *overlap)
        }
        Note::ConditionsMatched { first, second, pairs } => conditions_matched(first, second, pairs),
        Note::SettingDiffers { setting, first, second, tasks } => format!(
            "Different settings{}: {setting} is {second}, and {first} in the first run. The difference between the runs \
             includes its effect.",
            tasks.map_or_else(String::new, |tasks| format!(" on {}", counted(tasks, "task", "tasks")))
        ),
        Note::PlacedInSystem { agents } => format!(
            "{}: skills were listed in the system prompt, not through the agent's own skills folder.",
            agents.join(", ")
        ),
        Note::SkillsTold => "The prompt said that the skills were installed for the task.".to_owned(),
        Note::SkillsEager => "The full text of the skills was in the context from the start.".to_owned(),
        Note::Condition { condition, is, disclosure, repetitions } => {
            settings(condition, is, disclosure.as_deref(), *repetitions)
        }
        Note::ListPrice { model, from } => format!(
            "Costs of {model} are computed with its list price of {from}. A `price` in the experiment replaces it."
        ),
        Note::Tokens(note) => tokens(note),
        Note::Replayed { trials } => format!(
            "{} replayed from cassettes without calling a provider: they are not new measurements.",
            counted(*trials, "trial was", "trials were")
        ),
        Note::EqualConditions { one, other, tasks } => format!(
            "`{one}` and `{other}` provide the same skills on {} and share their trials there.",
            counted(*tasks, "task", "tasks")
        ),
        Note::SharedSkills(shared) => shared.to_string(),
        Note::NotExecuted { trials, planned, imported } => not_executed(*trials, *planned, *imported),
        Note::OpenLook { look } => open_look(look),
        Note::Closed { closing, rounds } => closed(closing, *rounds),
        Note::ContinuedAfterClosing(closing) => continued(closing),
        Note::DeliveryUnknown { conditions } => delivery_unknown(conditions),
        Note::UnreadPlacebo { arm, opened } => format!(
            "{} was opened in only {:.0}% of its trials and is therefore effectively a second baseline.",
            name(arm),
            100.0 * opened
        ),
        Note::Contaminated { arm, trials } => format!(
            "Contamination: {} {} had a skill of the experiment in the sandbox that the condition does not provide.",
            counted(*trials, "trial of", "trials of"),
            name(arm)
        ),
        Note::EnvironmentDependent { arm, trials, executed } => {
            environment_dependent(arm, *trials, *executed)
        }
        Note::EvidenceLost { arm, trials } => evidence_lost(arm, *trials),
        Note::KnownCanaries { arm, known, total } => known_canaries(arm, *known, *total),
        Note::PlaceboHelps { arm, lift } => helps(arm, "a skill that teaches nothing", *lift),
        Note::UnrelatedHelps { arm, lift } => helps(arm, "a skill unrelated to the task", *lift),
        Note::Sequential { rounds, looks, more_tasks } => sequential(*rounds, *looks, *more_tasks),
        Note::EarlierRuns(question) => earlier_runs(question),
        Note::Reanalysis(question) => format!(
            "Re-analysis: the trials are those of {}. Choose the analysis that counts before its results are known.",
            past_runs(question, true)
        ),
        Note::Extended { earlier } => extended(earlier),
        Note::Relabeled { earlier } => relabeled(earlier),
        Note::Origins(origins) => record_origins(*origins),
        Note::Changed { records } => changed_records(*records),
        Note::Reused { why, server, trials } => reused(*why, server.as_deref(), *trials),
        Note::Unreadable { records } => format!(
            "{} cannot be read; {} not executed.",
            counted(*records, "record", "records"),
            if *records == 1 { "its trial counts as" } else { "their trials count as" }
        ),
        Note::Control(note) => control(note),
    }
}

fn other_model_replied(RepliedModel { agent, requested, replied, trials, .. }: &RepliedModel) -> String {
    format!(
        "Warning: {agent} requested {requested}, but {replied} replied in {}. Unless both are names of one model, the results \
         are not about {requested}.",
        counted(*trials, "trial", "trials")
    )
}

fn environment_dependent(arm: &ArmName, trials: usize, executed: usize) -> String {
    format!(
        "Environment-dependent: {trials} of {executed} {} of {} lost, because they pass only with what the agent changed \
         outside its work folders. The conditions differ in this by 5 points or more.",
        if executed == 1 { "trial" } else { "trials" },
        name(arm)
    )
}

fn evidence_lost(arm: &ArmName, trials: usize) -> String {
    format!(
        "Evidence: of {} {} logs, artifacts or other files could not be kept; `assay show` lists them.",
        counted(trials, "trial of", "trials of"),
        name(arm)
    )
}

fn delivery_unknown(conditions: &[String]) -> String {
    let names: Vec<String> = conditions.iter().map(|name| format!("`{name}`")).collect();
    format!(
        "Delivery unknown: the records do not say whether the agent wrote skills under {}.",
        names.join(", ")
    )
}

/// A run with all trials of an earlier one, and more.
fn extended(earlier: &str) -> String {
    format!(
        "This run contains all trials of `{earlier}` and more. If the report of `{earlier}` prompted the extension, the \
         error rates are higher than stated (optional stopping)."
    )
}

/// Conditions that are compared because they have the same role.
fn conditions_matched(first: &str, second: &str, pairs: &[MatchedCondition]) -> String {
    let pair = |pair: &MatchedCondition| format!("`{}` and `{}` ({})", pair.second, pair.first, pair.role);
    format!(
        "Conditions are matched by role, not by name. Of {second} and {first}: {}.",
        pairs.iter().map(pair).collect::<Vec<_>>().join(", ")
    )
}

/// A run with the trials of an earlier one, and other labels of tasks or another outcome.
fn relabeled(earlier: &str) -> String {
    format!(
        "This run has the trials of `{earlier}` with other labels of tasks (cluster, difficulty, category or negative control) \
         or another outcome. If the report of `{earlier}` prompted them, this is a second look at the same results."
    )
}

/// Earlier runs of the same question, and what a series of them is worth.
fn earlier_runs(question: &AskedQuestion) -> String {
    let number = question.earlier.len() + 1;
    format!(
        "Run {} of this question; earlier: {}. At most 1 − .95{} = {:.0}% of such series have a false verdict, if \
         independent.",
        count(number as f64),
        past_runs(question, false),
        raised(number),
        100.0 * question.false_share()
    )
}

/// A number as an exponent.
fn raised(number: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    number.to_string().bytes().map(|digit| DIGITS[usize::from(digit - b'0')]).collect()
}

/// Earlier runs with their verdicts: those with the same trials, or the others.
fn past_runs(question: &AskedQuestion, same: bool) -> String {
    let of = |past: &&PastRun| (past.kind == EarlierKind::Reanalyzed) == same;
    let all: Vec<&PastRun> = question.past.iter().filter(of).collect();
    let mut named: Vec<String> = all
        .iter()
        .take(RUNS)
        .map(|past| {
            let words: Vec<String> = past.words.iter().map(|word| clean(word)).collect();
            let words = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
            format!("{}{words}", clean(&past.run))
        })
        .collect();
    named.extend(all.len().checked_sub(RUNS).filter(|more| *more > 0).map(|more| format!("{more} more")));
    named.join(", ")
}

/// A run that was closed before it was complete.
fn closed(closing: &Closing, rounds: Option<u32>) -> String {
    let how = match rounds {
        Some(rounds) => format!("What its rule of {rounds} rounds had not decided by then is inconclusive."),
        None => format!(
            "It is judged once, at a level of {} instead of {} (Hwang, Shih & DeCani, γ = −4).",
            small_level(closing.level),
            small_level(0.05)
        ),
    };
    format!("This run was closed with {}. {how} Further trials are another look.", closed_with(closing))
}

/// A run that went on after it was closed.
fn continued(closing: &Closing) -> String {
    let verdicts: Vec<String> = closing
        .verdicts
        .iter()
        .map(|found| format!("`{}` {}", clean(&found.condition), clean(&found.verdict)))
        .collect();
    let verdicts = if verdicts.is_empty() { String::new() } else { format!(" ({})", verdicts.join(", ")) };
    format!(
        "This run was closed with {}{verdicts} and then continued: its error rates are higher than stated (another look).",
        closed_with(closing)
    )
}

fn closed_with(closing: &Closing) -> String {
    format!(
        "{} of {} on {}",
        count(closing.trials as f64),
        counted(closing.planned, "trial", "trials"),
        closing.at.chars().take(10).collect::<String>()
    )
}

/// A level as a percentage with two significant digits.
fn small_level(level: f64) -> String {
    let percent = 100.0 * level;
    let decimals = if percent >= 1.0 {
        1
    } else if percent >= 0.1 {
        2
    } else {
        3
    };
    let text = format!("{percent:.decimals$}");
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Planned trials without a record.
fn not_executed(trials: usize, planned: usize, imported: bool) -> String {
    format!(
        "{} of {} {} not executed. All figures are of the executed trials. {}",
        count(trials as f64),
        counted(planned, "planned trial", "planned trials"),
        if trials == 1 { "was" } else { "were" },
        if imported {
            "They cannot be executed here, so the run counts as complete: import the jobs again if they were not finished."
        } else {
            "Run the experiment again to execute the rest."
        }
    )
}

/// How many records do not prove where they come from.
pub fn record_origins(origins: RecordOrigins) -> String {
    let RecordOrigins { signed, unsigned, imported, .. } = origins;
    let mut parts = Vec::new();
    if unsigned > 0 {
        let have = if unsigned == 1 { "has" } else { "have" };
        parts.push(format!(
            "{unsigned} {have} no signature of a known key (written by an earlier version, on another machine or by hand)"
        ));
    }
    if imported > 0 {
        parts.push(format!("{imported} {} imported", if imported == 1 { "was" } else { "were" }));
    }
    format!("Of {}, {}.", counted(signed + unsigned + imported, "record", "records"), parts.join(", and "))
}

/// How many records were changed after they were written.
pub fn changed_records(records: usize) -> String {
    let (one, many) =
        ("record does not match its signature: it was", "records do not match their signatures: they were");
    format!(
        "Warning: {} changed after {} written. {} not count, and the next `assay run` executes {} again.",
        counted(records, one, many),
        if records == 1 { "it was" } else { "they were" },
        if records == 1 { "It does" } else { "They do" },
        if records == 1 { "its trial" } else { "their trials" },
    )
}

/// Trials that were executed under another identity.
fn reused(why: Reuse, server: Option<&str>, trials: usize) -> String {
    let counts = counted(trials, "trial was", "trials were");
    match (why, server) {
        (Reuse::EarlierSchema, None) => {
            format!("{counts} recorded before servers and labels were part of the id schema.")
        }
        (Reuse::EarlierSchema, Some(server)) => format!(
            "{counts} recorded before servers and labels were part of the id schema, with the server {server} \
             (`--same-server`)."
        ),
        (Reuse::SameServer, server) => format!(
            "{counts} executed with the server {}, not with that of the experiment (`--same-server`).",
            server.unwrap_or("unknown")
        ),
    }
}

/// Two conditions, or two runs, whose trials ran at different times.
fn different_times(arm: &ArmName, baseline: &str, [base, own]: &[[String; 2]; 2], overlap: f64) -> String {
    let short = |time: &str| time.get(..16).unwrap_or(time).replace('T', " ");
    format!(
        "{} and `{baseline}` were measured at different times ({} to {} and {} to {} UTC, overlap {:.0}%). The difference \
         between them includes changes over time, such as a new version of the model.",
        name(arm),
        short(&own[0]),
        short(&own[1]),
        short(&base[0]),
        short(&base[1]),
        100.0 * overlap
    )
}

/// How unusable trials ended.
fn outcomes(timed_out: usize, silent: usize, infrastructure: usize) -> String {
    let parts = [
        (timed_out, "timed out before the model replied"),
        (silent, "ended without a reply from the model"),
        (infrastructure, "ended with an infrastructure error"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    parts.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(" and ")
}

/// The settings of a condition.
fn settings(condition: &str, is: &str, disclosure: Option<&str>, repetitions: Option<u32>) -> String {
    let mut parts = Vec::new();
    if condition != is {
        parts.push(format!("the condition `{is}`"));
    }
    parts.extend(disclosure.map(|own| format!("disclosure `{own}`")));
    parts.extend(repetitions.map(|own| counted(own, "repetition", "repetitions")));
    format!("`{condition}`: {}.", parts.join(", "))
}

/// The notes on tokens.
fn tokens(note: &TokenNote) -> String {
    match note {
        TokenNote::Agree { agents } => format!(
            "The gateway and the transcripts count the same tokens in every trial of {}.",
            agents.join(", ")
        ),
        TokenNote::Differ { agent, trials, equal, less } => {
            let omitted = if *less > 0 {
                format!("; in {less} the transcript omits some tokens")
            } else {
                String::new()
            };
            format!(
                "{agent}: the gateway and the transcript count the same tokens in {equal} of {}{omitted}.",
                counted(*trials, "trial", "trials")
            )
        }
        TokenNote::Beside { agent, tokens } => format!(
            "{agent}: the transcript omits requests outside the task, such as titles. The gateway counts their tokens ({} per \
             trial).",
            count(*tokens as f64)
        ),
        TokenNote::Estimated { agent, trials, estimates, share } => format!(
            "{agent}: in {estimates} of {}, the provider's usage is missing or impossible for some replies. The tokens and \
             cost of these replies are estimated from characters ({:.0}% of all tokens; marked ≈). Caps in USD count the estimate of a \
             complete reply without a usage; caps in tokens count no estimate.",
            counted(*trials, "trial", "trials"),
            100.0 * share
        ),
    }
}

fn scripted(names: &[String]) -> String {
    format!(
        "{} {} replies from a script: the figures are a demonstration and do not measure a model.",
        names.join(", "),
        if names.len() == 1 { "takes its" } else { "take their" }
    )
}

fn known_canaries(arm: &ArmName, known: usize, total: usize) -> String {
    format!("{}.", canary_sentence(&name(arm), known, total))
}

/// What an arm without the skill knows of it, without its full stop. Canaries are answers that nobody can guess.
pub(crate) fn canary_sentence(arm: &str, known: usize, total: usize) -> String {
    let knows = format!("The baseline {arm} knows {known} of {}", counted(total, "canary", "canaries"));
    if known == 0 {
        return format!("{knows} (answers that nobody can guess)");
    }
    format!(
        "{knows} (answers that nobody can guess): this model, or this sandbox, is not blind to this skill, by memory, by a \
         search or by a leak"
    )
}

fn helps(arm: &ArmName, what: &str, lift: f64) -> String {
    format!(
        "{} helps: {what} raised the pass rate by {lift} pp. Up to {lift} pp of another condition's gain may come from having \
         any skill at all.",
        name(arm),
        lift = points(lift)
    )
}

/// The notes on negative controls.
fn control(note: &ControlNote) -> String {
    let on = |tasks: usize| match tasks {
        1 => "the one negative control".to_owned(),
        tasks => format!("the {}", counted(tasks, "negative control", "negative controls")),
    };
    let verb = |arms: &ArmNames, one: &'static str, several: &'static str| {
        if arms.arms.len() == 1 { one } else { several }
    };
    match note {
        ControlNote::Helped { arm, tasks, lift } => format!(
            "{} helps on {} ({} pp), on which no skill should help. Check for leaked answers before relying on gains on other tasks.",
            name(arm),
            on(*tasks),
            points(*lift)
        ),
        ControlNote::Harmed { arm, tasks, lift } => {
            format!("{} harms on {} ({} pp).", name(arm), on(*tasks), points(*lift))
        }
        ControlNote::Unchanged { arms, tasks, margin } => format!(
            "{} {} a negligible effect (±{:.0} pp) on {}, as expected.",
            list_names(arms),
            verb(arms, "has", "have"),
            100.0 * margin,
            on(*tasks)
        ),
        ControlNote::Lost { arms, tasks } => format!(
            "Too many infrastructure errors on {} to show whether {} {} an effect there.",
            on(*tasks),
            list_names(arms),
            verb(arms, "has", "have")
        ),
        ControlNote::Unclear { arms, tasks, margin, needed } => {
            let needed = needed.map_or(String::new(), |tasks| {
                format!("; ≈{} such tasks would be needed", count(tasks as f64))
            });
            format!(
                "{} {} inconclusive (±{:.0} pp) on {}{needed}.",
                list_names(arms),
                verb(arms, "is", "are"),
                100.0 * margin,
                on(*tasks)
            )
        }
    }
}

/// An arm by its condition, and by its agent if there are several.
fn name(ArmName { condition, by }: &ArmName) -> String {
    let by = by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
    format!("`{condition}`{by}")
}

/// What the trials of tasks count whose verifiers write several rewards.
fn several_rewards(tasks: &[String], rule: Option<OutcomeRule>) -> String {
    let (writes, named) = (counted(tasks.len(), "verifier writes", "verifiers write"), some_tasks(tasks));
    let counts = match rule {
        Some(_) => {
            "A trial of such a task counts 1 if every reward is at least 1, else 0 (`outcome = \"auto\"`)."
        }
        None => "A trial of such a task has the mean of its rewards, as in plans that name no `outcome`.",
    };
    format!("{writes} several rewards and no key `reward`: {named}. {counts}")
}

/// The first tasks of a list, and how many more there are.
fn some_tasks(tasks: &[String]) -> String {
    let named = tasks.iter().take(TASKS).map(|task| format!("`{task}`")).collect::<Vec<_>>().join(", ");
    match tasks.len().saturating_sub(TASKS) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Up to three arms by name, more by number.
fn list_names(ArmNames { arms, of }: &ArmNames) -> String {
    let names: Vec<String> = arms.iter().map(name).collect();
    match names.as_slice() {
        [one] => one.clone(),
        [some @ .., last] if some.len() < 3 => format!("{} and {last}", some.join(", ")),
        many => format!("{} of {of} comparisons", many.len()),
    }
}

fn sequential(rounds: u32, looks: Option<u32>, more_tasks: Option<u32>) -> String {
    let when = looks.filter(|looks| *looks < rounds).map_or_else(
        || format!("after each complete round, at most {rounds}"),
        |looks| format!("at {looks} looks, evenly spread over at most {rounds} complete rounds"),
    );
    let more = more_tasks.map_or(String::new(), |tasks| {
        format!(
            " A comparison that the rounds leave open goes on with {}, drawn by the seed before the first trial and without a \
             trial until then; its two-stage CI combines both, at the level that the rounds have not spent.",
            counted(tasks as usize, "more task", "more tasks")
        )
    });
    format!(
        "Comparisons are decided {when}, at group-sequential levels \
         (docs/STATISTICS.md).{more} Repeated CIs are for tasks of this kind and hold at every round. The lift of a comparison \
         that stopped early is on average too far from zero; the median-unbiased lift beside it is not. The CIs of pass rates are \
         those of one look."
    )
}
