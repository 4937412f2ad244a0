//! Markdown without images and links to hosts that are not allowed.
//!
//! A client that renders a result fetches its images, and a person clicks its links; both carry
//! whatever the address spells to somebody else's machine. The text is read by a CommonMark
//! parser, what must go is cut out of the source by its place there, and the rest stays as it
//! was written. The result is read again until nothing more has to go.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

use crate::hosts::Hosts;

mod bare;
mod html;

/// What stands where a link led.
pub(crate) const LINK_GONE: &str = "[link removed]";
/// What stands where an image was.
pub(crate) const IMAGE_GONE: &str = "[image removed]";
/// How often a text is read again; cutting one thing can make another appear.
const ROUNDS_MAX: usize = 4;

/// A part of the source, and what takes its place.
#[derive(Debug)]
struct Cut {
    range: Range<usize>,
    put: String,
}

/// The text without images and links that are not allowed; borrowed when there are none.
#[must_use]
pub fn clean<'a>(text: &'a str, hosts: &Hosts) -> Cow<'a, str> {
    if !may_link(text) {
        return Cow::Borrowed(text);
    }
    let mut clean = Cow::Borrowed(text);
    for _ in 0..ROUNDS_MAX {
        let cuts = cuts(&clean, hosts);
        if cuts.is_empty() {
            return clean;
        }
        clean = Cow::Owned(apply(&clean, cuts));
    }
    if cuts(&clean, hosts).is_empty() {
        return clean;
    }
    // A text made to survive this: it loses everything that could be markup.
    Cow::Owned(clean.replace(['<', '>', '[', ']', '(', ')', '!', ':'], " "))
}

/// A quick look: whether the text can hold anything that leads somewhere.
fn may_link(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().any(|byte| matches!(byte, b'<' | b'[' | b'&'))
        || text.contains("//")
        || bare::may_hold(text)
}

fn apply(text: &str, mut cuts: Vec<Cut>) -> String {
    cuts.sort_by_key(|cut| (cut.range.start, std::cmp::Reverse(cut.range.end)));
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for cut in cuts {
        if cut.range.end <= from && !cut.range.is_empty() {
            continue;
        }
        let start = cut.range.start.max(from);
        out.push_str(&text[from..start]);
        out.push_str(&cut.put);
        from = cut.range.end.max(start);
    }
    out.push_str(&text[from..]);
    out
}

/// Everything in a text that must go.
fn cuts(text: &str, hosts: &Hosts) -> Vec<Cut> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_TASKLISTS;
    let parser = Parser::new_ext(text, options);
    let mut reading = Reading {
        text,
        hosts,
        cuts: Vec::new(),
        open: Vec::new(),
        fenced: false,
        words: None,
    };
    for (_, definition) in parser.reference_definitions().iter() {
        if !hosts.allow(&definition.dest) {
            reading.cut(definition.span.clone(), LINK_GONE);
        }
    }
    for (event, range) in parser.into_offset_iter() {
        reading.take(event, range);
    }
    reading.end_words();
    reading.cuts
}

/// An image or link that must go, while its content is read.
#[derive(Debug)]
struct Open {
    range: Range<usize>,
    /// Where its content begins and ends, if it has any.
    inner: Option<Range<usize>>,
    image: bool,
}

struct Reading<'a> {
    text: &'a str,
    hosts: &'a Hosts,
    cuts: Vec<Cut>,
    /// Links and images around the current place; `None` for those that stay.
    open: Vec<Option<Open>>,
    /// Whether the current place is in a fenced block of code.
    fenced: bool,
    /// Text read last. The parser hands it out in pieces, between which an address may go on.
    words: Option<Range<usize>>,
}

// === impl Reading ===

impl Reading<'_> {
    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        if !matches!(event, Event::End(TagEnd::Link | TagEnd::Image)) {
            for open in self.open.iter_mut().flatten() {
                let inner = open.inner.get_or_insert_with(|| range.clone());
                inner.end = inner.end.max(range.end);
            }
        }
        if let (Event::Text(_), false) = (&event, self.fenced) {
            self.words(range);
            return;
        }
        self.end_words();
        match event {
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                ..
            }) => self.start(link_type, &dest_url, range, false),
            Event::Start(Tag::Image {
                link_type,
                dest_url,
                ..
            }) => self.start(link_type, &dest_url, range, true),
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if let Some(Some(open)) = self.open.pop() {
                    self.close(&open);
                }
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                self.fenced = matches!(kind, CodeBlockKind::Fenced(_))
            }
            Event::End(TagEnd::CodeBlock) => self.fenced = false,
            Event::Html(_) | Event::InlineHtml(_) => {
                for (part, put) in html::cuts(&self.text[range.clone()], self.hosts) {
                    self.cut(range.start + part.start..range.start + part.end, &put);
                }
            }
            _ => {}
        }
    }

    /// Takes a piece of text. What is code only because of its indentation is text to some
    /// readers, and counts as text here.
    fn words(&mut self, range: Range<usize>) {
        match &mut self.words {
            // A backslash that escapes something stands between two pieces.
            Some(words) if range.start.saturating_sub(words.end) <= 1 => words.end = range.end,
            _ => {
                self.end_words();
                self.words = Some(range);
            }
        }
    }

    fn end_words(&mut self) {
        let Some(words) = self.words.take() else {
            return;
        };
        for part in bare::find(&self.text[words.clone()], self.hosts) {
            self.cut(words.start + part.start..words.start + part.end, LINK_GONE);
        }
    }

    fn start(&mut self, kind: LinkType, destination: &str, range: Range<usize>, image: bool) {
        let stays = kind == LinkType::Email || self.hosts.allow(destination);
        self.open.push((!stays).then_some(Open {
            range,
            inner: None,
            image,
        }));
    }

    /// Cuts the markup around the content, which stays; an autolink's content is its address.
    fn close(&mut self, open: &Open) {
        let gone = if open.image { IMAGE_GONE } else { LINK_GONE };
        let source = &self.text[open.range.clone()];
        match &open.inner {
            Some(inner) if !source.starts_with('<') => {
                self.cut(open.range.start..inner.start, "");
                let space = if inner.is_empty() { "" } else { " " };
                self.cut(inner.end..open.range.end, &format!("{space}{gone}"));
            }
            _ => self.cut(open.range.clone(), gone),
        }
    }

    fn cut(&mut self, range: Range<usize>, put: &str) {
        self.cuts.push(Cut {
            range,
            put: put.to_owned(),
        });
    }
}
