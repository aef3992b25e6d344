//! Lists of hosts: real programs in a real sandbox, whose proxy asks a resolver of the test's own. Nothing leaves the machine.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use workspace::SensitiveFiles;

use architect_ci::command::sandbox::{GitMasking, Rights, Sandbox, Settings, View, kernel_support};
use architect_ci::command::{Ended, Enforcement, Finished, Job, LiveOutput, Shell};
use architect_ci::egress::{Egress, Reach, Resolver, Rules, Upstreams};
use architect_ci::event::{Event, Events, Line, NetworkDecision, NetworkRecord, Observer};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

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
        let variables: BTreeMap<String, String> =
            [("PATH", path.as_str()), ("HOME", home.as_str()), ("LC_ALL", "C")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into();
        let sandbox = Sandbox::new(Settings {
            variables: &variables,
            own: &variables,
            readable: &[],
            writable: &[],
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
            launcher: env!("CARGO_BIN_EXE_architect-ci").into(),
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
struct Attempt {
    line: String,
    says: String,
    #[serde(default)]
    refused: Vec<String>,
    needs: Option<String>,
}

fn is_there(program: &str) -> bool {
    let found = std::process::Command::new("bash").args(["-c", &format!("command -v {program}")]).output();
    found.is_ok_and(|output| output.status.success())
}

/// What lines of the table ask for: what the list names, and what must not be reached.
struct Targets {
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
    fn new() -> Self {
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

    /// Adds a daemon whose socket is in the workspace.
    fn listen_in(&mut self, workspace: &Path) {
        let daemon = UnixListener::bind(workspace.join(IN_WORKSPACE)).expect("a socket");
        daemon.set_nonblocking(true).expect("a switch");
        self.daemons.push(daemon);
    }

    fn list(&self) -> [String; 4] {
        let (open, local) = (self.open.port, self.local.port);
        [
            format!("listed.test:{open}"),
            format!("moving.test:{open}"),
            format!("127.0.0.2/31:{open}"),
            format!("localhost:{local}"),
        ]
    }

    fn fill(&self, text: &str) -> String {
        text.replace("@open@", &self.open.port.to_string())
            .replace("@secret@", &self.secret.port.to_string())
            .replace("@local@", &self.local.port.to_string())
            .replace("@udp@", &self.udp.local_addr().expect("an address").port().to_string())
            .replace("@unix@", self.unix.to_str().expect("a path"))
            .replace("@abstract@", &self.name)
    }

    /// What was reached since the last look, and must not be.
    fn leaks(&self) -> Vec<&'static str> {
        let daemons = self.daemons.iter().filter(|daemon| daemon.accept().is_ok()).map(|_| "a daemon");
        let udp = self.udp.recv(&mut [0; 9]).is_ok().then_some("a datagram");
        let secret = (self.secret.clients.swap(0, Ordering::SeqCst) > 0).then_some("the secret server");
        let neighbour = (self.neighbour.clients.swap(0, Ordering::SeqCst) > 0).then_some("the neighbour");
        daemons.chain(udp).chain(secret).chain(neighbour).collect()
    }
}

/// The lines of the table for which this machine has the programs.
fn attempts() -> impl Iterator<Item = Attempt> {
    let table: Vec<Theme> = serde_yaml::from_str(include_str!("../cases/egress.yml")).expect("a table");
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
            && records.iter().all(|record| line.starts_with(&record.by))
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

/// The same lines on whatever kind of machine this is: where it can enforce a list, by whatever means, none of them
/// reaches what the list does not name, and elsewhere none of them starts.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "for other kinds of machine; on this one, the test above asks for more"]
async fn egress_leaks_nothing_on_any_kind_of_machine() {
    let mut targets = Targets::new();
    let scene = Scene::new(rules(&targets.list()), resolver());
    targets.listen_in(scene.folder.path());
    let enforcement = scene.shell.enforcement(scene.folder.path()).await;
    let mut leaks = Vec::new();
    let mut ran = 0;
    for attempt in attempts() {
        let line = targets.fill(&attempt.line);
        let finished = scene.run(&line).await;
        leaks.extend(targets.leaks().into_iter().map(|leak| format!("{leak}: {line}")));
        ran += 1;
        let told = matches!(&finished.ended, Ended::NotStarted(error) if error.contains("can enforce a list of hosts"));
        assert_eq!(told, enforcement == Enforcement::Nothing, "{enforcement:?} {line}: {finished:?}");
    }
    eprintln!("{enforcement:?}: {ran} lines, {} leaks", leaks.len());
    assert!(leaks.is_empty(), "{enforcement:?}:\n{}", leaks.join("\n"));
    assert!(ran > 20, "{ran} lines ran");
}

#[tokio::test(flavor = "multi_thread")]
async fn egress_tells_what_was_asked_for_how_often_and_how_much() {
    let open = Server::new("127.0.0.2", None);
    let list = [format!("listed.test:{}", open.port), format!("127.0.0.2/31:{}", open.port)];
    let scene = Scene::new(rules(&list), resolver());
    let get = |host: &str| {
        format!(
            "(exec 3<> /dev/tcp/127.0.0.1/3128; printf 'GET http://{host}/ HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3) > /dev/null;"
        )
    };
    let allowed = format!("listed.test:{}", open.port);
    scene.run(&[get(&allowed), get(&allowed), get("other.test:81"), get("other.test")].concat()).await;
    let records = scene.records();
    let told: Vec<String> = records
        .iter()
        .map(|record| {
            let reason = record.reason.replace(&open.port.to_string(), "PORT");
            format!("{} {:?} {}× {reason}", record.host, record.decision, record.times)
        })
        .collect();
    insta::assert_snapshot!("records", told.join("\n"));
    assert!(records[0].sent > 40 && records[0].received > 40, "{records:?}");
    assert!(records[1].sent == 0 && records[1].received == 0, "{records:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn egress_learns_public_hosts_and_leads_to_no_others() {
    let secret = Server::new("127.0.0.1", None);
    let scene = Scene::new(Rules::learning(), resolver());
    let ask = format!(
        "(exec 3<> /dev/tcp/127.0.0.1/3128; printf 'GET http://other.test:{}/ HTTP/1.0\\r\\n\\r\\n' >&3; head -n 1 <&3)",
        secret.port
    );
    let finished = scene.run(&ask).await;
    assert!(finished.output().contains("403"), "{}", finished.output());
    assert!(scene.records()[0].reason.contains("127.0.0.1, which is not on the public internet"));
    assert_eq!(secret.clients.load(Ordering::SeqCst), 0);
}

/// A proxy of the machine: keeps the heads of the requests that it gets, and answers each in the place of its host. It does
/// not lead to `closed.test`.
fn machine_proxy() -> (u16, Arc<std::sync::Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let heads = Arc::<std::sync::Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&heads);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let lines = BufReader::new(&client).lines().map_while(Result::ok);
            let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let is_tunnel = lines.first().is_some_and(|line| line.starts_with("CONNECT "));
            let is_closed = lines.first().is_some_and(|line| line.contains("closed.test"));
            let of_interest = |line: &&String| !line.to_ascii_lowercase().starts_with("user-agent");
            kept.lock()
                .expect("a lock")
                .push(lines.iter().filter(of_interest).cloned().collect::<Vec<_>>().join("\n"));
            let answer: &[u8] = match (is_tunnel, is_closed) {
                (_, true) => b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
                (true, false) => b"HTTP/1.1 200 OK\r\n\r\n",
                (false, false) => {
                    b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nforwarded"
                }
            };
            // A client that was refused is gone.
            let _ = (&client).write_all(answer);
            if is_tunnel && !is_closed {
                std::thread::spawn(move || respond(&client, None));
            }
        }
    });
    (port, heads)
}

#[tokio::test(flavor = "multi_thread")]
async fn egress_goes_by_the_proxy_of_the_machine() {
    let (port, heads) = machine_proxy();
    let nobody: Resolver = Arc::new(|host, _| panic!("{host} is the proxy's to resolve"));
    let list = ["listed.test", "listed.test:22", "closed.test"].map(str::to_owned);
    let upstreams = Upstreams::through(&format!("http://user:secret@127.0.0.1:{port}"), "");
    let scene =
        Scene::with(rules(&list), |egress| egress.with_resolver(nobody).with_upstreams(upstreams.clone()));
    let ask = |request: &str| {
        format!("(exec 3<> /dev/tcp/127.0.0.1/3128; printf '{request}' >&3; cat <&3 | tail -n 1); echo;")
    };
    let lines = [
        ask(
            "GET http://listed.test/page?x=1 HTTP/1.1\\r\\nHost: other.test\\r\\nProxy-Authorization: Basic own\\r\\nConnection: close\\r\\n\\r\\n",
        ),
        ask("CONNECT listed.test:22 HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.1\\r\\nHost: inside\\r\\n\\r\\n"),
        ask("CONNECT closed.test:443 HTTP/1.1\\r\\nConnection: close\\r\\n\\r\\n"),
        ask("GET http://other.test/ HTTP/1.1\\r\\nConnection: close\\r\\n\\r\\n"),
    ];
    let finished = scene.run(&lines.concat()).await;
    insta::assert_snapshot!("by_the_proxy_of_the_machine", finished.output());
    let heads = heads.lock().expect("a lock").join("\n\n");
    insta::assert_snapshot!("heads_at_the_proxy_of_the_machine", heads);
    let told: Vec<String> =
        scene.records().iter().map(|record| format!("{} {:?}", record.host, record.decision)).collect();
    assert_eq!(
        told,
        ["closed.test Unreachable", "listed.test Allowed", "listed.test Allowed", "other.test Refused"]
    );

    let nobody: Resolver = Arc::new(|host, _| panic!("{host} is the proxy's to resolve"));
    let scene =
        Scene::with(Rules::learning(), |egress| egress.with_resolver(nobody).with_upstreams(upstreams));
    let ask = ask("GET http://169.254.169.254/latest HTTP/1.1\\r\\nConnection: close\\r\\n\\r\\n");
    let finished = scene.run(&ask).await;
    assert!(finished.output().contains("which is not on the public internet"), "{}", finished.output());
}

#[tokio::test(flavor = "multi_thread")]
async fn egress_gives_commands_that_look_no_network_at_all() {
    let scene = Scene::new(rules(&["listed.test".to_owned()]), resolver());
    let line = "env | grep -ci _proxy; (exec 3<> /dev/tcp/127.0.0.1/3128) 2> /dev/null || echo refused";
    let finished = scene.run_with(line, Rights::Look).await;
    assert_eq!(finished.output(), "0\nrefused");
    assert!(scene.records().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn egress_is_enforced_by_a_network_of_its_own_here() {
    let scene = Scene::new(rules(&[]), resolver());
    assert_eq!(scene.shell.enforcement(scene.folder.path()).await, Enforcement::OwnNetwork);
}

#[tokio::test(flavor = "multi_thread")]
async fn egress_serves_many_clients_of_one_command_at_a_time() {
    let open = Server::new("127.0.0.2", None);
    let list = [format!("listed.test:{}", open.port), format!("127.0.0.2/31:{}", open.port)];
    let scene = Scene::new(rules(&list), resolver());
    let one = format!(
        "(exec 3<> /dev/tcp/127.0.0.1/3128; printf 'GET http://listed.test:{}/ HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3 | tail -n 1) &",
        open.port
    );
    let finished = scene.run(&format!("{} wait", one.repeat(40))).await;
    assert_eq!(finished.output().matches("listed.test").count(), 40, "{}", finished.output());
    let records = scene.records();
    assert_eq!((records.len(), records[0].times), (1, 40));
}

/// Runs one command of the agent's in CI, on a commit with these files, and returns the notices of the report.
fn notices(files: &[(&str, &str)]) -> Vec<String> {
    let sandbox = crate::support::Sandbox::new(files);
    let call = ("run_command", serde_json::json!({ "command": "echo done > out.txt" }));
    let model = sandbox.script(&[vec![call]], "done");
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
    let notices = run.report()["notices"].as_array().expect("notices").clone();
    notices.iter().map(|notice| notice["message"].as_str().expect("a message").to_owned()).collect()
}

#[test]
fn egress_defaults_to_the_sets_that_manifests_name() {
    for (file, told) in [
        ("package.json", "the hosts of `node`, according to the checkout's manifests"),
        ("pyproject.toml", "the hosts of `python`, according to the checkout's manifests"),
        ("README.md", "no host, because no manifest of the checkout names a set of hosts"),
    ] {
        let notices = notices(&[(file, "{}")]);
        assert!(notices.iter().any(|notice| notice.contains(told)), "{file}: {notices:?}");
    }
    let notices = notices(&[("package.json", "{}"), (".architect.yml", "commands: { network: allow }\n")]);
    assert!(!notices.iter().any(|notice| notice.contains("can reach")), "{notices:?}");
}

#[tokio::test]
async fn egress_defaults_come_from_manifests_of_the_base() {
    crate::support::scene::scene(&[("Cargo.toml", "")], |scene| {
        scene.sandbox.write("package.json", "{}");
        scene.sandbox.write("Gemfile", "");
        let call = ("run_command", serde_json::json!({ "command": "echo done > out.txt" }));
        let model = scene.sandbox.script(&[vec![call]], "done");
        let event = scene.pull_event(7, "dev");
        let run = scene.run("pull_request", &event, &["--model", &model], &[]).expect_code(0);
        assert!(
            run.stderr.contains("the hosts of `rust`, according to the checkout's manifests"),
            "{}",
            run.stderr
        );
    })
    .await;
}
