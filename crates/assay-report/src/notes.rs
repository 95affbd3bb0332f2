//! Notes in sentences. Names in them are neither cleaned nor escaped.

use assay_analysis::{ArmName, ArmNames, ControlNote, Note, RepliedModel, TokenNote};

/// What a note says.
pub fn note(note: &Note) -> String {
    match note {
        Note::Unusable { arm, on_controls, trials, timed_out, silent, infrastructure } => format!(
            "{} has no usable trial{}: of {}, {}. It gets no pass rate and no comparison.",
            name(arm),
            if *on_controls { " on the negative controls" } else { "" },
            counted(*trials, "trial", "trials"),
            outcomes(*timed_out, *silent, *infrastructure)
        ),
        Note::OtherModelReplied(RepliedModel { agent, asked, replied, trials, .. }) => format!(
            "Warning: {agent} asked for {asked}, and {replied} replied in {}. The results say nothing of {asked}, unless the \
             one is another name for the other.",
            counted(*trials, "trial", "trials")
        ),
        Note::Scripted { names } => format!(
            "{} {} what a file says: such figures demonstrate the instrument and measure no model.",
            names.join(", "),
            if names.len() == 1 { "plays" } else { "play" }
        ),
        Note::Planned(warning) => warning.clone(),
        Note::Imported { origin } => format!(
            "The trials were executed by {origin} and imported: which skills were offered and opened, what else stood in the \
             sandbox, and whether an agent steered its grader is not known of them."
        ),
        Note::Late { trials } => format!(
            "{} graded after its deadline: the reward was read when the agent's time was over and its processes may still \
             have been at work. Such a trial counts as out of time.",
            counted(*trials, "trial was", "trials were each")
        ),
        Note::Clamped { trials, low, high } => format!(
            "{} a reward outside 0 to 1 ({low} to {high}). A score lies between 0 and 1: what is below counts as 0, what is \
             above as 1.",
            counted(*trials, "trial has", "trials have")
        )
        .replace('-', "−"),
        Note::DifferentTimes { arm, baseline, measured: [base, own], overlap } => {
            let short = |time: &str| time.get(..16).unwrap_or(time).replace('T', " ");
            format!(
                "{} and `{baseline}` were measured at different times, {} to {} and {} to {} UTC, with an overlap of {:.0}%: what \
                 changed in between, such as the model or its provider, is part of their difference.",
                name(arm),
                short(&own[0]),
                short(&own[1]),
                short(&base[0]),
                short(&base[1]),
                100.0 * overlap
            )
        }
        Note::PlacedInSystem { agents } => format!(
            "{}: told of skills in a text of the system, and not by a folder of its own.",
            agents.join(", ")
        ),
        Note::SkillsTold => "The agents were told that the skills were installed for the task.".to_owned(),
        Note::SkillsEager => {
            "The bodies of the skills stood in the agents' context from the start.".to_owned()
        }
        Note::Tokens(note) => tokens(note),
        Note::Replayed { trials } => format!(
            "{} played again from cassettes: no provider was asked, and nothing new was learnt.",
            counted(*trials, "trial was", "trials were")
        ),
        Note::EqualConditions { one, other, tasks } => format!(
            "`{one}` and `{other}` provide the same on {}: there they share their trials.",
            counted(*tasks, "task", "tasks")
        ),
        Note::SharedSkills(shared) => shared.to_string(),
        Note::Unfinished { trials, imported } => format!(
            "{} no record yet: {}.",
            counted(*trials, "planned trial has", "planned trials have"),
            if *imported {
                "import the jobs again once they have finished"
            } else {
                "run the experiment again to go on"
            }
        ),
        Note::UnreadPlacebo { arm, opened } => format!(
            "{} was opened in {:.0} % of its trials: nobody read it, so it is a second baseline.",
            name(arm),
            100.0 * opened
        ),
        Note::Contaminated { arm, trials } => format!(
            "{} {} had a skill of the experiment in the sandbox that was not provided.",
            counted(*trials, "trial of", "trials of"),
            name(arm)
        ),
        Note::PlaceboHelps { arm, lift } => helps(arm, "A text that teaches nothing", *lift),
        Note::UnrelatedHelps { arm, lift } => helps(arm, "A skill that is not about the task", *lift),
        Note::Extended { earlier } => format!(
            "This run holds all trials of `{earlier}` and more. If its report was looked at before, the verdict is too \
             sure of itself."
        ),
        Note::Unreadable { records } => format!(
            "{} not readable, and the trial counts as unfinished.",
            counted(*records, "record is", "records are")
        ),
        Note::Control(note) => control(note),
    }
}

