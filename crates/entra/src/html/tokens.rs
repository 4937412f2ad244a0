//! From HTML to pieces.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use super::{Html, Piece};
use crate::account::Cloud;

/// Deeper than this nothing is opened any more.
const DEPTH_MAX: usize = 48;

/// Elements that may stay. Attributes go, but for `href` of a link.
const PERMITTED: &[&str] = &[
    "a",
    "b",
    "blockquote",
    "code",
    "del",
    "div",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "i",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "span",
    "strike",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
];
const VOID: &[&str] = &["br", "hr"];
/// Of the permitted ones, those that may stand in a name.
const INLINE: &[&str] = &["b", "em", "i", "s", "span", "strong", "u"];
/// Elements that go with all that is in them.
const GONE: &[&str] = &[
    "applet", "audio", "base", "canvas", "embed", "frame", "frameset", "head", "iframe", "link",
    "math", "meta", "noembed", "noframes", "noscript", "object", "option", "script", "select",
    "style", "svg", "template", "textarea", "title", "video", "xmp",
];
/// Of those, elements without an end.
const GONE_VOID: &[&str] = &["base", "embed", "frame", "link", "meta"];
const SCHEMES: &[&str] = &["https://", "http://", "mailto:"];

#[derive(Default)]
struct Sink(RefCell<State>);

#[derive(Default)]
struct State {
    pieces: Vec<Piece>,
    open: Vec<&'static str>,
    /// An element that goes with its content, and how many of its name are
    /// open in it.
    gone: Option<(Box<str>, usize)>,
    /// A mention whose name is being read.
    mention: Option<(u32, String)>,
}

