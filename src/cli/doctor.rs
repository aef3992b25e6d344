//! `architect-ci doctor`: what this machine offers, and what is missing for a run.

use std::path::PathBuf;
use std::process::Command as Process;
use std::time::Instant;

use sanitize::untrusted::{log_lines, visible};
use workspace::SensitiveFiles;

use super::config::{Verdict, verdict};
use super::flags::{InputFlags, InputSet};
use super::style::{below, print_painted};
use crate::base::program::find_program;
use crate::command::Enforcement;
use crate::command::sandbox::{KernelSupport, Namespaces, Sandbox, kernel_support};
use crate::config::Config;
use crate::event::{Events, Exit, RunMode};
use crate::git::Repository;
use crate::github::{Access, Api, ApiError, Environment, access};
use crate::model::{Message, ModelError, Request};
use crate::request::{InputError, Inputs, Job, Lookup, RunRequest, variables};
use crate::run::{ShellContext, shell};

/// Check the programs, the sandbox, the GitHub environment and, on request, the model
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[
        ("architect-ci doctor", "Shows what this machine supports, and what is missing"),
        ("architect-ci doctor --ask-model --model openai::gpt-5.2", "Checks the key and the model with one request"),
    ],
    "",
))]
pub(super) struct Doctor {
    /// Read the configuration as a run would, and send the model one request
    #[arg(long)]
    ask_model: bool,
    #[command(flatten)]
    inputs: InputFlags<DoctorInputs>,
}

/// What decides which model is asked, and how.
#[derive(Clone, Debug)]
enum DoctorInputs {}

impl InputSet for DoctorInputs {
    fn holds(name: &str) -> bool {
        matches!(
            name,
            "model" | "base-url" | "api-key-env" | "config" | "workspace" | "agent" | "trust-head-config"
        )
    }
}

impl Doctor {
    pub(super) fn execute(self) -> Exit {
        let lookup = self.inputs.clone().lookup();
        let config = configuration(&lookup);
        let own = [config, clone(&lookup)];
        let is_valid = own[0].good;
        let job = job(&lookup);
        let (model, exit) = if self.ask_model {
            let (check, exit) = model(self.inputs);
            (Some(check), exit)
        } else {
            // What else is missing here need not be missed by a run.
            (None, Exit::Success)
        };
        let exit = if is_valid || exit != Exit::Success { exit } else { Exit::Configuration };
        let checks = [signals_and_network(kernel_support()), program("git"), program("bash"), github()];
        let text: String = containment()
            .into_iter()
            .chain(checks)
            .chain(job)
            .chain(pwsh())
            .chain(docker())
            .chain(own)
            .chain(model)
            .map(|check| {
                format!("{} {:<10} {}\n", if check.good { '✓' } else { '!' }, check.name, check.says)
            })
            .collect();
        print_painted(&text);
        exit
    }
}

/// Checks the configuration of the checkout, every rule of it.
fn configuration(lookup: &Lookup) -> Check {
    let Verdict { valid, text } = verdict(lookup.path("config"), workspace(lookup));
    let text = text.trim_start_matches(['✓', '✗', ' ']).trim_end();
    Check { name: "config", good: valid, says: log_lines(&visible(text)) }
}

/// Looks whether the checkout is a clone, and holds history.
fn clone(lookup: &Lookup) -> Check {
    let says = |good: bool, says: &str| Check { name: "checkout", good, says: says.to_owned() };
    match workspace(lookup).canonicalize().map(|folder| Repository::find(&folder, None)) {
        Ok(Ok(Some(repository))) => {
            if repository.git_dir().is_ok_and(|folder| folder.join("shallow").exists()) {
                return says(
                    false,
                    "a shallow clone: agents see no history, and the pull request's base commit, from which the \
                     configuration is read, is fetched; set `fetch-depth: 0` for `actions/checkout`",
                );
            }
            says(true, "a Git repository with its history")
        }
        Ok(Ok(None)) => {
            says(false, "no Git repository: changes cannot be delivered, and plans name no commit")
        }
        Ok(Err(error)) => says(false, &error.to_string()),
        Err(error) => says(false, &error.to_string()),
    }
}