/// How trials ended that are of no use.
fn outcomes(timed_out: usize, silent: usize, infrastructure: usize) -> String {
    let parts = [
        (timed_out, "timed out before the model replied"),
        (silent, "ended without a reply from the model"),
        (infrastructure, "ended with an infrastructure error"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    parts.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(" and ")
}

/// The notes on tokens.
fn tokens(note: &TokenNote) -> String {
    match note {
        TokenNote::Agree { agents } => format!(
            "The gateway and the transcripts count the same tokens in every trial of {}.",
            agents.join(", ")
        ),
        TokenNote::Differ { agent, trials, equal, less } => {
            let leaves =
                if *less > 0 { format!("; in {less} the transcript leaves some out") } else { String::new() };
            format!(
                "{agent}: the gateway and the transcript count the same tokens in {equal} of {trials} trials{leaves}."
            )
        }
        TokenNote::Beside { agent, tokens } => format!(
            "{agent}: its transcript leaves out what it asks beside its work (titles and the like), {tokens} tokens a trial; the \
             gateway counts them."
        ),
        TokenNote::Estimated { agent, trials, estimates, share } => format!(
            "{agent}: in {estimates} of {} the provider's usage is missing or impossible for some replies. Their tokens and cost \
             are estimated from characters ({:.0}% of all tokens; marked ≈), and no cap counts them.",
            counted(*trials, "trial", "trials"),
            100.0 * share
        ),
    }
}

fn helps(arm: &ArmName, what: &str, lift: f64) -> String {
    format!(
        "{} helps. {what} raised the pass rate by {} points, so as much of what another condition gains may be the doing of \
         any text at all.",
        name(arm),
        points(lift)
    )
}

/// The notes on negative controls.
fn control(note: &ControlNote) -> String {
    let on = |tasks: usize| match tasks {
        1 => "the one negative control".to_owned(),
        tasks => format!("the {tasks} negative controls"),
    };
    let verb = |arms: &ArmNames, one: &'static str, several: &'static str| {
        if arms.arms.len() == 1 { one } else { several }
    };
    match note {
        ControlNote::Helped { arm, tasks, lift } => format!(
            "{} helps on {}, by {} points, where no skill should: look for what gives the answer away before its other gains \
             are believed.",
            name(arm),
            on(*tasks),
            points(*lift)
        ),
        ControlNote::Harmed { arm, tasks, lift } => {
            format!("{} harms on {}, by {} points.", name(arm), on(*tasks), points(*lift))
        }
        ControlNote::Unchanged { arms, tasks, margin } => format!(
            "{} {} no effect within ±{:.0} points on {}, as it should be.",
            together(arms),
            verb(arms, "has", "have"),
            100.0 * margin,
            on(*tasks)
        ),
        ControlNote::Lost { arms, tasks } => format!(
            "Too many trials were lost on {} to tell whether {} {} nothing there.",
            on(*tasks),
            together(arms),
            verb(arms, "does", "do")
        ),
        ControlNote::Unclear { arms, tasks, margin, needed } => {
            let needed =
                needed.map_or(String::new(), |tasks| format!("; about {tasks} such tasks would be needed"));
            format!(
                "Whether {} {} nothing on {}, within ±{:.0} points, is not shown{needed}.",
                together(arms),
                verb(arms, "does", "do"),
                on(*tasks),
                100.0 * margin
            )
        }
    }
}

/// An arm by its condition, and by its agent where there are several.
fn name(ArmName { condition, by }: &ArmName) -> String {
    let by = by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
    format!("`{condition}`{by}")
}

/// Several arms by name, many by number.
fn together(ArmNames { arms, of }: &ArmNames) -> String {
    let names: Vec<String> = arms.iter().map(name).collect();
    match names.as_slice() {
        [one] => one.clone(),
        [some @ .., last] if some.len() < 3 => format!("{} and {last}", some.join(", ")),
        many => format!("{} of {of} comparisons", many.len()),
    }
}

/// A lift in points. Unlike [`crate::text::points`] it may be `−0`.
fn points(lift: f64) -> String {
    format!("{:+.0}", 100.0 * lift).replace('-', "−")
}

/// A number with the word for one or for several.
fn counted(number: usize, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}
