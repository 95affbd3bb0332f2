//! Shell commands as their text shows them: words, operators, here-documents, and the program that
//! a command runs.
//!
//! Nothing is expanded or executed. Variables and substitutions stay as they are written; the
//! syntax tree of a script is in the module `code`.

use std::collections::HashMap;
use std::iter::Peekable;
use std::ops::Range;
use std::str::CharIndices;

/// The origin of a text, which decides how much of the shell's grammar applies to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A script, or a block of code in a document. A quote ends with its line at the latest: such a
    /// block may be a transcript, and there a stray apostrophe must not hide the commands after it.
    Script,
    /// The argument of a shell's `-c`.
    Command,
    /// A text that may be a command or a program in another language. Comments and here-documents
    /// are read like the rest.
    Unknown,
}

/// What ends a simple command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `|` or `|&`: the next command reads what this one writes.
    Pipe,
    /// `&&`.
    And,
    /// `||`.
    Or,
    /// `;`.
    Semicolon,
    /// `&`.
    Background,
    /// A line break, or the end of the text.
    Newline,
    /// `(` or `)`.
    Parenthesis,
    /// A backtick, at either end of a substitution.
    Backtick,
}

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simple {
    /// Its words without quotes, assignments and redirections among them. Never empty.
    pub words: Vec<String>,
    /// Which of its words begins with a here-document's `<<`.
    pub here_document: Option<usize>,
    /// The contents of its here-documents, as ranges of bytes of the text, without the lines that
    /// end them.
    pub here_texts: Vec<Range<usize>>,
    /// The line it begins at, from 1, lines that a backslash continues counted as one.
    pub line: usize,
    /// What ends it.
    pub end: Operator,
}

/// The simple commands of a text, in order, without the content of here-documents.
pub fn commands(text: &str, source: Source) -> Vec<Simple> {
    let mut lexer = Lexer {
        text,
        source,
        signs: text.char_indices().peekable(),
        commands: Vec::new(),
        words: Vec::new(),
        word: None,
        here_document: None,
        line: 1,
        begins: 1,
        awaited: Vec::new(),
        last: None,
    };
    lexer.run();
    lexer.commands
}

