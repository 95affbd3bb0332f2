//! Names of models.

use assay_model::{ModelError, ModelOptions, open};

use crate::server::with_key;

#[test]
fn names_are_checked() {
    let check = |spec: &str, expected: &str| {
        let error = open(spec, &ModelOptions::default(), &with_key).err().expect(spec);
        assert!(matches!(error, ModelError::Spec(_)), "{spec}: {error:?}");
        assert!(error.to_string().contains(expected), "{spec}: {error}");
    };
    check("", "unknown provider");
    check("gpt-5", "unknown provider");
    check("mistral:large", "expected openai:NAME, anthropic:NAME, gemini:NAME or scripted:FILE");
    check("openai:", "missing model name");
    check("scripted: ", "missing model name");
    check("openai:a b", "character not allowed");
    check("gemini:../../x", "character not allowed");
    check("gemini:x?key=y", "character not allowed");
    check("anthropic:x\u{1b}[31m", "\\u{1b}");
}

#[test]
fn models_report_their_name() {
    for spec in ["openai:org/model:8b", "anthropic:claude-x", "gemini:tunedModels/mine"] {
        let model = open(spec, &ModelOptions::default(), &with_key).unwrap();
        assert_eq!(model.id(), spec);
        assert!(model.measures_a_model() && !model.reads_condition() && model.identity().is_null());
    }
}

#[test]
fn missing_keys_are_errors() {
    for (spec, name) in [
        ("openai:x", "OPENAI_API_KEY"),
        ("anthropic:x", "ANTHROPIC_API_KEY"),
        ("gemini:x", "GEMINI_API_KEY or GOOGLE_API_KEY"),
    ] {
        let error = open(spec, &ModelOptions::default(), &|_| None).err().unwrap().to_string();
        assert!(error.starts_with(&format!("{name} is not set")), "{error}");
    }
}
