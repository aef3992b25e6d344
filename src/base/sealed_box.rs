//! Sealed boxes: files that leave this machine, and that another one trusts and can read only with the same key.
//!
//! A box is one line of header in the clear, a salt, and the content: compressed, then encrypted and authenticated with
//! ChaCha20-Poly1305. Each box has a key of its own, derived by HKDF-SHA256 from the user's key and the box's random salt, so no
//! nonce is ever used twice. The header is authenticated as well; it says what the box is, so that one of another kind,
//! repository or run is told from a forged one.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use super::env::Variables;

/// The environment variable with the user's key.
pub(crate) const SEAL_KEY: &str = "ARCHITECT_CI_SEAL_KEY";

/// How a box begins; the number is the version of the format.
const MAGIC: &str = "architect-ci sealed 1\n";

const SALT: usize = 32;
const KEY: usize = 32;

/// Most bytes of a header, a box, and what is in one.
const MAX_HEADER: usize = 4_096;
pub(crate) const MAX_BOX: usize = 200_000_000;
const MAX_CONTENT: u64 = 1_000_000_000;

/// The user's key.
#[derive(Clone)]
pub(crate) struct SealKey([u8; KEY]);

/// Nobody logs a key by accident.
impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey(…)")
    }
}

/// What a box is, readable by everybody and authenticated with its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SealedHeader {
    /// What the box holds: `session` or `batch`.
    pub kind: String,
    /// Which one of its kind.
    pub id: String,
    /// The repository, as `owner/name`; empty where none is known.
    pub repository: String,
    /// The workflow run that sealed the box; 0 outside of GitHub Actions.
    pub run: u64,
    /// The number of the pull request or issue that it is about; 0 if there is none.
    pub number: u64,
}

impl SealedHeader {
    /// Returns the header of a box that this job seals.
    pub(crate) fn of(kind: &str, id: String, variables: &Variables, repository: String, number: u64) -> Self {
        let run = variables.get("GITHUB_RUN_ID").and_then(|run| run.parse().ok()).unwrap_or(0);
        Self { kind: kind.to_owned(), id, repository, run, number }
    }
}

/// Errors that can occur when a box is sealed or opened.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// There is no key.
    #[error("there is no key; set `{SEAL_KEY}` to the one that it was sealed with")]
    NoKey,
    /// The key is one that could be guessed.
    #[error(
        "invalid `{SEAL_KEY}`; use 32 random bytes in base64 or hexadecimal, such as `openssl rand -base64 32` prints"
    )]
    WeakKey,
    /// The file is something else.
    #[error("it was not sealed by a version of architect-ci that this one supports")]
    Foreign,
    /// The box is larger than any that is written.
    #[error("it is larger than {MAX_BOX} bytes, or its content is")]
    TooLarge,
    /// The key does not fit, or somebody has changed or cut the box.
    #[error("its seal is invalid: it was sealed with another key, or has been changed or truncated")]
    Broken,
    /// The box belongs elsewhere.
    #[error("it belongs to {what} {found}, not to {expected}")]
    Elsewhere {
        /// What differs.
        what: &'static str,
        /// What the box says.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// The system: a file, or its random bytes.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl SealKey {
    /// Reads the user's key; `None` if there is none.
    pub(crate) fn read(variables: &Variables) -> Result<Option<Self>, SealError> {
        match variables.get(SEAL_KEY).map(|text| text.trim()).filter(|text| !text.is_empty()) {
            Some(text) => Self::parse(text).map(Some),
            None => Ok(None),
        }
    }

    fn parse(text: &str) -> Result<Self, SealError> {
        let in_base64 = || {
            [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD].iter().find_map(|it| it.decode(text).ok())
        };
        let bytes = hex::decode(text).ok().or_else(in_base64).ok_or(SealError::WeakKey)?;
        let key: [u8; KEY] = bytes.try_into().map_err(|_| SealError::WeakKey)?;
        // Random bytes that repeat like this do not occur; a placeholder does.
        let is_random = key.iter().collect::<std::collections::BTreeSet<_>>().len() >= 8;
        if is_random { Ok(Self(key)) } else { Err(SealError::WeakKey) }
    }

    /// Returns the key of one box.
    fn of_box(&self, salt: &[u8]) -> Result<LessSafeKey, SealError> {
        let pseudorandom = Salt::new(HKDF_SHA256, salt).extract(&self.0);
        let info = [MAGIC.as_bytes()];
        let key = pseudorandom.expand(&info, &CHACHA20_POLY1305).map_err(|_| SealError::Broken)?;
        Ok(LessSafeKey::new(UnboundKey::from(key)))
    }
}

/// Seals a content.
pub(crate) fn seal(key: &SealKey, header: &SealedHeader, content: &[u8]) -> Result<Vec<u8>, SealError> {
    let mut salt = [0; SALT];
    SystemRandom::new()
        .fill(&mut salt)
        .map_err(|_| io::Error::other("the system provided no random bytes"))?;
    let header = serde_json::to_string(header).map_err(io::Error::other)?;
    let mut sealed = format!("{MAGIC}{header}\n").into_bytes();
    if header.len() > MAX_HEADER || content.len() as u64 > MAX_CONTENT {
        return Err(SealError::TooLarge);
    }
    sealed.extend(salt);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(content)?;
    let mut packed = packed.finish()?;
    let tag = key
        .of_box(&salt)?
        .seal_in_place_separate_tag(only_nonce(), Aad::from(&sealed), &mut packed)
        .map_err(|_| SealError::TooLarge)?;
    sealed.extend(packed);
    sealed.extend(tag.as_ref());
    if sealed.len() > MAX_BOX { Err(SealError::TooLarge) } else { Ok(sealed) }
}

