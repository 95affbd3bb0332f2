//! Small files that unfold to a lot: each is refused within a bounded amount of memory, by the name of a bound.

use std::io::{Read, repeat};
use std::process::Command;

use crate::fixture::Fixture;

/// Most memory of any import, in KiB.
const MOST: u64 = 512 << 10;

/// Prints the peak of the resident memory of a program in KiB, as getrusage(2) counts it, and its exit status.
const MEASURE: &str = "import resource, subprocess, sys\n\
    code = subprocess.run(sys.argv[1:], stdout=sys.stderr).returncode\n\
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, code)";

/// Compressed: a beginning, a part many times, and an end.
fn packed(begin: &str, part: &'static str, bytes: u64, end: &str) -> Vec<u8> {
    let parts = part.as_bytes().repeat((64 << 10) / part.len() + 1);
    let times = bytes / parts.len() as u64 + 1;
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    std::io::Write::write_all(&mut encoder, begin.as_bytes()).unwrap();
    for _ in 0..times {
        std::io::Write::write_all(&mut encoder, &parts).unwrap();
    }
    std::io::Write::write_all(&mut encoder, end.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// An archive whose first file has this name and content.
fn archive(name: &str, begin: &str, part: &'static str, bytes: u64) -> Vec<u8> {
    let content = begin.len() as u64 + bytes;
    let mut header = tar::Header::new_ustar();
    header.set_path(name).unwrap();
    header.set_size(content);
    header.set_mode(0o644);
    header.set_cksum();
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    std::io::Write::write_all(&mut encoder, header.as_bytes()).unwrap();
    std::io::Write::write_all(&mut encoder, begin.as_bytes()).unwrap();
    let parts = part.as_bytes().repeat((1 << 20) / part.len());
    let mut left = bytes;
    while left > 0 {
        let next = parts.len().min(usize::try_from(left).unwrap());
        std::io::Write::write_all(&mut encoder, &parts[..next]).unwrap();
        left -= next as u64;
    }
    std::io::copy(&mut repeat(0).take(2048), &mut encoder).unwrap();
    encoder.finish().unwrap()
}

/// The peak of the memory of a command in KiB, its status, and what it printed.
fn measured(lab: &Fixture, command: &[&str]) -> (u64, String, String) {
    let assay = env!("CARGO_BIN_EXE_assay");
    let output = Command::new("python3")
        .current_dir(lab.folder())
        .args(["-c", MEASURE, assay, "--store", "s"])
        .args(command)
        .env("HOME", lab.path("home"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let (peak, code) = told.trim().split_once(' ').unwrap();
    (peak.parse().unwrap(), code.to_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// YAML that unfolds, nests or is long: as front matter of a skill, and as a compose file of a task.
#[test]
fn bombs_of_yaml_are_refused_in_bounded_time_and_memory() {
    let nine = |at: usize| {
        format!("a{at}: &a{at} [{}]\n", [format!("*a{}", at.saturating_sub(1)).as_str()].repeat(9).join(", "))
    };
    let aliases = format!("a0: &a0 [x, x, x]\n{}", (1..12).map(nine).collect::<String>());
    let nested: String = (0..1_500).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let bombs = [
        ("aliases", aliases, "alias replay limit exceeded", "alias replay limit exceeded"),
        (
            "flow",
            format!("k: {}{}\n", "[".repeat(100_000), "]".repeat(100_000)),
            "recursion limit",
            "recursion limit",
        ),
        ("nested", nested, "of which at most 262144 are read", "larger than 1048576 bytes"),
        (
            "shallow",
            (0..700).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect(),
            "budget breached",
            "budget breached",
        ),
        (
            "long",
            format!("k: \"{}\"\n", "x".repeat(5_000_000)),
            "of which at most 262144 are read",
            "larger than",
        ),
        ("keys", (0..300_000).map(|key| format!("k{key}: 1\n")).collect(), "at most 262144", "larger than"),
        ("itself", "b: &b {<<: *b}\n".to_owned(), "recursive references", "recursive references"),
    ];
    let mut lab = Fixture::new();
    for (name, yaml, ..) in &bombs {
        let skill = format!("---\nname: {name}\ndescription: A skill.\n{yaml}---\nText.\n");
        lab = lab
            .file(&format!("skills/{name}/SKILL.md"), skill)
            .task(name, |task| task.dockerfile("FROM debian:12-slim\nWORKDIR /app\n"))
            .file(
                &format!("tasks/{name}/environment/docker-compose.yaml"),
                format!("services:\n  main:\n    build: .\n{yaml}"),
            );
    }
    for (name, _, of_skill, of_task) in bombs {
        let (skill, task) = (format!("skills/{name}"), format!("tasks/{name}"));
        for (command, expected) in [(["lint", &skill, "-v"], of_skill), (["task", "check", &task], of_task)] {
            let more: &[&str] = if command[0] == "task" { &["--static"] } else { &[] };
            let began = std::time::Instant::now();
            let (peak, _, said) = measured(&lab, &[&command[..], more].concat());
            // Twenty times as long as it takes.
            assert!(began.elapsed().as_secs() < 40, "{command:?}: {:?}", began.elapsed());
            assert!(peak < 200 << 10, "{command:?}: {peak} KiB");
            assert!(said.contains(expected), "{command:?}: {said}");
        }
    }
}

/// Files of a gibibyte in place of documents that are read whole.
#[test]
fn documents_that_are_read_whole_are_bounded() {
    let lab = Fixture::new().file("skills/a/SKILL.md", "---\nname: a\ndescription: A skill.\n---\nText.\n");
    for name in ["huge.toml", "huge.json", "huge.md", "huge.jsonl", "docs/huge.md", "d/draft.json"] {
        lab.write(name, "");
        let file = std::fs::File::options().write(true).open(lab.path(name)).unwrap();
        file.set_len(1 << 30).unwrap();
    }
    let model = ["--model", "scripted:none.jsonl"];
    let check = |command: &[&str], expected: &str| {
        let (peak, code, said) = measured(&lab, command);
        assert!(said.contains(expected) && code == "2", "{command:?}: {code} {said}");
        assert!(peak < 200 << 10, "{command:?}: {peak} KiB");
    };
    check(&["gate", "huge.toml"], "more than 8 MiB");
    check(&["run", "huge.toml"], "more than");
    check(&["lint", "skills", "--baseline", "huge.json"], "more than 64 MiB");
    check(&["lint", "skills", "--config", "huge.toml"], "more than 1048576 bytes");
    check(&["draft", "needs", "huge.md"], "more than");
    check(&[&["draft", "skill", "from-docs", "docs"], &model[..]].concat(), "more than 1 MiB");
    check(&["draft", "status", "d"], "more than 8 MiB");
}

#[test]
fn each_bomb_is_refused_within_bounded_memory() {
    let lab = Fixture::new();
    let check = |name: &str, bytes: Vec<u8>, command: &[&str], expected: &str| {
        assert!(bytes.len() < 200 << 10, "{name} has {} bytes", bytes.len());
        lab.write(name, bytes);
        let (peak, code, said) = measured(&lab, command);
        assert!(said.contains(expected) && code != "0" && !code.starts_with('-'), "{name}: {code} {said}");
        assert!(peak <= MOST, "{name}: {peak} KiB");
    };
    let run = ["import", "run", "b.run.tar.zst"];
    check("b.run.tar.zst", archive("manifest.json", "[", "0,", 100 << 20), &run, "more than 48 MiB");
    check("b.run.tar.zst", archive("manifest.json", "[", "0,", 40 << 20), &run, "not JSON");
    let table = |name| ["import", "table", name];
    let head = "task,condition,score\n";
    check(
        "b.csv.zst",
        packed(head, "aaaaaaaa", 600 << 20, ""),
        &table("b.csv.zst"),
        "a line or row has more than 8 MiB",
    );
    check(
        "b.csv.zst",
        packed(head, "a,", 100 << 20, "\n"),
        &table("b.csv.zst"),
        "a line or row has more than 8 MiB",
    );
    check("b.csv.zst", packed("", "a,", 4 << 20, "\n"), &table("b.csv.zst"), "more than 10000 columns");
    check(
        "b.csv.zst",
        packed(head, "t,none,1\n", 100 << 20, ""),
        &table("b.csv.zst"),
        "of memory, the most for one import",
    );
    check("b.csv.zst", packed(head, "t\n", 100 << 20, ""), &table("b.csv.zst"), "more than 1000000 rows");
    check(
        "b.jsonl.zst",
        packed("{\"a\":[", "[],", 30 << 20, "0]}\n"),
        &table("b.jsonl.zst"),
        "192 MiB of memory",
    );
    check("b.jsonl.zst", packed("", "a", 300 << 20, ""), &table("b.jsonl.zst"), "longer than 32 MiB");
    let benchmark = ["import", "jsonl-skillsbench", "b.json.zst"];
    check("b.json.zst", packed("[", "0,", 90 << 20, "0]"), &benchmark, "192 MiB of memory");
    check("b.json.zst", packed("[", "0,", 200 << 20, "0]"), &benchmark, "more than 96 MiB");
    let stats = ["trace", "show", "b.json.zst"];
    check("b.json.zst", packed("{\"messages\":[", "[],", 60 << 20, "0]}"), &stats, "192 MiB of memory");
    check("b.json.zst", packed("{\"messages\":[", "[],", 200 << 20, "0]}"), &stats, "larger than 64 MiB");
}
