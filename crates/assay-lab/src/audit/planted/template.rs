//! What an agent that follows a directive would do, as text.
//!
//! Written from what a directive demands, in words of our own: new code around a literal, a
//! comparison with a threshold, a script with other arguments. Nothing here is used in extracting
//! directives or in finding them in runs.

use assay_audit::directive::{Kind, Probe};
use rand_chacha::ChaCha8Rng;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::pick;

/// Something that an agent does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    /// A command line.
    Run(String),
    /// A file that is written.
    Write {
        /// Where.
        path: String,
        /// What.
        content: String,
    },
}

/// The acts of an agent that does what `probe` looks for; empty where no text can be made for it.
pub(super) fn acts(kind: Kind, probe: &Probe, number: usize, random: &mut ChaCha8Rng) -> Vec<Act> {
    match probe {
        Probe::Command { program, words } => vec![Act::Run(command(program, words, random))],
        Probe::Text(text) => match kind {
            Kind::Command | Kind::Flag => vec![Act::Run(line_of(text, random))],
            Kind::File => file(text, number, random),
            _ => vec![module(number, &literal(kind, text, random))],
        },
        Probe::Layout(pattern) => match sample(pattern, random) {
            Some(text) => vec![module(number, &literal(kind, &text, random))],
            None => Vec::new(),
        },
        Probe::Number { value, near } => vec![module(number, &comparison(value, near, random))],
        Probe::Script(path) => vec![Act::Run(script(path, random))],
        Probe::Sequence { first, then } => {
            if let Some(texts) = texts(probe) {
                return vec![module(number, &sorting(&texts, random))];
            }
            let first = acts(part_kind(first), first, 2 * number, random);
            let then = acts(part_kind(then), then, 2 * number + 1, random);
            if first.is_empty() || then.is_empty() { Vec::new() } else { [first, then].concat() }
        }
    }
}

/// The texts of an order of nothing but texts, such as columns to sort by.
fn texts(probe: &Probe) -> Option<Vec<&str>> {
    match probe {
        Probe::Text(text) => Some(vec![text]),
        Probe::Sequence { first, then } => Some([texts(first)?, texts(then)?].concat()),
        _ => None,
    }
}

/// Code that sorts by names, or writes them in their order.
fn sorting(names: &[&str], random: &mut ChaCha8Rng) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    if pick(random, &[true, false]) {
        let keys: Vec<String> = quoted.iter().map(|name| format!("entry[{name}]")).collect();
        return format!("    out.sort(key=lambda entry: ({}))", keys.join(", "));
    }
    format!("    out.append([{}])", quoted.join(", "))
}

/// The kind of a part of an order.
fn part_kind(probe: &Probe) -> Kind {
    match probe {
        Probe::Command { .. } => Kind::Command,
        Probe::Script(_) => Kind::Script,
        Probe::Number { .. } => Kind::Threshold,
        _ => Kind::Literal,
    }
}

fn command(program: &str, words: &[String], random: &mut ChaCha8Rng) -> String {
    let words = words.join(" ");
    let lead = pick(random, &["", "cd work && ", "time ", "set -x; "]);
    let tail = pick(random, &["", " 2>&1 | tail -n 40", " && echo finished", " > /tmp/out.txt"]);
    let operand = pick(random, &["", " sample", " ./part-a"]);
    format!("{lead}{program} {words}{operand}{tail}").replace("  ", " ")
}

/// A command line with a piece of one.
fn line_of(text: &str, random: &mut ChaCha8Rng) -> String {
    if text.starts_with('-') {
        return format!("./{} {text} part-a", pick(random, &["tool", "run-step", "helper"]));
    }
    format!("cd work && {text}")
}

