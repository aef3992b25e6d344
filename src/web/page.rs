//! Pages as text. Pages are written by strangers, and HTML parsers can be made to use up all time, stack or
//! memory. They therefore run in a process of their own (`architect-ci __page`), without access to files and
//! network, with tight resource limits and a short timeout.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use regex::bytes::Regex;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::PageError;
use super::dom::{ElementPattern, Part, fits};
use crate::base::text::shortened;

/// Name of the hidden sub-command.
pub const PAGE: &str = "__page";

/// Time limit of the parser.
const MAX_TIME: Duration = Duration::from_secs(5);
/// Width of the text, in columns.
const WIDTH: usize = 120;
/// Maximum length of the text, in characters.
const MAX_CHARS: usize = 40_000;
/// Maximum number of search results.
const MAX_RESULTS: usize = 5;
/// Maximum length of a snippet, in characters.
const MAX_SNIPPET: usize = 400;
/// Minimum size, in bytes, of an element that can be a page's main content.
const MIN_MAIN: usize = 300;
/// Stack of the parser, in bytes: deep pages need a deep one.
const STACK: usize = 256 * 1024 * 1024;
/// Memory limit of the parser, in bytes.
const MEMORY: u64 = 1024 * 1024 * 1024;

/// What to extract from a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extraction {
    /// Text of the page.
    Text,
    /// Search results, as JSON.
    Results,
}

/// One result of a search engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchResult {
    /// Title of the page.
    pub title: String,
    /// Address of the page.
    pub url: String,
    /// Excerpt or description.
    pub snippet: String,
}

/// Extracts text or search results from a page, in a process of its own.
pub async fn convert(launcher: &Path, html: &str, extraction: Extraction) -> Result<String, PageError> {
    let word = if extraction == Extraction::Text { "text" } else { "results" };
    let mut child = tokio::process::Command::new(launcher)
        .args([PAGE, word])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(PageError::Start)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let work = async {
        let feed = async {
            if let Some(mut stdin) = stdin {
                // The parser may give up before it has read everything.
                let _ = stdin.write_all(html.as_bytes()).await;
            }
        };
        let take = async {
            let mut text = Vec::new();
            if let Some(stdout) = stdout {
                let _ = stdout.take(4 * MAX_CHARS as u64 + 4096).read_to_end(&mut text).await;
            }
            text
        };
        let ((), text) = tokio::join!(feed, take);
        (child.wait().await.is_ok_and(|status| status.success()), text)
    };
    match tokio::time::timeout(MAX_TIME, work).await {
        Ok((true, text)) => Ok(String::from_utf8_lossy(&text).into_owned()),
        Ok((false, _)) => Err(PageError::TooComplex),
        Err(_) => Err(PageError::TooSlow),
    }
}

/// Runs the hidden sub-command: reads a page from standard input and writes what was extracted. Returns the
/// exit code.
pub(crate) fn execute(extraction: Option<&str>) -> u8 {
    drop_privileges();
    let results = extraction == Some("results");
    let work = move || {
        let mut html = String::new();
        io::stdin().read_to_string(&mut html)?;
        let text = if results { serde_json::to_string(&results_of(&html))? } else { text_of(&html) };
        io::stdout().write_all(text.as_bytes())
    };
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(work);
    let done = worker.is_ok_and(|worker| worker.join().is_ok_and(|done| done.is_ok()));
    u8::from(!done)
}

/// Drops privileges that an HTML parser does not need.
#[cfg(target_os = "linux")]
fn drop_privileges() {
    use crate::command::sandbox::{Restrictions, restrict};
    use rustix::process::{Resource, Rlimit, setrlimit};
    let most = |amount| Rlimit { current: Some(amount), maximum: Some(amount) };
    for (resource, amount) in [
        (Resource::As, MEMORY),
        (Resource::Cpu, MAX_TIME.as_secs()),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
    ] {
        let _ = setrlimit(resource, most(amount));
    }
    // If the kernel has no Landlock, the limits are all there is.
    let _ = restrict(&Restrictions::nothing());
}

#[cfg(not(target_os = "linux"))]
fn drop_privileges() {}

/// Decodes the bytes of a page by the charset of the header, else of the page itself, else as UTF-8.
pub(super) fn decode(bytes: &[u8], content_type: &str) -> String {
    static META: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?i)<meta[^>]+charset\s*=\s*["']?([a-z0-9_:-]+)"#).ok());
    let named =
        content_type.split("charset=").nth(1).map(|name| name.trim_matches(['"', '\'', ' ']).as_bytes());
    let start = &bytes[..bytes.len().min(1024)];
    let own = || META.as_ref()?.captures(start)?.get(1).map(|name| name.as_bytes());
    let encoding =
        named.or_else(own).and_then(encoding_rs::Encoding::for_label).unwrap_or(encoding_rs::UTF_8);
    encoding.decode(bytes).0.into_owned()
}