fn workspace(lookup: &Lookup) -> PathBuf {
    let of_job =
        || lookup.variables().get("GITHUB_WORKSPACE").filter(|path| !path.is_empty()).map(PathBuf::from);
    lookup.path("workspace").or_else(of_job).unwrap_or_else(|| PathBuf::from("."))
}

/// Looks whether the event starts anything, and asks GitHub what the token may do; nothing outside of Actions.
fn job(lookup: &Lookup) -> Vec<Check> {
    let own = variables();
    let Ok(Some(github)) = Environment::read(&own, None) else { return Vec::new() };
    if !github.in_actions {
        return Vec::new();
    }
    let Ok(runtime) = super::run::runtime() else { return Vec::new() };
    let says = |name: &'static str, good: bool, says: String| Check { name, good, says: visible(&says) };
    let started = Inputs::read(lookup).and_then(|inputs| runtime.block_on(async { Job::ignored(&inputs) }));
    let event = match started {
        Ok(None) => says("event", true, format!("{} starts a run", github.event)),
        Ok(Some(reason)) => says("event", false, format!("{} starts nothing: {reason}", github.event)),
        Err(error) => says("event", false, error.explained()),
    };
    let mut checks = vec![event];
    if github.token.is_some() {
        let asked = runtime.block_on(async { Ok::<_, ApiError>(access(&Api::new(&github)?, &github).await) });
        match asked {
            Ok(Access { writes, problems }) => {
                let good = problems.is_empty();
                let mut parts: Vec<String> = problems.iter().map(ToString::to_string).collect();
                parts.extend(match writes {
                    Some(true) => Some("the token can write to the repository".to_owned()),
                    Some(false) => Some(
                        "the token can only read: comments and deliveries need `permissions: contents: write, \
                         pull-requests: write, issues: write`, as far as the workflow uses them"
                            .to_owned(),
                    ),
                    None if good => Some("the token can read what a run reads".to_owned()),
                    None => None,
                });
                checks.push(says("token", good, parts.join("; ")));
            }
            Err(error) => checks.push(says("token", false, error.to_string())),
        }
    }
    checks
}

/// Asks the model one question, as a run would ask it.
fn model(inputs: InputFlags<DoctorInputs>) -> (Check, Exit) {
    // Nothing is written there.
    let out = std::env::temp_dir().join("architect-ci-doctor").display().to_string();
    let lookup = inputs.with("task", QUESTION.to_owned()).with("out", out).lookup();
    let says = |good: bool, says: String| Check { name: "model", good, says };
    let asked =
        super::run::runtime().map_err(DoctorError::Input).and_then(|runtime| runtime.block_on(ask(&lookup)));
    match asked {
        Ok(found) => (says(true, found), Exit::Success),
        Err(DoctorError::Input(error)) => (says(false, error.explained()), error.exit()),
        Err(DoctorError::Model(error)) => {
            let exit = error.reason().clause().exit;
            (says(false, error.to_string()), exit)
        }
    }
}

const QUESTION: &str = "Answer with the one word: ready";

enum DoctorError {
    Input(InputError),
    Model(ModelError),
}

