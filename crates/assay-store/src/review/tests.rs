use serde_json::json;

use super::*;

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store")).unwrap();
    (folder, store)
}

/// A sheet with items of these ids.
fn sheet(ids: &[&str]) -> Sheet {
    let row = |(at, id): (usize, &&str)| {
        let row = json!({ "item": id, "criterion": "c", "material": "m", "condition": "none" });
        (at as u64 + 1, row)
    };
    Sheet::new("s", ids.iter().enumerate().map(row).collect()).unwrap()
}

fn mark(item: &str, annotator: &str, label: Option<bool>) -> Mark {
    Mark::now(item, annotator, label, "")
}

#[test]
fn rows_that_are_no_items_are_errors_with_their_line() {
    let check = |rows: &[Value], expected: &str| {
        let rows = rows.iter().cloned().zip(1_u64..).map(|(row, line)| (line * 10, row)).collect();
        let error = Sheet::new("s", rows).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let good = json!({ "criterion": "c", "material": "m" });
    check(&[], "no items");
    check(&[good.clone(), json!([1])], "line 20: not a JSON object");
    check(&[json!({ "material": "m" })], "line 10: no `criterion`");
    check(&[json!({ "criterion": " ", "material": "m" })], "line 10: no `criterion`");
    check(&[json!({ "criterion": 1, "material": "m" })], "line 10: `criterion` must be a text");
    check(&[json!({ "criterion": "c" })], "line 10: no material");
    check(&[json!({ "criterion": "c", "materials": { "a": 1 } })], "`materials` must be an object whose");
    check(&[json!({ "criterion": "c", "material": "m", "item": [] })], "`item` must be a text");
    check(&[json!({ "criterion": "c", "material": "m", "label": true })], "`label` is a column that");
    let second = json!({ "criterion": "c", "material": "m", "item": 1 });
    check(&[good, second], "line 20: the item \"1\" is on line 10 too");
}

#[test]
fn items_have_texts_and_hidden_columns() {
    let row = json!({
        "criterion": "c", "task": "t", "context": "x", "instruction": "i", "materials": { "diff": "d", "answer": "a" },
        "condition": "none", "cluster": 3, "verdict": null,
    });
    let sheet = Sheet::new("s", vec![(1, row)]).unwrap();
    let item = &sheet.items()[0];
    assert_eq!((item.id(), item.criterion(), item.cluster().as_deref()), ("1", "c", Some("3")));
    assert_eq!(item.context(), [("Instruction", "i"), ("Task", "t"), ("Context", "x")]);
    assert_eq!(item.materials(), [("diff", "d"), ("answer", "a")]);
    assert_eq!(sheet.hidden().into_iter().collect::<Vec<_>>(), ["cluster", "condition", "item", "verdict"]);
}

#[test]
fn sheets_are_shuffled_by_their_name_and_never_replaced() {
    let (_folder, store) = store();
    let ids: Vec<String> = (0..40).map(|id| id.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let one = sheet(&ids);
    let shown: Vec<&str> = one.shown().map(SheetItem::id).collect();
    assert_ne!(shown, ids);
    let mut sorted = shown.clone();
    sorted.sort_by_key(|id| id.parse::<u32>().unwrap());
    assert_eq!(sorted, ids);
    let rows = one.items().iter().map(|item| (1, Value::Object(item.row().clone()))).collect();
    let other = Sheet::new("other", rows).unwrap();
    assert_ne!(other.shown().map(SheetItem::id).collect::<Vec<_>>(), shown);
    assert_eq!(store.add_sheet(&one).unwrap(), AddedSheet::New);
    assert_eq!(store.add_sheet(&one).unwrap(), AddedSheet::Present);
    assert_eq!(store.add_sheet(&sheet(&["1"])).unwrap(), AddedSheet::Differs);
    assert_eq!(store.sheet_names(), ["s"]);
    assert_eq!(store.sheet("s").unwrap(), one);
    assert!(store.sheet("..").is_err());
}

#[test]
fn later_marks_replace_earlier_ones_and_can_be_undone() {
    let (_folder, store) = store();
    store.add_sheet(&sheet(&["a", "b"])).unwrap();
    let labels = |annotator: &str| -> Vec<(String, Option<bool>)> {
        let marks = store.marks("s").unwrap();
        marks.by_item(annotator).into_iter().map(|(item, mark)| (item.to_owned(), mark.label)).collect()
    };
    let is = |item: &str, label| (item.to_owned(), label);
    assert_eq!(store.undo_mark("s", "ann").unwrap(), None);
    for (item, annotator, label) in
        [("a", "ann", Some(true)), ("a", "ben", Some(false)), ("b", "ann", None), ("a", "ann", Some(false))]
    {
        store.add_marks("s", &[mark(item, annotator, label)]).unwrap();
    }
    assert_eq!(labels("ann"), [is("a", Some(false)), is("b", None)]);
    // Marks are undone from the last to the first, each annotator's own.
    assert_eq!(store.undo_mark("s", "ann").unwrap().as_deref(), Some("a"));
    assert_eq!(labels("ann"), [is("a", Some(true)), is("b", None)]);
    assert_eq!(store.undo_mark("s", "ann").unwrap().as_deref(), Some("b"));
    assert_eq!(store.undo_mark("s", "ann").unwrap().as_deref(), Some("a"));
    assert_eq!(store.undo_mark("s", "ann").unwrap(), None);
    assert_eq!(labels("ann"), []);
    assert_eq!(labels("ben"), [is("a", Some(false))]);
    assert_eq!(store.marks("s").unwrap().annotators(), ["ben"]);
    // Nothing is removed from the log.
    let log = fs::read_to_string(store.review_folder("s").join("marks.jsonl")).unwrap();
    assert_eq!(log.lines().count(), 4 + 3, "{log}");
}

#[test]
fn a_line_that_a_crash_cut_off_is_dropped_and_a_damaged_one_named() {
    let (_folder, store) = store();
    store.add_sheet(&sheet(&["a"])).unwrap();
    let path = store.review_folder("s").join("marks.jsonl");
    store.add_marks("s", &[mark("a", "ann", Some(true))]).unwrap();
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{whole}{{\"item\":\"a\",\"ann")).unwrap();
    assert_eq!(store.marks("s").unwrap().annotators(), ["ann"]);
    store.add_marks("s", &[mark("a", "ben", None)]).unwrap();
    assert_eq!(store.marks("s").unwrap().annotators(), ["ann", "ben"]);
    fs::write(&path, format!("{whole}{{\"item\":\"a\",\"annotator\":\"b\",\"label\":1}}\n")).unwrap();
    let error = store.marks("s").unwrap_err().to_string();
    assert!(error.contains("line 2: `label` must be true, false or null"), "{error}");
}

#[test]
fn many_writers_lose_no_line() {
    let (_folder, store) = store();
    store.add_sheet(&sheet(&["a"])).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for _ in 0..10 {
                    store.add_marks("s", &[mark("a", &format!("w{writer}"), Some(true))]).unwrap();
                }
            });
        }
    });
    let log = fs::read_to_string(store.review_folder("s").join("marks.jsonl")).unwrap();
    assert_eq!(log.lines().count(), 80);
    assert_eq!(store.marks("s").unwrap().annotators().len(), 8);
}

