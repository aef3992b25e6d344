//! Neutralization of untrusted text, wherever it is shown.
//!
//! Everything that a model, a tool, a file or a hook wrote goes through one of these functions on its way
//! into Markdown or a log. They are about what a platform *does* with text: mentions notify, closing
//! keywords close issues, images call home, HTML hides, direction marks deceive, and lines that start with
//! `::` are commands to the runner.

use crate::active::active_words;
use crate::invisible::shown;
use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream,
};

/// Returns whether a character controls a terminal instead of being shown.
fn is_control(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

/// The beginning of our own hidden lines, and its replacement in text that others wrote.
const LOOK_ALIKE: (&str, &str) = ("<!-- architect-ci", "<! -- architect-ci");

/// Replaces characters that would be invisible or deceptive by their codes, such as `⟨U+202E⟩`.
pub fn visible(text: &str) -> String {
    shown(&text.replace("\r\n", "\n").replace(LOOK_ALIKE.0, LOOK_ALIKE.1), is_control)
}

/// Does the same, and makes one line of it: a name with a line end in it would otherwise add lines of its own.
pub fn visible_line(text: &str) -> String {
    visible(text).replace('\n', "⏎")
}

/// Formats a text as one line in a code span that fits into a table cell.
pub fn code(text: &str) -> String {
    let line = visible(text).replace('\n', " ⏎ ").replace('|', "\\|");
    let line = line.trim();
    if line.is_empty() {
        return "` `".to_owned();
    }
    let ticks = "`".repeat(longest_run(line, '`') + 1);
    // A blank keeps a backtick at the edge apart from the delimiter; Markdown drops it again.
    let pad = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{ticks}{pad}{line}{pad}{ticks}")
}

/// Formats a text as a code block with a fence longer than any in the text.
pub fn fence(text: &str, language: &str) -> String {
    let text = visible(text);
    let ticks = "`".repeat(longest_run(&text, '`').max(2) + 1);
    format!("{ticks}{language}\n{}\n{ticks}\n", text.trim_end_matches('\n'))
}

fn longest_run(text: &str, wanted: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// The deepest nesting of Markdown that is rendered.
const MAX_DEPTH: usize = 32;

/// Neutralizes Markdown: it keeps its form (headings, lists, tables, code) and loses its effects.
pub fn markdown(text: &str) -> String {
    // A fence that the text leaves open is closed only where its last line ends.
    let text = visible(text) + "\n";
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let Some(events) = nested_as_people_write(Parser::new_ext(&text, options)) else {
        return fence(&text, "");
    };
    let passive = without_html_and_images(events.into_iter());
    // Merged, so that `&#64;name` does not slip through as two harmless pieces.
    let quiet = without_active_words(TextMergeStream::new(passive.into_iter()));
    let mut rendered = String::with_capacity(text.len());
    match pulldown_cmark_to_cmark::cmark(apart(quiet), &mut rendered, options) {
        Ok(_) => rendered.trim_start_matches('\n').to_owned(),
        Err(_) => fence(&text, ""),
    }
}

/// Returns all events, or `None` if they are nested deeper than in any text that people read: rendering takes time that grows
/// with the square of the depth.
fn nested_as_people_write<'a>(source: impl Iterator<Item = Event<'a>>) -> Option<Vec<Event<'a>>> {
    let mut depth = 0_usize;
    source
        .map(|event| {
            match event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth = depth.saturating_sub(1),
                _ => {}
            }
            (depth <= MAX_DEPTH).then_some(event)
        })
        .collect()
}

