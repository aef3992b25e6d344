//! Addresses that packages come from. A text is one only if all of it is, and if every program reads it alike: what programs
//! could read differently is no address here.

use std::borrow::Cow;
use std::fmt;

use percent_encoding::percent_decode_str;
use url::Url;

use super::hosts::{self, Owner};
use super::rejection::Reason;

patterns! {
    OTHER = r"(?x) ^ (?: (?<short> github | gitlab | bitbucket | gist | hexpm ) : (?<path> [A-Za-z0-9._~-]+ (?: / [A-Za-z0-9._~-]+ )* )
                | (?<user> [A-Za-z0-9_-]+ ) @ (?<host> [A-Za-z0-9-]+ (?: \. [A-Za-z0-9-]+ )+ ) : (?<rest> [A-Za-z0-9._~-]+ (?: / [A-Za-z0-9._~-]+ )* ) )
                (?: \x23 [A-Za-z0-9._/:=^&~-]* )? $";
    // States of a repository that anybody can propose.
    PROPOSED = r"(?i)(?:^|[/\x23=:@?&,\s])(?:pull|pull-requests|merge-requests|merge_requests|changes)/[0-9]+\b";
}

const SIGNS: Reason = Reason("which has signs that programs read differently");
const DOTS: Reason = Reason("which leads elsewhere than it seems");
pub(super) const ANYBODY: Reason = Reason("which anybody could have put there");
const NO_ADDRESS: Reason = Reason("which is not an address that all programs read alike");

/// Where packages come from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Address {
    /// The scheme, without what is to be found there, as in `git+https`.
    scheme: String,
    /// What stands before `@`.
    user: Option<String>,
    host: String,
    /// The port, unless it is the usual one.
    port: Option<u16>,
    owner: Owner,
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
        let whose = self.owner.account.iter().chain(&self.owner.part);
        whose.filter(|name| !name.is_empty()).try_for_each(|name| write!(f, "/{name}"))
    }
}

impl Address {
    /// Returns whether nobody between can read or change what is fetched.
    fn is_secure(&self) -> bool {
        matches!(self.scheme.as_str(), "https" | "ssh" | "oci")
    }

    /// Returns whether fetching from here is nothing new to who fetches from there: the same place, and as safe a way to it.
    pub(super) fn is_as(&self, known: &Self) -> bool {
        let is_safe_way =
            self.user.is_none() && self.is_secure() && known.user.is_none() && self.port == known.port;
        let is_same_way = self.user == known.user && self.scheme == known.scheme && self.port == known.port;
        self.host == known.host
            && (is_safe_way || is_same_way)
            && self.owner.account == known.owner.account
            && (known.owner.part.is_none() || self.owner.part == known.owner.part)
    }

    /// Returns the address of the host alone.
    pub(super) fn of_host(self) -> Self {
        Self { owner: Owner::default(), ..self }
    }

    /// Returns whether it is on a host where everybody can put something.
    pub(super) fn is_shared(&self) -> bool {
        self.owner.account.is_some()
    }

    /// Parses a text that is an address, in any of the spellings that all programs read alike.
    pub(super) fn of(text: &str) -> Result<Self, Reason> {
        let Some(found) = OTHER.captures(text) else { return Self::parse(text) };
        let part = |name: &str| found.name(name).map_or("", |part| part.as_str());
        let host = match part("short") {
            "github" => "github.com",
            "gitlab" => "gitlab.com",
            "bitbucket" => "bitbucket.org",
            "gist" => "gist.github.com",
            "hexpm" => "repo.hex.pm/repos",
            _ => return Self::parse(&format!("ssh://{}@{}/{}", part("user"), part("host"), part("rest"))),
        };
        Self::parse(&format!("https://{host}/{}", part("path")))
    }