struct Lexer<'t> {
    text: &'t str,
    source: Source,
    signs: Peekable<CharIndices<'t>>,
    commands: Vec<Simple>,
    words: Vec<String>,
    word: Option<String>,
    here_document: Option<usize>,
    /// The line of the next character.
    line: usize,
    /// The line that the logical line begins at.
    begins: usize,
    /// The words that end the here-documents of this line, each with the index of its command.
    awaited: Vec<(String, usize)>,
    /// The last position of each distinct line, trimmed, which bounds the search for the ends of
    /// here-documents.
    last: Option<HashMap<&'t str, usize>>,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some((at, sign)) = self.signs.next() {
            match sign {
                '\'' | '"' => self.quoted(sign),
                '\\' => self.escaped(),
                '#' if self.word.is_none() && self.source != Source::Unknown => {
                    while self.signs.next_if(|(_, next)| *next != '\n').is_some() {}
                }
                '\n' => {
                    self.line += 1;
                    self.end(Operator::Newline);
                    self.skip_here_documents(at + 1);
                    self.begins = self.line;
                }
                ';' => {
                    self.signs.next_if(|(_, next)| *next == ';');
                    self.end(Operator::Semicolon);
                }
                '(' | ')' => self.end(Operator::Parenthesis),
                '`' => self.end(Operator::Backtick),
                // `>&1`, `<&3` and `>|` redirect.
                '&' | '|' if self.follows_redirection(sign) => self.push(sign),
                '|' => {
                    let doubled = self.signs.next_if(|(_, next)| *next == '|').is_some();
                    if !doubled {
                        self.signs.next_if(|(_, next)| *next == '&');
                    }
                    self.end(if doubled { Operator::Or } else { Operator::Pipe });
                }
                '&' => match self.signs.peek() {
                    Some((_, '>')) => self.push(sign),
                    Some((_, '&')) => {
                        self.signs.next();
                        self.end(Operator::And);
                    }
                    _ => self.end(Operator::Background),
                },
                '<' if self.source != Source::Unknown && self.text[at..].starts_with("<<") => {
                    self.redirected_from_here(at);
                }
                sign if sign.is_whitespace() => self.end_word(),
                sign => self.push(sign),
            }
        }
        self.end(Operator::Newline);
    }

    fn push(&mut self, sign: char) {
        self.word.get_or_insert_default().push(sign);
    }

    fn follows_redirection(&self, sign: char) -> bool {
        let before = self.word.as_ref().and_then(|word| word.chars().next_back());
        before == Some('>') || (sign == '&' && before == Some('<'))
    }

    fn quoted(&mut self, quote: char) {
        self.word.get_or_insert_default();
        let mut before = ' ';
        while let Some((_, sign)) = self.signs.next_if(|(_, next)| {
            // The line break itself is left to end the command.
            !(*next == '\n' && self.source == Source::Script && before != '\\')
        }) {
            if sign == quote {
                return;
            }
            if sign == '\n' {
                self.line += 1;
            }
            let escapes = |next: &(usize, char)| matches!(next.1, '"' | '\\' | '$' | '`' | '\n');
            if quote == '"'
                && sign == '\\'
                && let Some((_, next)) = self.signs.next_if(escapes)
            {
                if next == '\n' {
                    self.line += 1;
                } else {
                    self.push(next);
                }
                before = ' ';
            } else {
                self.push(sign);
                before = sign;
            }
        }
    }

    fn escaped(&mut self) {
        self.signs.next_if(|(at, next)| *next == '\r' && self.text[at + 1..].starts_with('\n'));
        match self.signs.next() {
            Some((_, '\n')) => self.line += 1,
            Some((_, next)) => self.push(next),
            None => {}
        }
    }

    /// Takes `<<` or `<<<`, and remembers the word that ends a here-document. What follows is read
    /// like any word.
    fn redirected_from_here(&mut self, at: usize) {
        let signs = self.text[at..].chars().take_while(|sign| *sign == '<').count();
        for _ in 0..signs {
            self.push('<');
        }
        for _ in 1..signs {
            self.signs.next();
        }
        if signs == 2
            && let Some(end) = delimiter(&self.text[at + 2..])
        {
            self.awaited.push((end, self.commands.len()));
            self.here_document.get_or_insert(self.words.len());
        }
    }

    /// Goes past the here-documents of the line that ended at `at`, those without an end omitted.
    fn skip_here_documents(&mut self, mut at: usize) {
        for (end, command) in std::mem::take(&mut self.awaited) {
            let text = self.text;
            let last =
                self.last.get_or_insert_with(|| lines(text, 0).map(|(at, line)| (line.trim(), at)).collect());
            if last.get(end.as_str()).is_none_or(|last| *last < at) {
                continue;
            }
            let begins = at;
            for (start, line) in lines(text, at) {
                at = start + line.len();
                self.line += 1;
                if line.trim() == end {
                    if let Some(command) = self.commands.get_mut(command) {
                        command.here_texts.push(begins..start);
                    }
                    break;
                }
            }
        }
        while self.signs.next_if(|(next, _)| *next < at).is_some() {}
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end(&mut self, end: Operator) {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        let here_document = self.here_document.take();
        if !words.is_empty() {
            let line = self.begins;
            self.commands.push(Simple { words, here_document, here_texts: Vec::new(), line, end });
        }
    }
}

/// The lines of a text from `start` on, with where they begin and their line breaks.
fn lines(text: &str, start: usize) -> impl Iterator<Item = (usize, &str)> {
    text[start..].split_inclusive('\n').scan(start, |at, line| {
        let from = *at;
        *at += line.len();
        Some((from, line))
    })
}

/// The word after a here-document's `<<`, without quotes.
fn delimiter(after: &str) -> Option<String> {
    let after = after.strip_prefix('-').unwrap_or(after).trim_start_matches([' ', '\t']);
    let quote = after.chars().next().filter(|sign| matches!(sign, '\'' | '"'));
    let word: String = if let Some(quote) = quote {
        after[1..].chars().take_while(|sign| *sign != quote && *sign != '\n').collect()
    } else {
        let ends = |sign: char| sign.is_whitespace() || "|&;()<>`".contains(sign);
        after.chars().take_while(|sign| !ends(*sign)).filter(|sign| *sign != '\\').collect()
    };
    // `$((1 << 2))` shifts.
    let names = word.chars().next().is_some_and(|first| !first.is_ascii_digit());
    names.then_some(word)
}

