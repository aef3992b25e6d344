//! Analysis of a command line: every simple command in it, however it is wrapped, with its words and the
//! files that it is redirected to.
//!
//! Class, block-list, and effects are all derived from this one value; nothing looks at the text again.

mod powershell;
mod powershell_texts;
mod walk;
mod word;

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

pub use powershell::analyse_powershell;
pub(crate) use walk::Walk;
pub use word::Word;

/// Maximum length of a command line that is analyzed, in bytes; longer ones are data, not commands.
const MAX_LENGTH: usize = 32 * 1024;
/// Maximum number of parentheses that are not closed; beyond that, the parser's backtracking doubles with
/// each.
const MAX_UNCLOSED: usize = 6;
/// Maximum number of digits in a descriptor, and in any other number.
const MAX_DESCRIPTOR_DIGITS: usize = 4;
const MAX_DIGITS: usize = 18;
/// Maximum depth of brackets and compound commands.
const MAX_DEPTH: usize = 100;
/// Depth that fits on an ordinary stack.
const SHALLOW: usize = 12;
/// Limit for the processor time that the parser may take for an intricate line. By the clock alone, a busy machine would make
/// lines too complex that are not.
const MAX_TIME: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1_000 } else { 90 });
/// How many times as long it is waited for, however little of the processor the parser gets.
const PATIENCE: u32 = 20;
/// Maximum number of lines that the parser may be stuck in at once; each takes a core until the program ends.
const MAX_STUCK: usize = 4;
/// Stack size for deeper lines, in bytes.
const DEEP_STACK: usize = 64 * 1024 * 1024;

/// The position of a simple command in the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// At the top level, in a list, a pipe, or a loop.
    Plain,
    /// Inside `$(…)` or backticks.
    Substitution,
    /// Inside `<(…)` or `>(…)`.
    ProcessSubstitution,
    /// Inside a function.
    Function,
    /// Run by another command, such as `env` or `xargs`.
    Wrapped(String),
    /// Run by a runner of the project's tools, such as `npx` or `bundle exec`.
    Tool(String),
    /// In a script given as text, such as to `bash -c`.
    Script(String),
}

impl std::fmt::Display for Nesting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plain => Ok(()),
            Self::Substitution => f.write_str(" in $(…)"),
            Self::ProcessSubstitution => f.write_str(" in <(…)"),
            Self::Function => f.write_str(" in a function"),
            Self::Wrapped(by) | Self::Tool(by) => write!(f, " run by {by}"),
            Self::Script(by) => write!(f, " in {by}"),
        }
    }
}

/// A redirect of a command to or from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The name of the file.
    pub target: Word,
    /// Whether the file is written.
    pub writes: bool,
}

/// A simple command: a program or builtin with its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simple {
    /// The name and the arguments; empty if there are only assignments or redirects.
    pub words: Vec<Word>,
    /// Variables that are set for the command or, if it has no words, for the shell.
    pub assignments: Vec<(String, Word)>,
    /// Redirects to and from files.
    pub redirects: Vec<Redirect>,
    /// The position in the line.
    pub place: Nesting,
    /// The index of the command in the same line whose output it reads.
    pub piped_from: Option<usize>,
}

impl Simple {
    /// Returns the name, if it is known before run time.
    pub fn name(&self) -> Option<&str> {
        self.words.first().and_then(Word::text)
    }

    /// Returns the words after the name.
    pub fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }
}

/// What a command line would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Every simple command, in the order of the text; a wrapped one follows its wrapper.
    pub commands: Vec<Simple>,
    /// The names of functions that the line defines.
    pub functions: Vec<String>,
    /// Whether something is started with `&`.
    pub is_detached: bool,
    /// The first part of what the line runs that is decided at run time.
    pub dynamic: Option<String>,
    /// The reason why the line, or a part of it, could not be understood.
    pub unclear: Option<String>,
}

impl Analysis {
    /// Returns whether something is started with `&`, and nothing waits for its end.
    pub fn leaves_processes(&self) -> bool {
        self.is_detached && !self.commands.iter().any(|simple| simple.name() == Some("wait"))
    }
}

/// Analyzes a command line. Never fails: [`Analysis::unclear`] says what was not understood.
pub fn analyse(command: &str) -> Analysis {
    let analysis = match nesting(command) {
        Ok(nesting) if nesting <= SHALLOW && !is_intricate(command) => Ok(read(command)),
        Ok(_) => watched(command.to_owned()),
        Err(reason) => Err(reason),
    };
    let unclear = |reason: TooComplex| Analysis { unclear: Some(reason.to_string()), ..Analysis::default() };
    analysis.unwrap_or_else(unclear)
}