/// Returns the text of a page: its title and its main content.
fn text_of(html: &str) -> String {
    let mains: [fn(&Part) -> bool; 3] = [
        |part| part.is_like(("main", "")),
        |part| part.attribute("role").is_some_and(|role| role == "main"),
        |part| part.is_like(("article", "")),
    ];
    let main = Part::page(html).and_then(|page| {
        let mut texts = mains.iter().filter_map(|is_main| Some(page.find(is_main)?.lines(WIDTH)));
        texts.find(|text| text.len() >= MIN_MAIN)
    });
    // Rendering takes the tree apart, so the page is parsed again for all of its text.
    let text = main.or_else(|| Some(Part::page(html)?.lines(WIDTH))).unwrap_or_default();
    let title = title_of(html);
    let title =
        if title.is_empty() || text.starts_with(&title) { String::new() } else { format!("{title}\n\n") };
    shortened(&format!("{title}{}", text.trim()), MAX_CHARS)
}

/// Returns a page's title, which is not part of the rendered text.
fn title_of(html: &str) -> String {
    static TITLE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?is)<title\b[^>]*>(.*?)</title").ok());
    let inside = TITLE.as_ref().and_then(|title| title.captures(html.as_bytes())?.get(1));
    let inside = inside.map(|inside| String::from_utf8_lossy(inside.as_bytes()).replace('<', "&lt;"));
    inside.and_then(|inside| Part::page(&inside)).map(Part::words).unwrap_or_default()
}

/// How a search engine marks up its results.
struct Engine {
    /// Path to a result's link, from an ancestor to the link itself.
    link: &'static [ElementPattern],
    /// Path to the snippet, which follows the link.
    snippet: &'static [ElementPattern],
    /// Elements that are not results, such as advertisements.
    skip: Option<ElementPattern>,
}

const ENGINES: [Engine; 4] = [
    // DuckDuckGo's HTML page, then its lite one.
    Engine {
        link: &[("a", "result__a")],
        snippet: &[("", "result__snippet")],
        skip: Some(("", "result--ad")),
    },
    Engine { link: &[("a", "result-link")], snippet: &[("", "result-snippet")], skip: None },
    // SearXNG.
    Engine {
        link: &[("article", "result"), ("h3", ""), ("a", "")],
        snippet: &[("article", "result"), ("p", "content")],
        skip: None,
    },
    // Bing.
    Engine {
        link: &[("li", "b_algo"), ("h2", ""), ("a", "")],
        snippet: &[("li", "b_algo"), ("", "b_caption"), ("p", "")],
        skip: None,
    },
];

/// Returns the search results of an HTML page or of a JSON answer.
fn results_of(page: &str) -> Vec<SearchResult> {
    if let Ok(value) = serde_json::from_slice(page.as_bytes()) {
        return of_json(&value);
    }
    let Some(page) = Part::page(page) else { return Vec::new() };
    ENGINES.iter().map(|engine| of_engine(&page, engine)).find(|found| !found.is_empty()).unwrap_or_default()
}

fn of_engine(page: &Part, engine: &Engine) -> Vec<SearchResult> {
    // Each link, with the snippet behind it.
    let mut results: Vec<(Part, Option<Part>)> = Vec::new();
    page.visit(&mut |path| {
        let Some(part) = path.last() else { return false };
        if engine.skip.is_some_and(|skip| part.is_like(skip)) {
            return false;
        }
        if fits(path, engine.link) {
            results.push((part.clone(), None));
        } else if fits(path, engine.snippet)
            && let Some((_, about @ None)) = results.last_mut()
        {
            *about = Some(part.clone());
        }
        true
    });
    let found = results.into_iter().filter_map(|(link, about)| {
        let href = link.attribute("href")?;
        search_result(&link.words(), &href, &about.map(Part::words).unwrap_or_default())
    });
    found.take(MAX_RESULTS).collect()
}

