//! Shapes of what may come into a lock file: names, versions, checksums and paths, and addresses, which are judged by where they lead.
//! What is of no such shape is not accepted, whatever it means.

use percent_encoding::percent_decode_str;

use super::addresses::{ANYBODY, Address, is_proposed};
use super::formats::{has_slashes, name_of};
use super::rejection::Reason;
use super::text_kind::Kind;

/// Deepest nesting of what stands for something within a text.
const MAX_DEPTH: usize = 8;

const ODD: Reason =
    Reason("which is neither a name, a version, a checksum nor an address that all programs read alike");
const OUT: Reason = Reason("which is not a path of the checkout");

patterns! {
    // Base64 ends in a sign that no name on a code host has.
    CHECKSUM = r"(?x) ^ (?: (?: sha\d+ | md5 | h1 | zh | b5 | blake2b | blake3 | shake256 ) [:=-] )?
        (?: [0-9a-fA-F]{16,128} | [A-Za-z0-9+/]{20,} ={1,2} ) $ | ^ \w{1,8} / [0-9a-f]{128} $ | ^ sha256=[0-9a-f]{64} $
        | ^ sha256 : [0-9a-f]{64} , [0-9]+ $";
    TIME = r"^\d{4}-\d\d-\d\d[T_]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?$";
    NAMED = r"^(?<name>(?:@[A-Za-z0-9._~-]+/)?[A-Za-z0-9._~-]+)@(?<rest>.+)$";
    SCOPED = r"^@[A-Za-z0-9._~-]+/[A-Za-z0-9._~-]+$";
    // A version with those of its peers, as Deno writes it.
    PEERS = r"^[0-9][A-Za-z0-9._+@~-]*$";
    // How pnpm named packages once.
    OLD_PNPM = r"^/(?:@[A-Za-z0-9._~-]+/)?[A-Za-z0-9._~-]+[/@][A-Za-z0-9._+~-]+(?:_[A-Za-z0-9._+@~-]+)?$";
    NETWORK = r"^[A-Za-z0-9_-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+:";
    SLASHED = r"(?x) ^ /? [A-Za-z0-9._@+~:,=\\-]+ (?: / [A-Za-z0-9._@+~:,=\\-]+ )* /? (?: \x23 [A-Za-z0-9]+ )? (?: % [0-9.]+ )? $";
    LABEL = r"^(?:@{1,2}[A-Za-z0-9._+~-]*)?//(?::|[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)*:)[A-Za-z0-9._/+~-]+(?:%[A-Za-z0-9_.+~-]+)?$";
    PART = r"^~?[A-Za-z0-9_][A-Za-z0-9._-]*$";
    PATH = r"^[A-Za-z0-9._@+~ ()\[\],=-]+(?:/[A-Za-z0-9._@+~ ()\[\],=-]+)*/?$";
    BUILTIN = r"^(?:optional!)?~?builtin<[a-z/-]+>$";
}

/// Judge of the new texts of one lock file.
pub(super) struct Judge {
    /// How many folders above that of the file are of the repository.
    pub(super) levels: usize,
    /// Whether names in the file have slashes.
    pub(super) has_slashes: bool,
    /// Whether names in the file may begin with a slash.
    is_pnpm: bool,
    /// The addresses that the texts name.
    pub(super) found: Vec<Address>,
}

impl Judge {
    /// Returns a judge of a file, which is named from the repository's root.
    pub(super) fn of(path: &str) -> Self {
        let name = name_of(path);
        Self {
            levels: path.matches('/').count(),
            has_slashes: has_slashes(&name),
            is_pnpm: name == "pnpm-lock.yaml",
            found: Vec::new(),
        }
    }

    /// Judges one text.
    pub(super) fn judge(&mut self, kind: Kind, text: &str) -> Result<(), Reason> {
        if kind != Kind::People && !text.chars().all(|letter| letter.is_ascii_graphic() || letter == ' ') {
            return Err(Reason("which has signs that names, versions and addresses do not have"));
        }
        if kind != Kind::People && is_proposed(text) {
            return Err(ANYBODY);
        }
        match kind {
            Kind::People => Ok(()),
            _ if text.is_empty() => Ok(()),
            Kind::Place => self.place(text),
            Kind::Bare => self.address(&format!("https://{text}")),
            Kind::Part => {
                if PART.is_match(text) {
                    Ok(())
                } else {
                    Err(ODD)
                }
            }
            Kind::Slashed => slashed(text),
            Kind::Path => self.path(text),
            Kind::Spec => self.spec(text),
        }
    }

    fn address(&mut self, text: &str) -> Result<(), Reason> {
        self.found.push(Address::of(text)?);
        Ok(())
    }

    fn place(&mut self, text: &str) -> Result<(), Reason> {
        match text.split_once(':') {
            None if text == "." || text.starts_with("./") || text.starts_with("../") => self.path(text),
            Some(("file" | "link" | "workspace" | "portal", path)) if !path.starts_with('/') => {
                self.path_with_selector(path)
            }
            _ => self.address(text),
        }
    }

    /// Judges a path of the checkout.
    fn path(&self, text: &str) -> Result<(), Reason> {
        if self.has_slashes && slashed(text).is_ok() {
            return Ok(());
        }
        let above = text.split('/').filter(|name| *name == "..").count();
        let is_plain = PATH.is_match(text) && !text.starts_with("~/") && !text.contains("//");
        if is_plain && above <= self.levels { Ok(()) } else { Err(OUT) }
    }

