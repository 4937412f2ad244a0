//! `legation permissions replay`.

mod past;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use legation_api::audit::{Filter, Query, Record};
use legation_api::governance::{Difference, Differs, Reads, Replay, ReplayAnswer, Said};
use legation_policy::governance::{FileText, Severity, Sources};
use legation_policy::replay::{Again, Answer, Replayer, Unknown};

use super::target::Targets;
use crate::commands::audit::source::Source;
use crate::table::{Table, counted, printable};
use crate::{CliError, Context, Exit};
use past::Recorded;

/// Records asked for at a time.
const PAGE: usize = 10_000;
/// Most calls that are decided again.
const LAST_MAX: usize = 1_000_000;

/// Arguments of `legation permissions replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// How many calls, counted from the newest.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    last: usize,

    /// A file to try in the place of permissions.toml.
    #[arg(long, value_name = "FILE", conflicts_with = "governance")]
    rules: Option<PathBuf>,

    /// A folder to try in the place of the governance folder.
    #[arg(long, value_name = "DIR")]
    governance: Option<PathBuf>,
}

pub(super) fn cmd_replay(context: &Context, args: &ReplayArgs) -> Result<(), CliError> {
    let in_force = super::sources(context);
    let sources = tried(context, args, &in_force)?;
    let is_trial = args.rules.is_some() || args.governance.is_some();
    let replayed = again(context, (&sources, &in_force), args.last, is_trial)?;
    context.output.result(&replayed, render)
}

/// Decides the newest recorded calls again, for whoever asks the hub.
///
/// # Errors
/// When the rules to try cannot be read, or the records cannot.
pub fn replayed(context: &Context, request: &Replay) -> Result<ReplayAnswer, CliError> {
    let in_force = super::sources(context);
    let sources = match &request.rules {
        Some(rules) => Sources {
            permissions: FileText::Text(rules.clone()),
            ..in_force.clone()
        },
        None => in_force.clone(),
    };
    let is_trial = request.rules.is_some();
    again(context, (&sources, &in_force), request.last, is_trial)
}

fn again(
    context: &Context,
    (sources, in_force): (&Sources, &Sources),
    last: usize,
    is_trial: bool,
) -> Result<ReplayAnswer, CliError> {
    if last == 0 || last > LAST_MAX {
        let message = format!("--last takes 1 to {LAST_MAX}");
        return Err(CliError::new(Exit::Usage, message));
    }
    let targets = Targets::read(context);
    if let Some(error) = &targets.seen.unasked {
        return Err(error.clone());
    }
    let replayer = Replayer::load(sources, in_force, &targets.seen.known(context));
    if is_trial {
        check(&replayer)?;
    }
    replay(context, last, &targets, &replayer)
}

/// The rules to try.
fn tried(context: &Context, args: &ReplayArgs, in_force: &Sources) -> Result<Sources, CliError> {
    if let Some(path) = &args.rules {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let message = format!("{} cannot be read: {error}", path.display());
            CliError::new(Exit::Usage, message)
        })?;
        return Ok(Sources {
            permissions: FileText::Text(text),
            ..in_force.clone()
        });
    }
    let Some(folder) = &args.governance else {
        return Ok(in_force.clone());
    };
    if !folder.is_dir() {
        let message = format!("{} is no folder", folder.display());
        return Err(CliError::new(Exit::Usage, message));
    }
    let folders: Vec<_> = std::env::current_dir().into_iter().collect();
    Ok(crate::governance::sources_in(
        folder,
        &context.environment,
        &folders,
    ))
}

/// Rules that cannot be read refuse everything, which nobody needs a replay to
/// know. Those in force may well be so: then it is what is asked about.
fn check(replayer: &Replayer) -> Result<(), CliError> {
    let problems = replayer.policy().problems();
    let error = problems
        .iter()
        .find(|problem| problem.severity == Severity::Error);
    error.map_or(Ok(()), |problem| {
        let message = format!("{problem}; nothing was decided again");
        Err(CliError::new(Exit::Usage, message).with_hint(problem.hint.clone()))
    })
}

