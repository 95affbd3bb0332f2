//! A forwarder in a sandbox without network: from a port of its loopback to one Unix socket.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;

/// Maximum number of concurrent connections; others wait until one ends.
const CONNECTIONS: usize = 128;

/// The status if nothing could be started, as in a shell for a program that cannot be run.
const NOT_STARTED: i32 = 126;

/// Runs inside a sandbox: `PORT SOCKET PROGRAM ARGUMENT…`. Listens at the port of 127.0.0.1, runs
/// the program, forwards every connection to the socket, and returns the program's status, or 128
/// plus the signal that ended it.
///
/// A program calls it if its arguments say so, and exits with the returned status; open connections
/// end then.
///
/// Without a program it prints `ready` when the port is open, closes its standard output, and runs
/// until it is killed.
pub fn forward_main(args: &[OsString]) -> i32 {
    match forward(args) {
        Ok(status) => status,
        Err(message) => {
            let _ = writeln!(io::stderr(), "assay: {message}");
            NOT_STARTED
        }
    }
}

/// Why the program was not run.
#[derive(Debug, thiserror::Error)]
enum ForwardError {
    #[error("usage: forwarder PORT SOCKET")]
    Usage,
    #[error("invalid port {}", .0.display())]
    Port(OsString),
    #[error("cannot listen on port {port}: {error}")]
    Listen { port: u16, error: io::Error },
    #[error(transparent)]
    Output(#[from] io::Error),
    #[error("cannot start {}: {error}", program.display())]
    Start { program: PathBuf, error: io::Error },
}

fn forward(args: &[OsString]) -> Result<i32, ForwardError> {
    let [port, socket, line @ ..] = args else {
        return Err(ForwardError::Usage);
    };
    let port: u16 =
        port.to_str().and_then(|port| port.parse().ok()).ok_or_else(|| ForwardError::Port(port.clone()))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map_err(|error| ForwardError::Listen { port, error })?;
    let socket = PathBuf::from(socket);
    let Some((program, rest)) = line.split_first() else {
        let _ = io::stdout().write_all(b"ready\n").and_then(|()| io::stdout().flush());
        // The reader waits for the end of the output.
        let null = File::options().write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(&null).map_err(io::Error::from)?;
        rustix::stdio::dup2_stderr(&null).map_err(io::Error::from)?;
        serve(&listener, &socket);
        return Ok(0);
    };
    thread::spawn(move || serve(&listener, &socket));
    let status = Command::new(program)
        .args(rest)
        .status()
        .map_err(|error| ForwardError::Start { program: program.into(), error })?;
    Ok(status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(NOT_STARTED))
}

/// Accepts connections until the process ends.
fn serve(listener: &TcpListener, socket: &Path) {
    let open = Arc::new(());
    for near in listener.incoming().flatten() {
        // Each connection holds a clone.
        while Arc::strong_count(&open) > CONNECTIONS {
            thread::sleep(std::time::Duration::from_millis(5));
        }
        // If nothing listens at the socket, the connection is closed.
        if let Ok(far) = UnixStream::connect(socket) {
            let open = Arc::clone(&open);
            thread::spawn(move || {
                join(near, far);
                drop(open);
            });
        }
    }
}

/// Copies in both directions until both sides are done.
fn join(near: TcpStream, far: UnixStream) {
    let _ = near.set_nodelay(true);
    let (Ok(mut near_in), Ok(mut far_out)) = (near.try_clone(), far.try_clone()) else { return };
    let there = thread::spawn(move || {
        let _ = io::copy(&mut near_in, &mut far_out);
        let _ = far_out.shutdown(Shutdown::Write);
    });
    let (mut near_out, mut far_in) = (near, far);
    let _ = io::copy(&mut far_in, &mut near_out);
    let _ = near_out.shutdown(Shutdown::Write);
    let _ = there.join();
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn args(list: &[&str]) -> Vec<OsString> {
        list.iter().map(OsString::from).collect()
    }

    #[test]
    fn connections_are_forwarded_to_the_socket() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("proxy.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let server = thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let mut heard = String::new();
            connection.read_to_string(&mut heard).unwrap();
            connection.write_all(heard.to_uppercase().as_bytes()).unwrap();
        });
        let port = free_port().to_string();
        let talk = format!(
            "import socket,sys; s=socket.create_connection(('127.0.0.1',{port})); s.sendall(b'hello'); \
             s.shutdown(1); assert s.recv(9)==b'HELLO'; sys.exit(7)"
        );
        let status = forward_main(&args(&[&port, socket.to_str().unwrap(), "python3", "-c", &talk]));
        assert_eq!(status, 7);
        server.join().unwrap();
    }

    #[test]
    fn status_is_that_of_the_program() {
        let check = |rest: &[&str], expected: i32| {
            let port = free_port().to_string();
            let mut line = vec![port.as_str(), "/nowhere"];
            line.extend(rest);
            assert_eq!(forward_main(&args(&line)), expected, "{rest:?}");
        };
        check(&["true"], 0);
        check(&["sh", "-c", "exit 3"], 3);
        check(&["sh", "-c", "kill -9 $$"], 137);
        check(&["/no/such/program"], NOT_STARTED);
        assert_eq!(forward_main(&args(&["x", "/nowhere", "true"])), NOT_STARTED);
        assert_eq!(forward_main(&args(&["1"])), NOT_STARTED);
    }

    fn free_port() -> u16 {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
    }
}
