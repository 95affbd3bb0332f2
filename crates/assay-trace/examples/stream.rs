//! Streams a generated log of the given size through the counting of `assay trace stats`, and
//! prints the time and memory it took.
//!
//!     cargo run --release --package assay-trace --example stream -- 1000000000

use std::collections::VecDeque;
use std::io::{self, Read};
use std::time::Instant;

use assay_trace::stats;

/// A log of Claude Code's that is written while it is read: a session of messages in three records
/// each, and their results.
struct Log {
    left: u64,
    message: u64,
    bytes: VecDeque<u8>,
}

impl Log {
    fn refill(&mut self) {
        self.message += 1;
        let number = self.message;
        let usage = r#"{"input_tokens":10,"output_tokens":200,"cache_read_input_tokens":30000,"cache_creation_input_tokens":500}"#;
        let head = |part: u32, kind: &str| {
            format!(
                r#"{{"type":"{kind}","uuid":"{number}-{part}","sessionId":"s","isSidechain":false,"version":"2","timestamp":"2026-01-01T00:00:00Z","#
            )
        };
        let block = |part: u32, block: &str| {
            format!(
                "{}\"message\":{{\"id\":\"m{number}\",\"model\":\"m\",\"content\":[{block}],\"usage\":{usage}}}}}\n",
                head(part, "assistant")
            )
        };
        let text = "words of a file, of a thought or of a command ".repeat(60);
        let records = [
            block(1, &format!(r#"{{"type":"thinking","thinking":"{text}"}}"#)),
            block(2, &format!(r#"{{"type":"text","text":"{text}"}}"#)),
            block(
                3,
                &format!(
                    r#"{{"type":"tool_use","id":"t{number}","name":"Write","input":{{"file_path":"/a","content":"{text}"}}}}"#
                ),
            ),
            format!(
                "{}\"message\":{{\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t{number}\",\"content\":\"{text}\"}}]}},\"toolUseResult\":{{\"content\":\"{text}\"}}}}\n",
                head(4, "user")
            ),
        ];
        self.bytes.extend(records.concat().into_bytes());
    }
}

impl Read for Log {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.bytes.is_empty() && self.left > 0 {
            self.refill();
            self.left = self.left.saturating_sub(self.bytes.len() as u64);
        }
        self.bytes.read(buffer)
    }
}

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn main() {
    let bytes = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000_000);
    let start = Instant::now();
    let log = Log { left: bytes, message: 0, bytes: VecDeque::new() };
    match stats(log, "a made log", None, &[]) {
        Err(error) => println!("{error}"),
        Ok(sessions) => {
            let [stats] = sessions.as_slice() else { return };
            let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
            let peak =
                status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
            println!(
                "{bytes} bytes, {} messages in {} records, {} calls, {:.1} s with the making of the log, peak resident memory {peak}",
                stats.tally.messages,
                stats.tally.records,
                stats.calls,
                start.elapsed().as_secs_f64()
            );
        }
    }
}
