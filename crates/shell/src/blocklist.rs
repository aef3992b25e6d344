//! Block-list: what is never run, in any mode. It applies to the parsed words of every command, and to the
//! raw text of lines that the grammar does not fully explain.

use std::sync::LazyLock;

use regex::RegexSet;

use super::analysis::{Analysis, Simple, Word};
use super::table::known_name;
use super::wrappers::is_shell;

/// Patterns for the raw text.
static RAW: LazyLock<RegexSet> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "constant patterns, compiled in a test")]
    RegexSet::new([
        // A function that starts itself twice.
        r"(?s)\b?([\w:.]+)\s*\(\)\s*\{[^}]*\|[^}]*&[^}]*\}\s*;",
        r"(?:^|[;&|\n(`]\s*)(?:sudo|doas|su)\s",
        r">\s*/dev/(?:sd|hd|nvme|vd|xvd|mmcblk|disk|loop|dm-|mapper)",
        r"(?:^|[;&|\n(`]\s*)mkfs",
        r"(?:curl|wget)\b[^;&\n]*\|\s*(?:sudo\s+)?(?:ba|da|z|k)?sh\b",
    ])
    .expect("the patterns are valid")
});

/// What each raw pattern is about.
const RAW_REASONS: [&str; 5] =
    ["a fork bomb", "another user", "a write to a disk device", "making a file system", "running a download"];

/// Interpreters that run what they read.
const INTERPRETERS: &str = "python python3 perl ruby node php lua deno bun tclsh Rscript osascript pwsh";

/// Returns the reason why a line is never run, or `None` if it may be.
pub(super) fn blocked(text: &str, analysis: &Analysis) -> Option<String> {
    let parsed = analysis.commands.iter().find_map(|simple| {
        let reason = command(simple).or_else(|| download(simple, analysis)).or_else(|| redirect(simple))?;
        Some(format!("{reason}{}", simple.place))
    });
    parsed.or_else(|| {
        // In a line that was fully parsed, quoted text is just text.
        let relevant =
            analysis.unclear.is_some() || analysis.dynamic.is_some() || !analysis.functions.is_empty();
        let found = RAW.matches(text);
        found.iter().next().filter(|_| relevant).map(|index| RAW_REASONS[index].to_owned())
    })
}

/// Patterns for the raw text of PowerShell, which has names of its own and whose grammar is followed less
/// far.
static POWERSHELL: LazyLock<RegexSet> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "constant patterns, compiled in a test")]
    RegexSet::new([
        r"(?is)\b(?:iwr|irm|wget|curl|invoke-webrequest|invoke-restmethod|downloadstring)\b.*\b(?:iex|invoke-expression|invoke-command)\b",
        r"(?is)\b(?:iex|invoke-expression)\b.*\b(?:iwr|irm|wget|curl|invoke-webrequest|invoke-restmethod|downloadstring)\b",
        r"(?i)\b(?:format-volume|clear-disk|initialize-disk|remove-partition|set-partition)\b",
        r"(?i)\b(?:stop-computer|restart-computer)\b",
        r"(?i)-verb\s+['\x22]?runas\b",
        r"(?i)\bset-executionpolicy\b",
        r"(?i)-e(?:nc|ncodedcommand)?\s+[A-Za-z0-9+/=]{40,}",
        r"(?i)(?:^|[;&|\n({]\s*)(?:sudo|doas|su)\s",
    ])
    .expect("the patterns are valid")
});

/// What each PowerShell pattern is about.
const POWERSHELL_REASONS: [&str; 8] = [
    "running a download",
    "running a download",
    "it changes a disk",
    "it stops the machine",
    "another user's right",
    "it lets any script run",
    "an encoded command",
    "another user's right",
];

/// The names and aliases of the cmdlet that removes files.
const REMOVERS: &str = "remove-item ri rm rmdir del erase rd";

/// Returns the reason why a PowerShell script is never run, beyond the reasons that apply to every shell.
pub(super) fn blocked_in_powershell(script: &str, analysis: &Analysis) -> Option<String> {
    let everything = |simple: &Simple| {
        let name = simple.name().filter(|name| REMOVERS.split(' ').any(|remover| remover == *name))?;
        let recurses = |word: &Word| word.raw.to_ascii_lowercase().starts_with("-r");
        let whole = |word: &Word| {
            let raw = word.raw.trim_matches(['\'', '"']).to_ascii_lowercase();
            let raw = raw.trim_end_matches(['/', '\\', '*']);
            matches!(raw, "" | "~" | "$home" | "$env:home" | "$env:userprofile")
                || raw.len() == 2 && raw.ends_with(':')
        };
        let arguments = simple.arguments();
        let target = arguments.iter().find(|word| whole(word)).filter(|_| arguments.iter().any(recurses))?;
        Some(format!("'{name} -Recurse {}' removes everything", target.raw))
    };
    analysis.commands.iter().find_map(everything).or_else(|| {
        POWERSHELL.matches(script).iter().next().map(|index| POWERSHELL_REASONS[index].to_owned())
    })
}

