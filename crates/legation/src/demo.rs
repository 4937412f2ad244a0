//! `legation demo`: a hub in a temporary data directory, real servers behind
//! it, and a tour through both eras, with nothing to set up.

mod client;
mod desk;
mod home;
mod model;
mod people;
mod tenant;
mod tour;

use std::sync::Arc;

use legation_cli::accounts::HomeKeyring;
use legation_cli::{CliError, Context, DemoArgs, Exit, Output};
use legation_config::Settings;
use legation_config::settings::GithubAdded;

use crate::serve::{Hub, HubOptions, Signals, runtime};
use home::DemoHome;
use model::DemoModel;
use people::People;
use tenant::DemoTenant;

pub(crate) fn demo(context: &Context, args: &DemoArgs) -> Result<(), CliError> {
    let out = context.output;
    out.say("Legation demo: a hub of its own in a temporary folder. Your files are not touched.\n");
    let runtime = runtime()?;
    let named = args.model_server.as_deref();
    match named {
        Some(place) => out.say(&format!("asking the model server at {place} …")),
        None => out.say("looking for a model server on this machine …"),
    }
    let clock = Arc::clone(&context.clock);
    let model = runtime.block_on(DemoModel::find_or_stand_in(clock, named))?;
    let demo = DemoHome::create(context, &model)?;
    let listen = args
        .listen
        .clone()
        .unwrap_or_else(|| "127.0.0.1:0".to_owned());
    // Nothing of the demo goes into the system's keystore.
    let flags = [("listen", listen), ("secrets.keep_in", "file".to_owned())];
    let home = demo.home.clone();
    let clock = Arc::clone(&context.clock);
    let stay = !args.once;
    let folder = demo.folder.clone();
    let told = model.story();
    let end = runtime.block_on(async move {
        let _model = model;
        let mut signals = Signals::register()?;
        let tenant = DemoTenant::start(demo.root(), Arc::clone(&clock)).await?;
        let hub = Hub::start(options(context, &demo, &tenant, &flags)?).await?;
        let people = People::new(tenant.owner(), tenant.colleague())?;
        let address = hub.address();
        let (done, toured) = tokio::sync::oneshot::channel();
        // The tour talks to the hub as any client does, from outside its runtime.
        let tour = std::thread::spawn(move || {
            let end = tour::run(out, (&home, &folder), clock.as_ref(), &people, &told);
            // Nobody waits any more when the demo was interrupted.
            drop(done.send(end));
        });
        let end = tokio::select! {
            end = toured => end.unwrap_or_else(|_| Err(CliError::new(Exit::Failed, "the tour broke off"))),
            _ = signals.next() => Err(interrupted()),
        };
        if end.is_ok() && stay {
            invite(out, &demo, address);
            if let Some(link) = hub.console_link() {
                out.say(&format!(
                    "or see it in a browser, with this link, which works once and for five minutes:\n\n  {link}\n"
                ));
            }
            tokio::select! {
                _ = signals.next() => {}
                _ = hub.ended() => {}
            }
        }
        out.say("stopping the hub and its servers …");
        hub.stop().await;
        // The tour may still speak with the tenant.
        drop(tokio::task::spawn_blocking(move || tour.join()).await);
        tenant.stop().await;
        drop(demo);
        end
    });
    let story = end?;
    out.say("done; nothing is left behind");
    if out.is_json() {
        out.result(&story, |_| String::new())?;
    }
    Ok(())
}

/// What the demo's hub is started with.
fn options(
    context: &Context,
    demo: &DemoHome,
    tenant: &DemoTenant,
    flags: &[(&str, String)],
) -> Result<HubOptions, CliError> {
    let keyring = HomeKeyring::of(&demo.home);
    let environment = tenant
        .environment(&context.environment)
        .with_keyring(Arc::new(keyring));
    // A tour reaches nobody.
    let flags = [flags, &[("github.builtin", "off".to_owned())]].concat();
    let settings = Settings::load(&demo.home, &environment, &flags)
        .map_err(|error| CliError::usage(&error).with_hint(error.hint()))?;
    Ok(HubOptions {
        home: demo.home.clone(),
        environment,
        clock: context.clock.clone(),
        settings,
        flags: flags
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone()))
            .collect(),
        no_auth: false,
        allow_all: false,
        additional: Vec::new(),
        off: Vec::new(),
        no_builtins: false,
        github: GithubAdded::default(),
        detached: false,
    })
}

fn interrupted() -> CliError {
    CliError::new(Exit::Failed, "the demo was interrupted")
}

/// The lines to paste into an agent.
fn invite(out: Output, demo: &DemoHome, address: Option<std::net::SocketAddr>) {
    let Some(address) = address else { return };
    let program = std::env::current_exe()
        .map_or_else(|_| "legation".to_owned(), |path| path.display().to_string());
    let home = demo.home.root().display();
    out.say(&format!(
        "\nThe hub goes on at http://{address}/mcp until Ctrl-C. Try it from an agent:\n\n  \
         claude mcp add legation -- {program} --home {home} bridge\n  \
         codex mcp add legation -- {program} --home {home} bridge\n\n\
         or look at it:\n\n  \
         {program} --home {home} mcp list\n  \
         {program} --home {home} audit tail\n"
    ));
}
