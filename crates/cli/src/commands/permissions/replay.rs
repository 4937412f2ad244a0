//! `legation permissions replay`.

mod past;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use legation_api::audit::{Filter, Query, Record};
use legation_policy::governance::{FileText, Severity, Sources};
use legation_policy::replay::{Again, Answer, Replayer, Unknown};
use serde::Serialize;

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

#[derive(Debug, Serialize)]
struct Replayed {
    /// Calls that were decided again.
    calls: usize,
    /// With the same answer by the same rule.
    same: usize,
    /// With another answer.
    changed: usize,
    /// With the same answer by another rule.
    by_another_rule: usize,
    /// Whose answer depends on what was not recorded.
    depends: usize,
    /// Records of calls that no rule decided: unknown names, too many calls.
    without_decision: usize,
    /// What differs, the most frequent first.
    differences: Vec<Difference>,
}

/// Calls that differ in the same way.
#[derive(Debug, Serialize)]
struct Difference {
    calls: usize,
    /// The oldest and the newest of them.
    first: String,
    last: String,
    #[serde(flatten)]
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct What {
    client: String,
    server: String,
    verb: &'static str,
    item: String,
    before: Said,
    after: Said,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Said {
    answer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rung: Option<&'static str>,
    /// The rules whose answer is not known, and what they read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    depends: Vec<Reads>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Reads {
    rule: String,
    reads: Vec<String>,
}

pub(super) fn cmd_replay(context: &Context, args: &ReplayArgs) -> Result<(), CliError> {
    if args.last == 0 || args.last > LAST_MAX {
        let message = format!("--last takes 1 to {LAST_MAX}");
        return Err(CliError::new(Exit::Usage, message));
    }
    let targets = Targets::read(context);
    if let Some(error) = &targets.seen.unasked {
        return Err(error.clone());
    }
    let in_force = super::sources(context);
    let sources = tried(context, args, &in_force)?;
    let replayer = Replayer::load(&sources, &in_force, &targets.seen.known(context));
    check(&replayer, args)?;
    let replayed = replay(context, args.last, &targets, &replayer)?;
    context.output.result(&replayed, render)
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
fn check(replayer: &Replayer, args: &ReplayArgs) -> Result<(), CliError> {
    if args.rules.is_none() && args.governance.is_none() {
        return Ok(());
    }
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
) -> Result<Replayed, CliError> {
    let mut replayed = Replayed {
        calls: 0,
        same: 0,
        changed: 0,
        by_another_rule: 0,
        depends: 0,
        without_decision: 0,
        differences: Vec::new(),
    };
    let mut grouped: BTreeMap<What, (usize, String, String)> = BTreeMap::new();
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
            .entry(What::of(recorded, again))
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

fn render(replayed: &Replayed) -> String {
    let mut text = String::new();
    if !replayed.differences.is_empty() {
        let mut table = Table::new(&["CALLS", "CLIENT", "WHAT", "WAS", "WOULD BE"]);
        for difference in &replayed.differences {
            let What {
                client,
                server,
                verb,
                item,
                before,
                after,
            } = &difference.what;
            let what = match *verb {
                "tools/call" => format!("{server}/{item}"),
                verb => format!("{verb} {server}/{item}"),
            };
            table.row([
                difference.calls.to_string(),
                client.clone(),
                what,
                before.words(),
                after.words(),
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

// === impl What ===

impl What {
    fn of(recorded: Recorded, again: Again) -> Self {
        let depends = again.answer == Answer::Depends;
        let rung = (!depends && again.answer != Answer::Denied).then(|| again.rung.as_str());
        let rule = again.rule.map(|rule| rule.to_string());
        Self {
            before: Said {
                answer: recorded.answer.as_str(),
                rung: (recorded.answer != Answer::Denied).then(|| recorded.past_rung().as_str()),
                rule: Some(recorded.rule),
                depends: Vec::new(),
            },
            after: Said {
                answer: again.answer.as_str(),
                rule,
                rung,
                depends: again.depends.into_iter().map(Reads::of).collect(),
            },
            client: recorded.principal.client.to_string(),
            server: recorded.target.server.to_string(),
            verb: recorded.target.verb.as_str(),
            item: recorded.target.item.into(),
        }
    }
}

// === impl Said ===

impl Said {
    fn words(&self) -> String {
        let mut words = self.answer.to_owned();
        if let Some(rung) = self.rung.filter(|rung| *rung != "execute") {
            words.push_str(&format!(" ({rung})"));
        }
        if let Some(rule) = &self.rule {
            words.push_str(&format!(" by {rule}"));
        }
        let depends = self.depends.iter();
        let depends: Vec<String> = depends
            .map(|one| format!("{} reads {}", one.rule, one.reads.join(", ")))
            .collect();
        if !depends.is_empty() {
            words.push_str(&format!(": {}", printable(&depends.join("; "))));
        }
        words
    }
}

// === impl Reads ===

impl Reads {
    fn of(unknown: Unknown) -> Self {
        Self {
            rule: unknown.rule.to_string(),
            reads: unknown.reads,
        }
    }
}
