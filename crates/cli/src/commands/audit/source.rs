//! Where records come from: a running hub, or the store itself.
//!
//! A running hub is asked; without one the store is read under the data
//! directory's lock, so that no hub can start writing in between.

use std::path::Path;

use legation_api::AdminClient;
use legation_api::audit::{
    Export, ExportAnswer, Query, QueryAnswer, Record, Show, Tail, Verify, VerifyAnswer,
};
use legation_core::Secret;
use legation_core::home::HomeLock;
use legation_ledger::LedgerReader;
use legation_store::{DatabaseUrl, OpenError};

use super::answers;
use crate::commands::{config, hub};
use crate::{CliError, Context, Exit};

/// The ledger, whoever holds it.
pub(crate) enum Source {
    Hub(Box<AdminClient>),
    /// The lock is held for as long as the reader is used.
    Files {
        reader: LedgerReader,
        _lock: HomeLock,
    },
}

// === impl Source ===

impl Source {
    pub(crate) fn open(context: &Context) -> Result<Self, CliError> {
        match hub(context)? {
            Some(client) => Ok(Self::Hub(Box::new(client))),
            None => files(context),
        }
    }

    pub(crate) fn tail(&mut self, count: usize) -> Result<Vec<Record>, CliError> {
        match self {
            Self::Hub(client) => Ok(client.call(&Tail { count })?.records),
            Self::Files { reader, .. } => {
                let entries = reader.records().tail(count);
                answers::records(&entries.map_err(|error| answers::of_ledger(&error))?)
            }
        }
    }

    pub(crate) fn query(&mut self, query: &Query) -> Result<QueryAnswer, CliError> {
        match self {
            Self::Hub(client) => Ok(client.call(query)?),
            Self::Files { reader, .. } => answers::query_answer(reader.records(), query),
        }
    }

    pub(crate) fn show(&mut self, call: &str) -> Result<Vec<Record>, CliError> {
        match self {
            Self::Hub(client) => {
                let call = call.to_owned();
                Ok(client.call(&Show { call })?.records)
            }
            Self::Files { reader, .. } => {
                let entries = reader.records().find_call(call);
                answers::records(&entries.map_err(|error| answers::of_ledger(&error))?)
            }
        }
    }

    pub(crate) fn export(
        &mut self,
        export: &Export,
        version: &str,
    ) -> Result<ExportAnswer, CliError> {
        match self {
            Self::Hub(client) => Ok(client.call(export)?),
            Self::Files { reader, .. } => answers::export_answer(reader.records(), export, version),
        }
    }

    pub(crate) fn verify(&mut self, verify: &Verify) -> Result<VerifyAnswer, CliError> {
        match self {
            Self::Hub(client) => Ok(client.call(verify)?),
            Self::Files { reader, .. } => answers::verify_answer(reader.records(), verify),
        }
    }
}

fn files(context: &Context) -> Result<Source, CliError> {
    let path = context.home.state_db();
    let opened = under_lock(context, LedgerReader::open, LedgerReader::connect)?;
    let Some((reader, lock)) = opened else {
        return Err(CliError::new(
            Exit::Failed,
            format!(
                "{} does not exist: nothing was ever recorded there",
                path.display()
            ),
        )
        .with_hint(
            "the first `legation serve` makes it; `legation config path` shows the folder",
        ));
    };
    Ok(Source::Files {
        reader,
        _lock: lock,
    })
}

/// Opens the store for reading while no hub runs; `None` where there is none
/// yet. What is opened must not outlive the lock.
pub(crate) fn under_lock<T>(
    context: &Context,
    open: fn(&Path) -> Result<T, OpenError>,
    connect: fn(&DatabaseUrl) -> Result<T, OpenError>,
) -> Result<Option<(T, HomeLock)>, CliError> {
    let path = context.home.state_db();
    let server = config::settings_to_connect(context)?.store_url;
    if server.is_none() && !path.exists() {
        return Ok(None);
    }
    let lock = context
        .home
        .lock()
        .map_err(|error| CliError::failed(&error))?;
    let Some(lock) = lock else {
        return Err(CliError::new(
            Exit::NotReachable,
            "a hub owns the data directory but does not answer; nothing was read",
        )
        .with_hint("wait until it has started or stopped, then try again"));
    };
    let opened = match server {
        None => open(&path),
        Some(url) => {
            let variable = |name: &str| context.environment.get(name).map(Secret::new);
            let url = DatabaseUrl::parse(url.reveal(), variable)
                .map_err(|error| CliError::usage(&error).with_hint(error.hint()))?;
            connect(&url)
        }
    };
    let opened = opened.map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    Ok(Some((opened, lock)))
}
