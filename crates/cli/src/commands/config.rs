//! `legation config`: the hub's settings and who set them.

use clap::Subcommand;
use legation_config::Settings;
use legation_config::settings::Explained;
use serde::Serialize;

use crate::accounts::state::states;
use crate::table::{Table, printable};
use crate::{CliError, Context, Exit};

/// The commands of `legation config`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Say what a setting is, what it means, and which layer set it.
    Explain {
        /// Which setting, such as `listen` or `limits.connections`; an account, such as
        /// `accounts.work`, for how it stands.
        key: String,
    },
    /// List every setting.
    List,
    /// Print where the files are.
    Path,
}

#[derive(Debug, Serialize)]
struct Setting {
    key: String,
    value: String,
    layer: &'static str,
    place: String,
    about: String,
    variable: Option<String>,
}

#[derive(Debug, Serialize)]
struct Paths {
    home: String,
    settings: String,
    servers: String,
    governance: String,
    token: String,
    socket: String,
    logs: String,
}

pub(crate) fn cmd_config(context: &Context, command: &ConfigCommand) -> Result<(), CliError> {
    match command {
        ConfigCommand::Explain { key } => explain(context, key),
        ConfigCommand::List => list(context),
        ConfigCommand::Path => path(context),
    }
}

/// The settings as the hub would read them, without its flags.
pub(crate) fn settings(context: &Context) -> Result<Settings, CliError> {
    Settings::load(&context.home, &context.environment, &[])
        .map_err(|error| CliError::usage(&error).with_hint(error.hint()))
}

/// As [`settings`], for a command that connects to somebody: who is trusted is settled by it.
pub(crate) fn settings_to_connect(context: &Context) -> Result<Settings, CliError> {
    let settings = settings(context)?;
    legation_net::trust::trust_files(&settings.ca_files)
        .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    Ok(settings)
}

fn explain(context: &Context, key: &str) -> Result<(), CliError> {
    let settings = settings(context)?;
    let account = key.strip_prefix("accounts.");
    if let Some(name) = account.filter(|name| settings.accounts.contains_key(*name)) {
        return explain_account(context, &settings, name);
    }
    let explained = settings.explain(key).map_err(|nearest| {
        let error = CliError::new(Exit::Usage, format!("there is no setting `{key}`"));
        match nearest {
            Some(nearest) => error.with_hint(format!("did you mean `{nearest}`?")),
            None => error.with_hint("`legation config list` shows every setting"),
        }
    })?;
    context.output.result(&setting(explained), |setting| {
        let mut text = format!(
            "{} = {}\nset by   {}\n",
            setting.key, setting.value, setting.place
        );
        if let Some(variable) = &setting.variable {
            text.push_str(&format!("variable {variable}\n"));
        }
        text.push('\n');
        text.push_str(&setting.about);
        text.push('\n');
        text
    })
}

fn explain_account(context: &Context, settings: &Settings, name: &str) -> Result<(), CliError> {
    let states = states(context, settings)?;
    let state = states.into_iter().find(|state| state.account == name);
    let state = state
        .ok_or_else(|| CliError::new(Exit::Failed, format!("the account `{name}` is gone")))?;
    context.output.result(&state, |state| {
        let mut text = format!("{}\n", printable(&state.line()));
        if let Some(hint) = &state.hint {
            text.push_str(&format!("hint: {}\n", printable(hint)));
        }
        text.push_str(&format!(
            "\n`legation config list` shows the keys of accounts.{name} and who set them.\n"
        ));
        text
    })
}

fn list(context: &Context) -> Result<(), CliError> {
    let settings = settings(context)?;
    let rows: Vec<Setting> = settings
        .keys()
        .filter_map(|key| settings.explain(key).ok())
        .map(setting)
        .collect();
    context.output.result(&rows, |rows| {
        let mut table = Table::new(&["KEY", "VALUE", "SET BY"]);
        for row in rows {
            table.row([row.key.clone(), row.value.clone(), row.place.clone()]);
        }
        table.render()
    })
}

fn path(context: &Context) -> Result<(), CliError> {
    let home = &context.home;
    let shown = |path: &std::path::Path| path.display().to_string();
    let paths = Paths {
        home: shown(home.root()),
        settings: shown(&home.settings()),
        servers: shown(&home.servers()),
        governance: shown(&home.governance()),
        token: shown(&home.token()),
        socket: shown(&home.socket()),
        logs: shown(&home.logs()),
    };
    context.output.result(&paths, |paths| {
        format!(
            "home        {}\nsettings    {}\nservers     {}\ngovernance  {}\ntoken       {}\nsocket      {}\nlogs        {}\n",
            paths.home,
            paths.settings,
            paths.servers,
            paths.governance,
            paths.token,
            paths.socket,
            paths.logs
        )
    })
}

fn setting(explained: Explained) -> Setting {
    Setting {
        key: explained.key,
        value: explained.value,
        layer: explained.place.layer().as_str(),
        place: explained.place.to_string(),
        about: explained.about,
        variable: explained.variable,
    }
}
