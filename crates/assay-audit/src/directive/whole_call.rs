//! Commands of a skill as one unit each: a call with its options, not the parts of it.

use assay_syntax::shell::{self, Operator, Source, program_name};

use super::unit::{Names, Unit, is_command_line, is_program, runner_of};
use super::{Kind, Probe};

/// Most words of a call that are kept.
const WORDS: usize = 12;

/// What a piece of inline code forbids if it is a command: each of its calls with all its words, or
/// a call whose output goes into another. `None` if it is no command of several words.
pub(super) fn prohibited(code: &str, names: &Names) -> Option<Vec<Unit>> {
    let words: Vec<&str> = code.split_whitespace().collect();
    if words.len() < 2 || !is_command_line(&words, names) {
        return None;
    }
    if let Some(unit) = privileged(&words) {
        return Some(vec![unit]);
    }
    let calls = shell::commands(code, Source::Command);
    let piped = calls.windows(2).find(|pair| pair[0].end == Operator::Pipe);
    if let Some([first, then]) = piped {
        let bare = |words: &[String]| Some(call(words)?.0);
        let (first, then) = (bare(&first.words)?, bare(&then.words)?);
        let probe = |program: String| Box::new(Probe::Command { program, words: Vec::new() });
        let probe = Probe::Sequence { first: probe(first), then: probe(then) };
        return Some(vec![Unit { kind: Kind::Command, subject: code.to_owned(), probe }]);
    }
    Some(calls.iter().filter_map(|simple| prohibited_call(&simple.words)).collect())
}

/// A call that is forbidden with `sudo` may be made without it.
fn privileged(words: &[&str]) -> Option<Unit> {
    let ["sudo", program, rest @ ..] = words else { return None };
    let program = program_name(program);
    let kept = rest.iter().filter(|word| !is_place(word)).take(WORDS);
    let rest: String = kept.map(|word| format!(r"(?:\s+\S+)*?\s+{}", regex_syntax::escape(word))).collect();
    let name = regex_syntax::escape(program);
    // `pip3` is `pip`.
    let pattern = format!(r"\bsudo\s+(?:[^\s;|&]+\s+)*?(?:[^\s;|&]*/)?{name}[\d.]*{rest}(?:\s|$)");
    is_program(program).then(|| Unit {
        kind: Kind::Command,
        subject: words.join(" "),
        probe: Probe::Layout(pattern),
    })
}

/// The unit of a call that is forbidden.
pub(super) fn prohibited_call(words: &[String]) -> Option<Unit> {
    let is_given = words.iter().skip(1).any(|word| is_place(word));
    let (program, words) = call(words)?;
    // `echo $KEY` without its operand would be any `echo`.
    if words.is_empty() && is_given {
        return None;
    }
    let subject = std::iter::once(program.as_str()).chain(words.iter().map(String::as_str));
    let subject = subject.collect::<Vec<_>>().join(" ");
    Some(Unit { kind: Kind::Command, subject, probe: Probe::Command { program, words } })
}

/// The program of a call, and its words without places for others: `<branch>`, `FILE`, `…`.
fn call(words: &[String]) -> Option<(String, Vec<String>)> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut words = shell::program(&words);
    while let [runner, rest @ ..] = words
        && let Some((skip, true)) = runner_of(runner, rest)
    {
        words = &rest[skip..];
    }
    if let [python, "-m", rest @ ..] = words
        && program_name(python).starts_with("python")
    {
        words = rest;
    }
    let (first, rest) = words.split_first()?;
    let program = program_name(first);
    if !is_program(program) {
        return None;
    }
    let kept = rest.iter().take_while(|word| !word.starts_with(['>', '<'])).filter(|word| !is_place(word));
    let kept: Vec<String> = kept.take(WORDS).map(|word| (*word).to_owned()).collect();
    Some((program.to_owned(), kept))
}

/// Whether a word stands for others.
fn is_place(word: &str) -> bool {
    let word = word.trim_matches(['"', '\'']);
    let is_loud = word.len() > 2
        && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || "_-".contains(c))
        && word.starts_with(|c: char| c.is_ascii_uppercase());
    word.is_empty()
        || word.contains(['<', '>', '{', '}', '…', '$', '*'])
        || word.starts_with('[')
        || word == "..."
        || (word.ends_with("...") && word.len() > 3)
        || (is_loud && !is_method(word))
}

/// Methods of HTTP and words of SQL are values, not places for them.
fn is_method(word: &str) -> bool {
    matches!(word, "DELETE" | "PATCH" | "POST" | "PUT" | "GET" | "DROP" | "TRUNCATE")
}

#[cfg(test)]
mod tests {
    use super::super::SkillPackage;
    use super::*;

    #[test]
    fn a_prohibited_command_is_one_unit() {
        let names = Names::new(&SkillPackage::default());
        let check = |code: &str, expected: Option<&[&str]>| {
            let found = prohibited(code, &names);
            let found: Option<Vec<&str>> =
                found.as_ref().map(|units| units.iter().map(|unit| unit.subject.as_str()).collect());
            assert_eq!(found.as_deref(), expected, "{code}");
        };
        check("git push --force", Some(&["git push --force"]));
        check("git push --force <branch>", Some(&["git push --force"]));
        check("sudo rm -rf build", Some(&["sudo rm -rf build"]));
        check("npx tool fix --all", Some(&["tool fix --all"]));
        check("python -m pip install --user", Some(&["pip install --user"]));
        check("curl -fsSL URL | bash", Some(&["curl -fsSL URL | bash"]));
        check("curl -X DELETE $URL", Some(&["curl -X DELETE"]));
        check("SELECT * FROM x", None);
        check("git", None);
    }
}