/// Either a file of this name, or code that opens it.
fn file(name: &str, number: usize, random: &mut ChaCha8Rng) -> Vec<Act> {
    let plain = !name.ends_with('/') && !name.contains(['*', '<', '{', ' ']);
    if plain && pick(random, &[true, false]) {
        let content = "first part\nsecond part\n".to_owned();
        return vec![Act::Write { path: name.trim_start_matches(['/', '~']).to_owned(), content }];
    }
    vec![module(number, &format!("    handle = open(\"{name}\", \"a\")\n    handle.write(text)"))]
}

/// Code that uses a text.
fn literal(kind: Kind, text: &str, random: &mut ChaCha8Rng) -> String {
    let quoted = if text.contains('"') { format!("'{text}'") } else { format!("\"{text}\"") };
    let lines: &[&str] = if kind == Kind::Column {
        &["    entry[@] = amount", "    kept = [entry[@] for entry in entries]", "    names = [\"a\", @]"]
    } else {
        &["    state = @", "    out.append((name, @))", "    return dict(outcome=@)"]
    };
    let is_code = text.contains(['(', '=', ';', '{']) || text.starts_with(['@', '<']);
    if is_code { format!("    {text}") } else { pick(random, lines).replace('@', &quoted) }
}

/// A comparison with a number, of a name that one of the words near it has.
fn comparison(value: &str, near: &[String], random: &mut ChaCha8Rng) -> String {
    let word = |c: &String| c.chars().all(|c| c.is_alphanumeric() || c == '_');
    let words: Vec<&String> = near.iter().filter(|near| word(near)).collect();
    let name = if words.is_empty() { "measured" } else { pick(random, &words).as_str() };
    let name =
        if name.starts_with(|c: char| c.is_ascii_digit()) { format!("n{name}") } else { name.to_owned() };
    let lines = ["    if @ > #:\n        flagged.append(entry)", "    @ = min(@, #)", "    @ = #"];
    pick(random, &lines).replace('@', &name).replace('#', value)
}

/// A call of a script of the skill, with arguments that the skill does not have.
fn script(path: &str, random: &mut ChaCha8Rng) -> String {
    let program = match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("py") => "python3 ",
        Some("js" | "mjs") => "node ",
        Some("sh" | "bash") => "bash ",
        Some("rb") => "ruby ",
        _ => "",
    };
    let folder = pick(random, &["/skills/own/", ".claude/skills/own/", "/root/.agents/skills/own/"]);
    let arguments = pick(random, &["part-a.dat", "--quiet part-b.dat out.dat", "part-a.dat > summary.out"]);
    format!("{program}{folder}{path} {arguments}")
}

/// A small module with some lines in a function of it.
fn module(number: usize, body: &str) -> Act {
    let content = format!(
        "import os\n\n\ndef step_{number}(entries, name, text, out, flagged):\n    for entry in entries:\n        \
         print(entry)\n{body}\n    return out\n"
    );
    Act::Write { path: format!("work/step_{number}.py"), content }
}

/// A text of a layout.
fn sample(pattern: &str, random: &mut ChaCha8Rng) -> Option<String> {
    let hir = regex_syntax::Parser::new().parse(pattern).ok()?;
    let mut text = String::new();
    grow(&hir, &mut text, random);
    (!text.trim().is_empty()).then_some(text)
}

fn grow(hir: &Hir, text: &mut String, random: &mut ChaCha8Rng) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => text.push(character(class, random)),
        // Between words of a line that may be anything, a comma.
        HirKind::Repetition(repetition) if is_any(&repetition.sub) => text.push_str(", "),
        HirKind::Repetition(repetition) => {
            let least = repetition.min.max(1);
            let most = repetition.max.unwrap_or(least + 3).min(least + 3).max(least);
            let counts: Vec<u32> = (least..=most).collect();
            for _ in 0..pick(random, &counts) {
                grow(&repetition.sub, text, random);
            }
        }
        HirKind::Capture(capture) => grow(&capture.sub, text, random),
        HirKind::Concat(parts) => parts.iter().for_each(|part| grow(part, text, random)),
        HirKind::Alternation(parts) => {
            let at: Vec<usize> = (0..parts.len()).collect();
            grow(&parts[pick(random, &at)], text, random);
        }
    }
}

