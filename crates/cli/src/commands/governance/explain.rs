//! `legation governance explain`.

pub(crate) mod provider;
pub(crate) mod subject;

use clap::{Args, Subcommand};
use legation_api::governance::{FileState, FilesAnswer};
use legation_policy::Policy;
use legation_policy::governance::{Broken, Severity, file};

use super::Found;
use crate::table::Table;
use crate::{CliError, Context};

/// Arguments of `legation governance explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    #[command(subcommand)]
    what: What,
}

/// What to explain.
#[derive(Debug, Subcommand)]
enum What {
    /// Which files hold, and why the others do not.
    Files,
    /// Which model may have a request, and why.
    Provider(provider::ProviderArgs),
    /// How far a tool may go, who may call it, and what is demanded of it.
    Tool {
        /// The tool, as server/tool.
        tool: String,
    },
    /// What a client may do and see.
    Client {
        /// The client, as `legation connect` named it.
        client: String,
    },
}

pub(super) fn cmd_explain(context: &Context, args: &ExplainArgs) -> Result<(), CliError> {
    let found = super::find(context);
    match &args.what {
        What::Files => files(context, &found),
        What::Provider(args) => provider::explain(context, &found, args),
        What::Tool { tool } => subject::show(context, &subject::tool(found.governance(), tool)?),
        What::Client { client } => {
            subject::show(context, &subject::client(found.governance(), client))
        }
    }
}

fn files(context: &Context, found: &Found) -> Result<(), CliError> {
    let states = states(&found.policy).files;
    // Before the first start nothing is there, which is no fault of anybody's.
    let begun = context.home.governance().exists();
    if !begun {
        context.output.say(
            "there are no files yet: `legation governance init`, or the first start of the hub, writes them; \
             until then everything is refused",
        );
    }
    context.output.result(&states, |states| {
        let mut table = Table::new(&["FILE", "STATE", "SAYS"]);
        for one in states {
            table.row([one.file.clone(), one.state.clone(), one.says.clone()]);
        }
        table.render()
    })
}

/// Which files hold, and why the others do not.
#[must_use]
pub fn states(policy: &Policy) -> FilesAnswer {
    let all = policy.governance();
    let counted = |count: usize, what: &str| crate::table::counted(count, what);
    let mut states = vec![
        state(
            file::OPERATOR_PROFILE,
            all.profile.get().map(|profile| {
                let names: Vec<&str> = profile.entities.keys().map(|id| id.as_str()).collect();
                format!("entities {}", names.join(", "))
            }),
        ),
        state(
            file::ROLE_CARDS,
            all.roles
                .get()
                .map(|roles| counted(roles.roles.len(), "role")),
        ),
        state(
            file::HARD_BANS,
            all.bans.get().map(|bans| counted(bans.bans.len(), "ban")),
        ),
        state(
            file::AUTONOMY_LADDER,
            all.ladder.get().map(|ladder| {
                let mode = ladder.default_mode.as_str();
                format!(
                    "{}, {mode} for the rest",
                    counted(ladder.action_categories.len(), "action")
                )
            }),
        ),
        state(
            file::LLM_PROVIDER,
            all.providers.get().map(|providers| {
                let count = counted(providers.providers.len(), "provider");
                match providers.default_provider.as_str() {
                    "disabled" => format!("{count}, none by default"),
                    name => format!("{count}, {name} by default"),
                }
            }),
        ),
        state(
            file::OUTPUT_CONTRACTS,
            all.contracts
                .get()
                .map(|contracts| counted(contracts.contracts.len(), "contract")),
        ),
        state(
            file::ENTERPRISE,
            all.enterprise
                .get()
                .map(|policy| match policy.parts().len() {
                    0 => "the organisation has none".to_owned(),
                    count => counted(count, "file"),
                }),
        ),
    ];
    states.extend([file::PERMISSIONS, file::CEDAR].map(|name| rules_state(policy, name)));
    for (name, roster) in &all.rosters {
        let people = roster
            .get()
            .map(|roster| format!("people: {}", roster.people.len()));
        states.push(state(name, people));
    }
    FilesAnswer { files: states }
}

/// The state of a file whose rules are counted as they were loaded, not as they
/// are written.
fn rules_state(policy: &Policy, name: &'static str) -> FileState {
    let mut errors = policy
        .problems()
        .iter()
        .filter(|problem| &*problem.file == name && problem.severity == Severity::Error);
    let broken = errors.next().map(|problem| Broken {
        file: name,
        reason: problem.message.clone(),
    });
    let count = match name {
        file::CEDAR => match policy.policies() {
            1 => "1 policy".to_owned(),
            count => format!("{count} policies"),
        },
        _ => crate::table::counted(policy.permission_rules().map_or(0, Iterator::count), "rule"),
    };
    state(name, broken.as_ref().map_or(Ok(count), Err))
}

/// The organisation's file lies elsewhere than all others.
pub(super) fn shown(name: &str) -> &str {
    if name == file::ENTERPRISE {
        "/etc/legation/policy.toml"
    } else {
        name
    }
}

fn state(file: &str, says: Result<String, &Broken>) -> FileState {
    FileState {
        file: shown(file).to_owned(),
        state: if says.is_ok() { "holds" } else { "denies" }.to_owned(),
        says: says.unwrap_or_else(|broken| broken.reason.clone()),
    }
}
