//! What the tests of several crates share: the data, models and programs that some of them need.
//!
//! A test that needs one of these says so in its attribute, `#[ignore = "needs shared data"]`, so that `cargo test` shows it
//! as ignored. `scripts/test` runs ignored tests whose needs are met on the machine: it reads the reasons. [`NEEDS`] lists
//! them. Once such a test is run, a missing need is a failure and not a skip.

mod fuzz;
mod http;
mod zip;

use std::env;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

pub use fuzz::{fuzz, shared_seeds};
pub use http::{HttpReply, HttpRequest, serve_http};
pub use zip::store_members;

/// The reasons for which a test is ignored, as they stand after `needs ` in its attribute.
pub const NEEDS: [&str; 14] = [
    "Chromium",
    "Docker",
    "Docker and PostgreSQL",
    "DuckDB",
    "MiniLM",
    "PostgreSQL",
    "Slurm",
    "agents",
    "agents and Docker",
    "agents and PostgreSQL",
    "all agents",
    "hosts",
    "shared data",
    "the network",
];

/// A part of the shared data: a path below `data` in the folder that `ASSAY_SHARED` names.
///
/// # Panics
/// It is missing.
pub fn shared(part: &str) -> PathBuf {
    shared_if_present(part)
        .unwrap_or_else(|| panic!("{part} is missing from the shared data: ASSAY_SHARED names their folder"))
}

/// The same, for a test that also works without it.
pub fn shared_if_present(part: &str) -> Option<PathBuf> {
    let root = PathBuf::from(env::var_os("ASSAY_SHARED")?);
    // Tests run in the folders of their crates. A relative path is meant from the workspace.
    let workspace = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    Some(workspace.join(root).join("data").join(part)).filter(|path| path.exists())
}

/// The lines of the shared corpus of skills, JSON, that contain one of these texts. Searching a line is a hundred times as fast as
/// parsing it.
///
/// # Panics
/// The corpus is missing or damaged.
pub fn find_shared_skills(texts: &[String]) -> Vec<String> {
    let file = File::open(shared("skills/corpus_raw.jsonl.zst")).expect("the corpus can be read");
    let mut decoder = zstd::Decoder::new(file).expect("the corpus is compressed");
    decoder.window_log_max(27).expect("a window of 128 MiB");
    let lines = BufReader::new(decoder).lines().map(|line| line.expect("the corpus is whole"));
    lines.filter(|line| texts.iter().any(|text| line.contains(text))).collect()
}

/// The folder that agents, models and tools are installed into: `ASSAY_CACHE`, by default `~/.cache/assay`.
///
/// # Panics
/// Neither `ASSAY_CACHE` nor `HOME` is set.
pub fn cache() -> PathBuf {
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/assay"));
    env::var_os("ASSAY_CACHE").map(PathBuf::from).or_else(home).expect("ASSAY_CACHE or HOME is set")
}

/// The folder of the model all-MiniLM-L6-v2.
///
/// # Panics
/// It is missing.
pub fn minilm() -> PathBuf {
    let folder = cache().join("models/all-MiniLM-L6-v2");
    assert!(folder.exists(), "{} is missing: scripts/fetch-minilm fetches it", folder.display());
    folder
}

/// A Python that has DuckDB, Polars and pandas.
///
/// # Panics
/// It is missing.
pub fn duckdb_python() -> PathBuf {
    let python = cache().join("tools/duckdb-2.0.0/bin/python");
    assert!(python.exists(), "{} is missing: scripts/fetch-duckdb installs it", python.display());
    python
}

/// The folder of Node's modules that drive Chromium: playwright-core and axe-core.
///
/// # Panics
/// It is missing.
pub fn browser_modules() -> PathBuf {
    let modules = cache().join("tools/browser-1/node_modules");
    assert!(modules.exists(), "{} is missing: scripts/fetch-browser installs it", modules.display());
    modules
}

/// Fails the test where no Docker daemon answers.
///
/// # Panics
/// No daemon answers.
pub fn require_docker() {
    const SOCKET: &str = "/var/run/docker.sock";
    assert!(UnixStream::connect(SOCKET).is_ok(), "no Docker daemon answers at {SOCKET}");
}

/// Marks a test that needs bubblewrap: `scripts/test` leaves it out where `ASSAY_TEST_NO_BWRAP=1`.
#[macro_export]
macro_rules! needs_bubblewrap {
    () => {
        $crate::require_bubblewrap()
    };
}

/// Fails the test where bubblewrap is known to be missing.
///
/// # Panics
/// `ASSAY_TEST_NO_BWRAP=1`.
pub fn require_bubblewrap() {
    let is_missing = env::var_os("ASSAY_TEST_NO_BWRAP").is_some_and(|value| value == "1");
    assert!(!is_missing, "this test needs bubblewrap, and ASSAY_TEST_NO_BWRAP=1; scripts/test leaves it out");
}

/// Reports that a test cannot check something on this machine. For what only the running test can find out; `scripts/test`
/// counts these lines.
#[expect(clippy::print_stdout, reason = "a skip has to be seen")]
pub fn report_skip(reason: &str) {
    println!("skipped: {reason}");
}
