//! What is left of a fixture's sandboxes.

use std::fs;

use crate::fixture::Fixture;

/// The living processes that have a part of the fixture mounted, or are the bubblewrap that was to mount it.
pub(crate) fn in_sandboxes_of(lab: &Fixture) -> Vec<String> {
    let name = lab.folder().file_name().unwrap().to_str().unwrap();
    let pids =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    pids.filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            let outer = line.split('\0').next().is_some_and(|program| program.ends_with("bwrap"));
            (outer && line.contains(name))
                || fs::read_to_string(format!("/proc/{pid}/mountinfo"))
                    .is_ok_and(|mounts| mounts.contains(name))
        })
        .map(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            format!("{pid}: {}", String::from_utf8_lossy(&line).replace('\0', " "))
        })
        .collect()
}