fn command(simple: &Simple) -> Option<String> {
    let written = simple.name()?;
    let name = known_name(written).unwrap_or(written.rsplit('/').next().unwrap_or(written));
    let arguments = simple.arguments();
    let has = |option: char, long: &str| {
        arguments
            .iter()
            .filter_map(Word::text)
            .any(|text| short(text, option) || (!long.is_empty() && text.starts_with(long)))
    };
    match name {
        "sudo" | "su" | "doas" | "pkexec" | "runuser" => Some(format!("'{name}' uses another user's rights")),
        "rm" if has('r', "--recursive") || has('R', "--recursive") => {
            let target = arguments.iter().find(|word| is_everything(word))?;
            Some(format!("'rm -r {}' removes everything", target.raw))
        }
        "chmod" => {
            let open = arguments.iter().filter_map(Word::text).find(|text| is_world_writable(text))?;
            Some(format!("'chmod {open}' gives everybody access to files"))
        }
        "dd" => {
            let device = arguments
                .iter()
                .filter_map(Word::text)
                .find(|text| text.starts_with("of=/dev/") && *text != "of=/dev/null")?;
            Some(format!("'dd {device}' overwrites a device"))
        }
        "killall" if has('9', "--signal=9") || has('K', "-KILL") => {
            Some("'killall -9' kills other processes".to_owned())
        }
        "pkill" if has('f', "--full") && (has('9', "--signal=9") || has('K', "-KILL")) => {
            Some("'pkill -9 -f' kills other processes".to_owned())
        }
        name if name == "mkfs" || name.starts_with("mkfs.") => {
            Some(format!("'{name}' creates a file system"))
        }
        "shutdown" | "reboot" | "halt" | "poweroff" => Some(format!("'{name}' stops the machine")),
        _ => None,
    }
}

/// Returns whether a cluster of short options contains a letter.
fn short(text: &str, option: char) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text[1..].contains(option)
}

/// Returns whether a word names the root, the home folder, a system folder, or everything in one of them.
fn is_everything(word: &Word) -> bool {
    let Some(text) = word.text() else {
        // `"$HOME"/` and `${HOME:?}/*` as much as `$HOME`.
        return word.raw.contains("HOME");
    };
    let bare = text.trim_end_matches(['*', '.']);
    let bare = bare.trim_end_matches('/');
    let climbs = !text.is_empty()
        && text.starts_with('/')
        && text.split('/').all(|name| matches!(name, "" | "." | ".." | "*"));
    climbs
        || matches!(bare, "~")
        || (text.starts_with('/') && bare.is_empty())
        || matches!(bare, "/home" | "/usr" | "/etc" | "/var" | "/root" | "/bin" | "/lib" | "/boot" | "/dev")
}

fn is_world_writable(mode: &str) -> bool {
    let octal = mode.trim_start_matches('0');
    let digits = octal.len() >= 3 && octal.chars().all(|c| c.is_digit(8));
    let everybody = digits && octal.ends_with('7') && octal.contains("77");
    let symbolic = ["a+rwx", "a=rwx", "ugo+rwx", "ugo=rwx", "+rwx", "o+w", "a+w"].contains(&mode);
    everybody || symbolic
}

/// Returns a reason if fetched text would be run: `curl … | sh`, and `sh <(curl …)` or `sh -c "$(curl …)"`.
fn download(simple: &Simple, analysis: &Analysis) -> Option<String> {
    let runs = |simple: &Simple| {
        let name = simple.name().and_then(known_name).unwrap_or_default();
        is_shell(name)
            || INTERPRETERS.split(' ').any(|known| known == name)
            || matches!(name, "eval" | "source" | "." | "xargs")
    };
    let fetches = |simple: &Simple| {
        matches!(simple.name().and_then(known_name), Some("curl" | "wget" | "fetch" | "aria2c"))
    };
    if !fetches(simple) {
        return None;
    }
    let index = analysis.commands.iter().position(|other| std::ptr::eq(other, simple))?;
    let name = simple.name()?;
    let piped = analysis.commands.iter().any(|other| {
        let mut source = other.piped_from;
        while let Some(at) = source {
            if at == index {
                return runs(other);
            }
            source = analysis
                .commands
                .get(at)
                .and_then(|earlier| earlier.piped_from)
                .filter(|earlier| *earlier < at);
        }
        false
    });
    let inside =
        simple.place != super::analysis::Nesting::Plain && analysis.commands.iter().take(index).any(runs);
    (piped || inside).then(|| format!("what '{name}' fetches would be run"))
}

fn redirect(simple: &Simple) -> Option<String> {
    let device = |text: &str| {
        ["sd", "hd", "nvme", "vd", "xvd", "mmcblk", "disk", "loop", "dm-", "mapper/", "mem", "kmem", "port"]
            .iter()
            .any(|kind| text.strip_prefix("/dev/").is_some_and(|name| name.starts_with(kind)))
    };
    let target = simple
        .redirects
        .iter()
        .filter(|redirect| redirect.writes)
        .find(|redirect| redirect.target.text().is_some_and(device))?;
    Some(format!("a write to the device {}", target.target.raw))
}
