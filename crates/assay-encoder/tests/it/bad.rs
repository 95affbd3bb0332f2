//! Unusable folders: each is a typed error that names the file and, if there is one, the tensor.

use assay_encoder::{CrossEncoder, Encoder, Error, Kind};
use serde_json::json;

use crate::support::{Recipe, weights, write_safetensors};

/// Damages a folder, and checks that the message contains all parts, its cause included.
fn check(recipe: &Recipe, spoil: impl Fn(&std::path::Path), expected: &[&str]) {
    let folder = recipe.write();
    spoil(folder.path());
    let error = Encoder::open(folder.path()).err().unwrap();
    let cause = std::error::Error::source(&error).map_or_else(String::new, ToString::to_string);
    let message = format!("{error}: {cause}");
    for part in expected {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

#[test]
fn missing_and_invalid_files_are_errors() {
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        let remove = |folder: &std::path::Path| std::fs::remove_file(folder.join(name)).unwrap();
        check(&Recipe::bert(), remove, &["cannot read", name, "No such file"]);
        let replace = |folder: &std::path::Path| {
            remove(folder);
            std::fs::create_dir(folder.join(name)).unwrap();
        };
        check(&Recipe::bert(), replace, &[name, "is not a regular file"]);
    }
    check(
        &Recipe::bert(),
        |folder| std::fs::remove_file(folder.join("1_Pooling/config.json")).unwrap(),
        &["cannot read", "1_Pooling/config.json"],
    );
    let error = Encoder::open(std::path::Path::new("/nonexistent/model")).err().unwrap();
    assert!(matches!(error, Error::Read { .. }), "{error:?}");
}

#[test]
fn unknown_settings_are_errors() {
    let check =
        |of: fn() -> Recipe, file: &'static str, key: &str, value: serde_json::Value, expected: &[&str]| {
            let mut recipe = of();
            if file == "config.json" {
                recipe.config[key] = value;
            } else {
                let text = recipe.files.get(file).cloned().unwrap_or_else(|| "{}".to_owned());
                let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
                json[key] = value;
                recipe.files.insert(file, json.to_string());
            }
            check(&recipe, |_| {}, &[&[file], expected].concat());
        };
    check(
        Recipe::bert,
        "config.json",
        "model_type",
        json!("gpt2"),
        &["\"gpt2\"", "expected \"bert\" or \"qwen3\""],
    );
    check(Recipe::bert, "config.json", "hidden_act", json!("relu"), &["\"relu\""]);
    check(Recipe::bert, "config.json", "hidden_size", json!("wide"), &["invalid type", "line 1"]);
    check(Recipe::bert, "config.json", "num_attention_heads", json!(5), &["24 is not a multiple of 5 heads"]);
    check(Recipe::bert, "config.json", "num_attention_heads", json!(0), &["a multiple of 0 heads"]);
    check(Recipe::bert, "config.json", "position_embedding_type", json!("relative_key"), &["relative_key"]);
    check(Recipe::qwen3, "config.json", "rope_scaling", json!({"type": "yarn"}), &["rope_scaling"]);
    check(Recipe::qwen3, "config.json", "rope_theta", json!(-1), &["rope_theta"]);
    check(
        Recipe::qwen3,
        "config.json",
        "num_key_value_heads",
        json!(3),
        &["4 heads are not a multiple of 3"],
    );
    check(Recipe::qwen3, "config.json", "head_dim", json!(7), &["even head_dim"]);
    check(Recipe::qwen3, "config.json", "head_dim", json!(u64::MAX - 1), &["too large"]);
    check(
        Recipe::bert,
        "1_Pooling/config.json",
        "pooling_mode_max_tokens",
        json!(true),
        &["one of mean, cls_token and lasttoken"],
    );
    check(Recipe::bert, "1_Pooling/config.json", "include_prompt", json!(false), &["prompts included"]);
    check(Recipe::bert, "sentence_bert_config.json", "max_seq_length", json!(1), &["3 or more"]);
    check(
        Recipe::bert,
        "tokenizer.json",
        "normalizer",
        json!({"type": "Lowercase"}),
        &["Lowercase", "BertNormalizer"],
    );
    check(
        Recipe::bert,
        "tokenizer.json",
        "model",
        json!({"type": "Unigram"}),
        &["Unigram", "expected WordPiece or BPE"],
    );
    check(Recipe::bert, "tokenizer.json", "post_processor", json!({"type": "Other"}), &["Other"]);
    check(
        Recipe::qwen3,
        "tokenizer.json",
        "pre_tokenizer",
        json!({"type": "Whitespace"}),
        &["expected ByteLevel"],
    );
    let split = |pattern: &str| {
        json!({"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}]})
    };
    check(Recipe::qwen3, "tokenizer.json", "pre_tokenizer", split("a*"), &["can match the empty text"]);
    check(Recipe::qwen3, "tokenizer.json", "pre_tokenizer", split("a(?=b)"), &["invalid pattern"]);
    check(Recipe::qwen3, "tokenizer.json", "pre_tokenizer", split("((a{9999}){9999})"), &["invalid pattern"]);
    check(
        Recipe::bert,
        "config.json",
        "vocab_size",
        json!(7),
        &["word_embeddings.weight", "expected [7, 24] by config.json"],
    );
}

#[test]
fn mismatched_modules_and_ids_are_errors() {
    let mut recipe = Recipe::bert();
    let dense = json!([{"path": "", "type": "sentence_transformers.models.Transformer"}, {"path": "2_Dense", "type": "x.Dense"}]);
    recipe.files.insert("modules.json", dense.to_string());
    check(&recipe, |_| {}, &["modules.json", "x.Dense", "expected Transformer, Pooling or Normalize"]);
    let outside = json!([{"path": "../1_Pooling", "type": "sentence_transformers.models.Pooling"}]);
    recipe.files.insert("modules.json", outside.to_string());
    check(&recipe, |_| {}, &["../1_Pooling"]);
    recipe.files.insert("modules.json", "[0]".to_owned());
    check(&recipe, |_| {}, &["modules.json is invalid", "line 1"]);
    recipe.files.remove("modules.json");
    let index = json!({"weight_map": {"a": "../model.safetensors"}});
    recipe.files.insert("model.safetensors.index.json", index.to_string());
    check(&recipe, |_| {}, &["is not the name of a file in the same folder"]);

    let mut recipe = Recipe::bert();
    let mut tokenizer: serde_json::Value = serde_json::from_str(&recipe.files["tokenizer.json"]).unwrap();
    tokenizer["model"]["vocab"]["zzz"] = json!(100_000);
    recipe.files.insert("tokenizer.json", tokenizer.to_string());
    check(&recipe, |_| {}, &["the id 100000", "it belongs to another model"]);
    let mut recipe = Recipe::qwen3();
    let mut tokenizer: serde_json::Value = serde_json::from_str(&recipe.files["tokenizer.json"]).unwrap();
    tokenizer["model"]["merges"][3] = json!(["a", "no such token"]);
    recipe.files.insert("tokenizer.json", tokenizer.to_string());
    check(&recipe, |_| {}, &["its merge 4"]);
}

#[test]
fn mismatched_tensors_are_errors() {
    const NAME: &str = "bert.encoder.layer.1.output.dense.weight";
    let mut recipe = Recipe::bert();
    let shape = recipe.tensors.remove(NAME).unwrap();
    check(&recipe, |_| {}, &["model.safetensors", NAME, "is missing", "fetch the weights again"]);
    recipe.tensors.insert(NAME.to_owned(), vec![shape[1], shape[0]]);
    check(&recipe, |_| {}, &[NAME, "has the shape [40, 24], expected [24, 40] by config.json"]);
    recipe.tensors.insert(NAME.to_owned(), vec![24 * 40]);
    check(&recipe, |_| {}, &[NAME, "has the shape [960]"]);
    let mut recipe = Recipe::bert();
    recipe.tensors.remove("bert.embeddings.word_embeddings.weight");
    check(&recipe, |_| {}, &["word_embeddings.weight", "is missing"]);

    let spoiled = |dtype: &'static str, value: f32| {
        move |folder: &std::path::Path| {
            let recipe = Recipe::bert();
            let mut tensors: Vec<_> = recipe
                .tensors
                .iter()
                .map(|(name, shape)| (name.as_str(), shape.as_slice(), weights(name, shape)))
                .collect();
            tensors.iter_mut().find(|(name, ..)| *name == NAME).unwrap().2[7] = value;
            write_safetensors(&folder.join("model.safetensors"), dtype, &tensors);
        }
    };
    for dtype in ["F32", "F16", "BF16"] {
        check(&Recipe::bert(), spoiled(dtype, f32::NAN), &[NAME, "has the value NaN at index 7"]);
    }
    check(&Recipe::bert(), spoiled("F32", f32::INFINITY), &[NAME, "has the value inf at index 7"]);
    check(&Recipe::bert(), spoiled("I8", 1.0), &["has the unsupported type I8; expected F32, F16 or BF16"]);

    // All numbers are finite, and their sums are not.
    let folder = Recipe::bert().write();
    spoiled("F32", 3e38)(folder.path());
    let encoder = Encoder::open(folder.path()).unwrap();
    let error = encoder.embed(&["", "a b c"], Kind::Query, &|_| {}).map(|_| ());
    assert!(error.is_ok() || matches!(error, Err(Error::NotFinite { .. })), "{error:?}");
}

#[test]
fn vectors_that_are_not_finite_are_an_error() {
    let mut recipe = Recipe::qwen3();
    recipe.config["rms_norm_eps"] = json!(-1e9);
    let folder = recipe.write();
    let encoder = Encoder::open(folder.path()).unwrap();
    let error = encoder.embed(&["a", "b"], Kind::Query, &|_| {}).err().unwrap();
    assert!(matches!(error, Error::NotFinite { text: 0 | 1, .. }), "{error:?}");
    assert!(error.to_string().contains("not finite"), "{error}");
    let error = CrossEncoder::open(folder.path()).unwrap().scores("a", &["b"]).err().unwrap();
    assert!(matches!(error, Error::NotFinite { text: 0, .. }), "{error:?}");
}

#[test]
fn truncated_or_inconsistent_safetensors_are_errors() {
    let path = |folder: &std::path::Path| folder.join("model.safetensors");
    let whole = std::fs::read(path(Recipe::bert().write().path())).unwrap();
    for length in [0, 7, 8, 100, whole.len() / 2, whole.len() - 1] {
        check(
            &Recipe::bert(),
            |folder| std::fs::write(path(folder), &whole[..length]).unwrap(),
            &["model.safetensors"],
        );
    }
    let head = |header: &str| {
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.bytes());
        file
    };
    let check = |file: Vec<u8>, expected: &[&str]| {
        check(&Recipe::bert(), |folder| std::fs::write(path(folder), &file).unwrap(), expected);
    };
    check(u64::MAX.to_le_bytes().repeat(4), &["its header should have 18446744073709551615 bytes"]);
    check(head("{"), &["model.safetensors", "EOF"]);
    check(head(r#"{"a": 5}"#), &["model.safetensors", "invalid type"]);
    check(head(r#"{"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}"#), &["`a`"]);
    check(
        head(r#"{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}"#),
        &["`a`", "the file is cut off"],
    );
    let name = "bert.embeddings.word_embeddings.weight";
    let shape = &Recipe::bert().tensors[name];
    let short = format!(r#"{{"{name}": {{"dtype": "F32", "shape": {shape:?}, "data_offsets": [0, 4]}}}}"#);
    let mut file = head(&short);
    file.extend([0; 4]);
    check(file, &["has 4 bytes"]);
}

#[test]
fn folders_without_a_cross_encoder_are_errors() {
    let check = |recipe: &Recipe, expected: &str| {
        let folder = recipe.write();
        let error = CrossEncoder::open(folder.path()).err().unwrap().to_string();
        assert!(error.contains(expected), "{expected:?} is not in: {error}");
    };
    let mut recipe = Recipe::bert();
    recipe.config["architectures"] = json!(["BertModel"]);
    check(&recipe, "BertForSequenceClassification");
    let mut recipe = Recipe::bert();
    recipe.config["id2label"] = json!({"0": "NO", "1": "YES"});
    check(&recipe, "id2label has 2 classes");
    let mut recipe = Recipe::bert();
    recipe.tensors.remove("classifier.bias");
    check(&recipe, "`classifier.bias` is missing");
    let mut recipe = Recipe::qwen3();
    recipe.config["tie_word_embeddings"] = json!(false);
    check(&recipe, "`lm_head.weight` is missing");
}
