//! The program behind every command of a double, inside the sandbox.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::answer::{ProgramCall, ProgramReply};

/// The exit status if the double does not answer, as in a shell for a program that cannot be run.
const NOT_ANSWERED: i32 = 126;

/// Most bytes of standard input that are sent.
const STDIN_CAP: u64 = 1 << 20;

/// Runs inside a sandbox: `SOCKET stdin|- PROGRAM ARGUMENT…`. Sends the call to the socket, does
/// what the reply says, and returns the exit status. Standard input is read only with `stdin`.
///
/// A program calls it if its arguments say so, and exits with the returned status.
pub fn double_main(args: &[OsString]) -> i32 {
    match call(args) {
        Ok(status) => status.into(),
        Err(error) => {
            let name = args.get(2).map(|name| name.display().to_string()).unwrap_or_default();
            let _ = writeln!(io::stderr(), "{name}: {error}");
            NOT_ANSWERED
        }
    }
}

/// Why a call was not answered.
#[derive(Debug, thiserror::Error)]
enum ClientError {
    #[error("usage: SOCKET stdin|- PROGRAM ARGUMENT…")]
    Usage,
    #[error("the test double does not answer: {0}")]
    Connect(#[source] io::Error),
    #[error("the test double's reply cannot be read")]
    Reply,
    #[error("cannot write {}: {error}", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("cannot write the output: {0}")]
    Output(#[source] io::Error),
}

fn call(args: &[OsString]) -> Result<u8, ClientError> {
    let [socket, input, program, args @ ..] = args else { return Err(ClientError::Usage) };
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let mut stdin = None;
    if input == "stdin" {
        let mut bytes = Vec::new();
        // What cannot be read matches no pattern.
        let _ = io::stdin().take(STDIN_CAP).read_to_end(&mut bytes);
        stdin = Some(String::from_utf8_lossy(&bytes).into_owned());
    }
    let call = ProgramCall { program: text(program), args: args.iter().map(text).collect(), stdin };
    let reply = exchange(Path::new(socket), &call)?;
    for (path, content) in &reply.files {
        let path = Path::new(path);
        let written =
            path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, content));
        written.map_err(|error| ClientError::Write { path: path.to_path_buf(), error })?;
    }
    let mut out = io::stdout();
    match out.write_all(reply.stdout.as_bytes()).and_then(|()| out.flush()) {
        // Whatever reads it has read enough, such as `head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        other => other.map_err(ClientError::Output)?,
    }
    let _ = io::stderr().write_all(reply.stderr.as_bytes());
    Ok(reply.status)
}

/// Sends one request, and reads the reply to the end of the connection.
fn exchange(socket: &Path, call: &ProgramCall) -> Result<ProgramReply, ClientError> {
    let body = serde_json::to_vec(call).map_err(|_| ClientError::Reply)?;
    let mut stream = UnixStream::connect(socket).map_err(ClientError::Connect)?;
    let head = format!(
        "POST /call HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut reply = Vec::new();
    stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(&body))
        .and_then(|()| stream.read_to_end(&mut reply))
        .map_err(ClientError::Connect)?;
    let start = reply.windows(4).position(|window| window == b"\r\n\r\n").ok_or(ClientError::Reply)? + 4;
    serde_json::from_slice(reply.get(start..).unwrap_or_default()).map_err(|_| ClientError::Reply)
}
