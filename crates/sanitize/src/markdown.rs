//! Markdown that others wrote: what is rendered keeps its form, and has no effect.

use crate::active::active_words;
use crate::addresses::{Address, addresses, encoded, with_whole_addresses};
use crate::untrusted::{code, fence, visible};
use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream,
};
use std::ops::Range;

/// The deepest nesting of Markdown that is rendered.
const MAX_DEPTH: usize = 32;

/// Neutralizes Markdown: it keeps its form (headings, lists, tables, code) and loses its effects. The result is for lines of its own.
pub fn markdown(text: &str) -> String {
    rendered(text).text
}

/// Neutralizes Markdown that stands behind words in their line. What is no paragraph (a fence, a list) would be none there, and its
/// content would be active: it begins on a line of its own, behind an empty one.
pub fn markdown_behind(text: &str) -> String {
    let Rendered { text, begins_in_line } = rendered(text);
    let text = text.trim();
    if begins_in_line || text.is_empty() { text.to_owned() } else { format!("\n\n{text}") }
}

/// Neutralizes Markdown that stands behind the words of an item of a list, to which all of it belongs.
pub fn markdown_item(text: &str) -> String {
    markdown_behind(text).replace('\n', "\n  ")
}

/// Neutralizes Markdown for a line, of which it is a part: code, emphasis and links keep their form.
pub fn markdown_line(text: &str) -> String {
    let text = readable(text);
    let Some(events) = nested_as_people_write(Parser::new_ext(&text, options())) else {
        return code(&text);
    };
    let passive = in_line(without_html_and_images(events.into_iter()));
    let quiet = without_active_words(TextMergeStream::new(passive.into_iter()));
    let mut rendered = String::with_capacity(text.len());
    match pulldown_cmark_to_cmark::cmark(apart(quiet), &mut rendered, options()) {
        Ok(_) => rendered.trim().replace('\n', " "),
        Err(_) => code(&text),
    }
}

/// Returns a text as it is read: with codes in place of what cannot be seen, and with addresses that no emphasis begins in.
fn readable(text: &str) -> String {
    // A fence that the text leaves open is closed only where its last line ends.
    let text = visible(text) + "\n";
    let (mut around, mut parts) = (0_usize, Vec::new());
    for (event, range) in Parser::new_ext(&text, options()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_) | Tag::Link { .. } | Tag::Image { .. }) => around += 1,
            Event::End(TagEnd::CodeBlock | TagEnd::Link | TagEnd::Image) => around = around.saturating_sub(1),
            Event::Text(_) if around == 0 => parts.push(range),
            _ => {}
        }
    }
    let is_text = |at: usize| {
        let before = parts.partition_point(|part| part.start <= at);
        before.checked_sub(1).is_some_and(|index| parts[index].contains(&at))
    };
    with_whole_addresses(&text, &is_text)
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Text as it is rendered.
struct Rendered {
    text: String,
    /// Whether it begins with a paragraph, which may begin behind other words.
    begins_in_line: bool,
}

fn rendered(text: &str) -> Rendered {
    let text = readable(text);
    let as_code = || Rendered { text: fence(&text, ""), begins_in_line: false };
    let Some(events) = nested_as_people_write(Parser::new_ext(&text, options())) else {
        return as_code();
    };
    let passive = without_html_and_images(events.into_iter());
    let begins_in_line = matches!(passive.first(), None | Some(Event::Start(Tag::Paragraph)));
    // Merged, so that `&#64;name` does not slip through as two harmless pieces.
    let quiet = without_active_words(TextMergeStream::new(passive.into_iter()));
    let mut rendered = String::with_capacity(text.len());
    match pulldown_cmark_to_cmark::cmark(apart(quiet), &mut rendered, options()) {
        Ok(_) => Rendered { text: rendered.trim_start_matches('\n').to_owned(), begins_in_line },
        Err(_) => as_code(),
    }
}

