//! Related words, for request words that occur in no skill of a library.
//!
//! A request for a pivot table is a request for a spreadsheet, whether or not a skill says `pivot`.
//! Only words that occur in no skill are replaced, so results for known words do not change. The
//! groups are general knowledge: file types with their programs and contents, and long and short
//! forms of technical names.

use crate::analysis::Stemmer;

/// Words of one meaning or of one kind of file. Everyday words with other meanings (`word`,
/// `sheet`, `page`, `note`) are left out.
const GROUPS: [&[&str]; 32] = [
    &[
        "spreadsheet",
        "spreadsheets",
        "excel",
        "xlsx",
        "xls",
        "csv",
        "workbook",
        "worksheet",
        "pivot",
        "vlookup",
    ],
    &["presentation", "slides", "powerpoint", "pptx", "ppt", "keynote", "slideshow"],
    &["docx", "doc", "odt", "rtf"],
    &["pdf", "pdfs", "acrobat"],
    &["image", "picture", "photo", "png", "jpg", "jpeg", "webp"],
    &["video", "mp4", "mov", "movie", "footage"],
    &["audio", "mp3", "wav", "sound"],
    &["transcribe", "transcription", "transcript", "subtitles", "captions"],
    &["email", "mail", "inbox", "gmail", "outlook"],
    &["calendar", "appointment", "meeting"],
    &["chart", "plot", "graph", "histogram", "visualization"],
    &["diagram", "flowchart", "mermaid"],
    &["website", "webpage", "html"],
    &["frontend", "ui", "interface", "gui"],
    &["database", "db", "sql", "postgres", "postgresql", "mysql", "sqlite"],
    &["kubernetes", "k8s", "kubectl", "cluster"],
    &["container", "docker", "dockerfile", "podman"],
    &["javascript", "js", "node", "nodejs"],
    &["typescript", "ts"],
    &["python", "py"],
    &["golang", "go"],
    &["accessibility", "a11y", "wcag"],
    &["internationalization", "i18n", "localization", "l10n", "translation"],
    &["authentication", "auth", "login", "oauth", "signin"],
    &["authorization", "permissions", "rbac", "iam"],
    &["repository", "repo", "git"],
    &["configuration", "config", "settings"],
    &["documentation", "docs", "readme"],
    &["dependency", "dependencies", "packages", "library"],
    &["vulnerability", "cve", "exploit"],
    &["latency", "performance", "slow", "speed"],
    &["llm", "gpt", "claude", "gemini"],
];

/// Known words related to the unknown words of a text, each once, by their stems.
pub(crate) fn related(lower: &str, stemmer: Stemmer, is_known: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = Vec::new();
    let mut stems: Vec<&str> = Vec::new();
    stemmer.each_word(lower, |word| {
        if is_known(stemmer.stem(word)) {
            return;
        }
        for other in of(word, stemmer) {
            let stem = stemmer.stem(other);
            if is_known(stem) && !stems.contains(&stem) {
                stems.push(stem);
                found.push(other);
            }
        }
    });
    found
}

/// Every word related to one of a text, for looking them up in advance.
pub(crate) fn all_related(lower: &str, stemmer: Stemmer) -> Vec<&'static str> {
    let mut found = Vec::new();
    stemmer.each_word(lower, |word| found.extend(of(word, stemmer)));
    found
}

fn of(word: &str, stemmer: Stemmer) -> impl Iterator<Item = &'static str> {
    let stem = stemmer.stem(word).to_owned();
    let groups = GROUPS.iter().filter(move |group| group.iter().any(|own| stemmer.stem(own) == stem));
    groups.flat_map(|group| group.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unknown_words_are_replaced_and_only_by_known_ones() {
        let check = |text: &str, known: &[&str], expected: &[&str]| {
            let stemmer = Stemmer::English;
            let is_known = |stem: &str| known.iter().any(|word| stemmer.stem(word) == stem);
            assert_eq!(related(text, stemmer, is_known), expected, "{text}");
            let all = all_related(text, stemmer);
            assert!(expected.iter().all(|word| all.contains(word)), "{text}: {all:?}");
        };
        check("a pivot table", &["excel", "xlsx", "table", "pdf"], &["excel", "xlsx"]);
        check("a pivot table", &["pivot", "excel"], &[]);
        check("a pivot table", &["table"], &[]);
        check("spreadsheets", &["spreadsheet", "excel"], &[]);
        check("a k8s pod on k8s", &["kubernetes"], &["kubernetes"]);
        check("", &["excel"], &[]);
    }
}
