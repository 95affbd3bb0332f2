//! Commands and options that have another name now.

use std::ffi::OsString;

/// Commands that have another name: the old words, and the new ones.
const COMMANDS: [(&[&str], &str); 10] = [
    (&["runs"], "show"),
    (&["history"], "show --history"),
    (&["trial", "run"], "task run"),
    (&["health"], "lab health"),
    (&["corpus"], "lab corpus"),
    (&["simulate"], "lab simulate"),
    (&["bench"], "lab bench"),
    (&["search", "bench"], "lab search bench"),
    (&["search", "train"], "lab search train"),
    (&["route", "bench"], "lab route bench"),
];

/// Global options that take a value.
pub(crate) const WITH_VALUE: [&str; 3] = ["--store", "--format", "--color"];

/// The old and the new name, if the arguments name a command or an option by a name that it no longer has.
pub(crate) fn find(arguments: &[OsString]) -> Option<(String, String)> {
    let arguments: Vec<&str> = arguments.iter().skip(1).map_while(|argument| argument.to_str()).collect();
    let end = arguments.iter().position(|argument| *argument == "--").unwrap_or(arguments.len());
    let arguments = &arguments[..end];
    let words = words(arguments);
    let words = words.strip_prefix(&["help"]).unwrap_or(&words);
    for (old, new) in COMMANDS {
        if words.starts_with(old) {
            return Some((old.join(" "), new.to_owned()));
        }
    }
    let has = |option: &str| arguments.contains(&option);
    match words {
        ["lint", ..] if has("--self-test") => Some(("lint --self-test".into(), "lab self-test".into())),
        ["plan", ..] if arguments.iter().any(|argument| argument.starts_with("--no-effect-within")) => {
            Some(("plan --no-effect-within".into(), "plan --equivalence-margin".into()))
        }
        ["audit", what @ ("pairs" | "corpus" | "sheet"), ..]
            if has("--method=cta-2026")
                || arguments.windows(2).any(|two| *two == ["--method", "cta-2026"]) =>
        {
            Some((format!("audit {what} --method cta-2026"), format!("lab cta-2026 {what}")))
        }
        _ => None,
    }
}

/// The arguments without options and without the values of global options.
fn words<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let mut words = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if WITH_VALUE.contains(argument) {
            arguments.next();
        } else if !argument.starts_with('-') {
            words.push(*argument);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_commands_are_found_and_others_are_not() {
        let check = |line: &str, expected: Option<(&str, &str)>| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let found = find(&arguments);
            let found = found.as_ref().map(|(old, new)| (old.as_str(), new.as_str()));
            assert_eq!(found, expected, "{line}");
        };
        check("assay runs", Some(("runs", "show")));
        check("assay --store show -q runs --format json", Some(("runs", "show")));
        check("assay help history", Some(("history", "show --history")));
        check("assay trial run tasks/a --agent oracle", Some(("trial run", "task run")));
        check("assay trial exec a.json", None);
        check("assay corpus funnel a", Some(("corpus", "lab corpus")));
        check("assay lab corpus funnel a", None);
        check("assay search bench --corpus a", Some(("search bench", "lab search bench")));
        check("assay search --library a -- bench", None);
        check("assay show runs", None);
        check("assay lint --self-test", Some(("lint --self-test", "lab self-test")));
        check(
            "assay audit corpus a --method cta-2026",
            Some(("audit corpus --method cta-2026", "lab cta-2026 corpus")),
        );
        check("assay audit corpus a --method calibrated", None);
        check(
            "assay plan a --no-effect-within=0.1",
            Some(("plan --no-effect-within", "plan --equivalence-margin")),
        );
    }
}
