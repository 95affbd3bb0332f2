//! Which user of this machine a connection is from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The state of an open connection in the kernel's tables.
const ESTABLISHED: &str = "01";

/// Whether a connection from this machine is from a process of this user. Where the kernel does not say whose it is,
/// it is not.
pub(crate) fn is_own_user(peer: SocketAddr, port: u16) -> bool {
    let Some(own) = own_user() else { return false };
    let mut users = ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().flat_map(|table| {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        users_of(&text, peer, port)
    });
    users.next() == Some(own) && users.all(|user| user == own)
}

#[cfg(target_os = "linux")]
fn own_user() -> Option<u32> {
    use std::os::unix::fs::MetadataExt;

    // The owner of a process's folder is its effective user.
    std::fs::metadata("/proc/self/task").ok().map(|own| own.uid())
}

#[cfg(not(target_os = "linux"))]
fn own_user() -> Option<u32> {
    None
}

/// The users of the open sockets at an address of this machine that are connected to a port (proc_net_tcp in the
/// kernel's documentation: local address, remote address, state, …, user).
fn users_of(table: &str, local: SocketAddr, port: u16) -> Vec<u32> {
    let socket = |line: &str| -> Option<u32> {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (own, remote, state) = (fields.next()?, fields.next()?, fields.next()?);
        let (own, remote) = (address(own)?, address(remote)?);
        let is_this = state == ESTABLISHED
            && own == SocketAddr::new(local.ip().to_canonical(), local.port())
            && remote.port() == port;
        let user = fields.nth(3)?;
        is_this.then(|| user.parse().ok()).flatten()
    };
    table.lines().skip(1).filter_map(socket).collect()
}

/// An address such as `0100007F:1F90`: words of 32 bits in the byte order of the machine.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let mut bytes = Vec::new();
    for at in (0..ip.len()).step_by(8) {
        let word = u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let ip: IpAddr = match <[u8; 4]>::try_from(&bytes[..]) {
        Ok(bytes) => Ipv4Addr::from(bytes).into(),
        Err(_) => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into(),
    };
    Some(SocketAddr::new(ip.to_canonical(), u16::from_str_radix(port, 16).ok()?))
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    #[test]
    fn the_user_of_a_connection_is_found() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
               0: 0100007F:48EF 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0\n\
               1: 0100007F:9C40 0100007F:48EF 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0\n\
               2: 0100007F:48EF 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0\n\
               3: 0100007F:9C41 0100007F:48EF 06 00000000:00000000 00:00000000 00000000     0        0 0 3 0\n";
        let check = |peer: &str, port: u16, expected: &[u32]| {
            assert_eq!(users_of(table, peer.parse().unwrap(), port), expected, "{peer} to {port}");
        };
        check("127.0.0.1:40000", 18671, &[1000]);
        check("[::ffff:127.0.0.1]:40000", 18671, &[1000]);
        check("127.0.0.1:40000", 18672, &[]);
        check("127.0.0.2:40000", 18671, &[]);
        // A connection that is being closed has no user.
        check("127.0.0.1:40001", 18671, &[]);
        assert_eq!(address("00000000000000000000000001000000:0050"), Some("[::1]:80".parse().unwrap()));
        assert_eq!(address("x"), None);
    }

    #[test]
    fn a_connection_of_this_process_is_its_users() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        assert_eq!(is_own_user(client.local_addr().unwrap(), port), cfg!(target_os = "linux"));
        assert!(!is_own_user("127.0.0.1:1".parse().unwrap(), port));
    }
}
