//! Damaged archives of runs: each is refused, and nothing of it is left in the store.

use crate::Store;
use assay_test::fuzz;
use serde_json::json;

use super::{MANIFEST, SCHEMA, import_run};

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        // As it is: the library refuses paths that lead outside.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        builder.append(&header, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn damaged_archives_never_panic() {
    let plan = br#"{"schema": "assay.plan/3", "run": "lab", "cells": []}"#;
    let manifest = json!({
        "schema": SCHEMA, "run": "lab", "plan": "blake3:0", "trajectories": true,
        "files": [{ "path": "run/plan.json", "bytes": plan.len(), "blake3": blake3::hash(plan).to_hex().as_str() }],
    });
    let manifest = manifest.to_string().into_bytes();
    let seeds = [
        archive(&[(MANIFEST, &manifest), ("run/plan.json", plan)]),
        archive(&[(MANIFEST, &manifest), ("../escape", plan)]),
    ];
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store")).unwrap();
    let file = folder.path().join("r.run.tar.zst");
    fuzz(&seeds, |bytes| {
        std::fs::write(&file, zstd::encode_all(bytes, 1).unwrap()).unwrap();
        assert!(import_run(&store, &file, None, None).is_err());
        assert!(store.run_names().is_empty() && !folder.path().join("escape").exists());
    });
}
