//! What is left of a text: a list that is balanced by construction.

use std::fmt::Write as _;

/// One piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The beginning of an element, which has an end further on.
    Open {
        /// Its name.
        tag: &'static str,
        /// Where it leads, for a link.
        href: Option<String>,
    },
    /// The end of the element that began last.
    Close {
        /// Its name.
        tag: &'static str,
    },
    /// `br` or `hr`.
    Void {
        /// Its name.
        tag: &'static str,
    },
    /// Text, not escaped.
    Text(String),
    /// Somebody's name, with a place in the message's list of mentions.
    Mention {
        /// The place.
        id: u32,
        /// The name.
        name: String,
    },
    /// The place of an attachment.
    Attachment {
        /// Which one.
        id: String,
    },
    /// A picture that is part of the message itself.
    Picture {
        /// Where Graph has it.
        src: String,
        /// What it shows.
        alt: String,
    },
    /// A picture from elsewhere, which is not fetched: its sender would learn
    /// who reads.
    NoPicture {
        /// What it shows.
        alt: String,
    },
}

/// A sanitised text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Html(pub(super) Vec<Piece>);

// === impl Html ===

impl Html {
    /// What is left of this HTML.
    #[must_use]
    pub fn parse(html: &str) -> Self {
        super::tokens::parse(html)
    }

    /// A text without markup; its lines stay lines.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let mut pieces = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if index > 0 {
                pieces.push(Piece::Void { tag: "br" });
            }
            if !line.is_empty() {
                pieces.push(Piece::Text(line.to_owned()));
            }
        }
        Self(pieces)
    }

    /// Its pieces.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// Whether there is nothing to see.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.0.iter().any(|piece| match piece {
            Piece::Text(text) => !text.trim().is_empty(),
            Piece::Open { .. } | Piece::Close { .. } | Piece::Void { .. } => false,
            Piece::Mention { .. }
            | Piece::Attachment { .. }
            | Piece::Picture { .. }
            | Piece::NoPicture { .. } => true,
        })
    }

    /// As HTML.
    #[must_use]
    pub fn to_html(&self) -> String {
        let mut html = String::new();
        for piece in &self.0 {
            piece.write(&mut html);
        }
        html
    }

    /// As text for a reader of lines; `name` names an attachment.
    #[must_use]
    pub fn to_text(&self, name: &dyn Fn(&str) -> Option<String>) -> String {
        super::text::write(&self.0, name)
    }

    /// Turns the first `@Name` of each name into a mention; who is not named
    /// in the text is named before it.
    #[must_use]
    pub fn with_mentions<'n>(mut self, names: impl Iterator<Item = &'n str>) -> Self {
        let mut before = Vec::new();
        for (id, name) in (0..).zip(names) {
            let is_there = self
                .0
                .iter()
                .any(|piece| matches!(piece, Piece::Mention { id: known, .. } if *known == id));
            if is_there || self.mention(id, name) {
                continue;
            }
            let name = name.to_owned();
            before.push(Piece::Mention { id, name });
            before.push(Piece::Text(" ".to_owned()));
        }
        before.append(&mut self.0);
        Self(before)
    }

    fn mention(&mut self, id: u32, name: &str) -> bool {
        let wanted = format!("@{name}");
        for at in 0..self.0.len() {
            let Some(Piece::Text(text)) = self.0.get(at) else {
                continue;
            };
            let Some((left, right)) = text.split_once(&wanted) else {
                continue;
            };
            let name = name.to_owned();
            let pieces = [
                Piece::Text(left.to_owned()),
                Piece::Mention { id, name },
                Piece::Text(right.to_owned()),
            ];
            self.0.splice(at..=at, pieces);
            return true;
        }
        false
    }
}

// === impl Piece ===

impl Piece {
    pub(super) fn write(&self, html: &mut String) {
        // Writing to a String cannot fail.
        match self {
            Self::Open { tag, href: None } => {
                let _ = write!(html, "<{tag}>");
            }
            Self::Open {
                tag,
                href: Some(href),
            } => {
                let _ = write!(html, "<{tag} href=\"");
                escape(href, html);
                html.push_str("\">");
            }
            Self::Close { tag } => {
                let _ = write!(html, "</{tag}>");
            }
            Self::Void { tag } => {
                let _ = write!(html, "<{tag}>");
            }
            Self::Text(text) => escape(text, html),
            Self::Mention { id, name } => {
                let _ = write!(html, "<at id=\"{id}\">");
                escape(name, html);
                html.push_str("</at>");
            }
            Self::Attachment { id } => {
                html.push_str("<attachment id=\"");
                escape(id, html);
                html.push_str("\"></attachment>");
            }
            Self::Picture { src, alt } => {
                html.push_str("<img src=\"");
                escape(src, html);
                html.push_str("\" alt=\"");
                escape(alt, html);
                html.push_str("\">");
            }
            Self::NoPicture { alt } => escape(&picture(alt), html),
        }
    }
}

/// What stands for a picture.
pub(super) fn picture(alt: &str) -> String {
    match alt.trim() {
        "" => "[picture]".to_owned(),
        alt => format!("[picture: {alt}]"),
    }
}

pub(super) fn escape(text: &str, html: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
        let (plain, special) = rest.split_at(at);
        html.push_str(plain);
        let (escaped, length) = match special.as_bytes().first() {
            Some(b'&') => ("&amp;", 1),
            Some(b'<') => ("&lt;", 1),
            Some(b'>') => ("&gt;", 1),
            Some(b'"') => ("&quot;", 1),
            _ => ("&#39;", 1),
        };
        html.push_str(escaped);
        rest = &special[length..];
    }
    html.push_str(rest);
}