pub(super) fn parse(html: &str) -> Html {
    // Most messages are a line without markup.
    if !html.contains(['<', '&', '\0']) {
        return Html(match html.is_empty() {
            true => Vec::new(),
            false => vec![Piece::Text(html.to_owned())],
        });
    }
    let tokenizer = Tokenizer::new(Sink::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    // Nothing runs a script here, so the tokenizer never stops before the end;
    // each turn takes something away all the same.
    while !input.is_empty() {
        let _script = tokenizer.feed(&input);
    }
    tokenizer.end();
    let mut state = tokenizer.sink.0.take();
    state.end();
    Html(state.pieces)
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut state = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => state.text(&text),
            Token::TagToken(tag) => match tag.kind {
                TagKind::StartTag => return state.start(&tag),
                TagKind::EndTag => state.finish(&tag.name),
            },
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

// === impl State ===

impl State {
    fn text(&mut self, text: &str) {
        if self.gone.is_some() {
            return;
        }
        if let Some((_, name)) = &mut self.mention {
            name.push_str(text);
        } else if let Some(Piece::Text(before)) = self.pieces.last_mut() {
            before.push_str(text);
        } else {
            self.pieces.push(Piece::Text(text.to_owned()));
        }
    }

    fn start(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name: &str = &tag.name;
        // How the tokenizer reads on does not depend on what we keep.
        let on = match name {
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            "style" | "xmp" | "iframe" | "noembed" | "noframes" | "noscript" => {
                TokenSinkResult::RawData(RawKind::Rawtext)
            }
            "textarea" | "title" => TokenSinkResult::RawData(RawKind::Rcdata),
            "plaintext" => TokenSinkResult::Plaintext,
            _ => TokenSinkResult::Continue,
        };
        if let Some((gone, depth)) = &mut self.gone {
            if **gone == *name {
                *depth += 1;
            }
            return on;
        }
        if GONE_VOID.contains(&name) {
            return on;
        }
        if GONE.contains(&name) || (is_hidden(tag) && !VOID.contains(&name) && name != "img") {
            self.gone = Some((name.into(), 1));
            return on;
        }
        self.keep(name, tag);
        on
    }

    fn keep(&mut self, name: &str, tag: &Tag) {
        let known = |list: &[&'static str]| list.iter().find(|one| ***one == *name).copied();
        match name {
            "at" => {
                let id = attribute(tag, "id").and_then(|id| id.parse().ok());
                self.end_mention();
                self.mention = Some((id.unwrap_or(0), String::new()));
            }
            "attachment" => {
                let id = attribute(tag, "id").unwrap_or_default().to_owned();
                self.pieces.push(Piece::Attachment { id });
            }
            "img" => self.picture(tag),
            // Teams' own: a smiley, and a block of code.
            "emoji" => {
                let alt = attribute(tag, "alt").unwrap_or_default().to_owned();
                self.text(&alt);
            }
            "codeblock" => self.open("pre", None),
            _ => {
                if let Some(tag) = known(VOID) {
                    self.end_mention();
                    self.pieces.push(Piece::Void { tag });
                } else if let Some(permitted) = known(PERMITTED) {
                    let href = attribute(tag, "href").and_then(link);
                    let is_link = permitted == "a";
                    if !is_link || href.is_some() {
                        self.open(permitted, href.filter(|_| is_link));
                    }
                }
            }
        }
    }

    fn open(&mut self, tag: &'static str, href: Option<String>) {
        // A name is a few words; where it was left open it ends with its line.
        if !INLINE.contains(&tag) {
            self.end_mention();
        }
        if self.open.len() < DEPTH_MAX {
            self.open.push(tag);
            self.pieces.push(Piece::Open { tag, href });
        }
    }

    fn finish(&mut self, name: &str) {
        if let Some((gone, depth)) = &mut self.gone {
            if **gone == *name {
                *depth -= 1;
                if *depth == 0 {
                    self.gone = None;
                }
            }
            return;
        }
        let name = match name {
            "at" => return self.end_mention(),
            "codeblock" => "pre",
            name => name,
        };
        // An end without a beginning is nothing; one with closes what was left
        // open in between.
        let Some(depth) = self.open.iter().rposition(|open| *open == name) else {
            return;
        };
        while self.open.len() > depth {
            self.close();
        }
    }

    fn close(&mut self) {
        if let Some(tag) = self.open.pop() {
            self.pieces.push(Piece::Close { tag });
        }
    }

    fn end_mention(&mut self) {
        if let Some((id, name)) = self.mention.take() {
            let name = name.trim().to_owned();
            self.pieces.push(Piece::Mention { id, name });
        }
    }

    fn picture(&mut self, tag: &Tag) {
        let alt = attribute(tag, "alt").unwrap_or_default().to_owned();
        let src = attribute(tag, "src").unwrap_or_default();
        let is_own = is_hosted(src);
        self.pieces.push(match is_own {
            true => Piece::Picture {
                src: src.to_owned(),
                alt,
            },
            false => Piece::NoPicture { alt },
        });
    }

    fn end(&mut self) {
        self.end_mention();
        while !self.open.is_empty() {
            self.close();
        }
    }
}

fn attribute<'t>(tag: &'t Tag, name: &str) -> Option<&'t str> {
    let found = tag.attrs.iter().find(|one| &*one.name.local == name);
    found.map(|one| &*one.value)
}

/// What a person does not see an agent does not read either.
fn is_hidden(tag: &Tag) -> bool {
    if attribute(tag, "hidden").is_some() {
        return true;
    }
    let Some(style) = attribute(tag, "style") else {
        return false;
    };
    let style: String = style.chars().filter(|c| !c.is_whitespace()).collect();
    let style = style.to_ascii_lowercase();
    [
        "display:none",
        "visibility:hidden",
        "font-size:0",
        "opacity:0",
    ]
    .iter()
    .any(|hidden| {
        style.split(';').any(|one| {
            one.strip_prefix(hidden)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['p', 'e', '!', '%']))
        })
    })
}

/// Pictures of the message itself are Graph's; any other host would learn who
/// fetches one.
fn is_hosted(src: &str) -> bool {
    let of_graph = |cloud: Cloud| {
        let rest = src.strip_prefix(cloud.graph_resource());
        rest.is_some_and(|rest| rest.starts_with('/') && rest.contains("/hostedContents/"))
    };
    let is_graphs = src.starts_with("../hostedContents/") || Cloud::ALL.into_iter().any(of_graph);
    is_graphs && src.ends_with("/$value")
}

/// An address people can be led to: the web and mail, nothing that runs.
fn link(href: &str) -> Option<String> {
    let plain: String = href.trim().chars().filter(|c| !c.is_control()).collect();
    let lower = plain.to_ascii_lowercase();
    let known = SCHEMES.iter().any(|scheme| lower.starts_with(scheme));
    known.then_some(plain)
}
