//! Nothing of a hostile run does anything in a report.

use super::comment::frame;
use super::hostile;
use architect_ci::github::comment_marker;
use architect_ci::report::{annotations, comment, html, junit, markdown, summary};
use base64::Engine;
use sha2::{Digest, Sha256};

#[test]
fn markdown_of_hostile_run_is_inert() {
    // A file of the commit is a link, whose path is encoded.
    let link = r#"<a href="https://github\.com/octo/demo/blob/c{40}/[\w./%-]*">|</a>|<details open>"#;
    let link = regex::Regex::new(link).unwrap();
    let report = hostile(1);
    for (name, text) in [
        ("comment", comment(&report, &frame("plan", None))),
        ("report", markdown(&report)),
        ("summary", summary(&report)),
    ] {
        let options = pulldown_cmark::Options::ENABLE_TABLES;
        let mut in_code = false;
        for event in pulldown_cmark::TextMergeStream::new(pulldown_cmark::Parser::new_ext(&text, options)) {
            use pulldown_cmark::{Event, Tag, TagEnd};
            match event {
                Event::Start(Tag::CodeBlock(_)) => in_code = true,
                Event::End(TagEnd::CodeBlock) => in_code = false,
                Event::Html(html) | Event::InlineHtml(html) => {
                    let ours = [
                        "<details>",
                        "</details>",
                        "<summary>",
                        "</summary>",
                        "<code>",
                        "</code>",
                        "<sub>",
                        "</sub>",
                        "<!-- architect-ci: no apply -->",
                    ];
                    let html = link.replace_all(&html, "");
                    let rest = ours.iter().fold(html.to_string(), |html, tag| html.replace(tag, ""));
                    let is_marker = rest.trim() == comment_marker("plan") && name == "comment";
                    assert!(is_marker || !rest.contains('<'), "{name}: {html}");
                }
                Event::Start(Tag::Image { dest_url, .. }) => panic!("{name}: an image {dest_url}"),
                Event::Text(text) if !in_code => {
                    assert!(!text.contains("@octocat") && !text.contains("#1"), "{name}: {text}");
                }
                _ => {}
            }
        }
        assert_eq!(text.matches(&comment_marker("plan")).count(), usize::from(name == "comment"), "{name}");
        assert!(!text.contains(['\u{1b}', '\u{0}', '\u{202e}']), "{name}");
    }
}

#[test]
fn junit_is_always_well_formed() {
    let xml = junit(&hostile(3)).expect("XML");
    let document = roxmltree::Document::parse(&xml).expect("well-formed");
    let suites: Vec<_> = document.descendants().filter(|node| node.has_tag_name("testsuite")).collect();
    let names: Vec<_> = suites.iter().filter_map(|suite| suite.attribute("name")).collect();
    assert_eq!(names, ["quality gates", "hooks", "guardrails", "plan", "agent"]);
    let count = |tag: &str| document.descendants().filter(|node| node.has_tag_name(tag)).count();
    assert_eq!((count("failure"), count("error"), count("skipped")), (2, 3, 2));
    assert_eq!(suites[0].attribute("failures"), Some("1"));
    assert!(suites[0].attribute("timestamp").is_some_and(|time| time.starts_with("2026-01-02T03:04:05")));
}

#[test]
fn annotations_are_limited_single_commands() {
    let mut report = hostile(1);
    report.notices = vec![report.notices[0].clone(); 30];
    let commands = annotations(&report, &[]);
    assert_eq!(commands.iter().filter(|command| command.starts_with("::error ")).count(), 10);
    assert!(commands.iter().all(|command| !command.contains(['\n', '\r'])), "{commands:?}");
    assert!(commands[0].contains("Dry run changed the checkout"), "{}", commands[0]);
    assert!(commands[9].ends_with("::23 more errors; see the step summary or report.md"), "{}", commands[9]);
}

#[test]
fn html_report_is_static() {
    let page = html(&hostile(1));
    for part in ["<script>alert", "<img", "<i>", "onerror", "javascript:"] {
        assert!(!page.contains(part), "{part}");
    }
    // The one script is the one that the page's policy names.
    let (_, script) = page.split_once("<script>").expect("our own script");
    let (script, rest) = script.split_once("</script>").expect("its end");
    assert!(!rest.contains("<script"));
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(script));
    let policy = format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'");
    let policy = policy.replace('\'', "&#39;");
    assert!(page.replace('\'', "&#39;").contains(&policy), "{policy}");
}
