//! HTML pages as trees: elements by name, class and position, and their text.

use std::rc::Rc;

use html2text::config::{plain, with_decorator};
use html2text::render::TrivialDecorator;
use html2text::{Document, Element, Handle, RcDom};

/// Pattern for an element: its name and one of its classes; an empty string matches any.
pub(super) type ElementPattern = (&'static str, &'static str);

/// Element of a page, with everything in it.
#[derive(Clone)]
pub(super) struct Part(Handle);

impl Part {
    /// Parses a page. HTML parsing is infallible; `None` only if reading fails.
    pub(super) fn page(html: &str) -> Option<Self> {
        plain().parse_html(html.as_bytes()).ok().map(|dom| Self(dom.document))
    }

    /// Returns the value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let Element { attrs, .. } = &self.0.data else { return None };
        let attributes = attrs.borrow();
        attributes.iter().find(|found| &*found.name.local == name).map(|found| found.value.to_string())
    }

    fn is_named(&self, name: &str) -> bool {
        matches!(&self.0.data, Element { name: own, .. } if &*own.local == name)
    }

    pub(super) fn is_like(&self, (name, class): ElementPattern) -> bool {
        (name.is_empty() || self.is_named(name))
            && (class.is_empty()
                || self.attribute("class").is_some_and(|all| all.split_whitespace().any(|own| own == class)))
    }

    /// Visits every element in document order, together with its ancestors. Elements for which the visitor
    /// returns `false` are not entered.
    pub(super) fn visit(&self, visitor: &mut impl FnMut(&[Self]) -> bool) {
        // An explicit stack of elements, each with the number of visited children: pages may be deeper than a
        // thread's stack.
        let mut path = vec![self.clone()];
        let mut next = vec![0];
        while let (Some(part), Some(at)) = (path.last(), next.last_mut()) {
            let child = part.0.children.borrow().get(*at).cloned();
            *at += 1;
            let Some(child) = child else {
                path.pop();
                next.pop();
                continue;
            };
            if matches!(child.data, Element { .. }) {
                path.push(Self(child));
                if visitor(&path) {
                    next.push(0);
                } else {
                    path.pop();
                }
            }
        }
    }

    /// Returns the first element that `fits`.
    pub(super) fn find(&self, fits: impl Fn(&Self) -> bool) -> Option<Self> {
        let mut found = None;
        self.visit(&mut |path| {
            if found.is_none() {
                found = path.last().filter(|part| fits(part)).cloned();
            }
            found.is_none()
        });
        found
    }

    /// Returns its text on one line. The tree is consumed by rendering.
    pub(super) fn words(self) -> String {
        let text = self.rendered(|dom| {
            let config = with_decorator(TrivialDecorator::new()).no_table_borders().allow_width_overflow();
            config.render_to_string(config.dom_to_render_tree(dom)?, usize::from(u16::MAX))
        });
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Returns its text in lines of `width` columns, with the addresses of links below. The tree is consumed
    /// by rendering.
    pub(super) fn lines(self, width: usize) -> String {
        self.rendered(|dom| {
            let config =
                plain().no_link_wrapping().link_footnotes(true).no_table_borders().allow_width_overflow();
            config.render_to_string(config.dom_to_render_tree(dom)?, width)
        })
    }

    fn rendered(self, render: impl FnOnce(&RcDom) -> Result<String, html2text::Error>) -> String {
        let dom = |document: &Handle| RcDom { document: Rc::clone(document), ..RcDom::default() };
        if matches!(self.0.data, Document) {
            return render(&dom(&self.0)).unwrap_or_default();
        }
        // Some elements, such as a table's cell, cannot stand alone, so their children become the body of an
        // empty page.
        let page =
            Self::page("").and_then(|page| page.find(|part| part.is_named("body")).map(|body| (page, body)));
        let Some((page, body)) = page else { return String::new() };
        body.0.children.replace(self.0.children.borrow().clone());
        render(&dom(&page.0)).unwrap_or_default()
    }
}

/// Returns `true` if the last element of `path` matches the last of `pattern`, and its ancestors match the
/// others, in order.
pub(super) fn fits(path: &[Part], pattern: &[ElementPattern]) -> bool {
    let (Some((last, around)), Some((wanted, mut outer))) = (path.split_last(), pattern.split_last()) else {
        return false;
    };
    if !last.is_like(*wanted) {
        return false;
    }
    for part in around.iter().rev() {
        match outer.split_last() {
            Some((like, rest)) if part.is_like(*like) => outer = rest,
            Some(_) => {}
            None => break,
        }
    }
    outer.is_empty()
}
