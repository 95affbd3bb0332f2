//! `assay view`: the pages over HTTP and as files.

mod browser;
mod draft;
mod review;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};

/// Two tasks, of which one is passed with the skill only, with a verifier that reports its checks.
fn lab() -> Fixture {
    let rules = [
        json!({"condition": "curated", "turn": 0, "run": ["cat /skills/ledger/SKILL.md"]}),
        json!({"condition": "curated", "turn": 1, "run": ["printf 'RH-7731\\n' > note.md; echo right > answer.txt"]}),
        json!({"condition": "none", "task": "easy", "turn": 0, "run": ["echo right > answer.txt"]}),
        json!({"condition": "none", "task": "hard", "turn": 0, "run": ["ls"]}),
    ];
    let test = "if [ \"$(cat /app/answer.txt)\" = right ]; then s=passed; reward 1; else s=failed; reward 0; fi\n\
                echo \"{\\\"results\\\":{\\\"tool\\\":{\\\"name\\\":\\\"t\\\"},\\\"tests\\\":[{\\\"name\\\":\\\"answer is right\\\",\
                \\\"status\\\":\\\"$s\\\",\\\"message\\\":\\\"read the answer\\\"}]}}\" > /logs/verifier/ctrf.json\n";
    Fixture::new()
        .task("easy", |task| task.test_sh(test))
        .task("hard", |task| task.test_sh(test))
        .skill("ledger", "Ledger exports.", "Write the code `RH-7731` above the totals.")
        .script(&rules)
        .experiment(|e| {
            e.conditions(&["none", "curated"])
                .repetitions(2)
                .pair("easy", &["ledger"])
                .pair("hard", &["ledger"])
        })
}

