//! A page as a tree: its elements by name, class and place, and what is written in them.

use std::rc::Rc;

use html2text::config::{plain, with_decorator};
use html2text::render::TrivialDecorator;
use html2text::{Document, Element, Handle, RcDom};

/// An element by its name and one of its classes; whichever is empty is any.
pub(super) type Like = (&'static str, &'static str);

/// A part of a page.
#[derive(Clone)]
pub(super) struct Part(Handle);

impl Part {
    /// Reads a page; there is none that cannot be read.
    pub(super) fn page(html: &str) -> Option<Self> {
        plain().parse_html(html.as_bytes()).ok().map(|dom| Self(dom.document))
    }

    /// The value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let Element { attrs, .. } = &self.0.data else { return None };
        let attributes = attrs.borrow();
        attributes.iter().find(|found| &*found.name.local == name).map(|found| found.value.to_string())
    }

    fn is_named(&self, name: &str) -> bool {
        matches!(&self.0.data, Element { name: own, .. } if &*own.local == name)
    }

    pub(super) fn is_like(&self, (name, class): Like) -> bool {
        (name.is_empty() || self.is_named(name))
            && (class.is_empty()
                || self.attribute("class").is_some_and(|all| all.split_whitespace().any(|own| own == class)))
    }

    /// Visits every element, in the order of the page, with those that it lies in; what the visitor answers
    /// `false` to is not entered.
    pub(super) fn visit(&self, visitor: &mut impl FnMut(&[Self]) -> bool) {
        // A stack of elements, each with how many of its children were visited: pages may be deeper than a
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

    /// The first element that fits.
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

    /// What is written in it, on one line. Takes it apart.
    pub(super) fn words(self) -> String {
        let text = self.rendered(|dom| {
            let config = with_decorator(TrivialDecorator::new()).no_table_borders().allow_width_overflow();
            config.render_to_string(config.dom_to_render_tree(dom)?, usize::from(u16::MAX))
        });
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What is written in it, in lines of a width, with the addresses of its links below. Takes it apart.
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
        // Not every element is one that can stand alone (a cell of a table): what is in it becomes a page.
        let page =
            Self::page("").and_then(|page| page.find(|part| part.is_named("body")).map(|body| (page, body)));
        let Some((page, body)) = page else { return String::new() };
        body.0.children.replace(self.0.children.borrow().clone());
        render(&dom(&page.0)).unwrap_or_default()
    }
}

/// Whether the last of a path is what the last of the pattern says, and lies in what is said before, in order.
pub(super) fn fits(path: &[Part], pattern: &[Like]) -> bool {
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
