//! Servers of this machine: those that a list names are found at their own addresses, and daemons are not found at all.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::sync::atomic::Ordering;

use super::{Scene, Server, resolver, rules};
use architect_ci::command::Ended;
use tokio::net::TcpSocket;

/// Returns a command line that asks a port of this machine without the proxy, and prints the answer's body.
fn ask_directly(address: &str) -> String {
    format!("curl -s -m 9 --noproxy '*' http://{address}/ || echo none")
}

/// Takes a port of an address, so that no other test listens there. Returns nothing if one does already.
fn silent(address: &str, port: u16) -> Option<TcpSocket> {
    let address = SocketAddr::new(address.parse().expect("an address"), port);
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }.expect("a socket");
    match socket.bind(address) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => None,
        // Machines without IPv6 have nobody to listen there.
        _ => Some(socket),
    }
}

/// Starts a server at one address, at whose port nothing listens at the others.
fn server_alone<const N: usize>(address: &str, others: [&str; N]) -> (Server, [TcpSocket; N]) {
    loop {
        let server = Server::new(address, None);
        let silent: Option<Vec<TcpSocket>> = others.iter().map(|other| silent(other, server.port)).collect();
        if let Some(silent) = silent.and_then(|sockets| sockets.try_into().ok()) {
            return (server, silent);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn egress_leads_to_the_very_server_of_this_machine_that_the_list_names() {
    let (other, [silent_second, _silent_sixth]) = server_alone("127.0.0.1", ["127.0.0.2", "::1"]);
    let port = other.port;
    for entry in [format!("127.0.0.2:{port}"), format!("[::1]:{port}")] {
        let scene = Scene::new(rules(std::slice::from_ref(&entry)), resolver());
        for address in [entry.clone(), format!("127.0.0.1:{port}")] {
            let finished = scene.run(&ask_directly(&address)).await;
            assert_eq!(finished.output(), "none", "{entry}: {address}");
        }
    }
    assert_eq!(other.clients.load(Ordering::SeqCst), 0);
    drop(silent_second);
    let second = Server::at(("127.0.0.2", port), None);
    let scene = Scene::new(rules(&[format!("127.0.0.2:{port}")]), resolver());
    let finished = scene.run(&ask_directly(&format!("127.0.0.2:{port}"))).await;
    assert_eq!(finished.output(), format!("127.0.0.2:{port}"));
    assert_eq!((scene.records()[0].host.as_str(), second.clients.load(Ordering::SeqCst)), ("127.0.0.2", 1));
    // Some servers listen by IPv6 alone.
    if TcpListener::bind("[::1]:0").is_ok() {
        let (sixth, [_silent_first]) = server_alone("::1", ["127.0.0.1"]);
        let scene = Scene::new(rules(&[format!("localhost:{}", sixth.port)]), resolver());
        let finished = scene.run(&ask_directly(&format!("127.0.0.1:{}", sixth.port))).await;
        assert_eq!(finished.output(), format!("127.0.0.1:{}", sixth.port));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn egress_makes_room_for_a_listed_port_and_says_if_there_are_too_many() {
    let scene = Scene::new(rules(&["localhost:3128".to_owned()]), resolver());
    assert_eq!(scene.run("echo ${HTTP_PROXY##*:}").await.output(), "3129");
    let many: Vec<String> = (0..64).map(|port| format!("localhost:{}", 5000 + port)).collect();
    let finished = Scene::new(rules(&many), resolver()).run("true").await;
    let told =
        matches!(&finished.ended, Ended::NotStarted(error) if error.contains("names more than 63 ports"));
    assert!(told, "{finished:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn egress_hides_daemons_that_start_between_two_commands() {
    let scene = Scene::new(rules(&[]), resolver());
    let path = scene.folder.path().join("late.sock");
    assert!(scene.run("true").await.ended == Ended::Exited(0));
    let daemon = UnixListener::bind(&path).expect("a socket");
    daemon.set_nonblocking(true).expect("a switch");
    let connect = "python3 -c 'import socket as s; s.socket(s.AF_UNIX).connect(\"late.sock\")' 2> /dev/null || echo refused";
    assert_eq!(scene.run(connect).await.output(), "refused");
    assert!(daemon.accept().is_err());
    drop(daemon);
    std::fs::remove_file(&path).expect("a socket");
    assert_eq!(scene.run("echo more").await.output(), "more");
}
