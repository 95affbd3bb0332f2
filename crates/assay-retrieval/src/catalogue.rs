//! The retrievers by their names.

use std::sync::Arc;

use crate::analysis::Stemmer;
use crate::best::Best;
use crate::corpus::Document;
use crate::index::{FIELDS, Field, Index, ordered};
use crate::retriever::{Lexical, Retriever, Weighting};

/// Every retriever that needs nothing but the skills, the one that others are held against first.
pub const NAMES: [&str; 4] = ["bm25", "bm25-name-description", "bm25f", DEFAULT];

/// The retriever that answers requests.
pub const DEFAULT: &str = "best";

/// How its index makes words.
pub(crate) const DEFAULT_STEMMER: Stemmer = Stemmer::English;

/// The confidence from which a skill fits.
pub const DEFAULT_THRESHOLD: f64 = 0.36;

/// A retriever over its index.
pub struct Opened {
    /// What ranks.
    pub retriever: Box<dyn Retriever>,
    /// Where its documents' ids are.
    pub index: Arc<Index>,
}

/// A name that is no retriever's, or options that are not its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownRetriever {
    /// No retriever has the name.
    #[error("there is no retriever `{_0}`; there are {known}", known = NAMES.join(", "))]
    Name(String),
    /// It has no such option.
    #[error("`{name}` takes {takes}, and not `{option}`", takes = if *name == DEFAULT { "no options" } else { "`k1=…` and `b=…`" })]
    Option {
        /// The retriever.
        name: String,
        /// What was given.
        option: String,
    },
}

/// A retriever as it is asked for: a name, and options after a colon (`bm25:k1=0.9,b=0.4`).
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    name: &'static str,
    label: String,
    k1: Option<f64>,
    b: Option<f64>,
}

impl Wanted {
    /// # Errors
    /// There is no such retriever, or it has no such option.
    pub fn parse(text: &str) -> Result<Self, UnknownRetriever> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let name = *NAMES
            .iter()
            .find(|known| **known == name)
            .ok_or_else(|| UnknownRetriever::Name(name.to_owned()))?;
        let mut wanted = Self { name, label: text.to_owned(), k1: None, b: None };
        for option in options.split(',').filter(|option| !option.is_empty()) {
            let wrong = || UnknownRetriever::Option { name: name.to_owned(), option: option.to_owned() };
            let (key, value) = option.split_once('=').ok_or_else(wrong)?;
            let value: f64 = value.parse().map_err(|_| wrong())?;
            match key {
                "k1" | "b" if name == DEFAULT => return Err(wrong()),
                "k1" if value > 0.0 && value.is_finite() => wanted.k1 = Some(value),
                "b" if (0.0..=1.0).contains(&value) => wanted.b = Some(value),
                _ => return Err(wrong()),
            }
        }
        Ok(wanted)
    }

    /// Builds it over documents.
    pub fn open(&self, documents: Vec<Document>) -> Opened {
        if self.name == DEFAULT {
            let documents = Arc::new(ordered(documents));
            let index = Arc::new(Index::of(&documents, DEFAULT_STEMMER));
            let retriever = Box::new(Best::new(&self.label, &index, documents));
            return Opened { retriever, index };
        }
        let index = Arc::new(Index::build(documents, Stemmer::None));
        let (k1, b) = (self.k1.unwrap_or(1.5), self.b.unwrap_or(0.75));
        let retriever = match self.name {
            "bm25" => {
                Lexical::bm25(&self.label, &index, &[Field::Name, Field::Description, Field::Document], k1, b)
            }
            "bm25-name-description" => {
                Lexical::bm25(&self.label, &index, &[Field::Name, Field::Description], k1, b)
            }
            _ => Lexical::bm25f(&self.label, &index, &fields(k1, b)),
        };
        Opened { retriever: Box::new(retriever), index }
    }
}

/// Weights of fields before any tuning: what says what a skill is for counts more than what it says when it is used.
fn fields(k1: f64, b: f64) -> Weighting {
    let mut weights = [0.0; FIELDS];
    weights[Field::Name as usize] = 3.0;
    weights[Field::Description as usize] = 3.0;
    weights[Field::Headings as usize] = 1.5;
    weights[Field::Body as usize] = 1.0;
    Weighting { k1, weights, b: [b; FIELDS] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retrievers_have_names_and_options() {
        let check = |text: &str, expected: Result<(Option<f64>, Option<f64>), &str>| {
            let found =
                Wanted::parse(text).map(|wanted| (wanted.k1, wanted.b)).map_err(|error| error.to_string());
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{text}: {found}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        };
        check("bm25", Ok((None, None)));
        check("bm25f:k1=0.9,b=0.4", Ok((Some(0.9), Some(0.4))));
        check("bm26", Err("there is no retriever `bm26`; there are bm25, "));
        check("bm25:k1", Err("not `k1`"));
        check("bm25:b=2", Err("not `b=2`"));
        check("bm25:k1=NaN", Err("not `k1=NaN`"));
        check("best", Ok((None, None)));
        check("best:k1=1", Err("`best` takes no options, and not `k1=1`"));
    }
}