/// Makes one paragraph of all blocks, with code spans in place of code blocks.
fn in_line(source: Vec<Event<'_>>) -> Vec<Event<'_>> {
    let mut events = vec![Event::Start(Tag::Paragraph)];
    // A blank stands between two parts, and nowhere else.
    let (mut is_code, mut is_apart) = (false, false);
    for event in source {
        let begins = match &event {
            Event::Start(Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. })
            | Event::Text(_)
            | Event::Code(_) => true,
            Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link) => false,
            other => {
                is_code = matches!(other, Event::Start(Tag::CodeBlock(_)));
                is_apart = true;
                continue;
            }
        };
        if begins && std::mem::take(&mut is_apart) && events.len() > 1 {
            events.push(Event::Text(" ".into()));
        }
        match event {
            Event::Text(text) if is_code => push_code(&mut events, &text),
            event => events.push(event),
        }
    }
    events.push(Event::End(TagEnd::Paragraph));
    events
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
    let mut is_heading = false;
    for event in source {
        is_heading = match &event {
            Event::Start(Tag::Heading { .. }) => true,
            Event::End(TagEnd::Heading(_)) => false,
            _ => is_heading,
        };
        match event {
            // A heading of several lines would be underlined, which makes one of the second level of it.
            Event::SoftBreak | Event::HardBreak if is_heading => events.push(Event::Text(" ".into())),
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
            // Without a fence, its first line would be code no longer where other words stand before it.
            Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => {
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
            Event::Start(Tag::Link { link_type: LinkType::Autolink, dest_url, .. })
                if is_harmless_link(&dest_url) =>
            {
                events.push(link(LinkType::Autolink, encoded(&dest_url.replace("&amp;", "&"))));
                open_links.push(TagEnd::Link);
            }
            // A title could have backticks, with which code would begin.
            Event::Start(Tag::Link { dest_url, .. }) if is_harmless_link(&dest_url) => {
                events.push(link(LinkType::Inline, encoded(&dest_url)));
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

fn link<'a>(link_type: LinkType, url: String) -> Event<'a> {
    Event::Start(Tag::Link { link_type, dest_url: url.into(), title: "".into(), id: "".into() })
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

/// Turns mentions and references outside of code into code, and addresses into links that end where they do.
fn without_active_words<'a>(source: impl Iterator<Item = Event<'a>>) -> Vec<Event<'a>> {
    let mut events = Vec::new();
    let mut code_block = false;
    let mut around = None;
    for event in source {
        match &event {
            Event::Start(Tag::CodeBlock(_)) => code_block = true,
            Event::End(TagEnd::CodeBlock) => code_block = false,
            Event::Start(Tag::Link { link_type, dest_url, .. }) => {
                around = Some((*link_type, dest_url.clone()));
            }
            Event::End(TagEnd::Link) => around = None,
            Event::Text(text) if !code_block => {
                match &around {
                    // This is what its reader sees of it, and where it leads.
                    Some((LinkType::Autolink, url)) => events.push(Event::Text(url.clone())),
                    around => push_text(&mut events, text, around.is_some()),
                }
                continue;
            }
            _ => {}
        }
        events.push(event);
    }
    events
}

fn push_text(events: &mut Vec<Event<'_>>, text: &str, is_in_link: bool) {
    let mut rest = 0;
    let mut push_up_to = |events: &mut Vec<Event<'_>>, part: &Range<usize>| {
        if part.start > rest {
            events.push(Event::Text(CowStr::from(text[rest..part.start].to_owned())));
        }
        rest = part.end;
    };
    for Address { range, url } in passive_parts(text) {
        push_up_to(events, &range);
        match url {
            Some(url) if !is_in_link && is_harmless_link(&url) => {
                let url = encoded(&url);
                events.extend([
                    link(LinkType::Autolink, url.clone()),
                    Event::Text(url.into()),
                    Event::End(TagEnd::Link),
                ]);
            }
            // There are no links in links.
            _ => push_code(events, &text[range]),
        }
    }
    push_up_to(events, &(text.len()..text.len()));
}

/// Returns the parts of a text that are not to stay as they are, in their order: active words, which lead nowhere, and addresses. What
/// overlaps is one part.
fn passive_parts(text: &str) -> Vec<Address> {
    let words = active_words(text).into_iter().map(|range| Address { range, url: None });
    let mut all: Vec<Address> = words.chain(addresses(text)).collect();
    all.sort_by_key(|part| part.range.start);
    let mut parts: Vec<Address> = Vec::with_capacity(all.len());
    for part in all {
        match parts.last_mut() {
            Some(last) if part.range.start < last.range.end => {
                last.range.end = last.range.end.max(part.range.end);
                last.url = None;
            }
            _ => parts.push(part),
        }
    }
    parts
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
    let lower = url.to_ascii_lowercase();
    let is_web = lower.starts_with("https://") || lower.starts_with("http://");
    is_web && active_words(url).is_empty()
}

#[cfg(test)]
mod tests;
