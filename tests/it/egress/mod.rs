//! Lists of hosts: real programs in a real sandbox, whose proxy asks a resolver of the test's own. Nothing leaves the machine.
#![cfg(target_os = "linux")]

mod defaults;
mod kinds;
mod local_servers;
mod machine_proxy;
mod own_network;
mod owners;
mod passwords;
mod recorded;
mod table;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::program::program;
use architect_ci::command::sandbox::{GitMasking, Rights, Sandbox, Settings, View, kernel_support};
use architect_ci::command::{Finished, Job, LiveOutput, Shell};
use architect_ci::egress::{Egress, Reach, Resolver, Rules, Upstreams};
use architect_ci::event::{Event, Events, Line, NetworkRecord, Observer};
use tokio_util::sync::CancellationToken;
use workspace::SensitiveFiles;

/// A server that answers every request with its `Host` header, and counts its clients.
struct Server {
    port: u16,
    clients: Arc<AtomicUsize>,
}

impl Server {
    fn new(address: &str, redirect_to: Option<u16>) -> Self {
        Self::at((address, 0), redirect_to)
    }

    fn at(address: (&str, u16), redirect_to: Option<u16>) -> Self {
        let listener = TcpListener::bind(address).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let clients = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&clients);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || respond(&client, redirect_to));
            }
        });
        Self { port, clients }
    }
}

fn respond(client: &TcpStream, redirect_to: Option<u16>) {
    let mut lines = BufReader::new(client).lines().map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    let host = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.to_ascii_lowercase().strip_prefix("host: ").map(str::to_owned))
        .collect::<Vec<_>>()
        .join(" and ");
    let head = match redirect_to {
        Some(port) if first.contains("/redirect") => {
            format!("HTTP/1.1 302 Found\r\nLocation: http://other.test:{port}/\r\n")
        }
        _ => "HTTP/1.1 200 OK\r\n".to_owned(),
    };
    let answer = format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n{host}", host.len());
    // A client that deceives may be gone by now.
    let _ = (&*client).write_all(answer.as_bytes());
}

/// Keeps what children asked for.
#[derive(Default)]
struct Asked(std::sync::Mutex<Vec<NetworkRecord>>);

impl Observer for Asked {
    fn observe(&self, line: &Line) {
        if let Event::Network(record) = &line.event {
            self.0.lock().expect("a lock").push(record.clone());
        }
    }
}

/// A shell with a network, on a folder of its own.
struct Scene {
    folder: tempfile::TempDir,
    shell: Shell,
    asked: Arc<Asked>,
}

impl Scene {
    fn new(rules: Rules, resolver: Resolver) -> Self {
        Self::with(rules, |egress| egress.with_resolver(resolver))
    }

    /// Creates a scene whose egress `change` makes of one with these rules. The machine has no proxy unless that sets one.
    fn with(rules: Rules, change: impl FnOnce(Egress) -> Egress) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let path = std::env::var("PATH").expect("a PATH");
        let home = std::env::var("HOME").expect("a HOME");
        let variables: BTreeMap<String, String> = [
            ("PATH", path.as_str()),
            ("HOME", home.as_str()),
            ("LC_ALL", "C"),
            // The folder may be in a worktree, whose repository is out of sight.
            ("GIT_CEILING_DIRECTORIES", env!("CARGO_TARGET_TMPDIR")),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let sandbox = Sandbox::new(Settings {
            variables: &variables,
            own: &variables,
            readable: &[],
            attached: &[],
            writable: &[],
            shared: &[],
            workspace: folder.path(),
            sensitive: &SensitiveFiles::default(),
            masking: &GitMasking::default(),
            temp: &std::env::temp_dir(),
            wanted: true,
            landlock: kernel_support().files,
        });
        let asked = Arc::<Asked>::default();
        let events = Events::new(vec![Arc::clone(&asked) as _]);
        let egress = Egress::new(rules, "commands.network", &events);
        let egress = change(egress.with_upstreams(Upstreams::through("", "")));
        let shell = Shell {
            launcher: program().into(),
            program: "bash".to_owned(),
            flags: vec!["-c".to_owned()],
            environment: variables.clone(),
            sandbox: Some(sandbox),
            reach: Reach::Through(Arc::new(egress)),
            ..Shell::default()
        };
        Self { folder, shell, asked }
    }

    async fn run(&self, line: &str) -> Finished {
        self.run_with(line, Rights::Work).await
    }

    async fn run_with(&self, line: &str, rights: Rights) -> Finished {
        let root: &Path = self.folder.path();
        let job = Job {
            command: line,
            pipe: None,
            cwd: root,
            root,
            view: View::Plain { writable: true },
            rights,
            variables: Vec::new(),
            stdin: None,
            merge: true,
            output: LiveOutput::default(),
            timeout: Duration::from_mins(1),
            cancel: CancellationToken::new(),
        };
        self.shell.run(job).await
    }

    fn records(&self) -> Vec<NetworkRecord> {
        std::mem::take(&mut self.asked.0.lock().expect("a lock"))
    }
}

fn rules(list: &[String]) -> Rules {
    Rules::allowing(list.iter().map(|text| text.parse().expect(text)).collect())
}

/// A resolver that knows these names, and leads a name that moves elsewhere from the second time on.
fn resolver() -> Resolver {
    let moved = AtomicUsize::new(0);
    Arc::new(move |host, port| {
        let addresses = match host.as_str() {
            "listed.test" => vec!["127.0.0.2"],
            "localhost" | "other.test" => vec!["127.0.0.1"],
            "moving.test" if moved.fetch_add(1, Ordering::SeqCst) == 0 => vec!["127.0.0.2"],
            "moving.test" => vec!["127.0.0.1", "169.254.169.254", "10.0.0.1", "::1"],
            _ => Vec::new(),
        };
        let found =
            addresses.iter().map(|text| SocketAddr::new(text.parse().expect("an address"), port)).collect();
        Box::pin(async move { Ok(found) })
    })
}
