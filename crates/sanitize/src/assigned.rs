//! Credentials that are known by what stands beside them: a name, a header or an address. Whether a value is one, its look decides, as the
//! same names stand beside variables and examples.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use regex::{Captures, Regex};

use crate::secret_names::{is_random, pattern};

/// Words in what stands for a password.
const PLACEHOLDERS: [&str; 21] = [
    "password",
    "passwd",
    "secret",
    "example",
    "changeme",
    "postgres",
    "hunter2",
    "token",
    "redacted",
    "xxxx",
    "user",
    "123456",
    "test",
    "dummy",
    "sample",
    "your",
    "placeholder",
    "fake",
    "mock",
    "abc123",
    "sesame",
];

/// Minimum length of a password in an address, in bytes.
const MIN_PASSWORD: usize = 6;

/// Minimum length of a password that is assigned, in bytes.
const MIN_ASSIGNED: usize = 10;

/// Minimum number of digits of a password without quotes, which names of variables hardly have.
const MIN_DIGITS: usize = 3;

/// Minimum length of a key in hexadecimal digits.
const MIN_HEXADECIMAL: usize = 32;

/// Minimum number of different digits of such a key; examples repeat a few.
const MIN_DISTINCT: usize = 9;

/// Minimum length of a token that is known by its name alone, in bytes.
const MIN_TOKEN: usize = 20;

/// Addresses with a user and a password.
static ADDRESSES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"[a-z][a-z0-9+.\-]*://(?<user>[^\s/:@"'`<>]*):(?<secret>[^\s/@"'`<>]+)@(?<host>[^\s/:"'`<>?#]+)"#,
    )
});

/// Addresses with a token in the place of a user.
static USERS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"https?://(?<secret>[A-Za-z0-9_\-]{20,})@(?<host>[^\s/:]+)"));

