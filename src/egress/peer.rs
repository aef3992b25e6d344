//! Peer of the proxy on a port of this machine: whose process a client is, for programs that cannot show a password, such
//! as those in Java.

use std::net::SocketAddr;

/// Tables of the kernel with the TCP sockets of this process's network. A client by IPv6 may connect to an address of IPv4.
#[cfg(target_os = "linux")]
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// Returns whether the socket of a client belongs to this process's user. Others on the machine need the password; whoever
/// has this user's rights could read it from the command's environment.
#[cfg(target_os = "linux")]
pub(super) fn is_own(client: SocketAddr, server: SocketAddr) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let owner_in = |table: &str| owner(&std::fs::read_to_string(table).ok()?, client, server);
    TABLES.into_iter().find_map(owner_in) == Some(user)
}

/// Returns `false`: other systems have no such table.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_own(_: SocketAddr, _: SocketAddr) -> bool {
    false
}

/// Returns the user id of the socket that is connected from `client` to `server`.
#[cfg(target_os = "linux")]
fn owner(table: &str, client: SocketAddr, server: SocketAddr) -> Option<u32> {
    let (client, server) = (ending(client)?, ending(server)?);
    // "<number>: <local> <remote> <state> <queues> <timer> <retransmissions> <user> …"
    table.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>()).find_map(|fields| {
        let [_, local, remote, _, _, _, _, user, ..] = fields[..] else { return None };
        if local.ends_with(&client) && remote.ends_with(&server) { user.parse().ok() } else { None }
    })
}

/// Returns how an address of IPv4 is written, by itself and at the end of one of IPv6.
#[cfg(target_os = "linux")]
fn ending(address: SocketAddr) -> Option<String> {
    let std::net::IpAddr::V4(ip) = address.ip().to_canonical() else { return None };
    Some(format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), address.port()))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn clients_of_this_user_are_known() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = listener.local_addr().expect("an address");
        for host in ["127.0.0.1", "::ffff:127.0.0.1"] {
            // Not every machine has IPv6.
            let Ok(_stream) = TcpStream::connect((host, server.port())) else { continue };
            let (_, client) = listener.accept().expect("a client");
            assert!(is_own(client, server), "{host}");
            assert!(!is_own(SocketAddr::new(client.ip(), 1), server), "{host}");
        }
    }

    #[test]
    fn owners_are_read_from_the_table_of_the_kernel() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                     0: 0100007F:0C38 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 1 1 0 100 0\n   \
                     1: 0100007F:9C40 0100007F:0C38 01 00000000:00000000 00:00000000 00000000  1002        0 2 1 0 20 4 30 10 -1\n   \
                     2: 0100007F:0C38 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1001        0 3 1 0 20 4 30 10 -1\n";
        let address = |text: &str| text.parse().expect("an address");
        let server = address("127.0.0.1:3128");
        assert_eq!(owner(table, address("127.0.0.1:40000"), server), Some(1002));
        assert_eq!(owner(table, address("127.0.0.1:40001"), server), None);
        assert_eq!(owner(table, address("127.0.0.2:40000"), server), None);
    }
}
