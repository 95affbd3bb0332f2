//! The egress proxy, over real sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use assay_gateway::{EgressListener, Hosts};

use crate::until;

/// A server that answers each connection with the result of a function of its first line.
fn server(answer: impl Fn(&str) -> String + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
            let mut out = stream;
            let _ = out.write_all(answer(&head).as_bytes());
        }
    });
    port
}

fn plain(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

struct EgressFixture {
    folder: tempfile::TempDir,
    egress: Option<EgressListener>,
}

impl EgressFixture {
    fn to(list: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let egress = EgressListener::open(&folder.path().join("out"), Hosts::parse(list).unwrap()).unwrap();
        Self { folder, egress: Some(egress) }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        stream
    }

    /// Sends text, and reads to the end.
    fn send(&self, text: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).unwrap();
        let mut heard = String::new();
        stream.read_to_string(&mut heard).unwrap();
        heard
    }

    fn close(mut self) -> assay_gateway::EgressLedger {
        self.egress.take().unwrap().close()
    }
}

fn get(port: u16, path: &str) -> String {
    format!(
        "GET http://127.0.0.1:{port}{path} HTTP/1.1\r\nHost: elsewhere\r\nProxy-Authorization: Basic x\r\n\r\n"
    )
}

#[test]
fn only_listed_hosts_are_reachable() {
    let (listed, other) = (server(plain), server(|_| plain("the other one")));
    let fixture = EgressFixture::to(&[format!("127.0.0.1:{listed}")]);
    let mode = std::fs::metadata(fixture.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let heard = fixture.send(&get(listed, "/a?b=1"));
    assert!(heard.starts_with("HTTP/1.1 200 OK") && heard.contains("GET /a?b=1 HTTP/1.1"), "{heard}");
    assert!(
        heard.contains(&format!("Host: 127.0.0.1:{listed}")),
        "the Host header comes from the URL: {heard}"
    );
    assert!(!heard.contains("elsewhere") && !heard.contains("Proxy-Authorization"), "{heard}");
    let refused = fixture.send(&get(other, "/"));
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("not in the list"), "{refused}");
    let tunnel = |port| format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    let heard = fixture.send(&tunnel(listed));
    assert!(heard.starts_with("HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK"), "{heard}");
    assert!(fixture.send(&tunnel(other)).starts_with("HTTP/1.1 403"));
    let socket = fixture.socket();
    let ledger = fixture.close();
    assert!(!socket.exists(), "the socket is removed");
    assert_eq!(ledger.count, 4);
    let opened: Vec<bool> = ledger.connections.iter().map(|passage| passage.refused.is_none()).collect();
    assert_eq!(opened.iter().filter(|opened| **opened).count(), 2, "{ledger:?}");
    let through = ledger.connections.iter().find(|passage| passage.refused.is_none()).unwrap();
    assert!(through.sent > 0 && through.received > 0 && through.address.is_some(), "{ledger:?}");
}

/// A name that resolves to this machine, as one under someone else's control may.
#[test]
fn listed_name_with_a_private_address_is_refused() {
    let port = server(|_| plain("inside"));
    let fetch_listed_host =
        |fixture: &EgressFixture| fixture.send(&format!("GET http://localhost:{port}/ HTTP/1.1\r\n\r\n"));
    let fixture = EgressFixture::to(&[format!("localhost:{port}")]);
    let refused = fetch_listed_host(&fixture);
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("private"), "{refused}");
    let fixture = EgressFixture::to(&[format!("localhost:{port}"), "127.0.0.0/8".to_owned()]);
    let refused = fetch_listed_host(&fixture);
    assert!(refused.starts_with("HTTP/1.1 403"), "a network without a port allows 80 and 443: {refused}");
    let fixture = EgressFixture::to(&[format!("localhost:{port}"), format!("127.0.0.1:{port}")]);
    assert!(fetch_listed_host(&fixture).ends_with("inside"));
}

/// A listed host may redirect elsewhere; the proxy does not follow.
#[test]
fn redirect_is_not_followed_to_an_unlisted_host() {
    let inner = server(|_| plain("secret"));
    let outer = server(move |_| {
        format!("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:{inner}/\r\ncontent-length: 0\r\n\r\n")
    });
    let fixture = EgressFixture::to(&[format!("127.0.0.1:{outer}")]);
    let heard = fixture.send(&get(outer, "/"));
    assert!(heard.starts_with("HTTP/1.1 302 Found") && !heard.contains("secret"), "{heard}");
    assert!(fixture.send(&get(inner, "/")).starts_with("HTTP/1.1 403"));
}

#[test]
fn malformed_requests_are_refused() {
    let fixture = EgressFixture::to(&["example.org".to_owned()]);
    for text in [
        "nonsense\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT example.org\r\n\r\n".to_owned(),
        format!("GET http://example.org/ HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(64 << 10)),
        format!("CONNECT {}:443 HTTP/1.1\r\n\r\n", "a".repeat(300)),
    ] {
        let mut stream = fixture.connect();
        let _ = stream.write_all(text.as_bytes());
        let mut heard = String::new();
        let _ = stream.read_to_string(&mut heard);
        assert!(heard.starts_with("HTTP/1.1 403"), "{text:.60}: {heard}");
    }
    drop(fixture.connect());
}

/// Closing the proxy ends its connections; connections above its limit are closed at once.
#[test]
fn closing_ends_open_connections() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let fixture = EgressFixture::to(&[format!("127.0.0.1:{port}")]);
    let mut open: Vec<UnixStream> = (0..70)
        .map(|_| {
            let mut stream = fixture.connect();
            let _ = stream.write_all(format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n").as_bytes());
            stream
        })
        .collect();
    let mut far = Vec::new();
    until(|| {
        far.push(listener.accept().unwrap());
        far.len() >= 60
    });
    let ledger = fixture.close();
    assert!(ledger.count >= 60, "{}", ledger.count);
    for stream in &mut open {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
}
