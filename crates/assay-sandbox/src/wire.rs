//! The messages between the host and a sandbox's first process, over a socket that preserves
//! message boundaries.
//!
//! A message is one byte that says where its JSON is, then the JSON: `i`, in the message itself;
//! `m`, in an anonymous file whose descriptor comes first. A message may therefore have any length.
//! Further descriptors follow.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Maximum JSON sent in the message itself. A Unix socket accepts about 200 KiB by default.
const INLINE: usize = 8 << 10;
/// Maximum JSON read from an anonymous file. The kernel refuses shorter command lines.
const PAYLOAD: u64 = 64 << 20;
/// Maximum number of descriptors in one message: the payload, standard output, standard error.
const DESCRIPTORS: usize = 3;

/// Orders from the host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Sent once, first: resource limits of all later processes.
    Setup {
        /// Open files.
        nofile: u64,
        /// Bytes of one file.
        fsize: Option<u64>,
        /// Processes of the user inside.
        nproc: Option<u64>,
    },
    /// Runs a command. Its standard output and, unless merged, its standard error are attached.
    Exec {
        /// The host's number of the command.
        id: u64,
        /// Program and arguments.
        argv: Vec<String>,
        /// The whole environment.
        env: Vec<(String, String)>,
        /// The working directory.
        cwd: PathBuf,
    },
    /// Kills the process group of a command that has not ended.
    Kill {
        /// The command.
        id: u64,
    },
    /// Kills everything but the first process.
    KillAll,
    /// Stops everything but the first process.
    Freeze,
    /// Resumes everything.
    Thaw,
}

/// Answers from the first process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// It accepts orders.
    Ready,
    /// A command ended.
    Ended {
        /// The command.
        id: u64,
        /// How it ended.
        how: Ended,
    },
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ended {
    /// With this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// Sends a message. `flags` may contain `DONTWAIT`.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    message: &impl Serialize,
    descriptors: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> io::Result<()> {
    let json = serde_json::to_vec(message)?;
    let mut payload = None;
    let mut bytes = vec![b'i'];
    if json.len() <= INLINE {
        bytes.extend_from_slice(&json);
    } else {
        bytes[0] = b'm';
        let mut file = File::from(memfd_create("message", MemfdFlags::CLOEXEC)?);
        file.write_all(&json)?;
        payload = Some(file);
    }
    let mut fds: Vec<BorrowedFd<'_>> = payload.iter().map(AsFd::as_fd).collect();
    fds.extend_from_slice(descriptors);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::Error::other("too many descriptors in one message"));
    }
    sendmsg(socket, &[IoSlice::new(&bytes)], &mut control, flags | SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The result of receiving.
pub(crate) enum Received<T> {
    /// A message, with its descriptors.
    Message(T, Vec<OwnedFd>),
    /// Nothing yet.
    Nothing,
    /// The other side has closed the connection.
    End,
}

/// Receives the next message, if there is one; never waits.
pub(crate) fn receive<T: DeserializeOwned>(socket: BorrowedFd<'_>) -> io::Result<Received<T>> {
    let mut bytes = vec![0; INLINE + 1];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let got = match recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags) {
        Ok(got) => got,
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return Ok(Received::Nothing),
        Err(rustix::io::Errno::CONNRESET | rustix::io::Errno::PIPE) => return Ok(Received::End),
        Err(error) => return Err(error.into()),
    };
    if got.bytes == 0 {
        return Ok(Received::End);
    }
    if got.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
        return Err(io::Error::other("a message was truncated"));
    }
    let mut fds: Vec<OwnedFd> = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    let message = match bytes.first() {
        Some(b'i') => serde_json::from_slice(&bytes[1..got.bytes])?,
        Some(b'm') if !fds.is_empty() => {
            let mut file = File::from(fds.remove(0));
            file.seek(SeekFrom::Start(0))?;
            let mut json = Vec::new();
            file.take(PAYLOAD).read_to_end(&mut json)?;
            serde_json::from_slice(&json)?
        }
        _ => return Err(io::Error::other("an invalid message")),
    };
    Ok(Received::Message(message, fds))
}
