//! Several rewards and none that is the reward.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::LazyLock;

use assay_diagnostic::Severity;
use regex::Regex;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::subject::{Subject, Text};

pub(super) const RULE: TaskRule = TaskRule {
    code: "several-rewards",
    levels: "warn",
    summary: "a verifier that writes several numbers to reward.json and none of the name `reward`, as far as its text shows",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    let Some(file) = writer(&subject.tests) else { return };
    let message =
        "the verifier writes several rewards and no key `reward`: a trial passes only if all are 1 or more";
    let hint = "write the key `reward` (1 if all tests passed), and the tests as a CTRF report";
    found.push(Finding::new(Severity::Warning, RULE.code, file, message, hint));
}

/// A key of an object, in quotation marks that may be escaped.
static KEY: LazyLock<Regex> = LazyLock::new(|| pattern(r#"\\?["']([A-Za-z_][A-Za-z0-9_ .-]*)\\?["']\s*:"#));

/// A key that is not in the text: a variable of a shell, or an entry that Python assigns by name.
static VARIABLE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"\\?["']\$\{?\w+\}?\\?["']\s*:|\w\[\s*[A-Za-z_]\w*\s*\]\s*="#));

/// `reward` as a key or as a name that is assigned.
static REWARD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?:^|[^A-Za-z0-9_./-])reward\\?["']?\s*[\])]?\s*[:=]"#));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant pattern is valid")
}

/// The file that writes several rewards, and none of the name `reward`.
fn writer(tests: &[Text]) -> Option<PathBuf> {
    let code = || tests.iter().filter(|text| text.is_code());
    if code().any(|text| REWARD.is_match(&text.text)) {
        return None;
    }
    let writes_several = |text: &&Text| {
        let keys: BTreeSet<&str> =
            KEY.captures_iter(&text.text).filter_map(|found| found.get(1)).map(|key| key.as_str()).collect();
        text.text.contains("reward.json") && (keys.len() > 1 || VARIABLE.is_match(&text.text))
    };
    code().find(writes_several).map(|text| text.file.clone())
}

/// Whether a task's verifier writes several rewards and none of the name `reward`, as far as its text
/// shows.
pub(crate) fn writes_several_rewards(tests: &[Text]) -> bool {
    writer(tests).is_some()
}