async fn ask(lookup: &Lookup) -> Result<String, DoctorError> {
    let mut inputs = Inputs::read(lookup).map_err(DoctorError::Input)?;
    // Nothing is changed here, not even rolled back.
    inputs.mode = Some(RunMode::DryRun);
    let request = RunRequest::resolve(&inputs).map_err(DoctorError::Input)?;
    let llm = request.job.config().llm.clone();
    let model = crate::run::model(request.model.clone(), llm, None, &[]).map_err(DoctorError::Input)?;
    // A recipe or a program is at hand.
    let Some(model) = model else { return Ok(format!("{} needs no provider", request.job.model_name)) };
    let started = Instant::now();
    let question = Request {
        agent: &request.agent.name,
        system: "You are being tested for reachability.",
        tools: &[],
        may_call: false,
        max_output: None,
        messages: &[Message::User(QUESTION.to_owned())],
    };
    let answer = model.complete(question).await.map_err(DoctorError::Model)?;
    let price = match (request.prices.find(&request.job.model_name), answer.usage) {
        (Some(price), Some(usage)) => format!("${:.6}", price.cost(usage)),
        (Some(_), None) => "it does not say how many tokens it used".to_owned(),
        (None, _) => "its price is unknown".to_owned(),
    };
    Ok(format!("{} answers after {} ms ({price})", request.job.model_name, started.elapsed().as_millis()))
}

/// Looks for PowerShell, which agents have a tool for where it is installed.
fn pwsh() -> Option<Check> {
    let check = program("pwsh");
    check.good.then_some(check)
}

struct Check {
    name: &'static str,
    good: bool,
    says: String,
}

/// Tries how commands would be shut in, by running one that does nothing.
fn containment() -> Vec<Check> {
    let own = variables();
    let here =
        std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_else(|_| PathBuf::from("/"));
    let temp = std::env::temp_dir();
    let (config, events) = (Config::default(), Events::new(Vec::new()));
    let ground = ShellContext {
        workspace: &here,
        sensitive: &SensitiveFiles::default(),
        held: None,
        temp: &temp,
        attached: &[],
        shared: &[],
    };
    let Ok(shell) = shell(&config, &own, &[], ground, &events) else { return Vec::new() };
    let runtime = super::run::runtime();
    let tried = async { (shell.namespaces(&here).await, shell.enforcement(&here).await) };
    let (namespaces, enforcement) =
        runtime.map_or((None, Enforcement::Nothing), |runtime| runtime.block_on(tried));
    let mut checks = vec![sandbox(), view(namespaces, kernel_support()), hosts(enforcement)];
    if !shell.withheld.is_empty() {
        let names: Vec<&str> = shell.withheld.iter().map(String::as_str).collect();
        let says = format!(
            "not passed on to commands: {}; name the variables that they need in `commands.env_passthrough`",
            names.join(", ")
        );
        checks.push(Check { name: "variables", good: true, says });
    }
    let settings = shell.sandbox.as_ref().map_or(&[][..], Sandbox::withheld);
    if !settings.is_empty() {
        let names: Vec<String> = settings.iter().map(|path| path.display().to_string()).collect();
        let says = format!("not visible to commands, because they contain credentials: {}", names.join(", "));
        checks.push(Check { name: "settings", good: true, says });
    }
    checks
}

fn sandbox() -> Check {
    let KernelSupport { files, truncation, .. } = kernel_support();
    let says = if files && !truncation {
        "active: the kernel limits commands, hooks and gates to the rights of their class (Landlock; this kernel has no rules for \
         emptying files, as Linux 6.2 has, so they empty only what they open for writing)"
    } else if files {
        "active: the kernel limits commands, hooks and gates to the rights of their class (Landlock)"
    } else {
        "this system has no Landlock: commands that are not known to be harmless are refused, and with \
         `commands.sandbox: required` a run does not start"
    };
    Check { name: "sandbox", good: files, says: says.to_owned() }
}

/// Lists what commands see of this machine.
fn view(namespaces: Option<Namespaces>, KernelSupport { files, .. }: KernelSupport) -> Check {
    let by = match namespaces {
        Some(Namespaces::Root) => "as root",
        Some(Namespaces::User) => "with user namespaces",
        Some(Namespaces::Sudo) => "through sudo, with all privileges dropped before anything else runs",
        None => {
            let says = if files {
                "the machine's, as far as Landlock allows: namespaces are not available, so commands run on a copy of the \
                 checkout at another path; they can change modes, owners and times of this user's other files, and read the \
                 command lines of other processes"
            } else {
                "the machine's: neither namespaces nor Landlock are available, so commands run on a copy of the checkout at \
                 another path, but can read and write every file that this user can, the checkout's own among them, and \
                 signal every process of this user; let only trusted people start runs here"
            };
            return Check { name: "files", good: false, says: says.to_owned() };
        }
    };
    let says = format!("commands have their own file system ({by}), with an overlay on top of the checkout");
    Check { name: "files", good: true, says }
}

