//! Having a person enter a code.

use std::time::Duration;

use legation_entra::oauth::{SignInPrompt, WAIT};
use legation_entra::token::Role;
use serde::Serialize;

use super::{Work, told};
use crate::{CliError, Output};

/// The code, as a program reads it on standard error.
#[derive(Serialize)]
struct Shown<'a> {
    status: &'static str,
    account: &'a str,
    who: &'static str,
    user_code: &'a str,
    verification_uri: &'a str,
    expires_in_s: u64,
}

/// How often the time that is left is shown.
const TICK: Duration = Duration::from_secs(1);

/// Signs in the person the account works for.
pub(super) async fn person(
    work: &Work,
    wait: Duration,
    claims: Option<&str>,
) -> Result<(), CliError> {
    by_code(work, Role::Human, wait, claims).await
}

/// Signs in somebody who may make and remove agents. It is not kept.
pub(super) async fn administrator(work: &Work) -> Result<(), CliError> {
    work.context
        .output
        .say("Somebody who may administer the tenant has to sign in for this.");
    by_code(work, Role::Administrator, WAIT, None).await
}

async fn by_code(
    work: &Work,
    role: Role,
    wait: Duration,
    claims: Option<&str>,
) -> Result<(), CliError> {
    let (account, ctx) = (&work.account, &work.ctx);
    let pending = account.begin(ctx, role, wait, claims).await;
    let pending = pending.map_err(|error| told(&error))?;
    let prompt = pending.prompt().clone();
    show(work, role, &prompt);
    let until = account.instant() + prompt.expires_in;
    let finish = account.sign_in_finish(ctx, pending);
    tokio::pin!(finish);
    let output = work.context.output;
    let ended = loop {
        let left = until.saturating_duration_since(account.instant()).as_secs();
        output.progress(&format!("waiting for the code, {left} s left"));
        tokio::select! {
            biased;
            ended = &mut finish => break ended,
            () = tokio::time::sleep(TICK) => {}
        }
    };
    output.progress_done();
    ended.map(drop).map_err(|error| told(&error))
}

/// Shows the code: as text and link, and as a picture where a person looks on.
fn show(work: &Work, role: Role, prompt: &SignInPrompt) {
    let output = work.context.output;
    if output.is_json() {
        // Nobody could enter a code that is not shown, whoever reads the result.
        let shown = Shown {
            status: "pending",
            account: work.account.name(),
            who: role.as_str(),
            user_code: &prompt.user_code,
            verification_uri: &prompt.verification_uri,
            expires_in_s: prompt.expires_in.as_secs(),
        };
        if let Ok(line) = serde_json::to_string(&shown) {
            Output::new(false).say(&line);
        }
        return;
    }
    output.say(&prompt.message);
    output.say(&format!("  link  {}", prompt.verification_uri));
    output.say(&format!("  code  {}", prompt.user_code));
    if output.is_watched() && !prompt.qr.is_empty() {
        output.say(&prompt.qr);
    }
}
