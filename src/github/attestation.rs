//! Attestations of plans: a statement that a plan was made in a certain workflow run, which that run has signed.
//!
//! GitHub keeps the statements, but does not vouch for them, so everything is verified here: the signature, the certificate of its
//! key, which an authority of the trusted root has issued to a workflow run, and which run and repository that was.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use serde::Deserialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use webpki::ring::{ECDSA_P256_SHA256, ECDSA_P256_SHA384, ECDSA_P384_SHA256, ECDSA_P384_SHA384};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

use super::api::Api;
use super::certificate::Identity;
use super::error::ApiError;
use super::operation::Purpose;

const READ: Purpose = Purpose { doing: "read the attestations", permission: "attestations: read" };

/// The kind of statement that `actions/attest-build-provenance` makes.
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";
const STATEMENT: &str = "application/vnd.in-toto+json";

/// Versions of statements, which are all the same in what is read here.
const STATEMENT_TYPES: [&str; 2] = ["https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1"];

/// 1.3.6.1.5.5.7.3.3: the certificate is for signing.
const CODE_SIGNING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x03];

/// Reason why a plan does not count as attested.
#[derive(Debug, thiserror::Error)]
pub enum AttestationError {
    /// The authorities are not known.
    #[error(
        "`apply.requires: attested` needs `apply.trusted_root`, the path of a file that holds what `gh attestation trusted-root` prints"
    )]
    NoRoot,
    /// The file with the authorities cannot be used.
    #[error(
        "the trusted root {path} cannot be used: {reason}; write what `gh attestation trusted-root` prints into it"
    )]
    Root {
        /// Path of the file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The plan does not say which run has made it.
    #[error(
        "the plan does not say which workflow run made it, so no attestation can fit it; make a new plan on GitHub"
    )]
    NoOrigin,
    /// There is no attestation.
    #[error("GitHub has no attestation of the plan; attest its digest in the workflow that makes it")]
    None,
    /// There are some, and none can be believed.
    #[error("the attestation of the plan cannot be verified: {0}")]
    Unverified(Unverified),
    /// GitHub could not be asked.
    #[error(transparent)]
    Api(#[from] ApiError),
}

/// Reason why an attestation is not believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unverified {
    /// It is not a bundle of Sigstore's.
    #[error("it is not a signed statement")]
    Malformed,
    /// Nobody known has issued the certificate.
    #[error("its certificate was not issued by an authority of the trusted root ({0})")]
    Issuer(String),
    /// Somebody else has signed it, or it was changed.
    #[error("its signature is wrong")]
    Signature,
    /// It is about something else.
    #[error("it is about something else")]
    Subject,
    /// It was signed elsewhere.
    #[error("it was signed for the {what} {signed}, but the plan says {planned}")]
    Elsewhere {
        /// What differs.
        what: &'static str,
        /// What the certificate says.
        signed: String,
        /// What the plan says.
        planned: String,
    },
}

/// What an attestation has to be of.
#[derive(Clone, Copy, Debug)]
pub struct Attested<'a> {
    /// The digest of the plan.
    pub digest: &'a str,
    /// The base URL of the website.
    pub server: &'a str,
    /// The repository, as `owner/name`.
    pub repository: &'a str,
    /// The workflow, as `owner/name/.github/workflows/file.yml@ref`.
    pub workflow: &'a str,
    /// The id of the run.
    pub run: u64,
}

