//! Damaged requests and streams: heads, bodies in chunks, and events.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use assay_test::fuzz;

use crate::conn::Conn;
use crate::head::Head;
use crate::sse::Events;

#[test]
fn damaged_requests_never_panic() {
    let seeds = [
        "POST /v1/messages?beta=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer abc\r\nContent-Length: 2\r\n\r\nhi",
        "GET /v1/models?key=abc HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "POST / HTTP/1.1\r\nx-api-key: k\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nhi\r\n0\r\nTrailer: x\r\n\r\n",
        "HEAD / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Encoding: gzip\r\n\r\n",
    ];
    fuzz(&seeds.map(|seed| seed.as_bytes().to_vec()), |bytes| {
        let (near, mut far) = UnixStream::pair().unwrap();
        // What does not fit into the socket is not sent: nobody reads it.
        far.set_nonblocking(true).unwrap();
        let _ = far.write(bytes);
        let _ = far.shutdown(Shutdown::Write);
        let mut conn = Conn::new(near.into());
        let soon = || Instant::now() + Duration::from_secs(1);
        if let Ok(Some(head)) = Head::read(&mut conn, 32 << 10, soon(), Duration::from_secs(1)) {
            let _ = head.body(&mut conn, 64 << 10, soon());
        }
    });
}

#[test]
fn damaged_streams_never_panic() {
    let seeds = [
        "event: message_start\ndata: {\"type\":\"message_start\"}\n\nevent: done\ndata: {}\n\n",
        "data: one\ndata: two\r\n\r\n: comment\nid: 1\ndata:three\n\ndata: [DONE]\n\n",
    ];
    fuzz(&seeds.map(|seed| seed.as_bytes().to_vec()), |bytes| {
        let all = |parts: &mut dyn Iterator<Item = &[u8]>| {
            let (mut events, mut found) = (Events::default(), Vec::new());
            parts.for_each(|part| events.feed(part, |event| found.push(event.to_vec())));
            events.end(|event| found.push(event.to_vec()));
            found
        };
        // However a stream is cut, its events are the same.
        assert_eq!(all(&mut std::iter::once(bytes)), all(&mut bytes.chunks(3)));
    });
}
