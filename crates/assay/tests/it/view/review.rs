//! Items that people label: from a sheet over marks to labels and the errors of a judge.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::Viewer;
use crate::fixture::Fixture;

/// What no page may show.
const HIDDEN: [&str; 5] = ["with-the-skill", "verdict-of-judge", "some-model", "item-", "task-of-item"];

/// Eight items of four clusters, half of them under another condition, with hostile material.
pub(super) fn rows() -> Vec<Value> {
    (0..8)
        .map(|at| {
            json!({
                "item": format!("item-{at}"),
                "criterion": format!("The note names total {at} <b>"),
                "materials": { "answer": format!("total {at}\n</pre><script>window.stolen=1</script>"), "diff": "+1" },
                "context": "A ledger.",
                "cluster": format!("task-of-item-{}", at / 2),
                "condition": if at % 2 == 0 { "none" } else { "with-the-skill" },
                "verdict": at < 4,
                "verdict_reason": "verdict-of-judge",
                "model": "some-model",
            })
        })
        .collect()
}

fn lines(rows: &[Value]) -> String {
    rows.iter().fold(String::new(), |mut all, row| {
        writeln!(all, "{row}").unwrap();
        all
    })
}

/// A store with the sheet `notes`.
pub(super) fn lab() -> Fixture {
    let lab = Fixture::new().file("notes.jsonl", lines(&rows()));
    lab.assay(&["judge", "sheet", "notes.jsonl"]).ok();
    lab
}

/// Status, head and body of the reply to a form.
pub(super) fn post(viewer: &Viewer, path: &str, headers: &str, form: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(&viewer.address).unwrap();
    let length = form.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{form}"
    )
    .unwrap();
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply);
    let reply = String::from_utf8_lossy(&reply).into_owned();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
}

/// The headers that a browser sends with a form of the viewer's own page.
fn own(viewer: &Viewer) -> String {
    format!(
        "Host: {0}\r\nOrigin: http://{0}\r\nSec-Fetch-Site: same-origin\r\nCookie: {1}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n",
        viewer.address,
        viewer.cookie()
    )
}

/// Sends a mark and returns where the reply leads.
fn mark(viewer: &Viewer, path: &str, form: &str) -> String {
    let (status, head, body) = post(viewer, path, &own(viewer), form);
    assert_eq!(status, 303, "{path} {form}: {head} {body}");
    let target = head.split("location: ").nth(1).unwrap();
    target.split("\r\n").next().unwrap().to_owned()
}

/// The place of an item on the pages, from 1.
fn place(viewer: &Viewer, item: usize) -> usize {
    let text = format!("The note names total {item} ");
    let is_at = |place: &usize| viewer.get(&format!("/review/notes/finder/{place}/")).contains(&text);
    (1..=8).find(is_at).unwrap()
}

