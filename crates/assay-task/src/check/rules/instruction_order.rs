//! Instructions that ask before they say what is given.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::mention;
use crate::check::rule::TaskRule;
use crate::check::subject::{Subject, Text};

pub(super) const RULE: TaskRule = TaskRule {
    code: "instruction-order",
    levels: "warn",
    summary: "an instruction that starts with the request and describes afterwards what is given",
    is_opt_in: true,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    if !subject.is_english() {
        return;
    }
    for text in &subject.instructions {
        let parts = parts(text);
        // Any statement before the request is context: only the first sentence is judged.
        let Some(first) = parts.iter().position(|part| !part.is_heading) else { continue };
        if !is_request(&parts[first].text) || parts[..first].iter().any(is_context_heading) {
            continue;
        }
        let later = parts[first + 1..].iter().find(|part| {
            if part.is_heading { is_context_heading(part) } else { is_given(&part.text, subject) }
        });
        if let Some(later) = later {
            let message =
                format!("the request comes before its context: line {} describes what is given", later.line);
            let hint = "describe the situation and the input first, then what to do";
            found.push(
                Finding::new(Severity::Warning, RULE.code, &text.file, message, hint).at(parts[first].line),
            );
        }
    }
}

/// A heading, or a sentence of prose.
struct Part {
    line: usize,
    text: String,
    is_heading: bool,
}

/// The headings and sentences of a text, without blocks of code, tables and front matter.
fn parts(text: &Text) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut open: Option<Part> = None;
    let mut fenced = false;
    let mut front = false;
    for (line, there) in text.lines() {
        let bare = there.trim();
        if bare == "---" && (line == 1 || front) {
            front = line == 1;
            continue;
        }
        if front {
            continue;
        }
        let fence = bare.starts_with("```") || bare.starts_with("~~~");
        let item = item_text(bare);
        if fence
            || fenced
            || bare.is_empty()
            || bare.starts_with('|')
            || bare.starts_with('#')
            || item.is_some()
        {
            parts.extend(open.take());
        }
        fenced ^= fence;
        if fence || fenced || bare.is_empty() || bare.starts_with('|') {
            continue;
        }
        if bare.starts_with('#') {
            let text = bare.trim_matches(['#', ' ', ':', '*']).to_lowercase();
            parts.push(Part { line, text, is_heading: true });
            continue;
        }
        for word in item.unwrap_or(bare).split_whitespace() {
            let part = open.get_or_insert_with(|| Part { line, text: String::new(), is_heading: false });
            if !part.text.is_empty() {
                part.text.push(' ');
            }
            part.text.push_str(&word.to_lowercase().replace('’', "'"));
            let bare = word.trim_end_matches(['*', '_', '"', '\'', ')', '`']);
            let abbreviation =
                matches!(bare.to_lowercase().as_str(), "e.g." | "i.e." | "vs." | "etc." | "cf.");
            if bare.ends_with(['.', '!', '?']) && !abbreviation {
                parts.extend(open.take());
            }
        }
        // `Input:` on a line of its own introduces what follows, as a heading does.
        let label = bare.trim_end_matches(['*', '_']).strip_suffix(':');
        if let Some(part) = open.take_if(|_| label.is_some()) {
            let short = item.is_none() && part.line == line && words(&part.text).count() <= LABEL;
            parts.push(Part { is_heading: short, ..part });
        }
    }
    parts.extend(open.take());
    parts
}

/// Most words of a line that is read as a heading because it ends with a colon.
const LABEL: usize = 3;

/// The text of an item of a list, without its marker.
fn item_text(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
        return Some(rest.trim_start());
    }
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let rest = line[digits..].strip_prefix(['.', ')'])?;
    (digits > 0 && rest.starts_with(' ')).then(|| rest.trim_start())
}

/// The words of a sentence without punctuation at their ends.
fn words(sentence: &str) -> impl Iterator<Item = &str> {
    sentence.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
}

/// Whether a sentence in lower case asks for something.
fn is_request(sentence: &str) -> bool {
    let mut words = words(sentence).filter(|word| !word.is_empty());
    let first = match words.next() {
        Some("please" | "now" | "first" | "then") => words.next(),
        first => first,
    };
    first.is_some_and(|first| VERBS.contains(&format!(" {first} ")))
        || REQUESTS.iter().any(|phrase| sentence.trim_start_matches(['*', '_', '"']).starts_with(phrase))
}

