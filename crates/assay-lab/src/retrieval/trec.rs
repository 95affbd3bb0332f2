//! Runs and judgements in TREC's layouts.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{Query, Run};

/// A run as `query Q0 document rank score tag`, a line each.
pub(crate) fn write_run(queries: &[Query], run: &Run) -> String {
    let mut text = String::new();
    for (query, ranking) in queries.iter().zip(&run.rankings) {
        for (rank, (id, score)) in (1..).zip(ranking) {
            text.push_str(&format!(
                "{} Q0 {id} {rank} {score} {}\n",
                plain(&query.id),
                plain(&run.retriever)
            ));
        }
    }
    text
}

/// A name without white space, which would end it.
fn plain(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join("_")
}

/// Rankings by query.
pub(crate) type Rankings = BTreeMap<String, Vec<(String, f32)>>;

/// Relevant documents by query.
pub(crate) type Judgements = BTreeMap<String, BTreeSet<String>>;

/// A line, from 1, that cannot be read, and the reason.
pub(crate) type BadLine = (usize, String);

/// Reads a run: by query, ids with scores, in order of falling scores, equal ones in order of their
/// ids.
///
/// # Errors
/// The first line, from 1, that is not a result, and the reason.
pub(crate) fn read_run(text: &str) -> Result<Rankings, BadLine> {
    let mut run: Rankings = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields[..] {
            [] => {}
            [query, _, id, _, score, ..] => {
                let score: f32 = score.parse().map_err(|_| (number, format!("invalid score {score:?}")))?;
                if !score.is_finite() {
                    return Err((number, format!("invalid score {score}")));
                }
                run.entry(query.to_owned()).or_default().push((id.to_owned(), score));
            }
            _ => return Err((number, "expected `query Q0 document rank score tag`".to_owned())),
        }
    }
    for ranking in run.values_mut() {
        ranking.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    }
    Ok(run)
}

/// Judgements as `query 0 document relevance`, a line each.
pub(crate) fn write_qrels(queries: &[Query]) -> String {
    let line = |query: &Query, id: &String| format!("{} 0 {id} 1\n", plain(&query.id));
    queries.iter().flat_map(|query| query.gold.iter().map(move |id| line(query, id))).collect()
}

/// SkillRet's judgement, a JSON object a line; in BEIR's words too.
#[derive(Deserialize)]
struct Judgement {
    #[serde(alias = "query-id")]
    query_id: String,
    #[serde(alias = "corpus-id")]
    skill_id: String,
    #[serde(alias = "score")]
    relevance: f64,
}

/// Reads judgements, `query 0 document relevance` a line, or SkillRet's JSON Lines (`query_id`,
/// `skill_id`, `relevance`): by query, the documents with a relevance above 0. All grades above 0
/// count the same.
///
/// # Errors
/// The first line, from 1, that is not a judgement, and the reason.
pub(crate) fn read_qrels(text: &str) -> Result<Judgements, BadLine> {
    let mut judged: Judgements = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (query, id, relevance) = match fields[..] {
            [] => continue,
            [first, ..] if first.starts_with('{') => {
                let own: Judgement =
                    serde_json::from_str(line).map_err(|error| (number, error.to_string()))?;
                (own.query_id, own.skill_id, own.relevance)
            }
            [query, _, id, relevance] => {
                let relevance: f64 =
                    relevance.parse().map_err(|_| (number, format!("invalid relevance {relevance:?}")))?;
                (query.to_owned(), id.to_owned(), relevance)
            }
            _ => return Err((number, "expected `query 0 document relevance`".to_owned())),
        };
        let own = judged.entry(query).or_default();
        if relevance > 0.0 {
            own.insert(id);
        }
    }
    Ok(judged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trec_files_round_trip() {
        let query = Query { id: "a b".to_owned(), ..Query::default() };
        let run = Run {
            retriever: "bm25".to_owned(),
            options: serde_json::Value::Null,
            rankings: vec![vec![("x".to_owned(), 2.5), ("y".to_owned(), 1.0)]],
            ceilings: vec![3.0],
            negatives: Vec::new(),
            cost: None,
        };
        let text = write_run(&[query], &run);
        assert_eq!(text, "a_b Q0 x 1 2.5 bm25\na_b Q0 y 2 1 bm25\n");
        assert_eq!(read_run(&text).unwrap()["a_b"], run.rankings[0]);
    }

    #[test]
    fn invalid_lines_are_reported() {
        assert_eq!(read_run("q Q0 d 1 1 t\nq d").unwrap_err().0, 2);
        assert_eq!(read_run("q Q0 d 1 x t").unwrap_err(), (1, "invalid score \"x\"".to_owned()));
        assert!(read_run("q Q0 d 1 NaN t").is_err());
        // Equal scores in order of ids, whatever the ranks say.
        let run = read_run("q Q0 b 1 1 t\nq Q0 a 2 1 t\nq Q0 c 3 2 t").unwrap();
        assert_eq!(run["q"].iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["c", "a", "b"]);
        let judged = read_qrels("q 0 a 1\nq 0 b 0\n\nr 0 c 2").unwrap();
        assert_eq!((judged["q"].len(), judged["r"].len()), (1, 1));
        assert_eq!(read_qrels("q 0 a").unwrap_err().0, 1);
        let lines = "{\"query_id\":\"q\",\"skill_id\":\"a\",\"relevance\":2}\n{\"query_id\":\"q\",\"skill_id\":\"b\",\"relevance\":0}";
        assert_eq!(read_qrels(lines).unwrap(), read_qrels("q 0 a 1\nq 0 b 0").unwrap());
        assert_eq!(read_qrels("q 0 a 1\n{\"query_id\":\"q\"}").unwrap_err().0, 2);
        let query =
            Query { id: "a b".to_owned(), gold: BTreeSet::from(["x".to_owned()]), ..Query::default() };
        assert_eq!(write_qrels(&[query]), "a_b 0 x 1\n");
    }
}
