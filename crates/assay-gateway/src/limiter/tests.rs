use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assay_model::wire::SharedLimits as _;
use assay_trace::Usage;

use super::{LimiterAddress, LimiterClient, LimiterClientOptions, LimiterServer, LimiterServerOptions};
use crate::budget::{Admission, Budget};
use crate::limits::Caps;
use crate::pace::Pace;
use crate::sync::lock;

fn server(folder: &Path, port: u16, usd: f64, requests: Option<u32>) -> LimiterServer {
    LimiterServer::start(LimiterServerOptions {
        address: SocketAddr::from(([127, 0, 0, 1], port)),
        token: "secret".to_owned(),
        pace: Pace { requests_per_minute: requests, tokens_per_minute: None },
        journal: folder.join("spending.jsonl"),
        caps: Box::new(move |budget| (budget == "b").then(|| Caps { usd: Some(usd), ..Caps::default() })),
    })
    .unwrap()
}

fn client(address: SocketAddr, process: &str, token: &str) -> (Arc<LimiterClient>, Arc<Mutex<Vec<String>>>) {
    let notes: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = notes.clone();
    let place = LimiterAddress { address: address.to_string(), token: token.to_owned() };
    let client = LimiterClient::new(LimiterClientOptions {
        budget: "b".to_owned(),
        process: process.to_owned(),
        find: Box::new(move || Some(place.clone())),
        notify: Box::new(move |note| heard.lock().unwrap().push(note.to_owned())),
    });
    (client, notes)
}

fn charge(budget: &Budget, usd: f64) {
    budget.charge(&Usage { input: 10, ..Usage::default() }, &Usage::default(), Some(usd));
}

fn granted(budget: &Budget) -> crate::budget::Permit {
    match budget.admit() {
        Admission::Granted(permit) => permit,
        other => panic!("{other:?}"),
    }
}

#[test]
fn processes_share_a_budget_that_outlives_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let first = server(folder.path(), 0, 1.0, None);
    let address = first.address();
    let (one, notes) = client(address, "one", "secret");
    let (two, _) = client(address, "two", "secret");
    let budgets = [&one, &two].map(|client| Budget::shared(Arc::clone(client) as _));
    let trial = granted(&budgets[0]);
    // What a trial costs is unknown: the other process waits.
    assert!(matches!(budgets[1].admit(), Admission::Deferred));
    charge(trial.budget(), 0.4);
    drop(trial);
    let other = granted(&budgets[1]);
    charge(other.budget(), 0.3);
    assert!(matches!(budgets[0].admit(), Admission::Deferred));
    let state = one.state().unwrap();
    assert_eq!((state.under_way, state.exhausted), (1, false));
    assert!((state.spent_usd - 0.7).abs() < 1e-12);

    drop(first);
    assert!(matches!(budgets[0].admit(), Admission::Deferred));
    assert!(one.reserve("p").is_err() && one.state().is_none());
    // Kept until it can be told.
    charge(other.budget(), 0.1);
    let again = server(folder.path(), address.port(), 1.0, None);
    assert!(two.flush(Duration::from_secs(10)));
    // 0.8 spent, and a trial costs 0.4: nothing fits, although the one under way has not ended.
    let state = one.state().unwrap();
    assert!((state.spent_usd - 0.8).abs() < 1e-12 && state.exhausted, "{state:?}");
    assert!(matches!(budgets[0].admit(), Admission::Exhausted));
    let notes = notes.lock().unwrap().clone();
    assert!(notes.len() == 2 && notes[0].starts_with("waiting for the gateway"), "{notes:?}");
    drop((other, again));
}

#[test]
fn requests_and_waits_of_a_provider_are_shared() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), 0, 1.0, Some(3));
    let clients = ["one", "two"].map(|name| client(server.address(), name, "secret").0);
    let reserve =
        |number: usize| clients[number].reserve("p").map_err(|closed| (closed.status, closed.message));
    assert_eq!((reserve(0), reserve(1), reserve(0)), (Ok(()), Ok(()), Ok(())));
    let (status, message) = reserve(1).unwrap_err();
    assert_eq!((status, message.as_str()), (429, "the configured rate limit of the run"));
    // Another provider has its own.
    assert!(clients[0].reserve("q").is_ok());
    clients[0].close("q", Duration::from_secs(9), 529, "overloaded");
    let closed = clients[1].reserve("q").unwrap_err();
    assert_eq!((closed.status, closed.message.as_str()), (529, "overloaded"));
}

#[test]
fn strangers_are_refused_and_damaged_journals_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("spending.jsonl"), "{\"budget\":\"b\",\"id\":\"x\",\"per").unwrap();
    let server = server(folder.path(), 0, 1.0, None);
    let (stranger, notes) = client(server.address(), "one", "guess");
    assert!(stranger.state().is_none());
    assert!(notes.lock().unwrap()[0].contains("401 invalid token"));
    let (friend, _) = client(server.address(), "two", "secret");
    let budget = Budget::shared(Arc::clone(&friend) as _);
    let trial = granted(&budget);
    charge(trial.budget(), 0.25);
    drop(trial);
    drop(server);
    let again = self::server(folder.path(), 0, 1.0, None);
    let (friend, _) = client(again.address(), "three", "secret");
    assert!((friend.state().unwrap().spent_usd - 0.25).abs() < 1e-12);
}

