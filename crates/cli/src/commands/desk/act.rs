//! `legation desk act`.

use clap::{Args, Subcommand, ValueEnum};
use legation_api::desk::{Act, Day, DealAct, DealActAnswer, Link, Party, Stage};

use crate::commands::running_hub;
use crate::table::printable;
use crate::{CliError, Context};

/// Arguments of `legation desk act`.
#[derive(Debug, Args)]
pub struct ActArgs {
    /// Which deal, as `deals` shows it.
    id: String,
    /// Only say what would be done.
    #[arg(long)]
    dry_run: bool,
    #[command(subcommand)]
    act: ActCommand,
}

/// What is done to a deal.
#[derive(Debug, Subcommand)]
enum ActCommand {
    /// Bring it to a stage: forward by any number, back by one.
    Stage {
        /// Which.
        stage: StageName,
    },
    /// Let it rest; `resume` undoes it.
    Pause,
    /// Go on with it.
    Resume,
    /// Note something.
    Note {
        /// What.
        text: String,
    },
    /// Add somebody who takes part, or change as what.
    Party {
        /// Their name.
        name: String,
        /// As what.
        #[arg(long, default_value = "")]
        role: String,
        /// Where they are written to.
        #[arg(long, default_value = "")]
        address: String,
    },
    /// Add a day that matters, or move the one of its name.
    Date {
        /// What happens then.
        label: String,
        /// The day, as 2026-05-01.
        date: String,
    },
    /// Put something to it.
    Link {
        /// What people call it.
        label: String,
        /// An https address, or a source such as `mail/ACCOUNT/ID`.
        target: String,
    },
    /// Put it away; `restore` undoes it.
    Archive,
    /// Take it out again, as it was.
    Restore,
}

/// How far a deal is.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum StageName {
    DealIdentified,
    NdaSigned,
    DataRoomAccess,
    DdActive,
    PsaInProgress,
    InvestorOnboarding,
    Closing,
    Closed,
}

pub(super) fn cmd_act(context: &Context, args: ActArgs) -> Result<(), CliError> {
    let asked = DealAct {
        deal_id: args.id,
        act: args.act.wire(),
        dry_run: args.dry_run,
    };
    let answer = running_hub(context)?.call(&asked)?;
    context.output.result(&answer, acted)
}

fn acted(answer: &DealActAnswer) -> String {
    let what = format!("{}: {}", answer.action, printable(&answer.details));
    match answer.done {
        true => format!("{what}\n"),
        false => format!("{what}. Nothing was done.\n"),
    }
}

// === impl ActCommand ===

impl ActCommand {
    fn wire(self) -> Act {
        match self {
            Self::Stage { stage } => Act::Stage {
                stage: stage.wire(),
            },
            Self::Pause => Act::Pause,
            Self::Resume => Act::Resume,
            Self::Note { text } => Act::Note { text },
            Self::Party {
                name,
                role,
                address,
            } => Act::Party {
                party: Party {
                    name,
                    role,
                    address,
                },
            },
            Self::Date { label, date } => Act::Date {
                date: Day { label, date },
            },
            Self::Link { label, target } => Act::Link {
                link: Link { label, target },
            },
            Self::Archive => Act::Archive,
            Self::Restore => Act::Restore,
        }
    }
}

// === impl StageName ===

impl StageName {
    fn wire(self) -> Stage {
        match self {
            Self::DealIdentified => Stage::DealIdentified,
            Self::NdaSigned => Stage::NdaSigned,
            Self::DataRoomAccess => Stage::DataRoomAccess,
            Self::DdActive => Stage::DdActive,
            Self::PsaInProgress => Stage::PsaInProgress,
            Self::InvestorOnboarding => Stage::InvestorOnboarding,
            Self::Closing => Stage::Closing,
            Self::Closed => Stage::Closed,
        }
    }
}
