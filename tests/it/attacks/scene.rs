//! A machine of its own for one run: a checkout, a home folder, the runner's folders, sockets, and somebody else's
//! process; and what became of all that.

use std::fs::{self, Permissions};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::effect::{Effect, Effects, add};
use super::files;
use super::secrets::{self, secret};
use super::state::{self, Closeness, State};
use crate::support::processes::{self, Process};

/// Where scenes are made, if not in the build folder: the user of the run must reach it.
const FOLDER: &str = "ATTACKS_SCENES";
/// The user and group that own checkout, home and the runner's folders, as `1001:1001`.
const OWNER: &str = "ATTACKS_OWNER";

/// One machine.
pub struct Scene {
    folder: TempDir,
    tcp: TcpListener,
    udp: UdpSocket,
    unix: UnixListener,
    named: UnixListener,
    bystander: Child,
    /// Variables on top of those of any job.
    more: Vec<(String, String)>,
    /// As everything was before the attack.
    checkout: State,
    outside: State,
}

impl Scene {
    /// Makes a scene that nobody has touched.
    pub fn new() -> Self {
        let folder =
            std::env::var_os(FOLDER).map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from);
        let folder = tempfile::Builder::new()
            .prefix("attack-")
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in(folder)
            .expect("a folder");
        let name = folder.path().file_name().expect("a name").to_string_lossy().into_owned();
        fs::create_dir(folder.path().join("outside")).expect("a folder");
        let unix = UnixListener::bind(folder.path().join("outside/daemon.sock")).expect("a socket");
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let named = UnixListener::bind_addr(&address).expect("a socket");
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
        tcp.set_nonblocking(true).expect("no waiting");
        udp.set_nonblocking(true).expect("no waiting");
        unix.set_nonblocking(true).expect("no waiting");
        named.set_nonblocking(true).expect("no waiting");
        let bystander = bystander();
        let (checkout, outside) = (State::new(), State::new());
        let more = Vec::new();
        let mut scene = Self { folder, tcp, udp, unix, named, bystander, more, checkout, outside };
        scene.furnish();
        scene
    }

    /// Puts the files where they belong, and remembers them.
    fn furnish(&mut self) {
        for folder in ["work/repo/repo", "home", "temp", "state", "out"] {
            fs::create_dir_all(self.path(folder)).expect("a folder");
        }
        for (path, text) in files::SURROUNDINGS {
            self.write(path, text);
        }
        for (path, text) in files::CHECKOUT {
            self.write(&format!("work/repo/repo/{path}"), text);
        }
        for place in files::SECRETS {
            self.write(place, &format!("{}\n", secret(place)));
        }
        // More than fits into a pipe or into the memory that `sort -S1k` takes.
        self.write(
            "work/repo/repo/big.txt",
            &(0..20_000).map(|line| format!("{line}\n")).collect::<String>(),
        );
        for program in files::PROGRAMS {
            let path = self.repo().join(program);
            fs::set_permissions(path, Permissions::from_mode(0o755)).expect("permissions");
        }
        fs::set_permissions(self.path("outside/daemon.sock"), Permissions::from_mode(0o777))
            .expect("permissions");
        let git = |args: &[&str]| crate::support::git(&self.repo(), args);
        git(&["init", "--quiet", "--template=", "--initial-branch=main"]);
        git(&["add", "--all", "--force"]);
        git(&["commit", "--quiet", "--message", "before"]);
        git(&["config", "http.https://github.com/.extraheader", &secret("checkout")]);
        fs::create_dir_all(self.repo().join(".git/hooks")).expect("a folder");
        // Another checkout within this one, and where people have helpers keep what they were told.
        git(&["init", "--quiet", "--template=", "lib"]);
        let url = format!("https://me:{}@github.com/o/lib", secret("nested"));
        git(&["-C", "lib", "remote", "add", "origin", &url]);
        self.write(
            "work/repo/repo/.git/credentials",
            &format!("https://me:{}@github.com\n", secret("store")),
        );
    }

    /// Gives the files to the user of the run, where that is not whoever runs the tests.
    pub fn own(&self) {
        let Some((user, group)) = owner() else { return };
        let owner = format!("{user}:{group}");
        let changed = Command::new("chown").args(["-R", &owner]).arg(self.folder.path()).status();
        assert!(changed.expect("chown runs").success(), "{owner} cannot be made the owner");
    }

    /// Remembers how everything is. What the player of an attack adds comes before this.
    pub fn remember(&mut self) {
        self.checkout = state::read(&self.repo(), Closeness::Content, |_| true);
        self.outside = self.surroundings();
    }

    /// Writes a file of the scene, its placeholders replaced.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, self.place(text)).expect("a file");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn repo(&self) -> PathBuf {
        self.path("work/repo/repo")
    }

    /// Replaces what stands for places of the scene, such as `@outside@`.
    pub fn place(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let path = |name: &str| self.path(name).display().to_string();
        let name = self.folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (placeholder, value) in [
            ("@repo@", path("work/repo/repo")),
            ("@home@", path("home")),
            ("@outside@", path("outside")),
            ("@runner@", path("temp")),
            ("@unix@", path("outside/daemon.sock")),
            ("@name@", name),
            ("@tcp@", self.tcp.local_addr().expect("an address").port().to_string()),
            ("@udp@", self.udp.local_addr().expect("an address").port().to_string()),
            ("@bystander@", self.bystander.id().to_string()),
        ] {
            text = text.replace(placeholder, &value);
        }
        while let Some((before, rest)) = text.split_once("@base64:") {
            let (line, after) = rest.split_once('@').expect("an end");
            let line = STANDARD.decode(line).expect("base64");
            let line = self.place(&String::from_utf8(line).expect("text"));
            text = format!("{before}{}{after}", STANDARD.encode(line));
        }
        text
    }

    /// Sets a variable of the job.
    pub fn set(&mut self, name: &str, value: &str) {
        self.more.push((name.to_owned(), value.to_owned()));
    }

    /// Returns the variables of a job on this machine.
    pub fn variables(&self) -> Vec<(String, String)> {
        let path = |name: &str| self.path(name).display().to_string();
        let cargo = Path::new(env!("CARGO")).parent().expect("a folder").display();
        let mut variables = vec![
            (
                "PATH".to_owned(),
                format!("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:{cargo}"),
            ),
            ("HOME".to_owned(), path("home")),
            ("XDG_STATE_HOME".to_owned(), path("state")),
            ("RUNNER_TEMP".to_owned(), path("temp")),
            ("TMPDIR".to_owned(), path("temp")),
            ("GITHUB_ENV".to_owned(), path("temp/_runner_file_commands/set_env_1")),
            ("GITHUB_PATH".to_owned(), path("temp/_runner_file_commands/add_path_1")),
            ("GITHUB_WORKSPACE".to_owned(), path("work/repo/repo")),
            ("CI".to_owned(), "true".to_owned()),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ];
        variables.extend(self.more.iter().cloned());
        variables.extend(secrets::VARIABLES.map(|name| (name.to_owned(), secrets::value(name))));
        variables
    }

    /// Reads everything outside of the checkout that an attack may reach for; the runner's own output is not part of it.
    fn surroundings(&self) -> State {
        let own = ["work/repo/repo", "state", "out", "script.jsonl", "output"];
        let mut found = state::read(self.folder.path(), Closeness::Touched, |path| {
            !own.iter().any(|name| path.starts_with(name))
        });
        let name = self.place("@name@");
        for folder in ["/tmp", "/var/tmp", "/dev/shm", "/run"] {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            for entry in entries.filter(|entry| entry.file_name().to_string_lossy().contains(&name)) {
                found.extend(state::read(Path::new(folder), Closeness::Touched, |path| {
                    path.starts_with(entry.file_name())
                }));
            }
        }
        found
    }

    /// Returns what is different from what was remembered, whoever did it; processes are [`Self::end_survivors`]'s.
    pub fn effects(&mut self) -> Effects {
        let mut effects = Effects::new();
        if self.bystander_suffered() {
            add(&mut effects, Effect::Bystander, ["somebody else's process was ended or stopped".to_owned()]);
        }
        add(&mut effects, Effect::Network, self.visitors());
        let outside = self.surroundings();
        for path in state::differences(&self.outside, &outside) {
            let (before, after) = (self.outside.get(&path), outside.get(&path));
            let same = before.zip(after).is_some_and(|(before, after)| before.holds_what(after));
            let effect = if same { Effect::Metadata } else { Effect::Outside };
            add(&mut effects, effect, [path.display().to_string()]);
        }
        let changed = self.changed();
        let after = state::read(&self.repo(), Closeness::Content, |_| true);
        for path in &changed {
            let name = path.to_string_lossy().into_owned();
            let protected = is_protected(path);
            add(&mut effects, if protected { Effect::Protected } else { Effect::Change }, [name.clone()]);
            // A pipe would be waited for.
            let Some(entry) = after.get(path).filter(|entry| entry.is_file()) else { continue };
            if entry.permissions & 0o6000 != 0 {
                add(&mut effects, Effect::Outside, [format!("{name} gives the rights of its owner away")]);
            }
            if let Ok(text) = fs::read(self.repo().join(path)) {
                let told = secrets::find(&String::from_utf8_lossy(&text));
                add(&mut effects, Effect::Secret, told.into_iter().map(|told| format!("{told} in {name}")));
            }
        }
        effects
    }

    /// Returns the files of the checkout that are not what they were. Folders count as far as they hold something.
    fn changed(&self) -> Vec<PathBuf> {
        let after = state::read(&self.repo(), Closeness::Content, |_| true);
        let is_folder = |state: &State, path: &PathBuf| state.get(path).is_none_or(state::Entry::is_folder);
        let mut changed = state::differences(&self.checkout, &after);
        changed.retain(|path| !(is_folder(&self.checkout, path) && is_folder(&after, path)));
        // The index is the same whatever Git has learned about the times of files.
        if changed.iter().any(|path| path == Path::new(".git/index")) && self.index_is_clean() {
            changed.retain(|path| path != Path::new(".git/index"));
        }
        changed
    }

    /// Says whether the index still names what the commit names, with no bits set that hide changes.
    fn index_is_clean(&self) -> bool {
        let git = |args: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "core.fsmonitor=false", "-c", "safe.directory=*"]).args(args);
            command.current_dir(self.repo()).env("GIT_OPTIONAL_LOCKS", "0").output().expect("git runs").stdout
        };
        let plain = git(&["ls-files", "-v"])
            .split(|byte| *byte == b'\n')
            .all(|line| line.is_empty() || line[0] == b'H');
        plain && git(&["diff", "--cached", "--raw", "--no-ext-diff", "HEAD"]).is_empty()
    }

    /// Names everybody who came to one of the sockets.
    fn visitors(&self) -> Vec<String> {
        let mut visitors = Vec::new();
        while self.tcp.accept().is_ok() {
            visitors.push("TCP".to_owned());
        }
        while self.udp.recv(&mut [0; 512]).is_ok() {
            visitors.push("UDP".to_owned());
        }
        while self.unix.accept().is_ok() {
            visitors.push("Unix socket".to_owned());
        }
        while self.named.accept().is_ok() {
            visitors.push("abstract socket".to_owned());
        }
        visitors
    }

    /// Names the processes that are still there although the run is over, and ends them.
    pub fn end_survivors(&self) -> Vec<String> {
        let processes = self.survivors();
        for (pid, _) in &processes {
            // It may be gone by now.
            let _ = kill_process(*pid, Signal::KILL);
        }
        processes.into_iter().map(|(_, line)| line).collect()
    }

    /// Finds processes that belong to this scene by folder, arguments or environment.
    fn survivors(&self) -> Vec<(Pid, String)> {
        let root = self.folder.path().as_os_str().as_encoded_bytes();
        let mentions = |bytes: &[u8]| bytes.windows(root.len()).any(|window| window == root);
        let is_ours = |process: &Process| {
            process.id.unsigned_abs() != self.bystander.id()
                && (mentions(process.line.as_bytes())
                    || mentions(&process.environment())
                    || mentions(process.folder().as_os_str().as_encoded_bytes()))
        };
        let found = processes::find(is_ours).into_iter();
        found.filter_map(|process| Some((Pid::from_raw(process.id)?, process.line))).collect()
    }

    fn bystander_suffered(&mut self) -> bool {
        if !matches!(self.bystander.try_wait(), Ok(None)) {
            return true;
        }
        matches!(processes::state(self.bystander.id().cast_signed()), Some('T' | 't'))
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.bystander.kill();
        let _ = self.bystander.wait();
        let name = self.place("@name@");
        for folder in ["/tmp", "/var/tmp", "/dev/shm", "/run"] {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().contains(&name) {
                    let _ = fs::remove_file(entry.path()).or_else(|_| fs::remove_dir_all(entry.path()));
                }
            }
        }
    }
}

/// Says whether nobody may change this file of the checkout, wherever that is used.
fn is_protected(path: &Path) -> bool {
    let path = PathBuf::from(path.to_string_lossy().to_ascii_lowercase());
    [".git", ".github/workflows", ".github/actions", ".github/architect.yml"]
        .iter()
        .any(|name| path.starts_with(name))
        || path == Path::new(".github")
}

/// Starts a process that has nothing to do with the run.
fn bystander() -> Child {
    let mut command = Command::new("sleep");
    command.arg("600").env_clear().env("BYSTANDER", secret("bystander")).current_dir("/");
    if let Some((user, group)) = owner() {
        command.uid(user).gid(group);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("sleep runs")
}

/// Returns who owns the files of a scene, where that is not whoever runs the tests.
fn owner() -> Option<(u32, u32)> {
    let text = std::env::var(OWNER).ok()?;
    let (user, group) = text.split_once(':').expect("USER:GROUP");
    Some((user.parse().expect("a number"), group.parse().expect("a number")))
}
