//! The list of what is reached without a proxy.

use std::net::IpAddr;

use super::bare;

/// Whether a list of `no_proxy` names a host: by its name or that of a domain above
/// it, by its address or a network, each with a port or without.
pub(super) fn holds(list: &str, host: &str, port: u16) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let ip = host.parse::<IpAddr>().ok();
    list.split([',', ' ']).any(|entry| {
        let entry = entry.trim().to_ascii_lowercase();
        if entry == "*" {
            return true;
        }
        if let (Some(ip), Some((network, bits))) = (ip, entry.split_once('/')) {
            return in_network(ip, network, bits);
        }
        if let (Some(ip), Ok(named)) = (ip, bare(&entry).parse::<IpAddr>()) {
            return ip == named;
        }
        let (name, wanted) = match entry.rsplit_once(':') {
            Some((name, wanted)) if !name.contains(':') || name.ends_with(']') => {
                (name, wanted.parse::<u16>().ok())
            }
            _ => (entry.as_str(), None),
        };
        if wanted.is_some_and(|wanted| wanted != port) {
            return false;
        }
        let name = bare(name).trim_start_matches("*.").trim_matches('.');
        let above = || {
            host.strip_suffix(name)
                .is_some_and(|rest| rest.ends_with('.'))
        };
        !name.is_empty() && (host == name || (ip.is_none() && above()))
    })
}

fn in_network(ip: IpAddr, network: &str, bits: &str) -> bool {
    let (Ok(network), Ok(bits)) = (network.parse::<IpAddr>(), bits.parse::<u32>()) else {
        return false;
    };
    match (ip, network) {
        (IpAddr::V4(ip), IpAddr::V4(network)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            ip.to_bits() & mask == network.to_bits() & mask
        }
        (IpAddr::V6(ip), IpAddr::V6(network)) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            ip.to_bits() & mask == network.to_bits() & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
