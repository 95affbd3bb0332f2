//! Folders of small models, and the reference.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use assay_encoder::Encoder;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
pub(crate) struct Reference {
    pub(crate) minilm: Minilm,
    pub(crate) bert: Small,
    pub(crate) qwen3: Small,
}

#[derive(Deserialize)]
pub(crate) struct Minilm {
    pub(crate) tokens: Vec<Tokens>,
    pub(crate) sweep: Vec<String>,
    pub(crate) vectors: Vec<Vector>,
}

#[derive(Deserialize)]
pub(crate) struct Tokens {
    pub(crate) text: String,
    pub(crate) ids: Vec<u32>,
}

#[derive(Deserialize)]
pub(crate) struct Vector {
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) kind: String,
    #[serde(rename = "vector")]
    pub(crate) numbers: Vec<f32>,
}

#[derive(Deserialize)]
pub(crate) struct Score {
    pub(crate) query: String,
    pub(crate) document: String,
    #[serde(rename = "score")]
    pub(crate) number: f32,
}

#[derive(Deserialize)]
pub(crate) struct Small {
    pub(crate) config: Value,
    pub(crate) tensors: BTreeMap<String, Vec<usize>>,
    pub(crate) tokens: Vec<Tokens>,
    #[serde(default)]
    pub(crate) sweep: Vec<String>,
    pub(crate) scores: Vec<Score>,
    #[serde(default, alias = "first")]
    pub(crate) vectors: Vec<Vector>,
    #[serde(default)]
    pub(crate) prompt: String,
}

pub(crate) static REFERENCE: LazyLock<Reference> =
    LazyLock::new(|| serde_json::from_str(include_str!("../data/reference.json")).unwrap());
pub(crate) const WORDPIECE: &str = include_str!("../data/wordpiece.json");
pub(crate) const BPE: &str = include_str!("../data/bpe.json");

/// The model that `scripts/fetch-minilm` has fetched.
pub(crate) fn minilm() -> Encoder {
    Encoder::open(&assay_test::minilm()).unwrap()
}

/// The content of a small model's folder.
pub(crate) struct Recipe {
    pub(crate) config: Value,
    pub(crate) tensors: BTreeMap<String, Vec<usize>>,
    /// F32, F16 or BF16.
    pub(crate) dtype: &'static str,
    pub(crate) files: BTreeMap<&'static str, String>,
}

impl Recipe {
    /// A BERT of first-token pooling, with a classifier.
    pub(crate) fn bert() -> Self {
        let pooling = json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false});
        Self::new(&REFERENCE.bert, WORDPIECE, &pooling)
    }

    /// A Qwen3 of last-token pooling.
    pub(crate) fn qwen3() -> Self {
        let pooling = json!({"pooling_mode_mean_tokens": false, "pooling_mode_lasttoken": true});
        let mut recipe = Self::new(&REFERENCE.qwen3, BPE, &pooling);
        let prompts = json!({"prompts": {"query": REFERENCE.qwen3.prompt, "document": ""}});
        recipe.files.insert("config_sentence_transformers.json", prompts.to_string());
        recipe
    }

    fn new(small: &Small, tokenizer: &str, pooling: &Value) -> Self {
        let module = |path: &str, kind: &str| json!({"path": path, "type": format!("sentence_transformers.models.{kind}")});
        let modules = json!([
            module("", "Transformer"),
            module("1_Pooling", "Pooling"),
            module("2_Normalize", "Normalize")
        ]);
        let files = BTreeMap::from([
            ("tokenizer.json", tokenizer.to_owned()),
            ("modules.json", modules.to_string()),
            ("1_Pooling/config.json", pooling.to_string()),
        ]);
        Self { config: small.config.clone(), tensors: small.tensors.clone(), dtype: "F32", files }
    }

    pub(crate) fn write(&self) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("1_Pooling")).unwrap();
        for (name, text) in &self.files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        std::fs::write(folder.path().join("config.json"), self.config.to_string()).unwrap();
        let tensors: Vec<_> = self
            .tensors
            .iter()
            .map(|(name, shape)| (name.as_str(), shape.as_slice(), weights(name, shape)))
            .collect();
        write_safetensors(&folder.path().join("model.safetensors"), self.dtype, &tensors);
        folder
    }
}

/// The numbers of a tensor, from its name: as in `scripts/encoder-reference`.
pub(crate) fn weights(name: &str, shape: &[usize]) -> Vec<f32> {
    let hash = fnv(0xcbf2_9ce4_8422_2325, name.as_bytes());
    let offset = if name.to_lowercase().contains("norm") && name.ends_with("weight") { 1.0 } else { 0.0 };
    let count = shape.iter().product::<usize>() as u64;
    (0..count).map(|n| (((splitmix(hash.wrapping_add(n)) >> 58) as f32) - 32.0) / 128.0 + offset).collect()
}

pub(crate) fn fnv(mut hash: u64, bytes: &[u8]) -> u64 {
    for &byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

fn splitmix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

pub(crate) fn write_safetensors(path: &Path, dtype: &str, tensors: &[(&str, &[usize], Vec<f32>)]) {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    header.insert("__metadata__".to_owned(), json!({"format": "pt"}));
    for (name, shape, values) in tensors {
        let start = data.len();
        for value in values {
            match dtype {
                "F32" => data.extend(value.to_le_bytes()),
                "F16" => data.extend(to_f16(*value).to_le_bytes()),
                _ => data.extend(&value.to_le_bytes()[2..]),
            }
        }
        header.insert(
            (*name).to_owned(),
            json!({"dtype": dtype, "shape": shape, "data_offsets": [start, data.len()]}),
        );
    }
    let header = Value::Object(header).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.into_bytes());
    file.extend(data);
    std::fs::write(path, file).unwrap();
}

/// For multiples of 1/128 below 2, and numbers that are not finite.
fn to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = bits >> 16 & 0x8000;
    let half = match value.abs() {
        0.0 => sign,
        size if size.is_finite() => sign | ((bits >> 23 & 255) - 112) << 10 | bits >> 13 & 0x3ff,
        _ => sign | 0x7e00,
    };
    u16::try_from(half).unwrap()
}
