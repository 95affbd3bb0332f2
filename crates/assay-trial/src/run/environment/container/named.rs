//! Where an instruction asks for results outside the work folder.
//!
//! `Write the answer to /output/plan.json`: the file is the agent's work as much as one in the work
//! folder, so a restored environment has it as well. Only what is named counts, and nothing of the
//! system: an instruction that mentions `/usr/bin/python3` does not hand the interpreter over.

use std::path::{Component, Path, PathBuf};

/// Folders at the top with files of the system, or of the verifier. Nothing below them is work.
const SYSTEM: [&str; 18] = [
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "logs", "opt", "proc", "run", "sbin",
    "snap", "solution", "sys", "tests", "usr",
];

/// The same below `/var`.
const SYSTEM_VAR: [&str; 6] = ["backups", "cache", "lib", "lock", "run", "spool"];

/// Folders that belong to everybody: what is below them can be work, they themselves are not.
const SHARED: [&str; 7] = ["home", "media", "mnt", "root", "srv", "tmp", "var"];

/// The same two levels down.
const SHARED_BELOW: [&str; 3] = ["/var/log", "/var/opt", "/var/tmp"];

/// Most paths that one instruction can name.
const MOST: usize = 64;

/// The absolute paths that an instruction names and that can be work: sorted, none within another. A
/// path that ends in a placeholder (`/output/part-*.csv`) stands for its folder.
pub(super) fn named_paths(instruction: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut before = None;
    let mut rest = instruction;
    while let Some(sign) = rest.chars().next() {
        if sign == '/' && !before.is_some_and(joins) {
            let length = rest.find(|sign| !belongs(sign)).unwrap_or(rest.len());
            let (token, after) = rest.split_at(length);
            if let Some(path) = clean_path(token, after.chars().next().is_some_and(is_placeholder)) {
                found.push(path);
            }
            before = token.chars().next_back();
            rest = after;
        } else {
            before = Some(sign);
            rest = rest.get(sign.len_utf8()..).unwrap_or_default();
        }
    }
    found.sort();
    found.dedup_by(|below, above| below.starts_with(above));
    found.truncate(MOST);
    found
}

/// Whether a slash after this character is within a longer word, an address, or a closing tag.
fn joins(sign: char) -> bool {
    belongs(sign) || matches!(sign, '~' | '<' | '}' | '>' | ')' | ']' | '*' | '$' | '\\')
}

/// Whether a character belongs to a path.
fn belongs(sign: char) -> bool {
    sign.is_alphanumeric() || matches!(sign, '/' | '.' | '_' | '-' | '+' | '@' | '=' | '~' | '%')
}

fn is_placeholder(sign: char) -> bool {
    matches!(sign, '*' | '?' | '{' | '<' | '[' | '$')
}

/// A path as it is written, unless it cannot be work.
fn clean_path(token: &str, is_cut: bool) -> Option<PathBuf> {
    let token = if is_cut {
        token.rsplit_once('/').map(|(folder, _)| folder)?
    } else {
        token.trim_end_matches(['.', '/', '-', '='])
    };
    let path = Path::new(token);
    let mut parts = Vec::new();
    for part in token.strip_prefix('/')?.split('/') {
        // Settings of programs have such names, and two slashes begin an address.
        if part.is_empty() || part.starts_with('.') {
            return None;
        }
        parts.push(part);
    }
    let is_plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let is_system = match parts.as_slice() {
        [top] => SYSTEM.contains(top) || SHARED.contains(top),
        [] | ["home", _] => true,
        ["var", below, ..] if SYSTEM_VAR.contains(below) => true,
        [top, ..] => SYSTEM.contains(top) || SHARED_BELOW.iter().any(|shared| path == Path::new(shared)),
    };
    (is_plain && !is_system).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_names_where_its_results_are() {
        let check = |instruction: &str, expected: &[&str]| {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(named_paths(instruction), expected, "{instruction}");
        };
        check("Write to `/output/scenario_3.json`:", &["/output/scenario_3.json"]);
        check("Write it to /output/plan.json.", &["/output/plan.json"]);
        check("(/outputs/a.mp4, \"/outputs/b.json\")", &["/outputs/a.mp4", "/outputs/b.json"]);
        check("Save all to /results/ and to /results/x/y.csv", &["/results"]);
        check("one file for each: /outputs/seg_*.wav", &["/outputs"]);
        check("/outputs/{name}.json, /reports/<id>/a.txt", &["/outputs", "/reports"]);
        check("/*.txt", &[]);
        check("结果写入 /输出/结果.json。", &["/输出/结果.json"]);
        check("Answer:/answer/a.txt", &["/answer/a.txt"]);
        check("/root/patches/ and /root/report.csv", &["/root/patches", "/root/report.csv"]);
        check(
            "/srv/www/index.html, /var/www, /var/log/a.log",
            &["/srv/www/index.html", "/var/log/a.log", "/var/www"],
        );
        check("/tmp/result.txt and /home/user/notes.md", &["/home/user/notes.md", "/tmp/result.txt"]);
    }

    #[test]
    fn nothing_of_the_system_is_work() {
        for instruction in [
            "#!/bin/bash",
            "run /usr/bin/python3, /usr/local/lib/x.py and /opt/venv/bin/python",
            "/etc/nginx/nginx.conf /lib64/x /sbin/init /proc/self/fd /dev/null /sys/x /run/x",
            "/tests/expected.txt /logs/verifier/reward.txt /solution/solve.sh",
            "/ /root /root/ /home /home/user /tmp /var /var/log /srv /mnt",
            "/root/.bashrc /home/user/.config/git/config /data/.git/hooks/x",
            "/var/lib/dpkg/status /var/run/x /var/spool/cron/root",
            "/data/../etc/passwd /data/./x",
            "https://example.com/output/a.json, //host/share, ~/notes.md, ./a/b, a/b, 1/2",
            "</b> ${HOME}/x $HOME/x <dir>/x *.d/x",
        ] {
            assert_eq!(named_paths(instruction), Vec::<PathBuf>::new(), "{instruction}");
        }
    }
}
