//! Fifty clients behind one sign-in, whose tokens live for five seconds, at an authorization server
//! that revokes a sign-in whose refresh token is used twice.
//!
//! The test `oauth::renewed` does it, for some seconds with every test run and for a minute here.

use anyhow::{Context as _, Result, ensure};

use crate::sys;
use crate::tools::{self, Tool};

/// How long the clients call.
const SECONDS: u64 = 60;

/// One run; the test counts the renewals.
pub(super) fn renewals() -> Result<()> {
    tools::ensure(&[Tool::Sdk1, Tool::OAuth])?;
    sys::say("building the hub and its tests in release mode");
    let built = sys::cargo()
        .args(["build", "--release", "--locked", "--workspace", "--bins"])
        .status()
        .context("cannot start cargo")?;
    ensure!(built.success(), "the hub does not build; nobody signed in");
    let status = sys::cargo()
        .args(["test", "--release", "--locked", "--workspace"])
        .args(["--test", "it", "--", "oauth::renewed", "--nocapture"])
        .env("LEGATION_OAUTH_SECONDS", SECONDS.to_string())
        .status()
        .context("cannot start cargo")?;
    ensure!(
        status.success(),
        "a sign-in was not renewed as it should be"
    );
    Ok(())
}