/// Replaces HTML, images, and links to anything but web pages by code.
fn without_html_and_images<'a>(source: impl Iterator<Item = Event<'a>>) -> Vec<Event<'a>> {
    let mut events = Vec::new();
    // How each open link ends: as a link, or as what replaces it.
    let mut open_links = Vec::new();
    for event in source {
        match event {
            // Below the headings of whatever shows this text, which it must not imitate.
            Event::Start(Tag::Heading { level, .. }) => events.push(Event::Start(Tag::Heading {
                level: below(level),
                id: None,
                classes: Vec::new(),
                attrs: Vec::new(),
            })),
            Event::End(TagEnd::Heading(level)) => events.push(Event::End(TagEnd::Heading(below(level)))),
            Event::Html(html) | Event::InlineHtml(html) => push_code(&mut events, &html),
            // Anything else behind the signs of a fence would be read as more of them, or shown as something else than code.
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if !is_language(&info) => {
                events.push(Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced("".into()))));
            }
            // HTML blocks become the code inside of them.
            Event::Start(Tag::HtmlBlock) => events.push(Event::Start(Tag::Paragraph)),
            Event::End(TagEnd::HtmlBlock) => events.push(Event::End(TagEnd::Paragraph)),
            // Every reader's browser would fetch an image; its text is kept, and its URL becomes code.
            Event::Start(Tag::Image { dest_url, .. }) => {
                events.push(Event::Text("image ".into()));
                push_code(&mut events, &dest_url);
                events.push(Event::Text(" ".into()));
            }
            Event::End(TagEnd::Image) => {}
            // A box that readers would take for one that somebody has ticked.
            Event::TaskListMarker(is_done) => {
                events.push(Event::Text(if is_done { "☑ " } else { "☐ " }.into()));
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) if is_harmless_link(&dest_url) => {
                let link_type = if link_type == LinkType::Autolink { link_type } else { LinkType::Inline };
                events.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
                open_links.push(TagEnd::Link);
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                push_code(&mut events, &dest_url);
                events.push(Event::Text(" ".into()));
                events.push(Event::Start(Tag::Emphasis));
                open_links.push(TagEnd::Emphasis);
            }
            Event::End(TagEnd::Link) => events.extend(open_links.pop().map(Event::End)),
            other => events.push(other),
        }
    }
    events
}

fn below(level: HeadingLevel) -> HeadingLevel {
    if level == HeadingLevel::H1 { HeadingLevel::H5 } else { HeadingLevel::H6 }
}

/// Languages that GitHub does not show as code: a suggestion has a button that commits it, diagrams and maps have links.
const RENDERED: [&str; 6] = ["suggestion", "mermaid", "math", "geojson", "topojson", "stl"];

fn is_language(info: &str) -> bool {
    !RENDERED.iter().any(|rendered| info.trim().eq_ignore_ascii_case(rendered))
        && info
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '+' | '.' | '#'))
}

/// Turns mentions and references outside of code into code.
fn without_active_words<'a>(source: impl Iterator<Item = Event<'a>>) -> Vec<Event<'a>> {
    let mut events = Vec::new();
    let mut code_block = false;
    for event in source {
        match &event {
            Event::Start(Tag::CodeBlock(_)) => code_block = true,
            Event::End(TagEnd::CodeBlock) => code_block = false,
            Event::Text(text) if !code_block => {
                push_text(&mut events, text);
                continue;
            }
            _ => {}
        }
        events.push(event);
    }
    events
}

fn push_text(events: &mut Vec<Event<'_>>, text: &str) {
    let mut rest = 0;
    for word in active_words(text) {
        if word.start > rest {
            events.push(Event::Text(CowStr::from(text[rest..word.start].to_owned())));
        }
        rest = word.end;
        push_code(events, &text[word]);
    }
    if rest < text.len() {
        events.push(Event::Text(CowStr::from(text[rest..].to_owned())));
    }
}

fn push_code(events: &mut Vec<Event<'_>>, text: &str) {
    let text = text.trim().replace('\n', " ");
    if !text.is_empty() {
        events.push(Event::Code(CowStr::from(text)));
    }
}