#[test]
fn labels_are_adjudicated_unanimous_or_of_more_than_half() {
    let check = |given: &[Option<bool>], adjudicated: Option<Option<bool>>, expected, needs: bool| {
        let sheet = sheet(&["a"]);
        let mut marks = Marks::default();
        for (at, label) in given.iter().enumerate() {
            marks.add(mark("a", &format!("p{at}"), *label));
        }
        if let Some(label) = adjudicated {
            marks.add(mark("a", ADJUDICATED, label));
        }
        let found = decide(&sheet, &marks).remove(0);
        assert_eq!((found.label, found.basis), expected, "{given:?} {adjudicated:?}");
        assert_eq!(found.needs_adjudication(), needs, "{given:?}");
        assert_eq!(found.marks.len(), given.len());
    };
    let (yes, no, unknown) = (Some(true), Some(false), None);
    check(&[], None, (None, Basis::Unmarked), false);
    check(&[yes], None, (yes, Basis::Unanimous), false);
    check(&[no, no], None, (no, Basis::Unanimous), false);
    check(&[yes, no], None, (None, Basis::Undecided), true);
    check(&[yes, no, no], None, (no, Basis::Majority), true);
    check(&[yes, unknown], None, (None, Basis::Undecided), true);
    check(&[yes, unknown, unknown], None, (None, Basis::Majority), true);
    check(&[unknown], None, (None, Basis::Unanimous), true);
    check(&[yes, no], Some(yes), (yes, Basis::Adjudicated), true);
    check(&[yes, yes], Some(unknown), (None, Basis::Adjudicated), false);
}

#[test]
fn names_of_annotators_have_no_meaning_of_their_own() {
    for good in ["ann", "B.-2"] {
        assert!(is_annotator_name(good), "{good}");
    }
    for bad in ["", "adjudicate", "adjudicated", "../x", "a b", ".x"] {
        assert!(!is_annotator_name(bad), "{bad}");
    }
}