/// Certificates of the authorities that issue certificates to workflow runs.
#[derive(Debug)]
pub struct TrustedRoot(Vec<(CertificateDer<'static>, ValidFor)>);

/// When an authority is trusted: RFC 3339, from and until then.
#[derive(Clone, Debug, Default, Deserialize)]
struct ValidFor {
    start: Option<String>,
    end: Option<String>,
}

impl ValidFor {
    /// Returns whether a time is within; `None` if it says something else than times.
    fn holds(&self, time: UnixTime) -> Option<bool> {
        let read = |text: &Option<String>| match text {
            Some(text) => OffsetDateTime::parse(text, &Rfc3339).ok().map(|time| Some(time.unix_timestamp())),
            None => Some(None),
        };
        let (start, end) = (read(&self.start)?, read(&self.end)?);
        let time = i64::try_from(time.as_secs()).ok()?;
        Some(start.is_none_or(|start| start <= time) && end.is_none_or(|end| time <= end))
    }
}

impl TrustedRoot {
    /// Reads what `gh attestation trusted-root` prints: objects in the form of Sigstore's `trusted_root.json`, one after the other.
    pub fn parse(path: &str, text: &str) -> Result<Self, AttestationError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Root {
            certificate_authorities: Vec<Authority>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Authority {
            cert_chain: Chain,
            #[serde(default)]
            valid_for: ValidFor,
        }
        let wrong = |reason: String| AttestationError::Root { path: path.to_owned(), reason };
        let mut all = Vec::new();
        for root in serde_json::Deserializer::from_str(text).into_iter::<Root>() {
            for authority in root.map_err(|error| wrong(error.to_string()))?.certificate_authorities {
                if authority.valid_for.holds(UnixTime::since_unix_epoch(Duration::ZERO)).is_none() {
                    return Err(wrong("`validFor` of an authority is not a time".to_owned()));
                }
                for certificate in authority.cert_chain.certificates {
                    let der = certificate
                        .der()
                        .ok_or_else(|| wrong("a certificate is not valid Base64".to_owned()))?;
                    anchor_from_trusted_cert(&der)
                        .map_err(|error| wrong(format!("a certificate is not valid ({error})")))?;
                    all.push((der, authority.valid_for.clone()));
                }
            }
        }
        if all.is_empty() { Err(wrong("it has no certificates".to_owned())) } else { Ok(Self(all)) }
    }

    /// Returns the certificates of the authorities that were trusted at a time.
    fn at(&self, time: UnixTime) -> Vec<CertificateDer<'static>> {
        let trusted = self.0.iter().filter(|(_, valid_for)| valid_for.holds(time) == Some(true));
        trusted.map(|(certificate, _)| certificate.clone()).collect()
    }
}

#[derive(Deserialize)]
struct Chain {
    certificates: Vec<Raw>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    raw_bytes: String,
}

impl Raw {
    fn der(&self) -> Option<CertificateDer<'static>> {
        Some(CertificateDer::from(STANDARD.decode(&self.raw_bytes).ok()?))
    }
}

/// A statement with its signature and the certificate of the key.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    verification_material: Material,
    dsse_envelope: Envelope,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    certificate: Option<Raw>,
    x509_certificate_chain: Option<Chain>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<Signature>,
}

#[derive(Deserialize)]
struct Signature {
    sig: String,
}

/// Looks for an attestation of a plan and verifies it.
pub async fn verify_attested(
    api: &Api,
    root: &TrustedRoot,
    wanted: &Attested<'_>,
) -> Result<(), AttestationError> {
    #[derive(Deserialize)]
    struct List {
        attestations: Vec<Listed>,
    }
    #[derive(Deserialize)]
    struct Listed {
        bundle: Option<serde_json::Value>,
    }
    let path = format!("/attestations/sha256:{}?per_page=100", wanted.digest);
    let list = match api.get::<List>(&path, READ).await {
        Err(error) if error.is_missing() => return Err(AttestationError::None),
        answer => answer?.attestations,
    };
    let mut why = None;
    for listed in list {
        let bundle = listed.bundle.and_then(|bundle| serde_json::from_value::<Bundle>(bundle).ok());
        match bundle.ok_or(Unverified::Malformed).and_then(|bundle| bundle.verify(root, wanted)) {
            Ok(()) => return Ok(()),
            Err(reason) => why = why.or(Some(reason)),
        }
    }
    Err(why.map_or(AttestationError::None, AttestationError::Unverified))
}

