//! Damaged tables: each is read to its end, or refused.

use assay_test::{fuzz, shared_seeds};

use crate::{TableReader, read_documents};

fn read(name: &str, bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    if let Ok(reader) = TableReader::open(&path) {
        reader.take(10_000).for_each(drop);
    }
}

#[test]
fn damaged_csv_never_panics() {
    let mut seeds = shared_seeds("trials", &[".csv"], 20);
    seeds.push(b"task,condition,score\n\"a\nb\",none,0.5\n\"c \"\"d\"\"\",curated,1e-3\n".to_vec());
    fuzz(&seeds, |bytes| read("t.csv", bytes));
}

#[test]
fn damaged_json_lines_never_panic() {
    let mut seeds = shared_seeds("trials", &[".jsonl"], 20);
    seeds.push(
        b"{\"task\":\"a\",\"score\":1,\"more\":[1,{\"b\":null}]}\n\n{\"task\":\"\\u00e4\",\"score\":-0.5}\n"
            .to_vec(),
    );
    fuzz(&seeds, |bytes| read("t.jsonl", bytes));
    fuzz(&seeds, |bytes| read("t.jsonl.zst", &zstd::encode_all(bytes, 1).unwrap()));
}

#[test]
fn damaged_documents_never_panic() {
    let mut seeds = shared_seeds("harbor", &[".json"], 20);
    seeds.push(b"{\"results\": [\n {\"task_id\": \"a\", \"reward\": 1}\n]}\n{\"b\": 2}\n".to_vec());
    fuzz(&seeds, |bytes| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        if let Ok(documents) = read_documents(file.path()) {
            let lines: Vec<u64> = documents.map(|document| document.line).collect();
            assert!(lines.is_sorted());
        }
    });
}

#[cfg(feature = "parquet")]
#[test]
fn damaged_parquet_never_panics() {
    use crate::{Column, Kind, TableWriter, Value, WriteFormat};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let kinds = [("a", Kind::Text), ("b", Kind::Float), ("c", Kind::Integer), ("d", Kind::Bool)];
    let columns = kinds.map(|(name, kind)| Column::new(name, kind)).to_vec();
    let mut writer = TableWriter::create(&path, WriteFormat::Parquet, columns).unwrap();
    for number in 0..20 {
        let row = [
            Value::Text(format!("text {number}")),
            Value::Float(0.25),
            if number % 3 == 0 { Value::Null } else { Value::Integer(number) },
            Value::Bool(true),
        ];
        writer.write(&row).unwrap();
    }
    writer.finish().unwrap();
    fuzz(&[std::fs::read(&path).unwrap()], |bytes| read("t.parquet", bytes));
}
