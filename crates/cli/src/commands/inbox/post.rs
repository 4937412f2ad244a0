//! `legation inbox post`: the source for local producers.

use std::collections::BTreeMap;
use std::io::Read as _;

use clap::Args;
use legation_api::inbox::Post;

use super::source::Source;
use crate::{CliError, Context, Exit};

/// Most that is read of standard input, in bytes.
const INPUT_MAX: u64 = 16 * 1024 * 1024;

/// Arguments of `legation inbox post`.
#[derive(Debug, Args)]
pub struct PostArgs {
    /// What to say; `-` reads it from standard input.
    text: String,
    /// Who says it.
    #[arg(long, value_name = "NAME", default_value = "local")]
    from: String,
    /// The channel it comes through.
    #[arg(long, value_name = "NAME", default_value = "local")]
    channel: String,
    /// The conversation it belongs to.
    #[arg(long, value_name = "ID", default_value = "local")]
    chat: String,
    /// An id of the producer's, so that the same message is kept once however
    /// often it is posted.
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Which version of the message it is; another one is kept as another record.
    #[arg(long, value_name = "VERSION", default_value = "1")]
    message_version: String,
    /// Whose data it is.
    #[arg(long, value_name = "ENTITY")]
    entity: Option<String>,
    /// What else belongs to it; may be repeated. `folder=PATH` says which agent's
    /// session is woken first: one that works there.
    #[arg(long, value_name = "KEY=VALUE")]
    meta: Vec<String>,
}

pub(super) fn cmd_post(context: &Context, args: PostArgs) -> Result<(), CliError> {
    let meta = args.meta.iter().map(|pair| {
        let pair = pair.split_once('=');
        let pair = pair.ok_or_else(|| CliError::new(Exit::Usage, "--meta takes KEY=VALUE"))?;
        Ok((pair.0.to_owned(), pair.1.to_owned()))
    });
    let meta: BTreeMap<String, String> = meta.collect::<Result<_, CliError>>()?;
    let text = match args.text.as_str() {
        "-" => input()?,
        text => text.to_owned(),
    };
    let answer = Source::open(context)?.post(Post {
        channel: args.channel,
        chat_id: args.chat,
        id: args.id,
        version: args.message_version,
        from: args.from,
        text,
        meta,
        entity: args.entity,
    })?;
    context
        .output
        .result(&answer, |answer| match answer.duplicate {
            true => format!("{} is there already, as record {}", answer.id, answer.seq),
            false => format!("kept as record {}, id {}", answer.seq, answer.id),
        })
}

fn input() -> Result<String, CliError> {
    let mut text = String::new();
    let mut limited = std::io::stdin().lock().take(INPUT_MAX + 1);
    limited
        .read_to_string(&mut text)
        .map_err(|error| CliError::failed(&error))?;
    if text.len() as u64 > INPUT_MAX {
        return Err(CliError::new(
            Exit::Usage,
            "standard input is longer than 16 MiB; the message was not kept",
        ));
    }
    Ok(text)
}