/// What an earlier server granted in the last minute counts for the next one.
#[test]
fn rate_limit_outlives_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let first = server(folder.path(), 0, 9.0, Some(3));
    let (one, _) = client(first.address(), "one", "secret");
    let budget = Budget::shared(Arc::clone(&one) as _);
    charge(&budget, 0.1);
    assert!(one.reserve("p").is_ok());
    drop(first);
    let again = server(folder.path(), 0, 9.0, Some(3));
    let (two, _) = client(again.address(), "two", "secret");
    let closed = two.reserve("p").unwrap_err();
    assert_eq!(closed.status, 429);
    // Without a rate limit there is nothing to wait for.
    drop(again);
    let free = server(folder.path(), 0, 9.0, None);
    let (three, _) = client(free.address(), "three", "secret");
    assert!(three.reserve("p").is_ok());
}

/// As on a full disk: a file that is open for reading refuses every write.
#[test]
fn charge_that_cannot_be_kept_is_reported_again() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("spending.jsonl");
    let server = server(folder.path(), 0, 1.0, None);
    let good = std::mem::replace(&mut lock(&server.state.journal).file, File::open(&journal).unwrap());
    let (one, notes) = client(server.address(), "one", "secret");
    charge(&Budget::shared(Arc::clone(&one) as _), 0.25);
    assert!(!one.flush(Duration::from_millis(300)));
    assert!(notes.lock().unwrap()[0].contains(": 500 "), "{notes:?}");
    assert!(one.state().unwrap().spent_usd.abs() < 1e-12);
    lock(&server.state.journal).file = good;
    assert!(one.flush(Duration::from_secs(10)));
    assert!((one.state().unwrap().spent_usd - 0.25).abs() < 1e-12);
    drop(server);
    let again = self::server(folder.path(), 0, 1.0, None);
    let (two, _) = client(again.address(), "two", "secret");
    assert!((two.state().unwrap().spent_usd - 0.25).abs() < 1e-12);
}

/// Lets this process open as many files as the system permits.
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

/// Reads to the end; whether the other side has closed it in time.
fn is_closed(stream: &mut TcpStream, most: Duration) -> bool {
    stream.set_read_timeout(Some(most)).unwrap();
    let mut read = Vec::new();
    match stream.read_to_end(&mut read) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn idle_strangers_leave_room_for_workers_and_are_closed() {
    raise_open_files();
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), 0, 1.0, None);
    let (before, _) = client(server.address(), "one", "secret");
    assert!(before.state().is_some());
    let begun = Instant::now();
    let mut idle: Vec<TcpStream> =
        (0..2_000).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    let (after, notes) = client(server.address(), "two", "secret");
    for _ in 0..20 {
        assert!(before.state().is_some() && after.state().is_some(), "{:?}", notes.lock().unwrap());
    }
    // Slow heads are idle, too.
    let mut slow = TcpStream::connect(server.address()).unwrap();
    let patience = Duration::from_secs(30);
    while begun.elapsed() < patience && slow.write_all(b"a").is_ok() {
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(begun.elapsed() < patience);
    assert!(idle.iter_mut().all(|stream| is_closed(stream, patience)));
    // Those that were admitted stay.
    assert!(before.state().is_some());
}

#[test]
fn bodies_of_strangers_are_not_read() {
    raise_open_files();
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), 0, 1.0, None);
    let head = |authorization: &str| {
        format!("POST / HTTP/1.1\r\nHost: x\r\n{authorization}Content-Length: {}\r\n\r\n", 4 << 20)
    };
    let mut streams: Vec<TcpStream> =
        (0..1_000).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    let (worker, _) = client(server.address(), "one", "secret");
    for (number, stream) in streams.iter_mut().enumerate() {
        let authorization = if number % 2 == 0 { "" } else { "Authorization: Bearer guess\r\n" };
        let sent = stream.write_all(head(authorization).as_bytes());
        // Those beyond the cap are closed already.
        if sent.is_ok() && stream.write_all(&b"x".repeat(64 << 10)).is_ok() && number >= 900 {
            let mut reply = [0; 12];
            stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            if stream.read_exact(&mut reply).is_ok() {
                assert_eq!(&reply, b"HTTP/1.1 401");
            }
        }
    }
    assert!(worker.state().is_some());
    // The reply comes before the body.
    let mut stranger = TcpStream::connect(server.address()).unwrap();
    stranger.write_all(head("").as_bytes()).unwrap();
    let mut reply = String::new();
    stranger.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stranger.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 401") && reply.ends_with("invalid token"), "{reply}");
}
