//! Tasks with several services, with a real daemon.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::docker::{FIXED, containers, docker, in_docker};
use crate::fixture::{Fixture, observed, read_json, within};

/// Two services that are built and named: `db` counts requests and answers with what it is, and
/// `web` hands them on to it.
const COMPOSE: &str = r#"
services:
  main: { build: . }
  web:
    image: python:3.12-slim
    command:
      - python3
      - -c
      - |
        import http.server, urllib.request
        class Web(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = urllib.request.urlopen("http://db:80" + self.path).read()
                self.send_response(200); self.end_headers(); self.wfile.write(b"web " + body)
        urllib.request.urlopen("http://db:80/first")
        print("web starts", flush=True)
        http.server.ThreadingHTTPServer(("", 80), Web).serve_forever()
    depends_on: { db: { condition: service_healthy } }
    hostname: front
    healthcheck: { test: ["CMD-SHELL", "test \"$(id -u)\" = 0"], interval: 1s }
  db:
    build: ./db
    environment: { WHO: base, SET: "${SECRET}" }
    user: "65534"
    healthcheck: { test: "test -e /tmp/ready", interval: 500ms, retries: 40 }
"#;

const DB: &str = "FROM python:3.12-slim\nENV WHO=image\nCOPY db.py /srv/\nENTRYPOINT [\"python3\"]\nCMD [\"/srv/db.py\"]\n";

const SERVER: &str = r#"
import http.server, os, time
count = 0
class Db(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global count
        count += 1
        body = f"{os.environ['WHO']} {os.environ['SET']} {os.getuid()} {self.path} {count}\n".encode()
        self.send_response(200); self.end_headers(); self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("", 80), Db)
time.sleep(1)
open("/tmp/ready", "w")
server.serve_forever()
"#;

const GET: &str = "get() { python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode().strip())' \"$1\"; }\n";

fn with_services(lab: Fixture, name: &str) -> Fixture {
    lab.task(name, |task| {
        task.dockerfile(FIXED)
            .file("environment/docker-compose.yaml", COMPOSE)
            .file("environment/db/Dockerfile", DB)
            .file("environment/db/db.py", SERVER)
            .solve_sh(&format!("{GET}get http://front/solved\n"))
            // The agent's one request, and the first one of `web`, came before the verifier's.
            .test_sh(&format!(
                "{GET}got=$(get http://web/graded); echo \"$got\"\n[ \"$got\" = 'web base s3 65534 /graded 3' ] && reward 1 || reward 0\n"
            ))
    })
}

/// Networks of a fixture's store.
fn networks(lab: &Fixture) -> Vec<String> {
    let store = read_json(&lab.path(".assay/store.json")).unwrap();
    docker(&[
        "network",
        "ls",
        "-q",
        "--filter",
        &format!("label=dev.assay.store={}", store["label"].as_str().unwrap()),
    ])
}

fn outcomes(lab: &Fixture) -> Vec<(String, Value)> {
    let records = lab.records();
    records.iter().map(|record| (record["outcome"].to_string(), record["reason"].clone())).collect()
}

#[test]
#[ignore = "needs Docker"]
fn services_run_beside_the_agent_and_through_its_grading() {
    let lab = with_services(Fixture::new(), "served")
        .env("SECRET", "s3")
        .script(&[json!({ "turn": 0, "run": format!("{GET}get http://web/agent; env | grep -c s3; cat /etc/resolv.conf") })])
        .experiment(|e| in_docker(e.repetitions(2).concurrency(2).top("allow_env = [\"SECRET\"]\n")));
    let (document, code) = lab.run(&[]);
    assert_eq!((code, &document["infrastructure"]), (0, &json!(0)), "{document:#}");
    // Each trial has services of its own: no other trial's requests were counted.
    assert_eq!(outcomes(&lab), vec![("\"passed\"".to_owned(), Value::Null); 2]);
    let seen = observed(&lab.records()[0]).join("\n");
    assert!(seen.contains("web base s3 65534 /agent 2\n0\n"), "{seen}");
    assert_eq!((containers(&lab, &["-a"]), networks(&lab)), (Vec::new(), Vec::new()));
    let (again, _) = lab.run(&[]);
    assert_eq!((&again["executed"], &again["checks_executed"]), (&json!(0), &json!(0)), "{again:#}");
    // A changed service is another task.
    lab.write("tasks/served/environment/db/db.py", format!("{SERVER}# changed\n"));
    let (changed, _) = lab.run(&[]);
    assert_eq!(changed["executed"], json!(2), "{changed:#}");
}

/// Neither the agent nor a service reaches the host, another network, or a name server.
#[test]
#[ignore = "needs Docker"]
fn services_have_no_route_out() {
    let host = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let port = host.local_addr().unwrap().port();
    let look = format!(
        r#"
import socket
def reach(where):
    try:
        socket.create_connection(where, timeout=2); return "reached"
    except OSError as error:
        return "closed"
def find(name):
    try:
        socket.getaddrinfo(name, 80); return "found"
    except OSError:
        return "unknown"
own = socket.gethostbyname(socket.gethostname()).split(".")
gateway = ".".join(own[:3] + ["1"])
inside = [line.split()[-1] for line in open("/proc/net/if_inet6")] if __import__("os").path.exists("/proc/net/if_inet6") else []
print(reach((gateway, {port})), reach(("172.17.0.1", {port})), reach(("1.1.1.1", 53)), find("example.com"), find("web"), set(inside) - {{"lo"}})
"#
    );
    let compose = "services:\n  main: { build: . }\n  web:\n    build: ./web\n    healthcheck: { test: \"test -e /tmp/seen\", retries: 60, interval: 1s }\n";
    let lab = Fixture::new()
        .task("closed", |task| {
            task.dockerfile(&format!("{FIXED}COPY web/look.py /look.py\n"))
                .file("environment/docker-compose.yaml", compose)
                .file("environment/web/look.py", &look)
                .file("environment/web/Dockerfile", "FROM python:3.12-slim\nCOPY look.py /\nCMD python3 /look.py > /tmp/seen && cat /tmp/seen && exec python3 -c \"import socket, time; s = socket.create_server(('', 80)); c, _ = s.accept(); c.send(open('/tmp/seen', 'rb').read())\"\n")
        })
        .script(&[json!({ "turn": 0, "run": "python3 /look.py; sleep 1; python3 -c \"import socket; print(socket.create_connection(('web', 80)).recv(1000).decode())\"" })])
        .experiment(in_docker);
    lab.run(&["--no-checks"]);
    let seen = observed(&lab.record("closed")).join("\n");
    assert_eq!(seen.matches("closed closed closed unknown found set()").count(), 2, "{seen}");
    drop(host);
}

/// A network that task and experiment allow is there beside that of the services, and services
/// have none of it.
#[test]
#[ignore = "needs Docker"]
fn a_public_network_is_not_that_of_the_services() {
    let compose = "services:\n  main: { build: . }\n  web: { image: \"python:3.12-slim\", command: \"sh -c 'grep -c eth /proc/net/dev > /n; cd / && exec python3 -m http.server 80'\", healthcheck: { test: \"test -s /n\" } }\n";
    let look = "grep -c eth /proc/net/dev; sleep 1; python3 -c \"import urllib.request; print(urllib.request.urlopen('http://web/n').read().decode())\"";
    let lab = |network: &str| {
        Fixture::new()
            .task("open", |task| {
                task.dockerfile(FIXED)
                    .toml("[environment]\nnetwork_mode = \"public\"\n")
                    .file("environment/docker-compose.yaml", compose)
                    .test_sh("n=$(grep -c eth /proc/net/dev); echo \"$n\"; [ \"$n\" = 2 ] && reward 1 || reward 0\n")
            })
            .script(&[json!({ "turn": 0, "run": look })])
            .experiment(|e| in_docker(e.top(network)))
    };
    let open = lab("network = \"public\"\n");
    open.run(&["--no-checks"]);
    let record = open.record("open");
    assert_eq!(record["outcome"], "passed", "{record:#}");
    let seen = observed(&record).join("\n");
    assert!(seen.starts_with("2\n1\n"), "{seen}");
    // The same for the verifier alone would leave the agent a name server.
    let apart = lab("network = \"none\"\nverifier_network = true\n");
    let ran = apart.assay(&["run", "experiment.toml", "--no-checks"]).ended(3);
    assert!(ran.stderr.contains("its verifier has a network that its agent has not"), "{ran:?}");
}

#[test]
#[ignore = "needs Docker"]
fn a_service_that_fails_is_no_result_and_named() {
    let check = |service: &str, part: &str| {
        let compose = format!(
            "services:\n  main: {{ build: . }}\n  web: {{ image: \"python:3.12-slim\", {service} }}\n"
        );
        let lab = Fixture::new()
            .task("broken", |task| {
                task.dockerfile(FIXED).file("environment/docker-compose.yaml", &compose).file(
                    "environment/web/Dockerfile",
                    "FROM python:3.12-slim\nRUN echo no luck today; false\n",
                )
            })
            .script(&[json!({ "turn": 0, "run": "echo right > answer.txt" })])
            .experiment(in_docker);
        lab.run(&["--no-checks"]);
        let record = lab.record("broken");
        assert_eq!(
            (&record["outcome"], &record["cause"]),
            (&json!("infrastructure"), &json!("image")),
            "{record:#}"
        );
        assert!(record["reason"].as_str().unwrap().contains(part), "{part}: {record:#}");
        assert_eq!((containers(&lab, &["-a"]), networks(&lab)), (Vec::new(), Vec::new()));
    };
    check(
        "command: [sh, -c, \"echo no luck; exit 3\"], healthcheck: { test: \"test -e /never\", interval: 100ms, retries: 200 }",
        "the service `web`: it ended before the agent started (it last printed: no luck)",
    );
    check("build: ./web", "the service `web`: the build failed: ");
    check(
        "command: no-such-program, healthcheck: { test: \"test -e /never\", interval: 100ms, retries: 200 }",
        "the service `web`: it ended before the agent started (it last printed: ",
    );
    check(
        "command: [sh, -c, \"echo waiting; sleep 60\"], healthcheck: { test: \"echo not yet; false\", retries: 2, interval: 100ms }",
        "the service `web`: its healthcheck fails (its last line: not yet) (it last printed: waiting)",
    );
}

/// Services end with the process that started them, whatever its end; what remains is removed.
#[test]
#[ignore = "needs Docker"]
fn services_of_a_killed_run_are_removed() {
    let lab = with_services(Fixture::new(), "killed")
        .env("SECRET", "s3")
        .script(&[json!({ "turn": 0, "run": "sleep 60" })])
        .experiment(|e| in_docker(e.top("allow_env = [\"SECRET\"]\n")));
    let mut running = lab.start(&["run", "experiment.toml", "--no-checks"]);
    let all_run = within(Duration::from_mins(2), || containers(&lab, &[]).len() == 3 || running.has_ended());
    assert!(all_run && !running.has_ended(), "{}", running.stderr());
    running.signal(Signal::KILL);
    assert!(
        within(Duration::from_secs(10), || containers(&lab, &[]).is_empty()),
        "{:?}",
        containers(&lab, &[])
    );
    assert_eq!(networks(&lab).len(), 1);
    lab.assay(&["gc"]).ok();
    assert_eq!((containers(&lab, &["-a"]), networks(&lab)), (Vec::new(), Vec::new()));
}

/// The services of a task with steps are the same in all of them.
#[test]
#[ignore = "needs Docker"]
fn services_stay_through_the_steps() {
    let test = |count: u32| {
        format!(
            "#!/bin/bash\n{GET}got=$(get http://web/graded); echo \"$got\"\ncase $got in *' {count}') r=1;; *) r=0;; esac\necho $r > /logs/verifier/reward.txt\n"
        )
    };
    let lab = with_services(Fixture::new(), "stepped")
        .env("SECRET", "s3")
        .script(&[json!({ "turn": 0, "run": format!("{GET}get http://web/agent") })])
        .experiment(|e| in_docker(e.top("allow_env = [\"SECRET\"]\n")));
    for (step, count) in [("one", 3), ("two", 5)] {
        lab.write(
            &format!("tasks/stepped/steps/{step}/instruction.md"),
            "Ask the service once, and then stop.\n",
        );
        lab.write(&format!("tasks/stepped/steps/{step}/tests/test.sh"), test(count));
    }
    for gone in ["instruction.md", "tests/test.sh", "solution/solve.sh"] {
        std::fs::remove_file(lab.path(&format!("tasks/stepped/{gone}"))).unwrap();
    }
    let toml = std::fs::read_to_string(lab.path("tasks/stepped/task.toml")).unwrap();
    lab.write(
        "tasks/stepped/task.toml",
        format!("{toml}\n[[steps]]\nname = \"one\"\n[[steps]]\nname = \"two\"\n"),
    );
    let (document, _) = lab.run(&["--no-checks"]);
    assert_eq!(outcomes(&lab), [("\"passed\"".to_owned(), Value::Null)], "{document:#}");
}
