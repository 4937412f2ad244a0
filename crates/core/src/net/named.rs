//! Hosts and ports that somebody may reach, as their owner names them.
//!
//! A name says nothing of where it leads: whoever owns it could lead it to a service of
//! this network. So an address that is not on the Internet is reached only where the
//! owner named the address ([`Destinations::holds`]), whatever name led there.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The port where none is said.
pub const DEFAULT_PORT: u16 = 443;
/// Longest name of a host (RFC 1035, section 2.3.4).
const NAME_MAX: usize = 253;

/// A host, the hosts below a name, or a network; and a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Destination {
    place: Place,
    port: u16,
}

/// All that somebody may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Destinations(Vec<Destination>);

/// A host as a request names it: in small letters, without the dot at the end of a name
/// and the brackets of an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HostName {
    /// An address.
    Ip(IpAddr),
    /// A name.
    Name(Box<str>),
}

/// Why a text names no destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDestination {
    /// It is an address of a document, or something else with too much in it.
    #[error("is more than a host and a port")]
    More,
    /// An IPv6 address without them.
    #[error("has an IPv6 address without brackets")]
    Brackets,
    /// What is before the port is no name and no address.
    #[error("names no host")]
    Host,
    /// What is behind the host is no port.
    #[error("has no port from 1 to 65535")]
    Port,
    /// What is behind the slash is no number of bits of such an address.
    #[error("has no network of that length")]
    Network,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Name(Box<str>),
    /// What is below this name, and not the name itself.
    Below(Box<str>),
    /// The first address, and how many bits all of them share.
    Network(IpAddr, u8),
}

// === impl Destination ===

impl FromStr for Destination {
    type Err = BadDestination;

    fn from_str(text: &str) -> Result<Self, BadDestination> {
        let plain = |c: char| c.is_ascii_graphic() && !"@?#\\".contains(c);
        if !text.chars().all(plain) || text.contains("//") {
            return Err(BadDestination::More);
        }
        let (host, port) = split(text)?;
        let port = match port {
            None => DEFAULT_PORT,
            Some(port) => number(port).ok_or(BadDestination::Port)?,
        };
        if port == 0 {
            return Err(BadDestination::Port);
        }
        let place = match (host.strip_prefix("*."), host.split_once('/')) {
            (Some(name), _) => Place::Below(below(name)?),
            (None, Some((first, bits))) => network(first, bits)?,
            (None, None) => match HostName::parse(host).ok_or(BadDestination::Host)? {
                HostName::Name(name) => Place::Name(name),
                HostName::Ip(ip) => Place::Network(ip, width(ip)),
            },
        };
        Ok(Self { place, port })
    }
}

impl TryFrom<String> for Destination {
    type Error = BadDestination;

    fn try_from(text: String) -> Result<Self, BadDestination> {
        text.parse()
    }
}

impl From<Destination> for String {
    fn from(destination: Destination) -> Self {
        destination.to_string()
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.port;
        match &self.place {
            Place::Name(name) => write!(f, "{name}:{port}"),
            Place::Below(name) => write!(f, "*.{name}:{port}"),
            Place::Network(ip, bits) if *bits == width(*ip) => {
                write!(f, "{}", SocketAddr::new(*ip, port))
            }
            Place::Network(IpAddr::V4(ip), bits) => write!(f, "{ip}/{bits}:{port}"),
            Place::Network(IpAddr::V6(ip), bits) => write!(f, "[{ip}/{bits}]:{port}"),
        }
    }
}

// === impl Destinations ===

impl Destinations {
    /// Whether a name and a port are named. Where the name leads is another question.
    #[must_use]
    pub fn names(&self, name: &str, port: u16) -> bool {
        let mut own = self.0.iter().filter(|one| one.port == port);
        own.any(|one| match &one.place {
            Place::Name(named) => **named == *name,
            Place::Below(named) => name
                .strip_suffix(&**named)
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            Place::Network(..) => false,
        })
    }

    /// Whether an address and a port are named, by the address or its network.
    #[must_use]
    pub fn holds(&self, ip: IpAddr, port: u16) -> bool {
        let ip = ip.to_canonical();
        let mut own = self.0.iter().filter(|one| one.port == port);
        own.any(|one| match &one.place {
            Place::Name(name) => is_localhost(name) && own_addresses().contains(&ip),
            Place::Below(_) => false,
            Place::Network(first, bits) => masked(ip, *bits) == Some(*first),
        })
    }