/// Addresses of databases as Java writes them.
static DATABASES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?x) jdbc: [a-z:]+ (?: // (?<host> [^\s/:;?"'`<>]+ ) [^\s"'`<>]*? [?&;] (?i:password|pwd) = (?<secret> [^\s&;"'`<>]+ )
        | (?<user> [^\s/:@"'`]+ ) / (?<oracle> [^\s@"'`]+ ) @ (?: // )? (?<server> [^\s/:;?"'`<>]+ ) )"#,
    )
});

/// Headers.
static HEADERS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?i)\b(?<kind>basic|bearer)[\s:=]+["']?(?<secret>[A-Za-z0-9+/._~\-]{12,})"#));

/// Settings of npm.
static SETTINGS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?i)_(?:auth(?:token)?|password)["']?\s*[=:]\s*["']?(?<secret>[A-Za-z0-9+/=_\-]{16,})"#)
});

/// Passwords in quotes, and those of variables of a shell.
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?xm) (?i: passw(?:or)?[dt] | passphrase | \bpwd | secret | (?: api | private )[_-]?key | token ) (?i: [_-]? (?: key | base | value ) ){0,2} ["']? \s* (?: => | := | = | : ) \s* (?: ["'] (?<secret> [^\s"'`]+ ) ["'] )
        | ^ \s* (?: export \s+ )? [A-Z0-9_]* (?: PASSWORD | PASSWD | SECRET | TOKEN | API_KEY ) [A-Z0-9_]* = (?<plain> [^\s"'`]+ ) \s* $"#,
    )
});

/// The same without quotes: a setting that is all of its line, an option, an element, or a part of a connection's text.
static BARE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?xm) ^ [^\S\n]* (?: export [^\S\n]+ | - [^\S\n]+ )? ["']? [\w.-]*
            (?i: passw(?:or)?[dt] | passphrase | pwd | _pass | secret | api[_-]?key | token | private_?key ) [\w-]{0,8} ["']? [^\S\n]* [:=] [^\S\n]*
            (?<line> [^\s"'`;,(){}\[\]<>]{10,} ) [^\S\n]* ;? [^\S\n]* $
        | --(?: password | passphrase | token | secret | api-key ) [=\ ] (?<option> [^\s"'`;,(){}<>]{10,} ) (?: \s | $ )
        | < (?: \w+ : )? (?i: password | secret | token | api-?key ) > (?<element> [^\s<]{10,} ) </
        | \b (?: Password | Pwd | PWD ) = (?<part> [^\s;"'`]{10,} ) ;
        | \b (?: mysql \w* | mariadb | sshpass ) \s (?: [^\n|;&]* \s )? -p (?<short> [^\s"'`;,(){}<>]{10,} ) (?: \s | $ )"#,
    )
});

/// A name, and its value in the next argument, attribute or setting, or in the next line.
static APART: LazyLock<Regex> = LazyLock::new(|| {
    const NAME: &str = r#"["']? [\w.:-]* (?i: passw(?:or)?[dt] | passphrase | _pass | secret | api[_-]?key | token | private_?key ) [\w-]{0,8} ["']?"#;
    pattern(&format!(
        r#"(?xm) \( \s* {NAME} \s* , \s* ["'] (?<argument> [^\s"'`]{{10,}} ) ["']
        | \b (?: key | name ) = {NAME} \s+ value = ["'] (?<attribute> [^\s"'`]{{10,}} ) ["']
        | \b (?: key | name ) ["']? \s* : \s* {NAME} \s* ,? \s* ["']? value ["']? \s* : \s* ["']? (?<setting> [^\s"'`,(){{}}]{{10,}} )
        | {NAME} [^\S\n]* [:=] [^\S\n]* (?: [|>] [+-]? | \( | \\ ) [^\S\n]* \n \s* ["']? (?<below> [^\s"'`(){{}}]{{10,}} ) ["']? \s* $"#,
    ))
});

/// Lines of a list of users with what their passwords are compared with.
static HASHED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?m)^[\w.@-]+:(?:\$(?:apr1|1|2[aby]|5|6|7|y)\$[A-Za-z0-9./$=,]{20,}|\{SHA\}[A-Za-z0-9+/]{27}=)")
});

/// Returns what looks like a credential by what stands beside it.
pub(crate) fn credentials(text: &str) -> impl Iterator<Item = &str> {
    let found = |pattern: &'static Regex, is_one: fn(&Captures<'_>) -> bool| {
        let all = pattern.captures_iter(text).filter(move |found| is_one(found));
        all.filter_map(|found| Some(found.get(0)?.as_str()))
    };
    let database = |found: &Captures<'_>| {
        let group = |one: &str, other: &str| {
            found.name(one).or_else(|| found.name(other)).map_or("", |found| found.as_str()).to_owned()
        };
        is_password(&group("user", "user"), &group("secret", "oracle"), &group("host", "server"))
    };
    found(&ADDRESSES, |found| is_password(&found["user"], &found["secret"], &found["host"]))
        .chain(found(&USERS, |found| is_token(&found["secret"]) && !is_example(&found["host"])))
        .chain(found(&DATABASES, database))
        .chain(found(&HEADERS, |found| {
            if found["kind"].eq_ignore_ascii_case("basic") {
                is_basic(&found["secret"])
            } else {
                is_token(&found["secret"])
            }
        }))
        .chain(found(&SETTINGS, |found| is_token(&found["secret"]) || is_id(&found["secret"])))
        .chain(found(&ASSIGNED, |found| {
            let value = found.name("secret").or_else(|| found.name("plain"));
            value.is_some_and(|value| is_assigned(value.as_str()) || is_hexadecimal(value.as_str()))
        }))
        .chain(found(&BARE, |found| {
            let value =
                ["line", "option", "element", "part", "short"].iter().find_map(|name| found.name(name));
            value.is_some_and(|value| is_bare(value.as_str()))
        }))
        .chain(found(&APART, |found| {
            let value =
                ["argument", "attribute", "setting", "below"].iter().find_map(|name| found.name(name));
            value.is_some_and(|value| is_bare(value.as_str()))
        }))
        .chain(found(&HASHED, |_| true))
}

fn has(text: &str, kind: fn(&u8) -> bool) -> bool {
    text.bytes().any(|byte| kind(&byte))
}

fn is_placeholder(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    PLACEHOLDERS.iter().any(|word| lower.contains(word))
}

/// Returns whether a value stands for that of a variable.
fn is_variable(text: &str) -> bool {
    text.starts_with(['$', '{', '%', '*', '[', '(', '<']) || text.contains("${") || text.contains("{{")
}

/// Returns whether a host is one that examples have, and nobody else.
fn is_example(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    ["example.com", "example.net", "example.org"]
        .iter()
        .any(|name| host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// Returns whether that is a password for a host that others can reach, and no placeholder.
fn is_password(user: &str, password: &str, host: &str) -> bool {
    let is_local = !host.contains('.') || host.starts_with("127.") || host == "0.0.0.0";
    let is_varied = has(password, u8::is_ascii_digit) && has(password, u8::is_ascii_alphabetic);
    password.len() >= MIN_PASSWORD
        && (is_varied || password.len() >= 2 * MIN_PASSWORD)
        && !is_local
        && !is_example(host)
        && !is_variable(password)
        && user != password
        && !is_placeholder(password)
}

/// Returns whether a header has a user and a password, as `user:password` in base64.
fn is_basic(text: &str) -> bool {
    let decoded = STANDARD_NO_PAD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.is_some_and(|pair| {
        let (user, password) = pair.split_once(':').unwrap_or_default();
        password.len() >= MIN_PASSWORD
            && pair.chars().all(|letter| !letter.is_control())
            && user != password
            && !is_placeholder(password)
    })
}

fn is_token(text: &str) -> bool {
    text.len() >= MIN_TOKEN && is_random(text) && !is_placeholder(text)
}

/// Returns whether that is a UUID, which registries give out as tokens.
fn is_id(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Returns whether a value is as mixed as generated passwords are, and neither a path nor an address.
fn is_assigned(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    text.len() >= MIN_ASSIGNED
        && digits >= 2
        && has(text, u8::is_ascii_lowercase)
        && has(text, u8::is_ascii_uppercase)
        && !text.starts_with(['/', '.', '~'])
        && !["://", "::", "()", "].", ")."].iter().any(|sign| text.contains(sign))
        && !is_variable(text)
        && !is_placeholder(text)
}

/// Returns whether a value without quotes is as mixed as generated passwords are.
fn is_bare(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    // An image, a file or an address.
    let is_place = text.contains(':') || text.contains('/') && text.contains('.');
    is_assigned(text) && digits >= MIN_DIGITS && !is_place || is_hexadecimal(text)
}

/// Returns whether a value is a generated key in hexadecimal digits of one case.
fn is_hexadecimal(text: &str) -> bool {
    let of = |digits: &str| text.bytes().all(|byte| digits.as_bytes().contains(&byte));
    let distinct: std::collections::BTreeSet<u8> = text.bytes().collect();
    text.len() >= MIN_HEXADECIMAL
        && (of("0123456789abcdef") || of("0123456789ABCDEF"))
        && distinct.len() >= MIN_DISTINCT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_known_by_what_stands_beside_them() {
        let word = "pR/4x+Kq9Zt";
        let basic = base64::engine::general_purpose::STANDARD.encode(format!("admin:{word}"));
        for text in [
            format!("password = \"{word}\""),
            format!("\"dbPassword\": '{word}'"),
            format!("export DB_PASSWORD={word}"),
            format!("Authorization: Basic {basic}"),
            format!("curl -H 'authorization: basic {basic}'"),
            format!("Authorization: Bearer {}", "aB3x".repeat(8)),
            "//registry.npmjs.org/:_authToken=0f8fad5b-d9cb-469f-a165-70867728950e".to_owned(),
            format!("//npm.corp.example/:_password={}", "aB3x".repeat(6)),
            format!("https://{}@git.corp.example/a.git", "aB3x".repeat(8)),
            "jdbc:postgresql://db.corp.example:5432/x?user=app&password=k7Qz1wLp".to_owned(),
            "jdbc:sqlserver://db.corp.example;user=app;password=k7Qz1wLp;".to_owned(),
            "jdbc:oracle:thin:app/k7Qz1wLp@//db.corp.example:1521/x".to_owned(),
            "password: Xk29dmQp7sLwZZ9".to_owned(),
            "  - api_key: 5f4dcc3b5aa765d61d8327deb882cf99".to_owned(),
            "apiKey = \"5f4dcc3b5aa765d61d8327deb882cf99\"".to_owned(),
            "export DB_PASS=Xk29dmQp7sLwZZ9".to_owned(),
            "X-Api-Key: 5f4dcc3b5aa765d61d8327deb882cf99".to_owned(),
            "PrivateKey = aGk4bUZ0d2x1N2s5c0Q4dnB4cjJ5ZzV6aG5qM2Y4bWs=".to_owned(),
            "<password>Xk29dmQp7sLwZZ9</password>".to_owned(),
            "mysql --password Xk29dmQp7sLwZZ9 -h db".to_owned(),
            "\"Server=db;User=app;Password=Xk29dmQp7sLwZZ9;\"".to_owned(),
            "define('DB_PASSWORD', 'Xk29dmQp7sLwZZ9');".to_owned(),
            "<add key=\"ApiKey\" value=\"5f4dcc3b5aa765d61d8327deb882cf99\"/>".to_owned(),
            "env:\n- name: DB_PASSWORD\n  value: Xk29dmQp7sLwZZ9\n".to_owned(),
            "{\"name\": \"DB_PASSWORD\", \"value\": \"Xk29dmQp7sLwZZ9\"}".to_owned(),
            "PASSWORD = (\n    \"Xk29dmQp7sLwZZ9\"\n)\n".to_owned(),
            "password: |\n  Xk29dmQp7sLwZZ9\n".to_owned(),
            "SECRET_KEY = \"5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b\"".to_owned(),
            "secret_key_base: '5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b'".to_owned(),
            "private_key = \"aGk4bUZ0d2x1N2s5c0Q4dnB4cjJ5ZzV6aG5qM2Y4bWs=\"".to_owned(),
            "passwort: Xk29dmQp7sLwZZ9".to_owned(),
            "mysql -u root -pXk29dmQp7sLwZZ9 db".to_owned(),
            "kind: Secret\ndata:\n  password: WGsyOWRtUXA3c0x3Wlo=\n".to_owned(),
            format!("admin:${}$aB3dE6gH$9jK2mN5pQ8sT1vW4yZ7aB0", "apr1"),
        ] {
            assert_eq!(credentials(&text).count(), 1, "{text}");
        }
        for text in [
            "https://user:password@example.com",
            "https://alice:k7Qz1wLp@api.example.com/",
            "password = getPassword(Config2)",
            "password: \"/run/secrets/dbPassword12\"",
            "secret = \"arn:aws::Abc123\"",
            "apiKey = \"YOUR_API_KEY_123abc\"",
            "token = \"${MY_TOKEN_12ab}\"",
            "password = \"correct horse battery\"",
            "API_TOKEN=$(cat Token12)",
            "Authorization: Basic dXNlcjpwYXNzd29yZA==",
            "Authorization: Bearer YOUR_ACCESS_TOKEN_2",
            "a basic understanding of things",
            "password: string",
            "getenv(\"API_TOKEN\", \"default-value\")",
            "- name: DB_PASSWORD\n  valueFrom: {secretKeyRef: {name: db, key: password}}",
            "- name: TOKEN_URL\n  value: https://id.corp.example/Oauth2/V123\n",
            "token = (\n    parse_token_v123(Config)\n)",
            "secret: |\n  see the manual\n",
            "tar -pXk29dmQp7sLwZZ9",
            "user:$1 and 2a:$2y$",
            "token = parseBase64Token",
            "token: AccessTokenV2",
            "password: getPassword(Config123)",
            "secret: my-app-secret-2024-v123",
            "api_key: 00000000000000000000000000000000",
            "token: ghcr.io/Octo/app:1.2.3",
            "password: ${DB_PASSWORD_123}",
            "--token $TOKEN_123 --password <PASSWORD123>",
            "//registry.npmjs.org/:_authToken=${NPM_TOKEN}",
            "jdbc:postgresql://localhost:5432/x?user=app&password=k7Qz1wLp",
            "jdbc:postgresql://db.corp.example/x?user=app&password=${PW}",
        ] {
            assert_eq!(credentials(text).collect::<Vec<_>>(), Vec::<&str>::new(), "{text}");
        }
    }
}
