//! A TLS provider, with a certificate of an authority made for these tests (`tests/tls`, valid
//! until 2126).

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use assay_gateway::{Ledger, Provider, ProviderOptions};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use crate::client::{Reply, post};
use crate::upstream::KEY;
use crate::{open_proxy, requests};

fn file(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name).to_str().unwrap().to_owned()
}

/// Answers every request in the same way; returns its port and the heads that it read.
fn server() -> (u16, Arc<Mutex<Vec<String>>>) {
    let certificate = CertificateDer::from_pem_file(file("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&heads);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, kept) = (Arc::clone(&config), Arc::clone(&kept));
            thread::spawn(move || {
                let mut reader =
                    BufReader::new(StreamOwned::new(ServerConnection::new(config).unwrap(), stream));
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    if reader.read_line(&mut head).unwrap_or(0) == 0 {
                        return;
                    }
                }
                // The whole request is read: a connection that is closed with unread bytes is
                // reset, and the reply can be lost with it.
                let length = head.lines().find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
                });
                let mut sent = vec![0; length.unwrap_or(0)];
                if reader.read_exact(&mut sent).is_err() {
                    return;
                }
                kept.lock().unwrap().push(head);
                let body = json!({
                    "model": "m", "choices": [{"message": {"content": "over TLS"}, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 4, "completion_tokens": 2},
                })
                .to_string();
                let stream = reader.get_mut();
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.flush();
                // The client closes first: by then it has read everything that it needs.
                stream.conn.send_close_notify();
                let _ = stream.flush();
                let _ = stream.sock.shutdown(Shutdown::Write);
                let _ = io::copy(&mut stream.sock, &mut io::sink());
            });
        }
    });
    (port, heads)
}

/// One request to a URL, with the authorities of a file or the built-in ones.
fn request_over_tls(address: &str, authorities: Option<&str>) -> (Reply, Ledger) {
    let options = ProviderOptions { api_key_env: Some("CANARY".to_owned()), ..ProviderOptions::default() };
    let authorities = authorities.map(file);
    let env = |name: &str| match name {
        "CANARY" => Some(KEY.to_owned()),
        "SSL_CERT_FILE" => authorities.clone(),
        _ => None,
    };
    let proxy = open_proxy(Provider::open(address, &options, &env).unwrap(), |_, _| {});
    let (path, body) = requests(false, 0).remove(2);
    let reply = post(&proxy, &path, &body);
    (reply, proxy.close())
}

#[test]
fn certificate_is_accepted_with_its_authority_only() {
    let (port, heads) = server();
    for host in ["localhost", "127.0.0.1"] {
        let (reply, ledger) = request_over_tls(&format!("https://{host}:{port}"), Some("authority.pem"));
        assert_eq!(reply.status, 200, "{reply:?}");
        assert!(reply.text().contains("over TLS"));
        assert_eq!(ledger.exchanges[0].tokens.unwrap().output, 2);
    }
    assert!(heads.lock().unwrap().iter().all(|head| head.contains(KEY)));
    let asked = heads.lock().unwrap().len();
    // Another authority, and the built-in ones: no key is sent, and nothing is retried.
    for authorities in [Some("another.pem"), None] {
        let (reply, ledger) = request_over_tls(&format!("https://127.0.0.1:{port}"), authorities);
        assert_eq!(reply.status, 502, "{reply:?}");
        let exchange = &ledger.exchanges[0];
        let error = exchange.error.as_deref().unwrap();
        assert!(
            error.contains("cannot reach the provider") && error.to_lowercase().contains("cert"),
            "{error}"
        );
        assert!(exchange.tokens.is_none() && exchange.waits.is_empty(), "{exchange:?}");
        assert!(!serde_json::to_string(&ledger).unwrap().contains(KEY));
    }
    assert_eq!(heads.lock().unwrap().len(), asked, "a rejected server receives nothing");
}

/// The certificate is for other host names.
#[test]
fn certificate_for_another_host_is_rejected() {
    let (port, heads) = server();
    let (reply, ledger) = request_over_tls(&format!("https://127.0.0.2:{port}"), Some("authority.pem"));
    assert_eq!(reply.status, 502, "{reply:?}");
    assert!(ledger.exchanges[0].tokens.is_none());
    assert!(heads.lock().unwrap().is_empty());
}

/// A server without TLS gets nothing at an https URL.
#[test]
fn server_without_tls_is_rejected() {
    let upstream =
        crate::upstream::Upstream::start(|_, _, _, out| crate::upstream::answer(out, "200 OK", "", "{}"));
    let address = upstream.address.replace("http://", "https://");
    let (reply, _) = request_over_tls(&address, Some("authority.pem"));
    assert_eq!(reply.status, 502, "{reply:?}");
    assert!(upstream.requests().is_empty());
}
