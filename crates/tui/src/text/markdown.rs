//! Markdown in lines that fit.
//!
//! What marks something stays readable without colour: headings keep their number signs, code its
//! backticks, and a link shows where it leads.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::table::Table;
use super::{clean, code, columns, hard, wrapped};

/// Columns by which code stands apart.
const CODE_INDENT: usize = 2;
/// However deep something is nested, so many columns are left for its words.
const TEXT_MIN: usize = 12;

/// What stands before every line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prefix {
    /// Before the first one.
    pub(crate) first: Vec<Span<'static>>,
    /// Before the others.
    pub(crate) rest: Vec<Span<'static>>,
}

/// Lines of a text that was cleaned.
pub(crate) fn markdown(text: &str, width: usize, prefix: Prefix) -> Vec<Line<'static>> {
    let mut writer = Writer::new(width, prefix);
    for event in Parser::new_ext(text, options()) {
        writer.event(event);
    }
    writer.end()
}

/// How much of a text that is still being written has found its form: whole blocks, whole entries
/// of an outermost list, whole lines of a block of code. The first number says where the last block
/// that counts begins, the second where the form ends.
pub(crate) fn settled(text: &str) -> (usize, usize) {
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let Some(text) = text.get(..whole) else {
        return (0, 0);
    };
    // What is set in begins behind its blanks, which are a part of it.
    let line = |at: usize| {
        text.get(..at)
            .and_then(|text| text.rfind('\n'))
            .map_or(0, |at| at + 1)
    };
    let mut depth = 0_usize;
    let mut block = 0;
    let mut entry = 0;
    let mut is_code = false;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    block = line(range.start);
                    entry = block;
                    is_code = matches!(tag, Tag::CodeBlock(CodeBlockKind::Fenced(_)));
                } else if depth == 1 && matches!(tag, Tag::Item) {
                    entry = line(range.start);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Rule if depth == 0 => {
                block = line(range.start);
                (entry, is_code) = (block, false);
            }
            _ => {}
        }
    }
    // A fence alone shows nothing yet.
    let has_lines = text
        .get(block..)
        .is_some_and(|code| code.lines().count() > 1);
    match is_code && has_lines {
        true => (block, whole),
        false => (block, entry),
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Puts events into lines.
#[derive(Debug)]
struct Writer {
    width: usize,
    lines: Vec<Line<'static>>,
    prefixes: Vec<Prefix>,
    inline: Vec<Span<'static>>,
    looks: Vec<Style>,
    lists: Vec<Option<u64>>,
    links: Vec<(String, usize)>,
    code: Option<(String, String)>,
    table: Option<Table>,
    /// Whether the next block of the outermost level wants a blank line before it.
    wants_gap: bool,
}

// === impl Writer ===

impl Writer {
    fn new(width: usize, prefix: Prefix) -> Self {
        Self {
            width,
            lines: Vec::new(),
            prefixes: vec![prefix],
            inline: Vec::new(),
            looks: vec![Style::new()],
            lists: Vec::new(),
            links: Vec::new(),
            code: None,
            table: None,
            wants_gap: false,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.finish(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.push(&text),
            },
            Event::Code(text) => {
                let look = self.look().fg(Color::Cyan);
                self.span(&format!("`{text}`"), look);
            }
            Event::Html(text) | Event::InlineHtml(text) => self.push(&text),
            Event::SoftBreak => self.push(" "),
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.gap();
                self.span("---", Style::new().add_modifier(Modifier::DIM));
                self.flush();
                self.wants_gap = true;
            }
            Event::TaskListMarker(is_done) => self.push(if is_done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(text) => self.push(&text),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.push(&text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                let look = Style::new().add_modifier(Modifier::BOLD);
                self.looks.push(look);
                self.span(&format!("{} ", "#".repeat(number(level))), look);
            }
            Tag::BlockQuote(_) => {
                self.gap();
                let mark = vec![Span::styled("> ", Style::new().add_modifier(Modifier::DIM))];
                self.prefixes.push(Prefix {
                    first: mark.clone(),
                    rest: mark,
                });
            }
            Tag::CodeBlock(kind) => {
                self.apart();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info
                        .split([' ', ',', '{'])
                        .next()
                        .unwrap_or_default()
                        .to_lowercase(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                // A list in an entry begins below the entry's words.
                match self.lists.is_empty() {
                    true => self.apart(),
                    false => self.flush(),
                }
                self.lists.push(first);
            }
            Tag::Item => self.entry(),
            Tag::Table(alignments) => {
                self.apart();
                self.table = Some(Table::new(alignments));
            }
            Tag::Emphasis => self.looks.push(self.look().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.looks.push(self.look().add_modifier(Modifier::BOLD)),
            Tag::Strikethrough => {
                self.push("~~");
                self.looks
                    .push(self.look().add_modifier(Modifier::CROSSED_OUT));
            }
            Tag::Link { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.inline.len()));
                self.looks
                    .push(self.look().add_modifier(Modifier::UNDERLINED));
            }
            Tag::Image { dest_url, .. } => {
                self.push("[image: ");
                self.links.push((dest_url.into_string(), usize::MAX));
            }
            Tag::HtmlBlock => self.gap(),
            Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell
            | Tag::FootnoteDefinition(_)
            | Tag::MetadataBlock(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript => {}
        }
    }

    fn finish(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.block_over(),
            TagEnd::Heading(_) => {
                self.looks.pop();
                self.block_over();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.prefixes.pop();
                self.wants_gap = true;
            }
            TagEnd::CodeBlock => self.code_over(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.wants_gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                self.prefixes.pop();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let room = self.room();
                    for line in table.lines(room) {
                        self.line(line);
                    }
                }
                self.wants_gap = true;
            }
            TagEnd::TableCell => {
                let spans = std::mem::take(&mut self.inline);
                if let Some(table) = &mut self.table {
                    table.cell(spans);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(table) = &mut self.table {
                    table.row_over();
                }
            }
            TagEnd::Emphasis | TagEnd::Strong => drop(self.looks.pop()),
            TagEnd::Strikethrough => {
                self.looks.pop();
                self.push("~~");
            }
            TagEnd::Link => self.link_over(),
            TagEnd::Image => {
                if let Some((url, _)) = self.links.pop() {
                    self.push(&format!("] ({url})"));
                }
            }
            TagEnd::FootnoteDefinition
            | TagEnd::MetadataBlock(_)
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript => {}
        }
    }

    /// The mark of a list's entry, and what stands below it.
    fn entry(&mut self) {
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        let rest = vec![Span::raw(" ".repeat(mark.len()))];
        self.prefixes.push(Prefix {
            first: vec![Span::raw(mark)],
            rest,
        });
        self.wants_gap = false;
    }

    /// Where a link leads, unless its words say so.
    fn link_over(&mut self) {
        self.looks.pop();
        let Some((url, from)) = self.links.pop() else {
            return;
        };
        let words = self.inline.get(from..).unwrap_or_default();
        let words: String = words.iter().map(|span| &*span.content).collect();
        let url = clean(&url);
        if words != url && format!("mailto:{words}") != url {
            self.span(&format!(" ({url})"), self.look());
        }
    }

    fn code_over(&mut self) {
        let Some((language, text)) = self.code.take() else {
            return;
        };
        let indent = " ".repeat(CODE_INDENT);
        let room = self.room().saturating_sub(CODE_INDENT);
        for line in text.lines() {
            for piece in hard(&code::painted(line, &language), room) {
                let mut spans = vec![Span::raw(indent.clone())];
                spans.extend(piece.spans);
                self.line(Line::from(spans));
            }
        }
        self.wants_gap = true;
    }

    fn block_over(&mut self) {
        self.flush();
        self.wants_gap = self.lists.is_empty();
    }

    /// The blank line between two blocks.
    fn gap(&mut self) {
        self.flush();
        if std::mem::take(&mut self.wants_gap) && !self.lines.is_empty() {
            let spans = self.prefix(false);
            self.lines.push(Line::from(spans));
        }
    }

    fn look(&self) -> Style {
        self.looks.last().copied().unwrap_or_default()
    }

    fn push(&mut self, text: &str) {
        let look = self.look();
        self.span(text, look);
    }

    /// Cleaned once more: an entity may have become any sign there is.
    fn span(&mut self, text: &str, look: Style) {
        let text = clean(text).replace('\n', " ");
        self.inline.push(Span::styled(text, look));
    }

    /// Columns that are left beside the prefixes.
    fn room(&self) -> usize {
        let taken =
            |spans: &Vec<Span<'_>>| spans.iter().map(|s| columns(&s.content)).sum::<usize>();
        let taken: usize = self.prefixes.iter().map(|prefix| taken(&prefix.rest)).sum();
        self.width.saturating_sub(taken).max(TEXT_MIN)
    }

    /// What stands before the next line. The first line of an entry has its mark, which is used up.
    fn prefix(&mut self, is_text: bool) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        for prefix in &mut self.prefixes {
            let is_unused = is_text && !prefix.first.is_empty();
            match is_unused {
                true => spans.append(&mut prefix.first),
                false => spans.extend(prefix.rest.iter().cloned()),
            }
        }
        spans
    }

    /// Ends the words of a paragraph.
    fn flush(&mut self) {
        let inline = std::mem::take(&mut self.inline);
        if inline.iter().all(|span| span.content.trim().is_empty()) {
            return;
        }
        // The mark of an entry is as wide as what stands below it; only the very first prefix is not.
        let taken = |spans: &[Span<'_>]| spans.iter().map(|s| columns(&s.content)).sum::<usize>();
        let extra = self
            .prefixes
            .first()
            .map_or(0, |prefix| match prefix.first.is_empty() {
                true => 0,
                false => taken(&prefix.first).saturating_sub(taken(&prefix.rest)),
            });
        for line in wrapped(&inline, self.room(), extra) {
            self.line(line);
        }
    }

    /// What is no paragraph does not begin beside a name.
    fn apart(&mut self) {
        self.gap();
        if self.lines.is_empty() && self.prefixes.len() == 1 {
            let label = self.prefix(true);
            if label.iter().any(|span| !span.content.trim().is_empty()) {
                self.lines.push(Line::from(label));
            }
        }
    }

    fn line(&mut self, line: Line<'static>) {
        let mut spans = self.prefix(true);
        spans.extend(line.spans);
        self.lines.push(Line::from(spans));
    }

    fn end(mut self) -> Vec<Line<'static>> {
        self.flush();
        let label = self
            .prefixes
            .first_mut()
            .map(|prefix| std::mem::take(&mut prefix.first));
        if self.lines.is_empty()
            && let Some(label) = label.filter(|label| !label.is_empty())
        {
            self.lines.push(Line::from(label));
        }
        self.lines
    }
}

fn number(level: HeadingLevel) -> usize {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
