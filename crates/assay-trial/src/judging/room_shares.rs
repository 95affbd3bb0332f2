//! How the room of a request is shared among files, so that none displaces the others.

/// How soon a file gets room that others do not need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// The rubric has its path.
    Path,
    /// The rubric has its name.
    Name,
    /// The agent created or changed it.
    Changed,
    /// Any other.
    Other,
}

impl Rank {
    const ALL: [Self; 4] = [Self::Path, Self::Name, Self::Changed, Self::Other];

    /// The rank of a file by its path.
    pub(super) fn of(path: &str, changed: bool, rubric: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        if names(rubric, path) {
            Self::Path
        } else if names(rubric, name) {
            Self::Name
        } else if changed {
            Self::Changed
        } else {
            Self::Other
        }
    }
}

/// Whether a text has a name as a word of its own.
fn names(text: &str, name: &str) -> bool {
    let is_part = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-');
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let before = text.get(..at).unwrap_or_default().chars().next_back();
            let mut after = text.get(at + name.len()..).unwrap_or_default().chars();
            let follows = match after.next() {
                // A dot is part of a longer name, or the end of a sentence.
                Some('.') => after.next().is_some_and(is_part),
                Some('/') => true,
                sign => sign.is_some_and(is_part),
            };
            !before.is_some_and(|sign| is_part(sign) || sign == '.') && !follows
        })
}

/// How many characters of each file are shown: an equal share of the room for each, as far as it needs it, and what is
/// left by rank.
pub(super) fn share_room(files: &[(Rank, usize)], room: usize) -> Vec<usize> {
    let share = room / files.len().max(1);
    let mut shown: Vec<usize> = files.iter().map(|(_, length)| (*length).min(share)).collect();
    let mut left = room.saturating_sub(shown.iter().sum());
    for rank in Rank::ALL {
        let mut open: Vec<(usize, usize)> = files
            .iter()
            .zip(&shown)
            .enumerate()
            .filter(|(_, ((own, length), shown))| *own == rank && length > shown)
            .map(|(at, ((_, length), shown))| (length - shown, at))
            .collect();
        // Those that need least are served first, so that what they leave goes to the others.
        open.sort_unstable();
        let mut waiting = open.len();
        for (need, at) in open {
            let more = need.min(left / waiting.max(1));
            if let Some(shown) = shown.get_mut(at) {
                *shown += more;
            }
            left -= more;
            waiting -= 1;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::Rank::{Changed, Name, Other, Path};
    use super::*;

    #[test]
    fn each_file_has_its_share() {
        let check = |files: &[(Rank, usize)], room: usize, expected: &[usize]| {
            assert_eq!(share_room(files, room), expected, "{files:?} in {room}");
        };
        check(&[], 100, &[]);
        check(&[(Other, 50), (Other, 20)], 100, &[50, 20]);
        // A large file takes what the others leave, and no more.
        check(&[(Changed, 1_000), (Changed, 10), (Other, 4)], 100, &[86, 10, 4]);
        check(&[(Changed, 1_000), (Other, 1_000)], 100, &[50, 50]);
        check(&[(Changed, 1_000), (Path, 1_000), (Other, 10)], 99, &[33, 56, 10]);
        // What is left goes to files of the first ranks, in equal shares.
        check(&[(Path, 60), (Name, 60), (Changed, 60), (Other, 0)], 100, &[50, 25, 25, 0]);
        check(&[(Path, 60), (Path, 60), (Other, 60), (Other, 0)], 100, &[37, 38, 25, 0]);
        check(&[(Path, 10)], 0, &[0]);
    }

    #[test]
    fn a_rubric_names_files() {
        let check = |path: &str, rubric: &str, expected: Rank| {
            assert_eq!(Rank::of(path, true, rubric), expected, "{path} in {rubric}");
        };
        check("out/notes.md", "out/notes.md has a heading.", Path);
        check("out/notes.md", "Each change is in `notes.md`.", Name);
        check("notes.md", "It ends with notes.md.", Path);
        check("notes.md", "my-notes.md has a heading", Changed);
        check("notes", "notes.md has a heading", Changed);
        check("notes", "notes/a.md has a heading", Changed);
        check("a.txt", "", Changed);
        assert_eq!(Rank::of("a.txt", false, "b.txt is there"), Other);
    }
}
