use super::*;

#[test]
fn retrievers_have_names_and_options() {
    let check = |text: &str, expected: Result<&str, &str>| {
        let found = RetrieverSpec::parse(text)
            .map(|spec| format!("{:?}", spec.kind))
            .map_err(|error| error.to_string());
        match (found, expected) {
            (Ok(found), Ok(expected)) | (Err(found), Err(expected)) => {
                assert!(found.contains(expected), "{text}: {found}");
            }
            (found, _) => panic!("{text}: {found:?}"),
        }
    };
    check("bm25", Ok("k1: 1.5, b: 0.75"));
    check("bm25f:k1=0.9,b=0.4", Ok("k1: 0.9, b: 0.4"));
    check(
        "bm26",
        Err(
            "unknown retriever `bm26`; expected one of bm25, bm25-name-description, bm25f, best, dense, hybrid",
        ),
    );
    check("bm25:k1", Err("invalid option `k1`"));
    check("bm25:b=2", Err("invalid option `b=2`"));
    check("bm25:k1=NaN", Err("invalid option `k1=NaN`"));
    check("bm25:k1=1,model=x", Err("invalid option `model=x`"));
    check("bm25:fields=body,stemmer=english", Ok("fields: [Body], stemmer: English"));
    check("bm25:fields=name+document", Ok("fields: [Name, Document], stemmer: None"));
    check("bm25:fields=name+name", Err("invalid option `fields=name+name`"));
    check("bm25:fields=title", Err("`stemmer=none|english` and `fields="));
    check("bm25:stemmer=porter", Err("invalid option `stemmer=porter`"));
    check("bm25f:fields=name", Err("invalid option `fields=name`"));
    check("best", Ok("Best"));
    check("best:k1=1", Err("invalid option `k1=1` of `best`; expected no options"));

    check("dense", Ok("DenseSpec { embedder: Installed, texts: NameDescription, adapter: None }"));
    check("dense:adapter=/a", Ok("adapter: Some(\"/a\")"));
    check("dense:model=/m,text=full", Ok("Folder(\"/m\"), texts: Full"));
    check("dense:text=chunks", Ok("Chunks { tokens: None, overlap: 32, pooling: Max }"));
    check(
        "dense:text=chunks,chunk=99,overlap=0,pooling=mean",
        Ok("{ tokens: Some(99), overlap: 0, pooling: Mean }"),
    );
    check("dense:text=fields", Ok("weights: [0.33333334, 0.33333334, 0.33333334]"));
    check("dense:text=fields,weights=2/1/1", Ok("weights: [0.5, 0.25, 0.25]"));
    check("dense:text=fields,weights=1/1", Err("invalid option `weights=1/1`"));
    check("dense:text=fields,weights=0/0/0", Err("invalid option `weights=0/0/0`"));
    check("dense:text=fields,weights=1/-1/1", Err("invalid option `weights=1/-1/1`"));
    check("dense:chunk=99", Err("invalid option `chunk=99`"));
    check("dense:text=half", Err("invalid option `text=half`"));
    check("dense:endpoint=http://x/v1", Err("`dense` needs `name=MODEL` beside `endpoint=URL`"));
    check("dense:endpoint=http://x/v1,model=/m,name=n", Err("invalid option `endpoint=http://x/v1`"));
    check(
        "dense:endpoint=http://x/v1,name=n,query=a%2C b: %0A,key=K,tokens=9,timeout=3,retries=0",
        Ok("url: Some(\"http://x/v1\"), key: Some(\"K\"), timeout: 3s, retries: 0 }, model: \"n\", \
            prompts: Prompts { query: \"a, b: \\n\", document: \"\" }, tokens: 9"),
    );
    check("dense:endpoint=http://x/v1,name=n,query=%zz", Err("invalid option `query=%zz`"));
    check("dense:endpoint=http://x/v1,name=n,timeout=0", Err("invalid option `timeout=0`"));

    check("hybrid", Ok("Hybrid { lexical: Lexical { name: \"bm25\""));
    check("hybrid", Ok("fusion: Ranks { k: 60.0 }"));
    check(
        "hybrid:lexical=best,k=10,text=full",
        Ok("lexical: Best, dense: DenseSpec { embedder: Installed, texts: Full, adapter: None }"),
    );
    check("hybrid:fusion=score,weight=0.3", Ok("fusion: Scores { weight: 0.3 }"));
    check("hybrid:fusion=score,weight=3", Err("invalid option `weight=3`"));
    check("hybrid:weight=0.3", Err("invalid option `weight=0.3`"));
    check("hybrid:lexical=dense", Err("invalid option `lexical=dense`"));

    check("rerank", Ok("reranker: Installed, depth: 20"));
    check("rerank:first=hybrid,depth=50,model=/m", Ok("reranker: Folder(\"/m\"), depth: 50"));
    check("rerank:first=rerank", Err("invalid option `first=rerank`"));
    check("rerank:depth=0", Err("invalid option `depth=0`"));
    check("rerank:endpoint=http://x/v1,name=n,scores=logits", Ok("scale: Logits"));
    check("rerank:endpoint=http://x/v1", Err("`rerank` needs `name=MODEL`"));
    check(
        "rerank:chat=openai:m,endpoint=http://x/v1",
        Ok("Chat { server: Server { url: Some(\"http://x/v1\")"),
    );
    check("rerank:model=/m,chat=openai:m", Err("invalid option `chat=openai:m`"));
}

#[test]
fn missing_models_are_reported() {
    let place = tempfile::tempdir().unwrap();
    let around = RetrieverContext { embedder: Some(place.path().join("mini")), ..RetrieverContext::none() };
    let check = |text: &str, expected: Option<&str>| {
        let spec = RetrieverSpec::parse(text).unwrap();
        let notes = spec.missing_model(&around).map(|error| error.to_string());
        assert_eq!(notes.is_some(), expected.is_some(), "{text}: {notes:?}");
        if let Some(expected) = expected {
            let opened = spec.open(Vec::new(), &around).err().unwrap().to_string();
            assert!(notes == Some(opened.clone()) && opened.contains(expected), "{text}: {opened}");
        }
    };
    check("bm25", None);
    check("best", None);
    check("dense", Some("`dense` needs an embedding model, which is not installed in "));
    check("hybrid", Some("`hybrid` needs an embedding model"));
    check("rerank", Some("`rerank` needs a cross-encoder, which is not installed"));
    check("rerank:first=dense,model=/m", Some("`dense` needs an embedding model"));
    check("dense:model=/m", None);
    // A model is installed, and a build without the feature reports that it cannot run it.
    std::fs::create_dir(place.path().join("mini")).unwrap();
    std::fs::write(place.path().join("mini/config.json"), "{}").unwrap();
    let refused = "without the feature `local-models`";
    check("dense", (!cfg!(feature = "local-models")).then_some(refused));
    check("rerank:first=dense,model=/m", (!cfg!(feature = "local-models")).then_some(refused));
    // A named folder that is not a model's.
    let named = format!("dense:model={}", place.path().display());
    let error = RetrieverSpec::parse(&named).unwrap().open(Vec::new(), &around).err().unwrap();
    #[cfg(feature = "local-models")]
    {
        assert!(matches!(error, OpenError::Retriever(RetrieverError::Encoder(_))), "{error:?}");
        assert!(error.to_string().contains("config.json"), "{error}");
    }
    #[cfg(not(feature = "local-models"))]
    {
        assert!(matches!(error, OpenError::Retriever(RetrieverError::NoLocalModels { .. })), "{error:?}");
        assert!(error.to_string().contains("without the feature `local-models`"), "{error}");
    }
}
