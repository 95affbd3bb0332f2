//! Files of requests with the skills that serve them.

use std::collections::BTreeSet;

use assay_retrieval::LineError;
use assay_retrieval::queries::Query;
use serde::Deserialize;
use serde_json::Value;

/// A request that must not lead to certain skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Negative {
    /// The request.
    pub text: String,
    /// The skills.
    pub not: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Line {
    #[serde(alias = "_id", alias = "query_id", alias = "id")]
    qid: String,
    #[serde(alias = "text")]
    query: String,
    source: Option<String>,
    /// `house` in query files of earlier versions and in data sets that follow them.
    #[serde(alias = "house")]
    repository: Option<String>,
    #[serde(alias = "skill_ids")]
    gold_ids: Option<Vec<String>>,
    labels: Option<Value>,
    acceptable_ids: Option<Vec<String>>,
    neardup_ids: Option<Vec<String>>,
    negatives: Option<Vec<String>>,
    names_skill: Option<bool>,
    overlap3: Option<f64>,
}

/// Reads one line: the project's own layout, or SkillRet's (`id`, `query`, and `skill_ids`,
/// `labels` or a qrels file).
pub fn read_query(line: &str) -> Result<Query, LineError> {
    let line: Line = serde_json::from_str(line)?;
    let gold = match line.labels {
        Some(labels) => labelled(labels)?,
        None => line.gold_ids.unwrap_or_default().into_iter().collect(),
    };
    Ok(Query {
        id: line.qid,
        text: line.query,
        source: line.source.unwrap_or_default(),
        repository: line.repository.unwrap_or_default(),
        gold,
        lenient: [line.acceptable_ids, line.neardup_ids].into_iter().flatten().flatten().collect(),
        forbidden: line.negatives.unwrap_or_default().into_iter().collect(),
        names_skill: line.names_skill,
        overlap3: line.overlap3,
        categories: BTreeSet::new(),
    })
}

/// SkillRet's labels: ids, or objects with `id` and `relevance`, as a list or as a string that
/// contains the list.
fn labelled(labels: Value) -> Result<BTreeSet<String>, LineError> {
    let labels = match labels {
        Value::String(text) => serde_json::from_str(&text).map_err(LineError::LabelsText)?,
        labels => labels,
    };
    let mut gold = BTreeSet::new();
    for label in labels.as_array().ok_or(LineError::Labels)? {
        let id = label.as_str().or_else(|| label["id"].as_str()).ok_or(LineError::Labels)?;
        if label["relevance"].as_f64().is_none_or(|relevance| relevance > 0.0) {
            gold.insert(id.to_owned());
        }
    }
    Ok(gold)
}

/// Reads one line of a file of negative requests: `query` and `not_ids`.
pub fn read_negative(line: &str) -> Result<Negative, LineError> {
    #[derive(Deserialize)]
    struct Line {
        query: String,
        not_ids: Vec<String>,
    }
    let line: Line = serde_json::from_str(line)?;
    Ok(Negative { text: line.query, not: line.not_ids.into_iter().collect() })
}

/// Usable queries, and notes about the others.
#[derive(Debug, Default)]
pub struct CheckedQueries {
    /// Requests with at least one relevant skill in the corpus.
    pub queries: Vec<Query>,
    /// Why queries were excluded, or which of their labels were dropped.
    pub notes: Vec<String>,
}

/// Removes relevant skills that are not in the corpus, queries without relevant skills, and
/// duplicate ids.
pub fn check(queries: Vec<Query>, ids: &BTreeSet<&str>) -> CheckedQueries {
    let mut checked = CheckedQueries::default();
    let mut seen = BTreeSet::new();
    for mut query in queries {
        if !seen.insert(query.id.clone()) {
            checked.notes.push(format!("query {}: duplicate id; the first is used", query.id));
            continue;
        }
        let wanted = query.gold.len();
        query.gold.retain(|id| ids.contains(id.as_str()));
        if query.gold.is_empty() {
            checked
                .notes
                .push(format!("query {}: none of its {wanted} relevant skills is in the corpus", query.id));
            continue;
        }
        if query.gold.len() < wanted {
            let missing = wanted - query.gold.len();
            checked.notes.push(format!(
                "query {}: {missing} of {wanted} relevant skills are not in the corpus",
                query.id
            ));
        }
        checked.queries.push(query);
    }
    checked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unanswerable_queries_are_reported() {
        let query = |id: &str, gold: &[&str]| Query {
            id: id.to_owned(),
            gold: gold.iter().map(|id| (*id).to_owned()).collect(),
            ..Query::default()
        };
        let all = vec![
            query("1", &["a"]),
            query("1", &["b"]),
            query("2", &["x"]),
            query("3", &["a", "x"]),
            query("4", &[]),
        ];
        let checked = check(all, &BTreeSet::from(["a", "b"]));
        let kept: Vec<(&str, usize)> =
            checked.queries.iter().map(|query| (query.id.as_str(), query.gold.len())).collect();
        assert_eq!(kept, [("1", 1), ("3", 1)]);
        assert_eq!(checked.notes.len(), 4);
    }

    #[test]
    fn both_layouts_are_read() {
        let own = r#"{"qid":"q","query":"x","gold_ids":["a"],"acceptable_ids":["b"],"neardup_ids":["c"],"negatives":["d"]}"#;
        let own = read_query(own).unwrap();
        assert_eq!((own.gold.len(), own.lenient.len(), own.forbidden.len()), (1, 2, 1));
        for skillret in [
            r#"{"id":"q","query":"x","labels":["a"]}"#,
            r#"{"id":"q","query":"x","skill_ids":["a"],"k":1,"source":null}"#,
            r#"{"id":"q","query":"x","skill_ids":["z"],"labels":[{"id":"a","relevance":1},{"id":"b","relevance":0}]}"#,
            r#"{"id":"q","query":"x","labels":"[{\"id\":\"a\"}]"}"#,
        ] {
            assert_eq!(read_query(skillret).unwrap().gold, BTreeSet::from(["a".to_owned()]), "{skillret}");
        }
        assert!(
            read_query(r#"{"id":"q","query":"x","labels":[3]}"#)
                .unwrap_err()
                .to_string()
                .contains("`labels`")
        );
        for key in ["repository", "house"] {
            let line = format!(r#"{{"qid":"q","query":"x","{key}":"o/r"}}"#);
            assert_eq!(read_query(&line).unwrap().repository, "o/r", "{key}");
        }
        assert!(read_query(r#"{"query":"x"}"#).is_err() && read_query("").is_err());
        assert_eq!(read_negative(r#"{"query":"x","not_ids":["a"]}"#).unwrap().not.len(), 1);
    }
}
