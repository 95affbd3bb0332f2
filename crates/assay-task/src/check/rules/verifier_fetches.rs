//! Verifiers that need the network.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::shell;
use crate::check::subject::Subject;

pub(super) const RULE: TaskRule = TaskRule {
    code: "verifier-fetches",
    levels: "warn, info",
    summary: "a verifier that downloads packages, reported once per file: with `verifier_network = true` it depends on a server (info), otherwise it fails (warn if the experiment sets it)",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    let refused = subject.context.verifier_network == Some(false);
    let level = if refused { Severity::Warning } else { Severity::Info };
    for text in subject.tests.iter().filter(|text| text.is_shell()) {
        let pipelines = shell::script(&text.text);
        let all: Vec<(usize, String)> = pipelines
            .iter()
            .flat_map(|pipeline| pipeline.commands.iter().map(move |command| (pipeline.line, command)))
            .filter_map(|(line, command)| Some((line, fetches(command)?)))
            .collect();
        let Some((line, first)) = all.first() else { continue };
        let more = match all.len() - 1 {
            0 => String::new(),
            1 => ", and one more command".to_owned(),
            more => format!(", and by {more} more commands"),
        };
        let message = format!("the verifier downloads packages with `{first}`{more}");
        let hint = "install them in the image, or set `verifier_network = true` in the experiment";
        found.push(Finding::new(level, RULE.code, &text.file, message, hint).at(*line));
    }
}

fn fetches(command: &[String]) -> Option<String> {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let program = words.first()?.rsplit('/').next()?;
    let second = words.get(1).copied().unwrap_or_default();
    let local = || words.iter().any(|word| word.contains("localhost") || word.contains("127.0.0.1"));
    let yes = match program {
        "apt-get" | "apt" | "apk" | "yum" | "dnf" | "conda" | "mamba" | "uvx" | "npx" => true,
        "pip" | "pip3" | "npm" | "cargo" | "gem" => matches!(second, "install" | "i" | "add" | "ci"),
        "yarn" | "pnpm" => matches!(second, "add" | "install" | ""),
        "uv" => matches!(second, "pip" | "add" | "tool" | "run" | "sync"),
        "git" => second == "clone",
        "curl" | "wget" => words.iter().any(|word| word.contains("://")) && !local(),
        _ if program.starts_with("python") => words.windows(2).any(|pair| pair == ["pip", "install"]),
        _ => false,
    };
    yes.then(|| words.iter().take(4).copied().collect::<Vec<_>>().join(" "))
}
