//! Tests that only search a text.

use crate::proposal::TaskFile;

/// The tests that are text searches, each as `FILE:LINE`.
///
/// In shell scripts a line with `grep`. In Python a function whose name begins with `test`, `check` or `gc_`, or a line of `main` or
/// outside of functions, that looks for a string in another and compares nothing. Heuristic: other functions are taken for
/// helpers that read files, so that a test that searches by a helper is not found.
pub(super) fn text_searches(files: &[TaskFile]) -> Vec<String> {
    let tests = files.iter().filter(|file| file.path.starts_with("tests/"));
    tests
        .flat_map(|file| {
            let lines = match file.path.rsplit_once('.') {
                Some((_, "sh" | "bash")) => shell(&file.text),
                Some((_, "py")) => python(&file.text),
                _ => Vec::new(),
            };
            lines.into_iter().map(|line| format!("{}:{line}", file.path)).collect::<Vec<_>>()
        })
        .collect()
}

fn shell(text: &str) -> Vec<usize> {
    let is_search = |line: &str| {
        let line = line.trim_start();
        !line.starts_with('#') && line.split(|sign: char| !sign.is_alphanumeric()).any(|word| word == "grep")
    };
    numbered(text).filter(|(_, line)| is_search(line)).map(|(number, _)| number).collect()
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// A function of tests, or a line outside of functions.
struct Unit {
    line: usize,
    searches: bool,
    compares: bool,
}

/// What the lines of a function belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Function {
    Test,
    Main,
    Helper,
}

impl Function {
    fn named(name: &str) -> Self {
        let name = name.trim_start_matches('_');
        // Items that follow a directive (`if_…`) may look for the words of the skill.
        if ["test", "check", "gc_"].iter().any(|start| name.starts_with(start)) {
            Self::Test
        } else if name.starts_with("main(") {
            Self::Main
        } else {
            Self::Helper
        }
    }
}

fn python(text: &str) -> Vec<usize> {
    let mut units: Vec<Unit> = Vec::new();
    let mut function: Option<(usize, Function)> = None;
    for (number, line) in numbered(text) {
        let code = line.trim_start();
        if code.is_empty() || code.starts_with('#') {
            continue;
        }
        let indent = line.len() - code.len();
        function = function.filter(|(outer, _)| indent > *outer);
        if let (None, Some(name)) = (function, code.strip_prefix("def ")) {
            let kind = Function::named(name);
            function = Some((indent, kind));
            if kind == Function::Test {
                units.push(Unit { line: number, searches: false, compares: false });
            }
            continue;
        }
        let (searches, compares) = (searches(code), compares(code));
        match function.map(|(_, kind)| kind) {
            Some(Function::Helper) => {}
            Some(Function::Test) => {
                let unit = units.last_mut().expect("the function is a unit");
                unit.searches |= searches;
                unit.compares |= compares;
            }
            Some(Function::Main) | None => {
                if searches {
                    units.push(Unit { line: number, searches, compares });
                }
            }
        }
    }
    units.iter().filter(|unit| unit.searches && !unit.compares).map(|unit| unit.line).collect()
}

/// Whether a line looks for a string or a pattern in a text.
fn searches(code: &str) -> bool {
    if ["re.search(", "re.match(", "re.findall(", "re.fullmatch("].iter().any(|call| code.contains(call)) {
        return true;
    }
    [" not in ", " in "].iter().any(|word| {
        code.match_indices(word).any(|(at, _)| code[..at].trim_end().ends_with(['"', '\'']))
            && !code.trim_start().starts_with("for ")
    })
}

/// Whether a line compares values, or runs something.
fn compares(code: &str) -> bool {
    let signs =
        ["==", "!=", "<=", ">=", " < ", " > ", "subprocess", "json.load", "csv.", "sqlite3", "isclose"];
    signs.iter().any(|sign| code.contains(sign))
}