/// Whether a sentence in lower case describes what exists before the work starts.
fn is_given(sentence: &str, subject: &Subject<'_>) -> bool {
    if is_request(sentence) {
        return false;
    }
    let text = format!(" {} ", words(sentence).collect::<Vec<_>>().join(" "));
    if LABELS.iter().any(|label| sentence.trim_start_matches(['*', '_']).starts_with(label)) {
        return true;
    }
    // A sentence about the result, or about a case of it, has one of these words.
    if RESULT.iter().any(|word| text.contains(&format!(" {word} "))) {
        return false;
    }
    if GIVEN.iter().any(|phrase| text.contains(&format!(" {phrase} "))) {
        return true;
    }
    let describes = DESCRIBES.iter().any(|verb| text.contains(&format!(" {verb} ")));
    describes && mention::mentions(sentence).iter().any(|mention| subject.finds(mention::name(&mention.path)))
}

fn is_context_heading(part: &Part) -> bool {
    let mut words = words(&part.text).filter(|word| !matches!(*word, "the" | "your" | ""));
    part.is_heading && words.next().is_some_and(|word| HEADINGS.contains(&word))
}

/// Verbs that start a request.
const VERBS: &str = " add adjust analyse analyze annotate answer apply assess audit author build calculate change check choose \
    classify clean clone collect combine compare compile complete compose compute configure construct convert copy correct \
    count create debug decide decode decrypt deduplicate delete deploy derive describe design detect determine develop \
    diagnose document download draft edit enable estimate evaluate examine execute explain explore export extend extract \
    fetch figure fill filter find fix generate give group help identify implement improve inspect install integrate \
    investigate launch list locate make merge migrate modify monitor move normalize open optimize organize parse perform \
    plan plot port prepare process produce provide prove publish read rebuild record recover reduce refactor remove \
    rename render reorganize repair replace reply report reproduce research resolve restore return review rewrite run \
    save schedule search select send set simulate solve sort split start submit summarize synthesize test train transcribe \
    transform translate triage turn update upgrade use validate verify visualize watch work write ";

/// Phrases that start one.
const REQUESTS: [&str; 22] = [
    "your task",
    "your goal",
    "your job",
    "your objective",
    "the task is to",
    "the goal is to",
    "task:",
    "goal:",
    "objective:",
    "you need to",
    "you must",
    "you have to",
    "you are asked to",
    "you are required to",
    "i need you to",
    "i want you to",
    "i'd like you to",
    "i would like you to",
    "help me",
    "can you",
    "could you",
    "we need you to",
];

/// Phrases that describe what is there.
const GIVEN: [&str; 29] = [
    "you are given",
    "you have been given",
    "you are provided",
    "i have",
    "we have",
    "is given",
    "are given",
    "is provided",
    "are provided",
    "has been provided",
    "have been provided",
    "is located",
    "are located",
    "is stored",
    "are stored",
    "is installed",
    "are installed",
    "is preinstalled",
    "is pre-installed",
    "is available",
    "are available",
    "is running",
    "already",
    "currently",
    "input file is",
    "input files are",
    "input data is",
    "input is",
    "inputs are",
];

/// Labels of sentences about what is there.
const LABELS: [&str; 6] = ["input:", "inputs:", "input files:", "context:", "background:", "given:"];

/// Verbs of sentences about a file.
const DESCRIBES: [&str; 10] =
    ["is", "are", "contains", "contain", "has", "have", "holds", "lists", "defines", "describes"];

/// Words of sentences about the result, or about what is allowed.
const RESULT: [&str; 24] = [
    "must", "should", "shall", "will", "output", "outputs", "result", "results", "ensure", "answer", "do",
    "don't", "not", "if", "when", "whenever", "each", "may", "can", "need", "needs", "would", "create",
    "write",
];

/// First words of headings over what is given.
const HEADINGS: [&str; 9] =
    ["background", "context", "given", "input", "inputs", "scenario", "situation", "setup", "provided"];
