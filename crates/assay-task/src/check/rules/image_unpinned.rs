//! Images that change under a task.

use assay_diagnostic::Severity;
use assay_syntax::dockerfile::Source;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::subject::Subject;

pub(super) const RULE: TaskRule = TaskRule {
    code: "image-unpinned",
    levels: "warn",
    summary: "an image without a tag, or with `latest`",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    let hint = "pin a tag or, better, a digest";
    let loose = |image: &str| {
        let last = image.rsplit('/').next().unwrap_or(image);
        !image.contains(['$', '@'])
            && image != "scratch"
            && (!last.contains(':') || last.ends_with(":latest"))
    };
    for text in subject.environment.iter().filter(|text| text.name() == "Dockerfile") {
        let mut stages: Vec<String> = Vec::new();
        // Here-documents of RUN contain lines that begin with `from` too.
        for from in Source::read(&text.text).instructions.iter().filter(|one| one.name == "FROM") {
            let words: Vec<&str> =
                from.rest.split_whitespace().filter(|word| !word.starts_with("--")).collect();
            let [image, rest @ ..] = words.as_slice() else { continue };
            if loose(image) && !stages.iter().any(|stage| stage.eq_ignore_ascii_case(image)) {
                let finding = Finding::new(Severity::Warning, RULE.code, &text.file, message(image), hint);
                found.push(finding.at(from.line));
            }
            stages.extend(rest.get(1).map(|name| (*name).to_owned()));
        }
    }
    if let Some(image) = subject.task.config.environment.docker_image.as_deref().filter(|image| loose(image))
    {
        let file = subject.task.root.join("task.toml");
        found.push(Finding::new(Severity::Warning, RULE.code, file, message(image), hint));
    }
}

fn message(image: &str) -> String {
    let tag = if image.ends_with(":latest") { "is tagged `latest`" } else { "has no tag" };
    format!("the image {image} {tag}: it can change between runs")
}