/// Reserved words of the shell that may precede a command.
const KEYWORDS: [&str; 9] = ["if", "then", "elif", "else", "do", "while", "until", "!", "{"];

/// Programs that run the command after them, and their short options that take the next word.
const WRAPPERS: [(&str, &str); 16] = [
    ("sudo", "ugpCDRrtTh"),
    ("doas", "uC"),
    ("pkexec", ""),
    ("env", "uCS"),
    ("command", ""),
    ("builtin", ""),
    ("exec", "a"),
    ("nohup", ""),
    ("time", "fo"),
    ("busybox", ""),
    ("nice", "n"),
    ("ionice", "cnp"),
    ("setsid", ""),
    ("timeout", "sk"),
    ("stdbuf", "ioe"),
    ("xargs", "adEILnPs"),
];

/// Splits off the first part of a command that is not its program: an assignment, a keyword, or a
/// wrapper such as `sudo` or `timeout 5` with its options. Returns it, and the words after it. A
/// wrapper with no command after it is a program itself.
pub fn prefix<W: AsRef<str>>(words: &[W]) -> Option<(&str, &[W])> {
    let (first, mut rest) = words.split_first()?;
    let first = first.as_ref();
    if is_assignment(first) || KEYWORDS.contains(&first) {
        return Some((first, rest));
    }
    let name = program_name(first);
    let (_, valued) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name)?;
    // `command -v NAME` only looks the name up.
    if name == "command" && rest.first().is_some_and(|word| matches!(word.as_ref(), "-v" | "-V")) {
        return None;
    }
    while let Some((word, after)) = rest.split_first() {
        let word = word.as_ref();
        let takes_next = || {
            let mut letters = word.chars().skip(1);
            matches!((letters.next(), letters.next()), (Some(letter), None) if valued.contains(letter))
        };
        if word == "--" {
            rest = after;
            break;
        } else if word.starts_with('-') && word.len() > 1 {
            rest = if takes_next() { after.get(1..).unwrap_or_default() } else { after };
        } else if is_assignment(word) || (name == "timeout" && word.starts_with(|c: char| c.is_ascii_digit()))
        {
            rest = after;
        } else {
            break;
        }
    }
    (!rest.is_empty()).then_some((first, rest))
}

/// A command from its program on.
pub fn program<W: AsRef<str>>(mut words: &[W]) -> &[W] {
    while let Some((_, rest)) = prefix(words) {
        words = rest;
    }
    words
}

/// Whether a word sets a variable: `NAME=value` or `NAME+=value`.
pub fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// The name of a program: the last part of its path, without `.exe`.
pub fn program_name(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// What an interpreter executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpreter {
    /// A shell.
    Shell,
    /// Python.
    Python,
    /// JavaScript or TypeScript.
    JavaScript,
    /// Another language.
    Other,
}