/// `assay view` on a store, ended with the test.
struct Viewer {
    child: Child,
    address: String,
    token: String,
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Viewer {
    fn start(lab: &Fixture) -> Self {
        Self::of(lab, ".assay")
    }

    fn of(lab: &Fixture, store: &str) -> Self {
        Self::with(lab, &["--store", store, "view", "--port", "0", "--quiet"])
    }

    fn with(lab: &Fixture, args: &[&str]) -> Self {
        let mut command = lab.command(args);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (address, token) = line.trim().split_once("/?token=").unwrap_or_else(|| panic!("{line:?}"));
        let address = address.strip_prefix("http://").unwrap();
        let address = address.split('/').next().unwrap_or_default().to_owned();
        Self { child, address, token: token.to_owned() }
    }

    /// The cookie that the viewer sets.
    fn cookie(&self) -> String {
        let port = self.address.rsplit(':').next().unwrap();
        format!("assay_token_{port}={}", self.token)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Status, head and body of the reply to a request with these headers.
    fn send(&self, request: &str, headers: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "{request} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        let reply = String::from_utf8_lossy(&reply).into_owned();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
    }

    fn get(&self, path: &str) -> String {
        let (status, head, body) = self.send(&format!("GET {path}"), "Host: localhost\r\n");
        assert_eq!(status, 200, "{path}: {head} {body}");
        body
    }
}

#[test]
fn reads_are_for_this_machine_and_writes_for_nobody() {
    needs_bubblewrap!();
    let lab = lab();
    lab.run(&["--no-checks"]);
    let viewer = Viewer::start(&lab);
    let check = |request: &str, headers: &str, expected: u16| {
        let (status, head, body) = viewer.send(request, headers);
        assert_eq!(status, expected, "{request} {headers}: {head} {body}");
        for header in
            ["content-security-policy: ", "x-content-type-options: nosniff", "referrer-policy: no-referrer"]
        {
            assert!(head.contains(header), "{request}: {header} is missing: {head}");
        }
        (head, body)
    };
    let token = &viewer.token;
    let own = format!("Host: {}\r\n", viewer.address);
    check("GET /", &own, 200);
    check("GET /runs/lab/", "Host: [::1]:80\r\n", 200);
    check("GET /runs/lab", &own, 308);
    check("GET /nothing/", &own, 404);
    check("GET /runs/other/", &own, 404);
    check("GET /runs/lab/trials/0000/", &own, 404);
    check("GET /runs/lab/cells/99/", &own, 404);
    check("GET /runs/%2e%2e/", &own, 404);
    check("GET /static/..%2fview.css", &own, 404);
    // A name that resolves to this machine, and pages of other sites.
    check("GET /", "Host: evil.example\r\n", 403);
    check("GET /", &format!("{own}Origin: http://evil.example\r\n"), 403);
    check("GET /", &format!("{own}Origin: http://{}\r\n", viewer.address), 200);
    // The token moves from the address into a cookie.
    let (head, _) = check(&format!("GET //evil.example/?token={token}&q=1"), &own, 303);
    assert!(
        head.contains("location: /evil.example/?q=1\r\n")
            && head.contains(&format!("set-cookie: {}; HttpOnly; SameSite=Strict", viewer.cookie())),
        "{head}"
    );
    check(&format!("GET /?token={token}x"), "Host: evil.example\r\n", 403);
    check("GET /", &format!("Host: evil.example\r\nCookie: a=b; {}\r\n", viewer.cookie()), 200);
    // That of another port is another viewer's.
    check("GET /", &format!("Host: evil.example\r\nCookie: assay_token_1={token}\r\n"), 403);
    for method in ["POST", "PUT", "DELETE"] {
        check(&format!("{method} /runs/lab/"), &own, 403);
        check(&format!("{method} /runs/lab/"), &format!("{own}Cookie: {}\r\n", viewer.cookie()), 405);
    }
    let (head, _) = check("GET /compare/?a=lab&b=lab", &own, 303);
    assert!(head.contains("location: /compare/lab/lab/"), "{head}");
}

#[test]
fn other_users_of_this_machine_need_the_token() {
    use std::os::unix::process::CommandExt;

    if !rustix::process::geteuid().is_root() {
        assay_test::report_skip("only root can be another user");
        return;
    }
    let lab = Fixture::new().file(".assay/store.json", r#"{"schema": "assay.store/1", "label": "x"}"#);
    let viewer = Viewer::start(&lab);
    let (host, port) = viewer.address.rsplit_once(':').unwrap();
    let status = |user: u32, path: &str, headers: &str| {
        let script = format!(
            "exec 3<>/dev/tcp/{host}/{port}; printf 'GET {path} HTTP/1.1\\r\\nHost: localhost\\r\\n{headers}Connection: close\\r\\n\\r\\n' >&3; head -1 <&3"
        );
        let mut command = std::process::Command::new("bash");
        let output = command.args(["-c", &script]).uid(user).gid(user).current_dir("/").output().unwrap();
        String::from_utf8(output.stdout).unwrap().split(' ').nth(1).map(str::to_owned)
    };
    let nobody = 65_534;
    assert_eq!(status(0, "/", "").as_deref(), Some("200"));
    assert_eq!(status(nobody, "/", "").as_deref(), Some("403"));
    let cookie = format!("Cookie: {}\\r\\n", viewer.cookie());
    assert_eq!(status(nobody, "/", &cookie).as_deref(), Some("200"));
    assert_eq!(status(nobody, &format!("/?token={}", viewer.token), "").as_deref(), Some("303"));
}

#[test]
fn an_export_is_complete_or_absent() {
    let lab = Fixture::new().file(".assay/store.json", r#"{"schema": "assay.store/1", "label": "x"}"#);
    lab.write("site/old.html", "old");
    lab.assay(&["view", "--export", "site"]).ended(2);
    assert_eq!(fs::read_to_string(lab.path("site/old.html")).unwrap(), "old");
    fs::remove_file(lab.path("site/old.html")).unwrap();
    // No file may be larger than 512 bytes, as on a full disk.
    let script = "trap '' XFSZ; ulimit -f 1; \"$0\" view --export site";
    let mut command = std::process::Command::new("bash");
    command.args(["-c", script, env!("CARGO_BIN_EXE_assay")]).current_dir(lab.folder());
    assert!(!command.status().unwrap().success());
    assert_eq!(fs::read_dir(lab.path("site")).unwrap().count(), 0);
    let names = fs::read_dir(lab.folder()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().starts_with(".assay-view")));
    lab.assay(&["view", "--export", "site"]).ok();
    assert!(lab.path("site/index.html").is_file());
}

#[test]
fn each_figure_leads_to_the_trials_behind_it() {
    needs_bubblewrap!();
    let lab = lab();
    lab.run(&["--no-checks"]);
    let viewer = Viewer::start(&lab);
    let run = viewer.get("/runs/lab/");
    // The answer comes first, then where it comes from.
    let answer = run
        .find("<p class=\"answer\">The effect of <code>curated</code> is inconclusive (no CI, 2 tasks).")
        .unwrap();
    assert!(
        answer < run.find("<p class=\"provenance\">loop 2 with scripted:turns.jsonl · measured on ").unwrap(),
        "{run}"
    );
    assert!(run.contains("skills: ledger ("), "{run}");
    let links = |page: &str, part: &str| -> Vec<String> {
        let found = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        found.filter(|href| href.contains(part)).map(str::to_owned).collect()
    };
    assert_eq!(links(&run, "/cells/").into_iter().collect::<BTreeSet<_>>().len(), 4);
    let failed = &links(&run, "#check-")[0];
    let (trial, anchor) = failed.split_once('#').unwrap();
    let page = viewer.get(trial);
    let check = page.split(&format!("id=\"{anchor}\"")).nth(1).unwrap();
    assert!(check.starts_with(" open>") && check.contains("read the answer"), "{check}");
    assert!(page.contains("failed: hard, none, repetition 1"), "{page}");
    // The trial with the skill: what was delivered, and the directive that was followed.
    let record = lab.records().into_iter().find(|record| record["condition"] == "curated").unwrap();
    let trial = viewer.get(&format!("/runs/lab/trials/{}/", record["trial"].as_str().unwrap()));
    for text in [
        "5 of 5 delivered to the model",
        "1 followed and 0 violated of 1 directive",
        "<td class=\"status followed\">followed</td>",
    ] {
        assert!(trial.contains(text), "{text}: {trial}");
    }
    let pairs = viewer.get(&links(&run, "/comparisons/")[0]);
    let pair = &links(&pairs, "/pairs/")[0];
    let whole = viewer.get(pair);
    assert!(whole.contains("id=\"first-difference\"") && whole.contains("RH-7731"), "{whole}");
    // Blind: nothing of assay's own tells which is which.
    let blind = viewer.get(&format!("{pair}blind/"));
    for telling in ["curated", "with the skill", "passed", "failed</td>", "followed"] {
        assert!(!blind.contains(telling), "{telling}: {blind}");
    }
    let skill = viewer.get(&links(&run, "/skills/")[0]);
    for question in
        ["1. Is it well formed", "2. Will it be found", "3. Does it help", "4. What does it change"]
    {
        assert!(skill.contains(question), "{question}");
    }
    assert!(skill.contains("4 opened the skill and 4 are seen to have followed at least one"), "{skill}");
    assert!(skill.contains("2 trials ran and wrote the same as others"), "{skill}");
    let search = viewer.get("/runs/lab/search/?q=rh-7731");
    assert!(search.contains("<mark>RH-7731</mark>"), "{search}");
    // By the beginnings of ids.
    let (first, second) =
        pair.strip_prefix("/runs/lab/pairs/").unwrap().trim_end_matches('/').split_once('/').unwrap();
    let short = format!("/runs/lab/pairs/?a={}&b={}", &first[..12], &second[..12]);
    for path in [short, format!("/runs/lab/pairs/{}/{}/", &first[..12], &second[..12])] {
        let (status, head, _) = viewer.send(&format!("GET {path}"), "Host: localhost\r\n");
        assert_eq!(status, 303, "{path}: {head}");
        assert!(head.contains(&format!("location: {pair}\r\n")), "{head}");
    }
    let (status, _, body) = viewer.send("GET /runs/lab/pairs/?a=zz&b=", "Host: localhost\r\n");
    assert!(status == 404 && body.contains("at least the first 4 characters"), "{body}");
    // Filters.
    let filtered = viewer.get("/runs/lab/trials/?condition=none&outcome=failed");
    assert!(filtered.contains("<p>2 trials</p>"), "{filtered}");
}

/// The pages below a folder.
fn html_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "html") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn the_pages_are_written_to_a_folder() {
    needs_bubblewrap!();
    let lab = lab();
    lab.run(&["--no-checks"]);
    let ran = lab.assay(&["view", "--export", "site"]).ok();
    assert!(ran.stderr.contains(" to site; open index.html"), "{}", ran.stderr);
    let pages = html_files(&lab.path("site"));
    // All runs, the run, 4 cells, 8 trials, their list, a comparison, 4 pairs in 3 views, and the skill.
    assert_eq!(pages.len(), 1 + 1 + 4 + 8 + 1 + 1 + 12 + 1, "{pages:#?}");
    for page in &pages {
        let html = fs::read_to_string(page).unwrap();
        assert!(!html.contains("href=\"/") && !html.contains("src=\"/") && !html.contains("<form"), "{html}");
        for href in html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let file = href.split('#').next().unwrap();
            assert!(
                file.is_empty() || page.parent().unwrap().join(file).is_file(),
                "{}: {href}",
                page.display()
            );
        }
    }
    let again = lab.assay(&["view", "--export", "site"]).ended(2);
    assert!(again.stderr.contains("site is not empty"), "{}", again.stderr);
    let one = lab.assay(&["view", "lab", "--export", "one"]).ok();
    assert!(one.stderr.contains("wrote 29 pages"), "{}", one.stderr);
}

#[test]
fn bad_input_is_named() {
    let lab = Fixture::new();
    let check = |args: &[&str], expected: &str| {
        let ran = lab.assay(args).ended(2);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    };
    check(&["view"], "there is no store at");
    assert!(!lab.path(".assay").exists());
    lab.assay(&["show"]).ok();
    check(&["view", "nothing"], "no run");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    check(&["view", "--port", &port], &format!("cannot listen on 127.0.0.1:{port}"));
    check(&["view", "--export", "site", "--open"], "cannot be used with");
}

/// What must not reach a page as it is.
const HOSTILE: &str = "</pre></td><script>window.stolen=1</script><img src=x onerror=alert(1)>\" onload=\"alert(2)\u{1b}[31m\u{202e}\u{9b}{{7*7}}";

/// A store with hostile content in every text that comes from outside.
fn hostile() -> Fixture {
    let line = HOSTILE.replace('\\', "\\\\");
    let csv = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut table = "task,condition,agent,model,repetition,score,cost_usd\n".to_owned();
    for condition in ["none", HOSTILE] {
        for task in 1..=6 {
            let score = u8::from(condition != "none" || task == 1);
            let task = csv(&format!("{task} {line}"));
            table.push_str(&format!(
                "{task},{},{},{},1,{score},0.5\n",
                csv(condition),
                csv(HOSTILE),
                csv(HOSTILE)
            ));
        }
    }
    let say = json!({ "say": HOSTILE, "run": [format!("printf '%s' {:?}; printf '%s' \"$0\" > '/app/<img src=x onerror=alert(3)>.txt'", "x")] });
    let check = json!({ "results": { "tool": { "name": HOSTILE }, "tests": [
        { "name": HOSTILE, "status": "failed", "message": HOSTILE, "trace": HOSTILE },
        { "name": format!("{HOSTILE} again"), "status": HOSTILE },
    ] } });
    let test = "reward 0; cp /tests/ctrf.json /logs/verifier/ctrf.json; cat /tests/line.txt; head -c 50000000 /dev/zero | tr '\\0' x\n";
    let lab = Fixture::new()
        .file("table.csv", table)
        .task("one", |task| {
            task.test_sh(test)
                .file("tests/ctrf.json", &check.to_string())
                .file("tests/line.txt", HOSTILE)
                .instruction(HOSTILE)
        })
        .skill("ledger", "Ledger exports.", HOSTILE)
        .script(&[say])
        .experiment(|e| e.conditions(&["none", "curated"]).pair("one", &["ledger"]));
    lab.assay(&["import", "table", "table.csv", "--baseline", "none"]).ok();
    lab.run(&["--no-checks", "--allow-unsafe"]);
    // What no agent of the fixture writes: a message of 50 MB, and artifacts that are not what they are called.
    let records = lab.records();
    let folder = PathBuf::from(records[0]["folder"].as_str().unwrap()).join("attempts/1");
    let path = folder.join("trajectory.json");
    let mut trajectory: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let steps = trajectory["steps"].as_array_mut().unwrap();
    let mut long = steps[0].clone();
    long["message"] = json!(format!("{HOSTILE}{}", "y".repeat(50_000_000)));
    long["step_id"] = json!(steps.len() + 1);
    steps.push(long);
    fs::write(&path, trajectory.to_string()).unwrap();
    fs::create_dir_all(folder.join("artifacts")).unwrap();
    for name in ["page.html", "picture.svg", "picture.png", "table.csv", "<b>.pdf"] {
        fs::write(folder.join("artifacts").join(name), HOSTILE).unwrap();
    }
    fs::write(folder.join("artifacts/real.png"), PIXEL).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.join("artifacts/link.txt")).unwrap();
    lab
}

