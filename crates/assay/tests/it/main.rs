//! The command line, as users meet it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so where it stands")]

mod access;
mod advice;
mod agents;
mod appraise;
mod audit;
mod audit_calibrated;
mod audit_figures;
mod audit_judge;
mod audit_model;
mod audit_numbers;
mod audit_own_runs;
mod audit_runs;
mod audit_show;
mod before_spending;
mod bench_safety;
mod cheating;
mod checks;
mod commands;
mod conditions;
mod corpus;
mod cycles;
mod delivery;
mod disk;
mod docker;
mod docker_services;
mod docs;
mod doubles;
mod draft;
mod draft_requests;
mod draft_run;
mod draft_skill;
mod draft_sources;
mod draft_whole;
mod egress;
mod errors;
mod evidence;
mod export;
mod export_run;
mod exposure;
mod first_run;
mod fixture;
mod foreign;
mod formats;
mod gate;
mod gateway;
mod help;
mod hosted;
mod hosts;
mod identity;
mod import_benchmark;
mod import_bombs;
mod import_facts;
mod import_table;
mod improve_shrink;
mod init;
mod interrupted;
mod judge;
mod judge_items;
mod judge_model;
mod judge_pairs;
mod judged;
mod k8s;
mod laboratory;
#[path = "../../../assay-draft/tests/it/ledger.rs"]
mod ledger;
mod limiter;
mod links;
mod lint;
mod looks;
mod metrics;
mod outcome;
mod output;
mod plugin_eval;
mod plugin_parity;
mod pre_commit;
mod prices;
mod processes;
mod record_keys;
mod replay;
mod restored;
mod roles;
mod route;
mod rubrics;
mod runs;
mod scores;
mod screens;
mod search;
mod search_models;
mod search_serve;
mod search_use;
mod second_stage;
mod server;
mod slurm;
mod steps;
mod stopping;
mod suite;
mod task_check;
mod task_review;
mod taxonomy;
mod trace;
mod trial_exec;
mod trial_gateway;
mod verifier;
mod view;
mod voice;
mod worker;

/// A file that nobody declares is a test that nobody runs.
#[test]
fn every_file_is_declared() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let declared: Vec<&str> = include_str!("main.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
        .chain(["main"])
        .collect();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // Data without tests: what insta compares with, and a store of 0.1.0 with its experiments.
        if ["snapshots", "earlier"].iter().any(|data| path.ends_with(data)) {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(declared.contains(&name), "{} is not declared in main.rs", path.display());
    }
}
