//! Images that change under a task.

use crate::check::finding::{Finding, Level};
use crate::check::rules::Rule;
use crate::check::subject::Subject;

pub(super) struct ImageUnpinned;

impl Rule for ImageUnpinned {
    fn code(&self) -> &'static str {
        "image-unpinned"
    }

    fn weighs(&self) -> &'static str {
        "warn"
    }

    fn about(&self) -> &'static str {
        "an image without a tag, or with `latest`"
    }

    fn look(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        let hint = "name a tag, better a digest";
        let loose = |image: &str| {
            let last = image.rsplit('/').next().unwrap_or(image);
            !image.contains(['$', '@'])
                && image != "scratch"
                && (!last.contains(':') || last.ends_with(":latest"))
        };
        for text in subject.environment.iter().filter(|text| text.name() == "Dockerfile") {
            let mut stages: Vec<String> = Vec::new();
            for (line, there) in text.lines() {
                let words: Vec<&str> =
                    there.split_whitespace().filter(|word| !word.starts_with("--")).collect();
                let [from, image, rest @ ..] = words.as_slice() else { continue };
                if !from.eq_ignore_ascii_case("from") {
                    continue;
                }
                if loose(image) && !stages.iter().any(|stage| stage == image) {
                    let message = format!("the image {image} is another one tomorrow");
                    found.push(Finding::new(Level::Warn, self.code(), &text.file, message, hint).at(line));
                }
                stages.extend(rest.get(1).map(|name| (*name).to_owned()));
            }
        }
        if let Some(image) =
            subject.task.config.environment.docker_image.as_deref().filter(|image| loose(image))
        {
            let file = subject.task.root.join("task.toml");
            let message = format!("the image {image} is another one tomorrow");
            found.push(Finding::new(Level::Warn, self.code(), file, message, hint));
        }
    }
}