    /// Addresses of this machine that are named one by one, each once.
    #[must_use]
    pub fn of_this_machine(&self) -> Vec<SocketAddr> {
        let mut all = Vec::new();
        for one in &self.0 {
            match &one.place {
                Place::Name(name) if is_localhost(name) => {
                    all.extend(own_addresses().map(|ip| SocketAddr::new(ip, one.port)));
                }
                Place::Network(ip, bits) if ip.is_loopback() && *bits == width(*ip) => {
                    all.push(SocketAddr::new(*ip, one.port));
                }
                Place::Name(_) | Place::Below(_) | Place::Network(..) => {}
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One after the other, as their owner wrote them.
    pub fn iter(&self) -> impl Iterator<Item = &Destination> {
        self.0.iter()
    }
}

impl FromIterator<Destination> for Destinations {
    fn from_iter<T: IntoIterator<Item = Destination>>(all: T) -> Self {
        Self(all.into_iter().collect())
    }
}

// === impl HostName ===

impl HostName {
    /// Reads a host, an IPv6 address with brackets or without; `None` for what is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bare = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'));
        if let Some(bare) = bare {
            let ip: Ipv6Addr = bare.parse().ok()?;
            return Some(Self::Ip(IpAddr::V6(ip).to_canonical()));
        }
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Some(Self::Ip(ip.to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let label = |label: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            !label.is_empty() && label.len() <= 63 && label.chars().all(plain)
        };
        // The system reads `127.1` and `0x7f000001` as addresses.
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_number = last.starts_with(|c: char| c.is_ascii_digit())
            && (last.starts_with("0x") || last.bytes().all(|b| b.is_ascii_digit()));
        let is_name = name.len() <= NAME_MAX && name.split('.').all(label) && !is_number;
        is_name.then(|| Self::Name(name.into()))
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
            Self::Ip(ip) => write!(f, "{ip}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// A host, and what is behind the colon.
fn split(text: &str) -> Result<(&str, Option<&str>), BadDestination> {
    if text.starts_with('[') {
        let (host, rest) = text
            .split_once(']')
            .map(|(host, rest)| (&text[..=host.len()], rest))
            .ok_or(BadDestination::Host)?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(BadDestination::Port),
        };
    }
    match text.split_once(':') {
        None => Ok((text, None)),
        Some((_, port)) if port.contains(':') => Err(BadDestination::Brackets),
        Some((host, port)) => Ok((host, Some(port))),
    }
}

fn below(name: &str) -> Result<Box<str>, BadDestination> {
    match HostName::parse(name) {
        Some(HostName::Name(name)) => Ok(name),
        Some(HostName::Ip(_)) | None => Err(BadDestination::Host),
    }
}

/// `10.0.0.0/8`, `[fd00::/8]`.
fn network(first: &str, bits: &str) -> Result<Place, BadDestination> {
    let (first, bits) = match (first.strip_prefix('['), bits.strip_suffix(']')) {
        (Some(first), Some(bits)) => (first.parse::<Ipv6Addr>().ok().map(IpAddr::V6), bits),
        (None, None) => (first.parse::<Ipv4Addr>().ok().map(IpAddr::V4), bits),
        _ => (None, bits),
    };
    let first = first.ok_or(BadDestination::Host)?;
    let bits = number(bits).and_then(|bits| u8::try_from(bits).ok());
    // All addresses at once are no network that anybody named.
    let bits = bits.filter(|bits| *bits > 0);
    let network = bits.and_then(|bits| Some(Place::Network(masked(first, bits)?, bits)));
    network.ok_or(BadDestination::Network)
}

/// Digits alone: `+1` is a number for others.
fn number(text: &str) -> Option<u16> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

fn width(ip: IpAddr) -> u8 {
    match ip {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// The first address of its network of that length; `None` where an address of its kind
/// has fewer bits.
fn masked(ip: IpAddr, bits: u8) -> Option<IpAddr> {
    let cut = width(ip).checked_sub(bits)?.into();
    Some(match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(cut).unwrap_or(0);
            Ipv4Addr::from_bits(ip.to_bits() & mask).into()
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(cut).unwrap_or(0);
            Ipv6Addr::from_bits(ip.to_bits() & mask).into()
        }
    })
}

fn is_localhost(name: &str) -> bool {
    name == "localhost"
}

/// Where `localhost` leads.
fn own_addresses() -> [IpAddr; 2] {
    [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
}

#[cfg(test)]
mod tests;
