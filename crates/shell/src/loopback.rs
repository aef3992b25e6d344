//! Requests to the loopback interface: they reach what other commands serve, and no other machine.

use super::analysis::{Simple, Word};
use super::options::{is_in, is_option, operands};
use super::table::known_name;

/// Programs whose operands are addresses.
const FETCHERS: &str = "curl wget";

/// Their options that take the next word as a value that is no address.
const VALUES: &str = "-A -b -c -d -e -F -H -m -o -O -P -r -t -T -u -w -X --connect-timeout --cookie --cookie-jar --data --data-ascii \
                      --data-binary --data-raw --data-urlencode --form --header --json --max-redirs --max-time --method --output \
                      --output-document --post-data --range --request --retry --retry-delay --timeout --tries --upload-file --user \
                      --user-agent --write-out";

/// Their options that take requests elsewhere, or addresses from elsewhere.
const ELSEWHERE: [&str; 17] = [
    "--config",
    "--connect-to",
    "--dns-servers",
    "--doh-url",
    "--execute",
    "--input-file",
    "--interface",
    "--next",
    "--preproxy",
    "--proxy",
    "--resolve",
    "--socks4",
    "--socks5",
    "--unix-socket",
    "--url",
    "-K",
    "-x",
];

/// Returns whether a command asks addresses of the loopback interface, and no others.
pub(super) fn is_asked_alone(simple: &Simple) -> bool {
    let arguments = simple.arguments();
    let name = simple.name().and_then(known_name).unwrap_or_default();
    if !is_in(FETCHERS, name) {
        return false;
    }
    let is_elsewhere = |word: &Word| {
        // What a variable stands for may be an option.
        let Some(text) = word.text() else { return word.raw.starts_with(['-', '$', '`']) };
        text.starts_with('-') && ELSEWHERE.iter().any(|option| is_option(text, option))
            || name == "wget" && is_option(text, "-i")
    };
    // It takes a value in one of the programs only.
    let values = if name == "curl" { VALUES.replace(" -O", "") } else { VALUES.to_owned() };
    let addresses: Vec<&Word> = operands(arguments, &values);
    !addresses.is_empty()
        && !arguments.iter().any(is_elsewhere)
        && addresses.iter().all(|word| word.text().is_some_and(is_loopback))
}

/// Returns whether an address is one of the loopback interface.
fn is_loopback(address: &str) -> bool {
    let rest =
        ["http://", "https://"].iter().find_map(|scheme| address.strip_prefix(scheme)).unwrap_or(address);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    // `localhost@elsewhere`, and what curl reads as several addresses.
    if authority.contains(['@', '{', '}', ',', '\\']) {
        return false;
    }
    let host = match authority.strip_prefix('[') {
        Some(rest) => return rest.split_once(']').is_some_and(|(host, port)| host == "::1" && is_port(port)),
        None => authority.split_once(':').map_or(authority, |(host, _)| host),
    };
    is_port(&authority[host.len()..]) && (host == "localhost" || is_own_network(host))
}

/// Returns whether a host is an address of the form 127.0.0.1, or the one that stands for all.
fn is_own_network(host: &str) -> bool {
    host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}

fn is_port(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_loopback_interface_are_known() {
        for (address, expected) in [
            ("http://127.0.0.1:8000/a?b=c", true),
            ("localhost:3000", true),
            ("https://localhost", true),
            ("http://[::1]:80/", true),
            ("0.0.0.0:5000", true),
            ("http://127.0.0.1.example.com/", false),
            ("http://localhost.example.com/", false),
            ("http://localhost@example.com/", false),
            ("http://localhost:80@example.com/", false),
            ("http://{localhost,example.com}/", false),
            ("http://localhost\\example.com/", false),
            ("ftp://localhost/", false),
            ("http://10.0.0.1/", false),
            ("http://127.1/", false),
            ("", false),
        ] {
            assert_eq!(is_loopback(address), expected, "{address}");
        }
    }
}