/// Returns the results of a JSON answer: any list of objects with a title and an address, because SearXNG,
/// Brave and others differ in everything else.
fn of_json(value: &serde_json::Value) -> Vec<SearchResult> {
    let text = |value: &serde_json::Value, names: &[&str]| {
        names.iter().find_map(|name| value.get(name)?.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let one = |value: &serde_json::Value| {
        let about = text(value, &["content", "description", "snippet"]);
        search_result(&text(value, &["title", "name"]), &text(value, &["url", "link", "href"]), &about)
    };
    let lists = ["/results", "/web/results", "/organic", "/items", "/webPages/value", ""];
    let list = lists.iter().find_map(|list| value.pointer(list)?.as_array());
    list.into_iter().flatten().filter_map(one).take(MAX_RESULTS).collect()
}

fn search_result(title: &str, href: &str, snippet: &str) -> Option<SearchResult> {
    let base = reqwest::Url::parse("https://duckduckgo.com/").ok()?;
    let url = base.join(href).ok()?;
    let url = if is_counted(&url) { redirect_target(&url)? } else { url };
    let plain = |text: &str| without_tags(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let (title, snippet) = (plain(title), shortened(&plain(snippet), MAX_SNIPPET));
    let real = matches!(url.scheme(), "http" | "https") && !href.is_empty() && !title.is_empty();
    real.then(|| SearchResult { title: shortened(&title, MAX_SNIPPET), url: url.into(), snippet })
}

/// Returns whether an address leads through DuckDuckGo's click counter.
fn is_counted(url: &reqwest::Url) -> bool {
    url.query_pairs().any(|(name, _)| name == "uddg")
}

/// Returns where an address of DuckDuckGo's click counter leads.
fn redirect_target(url: &reqwest::Url) -> Option<reqwest::Url> {
    let target = url.query_pairs().find(|(name, _)| name == "uddg")?.1.into_owned();
    reqwest::Url::parse(&target).ok()
}

/// Returns the address that is meant: the target of DuckDuckGo's click counter, which answers with a page without text,
/// or the address itself.
pub(super) fn direct(address: &str) -> String {
    let with_scheme = address.strip_prefix("//").map(|rest| format!("https://{rest}"));
    let url = reqwest::Url::parse(with_scheme.as_deref().unwrap_or(address)).ok();
    let is_counter = |url: &reqwest::Url| {
        let host = url.host_str().unwrap_or_default();
        (host == "duckduckgo.com" || host.ends_with(".duckduckgo.com")) && url.path().starts_with("/l/")
    };
    let target = url.filter(is_counter).as_ref().and_then(redirect_target);
    target.map_or_else(|| address.to_owned(), String::from)
}

/// Removes markup: some engines highlight the words that were searched for, in JSON as well.
fn without_tags(text: &str) -> String {
    let marked = text.contains('<').then(|| Part::page(text)).flatten();
    marked.map_or_else(|| text.to_owned(), Part::words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn click_counters_are_left_out() {
        for (address, expected) in [
            ("https://duckduckgo.com/l/?uddg=https%3A%2F%2Fserde.rs%2F&rut=1", "https://serde.rs/"),
            ("//html.duckduckgo.com/l/?uddg=https%3A%2F%2Fserde.rs%2Fa%3Fb", "https://serde.rs/a?b"),
            ("https://duckduckgo.com/l/?kh=1", "https://duckduckgo.com/l/?kh=1"),
            (
                "https://notduckduckgo.com/l/?uddg=https%3A%2F%2Fserde.rs",
                "https://notduckduckgo.com/l/?uddg=https%3A%2F%2Fserde.rs",
            ),
            (
                "https://example.com/?uddg=https%3A%2F%2Fserde.rs",
                "https://example.com/?uddg=https%3A%2F%2Fserde.rs",
            ),
            ("not an address", "not an address"),
        ] {
            assert_eq!(direct(address), expected);
        }
    }

    #[test]
    fn a_page_is_what_it_is_about_or_all_of_it() {
        let page = |main: &str| {
            format!(
                "<title>A &amp; B</title><body><nav>Way <a href=/x>home</a></nav><article><p>{main}</p></article></body>"
            )
        };
        let long = text_of(&page(&"Something to say. ".repeat(30)));
        assert!(long.starts_with("A & B\n\nSomething to say.") && !long.contains("Way"), "{long}");
        let short = text_of(&page("Not much."));
        assert_eq!(short, "A & B\n\nWay [home][1]\n\nNot much.\n\n[1]: /x");
        for (html, title) in [
            ("<TITLE lang=en>x <b>y</TITLE>", "x <b>y"),
            ("<title></title>", ""),
            ("<title>unclosed", ""),
            ("no title", ""),
        ] {
            assert_eq!(title_of(html), title, "{html}");
        }
        assert_eq!(text_of(""), "");
        assert_eq!(without_tags("<b>bold</b> &lt; <script>x"), "bold <");
    }

    #[test]
    fn results_are_where_the_engine_puts_them() {
        let page = "<div class='result result--ad'><a class=result__a href=//ad.example>Ad</a></div>\
            <div class=result><h2><a class='x result__a' href=https://a.example/>A <b>b</b></a></h2>\
            <p class=result__snippet>About\n a</p><p class=result__snippet>More</p></div>\
            <a class=result__a href=https://b.example/>B</a><a class=result__a>no address</a>\
            <a class=result__a href=javascript:x>no page</a>";
        let found = results_of(page).into_iter().map(|found| (found.title, found.url, found.snippet));
        let expected = [("A b", "https://a.example/", "About a"), ("B", "https://b.example/", "")];
        let expected =
            expected.map(|(title, url, about)| (title.to_owned(), url.to_owned(), about.to_owned()));
        assert_eq!(found.collect::<Vec<_>>(), expected);
        // A link is a result only in the right context.
        assert_eq!(results_of("<h3><a href=https://a.example>A</a></h3>"), []);
        assert_eq!(
            results_of("<article class=result><h3><a href=https://a.example>A</a></h3></article>").len(),
            1
        );
    }

    #[test]
    fn charsets_are_those_of_header_or_page() {
        assert_eq!(decode(b"caf\xe9", "text/html; charset=ISO-8859-1"), "café");
        assert_eq!(
            decode(b"<meta charset=\"windows-1252\">caf\xe9", "text/html"),
            "<meta charset=\"windows-1252\">café"
        );
        assert_eq!(decode("café".as_bytes(), "text/html; charset=no-such"), "café");
        assert_eq!(decode(b"caf\xe9", "text/plain"), "caf\u{fffd}");
    }
}