impl Bundle {
    fn verify(&self, root: &TrustedRoot, wanted: &Attested<'_>) -> Result<(), Unverified> {
        let malformed = || Unverified::Malformed;
        let Material { certificate, x509_certificate_chain: chain } = &self.verification_material;
        let leaf = certificate.as_ref().or_else(|| chain.as_ref()?.certificates.first());
        let leaf = leaf.and_then(Raw::der).ok_or_else(malformed)?;
        let identity = Identity::read(&leaf).ok_or_else(malformed)?;
        let certificate = EndEntityCert::try_from(&leaf).map_err(|_| malformed())?;
        let algorithms = [ECDSA_P256_SHA256, ECDSA_P256_SHA384, ECDSA_P384_SHA256, ECDSA_P384_SHA384];
        let trusted = root.at(identity.from);
        let anchors: Vec<TrustAnchor<'_>> =
            trusted.iter().filter_map(|certificate| anchor_from_trusted_cert(certificate).ok()).collect();
        // Keys are thrown away after the signature, so what counts is whether the certificate was valid when it was issued.
        certificate
            .verify_for_usage(
                &algorithms,
                &anchors,
                &trusted,
                identity.from,
                KeyUsage::required(CODE_SIGNING),
                None,
                None,
            )
            .map_err(|error| Unverified::Issuer(error.to_string()))?;
        let Envelope { payload, payload_type, signatures } = &self.dsse_envelope;
        let statement = STANDARD.decode(payload).map_err(|_| malformed())?;
        let [Signature { sig }] = signatures.as_slice() else { return Err(malformed()) };
        let signature = STANDARD.decode(sig).map_err(|_| malformed())?;
        certificate
            .verify_signature(ECDSA_P256_SHA256, &signed_bytes(payload_type, &statement), &signature)
            .map_err(|_| Unverified::Signature)?;
        if payload_type != STATEMENT || !is_of(&statement, wanted.digest) {
            return Err(Unverified::Subject);
        }
        identity.check(wanted)
    }
}

/// Returns the bytes that are signed, which hold type and content so that neither can be taken for the other.
fn signed_bytes(kind: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {kind} {} ", kind.len(), content.len());
    [head.as_bytes(), content].concat()
}

/// Returns whether a statement is about where something with this digest comes from.
fn is_of(statement: &[u8], digest: &str) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Statement {
        #[serde(rename = "_type")]
        kind: String,
        subject: Vec<Subject>,
        predicate_type: String,
    }
    #[derive(Deserialize)]
    struct Subject {
        digest: Digests,
    }
    #[derive(Deserialize)]
    struct Digests {
        #[serde(default)]
        sha256: String,
    }
    serde_json::from_slice::<Statement>(statement).is_ok_and(|statement| {
        STATEMENT_TYPES.contains(&statement.kind.as_str())
            && statement.predicate_type == PROVENANCE
            && statement.subject.iter().any(|subject| subject.digest.sha256.eq_ignore_ascii_case(digest))
    })
}

impl Identity {
    /// Checks that a certificate was issued to the run that the plan names.
    fn check(&self, wanted: &Attested<'_>) -> Result<(), Unverified> {
        let Attested { server, repository, workflow, run, .. } = wanted;
        let issuer = match server.strip_prefix("https://") {
            Some("github.com") | None => "https://token.actions.githubusercontent.com".to_owned(),
            Some(host) => format!("https://token.actions.{host}"),
        };
        let same = |what, signed: &str, planned: String| {
            if signed.eq_ignore_ascii_case(&planned) {
                return Ok(());
            }
            let signed = if signed.is_empty() { "(none)" } else { signed }.to_owned();
            Err(Unverified::Elsewhere { what, signed, planned })
        };
        same("issuer", &self.issuer, issuer)?;
        same("repository", &self.repository, format!("{server}/{repository}"))?;
        same("workflow", &self.workflow, format!("{server}/{workflow}"))?;
        // A run may be attempted several times.
        let own = self.run.rsplit_once("/attempts/").map_or(self.run.as_str(), |(run, _)| run);
        same("run", own, format!("{server}/{repository}/actions/runs/{run}"))
    }
}
