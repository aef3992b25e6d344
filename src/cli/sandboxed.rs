//! `architect-ci __sandbox`: reads what to do from its standard input, shuts itself in, then becomes the program, or its
//! parent. Internal: supervisors use it to start commands.

/// What shells answer when a program cannot be run.
const CANNOT_RUN: u8 = 126;

/// Restricts itself and becomes the program. Returns an exit code if that fails, or if it had to wait for the program.
#[cfg(target_os = "linux")]
pub(super) fn execute() -> u8 {
    let launch = match linux::read() {
        Ok(launch) => launch,
        // What it prints would stand in the output of the command.
        Err(linux::NoOrder::CutOff) => return CANNOT_RUN,
        Err(linux::NoOrder::Invalid) => {
            eprintln!("__sandbox is internal; see `architect-ci --help`");
            return CANNOT_RUN;
        }
    };
    // A child that cannot be shut in does not run at all.
    linux::launch(&launch).unwrap_or_else(|error| {
        eprintln!("{error}");
        CANNOT_RUN
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn execute() -> u8 {
    eprintln!("__sandbox is internal; see `architect-ci --help`");
    CANNOT_RUN
}

#[cfg(target_os = "linux")]
mod linux {
    use std::borrow::Cow;
    use std::fs::{File, OpenOptions};
    use std::io::{self, Write};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use rustix::io::{Errno, retry_on_intr};
    use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, set_parent_process_death_signal, wait};

    use crate::command::sandbox::{
        Restrictions, Sockets, become_user, enter, hide_process, kernel_support, leave_network, restrict,
    };
    use crate::command::supervisor::{Ending, Launch};

    /// Largest order that is trusted.
    const MOST: usize = 16 << 20;

    /// Reason why there is nothing to run.
    pub(super) enum NoOrder {
        /// The input ended before: whoever ordered it has ended, or was told to.
        CutOff,
        /// The input is no order.
        Invalid,
    }

    /// Reads what to run, and no more: the rest of the input is the program's.
    pub(super) fn read() -> Result<Launch, NoOrder> {
        let mut length = [0; 4];
        fill(&mut length)?;
        let length = usize::try_from(u32::from_be_bytes(length)).ok().filter(|length| *length <= MOST);
        let mut text = vec![0; length.ok_or(NoOrder::Invalid)?];
        fill(&mut text)?;
        serde_json::from_slice(&text).map_err(|_| NoOrder::Invalid)
    }

    fn fill(buffer: &mut [u8]) -> Result<(), NoOrder> {
        let mut at = 0;
        while at < buffer.len() {
            match retry_on_intr(|| rustix::io::read(rustix::stdio::stdin(), &mut buffer[at..])) {
                Ok(0) | Err(_) => return Err(NoOrder::CutOff),
                Ok(count) => at += count,
            }
        }
        Ok(())
    }

    pub(super) fn launch(launch: &Launch) -> io::Result<u8> {
        let named = |what: &str, error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"));
        if launch.merge {
            rustix::stdio::dup2_stderr(rustix::stdio::stdout())?;
        }
        // Before the folder that it is in is out of sight.
        let ending =
            launch.ending.as_ref().map(|path| OpenOptions::new().write(true).open(path)).transpose()?;
        let restrictions = alone(&launch.restrictions);
        if let Some(root) = &restrictions.root {
            let sandbox = |error| named("the sandbox could not be set up", error);
            enter(root, restrictions.network.as_ref()).map_err(sandbox)?;
            if let Some(user) = &root.user {
                become_user(user).map_err(|error| sandbox(error.into()))?;
            }
        }
        if ending.is_some() {
            set_parent_process_death_signal(Some(Signal::KILL))?;
        }
        std::env::set_current_dir(&launch.cwd)
            .map_err(|error| named(&launch.cwd.display().to_string(), error))?;
        if restrictions.restricted {
            restrict(&restrictions)
                .map_err(|error| io::Error::other(format!("could not set up the sandbox: {error}")))?;
        }
        let mut command = Command::new(&launch.program);
        command.args(&launch.arguments).env_clear().envs(&launch.environment);
        if !launch.reads {
            command.stdin(Stdio::null());
        }
        let named = |error| named(&launch.program, error);
        match ending {
            None => Err(named(command.exec())),
            Some(ending) => {
                // What the program could take from this process, its parent, lies outside of the sandbox.
                hide_process();
                wait_for(command.spawn().map_err(named)?.id(), ending)
            }
        }
    }

    /// Takes a child to which the network is denied out of the machine's, where nothing else keeps it from sockets without a path.
    /// One that cannot be taken out gets no sockets at all. Returns its restrictions.
    fn alone(restrictions: &Restrictions) -> Cow<'_, Restrictions> {
        let is_denied = restrictions.sockets == Sockets::Local && restrictions.network.is_none();
        let has_names = is_denied && restrictions.restricted && restrictions.root.is_some();
        if !has_names || kernel_support().signals || leave_network().is_ok() {
            return Cow::Borrowed(restrictions);
        }
        Cow::Owned(Restrictions { named_sockets: false, ..restrictions.clone() })
    }

    /// Waits for the program, as the first process of its world; what it leaves behind ends with this.
    fn wait_for(program: u32, mut report: File) -> io::Result<u8> {
        let program = Pid::from_raw(program.cast_signed());
        // The program's input is its own: while this held it as well, its writer would not see it closed.
        let nothing = File::open("/dev/null")?;
        rustix::stdio::dup2_stdin(&nothing)?;
        loop {
            let Some((pid, status)) = retry_on_intr(|| wait(WaitOptions::empty()))? else { continue };
            if Some(pid) == program {
                // Any process that is left in this world is a child of its first process.
                let is_last = wait(WaitOptions::NOHANG).is_err_and(|error| error == Errno::CHILD);
                // The outputs end with the program, and not with this.
                rustix::stdio::dup2_stdout(&nothing)?;
                rustix::stdio::dup2_stderr(&nothing)?;
                let signal = status.terminating_signal().and_then(|signal| u8::try_from(signal).ok());
                report.write_all(
                    &Ending { is_last, signal: signal.unwrap_or(0), code: code(status) }.to_bytes(),
                )?;
                return Ok(code(status));
            }
        }
    }

    fn code(status: WaitStatus) -> u8 {
        let by_signal = status.terminating_signal().map(|signal| 128_i32.saturating_add(signal));
        let code = status.exit_status().or(by_signal);
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(super::CANNOT_RUN)
    }
}
