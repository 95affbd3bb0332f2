//! The first messages that the model sees.

use assay_agent::{CatalogueEntry, Disclosure};
use assay_trace::Source;

use crate::fixture::{LoopFixture, text_reply};

fn skill(name: &str, description: &str) -> CatalogueEntry {
    CatalogueEntry {
        name: name.to_owned(),
        description: description.to_owned(),
        path: format!("/skills/{name}/SKILL.md").into(),
        body: format!("\n# How to {name}\n\nFirst look.\n"),
    }
}

/// The system message, which must also be the first step of the trajectory.
fn system(change: impl FnOnce(&mut LoopFixture)) -> String {
    let mut fixture = LoopFixture::new(vec![text_reply("done")]);
    change(&mut fixture);
    let outcome = fixture.run();
    let steps = &outcome.run.trajectory.steps;
    assert_eq!((steps[0].source, steps[1].source), (Source::System, Source::User));
    assert_eq!(steps[0].message, outcome.requests[0].system);
    outcome.requests[0].system.clone()
}

#[test]
fn prompt_without_skills_does_not_mention_skills() {
    let plain = system(|_| {});
    assert!(plain.contains("starts in /app") && !plain.to_lowercase().contains("skill"), "{plain}");
    // The disclosure makes no difference without skills: the baseline is the same.
    assert_eq!(plain, system(|fixture| fixture.disclosure = Disclosure::Told));
}

#[test]
fn catalogue_has_a_line_for_each_skill_in_order() {
    let with = |disclosure| {
        system(|fixture| {
            fixture.disclosure = disclosure;
            fixture.skills =
                vec![skill("ledger", "Writes\nledgers\t in  house format."), skill("audit", "Audits.")];
        })
    };
    let offered = with(Disclosure::Offered);
    let lines: Vec<&str> = offered.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(
        lines,
        [
            "- ledger: Writes ledgers in house format. (file: /skills/ledger/SKILL.md)",
            "- audit: Audits. (file: /skills/audit/SKILL.md)"
        ]
    );
    assert!(offered.starts_with(&system(|_| {})), "only the skills are added");
    let told = with(Disclosure::Told);
    assert!(offered.contains("If one fits the task") && !told.contains("If one fits the task"));
    assert!(told.contains("They were installed for this task"), "{told}");
    assert!(!offered.contains("First look.") && !told.contains("First look."));
    let eager = with(Disclosure::Eager);
    assert!(eager.contains("<skill name=\"ledger\">\n# How to ledger\n\nFirst look.\n</skill>"), "{eager}");
    assert_eq!(eager.lines().filter(|line| line.starts_with("- ")).collect::<Vec<_>>(), lines);
}

#[test]
fn preface_precedes_the_instruction() {
    let user = |preface| {
        let outcome = LoopFixture { preface, ..LoopFixture::new(vec![text_reply("done")]) }.run();
        outcome.run.trajectory.steps[1].message.clone()
    };
    assert_eq!(user(""), "Export the ledger.");
    assert_eq!(user("First, think."), "First, think.\n\nExport the ledger.");
}

#[test]
fn bash_is_the_only_tool() {
    let outcome = LoopFixture::new(vec![text_reply("done")]).run();
    let [tool] = &outcome.requests[0].tools[..] else { panic!("one tool") };
    assert_eq!((tool.name.as_str(), &tool.parameters["required"]), ("bash", &serde_json::json!(["command"])));
    assert!(tool.description.contains("120 seconds"), "{}", tool.description);
}

/// A model can plan only with limits that it knows, and they must not differ between conditions.
#[test]
fn limits_are_the_same_text_in_every_condition() {
    let limits = |change: fn(&mut LoopFixture)| {
        let system = system(change);
        let line = system.lines().find(|line| line.starts_with("Limits: "));
        line.expect("a line with limits").to_owned()
    };
    let plain = limits(|_| {});
    assert_eq!(
        plain,
        "Limits: 30 turns (each of your replies is one), 600 seconds and 1,000,000 tokens (read and written) for the whole \
         task; the work ends when one of them is reached. Output of a command beyond 10,000 bytes is truncated: you see the \
         first 5,000 and the last 5,000."
    );
    for disclosure in [Disclosure::Offered, Disclosure::Told, Disclosure::Eager] {
        let with = system(|fixture| {
            fixture.disclosure = disclosure;
            fixture.skills = vec![skill("ledger", "Writes ledgers.")];
        });
        assert!(with.contains(&plain), "{with}");
    }
    let own = limits(|fixture| {
        fixture.options.max_turns = 7;
        fixture.options.max_tokens = 20_000;
        fixture.seconds = 90.5;
    });
    assert!(own.contains("7 turns") && own.contains("90.5 seconds and 20,000 tokens"), "{own}");
}