    /// Judges a path, and behind `#` what of it is meant: the same path or a checksum.
    fn path_with_selector(&self, text: &str) -> Result<(), Reason> {
        let (path, selector) = text.split_once('#').unwrap_or((text, ""));
        self.path(path)?;
        if selector.is_empty() { Ok(()) } else { self.path(selector) }
    }

    /// Judges how a package is asked for, or what is known of it.
    fn spec(&mut self, text: &str) -> Result<(), Reason> {
        if is_word(text) {
            return Ok(());
        }
        for chunk in text.split(' ').filter(|chunk| !chunk.is_empty()) {
            let chunk = chunk.strip_suffix([',', ';']).unwrap_or(chunk);
            let inner = chunk.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
            self.token(inner.unwrap_or(chunk), 0)?;
        }
        Ok(())
    }

    fn token(&mut self, text: &str, depth: usize) -> Result<(), Reason> {
        if depth > MAX_DEPTH {
            return Err(ODD);
        }
        if is_word(text) || [&TIME, &SCOPED, &CHECKSUM, &PEERS].iter().any(|shape| shape.is_match(text)) {
            return Ok(());
        }
        if NETWORK.is_match(text) {
            return self.address(text);
        }
        if let Some(rest) = text.strip_prefix("patch:") {
            return self.patch(rest, depth);
        }
        if let Some((base, settings)) = text.split_once("::") {
            if self.has_slashes && slashed(text).is_ok() {
                return Ok(());
            }
            self.token(base, depth + 1)?;
            return settings.split('&').try_for_each(|setting| self.setting(setting, depth));
        }
        // What a package is combined with: `a@1(b@2)`.
        if let Some((base, with)) = text.split_once('(') {
            if base.contains("//") || !with.ends_with(')') {
                return Err(ODD);
            }
            self.token(base, depth + 1)?;
            let parts = with.split(['(', ')']).filter(|part| !part.is_empty());
            return parts.into_iter().try_for_each(|part| self.token(part, depth + 1));
        }
        if let Some(found) = NAMED.captures(text) {
            return self.token(&found["rest"], depth + 1);
        }
        if self.is_pnpm && OLD_PNPM.is_match(text) {
            return Ok(());
        }
        match text.split_once(':') {
            Some(("npm" | "jsr" | "catalog" | "root" | "pypi" | "conda", rest)) if !rest.contains(':') => {
                self.token(rest, depth + 1)
            }
            Some(("workspace" | "file" | "link" | "portal", path)) if !path.contains("//") => {
                if NAMED.is_match(path) || is_word(path) {
                    self.token(path, depth + 1)
                } else {
                    self.path_with_selector(path)
                }
            }
            Some((scheme, _)) if !scheme.contains('/') && (!self.has_slashes || slashed(text).is_err()) => {
                self.address(text)
            }
            _ if self.has_slashes && LABEL.is_match(text) => Ok(()),
            _ if self.has_slashes => slashed(text),
            None if text.starts_with("./") || text.starts_with("../") => self.path(text),
            _ => Err(ODD),
        }
    }

    /// Judges how Yarn names a package that is patched: what it is, and the files that do so.
    fn patch(&mut self, text: &str, depth: usize) -> Result<(), Reason> {
        let (text, settings) = text.split_once("::").unwrap_or((text, ""));
        let (what, files) = text.split_once('#').ok_or(ODD)?;
        self.token(&decoded(what)?, depth + 1)?;
        for file in files.split('&') {
            let path = file.strip_prefix("optional!").unwrap_or(file);
            if !BUILTIN.is_match(file) {
                self.path(path.strip_prefix("~/").unwrap_or(path))?;
            }
        }
        let mut settings = settings.split('&').filter(|setting| !setting.is_empty());
        settings.try_for_each(|setting| self.setting(setting, depth))
    }

    /// Judges what Yarn adds to the name of a package.
    fn setting(&mut self, text: &str, depth: usize) -> Result<(), Reason> {
        let (key, value) = text.split_once('=').ok_or(ODD)?;
        let value = decoded(value)?;
        match key {
            "__archiveUrl" => self.address(&value),
            "version" | "hash" | "locator" => self.token(&value, depth + 1),
            _ => Err(ODD),
        }
    }
}

/// Returns whether a text has no sign that leads from one place to another.
fn is_word(text: &str) -> bool {
    !text.contains(['/', ':', '\\', '%', '@', '$', '`']) && text != "<<"
}

fn slashed(text: &str) -> Result<(), Reason> {
    let is_plain = SLASHED.is_match(text) && !text.split('/').any(|name| matches!(name, "." | ".."));
    let is_address = text.contains("//") || NETWORK.is_match(text);
    if (is_word(text) || is_plain) && !is_address { Ok(()) } else { Err(ODD) }
}

/// Undoes escapes once; what then has others is judged as it is.
fn decoded(text: &str) -> Result<String, Reason> {
    let text = percent_decode_str(text).decode_utf8().map_err(|_| ODD)?;
    let is_plain = text.chars().all(|letter| letter.is_ascii_graphic());
    if is_plain { Ok(text.into_owned()) } else { Err(ODD) }
}
