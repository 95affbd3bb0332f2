//! Damaged input: bytes that are almost right, for parsers that must not panic, whatever they are given.

use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Rounds that are executed even if the time is over.
const FEWEST: u64 = 200;

/// Longest input, in bytes.
const LONGEST: usize = 64 << 10;

/// Pieces that parsers trip over: ends of their numbers, brackets, escapes, and what is no UTF-8.
const PIECES: [&[u8]; 24] = [
    b"0",
    b"-1",
    b"18446744073709551616",
    b"1e300",
    b"nan",
    b"\0",
    b"\xff\xfe",
    b"\xf0\x9f\x92",
    b"\r\n",
    b"\n\n",
    b"\"",
    b"\\u0000",
    b"[[[[[[[[",
    b"{\"a\":",
    b"]}",
    b"---\n",
    b"&a [*a, *a]",
    b"!!binary |",
    b"'''",
    b"Content-Length: 99999999999999999999\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"data: ",
    b"../../",
    b",,,,,,,,",
];

/// Random numbers: xorshift64* (Vigna 2016), from a seed other than 0.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or_default()
    }
}

/// Gives damaged copies of the seeds to `target`, for as many seconds as `ASSAY_FUZZ_SECONDS` says, 2 by default. The
/// number of a round names its input: a failure is repeated with the same seeds.
///
/// # Panics
/// The target does; the message has the input.
pub fn fuzz(seeds: &[Vec<u8>], mut target: impl FnMut(&[u8])) {
    assert!(!seeds.is_empty(), "no seeds");
    let seconds = env::var("ASSAY_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let until = Instant::now() + Duration::from_secs(seconds);
    // Seeds themselves come first: they are what damage begins from.
    let mut round = 0_u64;
    while round < FEWEST || Instant::now() < until {
        let number = usize::try_from(round).unwrap_or(usize::MAX);
        let bytes = match seeds.get(number) {
            Some(seed) => seed.clone(),
            None => damaged(seeds, round),
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| target(&bytes)));
        assert!(
            outcome.is_ok(),
            "round {round}: {}",
            bytes.get(..bytes.len().min(4_000)).unwrap_or_default().escape_ascii()
        );
        round += 1;
    }
    #[expect(clippy::print_stdout, reason = "the log of a test")]
    {
        println!("{round} inputs");
    }
}

/// The damaged copy of a round.
fn damaged(seeds: &[Vec<u8>], round: u64) -> Vec<u8> {
    let mut dice = Dice(round.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut bytes = seeds[dice.below(seeds.len())].clone();
    for _ in 0..=dice.below(6) {
        let at = dice.below(bytes.len() + 1);
        let end = (at + dice.below(64)).min(bytes.len());
        match dice.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            1 if at < bytes.len() => bytes[at] = (dice.next() & 0xff) as u8,
            2 => drop(bytes.drain(at..end)),
            3 => bytes.truncate(at),
            4 => {
                // A part again, once or many times.
                let part = bytes[at..end].repeat(1 + dice.below(8));
                bytes.splice(at..at, part);
            }
            5 => {
                let other = &seeds[dice.below(seeds.len())];
                let from = dice.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            6 => {
                // A number by another.
                let digits = |bytes: &[u8]| bytes.iter().position(u8::is_ascii_digit);
                if let Some(found) = digits(&bytes[at..]) {
                    let begin = at + found;
                    let length = bytes[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                    bytes.splice(begin..begin + length, PIECES[dice.below(5)].iter().copied());
                }
            }
            _ => {
                let piece = PIECES[dice.below(PIECES.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
        }
        bytes.truncate(LONGEST);
    }
    bytes
}

/// Files of the shared data as seeds, where there is any: those below a part whose names end so, the smallest first, at
/// most `most`.
pub fn shared_seeds(part: &str, endings: &[&str], most: usize) -> Vec<Vec<u8>> {
    let Some(root) = crate::shared_if_present(part) else { return Vec::new() };
    let mut files = Vec::new();
    walk(&root, &mut |path, length| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if endings.iter().any(|ending| name.ends_with(ending)) && length <= LONGEST as u64 {
            files.push((length, path));
        }
    });
    files.sort();
    files.into_iter().take(most).filter_map(|(_, path)| fs::read(path).ok()).collect()
}

fn walk(folder: &Path, each: &mut dyn FnMut(PathBuf, u64)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => walk(&entry.path(), each),
            Ok(metadata) if metadata.is_file() => each(entry.path(), metadata.len()),
            _ => {}
        }
    }
}
