//! Embeds the lines of standard input, and prints texts a second, texts a CPU-second, and the
//! seconds it took to open the model.
//!
//!     cargo run --release -p assay-encoder --example embed -- FOLDER [TIMES] < texts.jsonl
//!
//! Each line is a JSON string. With the word `vectors` in place of a number, the vectors are
//! printed, one JSON array a line.

#![expect(clippy::print_stdout, reason = "an example prints what it finds")]

use std::io::BufRead;
use std::time::Instant;

use assay_encoder::{Encoder, Kind};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("a model's folder is the first argument")?;
    let times = arguments.next().unwrap_or_else(|| "3".to_owned());
    let texts: Vec<String> = std::io::stdin()
        .lock()
        .lines()
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect::<Result<_, Box<dyn std::error::Error>>>()?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let opened = Instant::now();
    let encoder = Encoder::open(folder.as_ref())?;
    let opened = opened.elapsed().as_secs_f64();
    if times == "vectors" {
        for vector in encoder.embed(&texts, Kind::Document, &|_| {})? {
            println!("{}", serde_json::to_string(&vector)?);
        }
        return Ok(());
    }
    for _ in 0..times.parse::<usize>()? {
        let (start, cpu) = (Instant::now(), cpu_seconds()?);
        encoder.embed(&texts, Kind::Document, &|_| {})?;
        let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds()? - cpu);
        let count = texts.len() as f64;
        println!("{:.2} {:.2} {opened:.3}", count / seconds, count / cpu);
    }
    Ok(())
}

/// What all threads have used, as the scheduler counts it.
fn cpu_seconds() -> Result<f64, Box<dyn std::error::Error>> {
    let mut nanoseconds = 0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let line = std::fs::read_to_string(task?.path().join("schedstat"))?;
        nanoseconds += line.split(' ').next().unwrap_or("0").parse::<u64>()?;
    }
    Ok(nanoseconds as f64 / 1e9)
}
