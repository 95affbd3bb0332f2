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

/// The seed of the pilot's attempts that a draft makes itself, which count in no experiment either.
pub const ATTEMPT_SEED: u64 = 3_000_003;

/// A model whose agent attempts tasks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttemptAgent<'a> {
    /// The model, as `provider:model`. A script is relative to the folder of the draft.
    pub(crate) model: &'a str,
    /// Its address, if not the provider's own.
    pub(crate) base_url: Option<&'a str>,
    /// The variable with its key.
    pub(crate) api_key_env: Option<&'a str>,
    /// What a million tokens of input and of output cost in USD.
    pub(crate) price: Option<[f64; 2]>,
}

impl AttemptAgent<'_> {
    /// Its table of an experiment.
    fn to_toml(self) -> String {
        // A TOML string; values come from the command line.
        let text = |value: &str| toml::Value::from(value).to_string();
        let mut agent =
            format!("\n[[agents]]\nname = \"loop\"\nmodel = {}\nmax_turns = 30\n", text(self.model));
        if let Some(url) = self.base_url {
            agent.push_str(&format!("base_url = {}\n", text(url)));
        }
        if let Some(name) = self.api_key_env {
            agent.push_str(&format!("api_key_env = {}\n", text(name)));
        }
        if let Some([input, output]) = self.price {
            agent.push_str(&format!("price = {{ input = {input:?}, output = {output:?} }}\n"));
        }
        agent
    }
}

const SANDBOX: &str = r#"
[sandbox]
kind = "auto"
roots = { "python:3.11-slim-bookworm" = "host" }   # in bubblewrap, this machine's /usr
"#;

/// The agent of an experiment whose model is to be set.
const UNSET_AGENT: &str = r#"
[[agents]]
name = "loop"                         # assay's own agent, or for example claude-code
model = "openai:gpt-5"                # replace it by the model to measure
max_turns = 30
"#;

/// The sandbox and the agent of an experiment.
fn agents_of(measured: Option<AttemptAgent<'_>>) -> String {
    SANDBOX.to_owned() + &measured.map_or_else(|| UNSET_AGENT.to_owned(), AttemptAgent::to_toml)
}

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
pub(crate) fn experiment(
    name: &str,
    has_rubrics: bool,
    has_counterfactual: bool,
    selected_by: &BTreeSet<String>,
    measured: Option<AttemptAgent<'_>>,
) -> String {
    let selected = selected_line(selected_by);
    let more = if has_counterfactual { ", \"counterfactual\"" } else { "" };
    let head = format!(
        "# Drafted by assay draft. Set the model, then: assay plan experiment.toml\n\
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
    head + TOLD + &agents_of(measured) + if has_rubrics { JUDGE } else { "" }
}

/// The line of an experiment that names the models whose work without the skill selected items and tasks; empty without one.
fn selected_line(models: &BTreeSet<String>) -> String {
    if models.is_empty() {
        return String::new();
    }
    let models: Vec<toml::Value> = models.iter().map(|model| model.as_str().into()).collect();
    let models = toml::Value::from(models);
    format!("selected_by = {models}   # their work without the skill chose tasks and items\n")
}

/// Adds models to `selected_by` of an experiment. `None` if all of them are there, or the text has no place for them.
pub(crate) fn add_selected_by(text: &str, models: &BTreeSet<String>) -> Option<String> {
    let table: toml::Table = text.parse().ok()?;
    let named = table.get("selected_by").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let mut all: BTreeSet<String> = named.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect();
    let before = all.len();
    all.extend(models.iter().cloned());
    if all.len() == before {
        return None;
    }
    let (key, has_key) =
        if table.contains_key("selected_by") { ("selected_by", true) } else { ("repetitions", false) };
    let is_key = |line: &str| line.split('=').next().is_some_and(|start| start.trim() == key);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = lines.iter().position(|line| is_key(line))?;
    let line = selected_line(&all).trim_end().to_owned();
    if has_key {
        lines[at] = line;
    } else {
        lines.insert(at, line);
    }
    let changed = lines.join("\n") + "\n";
    // A list over several lines is not replaced by its first one.
    changed.parse::<toml::Table>().is_ok().then_some(changed)
}

/// The solver of a draft: it attempts each task alternately without and with the skill.
pub(crate) fn solver(agent: &AttemptAgent<'_>) -> String {
    let about =
        "# The solver of a draft: another model than the author's attempts each task, up to the first pass.";
    attempts_of(about, "solver", SOLVER_REPETITIONS, SOLVER_SEED, agent)
}

/// The attempts of the model to be measured: one without and one with the skill.
pub(crate) fn attempts(agent: &AttemptAgent<'_>) -> String {
    let about = "# The pilot of a draft: the model to be measured attempts each task once without and once with the skill.";
    attempts_of(about, "attempts", 1, ATTEMPT_SEED, agent)
}

fn attempts_of(about: &str, name: &str, repetitions: u32, seed: u64, agent: &AttemptAgent<'_>) -> String {
    format!(
        "{about}\n\
         schema = \"assay.experiment/1\"\n\
         name = \"{name}\"\n\
         suite = [\"tasks/*\"]\n\
         library = [\"skills/*\"]\n\
         conditions = [\"none\", \"curated\"]   # the same rule with and without the skill\n\
         repetitions = {repetitions}\n\
         seed = {seed}                   # not that of experiment.toml: no attempt counts there\n\
         network = \"none\"\n"
    ) + SANDBOX
        + &agent.to_toml()
}

/// Whether an experiment or a pilot of a draft still has the model that it was written with.
pub fn needs_model(text: &str) -> bool {
    text.contains("model = \"openai:gpt-5\" ")
}

/// The pilot of a draft: the baseline alone, three times.
pub(crate) fn pilot(name: &str, has_rubrics: bool, measured: Option<AttemptAgent<'_>>) -> String {
    let head = format!(
        "# The pilot of a draft: tasks that pass every time without the skill cannot show that it helps.\n\
         # Set the model, then: assay run pilot.toml, and assay draft headroom\n\
         schema = \"assay.experiment/1\"\n\
         name = \"{name}-pilot\"\n\
         suite = [\"tasks/*\"]\n\
         library = [\"skills/*\"]\n\
         conditions = [\"none\"]\n\
         repetitions = {PILOT_REPETITIONS}\n\
         seed = {PILOT_SEED}                      # not that of experiment.toml: trials of the pilot never count there\n\
         network = \"none\"\n"
    );
    head + &agents_of(measured) + if has_rubrics { JUDGE } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_select_are_added_to_an_experiment() {
        let models = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let plain = experiment("x", false, false, &models(&[]), None);
        assert!(!plain.contains("selected_by"), "{plain}");
        let named = add_selected_by(&plain, &models(&["openai:b"])).unwrap();
        let selected = |text: &str| text.parse::<toml::Table>().unwrap()["selected_by"].to_string();
        assert_eq!(selected(&named), "[\"openai:b\"]");
        let both = add_selected_by(&named, &models(&["openai:a"])).unwrap();
        assert_eq!(selected(&both), "[\"openai:a\", \"openai:b\"]");
        assert_eq!(both.lines().count(), named.lines().count());
        // Who is there already changes nothing, and a text that cannot be changed by a line stays.
        assert_eq!(add_selected_by(&both, &models(&["openai:a"])), None);
        let split = named.replace("[\"openai:b\"]", "[\n\"openai:b\"]");
        assert_eq!(add_selected_by(&split, &models(&["openai:a"])), None);
        assert_eq!(add_selected_by("name = [", &models(&["openai:a"])), None);
    }
}
