//! Lists of allowed hosts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The ports of an entry without a port.
const WEB: [u16; 2] = [80, 443];

/// A list of hosts: names, `*.name` for all names below one, addresses, and networks
/// (`10.0.0.0/8`), each with a port (`name:8080`) or for 80 and 443.
///
/// A listed name may resolve to public addresses; others must be listed themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    text: String,
    what: HostPattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    Name(String),
    Below(String),
    Net(IpAddr, u8),
}

/// An invalid entry of a list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid host {entry:?}: {fault}")]
pub struct HostsError {
    entry: String,
    fault: HostFault,
}

/// What is wrong with an entry, or with a request's host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum HostFault {
    #[error("expected a name, an address or a network, without a path")]
    Path,
    #[error("expected a prefix length after /")]
    Length,
    #[error("the prefix length is larger than the address")]
    TooLong,
    #[error("a wildcard needs a host name, not an address")]
    NamesBelow,
    #[error("unclosed bracket")]
    OpenBracket,
    #[error("expected an address in brackets")]
    Brackets,
    #[error("invalid port")]
    Port,
    #[error("missing host")]
    NoHost,
}

impl Hosts {
    /// Parses a list.
    ///
    /// # Errors
    /// Fails with the first invalid entry.
    pub fn parse<S: AsRef<str>>(list: &[S]) -> Result<Self, HostsError> {
        let entries = list.iter().map(|entry| Entry::parse(entry.as_ref())).collect::<Result<_, _>>()?;
        Ok(Self { entries })
    }

    /// The entries as written.
    pub fn list(&self) -> Vec<String> {
        self.entries.iter().map(|entry| entry.text.clone()).collect()
    }

    /// The entries that both lists allow: each of either list that an entry of the other covers.
    #[must_use]
    pub fn intersection(&self, others: &Self) -> Self {
        let (mine, theirs) = (&self.entries, &others.entries);
        let covered = |entry: &&Entry, by: &[Entry]| by.iter().any(|other| other.covers(entry));
        let mut entries: Vec<Entry> = mine.iter().filter(|entry| covered(entry, theirs)).cloned().collect();
        for entry in theirs.iter().filter(|entry| covered(entry, mine)) {
            if !entries.contains(entry) {
                entries.push(entry.clone());
            }
        }
        Self { entries }
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn has_name(&self, name: &str, port: u16) -> bool {
        self.entries.iter().any(|entry| entry.has_port(port) && entry.what.has_name(name))
    }

    pub(super) fn has_address(&self, address: IpAddr, port: u16) -> bool {
        let address = plain(address);
        self.entries.iter().any(|entry| entry.has_port(port) && entry.what.has_address(address))
    }
}

impl Entry {
    fn parse(text: &str) -> Result<Self, HostsError> {
        let wrong = |fault| HostsError { entry: text.escape_default().to_string(), fault };
        let entry = |what, port| Ok(Self { text: text.to_owned(), what, port });
        let text = text.trim();
        if let Ok(address) = text.parse::<IpAddr>() {
            return entry(HostPattern::Net(plain(address), bits(plain(address))), None);
        }
        if let Some((address, length)) = text.split_once('/') {
            let address: IpAddr = address.parse().map_err(|_| wrong(HostFault::Path))?;
            let length: u8 = length.parse().map_err(|_| wrong(HostFault::Length))?;
            if length > bits(address) {
                return Err(wrong(HostFault::TooLong));
            }
            return entry(HostPattern::Net(address, length), None);
        }
        let (below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (host, port) = split(rest).map_err(wrong)?;
        match host.parse::<IpAddr>() {
            Ok(_) if below => Err(wrong(HostFault::NamesBelow)),
            Ok(address) => entry(HostPattern::Net(plain(address), bits(plain(address))), port),
            Err(_) if below => entry(HostPattern::Below(host), port),
            Err(_) => entry(HostPattern::Name(host), port),
        }
    }

    fn has_port(&self, port: u16) -> bool {
        self.port.map_or_else(|| WEB.contains(&port), |own| own == port)
    }

    /// Whether this entry allows everything that `other` allows.
    fn covers(&self, other: &Self) -> bool {
        let ports = self.port == other.port || other.port.is_some_and(|port| self.has_port(port));
        ports
            && match (&self.what, &other.what) {
                (HostPattern::Net(own, length), HostPattern::Net(address, longer)) => {
                    length <= longer && in_net(*own, *length, *address)
                }
                (HostPattern::Below(own), HostPattern::Below(name)) => {
                    own == name || name.strip_suffix(own.as_str()).is_some_and(|rest| rest.ends_with('.'))
                }
                (what, HostPattern::Name(name)) => what.has_name(name),
                _ => false,
            }
    }
}

impl HostPattern {
    fn has_name(&self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Below(own) => name.strip_suffix(own.as_str()).is_some_and(|rest| rest.ends_with('.')),
            Self::Net(..) => false,
        }
    }

