//! Runs with a known number of directives followed: what an agent that follows them would do, put
//! into runs that never saw the skill.

mod bench;
mod template;

use assay_audit::adherence::Left;
use assay_audit::directive::Directive;
use assay_trace::{Observation, ObservationResult, Source, Step, ToolCall, Trajectory};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

pub use self::bench::{DOSES, Group, PlantedRun, planted_runs};
use self::template::{Act, acts};

/// A run in which some directives were followed, or where they forbid something, violated.
///
/// The acts come in order, somewhere in the second half of the run, and what they write is also in
/// the files that the run left. The same seed gives the same run.
pub fn plant(
    trajectory: &Trajectory,
    left: &Left,
    directives: &[&Directive],
    seed: u64,
) -> (Trajectory, Left) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let tools = Tools::of(trajectory);
    let (mut planted, mut files) = (trajectory.clone(), left.clone());
    // Of the steps of a run, the last is its answer.
    let (low, high) = (planted.steps.len() / 2, planted.steps.len().saturating_sub(1));
    let places: Vec<usize> = (low..=high.max(low)).collect();
    let mut at = pick(&mut random, &places).min(planted.steps.len());
    for (number, directive) in directives.iter().enumerate() {
        for act in acts(directive.kind, &directive.probe, number + 1, &mut random) {
            if let Act::Write { path, content } = &act
                && !left.files.is_empty()
            {
                files.files.push((path.clone(), content.clone()));
            }
            let call = tools.call(act, &format!("planted-{at}"), &mut random);
            planted.steps.insert(at, step(call));
            at += 1;
        }
    }
    for (at, step) in planted.steps.iter_mut().enumerate() {
        step.step_id = at + 1;
    }
    (planted, files)
}

/// Whether there are acts for a directive.
pub fn can_plant(directive: &Directive) -> bool {
    !acts(directive.kind, &directive.probe, 1, &mut ChaCha8Rng::seed_from_u64(0)).is_empty()
}

/// One of some values.
fn pick<T: Clone>(random: &mut ChaCha8Rng, values: &[T]) -> T {
    // The high half of the product is less than the number of values.
    let high = (u128::from(random.next_u64()) * values.len() as u128) >> 64;
    values[usize::try_from(high).unwrap_or_default()].clone()
}

/// `count` of some values, in their order, without replacement; fewer where there are fewer.
pub fn draw_values<T: Clone>(values: &[T], count: usize, seed: u64) -> Vec<T> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut left: Vec<usize> = (0..values.len()).collect();
    let mut drawn: Vec<usize> = Vec::new();
    while drawn.len() < count && !left.is_empty() {
        let at = pick(&mut random, &(0..left.len()).collect::<Vec<_>>());
        drawn.push(left.swap_remove(at));
    }
    drawn.sort_unstable();
    drawn.into_iter().map(|at| values[at].clone()).collect()
}

/// The tools by which a run runs commands and writes files, as its own calls have them.
struct Tools {
    shell: String,
    /// Name of the tool, of the argument for the path, and of that for the text.
    write: Option<(String, String, String)>,
}

impl Tools {
    fn of(trajectory: &Trajectory) -> Self {
        let calls = || trajectory.steps.iter().flat_map(|step| &step.tool_calls);
        let has = |call: &ToolCall, name: &str| call.arguments.get(name).is_some_and(Value::is_string);
        let shell = calls().find(|call| has(call, "command")).map(|call| call.function_name.clone());
        let write = calls().find_map(|call| {
            let path = ["file_path", "path", "absolute_path"].into_iter().find(|name| has(call, name))?;
            has(call, "content").then(|| (call.function_name.clone(), path.to_owned(), "content".to_owned()))
        });
        Self { shell: shell.unwrap_or_else(|| "bash".to_owned()), write }
    }

    fn call(&self, act: Act, id: &str, random: &mut ChaCha8Rng) -> ToolCall {
        let (name, arguments) = match act {
            Act::Run(command) => (&self.shell, json!({"command": command})),
            Act::Write { path, content } => match &self.write {
                Some((name, path_name, text_name)) if pick(random, &[true, true, false]) => {
                    (name, json!({path_name: path, text_name: content}))
                }
                _ => {
                    let command = format!("mkdir -p work && cat > {path} <<'TEXT'\n{content}TEXT");
                    (&self.shell, json!({"command": command}))
                }
            },
        };
        let mut call = ToolCall::default();
        id.clone_into(&mut call.tool_call_id);
        name.clone_into(&mut call.function_name);
        call.arguments = arguments;
        call
    }
}

fn step(call: ToolCall) -> Step {
    let result = ObservationResult {
        source_call_id: Some(call.tool_call_id.clone()),
        content: Some(String::new()),
        ..ObservationResult::default()
    };
    let mut step = Step::new(0, Source::Agent, "");
    step.tool_calls = vec![call];
    step.observation = Some(Observation { results: vec![result] });
    step
}

#[cfg(test)]
mod tests {
    use assay_audit::directive::{Kind, Modality, Probe};
    use assay_trace::AgentInfo;

    use super::*;

    fn run() -> Trajectory {
        let mut trajectory = Trajectory::new(AgentInfo::default());
        for (id, name) in [("a", "Shell"), ("b", "Shell"), ("c", "Shell"), ("d", "Shell")] {
            let call = ToolCall {
                tool_call_id: id.to_owned(),
                function_name: name.to_owned(),
                arguments: json!({"command": "ls"}),
                ..ToolCall::default()
            };
            trajectory.steps.push(step(call));
        }
        trajectory
    }

    fn literal(subject: &str) -> Directive {
        Directive {
            kind: Kind::Literal,
            modality: Modality::Required,
            file: "SKILL.md".to_owned(),
            line: 1,
            text: subject.to_owned(),
            subject: subject.to_owned(),
            condition: None,
            example: false,
            applies: None,
            probe: Probe::Text(subject.to_owned()),
            instead: Vec::new(),
        }
    }

    #[test]
    fn a_planted_run_has_new_steps_in_its_second_half() {
        let (one, other) = (literal("KX-41"), literal("KX-42"));
        let left = Left { files: vec![("a.txt".to_owned(), "a".to_owned())] };
        let (planted, files) = plant(&run(), &left, &[&one, &other], 3);
        assert_eq!(planted.steps.len(), 6);
        assert!(planted.steps.iter().enumerate().all(|(at, step)| step.step_id == at + 1));
        let commands: Vec<String> =
            planted.steps.iter().map(|step| step.tool_calls[0].arguments["command"].to_string()).collect();
        assert!(commands[..2].iter().all(|command| command == "\"ls\""), "{commands:?}");
        assert!(commands.iter().any(|command| command.contains("KX-41")), "{commands:?}");
        assert!(planted.steps.iter().all(|step| step.tool_calls[0].function_name == "Shell"));
        assert_eq!(files.files.len(), 3);
        assert_eq!(plant(&run(), &left, &[&one, &other], 3), (planted, files));
    }

    #[test]
    fn a_draw_has_each_value_once() {
        let values: Vec<usize> = (0..20).collect();
        let drawn = draw_values(&values, 5, 1);
        assert_eq!((drawn.len(), drawn.windows(2).all(|pair| pair[0] < pair[1])), (5, true));
        assert_eq!(draw_values(&values, 5, 1), drawn);
        assert_ne!(draw_values(&values, 5, 2), drawn);
        assert_eq!(draw_values(&values, 30, 1), values);
    }
}
