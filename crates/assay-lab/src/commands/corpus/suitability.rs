//! Whether an evaluation can be drafted for a record.

use assay_corpus::unpack::folder_path;
use assay_diagnostic::Severity;
use assay_draft::needs::{self, Verdict};
use assay_safety::Bundle;
use assay_skill::Package;
use assay_skill::corpus::Record;

use assay_cli::failure::Failure;
use assay_cli::machine::Programs;

/// What drafting needs to know of a skill.
pub(super) struct Suitable {
    /// The digest of its package.
    pub(super) digest: String,
    /// The verdict of `assay draft needs` on this machine: not `discard`.
    pub(super) verdict: &'static str,
}

/// Reads a record as a package. The inner error says why no evaluation can be drafted.
pub(super) fn check(record: &Record, programs: &Programs) -> Result<Result<Suitable, String>, Failure> {
    let failed = |error: std::io::Error| {
        Failure::infrastructure(format!("cannot write a temporary folder: {error}"))
            .hint("check that the folder for temporary files is writable and has free space")
    };
    let folder = tempfile::tempdir().map_err(failed)?;
    let own = folder_path(record);
    let root = folder.path().join(own.file_name().unwrap_or(own.as_os_str()));
    std::fs::create_dir(&root)
        .and_then(|()| std::fs::write(root.join("SKILL.md"), &record.skill_md))
        .map_err(failed)?;
    let loaded = Package::load(&root);
    let is_broken = loaded.diagnostics.iter().any(|found| found.severity == Severity::Error);
    let Some(package) = loaded.package.filter(|package| !is_broken && !package.front_matter.is_empty())
    else {
        return Ok(Err("unreadable or missing front matter".to_owned()));
    };
    if assay_safety::scan(&Bundle::read(&package)).iter().any(|found| found.severity == Severity::Error) {
        return Ok(Err("safety error".to_owned()));
    }
    let found = needs::find_in_text(&record.skill_md);
    let verdict = needs::assess(&found, &|name| programs.has(name)).verdict;
    if verdict == Verdict::Discard {
        return Ok(Err("needs that cannot be met (verdict discard)".to_owned()));
    }
    Ok(Ok(Suitable { digest: package.digest.to_string(), verdict: verdict.name() }))
}
