//! Commands of a skill against commands that were run: a call is one unit.
//!
//! The words up to the first option stand together as the skill has them, except that options with
//! their values may stand between; each option and each word after it stands somewhere in the rest
//! of the call.

use assay_syntax::shell::{interpreter, program, program_name};

use super::call::script_of;

/// Options that a program writes in two ways, from its manual: the program, its subcommand (empty
/// for any), and the two.
const SAME: [(&str, &str, &str, &str); 24] = [
    ("cp", "", "-R", "-r"),
    ("cp", "", "--recursive", "-r"),
    ("docker", "rm", "--force", "-f"),
    ("docker", "rmi", "--force", "-f"),
    ("docker", "prune", "--force", "-f"),
    ("git", "add", "--all", "-A"),
    ("git", "add", "--force", "-f"),
    ("git", "add", "--patch", "-p"),
    ("git", "add", "--update", "-u"),
    ("git", "branch", "--force", "-f"),
    ("git", "checkout", "--force", "-f"),
    ("git", "clean", "--force", "-f"),
    ("git", "commit", "--all", "-a"),
    ("git", "commit", "--no-verify", "-n"),
    ("git", "push", "--delete", "-d"),
    ("git", "push", "--force", "-f"),
    ("git", "push", "--set-upstream", "-u"),
    ("git", "tag", "--force", "-f"),
    ("npm", "", "--global", "-g"),
    ("pip", "", "--upgrade", "-U"),
    ("pnpm", "", "--global", "-g"),
    ("rm", "", "--force", "-f"),
    ("rm", "", "--recursive", "-r"),
    ("rm", "", "-R", "-r"),
];

/// A command of a skill: the program's name, and what follows it.
#[derive(Debug, Clone)]
pub(super) struct WantedCall {
    name: String,
    /// The words before the first option.
    lead: Vec<String>,
    /// Options, and words among and after them.
    rest: Vec<String>,
}

impl WantedCall {
    pub(super) fn new(name: &str, words: &[String]) -> Self {
        let lead = words.iter().take_while(|word| !is_option(word)).count();
        Self { name: name.to_owned(), lead: words[..lead].to_vec(), rest: words[lead..].to_vec() }
    }

    /// Whether words are a call of it: the program first, a script that an interpreter runs, or a
    /// command after `--` that another program starts.
    pub(super) fn is_call(&self, words: &[String]) -> bool {
        let Some((first, rest)) = words.split_first() else { return false };
        let started = words.iter().position(|word| word == "--").map(|at| &words[at + 1..]);
        if started.is_some_and(|started| self.is_call(started)) {
            return true;
        }
        if self.is_program(program_name(first)) {
            return self.is_followed(rest);
        }
        let script = script_of(interpreter(program_name(first)), words);
        let at = script.and_then(|script| words.iter().position(|word| word == script));
        at.is_some_and(|at| program_name(&words[at]) == self.name && self.is_followed(&words[at + 1..]))
    }

    /// Whether a line of code or configuration has it. With `strict`, only where a command can
    /// begin: a sentence about it is no call.
    pub(super) fn is_in_line(&self, line: &str, strict: bool) -> bool {
        line.split([';', '|', '&']).any(|part| {
            let tokens = tokens(part);
            let words: Vec<String> = tokens.iter().map(|(_, token)| (*token).to_owned()).collect();
            tokens.iter().enumerate().any(|(at, (start, token))| {
                let is_function = part[start + token.len()..].starts_with('(');
                self.is_program(program_name(token.trim_start_matches('@')))
                    && !is_function
                    && (!strict || begins_command(&part[..*start], token))
                    && self.is_followed(&words[at + 1..])
            })
        })
    }

    /// Whether a program is the one. Where nothing but its name is given, its version is part of that: `python` is not
    /// `python3`.
    fn is_program(&self, found: &str) -> bool {
        let exact = self.lead.is_empty() && self.rest.is_empty();
        found == self.name || (!exact && is_program(found, &self.name))
    }

    fn is_followed(&self, found: &[String]) -> bool {
        let Some(after) = after_lead(&self.lead, found) else { return false };
        let rest = &found[after..];
        self.rest.iter().all(|wanted| {
            if is_option(wanted) { self.has_option(rest, wanted) } else { has_operand(rest, wanted) }
        })
    }

