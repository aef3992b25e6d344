//! Text of the agent.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use sanitize::untrusted;

/// Renders Markdown of the agent: neutralizes it first, then converts it to HTML. Raw HTML becomes code.
pub(super) fn prose(text: &str) -> Markup {
    let safe = untrusted::markdown(text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut rendered = String::new();
    // Headings of others stand below ours.
    let lower = |event| match event {
        Event::Start(Tag::Heading { level, id, classes, attrs }) => {
            Event::Start(Tag::Heading { level: lowered(level), id, classes, attrs })
        }
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(lowered(level))),
        other => other,
    };
    pulldown_cmark::html::push_html(&mut rendered, Parser::new_ext(&safe, options).map(lower));
    PreEscaped(rendered)
}

fn lowered(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}
