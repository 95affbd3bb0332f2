use assay_lint::safety::*;
use std::io::{BufRead, Write};
use std::sync::Mutex;
fn main() {
    let lines: Vec<String> = std::io::stdin().lock().lines().map_while(Result::ok).collect();
    let out = Mutex::new(std::io::stdout());
    let start = std::time::Instant::now();
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(line) = lines.get(i) else { break };
                    let r: serde_json::Value = serde_json::from_str(line).unwrap();
                    let text = r["skill_md"].as_str().unwrap_or_default();
                    let bundle = Bundle {
                        document: Some("SKILL.md".into()),
                        description: r["description"].as_str().unwrap_or_default().into(),
                        files: vec![File {
                            path: "SKILL.md".into(),
                            bytes: text.as_bytes().to_vec(),
                            truncated: false,
                        }],
                        ..Bundle::default()
                    };
                    let t = std::time::Instant::now();
                    let found = scan(&bundle);
                    let took = t.elapsed();
                    if took.as_millis() > 200 {
                        eprintln!("slow {:?} {} {}", took, r["id"], text.len());
                    }
                    let mut o = out.lock().unwrap();
                    for f in found {
                        let ex = f.span.as_ref().map(|s| {
                            let a = s.start.min(text.len());
                            let b = s.end.min(text.len());
                            text.get(a..b).unwrap_or("?").chars().take(160).collect::<String>()
                        });
                        let _ = writeln!(
                            o,
                            "{}",
                            serde_json::json!([
                                r["repo"],
                                r["id"],
                                f.rule.code,
                                f.severity,
                                f.message,
                                ex,
                                f.span.map(|s| s.start)
                            ])
                        );
                    }
                }
            });
        }
    });
    eprintln!("{:?}", start.elapsed());
}