/// A picture of one pixel.
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\0\0\x03\x01\x01\0\xc9\xfe\x92\xef\0\0\0\0IEND\xaeB`\x82";

#[test]
fn nothing_hostile_reaches_a_page() {
    needs_bubblewrap!();
    let lab = hostile();
    lab.assay(&["view", "--export", "site"]).ok();
    let pages = html_files(&lab.path("site"));
    assert!(pages.len() > 40, "{pages:#?}");
    for page in &pages {
        let html = fs::read_to_string(page).unwrap();
        // The script of the pages is the only one.
        assert_eq!(html.matches("<script").count(), 1, "{}", page.display());
        for hostile in ["<script>window", "<img src=x", "\" onload=", "\u{1b}", "\u{202e}", "\u{9b}"] {
            assert!(!html.contains(hostile), "{hostile:?} in {}", page.display());
        }
        assert!(html.len() < 2_000_000, "{} has {} bytes", page.display(), html.len());
    }
    let text = fs::read_to_string(lab.path("site/index.html")).unwrap();
    assert!(text.contains("&#60;script&#62;") || text.contains("&lt;script&gt;"), "{text}");
    // Files of attempts are downloads, and only real images are shown.
    let viewer = Viewer::start(&lab);
    let trial = lab.records()[0]["trial"].as_str().unwrap().to_owned();
    let page = viewer.get(&format!("/runs/lab/trials/{trial}/"));
    assert_eq!(page.matches("<img ").count(), 1, "{page}");
    assert!(!page.contains("root:"), "a link was followed");
    let files = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let files: Vec<&str> = files.filter(|href| href.contains("/files/")).collect();
    assert!(files.len() > 8, "{files:?}");
    for file in files {
        let (status, head, _) = viewer.send(&format!("GET {file}"), "Host: localhost\r\n");
        assert_eq!(status, 200, "{head}");
        for header in [
            "content-disposition: attachment; filename=",
            "content-type: application/octet-stream",
            "sandbox; default-src 'none'",
        ] {
            assert!(head.contains(header), "{file}: {head}");
        }
    }
    let report = lab.assay(&["report", "table-table", "--format", "html"]).ok().stdout;
    assert!(
        !report.contains("<script") && !report.contains("<img") && !report.contains(['\u{1b}', '\u{202e}']),
        "{report}"
    );
}

#[test]
fn long_traces_are_paged() {
    needs_bubblewrap!();
    let lab = lab();
    lab.run(&["--no-checks"]);
    let record = lab.records().remove(0);
    let path = PathBuf::from(record["folder"].as_str().unwrap()).join("attempts/1/trajectory.json");
    let mut trajectory: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let step = trajectory["steps"].as_array().unwrap().last().unwrap().clone();
    let steps: Vec<Value> = (1..=10_000)
        .map(|number| {
            let mut step = step.clone();
            step["step_id"] = json!(number);
            step["message"] = json!(format!("message {number}."));
            step
        })
        .collect();
    trajectory["steps"] = json!(steps);
    fs::write(&path, trajectory.to_string()).unwrap();
    let viewer = Viewer::start(&lab);
    let trial = format!("/runs/lab/trials/{}/", record["trial"].as_str().unwrap());
    let check = |path: &str, first: &str, last: &str, absent: &str| {
        let page = viewer.get(path);
        assert_eq!(page.matches("<article class=\"step ").count(), 100, "{path}");
        assert!(page.contains(first) && page.contains(last) && !page.contains(absent), "{path}");
    };
    check(&trial, "message 1.", "message 100.", "message 101.");
    check(&format!("{trial}page/100/"), "message 9901.", "message 10000.", "message 9900.");
    let (status, _, _) = viewer.send(&format!("GET {trial}page/101/"), "Host: localhost\r\n");
    assert_eq!(status, 404);
    // A search leads to the page of the step.
    let found = viewer.get("/runs/lab/search/?q=message+5050.");
    assert!(found.contains(&format!("{trial}page/51/#step-5050")), "{found}");
}

#[test]
fn a_report_has_a_short_form_and_its_plots_are_files() {
    needs_bubblewrap!();
    let lab = lab();
    lab.run(&["--no-checks"]);
    let comment = lab.assay(&["report", "lab", "--format", "markdown", "--short"]).ok().stdout;
    assert!(
        comment.starts_with("**The effect of `curated` is inconclusive (no CI, 2 tasks).**\n"),
        "{comment}"
    );
    assert!(
        comment.lines().count() <= 15 && comment.ends_with("Full report: `assay report lab`\n"),
        "{comment}"
    );
    let check = |args: &[&str], expected: &str| {
        let ran = lab.assay(&[&["report", "lab"], args].concat()).ended(2);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    };
    check(&["--short"], "only reports in Markdown have a short form");
    check(&["--plot", "pie", "--out", "pie.svg"], "it has forest, exposure, extremes, heat");
    check(&["--plot", "heat"], "--out <FILE>");
    check(&["--plot", "heat", "--out", "x.svg", "--format", "json"], "a plot is SVG");
    assert!(!lab.path("pie.svg").exists());
    lab.assay(&["report", "lab", "--plot", "heat", "--out", "heat.svg"]).ok();
    let svg = fs::read_to_string(lab.path("heat.svg")).unwrap();
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && svg.contains("easy"), "{svg}");
}
