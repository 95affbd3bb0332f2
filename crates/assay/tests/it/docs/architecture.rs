//! ARCHITECTURE.md and crates/README.md against the workspace: layers, crates, and the files they name.

use std::collections::BTreeMap;
use std::fs;

use super::project;

fn read(path: &str) -> String {
    fs::read_to_string(project().join(path)).unwrap()
}

/// The layer of each crate, from the table in ARCHITECTURE.md.
fn layers() -> BTreeMap<String, u32> {
    let text = read("ARCHITECTURE.md");
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let layer = cells.next()?.parse().ok()?;
        Some((cells.next()?.trim_matches('`').to_owned(), layer))
    };
    text.lines().filter_map(row).collect()
}

/// The names of the folders of crates.
fn crates() -> Vec<String> {
    let entries = fs::read_dir(project().join("crates")).unwrap();
    let folders =
        entries.map(|entry| entry.unwrap()).filter(|entry| entry.path().join("Cargo.toml").exists());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The program that measures assay.
const LABORATORY: &str = "assay-lab";

/// The crates that `cargo build` leaves out.
const APART: [&str; 3] = ["assay-corpus", "assay-encoder", LABORATORY];

fn manifest(name: &str) -> toml::Table {
    read(&format!("crates/{name}/Cargo.toml")).parse().unwrap()
}

/// The crates of the workspace that a crate is built with, those of its tests left out.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = manifest(name);
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let tables = targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table);
    tables
        .chain([&manifest])
        .filter_map(|table| table.get("dependencies")?.as_table())
        .flat_map(toml::Table::keys)
        .filter(|key| key.starts_with("assay"))
        .cloned()
        .collect()
}

#[test]
fn the_laboratory_is_no_default_member_and_no_crate_uses_it() {
    let workspace: toml::Table = read("Cargo.toml").parse().unwrap();
    let members = workspace["workspace"]["default-members"].as_array().unwrap();
    let members: Vec<&str> =
        members.iter().map(|member| member.as_str().unwrap().strip_prefix("crates/").unwrap()).collect();
    let apart: Vec<String> = crates().into_iter().filter(|name| !members.contains(&name.as_str())).collect();
    assert_eq!(apart, APART);
    for name in crates().iter().filter(|name| *name != LABORATORY) {
        let used = dependencies(name);
        assert!(!used.contains(&LABORATORY.to_owned()), "{name} uses {used:?}");
        // What is optional is in `[features]`.
        let optional = |used: &str| manifest(name)["dependencies"][used].get("optional").is_some();
        if members.contains(&name.as_str()) {
            let apart = used.iter().find(|used| APART.contains(&used.as_str()) && !optional(used));
            assert_eq!(apart, None, "{name}");
        }
    }
}

#[test]
fn crates_use_lower_layers_only() {
    let layers = layers();
    let crates = crates();
    assert!(crates.len() > 20, "{crates:?}");
    for name in &crates {
        let Some(layer) = layers.get(name) else {
            // A crate for tests alone belongs to no layer.
            assert!(name.contains("test"), "ARCHITECTURE.md has no row for {name}");
            continue;
        };
        for used in dependencies(name) {
            let below = layers.get(&used).unwrap_or_else(|| panic!("{name} uses {used}, which has no layer"));
            let is_allowed = below < layer
                || (below == layer && ["assay-diagnostic", "assay-syntax"].contains(&used.as_str()));
            assert!(is_allowed, "{name} of layer {layer} uses {used} of layer {below}");
        }
    }
    let gone: Vec<_> = layers.keys().filter(|name| !crates.contains(name)).collect();
    assert!(gone.is_empty(), "ARCHITECTURE.md lists crates that do not exist: {gone:?}");
}

#[test]
fn every_crate_has_a_paragraph() {
    let text = read("crates/README.md");
    for name in crates() {
        assert!(text.contains(&format!("\n**{name}**")), "crates/README.md says nothing of {name}");
    }
}

#[test]
fn files_that_the_architecture_names_exist() {
    let text = read("ARCHITECTURE.md");
    let named: Vec<&str> = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| name.contains('/') && name.starts_with("crates/"))
        .collect();
    assert!(named.len() > 20, "{named:?}");
    for name in named {
        // `crates/assay-agent/src/NAME.rs` is a file that a contributor adds.
        let is_new = |part: &&str| part.chars().all(|c| c.is_ascii_uppercase());
        let path = match name.rsplit_once('/') {
            Some((folder, file)) if file.split('.').take(1).any(|stem| is_new(&stem)) => folder,
            _ => name,
        };
        assert!(project().join(path).exists(), "ARCHITECTURE.md names {name}, which does not exist");
    }
}