fn replay(
    context: &Context,
    last: usize,
    targets: &Targets,
    replayer: &Replayer,
) -> Result<ReplayAnswer, CliError> {
    let mut replayed = ReplayAnswer::default();
    let mut grouped: BTreeMap<Differs, (usize, String, String)> = BTreeMap::new();
    for record in newest(context, last)? {
        let Some(recorded) = Recorded::read(&record, targets) else {
            replayed.without_decision += 1;
            continue;
        };
        replayed.calls += 1;
        let again = recorded.decide(replayer);
        if again.answer == Answer::Depends {
            replayed.depends += 1;
        } else if again.answer != recorded.answer || again.rung != recorded.rung(&again) {
            replayed.changed += 1;
        } else if again.is_by(&recorded.rule) {
            replayed.same += 1;
            continue;
        } else {
            replayed.by_another_rule += 1;
        }
        // Records come from the newest.
        let call = recorded.call.clone();
        let group = grouped
            .entry(differs(recorded, again))
            .or_insert_with(|| (0, String::new(), call.clone()));
        group.0 += 1;
        group.1 = call;
    }
    let differences = grouped
        .into_iter()
        .map(|(what, (calls, first, last))| Difference {
            calls,
            first,
            last,
            what,
        });
    replayed.differences = differences.collect();
    replayed
        .differences
        .sort_by_key(|difference| std::cmp::Reverse(difference.calls));
    Ok(replayed)
}

/// The newest records of calls, from the newest: what was about to be done and
/// what was refused.
fn newest(context: &Context, last: usize) -> Result<Vec<Record>, CliError> {
    let mut source = Source::open(context)?;
    let mut all: Vec<Record> = Vec::new();
    for kind in ["intent", "refused"] {
        let (mut before, mut missing) = (None, last);
        loop {
            let page = source.query(&Query {
                filter: Filter {
                    kind: Some(kind.to_owned()),
                    ..Filter::default()
                },
                limit: missing.min(PAGE),
                scan: None,
                before,
            })?;
            missing -= page.records.len().min(missing);
            all.extend(page.records);
            before = page.next;
            if missing == 0 || before.is_none() {
                break;
            }
        }
    }
    all.sort_by_key(|record| std::cmp::Reverse(record.position));
    all.truncate(last);
    Ok(all)
}

fn render(replayed: &ReplayAnswer) -> String {
    let mut text = String::new();
    if !replayed.differences.is_empty() {
        let mut table = Table::new(&["CALLS", "CLIENT", "WHAT", "WAS", "WOULD BE"]);
        for difference in &replayed.differences {
            let Differs {
                client,
                server,
                verb,
                item,
                before,
                after,
            } = &difference.what;
            let what = match verb.as_str() {
                "tools/call" => format!("{server}/{item}"),
                verb => format!("{verb} {server}/{item}"),
            };
            table.row([
                difference.calls.to_string(),
                client.clone(),
                what,
                words(before),
                words(after),
            ]);
        }
        text.push_str(&table.render());
        text.push('\n');
    }
    text.push_str(&format!(
        "{} decided again: {} the same, {} with another answer, {} by another rule, \
         {} depending on what is not recorded\n",
        counted(replayed.calls, "call"),
        replayed.same,
        replayed.changed,
        replayed.by_another_rule,
        replayed.depends
    ));
    if replayed.without_decision > 0 {
        let count = counted(replayed.without_decision, "call");
        text.push_str(&format!(
            "{count} had no decision of the rules to begin with\n"
        ));
    }
    text
}

/// What calls that differ in the same way have in common.
fn differs(recorded: Recorded, again: Again) -> Differs {
    let depends = again.answer == Answer::Depends;
    let rung = (!depends && again.answer != Answer::Denied).then(|| again.rung.as_str().to_owned());
    let rule = again.rule.map(|rule| rule.to_string());
    let past_rung = || recorded.past_rung().as_str().to_owned();
    Differs {
        before: Said {
            answer: recorded.answer.as_str().to_owned(),
            rung: (recorded.answer != Answer::Denied).then(past_rung),
            rule: Some(recorded.rule),
            depends: Vec::new(),
        },
        after: Said {
            answer: again.answer.as_str().to_owned(),
            rule,
            rung,
            depends: again.depends.into_iter().map(reads).collect(),
        },
        client: recorded.principal.client.to_string(),
        server: recorded.target.server.to_string(),
        verb: recorded.target.verb.as_str().to_owned(),
        item: recorded.target.item.into(),
    }
}

fn reads(unknown: Unknown) -> Reads {
    Reads {
        rule: unknown.rule.to_string(),
        reads: unknown.reads,
    }
}

fn words(said: &Said) -> String {
    let mut words = said.answer.clone();
    if let Some(rung) = said.rung.as_ref().filter(|rung| *rung != "execute") {
        words.push_str(&format!(" ({rung})"));
    }
    if let Some(rule) = &said.rule {
        words.push_str(&format!(" by {rule}"));
    }
    let depends = said.depends.iter();
    let depends: Vec<String> = depends
        .map(|one| format!("{} reads {}", one.rule, one.reads.join(", ")))
        .collect();
    if !depends.is_empty() {
        words.push_str(&format!(": {}", printable(&depends.join("; "))));
    }
    words
}
