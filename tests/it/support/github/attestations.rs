//! Attestations as GitHub's own workflow step makes them: an authority, certificates that it issues to workflow runs, and
//! statements that a run signs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

/// An authority that issues certificates.
pub struct Authority {
    key: EcdsaKeyPair,
    certificate: Vec<u8>,
}

/// What a certificate says of the run that it is for.
#[derive(Clone)]
pub struct Signer {
    pub issuer: String,
    pub repository: String,
    pub workflow: String,
    pub run: String,
}

/// An element of DER.
fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let value = parts.concat();
    let length = value.len();
    let head = match u8::try_from(length) {
        Ok(short) if short < 0x80 => vec![tag, short],
        Ok(byte) => vec![tag, 0x81, byte],
        Err(_) => vec![tag, 0x82, u8::try_from(length >> 8).unwrap(), u8::try_from(length & 0xff).unwrap()],
    };
    [head, value].concat()
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    element(0x30, parts)
}

const ECDSA_WITH_SHA256: &[u8] = &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];

/// An extension by the bytes of its id.
fn extension(id: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let flag = if critical { element(0x01, &[&[0xff]]) } else { Vec::new() };
    sequence(&[&element(0x06, &[id]), &flag, &element(0x04, &[value])])
}

fn key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, document.as_ref(), &random).unwrap()
}

fn sign(key: &EcdsaKeyPair, text: &[u8]) -> Vec<u8> {
    key.sign(&SystemRandom::new(), text).unwrap().as_ref().to_vec()
}

/// A certificate for a key, signed by another.
fn certificate(
    of: &EcdsaKeyPair,
    subject: &str,
    by: &EcdsaKeyPair,
    issuer: &str,
    extensions: &[Vec<u8>],
) -> Vec<u8> {
    let named = |name: &str| {
        let common_name = sequence(&[&[0x06, 0x03, 0x55, 0x04, 0x03], &element(0x0c, &[name.as_bytes()])]);
        if name.is_empty() { sequence(&[]) } else { sequence(&[&element(0x31, &[&common_name])]) }
    };
    let point = [&[0][..], of.public_key().as_ref()].concat();
    let kind = sequence(&[
        &[0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01],
        &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
    ]);
    let signed = sequence(&[
        &element(0xa0, &[&[0x02, 0x01, 0x02]]),
        &[0x02, 0x01, 0x07],
        &sequence(&[ECDSA_WITH_SHA256]),
        &named(issuer),
        &sequence(&[&element(0x17, &[b"260102030405Z"]), &element(0x17, &[b"260102031405Z"])]),
        &named(subject),
        &sequence(&[&kind, &element(0x03, &[&point])]),
        &element(0xa3, &[&sequence(&[&extensions.concat()])]),
    ]);
    let signature = [&[0][..], &sign(by, &signed)].concat();
    sequence(&[&signed, &sequence(&[ECDSA_WITH_SHA256]), &element(0x03, &[&signature])])
}

impl Authority {
    pub fn new() -> Self {
        let key = key();
        let is_authority = sequence(&[&[0x01, 0x01, 0xff]]);
        let extensions = [extension(&[0x55, 0x1d, 0x13], true, &is_authority)];
        let certificate = certificate(&key, "authority", &key, "authority", &extensions);
        Self { key, certificate }
    }

    /// What `gh attestation trusted-root` prints.
    pub fn trusted_root(&self) -> String {
        self.trusted_root_for(&json!({"start": "2025-01-01T00:00:00Z"}))
    }

    /// The same with the time for which the authority is trusted.
    pub fn trusted_root_for(&self, valid_for: &Value) -> String {
        let raw = json!({"rawBytes": STANDARD.encode(&self.certificate)});
        let authorities = json!([{"uri": "https://authority.example", "certChain": {"certificates": [raw]}, "validFor": valid_for}]);
        format!(
            "{}\n",
            json!({"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1", "certificateAuthorities": authorities})
        )
    }

    /// A statement about where a plan comes from, signed by a run with a certificate of this authority.
    pub fn attest(&self, digest: &str, signer: &Signer) -> Value {
        self.attest_as("https://in-toto.io/Statement/v1", digest, signer)
    }

    /// The same with a statement of another type.
    pub fn attest_as(&self, kind: &str, digest: &str, signer: &Signer) -> Value {
        let own = key();
        let fulcio = |number: u8, text: &str| {
            let id = [0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xbf, 0x30, 0x01, number];
            extension(&id, false, &element(0x0c, &[text.as_bytes()]))
        };
        let address = element(0x86, &[signer.workflow.as_bytes()]);
        let signing = [0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x03];
        let extensions = [
            extension(&[0x55, 0x1d, 0x25], false, &sequence(&[&signing])),
            extension(&[0x55, 0x1d, 0x11], true, &sequence(&[&address])),
            fulcio(8, &signer.issuer),
            fulcio(12, &signer.repository),
            fulcio(18, &signer.workflow),
            fulcio(21, &signer.run),
        ];
        let certificate = certificate(&own, "", &self.key, "authority", &extensions);
        let statement = json!({
            "_type": kind, "predicateType": "https://slsa.dev/provenance/v1",
            "subject": [{"name": "plan", "digest": {"sha256": digest}}], "predicate": {}
        })
        .to_string();
        let kind = "application/vnd.in-toto+json";
        let signed = format!("DSSEv1 {} {kind} {} {statement}", kind.len(), statement.len());
        json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {"certificate": {"rawBytes": STANDARD.encode(certificate)}, "tlogEntries": []},
            "dsseEnvelope": {"payload": STANDARD.encode(&statement), "payloadType": kind,
                "signatures": [{"sig": STANDARD.encode(sign(&own, signed.as_bytes()))}]}
        })
    }
}