/// Returns how a list of hosts in `commands.network` would be enforced.
fn hosts(enforcement: Enforcement) -> Check {
    let says = match enforcement {
        Enforcement::OwnNetwork => {
            "a list in `commands.network` is enforced: commands have their own network, in which only the proxy can be reached"
        }
        Enforcement::Ports => {
            "a list in `commands.network` is enforced in part: commands can also connect to the proxy's port on other \
             addresses, and with `commands.sandbox: required` a run with a list does not start"
        }
        Enforcement::Nothing => {
            "a list in `commands.network` cannot be enforced here, and a run with it does not start; use `allow` or `learn`"
        }
    };
    Check { name: "hosts", good: enforcement == Enforcement::OwnNetwork, says: says.to_owned() }
}

/// Returns whether the network can be denied, and who can be signaled.
fn signals_and_network(KernelSupport { network, signals, .. }: KernelSupport) -> Check {
    let denied = if network {
        "`commands.network: deny` is enforced"
    } else {
        "`commands.network: deny` cannot be enforced here, and a run with it does not start"
    };
    let signaled = if signals {
        "commands can signal no other processes"
    } else {
        "commands can signal other processes of this user if they share their namespace, and, where the network is allowed, \
         reach sockets without a path (Landlock keeps them from both since Linux 6.12)"
    };
    Check { name: "network", good: network && signals, says: format!("{denied}; {signaled}") }
}

/// Looks for a daemon that acts for root and listens to this user, which no sandbox for files restricts.
#[cfg(unix)]
fn docker() -> Option<Check> {
    use rustix::fs::{Access, access};
    const SOCKET: &str = "/var/run/docker.sock";
    let says = format!(
        "commands can use {SOCKET}, and through it control the whole machine; if tasks come from strangers, \
         block it with: sudo chmod 600 {SOCKET}"
    );
    access(SOCKET, Access::WRITE_OK).is_ok().then_some(Check { name: "docker", good: false, says })
}

#[cfg(not(unix))]
fn docker() -> Option<Check> {
    None
}

/// Asks a program for its version: the one that a run would start.
fn program(name: &'static str) -> Check {
    let output = find_program(name, &[]).and_then(|found| Process::new(found).arg("--version").output().ok());
    let version = output
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned());
    let good = version.is_some();
    Check { name, good, says: version.unwrap_or_else(|| "not found in PATH".to_owned()) }
}

fn github() -> Check {
    let (good, says) = match Environment::read(&variables(), None) {
        Ok(Some(github)) => {
            let token =
                if github.token.is_some() { "a token" } else { "no token, so comments cannot be posted" };
            (
                github.token.is_some(),
                format!("{}/{}, event {}, {token}", github.owner, github.repository, github.event),
            )
        }
        Ok(None) => (true, "not on GitHub".to_owned()),
        Err(error) => (false, error.to_string()),
    };
    Check { name: "github", good, says }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doctor_says_what_commands_can_do_without_landlock_and_with_it() {
        let support = |all| KernelSupport { files: all, truncation: all, network: all, signals: all };
        for (all, files, network) in [
            (
                true,
                "change modes, owners and times",
                "`commands.network: deny` is enforced; commands can signal no",
            ),
            (false, "read and write every file", "a run with it does not start; commands can signal other"),
        ] {
            let seen = view(None, support(all));
            assert!(!seen.good && seen.says.contains(files), "{}", seen.says);
            let found = signals_and_network(support(all));
            assert!(found.good == all && found.says.contains(network), "{}", found.says);
        }
        assert!(view(Some(Namespaces::Root), support(false)).good);
    }
}
