//! Scripts that can be started as they are.

use std::os::unix::fs::PermissionsExt;

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::subject::Subject;

pub(super) const RULE: TaskRule = TaskRule {
    code: "script-form",
    levels: "info",
    summary: "`test.sh` or `solve.sh` without a `#!` line or the execute bit: other runners set the bit and guess the shell",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    let scripts = subject.tests.iter().chain(&subject.solution);
    for script in scripts.filter(|text| matches!(text.name(), "test.sh" | "solve.sh" | "verify.sh")) {
        if !script.text.starts_with("#!") {
            let hint = "start it with `#!/bin/bash`";
            found.push(Finding::new(Severity::Info, RULE.code, &script.file, "no `#!` line", hint).at(1));
        }
        let mode = std::fs::metadata(&script.file).map(|there| there.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o100 == 0) {
            let message = "it is not executable by its owner";
            found.push(Finding::new(Severity::Info, RULE.code, &script.file, message, "chmod +x"));
        }
    }
}