    fn has_option(&self, found: &[String], wanted: &str) -> bool {
        if found.iter().any(|word| word == wanted || is_joined(word, wanted)) {
            return true;
        }
        let wanted = self.usual_form(wanted);
        let Some(sought) = letters(wanted) else {
            return found.iter().any(|word| self.usual_form(word) == wanted);
        };
        // `-rf` is `-r -f` and `-fr`.
        let all: String = found.iter().filter_map(|word| letters(self.usual_form(word))).collect();
        sought.chars().all(|letter| all.contains(letter))
    }

    /// An option in the form in which its program has it short.
    fn usual_form<'w>(&self, option: &'w str) -> &'w str {
        let is_same = |(program, subcommand, ..): &&(&str, &str, &str, &str)| {
            *program == self.name
                && (subcommand.is_empty() || self.lead.iter().any(|word| word == subcommand))
        };
        let same = SAME.iter().filter(is_same).find(|(_, _, long, _)| *long == option);
        same.map_or(option, |(.., short)| short)
    }
}

/// Whether a program is one of this name, whatever its version: `pip3.12` is `pip`.
fn is_program(found: &str, wanted: &str) -> bool {
    let plain = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned();
    found == wanted
        || (wanted.ends_with(|c: char| c.is_alphabetic()) && !found.contains('/') && plain(found) == wanted)
}

/// An option that is not a number or a lone hyphen.
fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && !word[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// The letters of joined short options: `rf` of `-rf`.
fn letters(word: &str) -> Option<&str> {
    let letters = word.strip_prefix('-')?;
    let are_letters = (1..=4).contains(&letters.len()) && letters.chars().all(|c| c.is_ascii_alphabetic());
    are_letters.then_some(letters)
}

/// `--sort=size` for `--sort`.
fn is_joined(word: &str, option: &str) -> bool {
    option.starts_with("--") && word.strip_prefix(option).is_some_and(|rest| rest.starts_with('='))
}

/// Where the words after the lead begin; `None` if it is not there. Options may stand before and
/// between its words, each with a value.
fn after_lead(lead: &[String], found: &[String]) -> Option<usize> {
    let mut wanted = lead.iter();
    let Some(mut next) = wanted.next() else { return Some(0) };
    let mut may_be_value = false;
    for (at, word) in found.iter().enumerate() {
        if is_operand(word, next) {
            may_be_value = false;
            match wanted.next() {
                Some(more) => next = more,
                None => return Some(at + 1),
            }
        } else if is_option(word) {
            may_be_value = !word.contains('=');
        } else if !std::mem::take(&mut may_be_value) {
            return None;
        }
    }
    None
}

/// Whether an operand or the value of an option is among words.
fn has_operand(found: &[String], wanted: &str) -> bool {
    found.iter().any(|word| {
        is_operand(word, wanted)
            || word
                .split_once('=')
                .is_some_and(|(option, value)| is_option(option) && is_operand(value, wanted))
    })
}

/// Whether two words are the same: `./build/` is `build`.
fn is_operand(word: &str, wanted: &str) -> bool {
    let plain = |word: &'_ str| -> String {
        let word = word.trim_matches(['"', '\'']);
        let inner = word.strip_prefix("./").filter(|rest| !rest.is_empty()).unwrap_or(word);
        let end = inner.trim_end_matches('/');
        if end.is_empty() { inner.to_owned() } else { end.to_owned() }
    };
    // `0755` is `755`.
    let is_octal = |word: &str| word.len() >= 3 && word.chars().all(|c| ('0'..='7').contains(&c));
    let mode = || {
        is_octal(word) && is_octal(wanted) && word.trim_start_matches('0') == wanted.trim_start_matches('0')
    };
    word == wanted || plain(word) == plain(wanted) || mode()
}

/// The words of a line without quotation marks and brackets, with where they begin.
fn tokens(line: &str) -> Vec<(usize, &str)> {
    let breaks = |c: char| c.is_whitespace() || "\"'`,()[]{}$".contains(c);
    let mut at = 0;
    line.split(breaks)
        .map(|token| {
            let start = at;
            // A separator may have several bytes.
            at += token.len() + line[at + token.len()..].chars().next().map_or(0, char::len_utf8);
            (start, token)
        })
        .filter(|(_, token)| !token.is_empty())
        .collect()
}

