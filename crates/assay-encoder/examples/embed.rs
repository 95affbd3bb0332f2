//! Embeds the lines of standard input, and prints texts a second.
//!
//!     cargo run --release -p assay-encoder --example embed -- FOLDER [TIMES] < texts.jsonl
//!
//! Each line is a JSON string. With the word `vectors` in place of a number, the vectors are printed, one JSON array a line.

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
        let start = Instant::now();
        encoder.embed(&texts, Kind::Document, &|_| {})?;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{:.2} texts a second, {} texts, opened in {opened:.3} s",
            texts.len() as f64 / seconds,
            texts.len()
        );
    }
    Ok(())
}
