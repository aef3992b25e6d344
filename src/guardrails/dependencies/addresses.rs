//! Addresses in the text of a file: what a package manager would connect to.
//!
//! They are read as programs read them, whatever spelling hides them from people: escapes are decoded, a backslash is a slash, a
//! name before `@` is not the host, and hosts are what the parser of URLs makes of them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

use regex::Regex;
use url::Url;

/// How often escapes are decoded: in what is decoded there may be others, for another program.
const MAX_DECODED: usize = 3;

/// Where packages come from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Address {
    /// The scheme, without what is to be found there, as in `git+https`.
    scheme: String,
    /// What stands before `@`.
    user: Option<String>,
    host: String,
    /// The port, unless it is the usual one.
    port: Option<String>,
    /// Whose it is on a host where everybody can put something.
    pub(super) account: Option<String>,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_secure() || self.user.is_some() {
            write!(f, "{}://", self.scheme)?;
        }
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        f.write_str(&self.host)?;
        if let Some(port) = &self.port {
            write!(f, ":{port}")?;
        }
        self.account.iter().try_for_each(|account| write!(f, "/{account}"))
    }
}

impl Address {
    /// Returns whether nobody between can read or change what is fetched.
    fn is_secure(&self) -> bool {
        matches!(self.scheme.as_str(), "https" | "ssh" | "oci")
    }

    /// Returns whether fetching from here is nothing new to who fetches from there: the same place, and as safe a way to it.
    pub(super) fn is_as(&self, known: &Self) -> bool {
        self == known
            || (self.user.is_none()
                && self.is_secure()
                && known.user.is_none()
                && self.host == known.host
                && self.port.is_none()
                && known.port.is_none()
                && self.account == known.account)
    }

    /// Returns the address of the host alone.
    pub(super) fn of_host(self) -> Self {
        Self { account: None, ..self }
    }

    /// Parses what stands behind `scheme://`, up to the end of the line or of what is in quotes.
    fn parse(scheme: &str, rest: &str, quote: Option<char>) -> Option<Self> {
        let scheme = scheme.to_ascii_lowercase();
        let ends = |letter: char| matches!(letter, '/' | '\\' | '?' | '#' | '\n') || Some(letter) == quote;
        let end = rest.find(ends).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        let user = user.filter(|user| !(*user == "git" && matches!(scheme.as_str(), "ssh" | "git")));
        let ends_host = |letter: char| {
            letter.is_ascii() && !letter.is_ascii_alphanumeric() && !"-._~:%[]".contains(letter)
        };
        let (place, behind) = place.split_at(place.find(ends_host).unwrap_or(place.len()));
        let path = if behind.is_empty() { path } else { "" };
        let path = &path[..path.find(ends_path).unwrap_or(path.len())];
        // `git@host:owner/project` is what Git reads.
        let (place, port) = match place.rsplit_once(':').filter(|_| !place.ends_with(']')) {
            Some((host, port)) => (host, port),
            None => (place, ""),
        };
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
        let path = if is_port { Cow::Borrowed(path) } else { Cow::Owned(format!("/{port}{path}")) };
        if place.is_empty() && user.is_none() {
            return None;
        }
        let port = if is_port { port.trim_start_matches('0') } else { "" };
        let usual = match scheme.as_str() {
            "https" | "wss" => "443",
            "http" | "ws" => "80",
            "ssh" | "sftp" => "22",
            "git" => "9418",
            _ => "",
        };
        let port = Some(port).filter(|port| !port.is_empty() && *port != usual).map(str::to_owned);
        // Programs differ in what they read as a host; one that is none to the parser is compared as it is written.
        let Ok(url) = Url::parse(&format!("https://{place}{path}")) else {
            return Some(Self {
                scheme,
                user: user.map(str::to_owned),
                host: place.to_lowercase(),
                port,
                account: None,
            });
        };
        let host = url.host_str().unwrap_or_default();
        let (host, account) = whose(host.strip_suffix('.').unwrap_or(host), url.path());
        Some(Self { scheme, user: user.map(str::to_owned), host: host.to_owned(), port, account })
    }

    /// Returns the address of a path of the machine.
    fn of_machine() -> Self {
        let host = "(a path of the machine)".to_owned();
        Self { scheme: "file".to_owned(), user: None, host, port: None, account: None }
    }

    /// Returns the address that an account of a code host has.
    fn of_account(host: &str, account: &str) -> Self {
        let (scheme, host) = ("https".to_owned(), host.to_owned());
        Self { scheme, user: None, host, port: None, account: Some(account.to_lowercase()) }
    }
}

/// Returns whether a letter ends an address in a text.
fn ends_path(letter: char) -> bool {
    letter.is_whitespace() || "?#\"'`<>,;)]}".contains(letter)
}

/// Returns a host by its usual name, and whose the place there is, on hosts where everybody can put something.
fn whose<'h>(host: &'h str, path: &str) -> (&'h str, Option<String>) {
    let mut names = path.split('/').filter(|name| !name.is_empty());
    let host = match host {
        "codeload.github.com" | "raw.githubusercontent.com" | "www.github.com" | "github.com" => "github.com",
        "api.github.com" => {
            names.next();
            "github.com"
        }
        "gist.github.com" | "gist.githubusercontent.com" => "gist.github.com",
        "gitlab.com"
        | "bitbucket.org"
        | "codeberg.org"
        | "git.sr.ht"
        | "ghcr.io"
        | "npm.pkg.github.com"
        | "maven.pkg.github.com"
        | "rubygems.pkg.github.com"
        | "nuget.pkg.github.com"
        | "s3.amazonaws.com"
        | "storage.googleapis.com" => host,
        _ => return (host, None),
    };
    (host, names.next().map(|name| name.strip_suffix(".git").unwrap_or(name).to_lowercase()))
}

