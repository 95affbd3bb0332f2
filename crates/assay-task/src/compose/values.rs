//! Sizes in compose files, and the lines of the keys of `main`.

use std::collections::BTreeMap;

/// Keys of `main` that `task.toml` may state as well, each after the keys that it is within.
const KEYS: [(&str, &[&str]); 6] = [
    ("cpus", &["cpus"]),
    ("mem_limit", &["mem_limit"]),
    ("network_mode", &["network_mode"]),
    ("networks", &["networks"]),
    ("deploy.cpus", &["deploy", "limits", "cpus"]),
    ("deploy.memory", &["deploy", "limits", "memory"]),
];

/// The lines of the keys of the service `main`, from 1.
pub(super) fn lines_of_main(text: &str) -> BTreeMap<&'static str, usize> {
    let lines: Vec<&str> = text.lines().collect();
    let starts = |line: &str, key: &str| line.trim_start().trim_start_matches(['"', '\'']).starts_with(key);
    let indent = |line: &str| line.len() - line.trim_start().len();
    let Some(first) = lines.iter().position(|line| starts(line, "main:")) else { return BTreeMap::new() };
    let is_within = |line: &&&str| line.trim().is_empty() || indent(line) > indent(lines[first]);
    let end = first + 1 + lines[first + 1..].iter().take_while(is_within).count();
    let mut found = BTreeMap::new();
    for (name, path) in KEYS {
        let mut from = Some(first);
        for key in path {
            let key = format!("{key}:");
            let next = |from: usize| {
                let inline = lines[from].contains(&key).then_some(from);
                inline.or_else(|| {
                    (from + 1..end).find(|line| {
                        starts(lines[*line], &key) || lines[*line].contains(&format!("{{ {key}"))
                    })
                })
            };
            from = from.and_then(next);
        }
        found.extend(from.map(|line| (name, line + 1)));
    }
    found
}

/// Bytes as Docker writes them: `512m`, `1.5g`, `2GB`, `1024`.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: u64 = match text[digits.len()..].trim_end_matches('b').trim_end_matches('i') {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return None,
    };
    let number: f64 = digits.trim().parse().ok()?;
    let bytes = number * factor as f64;
    format!("{bytes:.0}").parse().ok().filter(|_| number >= 0.0)
}
