use super::*;
use proptest::prelude::*;

/// Returns the parts of a text that a renderer would act on.
fn active_parts(markdown: &str) -> Vec<String> {
    let mut active = bare_addresses(markdown);
    let mut code_block = false;
    for event in TextMergeStream::new(Parser::new_ext(markdown, options())) {
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

/// Returns what the parser takes for text, and GitHub for the beginning of an address, of which it makes a link up to the next blank
/// or `<`. Where there is none, both read the same.
fn bare_addresses(markdown: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut code_block, mut autolink, mut in_link) = (false, false, false);
    let mut before = None;
    for event in TextMergeStream::new(Parser::new_ext(markdown, options())) {
        match &event {
            Event::Start(Tag::CodeBlock(_)) => code_block = true,
            Event::End(TagEnd::CodeBlock) => code_block = false,
            Event::Start(Tag::Link { link_type, dest_url, .. }) => {
                autolink = *link_type == LinkType::Autolink;
                in_link = true;
                // What stands in the source of a link has to end there.
                let is_open = |sign: char| sign.is_whitespace() || "`<>\\".contains(sign);
                found.extend(Some(dest_url.to_string()).filter(|url| url.contains(is_open)));
            }
            Event::End(TagEnd::Link) => (autolink, in_link) = (false, false),
            Event::Text(text) if !code_block && !autolink => {
                let lower = text.to_ascii_lowercase();
                let begins = |at: usize| {
                    let rest = &lower[at..];
                    let before = lower[..at].chars().next_back().or(before);
                    let is_scheme =
                        ["http", "https", "ftp"].iter().any(|scheme| lower[..at].ends_with(scheme));
                    rest.starts_with("://") && is_scheme
                        || rest.starts_with("www.") && !before.is_some_and(char::is_alphanumeric)
                };
                if lower.char_indices().any(|(at, _)| begins(at)) {
                    found.push(format!("{text}{}", if in_link { " in a link" } else { "" }));
                }
            }
            _ => {}
        }
        before = match event {
            Event::Text(text) => text.chars().next_back(),
            _ => None,
        };
    }
    found
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
        ("https://e.com/a/__init__.py#L1 and __so__", "<https://e.com/a/__init__.py#L1> and **so**"),
        ("closes www.github.com/o/r/pull/3", "closes `www.github.com/o/r/pull/3`"),
        ("<https://e.com/?a=1&amp;b=2>", "<https://e.com/?a=1&b=2>"),
        ("&lt;https://e.com/a&gt;", "\\<<https://e.com/a>\\>"),
        ("#1GH-3", "`#1` `GH-3`"),
        ("a@-b.co", "`a@-b.co`"),
        ("$$\n\\href{https://x}{y}\n$$", "`$$`\n\\href{<https://x%7D%7By>}\n`$$`"),
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
        // GitHub would make addresses of all that stands behind their beginnings.
        ("See http://e.com/<img src=x> y", "See <http://e.com/>`<img src=x>` y"),
        ("http://e.com/`a @b closes #1`", "<http://e.com/>`a @b closes #1`"),
        ("http://e.com/&lt;img src=x>", "<http://e.com/>\\<img src=x>"),
        ("(see www.e.com/a_b.)", "(see <http://www.e.com/a_b>.)"),
        (
            "the www. and http:// before @a, ftp://x/`b`",
            "the `www.` and `http://` before `@a`, `ftp://x/` `b`",
        ),
        ("http://e.com/@a/b?c#1", "`http://e.com/@a/b?c#1`"),
        ("mailto:a@e.com", "`mailto:a@e.com`"),
        ("[a www.e.com](https://e.com)", "[a `www.e.com`](https://e.com)"),
        ("<https://e.com/&lt;img>b", "<https://e.com/&lt%3Bimg>b"),
        ("[a](https://e.com/&#96;b \"`\")", "[a](https://e.com/%60b)"),
        ("✅ Approved\nby all\n===", "##### ✅ Approved by all"),
        ("> [!CAUTION]\n> Trust me", " > \n > `[!CAUTION]`\n > Trust me"),
    ] {
        assert_eq!(markdown(text), expected, "{text:?}");
        assert_eq!(active_parts(&markdown(text)), Vec::<String>::new(), "{text:?}");
    }
}

#[test]
fn blocks_begin_no_line_of_others() {
    let fence = "```\n\n@amy closes #9\n\n```suggestion\nevil()\n```";
    for text in [fence, "    @amy", "- ```\n  @amy <b>\n  ```", "1. ```\n   @amy\n   ```", "# @amy", "> @amy"]
    {
        for shown in [
            format!("**error**: {}", markdown_behind(text)),
            format!("- x: {}", markdown_item(text)),
            format!("- x: {}", markdown_line(text)),
        ] {
            assert_eq!(active_parts(&shown), Vec::<String>::new(), "{shown}");
        }
    }
    for (text, behind, line) in [
        ("a **b**\nc", "a **b**\nc", "a **b** c"),
        ("```\nx\ny\n```", "\n\n````\nx\ny\n````", "`x y`"),
        ("* a\n* b", "\n\n* a\n* b", "a b"),
        ("    x", "\n\n````\nx\n````", "`x`"),
        ("# Head\n\ntext", "\n\n##### Head\n\ntext", "Head text"),
        ("", "", ""),
    ] {
        assert_eq!(
            (markdown_behind(text).as_str(), markdown_line(text).as_str()),
            (behind, line),
            "{text:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn nothing_active_survives(text in r"(@a|#1|\$|&#36;|\[x\] |<b>|&lt;|&#64;|!\[|\]\(|\)|https://x/issues/1|http://e\.c|HTTPS://e/|ftp://|www\.|&#47;|`|~~~|\n|\n\n|    |\* |\||-|<!--|-->|\\|_|\[|x| |>){0,24}") {
        prop_assert_eq!(active_parts(&markdown(&text)), Vec::<String>::new(), "{:?}", markdown(&text));
        // Nor does anything where it stands behind other words.
        let behind = format!("**error**: {}\n", markdown_behind(&text));
        prop_assert_eq!(active_parts(&behind), Vec::<String>::new(), "{:?}", behind);
        let item = format!("- ❌ `x:1`: {}\n", markdown_item(&text));
        prop_assert_eq!(active_parts(&item), Vec::<String>::new(), "{:?}", item);
        let line = format!("- a ({})\n", markdown_line(&text));
        prop_assert_eq!(active_parts(&line), Vec::<String>::new(), "{:?}", line);
        prop_assert_eq!(line.lines().count(), 1);
        // Nor does it have an effect on what comes after.
        let followed = format!("{}\n\nand #1\n", markdown(&text));
        prop_assert_eq!(active_parts(&followed), ["#1"], "{:?}", followed);
    }
}
