//! From Markdown, as agents write it.

use pulldown_cmark::{Options, Parser, html};

use super::Html;

/// What is left of this Markdown (CommonMark, with tables and strikethrough).
/// HTML in it is treated like any other.
#[must_use]
pub fn from_markdown(text: &str) -> Html {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut rendered = String::with_capacity(text.len() * 3 / 2);
    html::push_html(&mut rendered, Parser::new_ext(text, options));
    Html::parse(rendered.trim_end())
}
