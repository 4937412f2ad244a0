//! Which addresses are on the Internet.
//!
//! An address in a message would otherwise let its sender talk to this machine and its
//! network in the hub's name: so nothing goes to an address that the registries of
//! special-purpose addresses (IANA; RFC 6890) do not call global, unless the owner
//! allowed the host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// First address and length of the prefix of what is not global, IPv4.
const SPECIAL_V4: [([u8; 4], u8); 16] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    // Multicast, and what is reserved up to the broadcast address.
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
    ([255, 255, 255, 255], 32),
];

/// The only addresses that are given to anybody, IPv6, …
const GLOBAL_V6: (u16, u8) = (0x2000, 3);
/// … and what of them is not global: the first two groups and the prefix length.
const SPECIAL_V6: [([u16; 2], u8); 4] = [
    ([0x2001, 0x0000], 23),
    ([0x2001, 0x0db8], 32),
    ([0x2002, 0x0000], 16),
    ([0x3fff, 0x0000], 20),
];

/// Whether an address is one on the Internet.
#[must_use]
pub fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_global_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => is_global_v4(mapped),
            None => is_global_v6(address),
        },
    }
}

fn is_global_v4(address: Ipv4Addr) -> bool {
    let bits = u32::from(address);
    SPECIAL_V4.iter().all(|(first, len)| {
        let first = u32::from(Ipv4Addr::from(*first));
        (bits ^ first).leading_zeros() < u32::from(*len)
    })
}

fn is_global_v6(address: Ipv6Addr) -> bool {
    let [one, two, ..] = address.segments();
    let bits = u32::from(one) << 16 | u32::from(two);
    let within = |first: u32, len: u8| (bits ^ first).leading_zeros() >= u32::from(len);
    let (global, len) = GLOBAL_V6;
    within(u32::from(global) << 16, len)
        && SPECIAL_V6
            .iter()
            .all(|([one, two], len)| !within(u32::from(*one) << 16 | u32::from(*two), *len))
}

#[cfg(test)]
mod tests {
    use super::is_global;

    #[test]
    fn only_what_is_on_the_internet_is_global() {
        for (address, global) in [
            ("0.0.0.0", false),
            ("10.1.2.3", false),
            ("100.63.255.255", true),
            ("100.64.0.1", false),
            ("100.127.255.255", false),
            ("100.128.0.1", true),
            ("127.0.0.1", false),
            ("127.255.255.254", false),
            ("169.254.169.254", false),
            ("172.15.255.255", true),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("172.32.0.1", true),
            ("192.0.0.10", false),
            ("192.0.2.1", false),
            ("192.168.1.1", false),
            ("198.18.0.1", false),
            ("198.19.255.255", false),
            ("198.51.100.7", false),
            ("203.0.113.9", false),
            ("224.0.0.1", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("1.1.1.1", true),
            ("8.8.8.8", true),
            ("93.184.216.34", true),
            ("::", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:10.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("64:ff9b::7f00:1", false),
            ("100::1", false),
            ("2001::1", false),
            ("2001:1ff:ffff::1", false),
            ("2001:200::1", true),
            ("2001:db8::1", false),
            ("2002:7f00:1::", false),
            ("2606:4700:4700::1111", true),
            ("3fff:0fff::1", false),
            ("3fff:1000::1", true),
            ("5f00::1", false),
            ("fc00::1", false),
            ("fd12:3456::1", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ] {
            let parsed = address.parse().expect("an address");
            assert_eq!(is_global(parsed), global, "{address}");
        }
    }
}
