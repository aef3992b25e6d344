//! Addresses of the public internet. Whatever answers on a runner's own network (metadata services, build caches, the
//! host) is out of reach, by whatever name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 networks that are not the public internet: IANA's special-purpose registry, and the address at which
/// Azure's virtual machines, GitHub's runners among them, find their platform services.
const SPECIAL_V4: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast, reserved, broadcast.
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

/// Returns `true` if an address belongs to the public internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let within = |(network, bits): &(Ipv4Addr, u32)| {
        let shift = 32 - bits;
        address.to_bits() >> shift == network.to_bits() >> shift
    };
    !SPECIAL_V4.iter().any(within)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, ..] = address.segments();
    let last = || Ipv4Addr::from_bits((address.to_bits() & 0xffff_ffff) as u32);
    match (a, b, c, d) {
        // IPv4-mapped, NAT64 and 6to4 addresses.
        (0, 0, 0, 0) => address.to_ipv4_mapped().is_some_and(is_public_v4),
        (0x64, 0xff9b, 0, 0) => is_public_v4(last()),
        (0x2002, high, low, _) => is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))),
        // Teredo, benchmarking, documentation.
        (0x2001, 0 | 2 | 0xdb8, ..) | (0x3fff, ..) => false,
        // All addresses allocated so far begin with the bits 001.
        _ => a >> 13 == 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_internet_is_public() {
        let public = [
            "1.1.1.1",
            "93.184.216.34",
            "100.63.255.255",
            "172.32.0.1",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2002:101:101::1",
        ];
        let special = [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.1.2.3",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
        ];
        for address in public {
            assert!(is_public(address.parse().expect(address)), "{address}");
        }
        for address in special {
            assert!(!is_public(address.parse().expect(address)), "{address}");
        }
    }
}
