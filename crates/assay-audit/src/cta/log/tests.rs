use super::*;

fn log(lines: &[&str]) -> (Log, Vec<Remark>) {
    read(&mut lines.join("\n").as_bytes()).expect("memory can be read")
}