/// Returns all addresses in one value, in which programs may ignore line ends.
pub(super) fn in_value(text: &str) -> BTreeSet<Address> {
    let mut found = BTreeSet::new();
    read(text, false, &mut found);
    if text.contains('\n') {
        read(&text.replace('\n', ""), false, &mut found);
    }
    found
}

/// Returns all addresses in a text of many lines, in which values may be in quotes.
pub(super) fn in_lines(text: &str) -> BTreeSet<Address> {
    let mut found = BTreeSet::new();
    read(text, true, &mut found);
    found
}

/// Adds all addresses in a text. What is an escape to one program is not to another, and what one drops another keeps, so all
/// readings count.
fn read(text: &str, has_quotes: bool, found: &mut BTreeSet<Address>) {
    let mut reading = Cow::Borrowed(text);
    for _ in 0..=MAX_DECODED {
        scan(&reading, has_quotes, found);
        if reading.contains(['\t', '\r']) {
            scan(&reading.replace(['\t', '\r'], ""), has_quotes, found);
        }
        let next = match decoded(&reading) {
            Cow::Borrowed(_) => break,
            Cow::Owned(text) => text,
        };
        reading = Cow::Owned(next);
    }
}

fn scan(text: &str, has_quotes: bool, found: &mut BTreeSet<Address>) {
    static START: LazyLock<Regex> = LazyLock::new(|| {
        #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
        Regex::new(
            r"(?ix) \b (?<short> github | gitlab | bitbucket | gist ) : (?<account> [\w.-]+ )
            | \b (?: [a-z]+ \+ )* (?<known> https? | wss? | ftps? | file | ssh | sftp | git | svn | hg | rsync | oci ) :
              (?: (?<slashes> [/\\]+ ) | (?<bare> [\w\[@%] ) )
            | (?<scheme> [a-z] [a-z0-9.-]* ) : [/\\]{2,}
            | (?<user> [\w.-]+ ) @ (?<host> [\w-]+ (?: \. [\w-]+ )* ) : [\w~./-]",
        )
        .expect("a valid pattern")
    });
    let mut at = 0;
    while let Some(start) = START.captures_at(text, at) {
        let Some(whole) = start.get(0) else { break };
        let line = text[..whole.start()].rsplit('\n').next().unwrap_or_default();
        let quote =
            line.chars().rev().find(|letter| matches!(letter, '"' | '\'' | '`')).filter(|_| has_quotes);
        at = start.name("bare").map_or(whole.end(), |bare| bare.start());
        if let (Some(short), Some(account)) = (start.name("short"), start.name("account")) {
            let host = match short.as_str().to_ascii_lowercase().as_str() {
                "github" => "github.com",
                "gitlab" => "gitlab.com",
                "bitbucket" => "bitbucket.org",
                _ => "gist.github.com",
            };
            found.insert(Address::of_account(host, account.as_str()));
        } else if let (Some(user), Some(host)) = (start.name("user"), start.name("host")) {
            // `name@1.2.3:` is a key of other files.
            let last = host.as_str().rsplit('.').next().unwrap_or_default();
            let is_name = host.as_str().contains('.') && last.bytes().all(|byte| byte.is_ascii_alphabetic());
            if is_name || user.as_str() == "git" {
                found.extend(Address::parse("ssh", &text[user.start()..], quote));
            }
            at = host.end();
        } else if let Some(scheme) = start.name("known").or(start.name("scheme")) {
            let slashes = start.name("slashes").map_or(0, |slashes| slashes.len());
            match (scheme.as_str().eq_ignore_ascii_case("file"), slashes) {
                // A path without slashes in front of it is one of the checkout.
                (true, 0) => {}
                (true, 1 | 3..) => drop(found.insert(Address::of_machine())),
                _ => found.extend(Address::parse(scheme.as_str(), &text[at..], quote)),
            }
        }
    }
}

/// Undoes the escapes of JSON, YAML, TOML and XML behind which an address could hide. What the parser of URLs drops is dropped.
fn decoded(text: &str) -> Cow<'_, str> {
    static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
        #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
        Regex::new(
            r"(?x) \\ (?: (?<sign> [\\/@:.%?\x23$!~-] ) | (?<space> [tnrbfave0] ) | u\{ (?<braced> [0-9A-Fa-f]{1,6} ) \}
            | u (?<wide> [0-9A-Fa-f]{4} ) | x (?<narrow> [0-9A-Fa-f]{2} ) | U (?<long> [0-9A-Fa-f]{8} ) )
            | & \x23 (?: [xX] (?<hex> [0-9A-Fa-f]{1,6} ) | (?<decimal> [0-9]{1,7} ) ) ;",
        )
        .expect("a valid pattern")
    });
    let letter = |found: &regex::Captures<'_>| {
        if let Some(sign) = found.name("sign") {
            return sign.as_str().to_owned();
        }
        let number = |name: &str, radix| {
            found.name(name).and_then(|code| u32::from_str_radix(code.as_str(), radix).ok())
        };
        let hex = ["braced", "wide", "narrow", "long", "hex"].into_iter().find_map(|name| number(name, 16));
        let letter = hex.or_else(|| number("decimal", 10)).and_then(char::from_u32);
        // Of a control character nothing is left, as in the parser of URLs.
        letter.filter(|letter| !letter.is_control()).map(String::from).unwrap_or_default()
    };
    ESCAPE.replace_all(text, letter)
}