fn read(command: &str) -> Analysis {
    let mut walk = walk::Walk::default();
    walk.script(command, &Nesting::Plain);
    walk.analysis
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread is in the parser, whose panics are expected: they only mean that a line is not
/// understood.
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Runs the parser. Returns `None` if it panics.
fn guarded<T>(parse: impl FnOnce() -> T + std::panic::UnwindSafe) -> Option<T> {
    GUARDED.set(true);
    let parsed = std::panic::catch_unwind(parse);
    GUARDED.set(false);
    parsed.ok()
}

/// Returns whether a line contains anything that may make the parser backtrack.
fn is_intricate(text: &str) -> bool {
    ["${", "((", "$[", "<<", "`", "[("].iter().any(|part| text.contains(part))
}

/// Analyzes a line on a thread of its own. The parser recurses with the text, so a deep one needs a deep
/// stack; and for some texts it takes exponential time, for which nobody waits.
fn watched(command: String) -> Result<Analysis, TooComplex> {
    static STUCK: AtomicUsize = AtomicUsize::new(0);
    if STUCK.load(Ordering::Relaxed) >= MAX_STUCK {
        return Err(TooComplex::Stuck);
    }
    STUCK.fetch_add(1, Ordering::Relaxed);
    let (sender, receiver) = mpsc::channel();
    let parser = Arc::new(OnceLock::new());
    let own = Arc::clone(&parser);
    let thread = std::thread::Builder::new().stack_size(DEEP_STACK).spawn(move || {
        let _ = own.set(std::fs::read_link("/proc/thread-self").unwrap_or_default());
        let analysis = read(&command);
        STUCK.fetch_sub(1, Ordering::Relaxed);
        let _ = sender.send(analysis);
    });
    if thread.is_err() {
        STUCK.fetch_sub(1, Ordering::Relaxed);
        return Err(TooComplex::NoThread);
    }
    for _ in 0..PATIENCE {
        match receiver.recv_timeout(MAX_TIME) {
            Ok(analysis) => return Ok(analysis),
            Err(_)
                if parser
                    .get()
                    .is_some_and(|parser| processor_time(parser).is_none_or(|used| used >= MAX_TIME)) =>
            {
                break;
            }
            Err(_) => {}
        }
    }
    // It may have ended just now.
    receiver.try_recv().map_err(|_| TooComplex::Slow)
}

/// Returns for how long a thread has been on a processor, or `None` where the system does not say. `thread` is its folder below
/// `/proc`.
fn processor_time(thread: &Path) -> Option<Duration> {
    let times = std::fs::read_to_string(Path::new("/proc").join(thread).join("schedstat")).ok()?;
    Some(Duration::from_nanos(times.split_whitespace().next()?.parse().ok()?))
}

/// Why parsing a text would cost more than it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum TooComplex {
    #[error("it is {0} bytes long")]
    Long(usize),
    #[error("it contains a NUL byte")]
    Nul,
    #[error("it contains a number that is too large")]
    HugeNumber,
    #[error("it contains a here-document without a delimiter")]
    NamelessDocument,
    #[error("{0} parentheses are not closed")]
    Unclosed(usize),
    #[error("it is nested up to {0} levels deep")]
    Deep(usize),
    #[error("it is complex, and earlier commands took too long to parse")]
    Stuck,
    #[error("no thread is available to parse it")]
    NoThread,
    #[error("it takes too long to parse")]
    Slow,
}

/// Returns an upper bound for the nesting depth of a text.
fn nesting(text: &str) -> Result<usize, TooComplex> {
    if text.len() > MAX_LENGTH {
        return Err(TooComplex::Long(text.len()));
    }
    if text.contains('\0') {
        return Err(TooComplex::Nul);
    }
    if has_huge_number(text) {
        return Err(TooComplex::HugeNumber);
    }
    if has_nameless_document(text) {
        return Err(TooComplex::NamelessDocument);
    }
    let (mut depth, mut deepest, mut unclosed) = (0_usize, 0_usize, 0_usize);
    for byte in text.bytes() {
        match byte {
            b'(' | b'{' => {
                depth += 1;
                unclosed += usize::from(byte == b'(');
                deepest = deepest.max(depth);
            }
            b')' => {
                depth = depth.saturating_sub(1);
                unclosed = unclosed.saturating_sub(1);
            }
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if unclosed > MAX_UNCLOSED {
        return Err(TooComplex::Unclosed(unclosed));
    }
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let compound =
        words.filter(|word| matches!(*word, "if" | "while" | "until" | "for" | "case" | "select")).count();
    if deepest + compound > MAX_DEPTH {
        return Err(TooComplex::Deep(deepest + compound));
    }
    Ok(deepest + compound)
}

/// Returns whether a `<<` is not followed by a word. The parser would search forever for the empty delimiter
/// of such a document.
fn has_nameless_document(text: &str) -> bool {
    text.match_indices("<<").any(|(at, _)| {
        let rest = text[at + 2..].trim_start_matches('-').trim_start_matches([' ', '\t']);
        let word = rest.trim_start_matches(['\'', '"', '\\', '$']);
        let is_here_string = rest.starts_with('<') || text[..at].ends_with('<');
        !is_here_string && word.chars().next().is_none_or(|c| c.is_whitespace() || "&;|()<>`".contains(c))
    })
}

/// Returns whether there is a number that the parser cannot represent: a descriptor before a redirect, or
/// anything else that it takes for a number (`~-3`).
fn has_huge_number(text: &str) -> bool {
    let mut digits = 0;
    text.bytes().any(|byte| {
        let too_many = if matches!(byte, b'<' | b'>') { MAX_DESCRIPTOR_DIGITS } else { MAX_DIGITS };
        let huge = digits > too_many;
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        huge
    }) || digits > MAX_DIGITS
}

/// Returns whether two equal parentheses are separated only by whitespace and backslashes.
fn has_parentheses_apart(text: &str) -> bool {
    ['(', ')'].into_iter().any(|parenthesis| {
        text.match_indices(parenthesis).any(|(at, _)| {
            let rest = &text[at + 1..];
            let next = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\\');
            next.len() < rest.len() && next.starts_with(parenthesis)
        })
    })
}
