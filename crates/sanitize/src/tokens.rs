//! Credentials that are known by their shape: by the beginnings that their issuers document, or by the name beside them. There are more of
//! them than a [`Masker`](crate::Masker) looks for in everything that is printed; they are for texts that are about to be kept.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::assigned;
use crate::masker::SHAPES;

/// Beginnings of credentials, with what follows them, beside those that a masker looks for.
const TOKENS: [&str; 46] = [
    r"whsec_[A-Za-z0-9+/]{32,}",
    r"SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{32,}",
    r"hf_[A-Za-z0-9]{34,}",
    r"AGE-PLUGIN-[A-Z0-9\-]+1[A-Z0-9]{40,}",
    r"glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}",
    r"glc_[A-Za-z0-9+/]{32,}",
    r"gl(?:ft|soat|agent|cbt|imt|ffct|oas)-[A-Za-z0-9_\-]{20,}",
    r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    r"do[opr]_v1_[a-f0-9]{64}",
    r"sq0(?:csp|atp)-[A-Za-z0-9_\-]{22,}",
    r"lin_api_[A-Za-z0-9]{40}",
    r"ntn_[A-Za-z0-9]{40,}",
    r"rubygems_[a-f0-9]{48}",
    r"pul-[a-f0-9]{40}",
    r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
    r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_\-]{60,}",
    r"ATATT3[A-Za-z0-9_=\-]{100,}",
    r"gsk_[A-Za-z0-9]{50,}",
    r"r8_[A-Za-z0-9]{37,}",
    r"xai-[A-Za-z0-9]{70,}",
    r"pplx-[A-Za-z0-9]{48,}",
    r"nvapi-[A-Za-z0-9_\-]{60,}",
    r"GOCSPX-[A-Za-z0-9_\-]{28}",
    r"ya29\.[A-Za-z0-9_\-]{50,}",
    r"tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{20,}",
    r"ops_eyJ[A-Za-z0-9_\-]{100,}",
    r"AKCp[A-Za-z0-9]{60,}",
    r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.\-]{40,}",
    r"sntry[us]_[A-Za-z0-9_+/=]{60,}",
    r"figd_[A-Za-z0-9_\-]{40,}",
    r"fo1_[A-Za-z0-9_\-]{43}",
    r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.\-]{32,}",
    r"oy2[a-z0-9]{43}",
    r"NRAK-[A-Z0-9]{27}",
    r"xapp-[0-9]-[A-Za-z0-9\-]{40,}",
    r"[0-9]{8,10}:AA[A-Za-z0-9_\-]{33}",
    r"sgp_[a-f0-9_]{40,}",
    r"secret-token:[A-Za-z0-9_\-]{20,}",
    r"hooks\.slack\.com/services/T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/[A-Za-z0-9]{20,}",
    r"discord(?:app)?\.com/api/webhooks/[0-9]{17,}/[A-Za-z0-9_\-]{60,}",
    r"(?i:(?:account|sharedaccess|shared_access_)key\s*=\s*)[A-Za-z0-9+/]{40,}={0,2}",
    r"(?i:aws.{0,20}secret.{0,20}[\s=:\x22'>]{1,5})[A-Za-z0-9+/]{40}(?-u:\b)",
    r"(?i:secret[_\-]?access[_\-]?key)[\s=:\x22'>,]{1,6}[A-Za-z0-9+/]{40}",
    r"key-[a-f0-9]{32}(?-u:\b)|[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}(?-u:\b)",
    r"SK[a-f0-9]{32}(?-u:\b)|AC[a-f0-9]{32}:[a-f0-9]{32}(?-u:\b)",
    r"(?i:twilio.{0,20}(?:token|secret).{0,6}?)[\s=:\x22'>]{1,5}[a-f0-9]{32}(?-u:\b)",
];

/// Keys in their usual armour: a first line, perhaps lines with their properties, and something of the key itself, be it in a string.
const KEY: &str = r#"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:[\s"',+>|#*]|\\[nr]|[A-Za-z\-]+: [^\n]*\n)*[A-Za-z0-9+/=]{16,}"#;

#[expect(clippy::expect_used, reason = "constant patterns, compiled in a test")]
static ALL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"(?-u:\b)(?:{})|{KEY}", TOKENS.join("|"))).expect("the shapes are valid")
});
/// Returns whatever in a text looks like a credential.
pub fn credentials(text: &str) -> BTreeSet<&str> {
    let shaped = SHAPES.find_iter(text).map(|found| found.as_str());
    let tokens = ALL.find_iter(text).map(|found| found.as_str());
    shaped.chain(tokens).chain(assigned::credentials(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_known_by_their_shape() {
        let a = |count: usize| "aB3".repeat(count).chars().take(count).collect::<String>();
        let hex = |count: usize| "0a1b2c3d".repeat(count).chars().take(count).collect::<String>();
        for text in [
            format!("-----BEGIN {} KEY BLOCK-----\n\nlQOYBGA{}\n", "PGP PRIVATE", a(40)),
            format!("-----BEGIN {} KEY-----\nProc-Type: 4,ENCRYPTED\n\n{}\n", "RSA PRIVATE", a(64)),
            format!("\"-----BEGIN {} KEY-----\\n{}\\n\"", "PRIVATE", a(64)),
            format!("sk_{}_{}", "live", a(24)),
            format!("rk_{}_{}", "live", a(24)),
            format!("aws_secret_access_key = \"{}\"", a(40)),
            format!("AWS_SECRET_ACCESS_KEY: {}", a(40)),
            "postgres://admin:S3cr3tP4ss@db.corp.example/x".replace("S3", "S4"),
            format!("AccountKey={}==", a(86)),
            format!("SG.{}.{}", a(22), a(43)),
            format!("hf_{}", a(34)),
            format!("dckr_pat_{}", a(27)),
            format!("hvs.{}", a(40)),
            format!("AGE-SECRET-KEY-1{}", "Q".repeat(58)),
            format!("glsa_{}_{}", a(32), hex(8)),
            format!("dop_v1_{}", hex(64)),
            format!("ghp_{}", a(36)),
            format!(
                "PuTTY-User-Key-File-3: ssh-rsa\r\nEncryption: none\r\nPrivate-Lines: 2\r\n{}\r\n",
                a(64)
            ),
            format!("secretAccessKey: \"{}\"", a(40)),
            format!("key-{}", hex(32)),
            format!("{}-{}-{}", hex(32), hex(8), hex(8)),
            format!("SK{}", hex(32)),
            format!("TWILIO_AUTH_TOKEN={}", hex(32)),
            format!("https://hooks.slack.com/services/T{0}/B{0}/{1}", "A1B2C3D4E", a(24)),
        ] {
            assert_eq!(credentials(&format!("x = {text};\n")).len(), 1, "{text}");
        }
        for text in [
            "if key.contains(\"-----BEGIN RSA PRIVATE KEY-----\") { return; }",
            "-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----\n",
            "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n",
            "postgres://postgres:postgres@localhost:5432/db",
            "postgres://app:s3cretive-Pw@db:5432/app",
            "https://${USER}:${PASSWORD}@host.example.com/",
            "https://user:password1@example.com/",
            "sk_live_KEY",
            "hf_model_name",
            "AccountKey=<your key>",
            "aws_secret_access_key = os.environ[\"AWS_SECRET_ACCESS_KEY\"]",
            "hvs.token",
        ] {
            assert!(credentials(text).is_empty(), "{text}");
        }
    }
}
