//! Messages as people and programs read them.

use clap::Args;
use legation_api::inbox::{Export, List, ListAnswer, Message};
use legation_core::Wall;
use legation_inbox::summary;

use super::source::Source;
use crate::table::Table;
use crate::{CliError, Context};

/// Characters of a message in a line.
const SUMMARY: usize = 160;
/// The same in a table.
const CELL: usize = 60;
/// Messages that are read at a time.
const PAGE: usize = 500;

/// Arguments of `legation inbox list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// How many at most.
    #[arg(long, short = 'n', default_value_t = 20)]
    limit: usize,
    /// Only of this channel.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
}

/// Arguments of `legation inbox export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Only what came after this place (`seq`).
    #[arg(long, default_value_t = 0, value_name = "SEQ")]
    after: u64,
}

pub(super) fn cmd_list(context: &Context, args: &ListArgs) -> Result<(), CliError> {
    let mut source = Source::open(context)?;
    let mut answer = ListAnswer {
        messages: Vec::new(),
    };
    let mut before = None;
    while answer.messages.len() < args.limit {
        let page = source.list(&List {
            before,
            limit: match args.channel {
                None => (args.limit - answer.messages.len()).min(PAGE),
                Some(_) => PAGE,
            },
        })?;
        let Some(last) = page.messages.last() else {
            break;
        };
        before = Some(last.seq);
        let channel = args.channel.as_ref();
        let wanted = page.messages.into_iter();
        let wanted = wanted.filter(|one| channel.is_none_or(|name| *name == one.channel));
        answer.messages.extend(wanted);
    }
    answer.messages.truncate(args.limit);
    context.output.result(&answer, |answer| {
        let mut table = Table::new(&["SEQ", "TIME", "CHANNEL", "FROM", "TEXT", "ID"]);
        for message in &answer.messages {
            table.row([
                message.seq.to_string(),
                message.received_at.clone(),
                message.channel.clone(),
                unescaped(&message.from),
                summary(&unescaped(&message.content_text_sanitized), CELL),
                message.id.clone(),
            ]);
        }
        context.output.foreign(&table.render())
    })
}

pub(super) fn cmd_export(context: &Context, args: &ExportArgs) -> Result<(), CliError> {
    let mut source = Source::open(context)?;
    let mut after = args.after;
    loop {
        let page = source.export(&Export { after, limit: PAGE })?.messages;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = last.seq;
        let lines: Result<Vec<String>, _> = page.iter().map(serde_json::to_string).collect();
        let lines = lines.map_err(|error| CliError::failed(&error))?;
        context.output.data(&lines.join("\n"));
    }
}

/// A message in one line: `[teams 18:21] Name: "Text"`.
pub(crate) fn line(message: &Message) -> String {
    let time = Wall::parse(&message.received_at).map_or_else(String::new, |wall| {
        // HH:MM of RFC 3339.
        wall.to_string().get(11..16).unwrap_or_default().to_owned()
    });
    let mark = match message.kind.as_str() {
        "edited" => " (edited)",
        "deleted" => " (deleted)",
        _ => "",
    };
    format!(
        "[{} {time}] {}{mark}: \"{}\"",
        message.channel,
        unescaped(&message.from),
        summary(&unescaped(&message.content_text_sanitized), SUMMARY)
    )
}

/// A whole message.
pub(super) fn whole(message: &Message) -> String {
    let mut text = format!(
        "{} {} from {} in {}\nid {} version {} record {}\n",
        message.channel,
        message.received_at,
        unescaped(&message.from),
        message.chat_id,
        message.id,
        message.version,
        message.seq
    );
    if let Some(entity) = &message.entity {
        text.push_str(&format!("entity {entity}\n"));
    }
    for (key, value) in &message.meta {
        text.push_str(&format!("{key}: {}\n", unescaped(value)));
    }
    text.push('\n');
    text.push_str(&unescaped(&message.content_text_sanitized));
    text
}

/// Text for people, who can see that a tag is a piece of text.
pub(crate) fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}