/// Returns whether a file begins as a box does.
pub(crate) fn is_sealed_box(path: &Path) -> bool {
    let mut begin = [0; MAGIC.len()];
    File::open(path)
        .and_then(|mut file| file.read_exact(&mut begin))
        .is_ok_and(|()| begin == MAGIC.as_bytes())
}

/// Returns what a box says of itself. Nothing of it is trusted before it is opened.
pub(crate) fn header(sealed: &[u8]) -> Result<SealedHeader, SealError> {
    split(sealed).map(|(header, ..)| header)
}

/// Opens a box.
pub(crate) fn open(key: &SealKey, sealed: &[u8]) -> Result<(SealedHeader, Vec<u8>), SealError> {
    let (header, head, salt) = split(sealed)?;
    let mut packed = sealed[head..].to_vec();
    let packed = key
        .of_box(salt)?
        .open_in_place(only_nonce(), Aad::from(&sealed[..head]), &mut packed)
        .map_err(|_| SealError::Broken)?;
    let mut content = Vec::new();
    // It was sealed with the same key; even so, a mistake must not fill the memory.
    GzDecoder::new(&*packed).take(MAX_CONTENT + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_CONTENT { Err(SealError::TooLarge) } else { Ok((header, content)) }
}

/// Splits a box into its header, the length of all that is in the clear, and its salt.
fn split(sealed: &[u8]) -> Result<(SealedHeader, usize, &[u8]), SealError> {
    if sealed.len() > MAX_BOX {
        return Err(SealError::TooLarge);
    }
    let rest = sealed.strip_prefix(MAGIC.as_bytes()).ok_or(SealError::Foreign)?;
    let end = rest.iter().take(MAX_HEADER + 1).position(|byte| *byte == b'\n').ok_or(SealError::Foreign)?;
    let header = serde_json::from_slice(&rest[..end]).map_err(|_| SealError::Foreign)?;
    let salt = rest.get(end + 1..end + 1 + SALT).ok_or(SealError::Broken)?;
    Ok((header, MAGIC.len() + end + 1 + SALT, salt))
}

/// Returns the nonce, which may be the same for all boxes because no two have the same key.
fn only_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(first: u8) -> SealKey {
        let bytes: Vec<u8> = (0..32).map(|number| number * 7 + first).collect();
        SealKey::parse(&STANDARD.encode(bytes)).expect("a key")
    }

    fn sample() -> SealedHeader {
        SealedHeader { kind: "session".into(), id: "1".into(), repository: "o/r".into(), run: 7, number: 0 }
    }

    #[test]
    fn a_box_opens_with_its_key_alone_and_only_whole() {
        let content = b"what was said ".repeat(1_000);
        let sealed = seal(&key(1), &sample(), &content).expect("sealed");
        assert!(sealed.len() < 1_000, "it is compressed");
        assert!(!sealed.windows(8).any(|part| part == b"was said"));
        assert_eq!(open(&key(1), &sealed).expect("opens"), (sample(), content.clone()));
        assert_ne!(seal(&key(1), &sample(), &content).expect("sealed"), sealed, "no two are the same");
        assert!(matches!(open(&key(2), &sealed), Err(SealError::Broken)));
        for cut in 0..sealed.len() {
            assert!(open(&key(1), &sealed[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..sealed.len() {
            let mut forged = sealed.clone();
            forged[at] ^= 1;
            assert!(open(&key(1), &forged).is_err(), "changed at {at}");
        }
        assert!(open(&key(1), &[sealed.as_slice(), b"x"].concat()).is_err(), "nothing is appended");
        // A box that says it were of another repository.
        let shown = String::from_utf8_lossy(&sealed[..120]).contains("\"o/r\"");
        let other: Vec<u8> = sealed
            .iter()
            .enumerate()
            .map(|(at, byte)| if sealed[at..].starts_with(b"o/r") { b'x' } else { *byte })
            .collect();
        assert!(shown && matches!(open(&key(1), &other), Err(SealError::Broken)));
    }

    #[test]
    fn keys_that_could_be_guessed_are_refused() {
        let read =
            |text: &str| SealKey::read(&[(SEAL_KEY.to_owned(), text.to_owned())].into_iter().collect());
        assert!(matches!(read(""), Ok(None)));
        for weak in ["secret", "correct horse battery staple ok!", &"0".repeat(64), &STANDARD.encode([7; 32])]
        {
            assert!(matches!(read(weak), Err(SealError::WeakKey)), "{weak}");
        }
        let bytes: Vec<u8> = (1..=32).collect();
        for good in [
            hex::encode(&bytes),
            STANDARD.encode(&bytes),
            URL_SAFE_NO_PAD.encode(&bytes),
            format!(" {} \n", STANDARD.encode(&bytes)),
        ] {
            assert!(matches!(read(&good), Ok(Some(_))), "{good}");
        }
        assert_eq!(format!("{:?}", key(1)), "SealKey(…)");
    }
}