/// Whether a command can begin at a word: nothing but wrappers such as `sudo` stand between it and
/// the start of the line, a quotation mark or bracket, a key or the mark of an item.
fn begins_command(before: &str, word: &str) -> bool {
    let sign = before.rfind(['"', '\'', '`', '(', '[', '{', '@', '$', '!']).map(|at| at + 1);
    let mark = [": ", "- "].iter().filter_map(|mark| Some(before.rfind(mark)? + mark.len())).max();
    let lead = &before[sign.max(mark).unwrap_or_default()..];
    let words: Vec<&str> = lead.split_whitespace().chain([word]).collect();
    program(&words).len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn wanted(command: &str) -> WantedCall {
        let all = words(command);
        WantedCall::new(&all[0], &all[1..])
    }

    #[test]
    fn a_call_has_all_parts_of_what_is_wanted() {
        let check = |command: &str, found: &str, expected: bool| {
            assert_eq!(wanted(command).is_call(&words(found)), expected, "{command} in {found}");
        };
        // A bare act is no part of one with an option.
        check("git push --force", "git push origin main", false);
        check("git push --force", "git push --force origin main", true);
        check("git push --force", "git push origin main --force", true);
        check("git push --force", "git -C lib push origin -f", true);
        check("git push --force", "git push --force-with-lease", false);
        check("git push --force", "git fetch --force", false);
        check("git push", "git remote push", false);
        check("git push", "git --no-pager -C lib push", true);
        check("docker run --privileged", "docker run -it alpine true", false);
        check("docker run --privileged", "docker run --rm --privileged alpine", true);
        check("docker compose down -v", "docker compose -f dev.yml down", false);
        check("docker compose down -v", "docker compose -f dev.yml down -v", true);
        check("kubectl delete namespace", "kubectl delete pod web -n namespace", false);
        check("kubectl delete namespace", "kubectl -n shop delete namespace shop", true);
        check("pip install --user", "pip3 install requests --user", true);
        check("pip install --user", "pip install requests", false);
        check("npm install -g", "npm install --global tool", true);
        check("tool --mode fast", "tool --mode=fast", true);
        check("tool --mode fast", "tool --mode slow", false);
        check("git add .", "git add src/main.rs", false);
        check("git add .", "git add -v .", true);
        check("git commit --no-verify", "git commit -n -m x", true);
        check("rm -rf build", "rm -rf .cache", false);
        check("rm -rf build", "rm -fr dist ./build/", true);
        check("rm -rf build", "rm -r -f build", true);
        check("rm -rf build", "rm -f build", false);
        check("rm -rf build", "rm -rf out/build", false);
        check("rm -rf /", "rm -rf /tmp/x", false);
        check("deploy.sh --prod", "bash scripts/deploy.sh --prod", true);
        check("deploy.sh --prod", "bash scripts/deploy.sh", false);
        check("seq -1", "seq -1", true);
    }

    #[test]
    fn words_of_a_command_stand_in_order() {
        let check = |line: &str, expected: bool| {
            assert_eq!(wanted("git rebase --onto").is_in_line(line, false), expected, "{line}");
        };
        check("git rebase --onto main", true);
        check("git -C x rebase -i --onto=main", true);
        check("subprocess.run([\"/usr/bin/git\", \"rebase\", \"--onto\", x])", true);
        check("  - git rebase --onto main", true);
        check("git --onto rebase", false);
        check("legit rebase --onto", false);
        check("git rebase", false);
        check("git rebase; tool --onto", false);
    }

    #[test]
    fn sentences_about_a_command_are_no_call() {
        let check = |line: &str, expected: bool| {
            assert_eq!(wanted("git push --force").is_in_line(line, true), expected, "{line}");
        };
        check("git push --force", true);
        check("  - run: git push --force", true);
        check("- git push --force", true);
        check("\t@git push --force", true);
        check("cd x && sudo git push --force", true);
        check("os.system('git push --force')", true);
        check("run([\"git\", \"push\", \"--force\"])", true);
        check("then git push --force", true);
        check("print('never git push --force')", false);
        check("echo we do not git push --force here", false);
    }
}
