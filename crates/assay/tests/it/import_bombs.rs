//! Small files that unfold to a lot: each is refused within a bounded amount of memory, by the name of a bound.

use std::io::{Read, repeat};
use std::process::Command;

use crate::fixture::Fixture;

/// Most memory of any import, in KiB.
const MOST: u64 = 512 << 10;

/// Prints the peak of the resident memory of a program in KiB, as getrusage(2) counts it, and its exit status.
const MEASURE: &str = "import resource, subprocess, sys\n\
    code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n\
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

#[test]
fn each_bomb_is_refused_within_bounded_memory() {
    let lab = Fixture::new();
    let check = |name: &str, bytes: Vec<u8>, command: &[&str], expected: &str| {
        assert!(bytes.len() < 200 << 10, "{name} has {} bytes", bytes.len());
        lab.write(name, bytes);
        let assay = env!("CARGO_BIN_EXE_assay");
        let output = Command::new("python3")
            .current_dir(lab.folder())
            .args(["-c", MEASURE, assay, "--store", "s"])
            .args(command)
            .env("HOME", lab.path("home"))
            .output()
            .unwrap();
        let (told, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let (peak, code) = told.trim().split_once(' ').unwrap();
        assert!(said.contains(expected) && code != "0" && !code.starts_with('-'), "{name}: {code} {said}");
        assert!(peak.parse::<u64>().unwrap() <= MOST, "{name}: {peak} KiB");
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
