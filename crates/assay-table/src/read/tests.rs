use std::io::Write;

use super::*;
use crate::{Column, Kind, TableWriter, WriteFormat};

fn read(name: &str, bytes: &[u8]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    match TableReader::open(&path) {
        Ok(reader) => reader
            .map(|row| match row {
                Ok(row) => format!("{}: {:?}", row.line, row.cells),
                Err(error) => shown(&error, folder.path()),
            })
            .collect(),
        Err(error) => vec![shown(&error, folder.path())],
    }
}

fn shown(error: &ReadError, folder: &Path) -> String {
    error.to_string().replace(&format!("{}/", folder.display()), "")
}

#[test]
fn lines_are_read_with_their_numbers() {
    let check = |name: &str, bytes: &str, expected: &[&str]| {
        assert_eq!(read(name, bytes.as_bytes()), expected, "{name}: {bytes:?}");
        let packed = zstd::encode_all(bytes.as_bytes(), 3).unwrap();
        let named = |text: &&str| text.replace(name, &format!("{name}.zst"));
        let expected: Vec<String> = expected.iter().map(named).collect();
        assert_eq!(read(&format!("{name}.zst"), &packed), expected, "{name}, compressed: {bytes:?}");
    };
    check("t.csv", "", &[]);
    check("t.csv", "a,b\n", &[]);
    check(
        "t.csv",
        "\u{feff}a, b \n1,\n\"x\ny\",\"q\"\"\"\n3\n4,5,6\n7,8\n",
        &[
            r#"2: {"a": Text("1"), "b": Null}"#,
            r#"3: {"a": Text("x\ny"), "b": Text("q\"")}"#,
            "t.csv:5: 1 values for 2 columns",
            "t.csv:6: 3 values for 2 columns",
            r#"7: {"a": Text("7"), "b": Text("8")}"#,
        ],
    );
    check("t.csv", "a,b,a\n1,2,3\n", &["t.csv:1: two columns have the name \"a\""]);
    check(
        "t.jsonl",
        "\u{feff}{\"a\":1,\"b\":[1]}\n\n  \n{\"a\":1.5,\"c\":true}\n[1]\n{\"a\":\n{\"a\":null}",
        &[
            r#"1: {"a": Integer(1), "b": Text("[1]")}"#,
            r#"4: {"a": Float(1.5), "c": Bool(true)}"#,
            "t.jsonl:5: not a JSON object: invalid type: sequence, expected a map at line 1 column 0",
            "t.jsonl:6: not a JSON object: EOF while parsing a value at line 2 column 0",
            r#"7: {"a": Null}"#,
        ],
    );
}

#[test]
fn damaged_files_are_refused() {
    let check = |name: &str, bytes: &[u8], expected: &[&str]| {
        assert_eq!(read(name, bytes), expected, "{name}");
    };
    let unknown = |name: &str| {
        format!(
            "{name}: unknown kind of table (known: .csv, .jsonl, .ndjson, each also with .zst, and .parquet)"
        )
    };
    for name in ["t.txt", "t", "t.zst", "t.parquet.zst", "csv"] {
        check(name, b"a\n", &[&unknown(name)]);
    }
    check(
        "t.csv",
        b"a,b\n1,\xff\n3,4\n",
        &["t.csv:2: b: not UTF-8", r#"3: {"a": Text("3"), "b": Text("4")}"#],
    );
    check("t.jsonl.zst", b"not compressed", &["cannot read t.jsonl.zst"]);
    let packed = zstd::encode_all(&b"{\"a\":1}\n".repeat(100_000)[..], 3).unwrap();
    let cut = read("t.jsonl.zst", &packed[..packed.len() - 4]);
    assert_eq!(cut.last().map(String::as_str), Some("cannot read t.jsonl.zst"));
    #[cfg(feature = "parquet")]
    assert!(read("t.parquet", b"PAR1 and nothing")[0].starts_with("cannot read t.parquet: "));
    #[cfg(not(feature = "parquet"))]
    check(
        "t.parquet",
        b"",
        &["t.parquet: this build cannot read Parquet: it was compiled without the feature `parquet`"],
    );
}

#[test]
fn long_windows_are_read() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.long_distance_matching(true).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(b"{\"a\":1}\n").unwrap();
    assert_eq!(read("t.jsonl.zst", &encoder.finish().unwrap()), [r#"1: {"a": Integer(1)}"#]);
}

#[test]
fn missing_files_and_directories_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let check = |path: &Path| {
        let error = TableReader::open(path).err().map(|error| shown(&error, folder.path()));
        assert_eq!(error.as_deref(), Some("cannot read t.csv"));
    };
    check(&folder.path().join("t.csv"));
    std::fs::create_dir(folder.path().join("t.csv")).unwrap();
    check(&folder.path().join("t.csv"));
}

#[test]
fn what_was_written_is_read() {
    let columns = || {
        vec![
            Column::new("text", Kind::Text),
            Column::new("float", Kind::Float),
            Column::new("integer", Kind::Integer),
            Column::new("bool", Kind::Bool),
        ]
    };
    let rows = [
        vec![
            Value::Text("a,\n\"🦀".into()),
            Value::Float(0.1 + 0.2),
            Value::Integer(i64::MAX),
            Value::Bool(true),
        ],
        vec![Value::Null, Value::Null, Value::Null, Value::Null],
        vec![Value::Text("b".into()), Value::Float(-1.5), Value::Integer(-1), Value::Bool(false)],
    ];
    let formats = [
        WriteFormat::JsonLines,
        #[cfg(feature = "parquet")]
        WriteFormat::Parquet,
    ];
    for format in formats {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("t.{}", format.extension()));
        let mut writer = TableWriter::create(&path, format, columns()).unwrap();
        for row in &rows {
            writer.write(row).unwrap();
        }
        writer.finish().unwrap();
        let read: Vec<Row> = TableReader::open(&path).unwrap().map(Result::unwrap).collect();
        let expected: Vec<Row> = (1..)
            .zip(&rows)
            .map(|(line, row)| {
                let names = columns().into_iter().map(|column| column.name);
                Row { line, cells: names.zip(row.clone()).collect() }
            })
            .collect();
        assert_eq!(read, expected, "{format:?}");
    }
}
