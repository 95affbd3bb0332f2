//! Hints for failed solutions and verifiers, chosen from the end of their output.

use assay_diagnostic::clean_start;

/// Whose output is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// The task's solution.
    Solution,
    /// What grades.
    Verifier,
}

/// Words of programs that could not reach a host.
const NETWORK: [&str; 20] = [
    "could not resolve host",
    "couldn't resolve host",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "name or service not known",
    "no address associated with hostname",
    "nodename nor servname",
    "failed to resolve",
    "failed to lookup address",
    "nameresolutionerror",
    "getaddrinfo",
    " enotfound",
    "eai_again",
    "dns error",
    "network is unreachable",
    "no route to host",
    "could not connect to server",
    "failed to establish a new connection",
    "unable to connect to",
    "error sending request for url",
];

/// Words of programs that something is missing for.
const MISSING: [&str; 6] = [
    "command not found",
    "no module named",
    "cannot find module",
    "modulenotfounderror",
    ": not found",
    "executable file not found",
];

/// Words of programs that were ended.
const MEMORY: [&str; 4] =
    ["out of memory", "memoryerror", "cannot allocate memory", "exceeded the sandbox's limits"];

/// What a text says of the cause: the hint, and the line that says so. The last line that tells counts.
pub(super) fn hint(who: Who, text: &str) -> Option<(&'static str, String)> {
    text.lines().rev().find_map(|line| {
        let lower = line.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let hint = if says(&NETWORK) {
            match who {
                Who::Solution => {
                    "it cannot reach a host: set `network = \"public\"` in the experiment, or add what it fetches to the image"
                }
                Who::Verifier => {
                    "it cannot reach a host: set `verifier_network = true` in the experiment, or add what it fetches to the image"
                }
            }
        } else if says(&MISSING) && !lower.contains("404") {
            "the image lacks a program or module: install it in the Dockerfile, or run the task in Docker with its own image"
        } else if says(&MEMORY) {
            "it needs more memory: raise `memory_mb` in the experiment, or under `[environment]` in task.toml"
        } else if lower.contains("did not finish within") {
            "it needs more time: raise `timeout_sec` under `[verifier]` in task.toml"
        } else {
            return None;
        };
        Some((hint, clean_start(line.trim(), 200)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_fit_their_cause() {
        let check = |who, text: &str, part: &str, line: &str| {
            let found = hint(who, text);
            match &found {
                Some((hint, said)) => {
                    assert!(hint.contains(part) && said == line && !part.is_empty(), "{text}: {found:?}");
                }
                None => assert_eq!(part, "", "{text}"),
            }
        };
        let curl = "curl: (6) Could not resolve host: example.org";
        check(Who::Solution, &format!("begin\n{curl}\n\n"), "`network = \"public\"`", curl);
        check(Who::Verifier, &format!("begin\n{curl}\nbye\n"), "`verifier_network = true`", curl);
        let apt = "E: Unable to connect to deb.example.org:http:";
        check(Who::Verifier, apt, "`verifier_network = true`", apt);
        let tool = "/tests/test.sh: line 3: frobnicate: command not found";
        check(Who::Verifier, tool, "the image lacks", tool);
        let module = "ModuleNotFoundError: No module named 'pandas'";
        check(Who::Solution, module, "the image lacks", module);
        check(Who::Solution, "MemoryError\n", "more memory", "MemoryError");
        check(
            Who::Verifier,
            "the verifier did not finish within 600 s",
            "more time",
            "the verifier did not finish within 600 s",
        );
        // The last cause counts: a script goes on after a fetch that it can do without.
        check(Who::Solution, &format!("{curl}\n{tool}\n"), "the image lacks", tool);
        check(Who::Solution, "AssertionError: 3 != 4\n", "", "");
        check(Who::Solution, "", "", "");
    }
}
