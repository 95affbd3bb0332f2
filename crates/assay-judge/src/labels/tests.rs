use assay_store::Mark;

use super::*;

/// A folder with a store that has a sheet `s`, of two items.
fn lab() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store")).unwrap();
    let sheet = write_sheet(folder.path(), "s", &["a", "b"]);
    store.add_sheet(&read_sheet_file(&sheet, None).unwrap()).unwrap();
    (folder, store)
}

fn write_sheet(folder: &Path, name: &str, items: &[&str]) -> PathBuf {
    let path = folder.join(format!("{name}.jsonl"));
    let row = |item: &&str| {
        // Two tasks of one name: only the items tell them apart.
        json!({ "item": item, "task": "report", "criterion": format!("c of {item}"), "material": "m" })
    };
    let text: String = items.iter().map(|item| format!("{}\n", row(item))).collect();
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

fn request<'a>(out: Option<&'a Path>, feedback: Option<&'a Path>) -> LabelRequest<'a> {
    LabelRequest { sheet: "s", out, feedback, annotator: "ann" }
}

fn rows(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_table_has_a_label_for_each_item_also_of_tasks_of_one_name() {
    let (folder, store) = lab();
    let marks = [("a", "x", true), ("a", "y", true), ("b", "x", false), ("b", "y", true)];
    let marks = marks.map(|(item, who, label)| Mark::now(item, who, Some(label), ""));
    store.add_marks("s", &marks).unwrap();
    let out = folder.path().join("labels.jsonl");
    let labels = make_labels(&store, &request(Some(&out), None)).unwrap();
    let found: Vec<_> = rows(&out)
        .iter()
        .map(|row| (row["item"].clone(), row["label"].clone(), row["decided"].clone()))
        .collect();
    let expected =
        [(json!("a"), json!(true), json!("unanimous")), (json!("b"), json!(null), json!("undecided"))];
    assert_eq!(found, expected);
    let document = labels.summary.to_json();
    assert_eq!((&document["labeled"], &document["pairs"][0]["equal"]), (&json!(1), &json!(0.5)));
    assert!(
        labels.summary.to_text().starts_with("s: 2 items, 1 labeled (1 unanimous, 1 undecided)\n"),
        "{}",
        labels.summary.to_text()
    );
}

#[test]
fn reviews_become_marks_once() {
    let (folder, store) = lab();
    let feedback = folder.path().join("feedback.json");
    let reviews = json!({ "status": "complete", "reviews": [
        { "run_id": "a", "feedback": "" }, { "run_id": "b", "feedback": "Too long." },
        { "run_id": "elsewhere", "feedback": "" },
    ] });
    std::fs::write(&feedback, reviews.to_string()).unwrap();
    let added = |store: &Store| make_labels(store, &request(None, Some(&feedback))).unwrap().added.unwrap();
    assert_eq!(added(&store).to_json(), json!({ "marks": 2, "present": 0, "unknown": ["elsewhere"] }));
    assert_eq!(added(&store).to_json(), json!({ "marks": 0, "present": 2, "unknown": ["elsewhere"] }));
    let marks = store.marks("s").unwrap();
    let marks: Vec<_> = { marks.by_item("ann").into_values() }
        .map(|mark| (mark.item.as_str(), mark.label, mark.note.as_str()))
        .collect();
    assert_eq!(marks, [("a", Some(true), ""), ("b", None, "Too long.")]);
}

#[test]
fn what_cannot_be_labeled_is_an_error_and_writes_nothing() {
    let (folder, store) = lab();
    let write = |name: &str, value: &Value| {
        let path = folder.path().join(name);
        std::fs::write(&path, value.to_string()).unwrap();
        path
    };
    let out = folder.path().join("labels.jsonl");
    let check = |request: LabelRequest<'_>, expected: &str| {
        let error = make_labels(&store, &request).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!out.exists() && store.marks("s").unwrap().annotators().is_empty(), "{expected}");
    };
    check(LabelRequest { sheet: "other", ..request(Some(&out), None) }, "other");
    check(request(Some(Path::new("labels.csv")), None), "labels are written as JSON Lines");
    let other = json!({ "status": "complete", "reviews": [{ "run_id": "x", "feedback": "" }] });
    let other = write("other.json", &other);
    check(request(Some(&out), Some(&other)), "none of its runs is an item of s");
    let wrong = write("wrong.json", &json!({ "reviews": [{ "run_id": "a", "feedback": 1 }] }));
    check(request(Some(&out), Some(&wrong)), "review 1: `feedback` must be a text");
    let annotator = LabelRequest { annotator: "adjudicated", ..request(None, Some(&wrong)) };
    check(annotator, "cannot be the name of an annotator");
    check(request(None, Some(Path::new("/nowhere.json"))), "cannot open /nowhere.json");
}

#[test]
fn sheets_of_one_name_do_not_replace_each_other() {
    let (folder, store) = lab();
    let other = write_sheet(&folder.path().join("more"), "s", &["c"]);
    let other = read_sheet_file(&other, None).unwrap();
    assert_eq!(other.name(), "s");
    assert_eq!(store.add_sheet(&other).unwrap(), assay_store::AddedSheet::Differs);
    let ids: Vec<String> =
        store.sheet("s").unwrap().items().iter().map(|item| item.id().to_owned()).collect();
    assert_eq!(ids, ["a", "b"]);
    let check = |path: &Path, name: Option<&str>, expected: &str| {
        let error = read_sheet_file(path, name).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(&folder.path().join("s.jsonl"), Some("../s"), "cannot be the name of a sheet");
    let wrong = folder.path().join("wrong.jsonl");
    std::fs::write(&wrong, "{\"criterion\": \"c\", \"material\": \"m\"}\n{\n").unwrap();
    check(&wrong, None, "wrong.jsonl: line 2: ");
}