/// What a program executes, by its name; the version at the end of a name, as in `python3.12`, does
/// not count.
pub fn interpreter(name: &str) -> Option<Interpreter> {
    Some(match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" => Interpreter::Shell,
        "python" | "pypy" => Interpreter::Python,
        "node" | "deno" | "bun" => Interpreter::JavaScript,
        "perl" | "ruby" | "php" | "lua" | "pwsh" | "powershell" | "osascript" => Interpreter::Other,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands in one line each: the line, the words between bars, and the operator that ends
    /// them.
    fn shown(text: &str, source: Source) -> Vec<String> {
        let show = |simple: &Simple| format!("{} {} {:?}", simple.line, simple.words.join("|"), simple.end);
        commands(text, source).iter().map(show).collect()
    }

    #[test]
    fn operators_divide_commands() {
        let check = |text: &str, expected: &[&str]| {
            for source in [Source::Script, Source::Command, Source::Unknown] {
                assert_eq!(shown(text, source), expected, "{text} as {source:?}");
            }
        };
        check(
            "a b|c && d||e; f & g\nh",
            &[
                "1 a|b Pipe",
                "1 c And",
                "1 d Or",
                "1 e Semicolon",
                "1 f Background",
                "1 g Newline",
                "2 h Newline",
            ],
        );
        check("(a) `b`", &["1 a Parenthesis", "1 b Backtick"]);
        check("a 2>&1 | b &> c |& d >| e", &["1 a|2>&1 Pipe", "1 b|&>|c Pipe", "1 d|>||e Newline"]);
        check("a 'b; c' \"d | \\\"e\\\" \\n\" f\\;g ''", &["1 a|b; c|d | \"e\" \\n|f;g| Newline"]);
        check("a \\\n  b \\\n&& c\nd", &["1 a|b And", "1 c Newline", "4 d Newline"]);
        check("", &[]);
        check("; ;\n'", &["2  Newline"]);
    }

    #[test]
    fn sources_differ_in_comments_quotes_and_here_documents() {
        let comment = "a # don't\nb#c";
        assert_eq!(shown(comment, Source::Command), ["1 a Newline", "2 b#c Newline"]);
        assert_eq!(shown(comment, Source::Unknown), ["1 a|#|dont\nb#c Newline"]);
        let stray = "it's\nls -l\n";
        assert_eq!(shown(stray, Source::Script), ["1 its Newline", "2 ls|-l Newline"]);
        assert_eq!(shown(stray, Source::Command), ["1 its\nls -l\n Newline"]);
        let here = "cat <<'E' > f && x\nrm y\n  E\nz <<-A <<B\n1\nA\n2\nB\nw";
        let script = ["1 cat|<<E|>|f And", "1 x Newline", "4 z|<<-A|<<B Newline", "9 w Newline"];
        assert_eq!(shown(here, Source::Script), script);
        assert_eq!(shown(here, Source::Command), script);
        assert!(shown(here, Source::Unknown).contains(&"2 rm|y Newline".to_owned()));
        let first = |text: &str| commands(text, Source::Command)[0].here_document;
        assert_eq!(
            [first("a b <<E"), first("a <<<E"), first("echo $((1<<2))"), first("a '<<E'")],
            [Some(2), None, None, None]
        );
        // A here-document without an end is not skipped.
        assert_eq!(shown("a <<E\nb", Source::Script), ["1 a|<<E Newline", "2 b Newline"]);
    }

    #[test]
    fn here_documents_are_given_to_their_commands() {
        let text = "cat <<'A' > f && x <<B; y\n1\n2\nA\n3\nB\nz <<C\n";
        let found: Vec<Vec<&str>> = commands(text, Source::Command)
            .iter()
            .map(|simple| simple.here_texts.iter().map(|range| &text[range.clone()]).collect())
            .collect();
        // The last has no end.
        assert_eq!(found, [vec!["1\n2\n"], vec!["3\n"], vec![], vec![]]);
    }

    #[test]
    fn lexing_takes_linear_time() {
        let unended: String = (0..60_000).map(|at| format!("a <<E{at}\n")).collect();
        let ended = "a <<E <<F\nE\nF\n".repeat(30_000);
        for (text, expected) in [(unended, 60_000), (ended, 30_000)] {
            let started = std::time::Instant::now();
            assert_eq!(commands(&text, Source::Script).len(), expected);
            assert!(started.elapsed().as_secs() < 30);
        }
    }

    #[test]
    fn program_is_found_after_prefixes() {
        let check = |text: &str, expected: &str| {
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(program(&words).join(" "), expected, "{text}");
        };
        check("a b", "a b");
        check("A=1 B+=/x sudo -u root env C=/d -i a b", "a b");
        check("then ! timeout -k 5 30s /usr/bin/nice -n 10 a -n", "a -n");
        check("xargs -0 -I {} -n1 a {}", "a {}");
        check("sudo -- a", "a");
        check("do", "");
        check("if ! command -v a", "command -v a");
        check("env", "env");
        check("env -0", "env -0");
        check("timeout 5", "timeout 5");
        check("--a=b c", "--a=b c");
        check("a=b", "");
        let (wrapper, rest) = prefix(&["/bin/sudo", "-E", "a"]).unwrap();
        assert_eq!((wrapper, rest), ("/bin/sudo", &["a"][..]));
    }

    #[test]
    fn programs_have_names_and_languages() {
        assert_eq!(program_name("/usr/bin/python3"), "python3");
        assert_eq!(program_name("C:\\x\\cmd.exe"), "cmd");
        assert_eq!(interpreter("python3.12"), Some(Interpreter::Python));
        assert_eq!(interpreter("bash"), Some(Interpreter::Shell));
        assert_eq!(interpreter("shellcheck"), None);
    }
}
