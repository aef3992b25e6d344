//! The table of attempts: what the list names is reached, and nothing else is.

use std::net::UdpSocket;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use super::{Scene, Server, resolver, rules};
use architect_ci::event::NetworkDecision;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Theme {
    #[serde(rename = "theme")]
    _theme: String,
    lines: Vec<Attempt>,
}

/// A command line, what it prints, and what the proxy refuses of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Attempt {
    pub(super) line: String,
    says: String,
    #[serde(default)]
    refused: Vec<String>,
    pub(super) needs: Option<String>,
}

pub(super) fn is_there(program: &str) -> bool {
    let found = std::process::Command::new("bash").args(["-c", &format!("command -v {program}")]).output();
    found.is_ok_and(|output| output.status.success())
}

/// What lines of the table ask for: what the list names, and what must not be reached.
pub(super) struct Targets {
    open: Server,
    local: Server,
    secret: Server,
    /// At the port of a listed host, but at another address.
    neighbour: Server,
    udp: UdpSocket,
    unix: PathBuf,
    name: String,
    daemons: Vec<UnixListener>,
    /// Where Docker's daemon listens, if this machine has none, and this user may stand in for it.
    docker: Option<PathBuf>,
    _folder: tempfile::TempDir,
}

/// Where Docker's daemon listens.
const DOCKER: &str = "/run/docker.sock";

/// The socket of a daemon that a step before the run has left in the checkout.
const IN_WORKSPACE: &str = "daemon.sock";

impl Drop for Targets {
    fn drop(&mut self) {
        if let Some(docker) = &self.docker {
            // Whoever removed it meanwhile has done no harm.
            let _ = std::fs::remove_file(docker);
        }
    }
}

impl Targets {
    pub(super) fn new() -> Self {
        let secret = Server::new("127.0.0.1", None);
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
        udp.set_nonblocking(true).expect("a switch");
        let folder = tempfile::tempdir().expect("a folder");
        let unix = folder.path().join("daemon.sock");
        let name = format!("architect-ci-egress-{}", uuid::Uuid::new_v4());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).expect("a name");
        let mut daemons = vec![
            UnixListener::bind(&unix).expect("a socket"),
            UnixListener::bind_addr(&address).expect("a socket"),
        ];
        let docker = UnixListener::bind(DOCKER).ok().map(|daemon| {
            daemons.push(daemon);
            PathBuf::from(DOCKER)
        });
        for daemon in &daemons {
            daemon.set_nonblocking(true).expect("a switch");
        }
        let (open, local) = (Server::new("127.0.0.2", Some(secret.port)), Server::new("127.0.0.1", None));
        let neighbour = Server::at(("127.0.0.9", local.port), None);
        Self { open, local, secret, neighbour, udp, unix, name, daemons, docker, _folder: folder }
    }

    /// Adds daemons whose sockets are in the workspace: one that names it by its whole path, and one that does not.
    pub(super) fn listen_in(&mut self, workspace: &Path) {
        let bound =
            [UnixListener::bind(workspace.join(IN_WORKSPACE)), bind_relative(workspace, "relative.sock")];
        for daemon in bound {
            let daemon = daemon.expect("a socket");
            daemon.set_nonblocking(true).expect("a switch");
            self.daemons.push(daemon);
        }
    }

    pub(super) fn list(&self) -> [String; 4] {
        let (open, local) = (self.open.port, self.local.port);
        [
            format!("listed.test:{open}"),
            format!("moving.test:{open}"),
            format!("127.0.0.2/31:{open}"),
            format!("localhost:{local}"),
        ]
    }

    pub(super) fn fill(&self, text: &str) -> String {
        text.replace("@open@", &self.open.port.to_string())
            .replace("@secret@", &self.secret.port.to_string())
            .replace("@local@", &self.local.port.to_string())
            .replace("@udp@", &self.udp.local_addr().expect("an address").port().to_string())
            .replace("@unix@", self.unix.to_str().expect("a path"))
            .replace("@abstract@", &self.name)
    }

    /// What was reached since the last look, and must not be.
    pub(super) fn leaks(&self) -> Vec<&'static str> {
        let daemons = self.daemons.iter().filter(|daemon| daemon.accept().is_ok()).map(|_| "a daemon");
        let udp = self.udp.recv(&mut [0; 9]).is_ok().then_some("a datagram");
        let secret = (self.secret.clients.swap(0, Ordering::SeqCst) > 0).then_some("the secret server");
        let neighbour = (self.neighbour.clients.swap(0, Ordering::SeqCst) > 0).then_some("the neighbour");
        daemons.chain(udp).chain(secret).chain(neighbour).collect()
    }
}

/// Binds a socket to a path relative to a folder, as the kernel will list it.
#[expect(deprecated, reason = "unsound for descriptors alone, which stay shared")]
fn bind_relative(folder: &Path, name: &str) -> std::io::Result<UnixListener> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // The working directory is then this thread's own.
            rustix::thread::unshare(rustix::thread::UnshareFlags::FS)?;
            std::env::set_current_dir(folder)?;
            UnixListener::bind(name)
        });
        thread.join().expect("no panic")
    })
}

/// The lines of the table for which this machine has the programs.
pub(super) fn attempts() -> impl Iterator<Item = Attempt> {
    let table: Vec<Theme> = serde_yaml::from_str(include_str!("../../cases/egress.yml")).expect("a table");
    let lines = table.into_iter().flat_map(|theme| theme.lines);
    lines.filter(|attempt| attempt.needs.as_ref().is_none_or(|program| is_there(program)))
}

#[tokio::test(flavor = "multi_thread")]
async fn egress_lets_out_what_the_list_names_and_nothing_else() {
    let mut targets = Targets::new();
    let scene = Scene::new(rules(&targets.list()), resolver());
    targets.listen_in(scene.folder.path());
    let (mut ran, mut faults) = (0, Vec::new());
    for attempt in attempts() {
        ran += 1;
        let line = targets.fill(&attempt.line);
        let finished = scene.run(&line).await;
        let records = scene.records();
        let refused = records.iter().filter(|record| record.decision == NetworkDecision::Refused);
        let refused: Vec<String> = refused.map(|record| format!("{}:{}", record.host, record.port)).collect();
        let expected: Vec<String> = attempt.refused.iter().map(|text| targets.fill(text)).collect();
        let is_right = finished.output() == targets.fill(&attempt.says)
            && refused == expected
            && finished.refused.len() == refused.len()
            && records.iter().all(|record| format!("command {line}").starts_with(&record.by))
            && targets.leaks().is_empty();
        if !is_right {
            faults.push(format!("{line}\n  {}\n  {records:?}", finished.output()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(ran > 20, "{ran} lines ran");
    assert!(targets.open.clients.load(Ordering::SeqCst) > 5);
    assert_eq!(targets.local.clients.load(Ordering::SeqCst), 2);
}
