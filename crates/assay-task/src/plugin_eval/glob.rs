//! Paths with wildcards, as `file_exists` has them.

/// A path relative to the work folder: `*` is any text without `/`, `?` any character, `**/` any number of folders, `**`
/// any text. Nothing else has a meaning: `{a,b}` and `[a]` are these characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathGlob {
    source: String,
    parts: Vec<GlobPart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GlobPart {
    Is(char),
    One,
    Name,
    Folders,
    Any,
}

impl PathGlob {
    /// Reads a pattern. Every text is one.
    pub fn new(source: &str) -> Self {
        let chars: Vec<char> = source.chars().collect();
        let mut parts = Vec::new();
        let mut rest = chars.as_slice();
        loop {
            rest = match rest {
                [] => break,
                ['*', '*', '/', rest @ ..] => add(&mut parts, GlobPart::Folders, rest),
                ['*', '*', rest @ ..] => add(&mut parts, GlobPart::Any, rest),
                ['*', rest @ ..] => add(&mut parts, GlobPart::Name, rest),
                ['?', rest @ ..] => add(&mut parts, GlobPart::One, rest),
                [char, rest @ ..] => add(&mut parts, GlobPart::Is(*char), rest),
            };
        }
        Self { source: source.to_owned(), parts }
    }

    /// As it is written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it is the whole of a path. Takes at most as many steps as the product of both lengths.
    pub fn matches(&self, path: &str) -> bool {
        let path: Vec<char> = path.chars().collect();
        // Whether the parts so far match the first `n` characters.
        let mut reached = vec![false; path.len() + 1];
        if let Some(first) = reached.first_mut() {
            *first = true;
        }
        for part in &self.parts {
            reached = step(*part, &reached, &path);
        }
        reached.last().copied().unwrap_or(false)
    }
}

fn add<'a>(parts: &mut Vec<GlobPart>, part: GlobPart, rest: &'a [char]) -> &'a [char] {
    parts.push(part);
    rest
}

fn step(part: GlobPart, before: &[bool], path: &[char]) -> Vec<bool> {
    let mut after = vec![false; before.len()];
    let mut open = false;
    for (at, reached) in before.iter().enumerate() {
        let previous = at.checked_sub(1).and_then(|at| path.get(at)).copied();
        let was = at.checked_sub(1).and_then(|at| before.get(at)).copied().unwrap_or(false);
        let is = match part {
            GlobPart::Is(char) => was && previous == Some(char),
            GlobPart::One => was && previous.is_some(),
            GlobPart::Name => {
                open = *reached || (open && previous != Some('/'));
                open
            }
            GlobPart::Any => {
                open |= *reached;
                open
            }
            GlobPart::Folders => {
                let is = *reached || (open && previous == Some('/'));
                open |= *reached;
                is
            }
        };
        if let Some(place) = after.get_mut(at) {
            *place = is;
        }
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stays_in_its_folder_and_two_do_not() {
        let check = |glob: &str, path: &str, expected: bool| {
            assert_eq!(PathGlob::new(glob).matches(path), expected, "{glob} {path}");
        };
        check("a.txt", "a.txt", true);
        check("a.txt", "sub/a.txt", false);
        check("*.txt", "a.txt", true);
        check("*.txt", "sub/a.txt", false);
        check("*.txt", ".txt", true);
        check("a.txt", "aXtxt", false);
        check("**/a.txt", "a.txt", true);
        check("**/a.txt", "x/y/a.txt", true);
        check("**/a.txt", "x/ya.txt", false);
        check("x/**", "x/y/z", true);
        check("x/**", "xy", false);
        check("x/**/z", "x/z", true);
        check("x/**/z", "x/y/w/z", true);
        check("?.md", "é.md", true);
        check("?.md", "ab.md", false);
        check("a?b", "a/b", true);
        check("a?b", "ab", false);
        check("./a", "a", false);
        check("A", "a", false);
        check("a[1]{x}", "a[1]{x}", true);
        check("", "", true);
        check("", "a", false);
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let glob = PathGlob::new(&"*a".repeat(200));
        assert!(
            !glob.matches(&"a".repeat(5_000).replace("aaaaa", "aaaab").repeat(2)[..5_000].replace('b', "/"))
        );
    }
}
