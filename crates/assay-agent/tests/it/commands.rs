//! How commands are run, and what the model sees of them.

use assay_sandbox::Exit;

use crate::fixture::{LoopFixture, run};

#[test]
fn command_runs_in_a_new_shell_in_the_working_directory() {
    let mut fixture = LoopFixture::new(vec![run(&["ls -l", "pwd"])]);
    fixture.shell = Box::new(|command, exec| {
        assert_eq!(exec.argv, ["bash", "-c", command]);
        assert_eq!(exec.cwd.as_deref(), Some(std::path::Path::new("/app")));
        assert_eq!(exec.env, [("TOKEN".to_owned(), "value".to_owned())]);
        assert!(exec.stderr.is_none(), "both streams share one file");
        // The whole output is stored; the model sees a part of it.
        let log = exec.stdout.file.as_ref().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(log, if command == "pwd" { "command-2.txt" } else { "command-1.txt" });
        assert!(exec.stdout.keep > 0 && exec.stdout.keep as u64 * 2 < exec.stdout.cap);
        Ok(Exit::Code(0))
    });
    assert_eq!(fixture.run().ran, ["ls -l", "pwd"]);
}

#[test]
fn model_sees_how_a_command_ended() {
    let check = |exit: Exit, ending: &str, is_error: bool| {
        let mut fixture = LoopFixture::new(vec![run(&["x"])]);
        fixture.shell = Box::new(move |_, _| Ok(exit));
        let outcome = fixture.run();
        assert_eq!(outcome.results(), [format!("output of x\n{ending}")]);
        let assay_model::Message::Tool { is_error: found, .. } = outcome.requests[1].messages.last().unwrap()
        else {
            panic!("expected a tool result")
        };
        assert_eq!(*found, is_error, "{exit:?}");
        let result = &outcome.run.trajectory.steps[2].observation.as_ref().unwrap().results[0];
        assert_eq!(result.extra["exit"], serde_json::to_value(exit).unwrap());
    };
    check(Exit::Code(0), "[exit status 0]", false);
    check(Exit::Code(3), "[exit status 3]", true);
    check(Exit::Signal(9), "[killed by signal 9]", true);
    check(Exit::Deadline, "[killed after 7 s: the time for a command was over]", true);
}