    fn has_address(&self, address: IpAddr) -> bool {
        matches!(self, Self::Net(own, length) if in_net(*own, *length, address))
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn in_net(net: IpAddr, length: u8, address: IpAddr) -> bool {
    match (net, address) {
        (IpAddr::V4(net), IpAddr::V4(address)) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            net.to_bits() & mask == address.to_bits() & mask
        }
        (IpAddr::V6(net), IpAddr::V6(address)) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            net.to_bits() & mask == address.to_bits() & mask
        }
        _ => false,
    }
}

/// Converts an IPv4-mapped IPv6 address to IPv4.
fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// `host`, `host:port`, `[address]:port`: the host in lower case, without the trailing dot.
pub(super) fn split(text: &str) -> Result<(String, Option<u16>), HostFault> {
    let number = |port: &str| port.parse::<u16>().ok().filter(|port| *port > 0).ok_or(HostFault::Port);
    if let Some(rest) = text.strip_prefix('[') {
        let (address, rest) = rest.split_once(']').ok_or(HostFault::OpenBracket)?;
        let address: Ipv6Addr = address.parse().map_err(|_| HostFault::Brackets)?;
        let port = match rest {
            "" => None,
            rest => Some(number(rest.strip_prefix(':').ok_or(HostFault::Port)?)?),
        };
        return Ok((plain(IpAddr::V6(address)).to_string(), port));
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(number(port)?)),
        None => (text, None),
    };
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if host.is_empty() || host.len() > 253 || !host.chars().all(is_plain) {
        return Err(HostFault::NoHost);
    }
    Ok((host, port))
}

/// Whether an address is public (the registries of special addresses, RFC 6890, as updated since).
pub(super) fn is_public(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => {
            let [first, second, ..] = address.segments();
            // These addresses contain an IPv4 address and lead there: NAT64 (RFC 6052) and 6to4
            // (RFC 3056).
            let octets = address.octets();
            let inner = |at: usize| {
                let four = octets.get(at..at + 4).and_then(|four| <[u8; 4]>::try_from(four).ok());
                four.is_some_and(|four| is_public_v4(Ipv4Addr::from(four)))
            };
            match (first, second) {
                (0x64, 0xff9b) => inner(12),
                (0x2002, _) => inner(2),
                // Teredo, ORCHID and others for protocols (2001::/23), documentation.
                (0x2001, 0..=0x1ff | 0xdb8) | (0x3fff, 0..=0xfff) => false,
                // All addresses allocated for global unicast (RFC 4291, 2.4).
                (0x2000..=0x3fff, _) => true,
                _ => false,
            }
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, ..)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 168, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_hosts_are_allowed() {
        let list =
            ["example.org", "*.example.net", "api.test:8443", "10.0.0.0/8", "127.0.0.1:9000", "[fd00::1]:80"];
        let hosts = Hosts::parse(&list).unwrap();
        let check = |host: &str, port: u16, expected: bool| {
            let found = match host.parse() {
                Ok(address) => hosts.has_address(address, port),
                Err(_) => hosts.has_name(host, port),
            };
            assert_eq!(found, expected, "{host}:{port}");
        };
        for (host, port) in
            [("example.org", 443), ("example.org", 80), ("a.b.example.net", 443), ("api.test", 8443)]
        {
            check(host, port, true);
        }
        for (host, port) in [("10.1.2.3", 80), ("127.0.0.1", 9000), ("::ffff:10.1.2.3", 443), ("fd00::1", 80)]
        {
            check(host, port, true);
        }
        for host in
            ["www.example.org", "example.net", "badexample.net", "example.org.evil", "api.test", "11.0.0.1"]
        {
            check(host, 443, false);
        }
        for (host, port) in [("example.org", 22), ("127.0.0.1", 80), ("10.1.2.3", 8080), ("fd00::2", 80)] {
            check(host, port, false);
        }
    }

    #[test]
    fn invalid_entries_are_reported() {
        let check = |entry: &str, expected: &str| {
            let error = Hosts::parse(&[entry]).unwrap_err().to_string();
            assert!(error.contains(expected), "{entry}: {error}");
        };
        check("", "missing host");
        check("https://example.org", "without a path");
        check("example.org/path", "without a path");
        check("example.org:https", "port");
        check("example.org:0", "port");
        check("10.0.0.0/33", "prefix length");
        check("*.127.0.0.1", "needs a host name");
        check("a b", "invalid host");
        check("*", "invalid host");
        check("[::1", "bracket");
    }

    #[test]
    fn intersection_keeps_what_both_lists_allow() {
        let check = |mine: &[&str], theirs: &[&str], expected: &[&str]| {
            let (mine, theirs) = (Hosts::parse(mine).unwrap(), Hosts::parse(theirs).unwrap());
            assert_eq!(mine.intersection(&theirs).list(), expected, "{mine:?} {theirs:?}");
        };
        check(&["a.org", "b.org"], &["b.org", "c.org"], &["b.org"]);
        check(&["x.a.org"], &["*.a.org"], &["x.a.org"]);
        check(&["*.a.org"], &["x.a.org"], &["x.a.org"]);
        check(&["a.org:443"], &["a.org"], &["a.org:443"]);
        check(&["a.org:22"], &["a.org"], &[]);
        check(&["10.0.0.0/8"], &["10.2.0.0/16", "11.0.0.1"], &["10.2.0.0/16"]);
        check(&["*.a.org"], &["*.b.a.org"], &["*.b.a.org"]);
        check(&["a.org"], &[], &[]);
    }

    #[test]
    fn special_addresses_are_not_public() {
        for address in [
            "127.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.2.1",
            "::1",
            "::",
            "fe80::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "fec0::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::101:101"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
