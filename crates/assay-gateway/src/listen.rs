//! Where agents connect: sockets and ports.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::conn::Stream;
use crate::error::GatewayError;
use crate::session::Listen;

/// A listening socket or port.
#[derive(Debug)]
pub(crate) enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

/// Listens at a socket that only its owner can use. The folder's path may have any length: a socket
/// address fits 107 bytes (unix(7)), so longer paths are bound through `/proc/self/fd`. The file's
/// name is limited to about 90 bytes.
pub(crate) fn unix_listener(path: &Path) -> Result<UnixListener, GatewayError> {
    let bound = || -> rustix::io::Result<UnixListener> {
        let (folder, named);
        let near = if SocketAddrUnix::new(path).is_ok() {
            path
        } else {
            let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(Errno::NAMETOOLONG);
            };
            folder =
                rustix::fs::open(above, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
            named = Path::new(&format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
            &named
        };
        let socket = rustix::net::socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )?;
        // The file is created with the socket's own mode (Linux, net/unix/af_unix.c:
        // unix_bind_bsd).
        rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(near)?)?;
        rustix::net::listen(&socket, 64)?;
        Ok(UnixListener::from(socket))
    };
    let address = || path.display().to_string();
    bound().map_err(|error| GatewayError::Listen { address: address(), source: error.into() })
}

pub(crate) fn listen(
    listen: &Listen,
) -> Result<(Listener, Option<PathBuf>, Option<SocketAddr>), GatewayError> {
    match listen {
        Listen::Socket(path) => Ok((Listener::Unix(unix_listener(path)?), Some(path.clone()), None)),
        Listen::Loopback(port) => {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
            let wrong = |source| GatewayError::Listen { address: address.to_string(), source };
            let listener = TcpListener::bind(address).map_err(wrong)?;
            listener.set_nonblocking(true).map_err(wrong)?;
            let address = listener.local_addr().map_err(wrong)?;
            Ok((Listener::Tcp(listener), None, Some(address)))
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(listener) => listener.as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Listener {
    pub(crate) fn accept(&self) -> std::io::Result<Stream> {
        match self {
            Self::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                Ok(stream.into())
            }
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                Ok(stream.into())
            }
        }
    }
}