/// Separates code spans from each other and from backticks, with which they would form one longer
/// delimiter.
fn apart(events: Vec<Event<'_>>) -> Vec<Event<'_>> {
    let mut separated: Vec<Event<'_>> = Vec::with_capacity(events.len());
    for event in events {
        let touches = match (separated.last(), &event) {
            (Some(Event::Code(_)), Event::Code(_)) => true,
            (Some(Event::Code(_)), Event::Text(text)) => text.starts_with('`'),
            (Some(Event::Text(text)), Event::Code(_)) => text.ends_with('`'),
            _ => false,
        };
        if touches {
            separated.push(Event::Text(" ".into()));
        }
        separated.push(event);
    }
    separated
}

/// Returns whether a link may stay. Links may lead to web pages, but not to issues, which would link back,
/// nor to scripts.
fn is_harmless_link(url: &str) -> bool {
    let web = url.starts_with("https://") || url.starts_with("http://");
    web && active_words(url).is_empty()
}

/// Formats a text as one line for titles and commit messages, in which nothing notifies anybody or closes
/// an issue.
pub fn plain(text: &str) -> String {
    let line = visible(text).replace(['\n', '\t'], " ");
    let mut plain = String::with_capacity(line.len());
    let mut rest = 0;
    for word in active_words(&line) {
        plain += &line[rest..word.start];
        rest = word.end;
        let word = line[word].replace('@', "@ ").replace('#', "# ");
        plain += &word.replace("://", ": //").replace("GH-", "GH ");
    }
    plain += &line[rest..];
    plain
}

/// Escapes a message for a workflow command, just as the runner's own toolkit does.
pub fn command_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Neutralizes lines for a log that the Actions runner reads: none of them is a command to it.
pub fn log_lines(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    // The runner accepts a lone CR as a line end as well.
    for line in text.replace("\r\n", "\n").split_inclusive(['\n', '\r']) {
        let trimmed = line.trim_start();
        let line = line.replace("##[", "# #[");
        if trimmed.starts_with("::") {
            let indent = line.len() - line.trim_start().len();
            lines += &line[..indent];
            lines += ": :";
            lines += &line[indent + 2..];
        } else {
            lines += &line;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the parts of a text that a renderer would act on.
    fn active_parts(markdown: &str) -> Vec<String> {
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        let mut active = Vec::new();
        let mut code_block = false;
        for event in TextMergeStream::new(Parser::new_ext(markdown, options)) {
            match event {
                Event::Start(Tag::CodeBlock(_)) => code_block = true,
                Event::End(TagEnd::CodeBlock) => code_block = false,
                Event::Text(text) if !code_block => {
                    active.extend(active_words(&text).into_iter().map(|range| text[range].to_owned()));
                }
                Event::Html(html) | Event::InlineHtml(html) => active.push(html.into_string()),
                Event::TaskListMarker(_) => active.push("a box".to_owned()),
                Event::Start(Tag::Image { dest_url, .. }) => active.push(dest_url.into_string()),
                Event::Start(Tag::Link { dest_url, .. }) if !is_harmless_link(&dest_url) => {
                    active.push(dest_url.into_string());
                }
                _ => {}
            }
        }
        active
    }

    #[test]
    fn effects_are_gone_and_form_stays() {
        for (text, expected) in [
            ("Thanks @octocat!", "Thanks `@octocat`!"),
            ("fixes #12, closes o/r#3 and GH-7", "fixes `#12`, closes `o/r#3` and `GH-7`"),
            ("resolves https://github.com/o/r/issues/1", "resolves `https://github.com/o/r/issues/1`"),
            ("mail me@example.com", "mail `me@example.com`"),
            ("&#64;octocat", "`@octocat`"),
            ("**bold** and `@code`", "**bold** and `@code`"),
            ("![x](https://evil.example/p.png?s=1)", "image `https://evil.example/p.png?s=1` x"),
            ("a <b onclick=x>b</b>", "a `<b onclick=x>`b`</b>`"),
            ("<!-- architect-ci comment -->", "\\<! -- architect-ci comment -->"),
            ("<!-- hidden -->", "`<!-- hidden -->`"),
            ("[docs](https://example.com/a)", "[docs](https://example.com/a)"),
            ("[run](javascript:alert)", "`javascript:alert` *run*"),
            ("[a *b* c](https://example.com/a)", "[a *b* c](https://example.com/a)"),
            ("&#64;![x](y)", "`@image` `y` x"),
            ("safe\u{202e}txt", "safe⟨U+202E⟩txt"),
            ("costs $5 or US$6, in $HOME", "costs `$5` or `US$6,` in `$HOME`"),
            ("$$\n\\href{https://x}{y}\n$$", "`$$`\n\\href{https://x}{y}\n`$$`"),
            ("a#1b$c", "a`#1` `b$c`"),
            ("$`x`$ &#36;y$", "`$` `x` `$` `$y$`"),
            ("* [x] reviewed\n* [ ] open", "* ☑ reviewed\n* ☐ open"),
            ("# Head\n\n* one\n* two", "##### Head\n\n* one\n* two"),
            ("```\n@octocat", "````\n@octocat\n````"),
            ("~~~ ~~~`\n@octocat", "````\n@octocat\n````"),
            ("~~~ c++\n@octocat", "````c++\n@octocat\n````"),
            ("```Suggestion\nrm -rf /\n```", "````\nrm -rf /\n````"),
            ("~~~ mermaid\ngraph TD\n~~~", "````\ngraph TD\n````"),
            ("* a\n  ~~~\n  @octocat", "* a\n  ````\n  @octocat\n  ````"),
        ] {
            assert_eq!(markdown(text), expected, "{text:?}");
            assert_eq!(active_parts(&markdown(text)), Vec::<String>::new(), "{text:?}");
        }
    }

    #[test]
    fn code_and_fences_cannot_be_left() {
        assert_eq!(code("src/main.rs"), "`src/main.rs`");
        assert_eq!(code("a`b``c|d\ne"), "```a`b``c\\|d ⏎ e```");
        assert_eq!(code("`x`"), "`` `x` ``");
        assert_eq!(code(" "), "` `");
        assert_eq!(fence("a\n```\nb\n", "diff"), "````diff\na\n```\nb\n````\n");
        assert_eq!(fence("<!-- architect-ci x -->", ""), "```\n<! -- architect-ci x -->\n```\n");
        for (given, kept) in [("rust", "rust"), ("suggestion", ""), ("Mermaid", ""), ("geojson", "")] {
            let text = markdown(&format!("```{given}\na\n```\n"));
            assert!(text.lines().next().is_some_and(|line| line.trim_matches('`') == kept), "{text}");
        }
    }

    #[test]
    fn no_line_of_a_log_is_a_command() {
        let text = "ok\n::error::x\n  ::set-output name=a::b\r::stop-commands::x\n##[group]y\n a::b\n";
        let expected =
            "ok\n: :error::x\n  : :set-output name=a::b\r: :stop-commands::x\n# #[group]y\n a::b\n";
        assert_eq!(log_lines(text), expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn nothing_active_survives(text in r"(@a|#1|\$|&#36;|\[x\] |<b>|&lt;|&#64;|!\[|\]\(|\)|https://x/issues/1|`|~~~|\n|\n\n|    |\* |\||-|<!--|-->|\\|_|\[|x| |>){0,24}") {
            prop_assert_eq!(active_parts(&markdown(&text)), Vec::<String>::new(), "{:?}", markdown(&text));
            // Nor does it have an effect on what comes after.
            let followed = format!("{}\n\nand #1\n", markdown(&text));
            prop_assert_eq!(active_parts(&followed), ["#1"], "{:?}", followed);
        }

        #[test]
        fn log_lines_never_start_a_command(text in "[: #\\[a\\n\\r\\t]{0,40}") {
            let safe = log_lines(&text);
            for line in safe.split(['\n', '\r']) {
                prop_assert!(!line.trim_start().starts_with("::") && !line.contains("##["), "{:?}", safe);
            }
        }
    }
}