    /// Parses a text that is an address with a scheme.
    fn parse(text: &str) -> Result<Self, Reason> {
        let (scheme, rest) = text.split_once("://").ok_or(NO_ADDRESS)?;
        let is_scheme = |scheme: &str| {
            scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
                && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        if !scheme.split('+').all(is_scheme) {
            return Err(NO_ADDRESS);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) || text.contains(is_sign) {
            return Err(SIGNS);
        }
        let scheme = scheme.rsplit('+').next().unwrap_or(scheme).to_ascii_lowercase();
        if scheme == "file" {
            return Err(Reason("which is a path of the machine"));
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let with_query = path.split('#').next().unwrap_or(path);
        let path = path.split(['?', '#']).next().unwrap_or(path);
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        if user.is_some_and(|user| {
            !user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._~:-".contains(&byte))
        }) {
            return Err(Reason("which has a user name that programs read differently"));
        }
        let user = user.filter(|user| !(*user == "git" && matches!(scheme.as_str(), "ssh" | "git")));
        let (host, port) = match place.split_once(':') {
            Some((host, port)) => (host, Some(port.parse::<u16>().map_err(|_| NO_ADDRESS)?)),
            None => (place, None),
        };
        let host = host.to_ascii_lowercase();
        let usual = match scheme.as_str() {
            "https" | "wss" => 443,
            "http" | "ws" => 80,
            "ssh" | "sftp" => 22,
            "git" => 9418,
            _ => 0,
        };
        let names = names(path)?;
        let names: Vec<&str> = names.split('/').skip(1).filter(|name| !name.is_empty()).collect();
        // What the parser of URLs makes of it has to be what is written.
        let url = Url::parse(&format!("https://{place}{path}")).map_err(|_| NO_ADDRESS)?;
        let is_plain = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
        let is_as_written = url.host_str() == Some(host.as_str()) && (url.path() == path || path.is_empty());
        if !is_plain || host.ends_with('.') || !is_as_written {
            return Err(Reason("whose host programs read differently"));
        }
        if is_proposed(text) || is_upload(&host, &names) {
            return Err(ANYBODY);
        }
        let with_query = percent_decode_str(with_query).decode_utf8().map_err(|_| SIGNS)?;
        let (host, owner) = hosts::owner(&host, &with_query, &names);
        let is_name = |name: &str| {
            let name = name.trim_start_matches(['@', '~']);
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        let is_whole = owner.account.as_deref() == Some(with_query.trim_start_matches('/'));
        let is_odd = |account: &str| !is_name(account) || path.contains("//");
        if !is_whole && owner.account.as_deref().is_some_and(is_odd) {
            return Err(Reason("whose account programs read differently"));
        }
        let port = port.filter(|port| *port != usual);
        Ok(Self { scheme, user: user.map(str::to_owned), host, port, owner })
    }
}

/// Returns whether a text names a state of a repository that anybody can propose, such as a pull request.
pub(super) fn is_proposed(text: &str) -> bool {
    PROPOSED.is_match(&percent_decode_str(text).decode_utf8_lossy())
}

/// Returns whether the names of a path lead to what people attach to issues, or what runs for pull requests leave, which stands below
/// the name of an account as well.
fn is_upload(host: &str, names: &[&str]) -> bool {
    let repository = if names.first() == Some(&"repos") { &names[1..] } else { names };
    let is_github = host == "github.com" || host.ends_with(".github.com");
    let kind = repository.get(2).copied().unwrap_or_default();
    is_github
        && (repository.first() == Some(&"user-attachments")
            || matches!(kind, "actions" | "assets" | "files" | "suites"))
        || host == "gitlab.com" && names.contains(&"uploads")
}

/// Returns whether a sign has no place in an address.
fn is_sign(letter: char) -> bool {
    "\\\"'<>^`{|}$".contains(letter)
}

/// Returns a path as programs read it that undo its escapes.
fn names(path: &str) -> Result<Cow<'_, str>, Reason> {
    let names = percent_decode_str(path).decode_utf8().map_err(|_| SIGNS)?;
    if names.contains(|letter: char| is_sign(letter) || letter == '%' || !letter.is_ascii_graphic()) {
        return Err(SIGNS);
    }
    if names.split(['/', ';']).any(|name| matches!(name, "." | "..")) {
        return Err(DOTS);
    }
    Ok(names)
}