fn marks(lab: &Fixture) -> Vec<Value> {
    let text = std::fs::read_to_string(lab.path(".assay/reviews/notes/marks.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn pages_show_the_item_and_nothing_that_is_hidden() {
    let lab = lab();
    let viewer = Viewer::start(&lab);
    for path in ["/review/", "/review/notes/", "/review/notes/ann/", "/review/notes/adjudicate/"] {
        let page = viewer.get(path);
        for hidden in HIDDEN {
            assert!(!page.contains(hidden), "{path}: {hidden}: {page}");
        }
    }
    let mut seen = Vec::new();
    for name in ["ann", "adjudicate"] {
        for number in 1..=8 {
            let page = viewer.get(&format!("/review/notes/{name}/{number}/"));
            for shown in ["The note names total ", "A ledger.", "<h2>answer</h2>", "<h2>diff</h2>", "total "]
            {
                assert!(page.contains(shown), "{shown}: {page}");
            }
            for hidden in HIDDEN.into_iter().chain(["<script>window", "</pre><script", "<b>"]) {
                assert!(!page.contains(hidden), "{hidden}: {page}");
            }
            let total = page.split("The note names total ").nth(1).unwrap();
            seen.push(total[..1].parse::<usize>().unwrap());
        }
    }
    // Shuffled, and in the same order for everybody.
    let (one, other) = seen.split_at(8);
    assert_eq!(one, other);
    assert!(!one.is_sorted(), "{one:?}");
    let check = |path: &str, expected: u16| {
        let (status, head, _) = viewer.send(&format!("GET {path}"), "Host: localhost\r\n");
        assert_eq!(status, expected, "{path}: {head}");
        head
    };
    check("/review/other/", 404);
    check("/review/%2e%2e/", 404);
    check("/review/notes/ann/9/", 404);
    check("/review/notes/ann/0/", 404);
    check("/review/notes/a%2fb/1/", 404);
    check("/review/notes/?annotator=a+b", 400);
    check("/review/notes/?annotator=adjudicated", 400);
    assert!(check("/review/notes/?annotator=ann", 303).contains("location: /review/notes/ann/\r\n"));
    assert!(check("/review/", 200).contains("referrer-policy: same-origin"));
    assert!(viewer.get("/").contains("href=\"/review/\""));
    // An export has no forms and nothing to label.
    lab.assay(&["view", "--export", "site"]).ok();
    assert!(!lab.path("site/review").exists());
    let index = std::fs::read_to_string(lab.path("site/index.html")).unwrap();
    assert!(!index.contains("review"), "{index}");
}

#[test]
fn marks_are_taken_from_own_pages_only() {
    let lab = lab();
    let viewer = Viewer::start(&lab);
    let address = &viewer.address;
    let host = format!("Host: {address}\r\n");
    let cookie = format!("Cookie: {}\r\n", viewer.cookie());
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let origin = format!("Origin: http://{address}\r\n");
    let site = "Sec-Fetch-Site: same-origin\r\n";
    let check = |path: &str, headers: &[&str], body: &str, expected: u16| {
        let (status, head, reply) = post(&viewer, path, &headers.concat(), body);
        assert_eq!(status, expected, "{path} {headers:?}: {head} {reply}");
        assert!(head.contains("content-security-policy: "), "{head}");
    };
    let item = "/review/notes/ann/1/";
    // Without the token, from other sites, from nowhere, and as something else than a form.
    check(item, &[&host, &origin, site, form], "mark=1", 403);
    check(item, &[&host, &cookie, form, "Origin: http://evil.example\r\n"], "mark=1", 403);
    check(item, &[&host, &cookie, form, "Origin: null\r\n", site], "mark=1", 403);
    check(item, &[&host, &cookie, form, "Sec-Fetch-Site: cross-site\r\n"], "mark=1", 403);
    check(item, &[&host, &cookie, form, &origin, "Sec-Fetch-Site: same-site\r\n"], "mark=1", 403);
    check(item, &[&host, &cookie, form], "mark=1", 403);
    check(item, &[&host, &cookie, &origin, "Content-Type: text/plain\r\n"], "mark=1", 415);
    check(item, &[&host, &cookie, &origin], "mark=1", 415);
    // Forms that cannot be used.
    check(item, &[&host, &cookie, &origin, form], "mark=2", 400);
    check(item, &[&host, &cookie, &origin, form], "", 400);
    check(item, &[&host, &cookie, &origin, form], &format!("mark=1&note={}", "x".repeat(4_001)), 400);
    check(item, &[&host, &cookie, &origin, form], &format!("mark=1&note={}", "x".repeat(70_000)), 413);
    // Addresses that take no marks, and other methods.
    for path in ["/", "/runs/lab/", "/compare/", "/reviews/notes/ann/1/"] {
        check(path, &[&host, &cookie, &origin, form], "mark=1", 405);
    }
    for path in
        ["/review/", "/review/notes/", "/review/notes/ann/", "/review/notes/ann/9/", "/review/x/ann/1/"]
    {
        check(path, &[&host, &cookie, &origin, form], "mark=1", 404);
    }
    check("/review/notes/adjudicated/1/", &[&host, &cookie, &origin, form], "mark=1", 404);
    let (status, ..) = viewer.send(&format!("PUT {item}"), &own(&viewer));
    assert_eq!(status, 405);
    assert_eq!(marks(&lab), Vec::<Value>::new());
    check(item, &[&host, &cookie, &origin, form], "mark=1&note=a%0D%0Ab+%3Cb%3E", 303);
    check(item, &[&host, &cookie, site, form], "mark=%3F", 303);
    let found = marks(&lab);
    assert_eq!((found.len(), &found[0]["label"], &found[0]["note"]), (2, &json!(true), &json!("a\nb <b>")));
    assert_eq!((&found[1]["label"], &found[1]["annotator"]), (&Value::Null, &json!("ann")));
}

#[test]
fn from_a_sheet_to_the_errors_of_a_judge() {
    let lab = lab();
    let viewer = Viewer::start(&lab);
    let places: Vec<usize> = (0..8).map(|item| place(&viewer, item)).collect();
    let path = |name: &str, item: usize| format!("/review/notes/{name}/{}/", places[item]);
    // A mark leads to the next item without one, around the end.
    let first = mark(&viewer, &path("ann", 0), "mark=0");
    assert_eq!(first, format!("/review/notes/ann/{}/", places[0] % 8 + 1));
    // Undone, and marked again.
    assert_eq!(mark(&viewer, &first, "mark=u"), path("ann", 0));
    assert_eq!(mark(&viewer, &first, "mark=u"), first);
    for item in 0..8 {
        mark(&viewer, &path("ann", item), if item < 4 { "mark=1" } else { "mark=0" });
    }
    assert!(viewer.get("/review/notes/ann/").contains("All are marked."));
    let ben =
        ["mark=1", "mark=1", "mark=1&note=the+total+is+wrong", "mark=1", "mark=1", "mark=0", "mark=%3F"];
    for (item, form) in ben.into_iter().enumerate() {
        mark(&viewer, &path("ben", item), form);
    }
    mark(&viewer, &path("ben", 2), "mark=0&note=the+total+is+wrong");
    assert_eq!(viewer.get(&path("ben", 2)).matches("the total is wrong").count(), 1);
    assert!(!viewer.get(&path("ann", 2)).contains("the total is wrong"), "annotators are independent");
    // They differ about three items, of which two get a final label.
    let disputed = viewer.get("/review/notes/adjudicate/");
    assert!(disputed.contains("0 of 3 items marked"), "{disputed}");
    let page = viewer.get(&path("adjudicate", 2));
    assert!(page.contains("the total is wrong") && page.contains("<td>not met</td>"), "{page}");
    mark(&viewer, &path("adjudicate", 2), "mark=0");
    mark(&viewer, &path("adjudicate", 4), "mark=0");
    drop(viewer);

    let ran = lab.assay(&["judge", "labels", "notes", "--out", "labels.jsonl"]).ok();
    insta::assert_snapshot!(ran.stdout, @r"
    notes: 8 items, 7 labeled (2 adjudicated, 5 unanimous, 1 undecided)
      ann                   4 met, 4 not met, 0 cannot tell
      ben                   4 met, 2 not met, 1 cannot tell
    ann and ben: 7 items
      equal marks           0.571 (0.146 to 0.912)
      kappa                 0.222 (-0.529 to 0.973)
    all annotators: 7 items
      equal marks           0.571 (0.146 to 0.912)
      Krippendorff's alpha  0.264 (-0.378 to 0.907)
    ");
    let labels = std::fs::read_to_string(lab.path("labels.jsonl")).unwrap();
    let labels: Vec<Value> = labels.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let column = |name: &str| labels.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(
        column("label"),
        [
            json!(true),
            json!(true),
            json!(false),
            json!(true),
            json!(false),
            json!(false),
            Value::Null,
            json!(false)
        ]
    );
    assert_eq!(
        column("decided")[2..],
        [
            json!("adjudicated"),
            json!("unanimous"),
            json!("adjudicated"),
            json!("unanimous"),
            json!("undecided"),
            json!("unanimous"),
        ]
    );
    assert_eq!(
        (&labels[0]["annotators"], &labels[7]["annotators"]),
        (&json!(["ann", "ben"]), &json!(["ann"]))
    );
    for (row, original) in labels.iter().zip(rows()) {
        for (key, value) in original.as_object().unwrap() {
            assert_eq!(&row[key], value, "{key}");
        }
    }
    let found = lab.assay(&["judge", "labels", "notes", "--format", "json"]).ok().json();
    assert_eq!((&found["schema"], &found["labeled"]), (&json!("assay.judge-labels/1"), &json!(7)));
    // Of 7 common items 4 are equal; by chance (4/7)(4/7) + (3/7)(2/7) + 0 would be: ann 4/3/0, ben 4/2/1.
    let near = |value: &Value, expected: f64| {
        assert!((value.as_f64().unwrap() - expected).abs() < 1e-9, "{found}");
    };
    near(&found["pairs"][0]["equal"], 4.0 / 7.0);
    let chance = (4.0 * 4.0 + 3.0 * 2.0) / 49.0;
    near(&found["pairs"][0]["kappa"], (4.0 / 7.0 - chance) / (1.0 - chance));
    // Coincidences of 14 marks: 8 met, 5 not met, 1 cannot tell; 6 of them in unequal pairs.
    near(&found["all"]["alpha"], 1.0 - 13.0 * 6.0 / (14.0 * 14.0 - 64.0 - 25.0 - 1.0));

    let columns =
        ["--label", "label", "--verdict", "verdict", "--cluster", "cluster", "--labels-by", "people"];
    let calibrate = ["judge", "calibrate", "labels.jsonl", "--by", "condition", "--format", "json"];
    let found = lab.assay(&[&calibrate[..], &columns].concat()).ok().json();
    assert_eq!(found["calibrated"], json!(true));
    let groups = found["groups"].as_array().unwrap();
    let figures: Vec<_> =
        groups.iter().map(|group| (&group["by"], &group["n"], &group["accuracy"])).collect();
    // Items 0, 2, 4 without the skill, of which 2 is judged as met; 1, 3, 5 and 7 with it.
    assert_eq!(figures[0], (&json!("none"), &json!(3), &json!(2.0 / 3.0)));
    assert_eq!(figures[1], (&json!("with-the-skill"), &json!(4), &json!(1.0)));
}

#[test]
fn sheets_that_cannot_be_used_are_errors() {
    let mut twice = rows();
    twice[3]["item"] = json!("item-0");
    let lab = lab()
        .file("twice.jsonl", lines(&twice))
        .file("without.jsonl", "{\"criterion\":\"c\",\"material\":\"m\"}\n\n{\"material\":\"m\"}\n")
        .file("broken.jsonl", "{\"criterion\":\n")
        .file("other.jsonl", lines(&rows()[1..]));
    let check = |args: &[&str], expected: &str| {
        let ran = lab.assay(&[&["judge"], args].concat()).ended(2);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    };
    check(&["sheet", "twice.jsonl"], "twice.jsonl: line 4: the item \"item-0\" is on line 1 too");
    check(&["sheet", "without.jsonl"], "without.jsonl: line 3: no `criterion`");
    check(&["sheet", "broken.jsonl"], "broken.jsonl: line 1: not JSON");
    check(&["sheet", "none.jsonl"], "none.jsonl");
    check(&["sheet", "notes.jsonl", "--name", "a/b"], "cannot be the name of a sheet");
    check(&["sheet", "other.jsonl", "--name", "notes"], "the store has another sheet notes");
    check(&["labels", "nothing"], "the store has notes");
    check(&["labels", "notes", "--out", "labels.csv"], "labels are written as JSON Lines");
    let again = lab.assay(&["judge", "sheet", "notes.jsonl"]).ok();
    assert!(again.stdout.contains("8 items, in the store already"), "{}", again.stdout);
    let compressed = zstd::encode_all(lines(&rows()).as_bytes(), 3).unwrap();
    std::fs::write(lab.path("packed.jsonl.zst"), compressed).unwrap();
    let found = lab.assay(&["judge", "sheet", "packed.jsonl.zst", "--format", "json"]).ok().json();
    assert_eq!(
        (&found["sheet"], &found["items"], &found["added"]),
        (&json!("packed"), &json!(8), &json!(true))
    );
    assert_eq!(
        found["hidden"],
        json!(["cluster", "condition", "item", "model", "verdict", "verdict_reason"])
    );
}

#[test]
fn feedback_of_skill_creator_becomes_marks() {
    let feedback = |status: &str, texts: &[(&str, &str)]| {
        let reviews: Vec<Value> = texts
            .iter()
            .map(|(run, text)| json!({ "run_id": run, "feedback": text, "timestamp": "2026-03-01T10:00:00.000Z" }))
            .collect();
        json!({ "reviews": reviews, "status": status }).to_string()
    };
    let reviews = [("item-0", ""), ("item-1", "no axis labels"), ("eval-9", "")];
    let lab = lab()
        .file("done.json", feedback("complete", &reviews))
        .file("half.json", feedback("in_progress", &reviews))
        .file("foreign.json", feedback("complete", &[("eval-9", "")]))
        .file("list.json", "[]")
        .file("bad.json", "{\"reviews\": [{\"feedback\": \"\"}]}");
    let labels = |file: &str, name: &str| {
        let args = ["judge", "labels", "notes", "--feedback", file, "--annotator", name, "--format", "json"];
        lab.assay(&args)
    };
    // Unfinished, an empty text says nothing.
    let half = labels("half.json", "ann").ok().json();
    assert_eq!(half["feedback"], json!({ "marks": 1, "present": 0, "unknown": [] }));
    let done = labels("done.json", "ann").ok().json();
    assert_eq!(done["feedback"], json!({ "marks": 1, "present": 1, "unknown": ["eval-9"] }));
    assert_eq!(done["annotators"], json!([{ "name": "ann", "met": 1, "not_met": 0, "cannot_tell": 1 }]));
    assert_eq!(labels("done.json", "ann").ok().json()["feedback"]["marks"], json!(0));
    let found = marks(&lab);
    assert_eq!(found.len(), 2);
    assert_eq!((&found[0]["item"], &found[0]["label"]), (&json!("item-1"), &Value::Null));
    assert_eq!((&found[0]["note"], &found[1]["label"]), (&json!("no axis labels"), &json!(true)));
    assert_eq!(found[1]["at"], json!("2026-03-01T10:00:00.000Z"));
    let check = |file: &str, name: &str, expected: &str| {
        let ran = labels(file, name).ended(2);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    };
    check("foreign.json", "ann", "none of its runs is an item of notes");
    check("list.json", "ann", "no list `reviews`");
    check("bad.json", "ann", "review 1: `run_id` must be a text");
    check("done.json", "adjudicated", "cannot be the name of an annotator");
}
