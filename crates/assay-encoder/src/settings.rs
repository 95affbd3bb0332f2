//! The settings in a folder in the layout of sentence-transformers, without the weights.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::folder::Folder;

/// The prompts before texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompts {
    /// Before a request.
    pub query: String,
    /// Before a document.
    pub document: String,
}

/// How the vectors of a text's tokens become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    Mean,
    First,
    Last,
}

/// The networks that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Bert,
    Qwen3,
}

/// The fields of `config.json` about the kind of network.
#[derive(Deserialize)]
pub(crate) struct Kind {
    model_type: String,
    #[serde(default)]
    pub(crate) architectures: Vec<String>,
    #[serde(default, rename = "id2label")]
    pub(crate) labels: Map<String, Value>,
}

impl Kind {
    pub(crate) fn read(folder: &mut Folder) -> Result<(Self, Family), Error> {
        const FILE: &str = "config.json";
        let kind: Self = folder.required(FILE)?;
        let family = match kind.model_type.as_str() {
            "bert" => Family::Bert,
            "qwen3" => Family::Qwen3,
            other => {
                let problem = format!("unsupported model_type {other:?}; expected \"bert\" or \"qwen3\"");
                return Err(Error::setting(&folder.path(FILE), problem));
            }
        };
        Ok((kind, family))
    }
}

/// How many tokens are read at most: `max_seq_length`, or else what tokenizer and network were made
/// for.
pub(crate) fn max_tokens(folder: &mut Folder, positions: usize) -> Result<usize, Error> {
    #[derive(Deserialize)]
    struct Sentence {
        max_seq_length: Option<usize>,
    }
    #[derive(Deserialize)]
    struct Tokenizer {
        // Absent limits are written as 1e30.
        model_max_length: Option<f64>,
    }
    const SENTENCE: &str = "sentence_bert_config.json";
    let stated = folder.json::<Sentence>(SENTENCE)?.and_then(|config| config.max_seq_length);
    if stated.is_some_and(|stated| stated < 3) {
        return Err(Error::setting(&folder.path(SENTENCE), "max_seq_length has to be 3 or more"));
    }
    let tokenizer =
        folder.json::<Tokenizer>("tokenizer_config.json")?.and_then(|config| config.model_max_length);
    let most = match (stated, tokenizer) {
        (Some(stated), _) => stated,
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 3 and `positions`"
        )]
        (None, Some(most)) if most >= 3.0 && most < positions as f64 => most as usize,
        (None, _) => positions,
    };
    Ok(most.min(positions))
}

/// Reads the prompts of `config_sentence_transformers.json`.
pub(crate) fn prompts(folder: &mut Folder) -> Result<Prompts, Error> {
    #[derive(Deserialize, Default)]
    struct Stated {
        query: Option<String>,
        #[serde(alias = "passage")]
        document: Option<String>,
    }
    #[derive(Deserialize)]
    struct Config {
        prompts: Option<Stated>,
    }
    let config: Option<Config> = folder.json("config_sentence_transformers.json")?;
    let stated = config.and_then(|config| config.prompts).unwrap_or_default();
    Ok(Prompts { query: stated.query.unwrap_or_default(), document: stated.document.unwrap_or_default() })
}

/// Reads `modules.json` and its pooling. Without the file it is the mean, as in
/// sentence-transformers.
pub(crate) fn pooling(folder: &mut Folder) -> Result<Pooling, Error> {
    #[derive(Deserialize)]
    struct Module {
        path: String,
        #[serde(rename = "type")]
        kind: String,
    }
    const MODULES: &str = "modules.json";
    let mut found = Pooling::Mean;
    for module in folder.json::<Vec<Module>>(MODULES)?.unwrap_or_default() {
        match module.kind.rsplit('.').next().unwrap_or_default() {
            "Transformer" if module.path.is_empty() => {}
            "Normalize" => {}
            "Pooling"
                if !module.path.is_empty() && !module.path.contains('/') && !module.path.starts_with('.') =>
            {
                let name = format!("{}/config.json", module.path);
                let modes: Map<String, Value> = folder.required(&name)?;
                found = pooling_of(&modes).ok_or_else(|| {
                    let problem = "pooling has to be one of mean, cls_token and lasttoken, prompts included";
                    Error::setting(&folder.path(&name), problem)
                })?;
            }
            _ => {
                let problem = format!(
                    "unsupported module {:?} in {:?}; expected Transformer, Pooling or Normalize",
                    module.kind, module.path
                );
                return Err(Error::setting(&folder.path(MODULES), problem));
            }
        }
    }
    Ok(found)
}

/// The one kind of pooling that is set.
fn pooling_of(modes: &Map<String, Value>) -> Option<Pooling> {
    let set = modes
        .iter()
        .filter(|(_, value)| **value == true)
        .filter_map(|(name, _)| name.strip_prefix("pooling_mode_"));
    let set: Vec<&str> = set.chain(modes.get("pooling_mode").and_then(Value::as_str)).collect();
    let [one] = set.as_slice() else { return None };
    if modes.get("include_prompt").is_some_and(|value| *value == false) {
        return None;
    }
    match *one {
        // The mean divided by a square root of the length is the mean, once it is scaled to length
        // 1.
        "mean_tokens" | "mean" | "mean_sqrt_len_tokens" => Some(Pooling::Mean),
        "cls_token" | "cls" => Some(Pooling::First),
        "lasttoken" => Some(Pooling::Last),
        _ => None,
    }
}
