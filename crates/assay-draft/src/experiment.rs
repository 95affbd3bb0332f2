//! The experiments that run the tasks of a draft, as texts of `experiment.toml`.

use std::collections::BTreeSet;

/// The seed of pilots. It is part of the identity of their trials, so none of them counts in an experiment.
pub const PILOT_SEED: u64 = 1_000_003;

/// The repetitions of a pilot.
pub const PILOT_REPETITIONS: u32 = 3;

/// The seed of the solver's attempts, which count in no experiment either.
pub const SOLVER_SEED: u64 = 2_000_003;

/// Attempts of the solver on a task under each of its two conditions.
pub const SOLVER_REPETITIONS: u32 = 2;

/// The model of the agent, which is to be replaced.
pub const PLACEHOLDER: &str = "openai:gpt-5";

const AGENTS: &str = r#"
[sandbox]
kind = "auto"
roots = { "python:3.11-slim-bookworm" = "host" }   # in bubblewrap, this machine's /usr

[[agents]]
name = "loop"                         # assay's own agent, or for example claude-code
model = "openai:gpt-5"                # replace it by the model to measure
max_turns = 30
"#;

const JUDGE: &str = r#"
[judge]                               # decides the rubrics of tasks that have one
models = ["anthropic:claude-opus-4-5"] # replace it: not of the family of an agent's model
"#;

/// The condition that announces the skill.
const TOLD: &str = r#"
[condition.told]                      # the same skill, announced for the task
is = "curated"
disclosure = "told"
"#;

/// The experiment of a draft: baseline, the skill as an agent finds it and as it is told of it, and a placebo; if
/// `has_counterfactual`, also the skill with other names and numbers. `selected_by` are the models whose work without the skill chose the items.
pub fn experiment(
    name: &str,
    has_rubrics: bool,
    has_counterfactual: bool,
    selected_by: &BTreeSet<String>,
) -> String {
    let models: Vec<toml::Value> = selected_by.iter().map(|model| model.as_str().into()).collect();
    let selected = if models.is_empty() {
        String::new()
    } else {
        let models = toml::Value::from(models);
        format!("selected_by = {models}   # their work without the skill chose the items\n")
    };
    let more = if has_counterfactual { ", \"counterfactual\"" } else { "" };
    let head = format!(
        "# Drafted by assay draft. Replace the model, then: assay plan experiment.toml\n\
         schema = \"assay.experiment/1\"\n\
         name = \"{name}\"\n\
         suite = [\"tasks/*\"]\n\
         library = [\"skills/*\"]                # a copy of the skill as it was when the draft began\n\
         conditions = [\"none\", \"curated\", \"told\", \"placebo\"{more}]\n\
         {selected}\
         repetitions = 5\n\
         seed = 1\n\
         network = \"none\"\n"
    );
    head + TOLD + AGENTS + if has_rubrics { JUDGE } else { "" }
}

/// The attempts of another model than the author's: alternately without and with the skill. `price` is in USD per million
/// tokens of input and output.
pub fn solver(
    model: &str,
    base_url: Option<&str>,
    api_key_env: Option<&str>,
    price: Option<&[f64]>,
) -> String {
    // A TOML string; values come from the command line.
    let text = |value: &str| toml::Value::from(value).to_string();
    let mut agent = format!("\n[[agents]]\nname = \"loop\"\nmodel = {}\nmax_turns = 30\n", text(model));
    if let Some(url) = base_url {
        agent.push_str(&format!("base_url = {}\n", text(url)));
    }
    if let Some(name) = api_key_env {
        agent.push_str(&format!("api_key_env = {}\n", text(name)));
    }
    if let Some([input, output]) = price {
        agent.push_str(&format!("price = {{ input = {input:?}, output = {output:?} }}\n"));
    }
    format!(
        "# The solver of a draft: another model than the author's attempts each task, up to the first pass.\n\
         schema = \"assay.experiment/1\"\n\
         name = \"solver\"\n\
         suite = [\"tasks/*\"]\n\
         library = [\"skills/*\"]\n\
         conditions = [\"none\", \"curated\"]   # the same rule with and without the skill\n\
         repetitions = {SOLVER_REPETITIONS}\n\
         seed = {SOLVER_SEED}                   # not that of experiment.toml: no attempt counts there\n\
         network = \"none\"\n\
         \n[sandbox]\n\
         kind = \"auto\"\n\
         roots = {{ \"python:3.11-slim-bookworm\" = \"host\" }}\n"
    ) + &agent
}

/// Whether an experiment or a pilot of a draft still has the model that it was written with.
pub fn needs_model(text: &str) -> bool {
    text.contains("model = \"openai:gpt-5\" ")
}

/// The pilot of a draft: the baseline alone, three times.
pub fn pilot(name: &str, has_rubrics: bool) -> String {
    let head = format!(
        "# The pilot of a draft: tasks that pass every time without the skill cannot show that it helps.\n\
         # Replace the model, then: assay run pilot.toml, and assay draft headroom\n\
         schema = \"assay.experiment/1\"\n\
         name = \"{name}-pilot\"\n\
         suite = [\"tasks/*\"]\n\
         library = [\"skills/*\"]\n\
         conditions = [\"none\"]\n\
         repetitions = {PILOT_REPETITIONS}\n\
         seed = {PILOT_SEED}                      # not that of experiment.toml: trials of the pilot never count there\n\
         network = \"none\"\n"
    );
    head + AGENTS + if has_rubrics { JUDGE } else { "" }
}
