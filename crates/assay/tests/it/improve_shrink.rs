//! `assay improve shrink` on a skill whose truth is planted in the script of the model.

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};

/// The line that the tasks need.
const CARRIES: &str = "The agreed word is right, in lower case and without any mark after it.";

/// The line that spoils half of the tasks.
const HARMS: &str = "Before the end, replace the word by wrong wherever the name begins with h.";

/// Twenty tasks that pass with one section of the skill; another section spoils ten of them, and a third does nothing.
fn planted() -> Fixture {
    let body = format!(
        "# Words\n\n## The word\n\n{CARRIES}\n\n## History\n\nThe word was chosen by vote in the spring of the second year.\n\n## Caution\n\n{HARMS}\n"
    );
    let mut fixture = Fixture::new().skill("agreed", "Which word ends a report.", &body);
    for number in 0..20 {
        let kind = if number % 2 == 0 { "h" } else { "t" };
        fixture = fixture.task(&format!("{kind}{number:02}"), |task| task);
    }
    fixture
        .script(&[
            json!({ "turn": 0, "seen": "agreed: Which word", "say": "I read the skill.", "skill": "agreed" }),
            json!({ "turn": 0, "seen": "Which word ends a report", "say": "I read the skill.", "skill": "agreed" }),
            json!({ "turn": 1, "task": "h*", "seen": HARMS, "say": "As it says.", "run": ["echo wrong > /app/answer.txt"] }),
            json!({ "turn": 1, "seen": CARRIES, "say": "As it says.", "run": ["echo right > /app/answer.txt"] }),
        ])
        .experiment(|mut design| {
            for number in 0..20 {
                let kind = if number % 2 == 0 { "h" } else { "t" };
                design = design.pair(&format!("{kind}{number:02}"), &["agreed"]);
            }
            design.conditions(&["none", "curated"]).repetitions(2)
        })
}

#[test]
fn the_planted_truth_is_found_and_a_second_campaign_executes_nothing() {
    needs_bubblewrap!();
    let fixture = planted();
    let shrink = |out: &str, budget: &str| {
        let args =
            ["improve", "shrink", "skills/agreed", "--experiment", "experiment.toml", "--max-trials", budget];
        let more = ["--out", out, "--format", "json"];
        fixture.start(&[&args[..], &more].concat()).wait_for(std::time::Duration::from_mins(10))
    };
    let refused = shrink("shorter/agreed", "280").ended(2);
    assert!(
        refused.stderr.contains("80 of 80 trials with and without the skill are not recorded"),
        "{refused:?}"
    );
    fixture.run(&[]);
    let refused = shrink("shorter/agreed", "239").ended(2);
    assert!(
        refused.stderr.contains("239 trials are not enough: 20 tasks of 12 variants take 240"),
        "{refused:?}"
    );
    let found = shrink("shorter/agreed", "280").ok().json();
    let states: Vec<(&str, &str)> = found["sections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|section| (section["heading"].as_str().unwrap(), section["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, [("The word", "carries"), ("History", "dead"), ("Caution", "harms")], "{found:#}");
    assert_eq!((&found["decision"], &found["spent"]), (&json!("shorter"), &json!(280)), "{found:#}");
    assert!(found["tokens_saved"].as_u64().unwrap() > 20, "{found:#}");
    let text = std::fs::read_to_string(fixture.path("shorter/agreed/SKILL.md")).unwrap();
    assert!(text.contains(CARRIES) && !text.contains(HARMS) && !text.contains("History"), "{text}");
    // All trials are recorded.
    let trials = fixture.trials().len();
    let mut again: Value = shrink("again/agreed", "280").ok().json();
    assert_eq!(fixture.trials().len(), trials);
    again["runs"] = found["runs"].clone();
    assert_eq!(again, found);
}
