//! `assay gc`: removes leftovers of crashed runs and unreferenced data.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use assay_fs::remove_tree;
use assay_sandbox::SandboxError;
use assay_sandbox::docker::{self, Docker};
use assay_store::{Claim, Store, TrialId};
use assay_trial::CleanupReport;
use serde_json::json;

use crate::args::gc::GcArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(crate) fn run(args: &GcArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let store = machine::open_store_unsigned(&settings.store)?;
    let report = if args.dry_run { None } else { Some(clean_up(&store)?) };
    let docker = if args.dry_run { None } else { machine::remove_stale_containers(&store) };
    let pruned = match args.image_budget {
        Some(budget) if !args.dry_run => Some(prune_images(&store, budget)?),
        _ => None,
    };
    // If a plan cannot be read, it is unknown which trials it needs: then nothing is removed.
    let referenced = if args.unreferenced { referenced_trials(&store)? } else { BTreeSet::new() };
    let mut removed = Vec::new();
    for (id, folder) in store.trials() {
        let orphan = args.unreferenced && !referenced.contains(&id);
        let paths = if orphan { vec![folder] } else { unfinished_attempts(&store, &id) };
        for path in paths {
            if !args.dry_run {
                // Another process may be executing it.
                let Claim::Mine(lease) = store.claim(&id)? else { continue };
                remove_tree(&path).map_err(|error| Failure::infrastructure(error.to_string()))?;
                drop(lease);
                if orphan {
                    // The claim created the folder again.
                    let _ = fs::remove_dir(&path);
                }
            }
            removed.push(path);
        }
    }
    if ui.json() {
        let count = |found: &Option<docker::Removed>| {
            found
                .as_ref()
                .map(|found| json!({ "containers": found.containers.len(), "images": found.images.len() }))
        };
        ui.document(&json!({
            "schema": "assay.gc/2",
            "dry_run": args.dry_run,
            "cleaned": report,
            "docker": count(&docker),
            "pruned": count(&pruned),
            "removed": removed,
        }))?;
    } else {
        if let Some(report) = report {
            ui.out(&format!(
                "cleaned up after dead processes: {} leases, {} scratch folders, {} control groups\n",
                report.store.leases, report.store.scratch, report.cgroups
            ))?;
        }
        if let Some(docker) = &docker {
            let (containers, images) = (docker.containers.len(), docker.images.len());
            ui.out(&format!("cleaned up in Docker: {containers} containers, {images} images\n"))?;
        }
        if let Some(pruned) = &pruned {
            let megabytes = pruned.image_bytes / 1_000_000;
            ui.out(&format!("images removed to fit the budget: {}, {megabytes} MB\n", pruned.images.len()))?;
        }
        let verb = if args.dry_run { "would remove" } else { "removed" };
        for path in &removed {
            ui.out(&format!("{verb} {}\n", path.display()))?;
        }
        if removed.is_empty() {
            ui.out("nothing else to remove\n")?;
        }
    }
    Ok(Status::Done)
}

/// Cleans up the store, and the store of `assay task run` inside it.
fn clean_up(store: &Store) -> Result<CleanupReport, Failure> {
    let mut report = assay_trial::clean_up(store);
    let debug = store.root().join("debug");
    if debug.is_dir() {
        let more = assay_trial::clean_up(&machine::open_store_unsigned(&debug)?);
        report.store.leases += more.store.leases;
        report.store.scratch += more.store.scratch;
        report.cgroups += more.cgroups;
    }
    Ok(report)
}

/// Removes images that were built for the store, least recently used first, until the rest fits.
fn prune_images(store: &Store, gigabytes: f64) -> Result<docker::Removed, Failure> {
    if !(gigabytes.is_finite() && gigabytes >= 0.0) {
        return Err(Failure::bad_input("`--image-budget` must be a number of gigabytes, at least 0"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and saturating"
    )]
    let bytes = (gigabytes * 1e9) as u64;
    let options = machine::docker_options(store.label(), &store.owner().mark())
        .map_err(|error| Failure::infrastructure(error.to_string()))?;
    let failed = |error: SandboxError| Failure::infrastructure(error.to_string());
    Docker::connect(options).map_err(failed)?.prune(bytes).map_err(failed)
}

/// The trials that a run refers to. Trials of oracle and nop are in no plan but check tasks, so they
/// count as referenced.
fn referenced_trials(store: &Store) -> Result<BTreeSet<TrialId>, Failure> {
    let mut referenced = BTreeSet::new();
    for name in store.run_names() {
        referenced.extend(store.run(&name)?.cells.into_iter().map(|cell| cell.trial));
    }
    // The work that judgements decide on, and whether one of these is needed. Work without any may be waiting for one.
    let mut judged: BTreeMap<TrialId, bool> = BTreeMap::new();
    let mut worked = Vec::new();
    for (id, _) in store.trials() {
        if let Ok(Some(record)) = store.record(&id) {
            if let Some(work) = record.work {
                *judged.entry(work).or_default() |= referenced.contains(&id);
            }
            if matches!(record.agent.name.as_str(), "oracle" | "nop") {
                referenced.insert(id);
            }
        } else if matches!(store.work_record(&id), Ok(Some(_))) {
            worked.push(id);
        }
    }
    referenced.extend(worked.into_iter().filter(|work| judged.get(work).is_none_or(|is_needed| *is_needed)));
    Ok(referenced)
}

/// Interrupted attempts: those after the recorded one.
fn unfinished_attempts(store: &Store, id: &TrialId) -> Vec<PathBuf> {
    let recorded = match (store.record(id), store.work_record(id)) {
        (Ok(record), Ok(work)) => record.or(work).map_or(0, |record| record.attempt),
        _ => return Vec::new(),
    };
    let attempts = store.trial_folder(id).join("attempts");
    let mut found: Vec<PathBuf> = fs::read_dir(attempts)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<u32>().ok())
                .is_some_and(|number| number > recorded)
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}
