//! Ways to sign a person in that belong to a platform: the account the person
//! is already signed in with, or a browser window.

use std::fmt;

use futures_util::future::BoxFuture;
use legation_core::{OpContext, Secret};

use crate::error::SignInError;

/// A platform's way to sign a person in.
pub trait PlatformSignIn: fmt::Debug + Send + Sync {
    /// What people call it.
    fn name(&self) -> &'static str;

    /// Whether it works here.
    ///
    /// # Errors
    /// [`SignInError::NotOnThisPlatform`].
    fn available(&self) -> Result<(), SignInError>;

    /// A token of the person at this machine, for these scopes.
    fn sign_in<'a>(
        &'a self,
        ctx: &'a OpContext,
        client_id: &'a str,
        scope: &'a str,
    ) -> BoxFuture<'a, Result<Secret, SignInError>>;
}

/// The Web Account Manager of Windows, with the device's primary refresh token.
#[derive(Clone, Copy, Debug, Default)]
pub struct WamSignIn;

/// A window of the system's browser.
#[derive(Clone, Copy, Debug, Default)]
pub struct BrowserSignIn;

// === impl WamSignIn ===

impl PlatformSignIn for WamSignIn {
    fn name(&self) -> &'static str {
        "the Web Account Manager"
    }

    fn available(&self) -> Result<(), SignInError> {
        Err(not_here(self))
    }

    fn sign_in<'a>(
        &'a self,
        _ctx: &'a OpContext,
        _client_id: &'a str,
        _scope: &'a str,
    ) -> BoxFuture<'a, Result<Secret, SignInError>> {
        Box::pin(async { Err(not_here(self)) })
    }
}

// === impl BrowserSignIn ===

impl PlatformSignIn for BrowserSignIn {
    fn name(&self) -> &'static str {
        "signing in with the browser"
    }

    fn available(&self) -> Result<(), SignInError> {
        Err(not_here(self))
    }

    fn sign_in<'a>(
        &'a self,
        _ctx: &'a OpContext,
        _client_id: &'a str,
        _scope: &'a str,
    ) -> BoxFuture<'a, Result<Secret, SignInError>> {
        Box::pin(async { Err(not_here(self)) })
    }
}

fn not_here(way: &dyn PlatformSignIn) -> SignInError {
    SignInError::NotOnThisPlatform { name: way.name() }
}
