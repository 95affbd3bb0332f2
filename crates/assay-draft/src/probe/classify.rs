//! Whether a model follows a directive without the skill.

use serde::{Deserialize, Serialize};

/// Whether a model follows a directive without the skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeVerdict {
    /// It does what the directive says in most of its replies.
    Known,
    /// It does something else in most of its replies.
    Unknown,
    /// Too few replies can be compared, or as many meet the answer as do not.
    Unclear,
}

impl ProbeVerdict {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Unknown => "unknown",
            Self::Unclear => "unclear",
        }
    }
}

/// Fewest replies that decide.
const FEWEST: usize = 2;

/// The verdict of replies: whether each meets the answer, or `None` where that is not known. At least two thirds decide,
/// which is two of three, the rule by which an item of a task stays in validation.
pub fn classify_matches(matches: &[Option<bool>]) -> ProbeVerdict {
    let met = matches.iter().filter(|one| **one == Some(true)).count();
    let missed = matches.iter().filter(|one| **one == Some(false)).count();
    let compared = met + missed;
    match () {
        () if compared < FEWEST => ProbeVerdict::Unclear,
        () if met * 3 >= compared * 2 => ProbeVerdict::Known,
        () if missed * 3 >= compared * 2 => ProbeVerdict::Unknown,
        () => ProbeVerdict::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_thirds_of_the_replies_decide() {
        use ProbeVerdict::{Known, Unclear, Unknown};
        const Y: Option<bool> = Some(true);
        const N: Option<bool> = Some(false);
        for (matches, expected) in [
            (&[][..], Unclear),
            (&[None, None, None], Unclear),
            (&[Y], Unclear),
            (&[N, None, None], Unclear),
            (&[Y, Y], Known),
            (&[N, N], Unknown),
            (&[Y, N], Unclear),
            (&[Y, N, None], Unclear),
            (&[Y, Y, Y], Known),
            (&[Y, Y, N], Known),
            (&[N, Y, Y], Known),
            (&[Y, N, N], Unknown),
            (&[N, N, N], Unknown),
            (&[Y, Y, N, N], Unclear),
            (&[Y, Y, Y, N], Known),
            (&[Y, N, N, N], Unknown),
            (&[Y, Y, Y, N, N], Unclear),
        ] {
            assert_eq!(classify_matches(matches), expected, "{matches:?}");
        }
    }
}