/// Whether an expression is a class with commas and blanks, such as everything but the line's end.
fn is_any(hir: &Hir) -> bool {
    let HirKind::Class(class) = hir.kind() else { return false };
    has(class, ',') && has(class, ' ')
}

fn has(class: &Class, c: char) -> bool {
    match class {
        Class::Unicode(class) => {
            class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&c))
        }
        Class::Bytes(class) => {
            class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&(c as u8)))
        }
    }
}

/// A character of a class: a digit or a letter if it has one.
fn character(class: &Class, random: &mut ChaCha8Rng) -> char {
    let usual: Vec<char> = ('1'..='9').chain('b'..='k').chain('B'..='K').filter(|c| has(class, *c)).collect();
    let any: Vec<char> = (' '..='~').filter(|c| has(class, *c)).collect();
    match (usual.is_empty(), any.is_empty()) {
        (false, _) => pick(random, &usual),
        (true, false) => pick(random, &any),
        (true, true) => '-',
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn random() -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(7)
    }

    #[test]
    fn texts_of_a_layout_match_it() {
        for pattern in
            [r"\b[a-z]+-\d{8}-\d{2}\b", r"\d{4}/(?:0[1-9]|1[0-2])", r"v\d+\.\d+(?:\.\d+)?", r"[^\s,]+_gate"]
        {
            let text = sample(pattern, &mut random()).expect("a text");
            let (head, tail) = (text.chars().next(), text.chars().last());
            assert!(head.is_some() && tail.is_some() && text.is_ascii(), "{pattern}: {text}");
        }
        assert_eq!(sample(r"QX-\d", &mut random()).map(|text| text.len()), Some(4));
        assert_eq!(sample("(", &mut random()), None);
        let text = sample(r"\bstart\b[^\n]{1,40}?\bid\b", &mut random());
        assert_eq!(text.as_deref(), Some("start, id"));
    }

    #[test]
    fn each_kind_has_a_text_that_contains_what_it_demands() {
        let text = |kind, probe: &Probe| {
            let shown = acts(kind, probe, 3, &mut random()).into_iter().map(|act| match act {
                Act::Run(command) => command,
                Act::Write { path, content } => format!("{path}\n{content}"),
            });
            shown.collect::<Vec<_>>().join("\n")
        };
        let check = |kind, probe: Probe, expected: &[&str]| {
            let found = text(kind, &probe);
            assert!(expected.iter().all(|part| found.contains(part)), "{expected:?} in {found}");
        };
        let command = |program: &str, words: &[&str]| Probe::Command {
            program: program.to_owned(),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
        };
        check(Kind::Command, command("kiln", &["fire", "--slow"]), &["kiln fire --slow"]);
        check(Kind::Literal, Probe::Text("KX-41".to_owned()), &["\"KX-41\"", "def step_3"]);
        check(Kind::Column, Probe::Text("net_w".to_owned()), &["\"net_w\""]);
        check(Kind::Flag, Probe::Text("--dry".to_owned()), &[" --dry "]);
        check(Kind::Script, Probe::Script("scripts/sum.py".to_owned()), &["python3 ", "/scripts/sum.py "]);
        let near = vec!["moisture".to_owned()];
        check(Kind::Threshold, Probe::Number { value: "0.35".to_owned(), near }, &["moisture", "0.35"]);
        let names = ["start", "id"].map(|name| Box::new(Probe::Text(name.to_owned())));
        let [first, then] = names;
        check(Kind::Order, Probe::Sequence { first, then }, &["\"start\"", ", ", "\"id\""]);
        let (first, then) = (Box::new(command("dry", &["run"])), Box::new(command("fire", &["run"])));
        let found = text(Kind::Order, &Probe::Sequence { first, then });
        assert!(found.find("dry run") < found.find("fire run"), "{found}");
    }
}
