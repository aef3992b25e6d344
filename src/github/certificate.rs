//! Identity in a certificate of Sigstore's: the workflow run that it was issued to.
//!
//! Only what is needed is read from the DER: when the certificate begins to be valid, and its extensions for GitHub Actions. Whether
//! it can be trusted is decided in [`super::attestation`].

use std::time::Duration;

use rustls::pki_types::UnixTime;
use time::PrimitiveDateTime;
use time::macros::format_description;

/// Tags of DER.
const BOOLEAN: u8 = 0x01;
const OCTETS: u8 = 0x04;
const OBJECT_ID: u8 = 0x06;
const UTF8: u8 = 0x0c;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

/// Object id of Fulcio's extensions, without their number: 1.3.6.1.4.1.57264.1.
const FULCIO: [u8; 9] = [0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xbf, 0x30, 0x01];

/// The identity that a certificate was issued to. Texts that it does not contain are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// When the certificate begins to be valid. It was issued then, for some minutes.
    pub(super) from: UnixTime,
    /// Issuer of the token with which the run identified itself.
    pub(super) issuer: String,
    /// URL of the repository.
    pub(super) repository: String,
    /// URL of the workflow's file, with the branch that it was taken from.
    pub(super) workflow: String,
    /// URL of the attempt of the run.
    pub(super) run: String,
}

impl Identity {
    /// Reads the identity of a certificate. Returns `None` if it is not a certificate.
    pub(super) fn read(certificate: &[u8]) -> Option<Self> {
        let (signed, _) = element(certificate, SEQUENCE)?;
        let (mut fields, _) = element(signed, SEQUENCE)?;
        if let Some((_, rest)) = element(fields, VERSION) {
            fields = rest;
        }
        // The serial number, the algorithm and the issuer come first.
        for _ in 0..3 {
            fields = next(fields)?.2;
        }
        let (validity, mut fields) = element(fields, SEQUENCE)?;
        let (tag, time, _) = next(validity)?;
        let mut extensions = None;
        while let Some((tag, value, rest)) = next(fields) {
            fields = rest;
            if tag == EXTENSIONS {
                extensions = element(value, SEQUENCE).map(|(list, _)| list);
            }
        }
        let extensions = extensions.unwrap_or_default();
        let text = |number| extension(extensions, number).unwrap_or_default();
        Some(Self {
            from: moment(tag, time)?,
            issuer: text(8),
            repository: text(12),
            workflow: text(18),
            run: text(21),
        })
    }
}

/// Splits off the first element. Returns its tag, its value and the rest.
fn next(input: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = input.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0x00..=0x7f => (usize::from(*first), rest),
        // Up to three bytes follow that give the length; certificates are not larger.
        0x81..=0x83 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            (bytes.iter().fold(0, |length, byte| (length << 8) | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (value, rest) = rest.split_at_checked(length)?;
    Some((*tag, value, rest))
}

/// Splits off the first element if it has this tag. Returns its value and the rest.
fn element(input: &[u8], wanted: u8) -> Option<(&[u8], &[u8])> {
    next(input).filter(|(tag, ..)| *tag == wanted).map(|(_, value, rest)| (value, rest))
}

/// Returns the text of the extension of this number, if there is exactly one.
fn extension(mut list: &[u8], number: u8) -> Option<String> {
    let mut found = None;
    while let Some((entry, rest)) = element(list, SEQUENCE) {
        list = rest;
        let (id, mut value) = element(entry, OBJECT_ID)?;
        if id.split_last() != Some((&number, FULCIO.as_slice())) {
            continue;
        }
        if let Some((_, after)) = element(value, BOOLEAN) {
            value = after;
        }
        let (octets, _) = element(value, OCTETS)?;
        let (text, _) = element(octets, UTF8)?;
        if found.replace(String::from_utf8(text.to_vec()).ok()?).is_some() {
            return None;
        }
    }
    found
}

/// Parses a time of a certificate.
fn moment(tag: u8, text: &[u8]) -> Option<UnixTime> {
    let text = std::str::from_utf8(text).ok()?;
    let whole = match tag {
        // The century is not written, and none of these certificates is older than 2000.
        UTC_TIME => format!("20{text}"),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let format = format_description!("[year][month][day][hour][minute][second]Z");
    let moment = PrimitiveDateTime::parse(&whole, format).ok()?.assume_utc();
    let seconds = u64::try_from(moment.unix_timestamp()).ok()?;
    Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_every_form_are_read() {
        let long = [&[0x04, 0x81, 0x80][..], &[7; 128], &[1, 2]].concat();
        assert_eq!(next(&long), Some((0x04, &[7; 128][..], &[1, 2][..])));
        assert_eq!(next(&[0x30, 0x02, 5, 6, 9]), Some((0x30, &[5, 6][..], &[9][..])));
        // Cut off, or of a form that certificates do not have.
        for cut in [
            &[][..],
            &[0x30],
            &[0x30, 2, 1],
            &[0x30, 0x80, 0, 0],
            &[0x30, 0x84, 0, 0, 0, 0],
            &[0x30, 0x82, 1],
        ] {
            assert_eq!(next(cut), None, "{cut:?}");
        }
    }

    #[test]
    fn times_of_both_forms_are_read() {
        let seconds = |tag, text: &str| moment(tag, text.as_bytes()).map(|time| time.as_secs());
        assert_eq!(seconds(UTC_TIME, "260102030405Z"), Some(1_767_323_045));
        assert_eq!(seconds(GENERALIZED_TIME, "20260102030405Z"), Some(1_767_323_045));
        assert_eq!(seconds(GENERALIZED_TIME, "20261302030405Z"), None);
        assert_eq!(seconds(OCTETS, "20260102030405Z"), None);
    }

    #[test]
    fn what_is_no_certificate_has_no_identity() {
        for text in [&b""[..], b"-----BEGIN CERTIFICATE-----", &[0x30, 0x03, 0x30, 0x01, 0x02]] {
            assert_eq!(Identity::read(text), None);
        }
    }
}
