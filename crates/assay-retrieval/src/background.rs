//! The information content of English words in general.
//!
//! Word frequencies of a small library are unreliable: `my` may occur in one skill of twenty and
//! then looks as rare as `pivot`. So the confidence of `best` weighs the words of a request by
//! these lists, not by the library's frequencies. The lists were written for assay: function words
//! of English by grammar (pronouns, prepositions, conjunctions, auxiliaries, particles, with their
//! contracted forms), and everyday words.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Words without topical content.
const FUNCTION: &str = "\
    a about above across after afterwards again against ago ah ain all almost alone along already also although always am among amongst an and another any \
    anybody anyhow anyone anything anyway anywhere apart are aren around as aside at away back be became because become becomes been before beforehand \
    behind being below beneath beside besides between beyond both but by bye can cannot cause certain certainly come comes coming could couldn dear did \
    didn do does doesn doing don done down during each eh either else elsewhere enough especially etc even ever every everybody everyone everything \
    everywhere except far few first for from further furthermore gave get gets getting give given gives giving go goes going gone gonna good got gotta \
    great guess had hadn hardly has hasn have haven having he hello hence her here hers herself hey hi him himself his how however if im in indeed instead \
    into is isn it its itself ive just keep keeps kind knew know known knows last lately later least less let lets like likely little ll lot lots made \
    mainly make makes making many may maybe me mean means meant merely might mine more moreover most mostly much must mustn my myself name named near \
    nearly need needed needs neither never nevertheless new next nice no nobody none nor not nothing now nowhere of off often oh ok okay old on once one \
    ones only onto or other others otherwise ought our ours ourselves out over own particular particularly per perhaps please plus possible possibly \
    probably put quite rather re really right said same saw say saying says second see seem seemed seems seen self several shall shan she should shouldn \
    show since so some somebody somehow someone something sometimes somewhat somewhere soon sorry still stuff such sure take taken takes taking tell tells \
    than thank thanks that the their theirs them themselves then there thereby therefore these they thing things think this those though thought through \
    throughout thus till time times to together told too took toward towards tried tries true truly try trying twice two under unless until unto up upon \
    us use used uses using usually ve very via wanna want wanted wants was wasn way ways we well went were weren what whatever when whenever where whereas \
    wherever whether which whichever while who whoever whole whom whose why will willing wish with within without won wonder would wouldn yeah yes yet you \
    your yours yourself yourselves";

/// Words with little information.
const COMMON: &str = "\
    able actually add answer anymore ask asked asking bad best better big bit bring call called change check choose day days different difficult easy \
    eight end exactly explain feel felt find five found four full half happen happened happening happens hard help helped helping high hold hope hour \
    hours idea important large late left long look looked looking looks lost love main matter minute minutes moment month months morning move night nine \
    number people person place point pretty problem question quick quickly ready real reason remember run set seven short simple six small start started \
    stay stop stopped talk ten three today tomorrow tonight turn turns understand wait week weeks word words work worked working works world worry wrong \
    year years yesterday young";

/// The weight of an everyday word; others have 1.
const LITTLE: f64 = 0.35;

static WEIGHTS: LazyLock<HashMap<&str, f64>> = LazyLock::new(|| {
    let common = COMMON.split_ascii_whitespace().map(|word| (word, LITTLE));
    common.chain(FUNCTION.split_ascii_whitespace().map(|word| (word, 0.0))).collect()
});

/// The information of a word, from 0 to 1. A word in no list has the highest.
pub(crate) fn weight(lower: &str) -> f64 {
    WEIGHTS.get(lower).copied().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_weights_match_the_lists() {
        let check = |word: &str, expected: f64| assert!((weight(word) - expected).abs() < 1e-12, "{word}");
        for word in ["the", "my", "does", "don", "ll"] {
            check(word, 0.0);
        }
        for word in ["today", "people"] {
            check(word, LITTLE);
        }
        for word in ["spreadsheet", "landlord", "größe", "技能", ""] {
            check(word, 1.0);
        }
    }
}
