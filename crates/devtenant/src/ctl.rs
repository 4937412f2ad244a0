//! Commands against a running tenant, over its control API.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use clap::{Subcommand, ValueEnum};
use http::{Request, Uri};
use http_body_util::Full;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::exchange::exchange;
use crate::say::put;
use crate::web::encoded;

const ANSWER_MAX: usize = 64 * 1024 * 1024;

/// Arguments of the control commands.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CtlArgs {
    /// The directory of the running tenant
    #[arg(long, value_name = "DIR", default_value = ".legation-devtenant")]
    dir: PathBuf,
    /// Which tenant: its name, domain or id
    #[arg(long, value_name = "TENANT", default_value = "first")]
    tenant: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Decision {
    Approve,
    Decline,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Requests that the tenant does not know
    Unknown,
    /// Calls, the permissions they came with, and the least that would do
    Permissions,
    /// Clients that came back earlier than told
    Early,
}

/// What a tenant can be filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Seed {
    /// A month of letters and meetings, and the weeks that come
    Desk,
}

#[derive(Debug, Clone, Subcommand)]
enum Command {
    /// Approve or decline a device code
    Decide {
        user_code: String,
        decision: Decision,
        /// Who signs in; the tenant's first person if not given
        #[arg(long)]
        user: Option<String>,
    },
    /// Void the access tokens issued so far: the next Graph call is challenged for claims
    Revoke {
        /// Of one user only
        #[arg(long)]
        user: Option<String>,
        /// Void refresh tokens too
        #[arg(long)]
        sessions: bool,
    },
    /// Write in a chat as the human
    Say {
        chat_id: String,
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        text: Vec<String>,
        /// Who writes
        #[arg(long)]
        user: Option<String>,
        /// Who writes is none of the chat's members
        #[arg(long, requires = "user")]
        stranger: bool,
    },
    /// Change or delete an earlier message as its author
    Edit {
        chat_id: String,
        message_id: String,
        /// Delete it when no text is given
        text: Vec<String>,
    },
    /// Print the link to the human's desk, a page that does most of this
    Desk,
    /// Every chat with its messages
    Chats,
    /// Put a mail into somebody's inbox
    Mail {
        #[arg(long)]
        to: Option<String>,
        /// Name or address of the sender
        #[arg(long)]
        from: Option<String>,
        #[arg(long, default_value = "")]
        subject: String,
        #[arg(long, default_value = "")]
        body: String,
        /// The body is HTML
        #[arg(long)]
        html: bool,
    },
    /// Every mail of somebody's mailbox
    Mailbox {
        #[arg(long)]
        user: Option<String>,
    },
    /// Put a meeting into somebody's calendar
    Meeting {
        #[arg(long)]
        user: Option<String>,
        #[arg(long)]
        subject: String,
        /// RFC 3339
        #[arg(long)]
        start: String,
        /// RFC 3339
        #[arg(long)]
        end: String,
        /// Whole days: the times are dates, the end is the day after the last
        #[arg(long)]
        all_day: bool,
        /// Name or address of somebody who is asked to come
        #[arg(long = "attendee")]
        attendees: Vec<String>,
        /// How it repeats, as Graph writes it, in JSON
        #[arg(long)]
        recurrence: Option<String>,
        /// The zone by whose clocks it repeats
        #[arg(long)]
        zone: Option<String>,
    },
    /// Fill the mailboxes and calendars of the tenants' first people
    Seed {
        what: Seed,
        /// A word that, with the tenant's name behind it, every letter, sender and meeting bears
        #[arg(long)]
        mark: Option<String>,
    },
    /// Every meeting of somebody's calendar
    Calendar {
        #[arg(long)]
        user: Option<String>,
    },
    /// What applications and the person say of somebody's presence
    Presence {
        #[arg(long)]
        user: Option<String>,
    },
    /// Order a fault, as JSON: {"fault":"throttle","retry_after":2,"left":3,"matching":"/chats"}
    Fault { fault: String },
    /// The faults that are ordered
    Faults,
    /// Withdraw one fault, or all
    Clear { id: Option<u64> },
    /// Set the tenant's clock ahead or, below zero, back
    Skew {
        #[arg(allow_hyphen_values = true)]
        seconds: i64,
    },
    /// How long changes of the directory take to be seen
    Propagation { seconds: i64 },
    /// How long access tokens live; 0 for Entra's own choice
    Lifetime { seconds: i64 },
    /// Give or take somebody's licence for Teams and mail
    License { user: String, switch: Switch },
    /// Enable or disable an account
    Account { user: String, switch: Switch },
    /// Enable or disable an application, a blueprint or an agent identity
    Application { client: String, switch: Switch },
    /// Whether the tenant has agent identities
    Agents { switch: Switch },
    /// Whether the tenant has the licence that the sign-in log needs
    Premium { switch: Switch },
    /// Whether somebody's sign-ins need a second factor
    Mfa { user: String, switch: Switch },
    /// Take back what was consented to for a client at Graph; all of it without names
    Unconsent { client: String, scopes: Vec<String> },
    /// Void all delta links given out so far
    ExpireDelta,
    /// Void the secrets of an application by letting them expire
    ExpireSecrets { client: String },
    /// What clients did
    Report { what: What },
    /// Make another tenant; its environment file is written at the next start
    AddTenant {
        name: String,
        #[arg(long)]
        domain: String,
        /// The first person
        #[arg(long)]
        human: String,
    },
    /// The tenants, their people and applications
    Tenants,
}

// === impl Command ===

impl Command {
    /// The name of the command in the control API, and its arguments.
    fn request(&self) -> Result<(&'static str, Value)> {
        Ok(match self {
            Self::Decide {
                user_code,
                decision,
                user,
            } => (
                "decide",
                json!({
                    "user_code": user_code,
                    "approve": *decision == Decision::Approve,
                    "user": user,
                }),
            ),
            Self::Revoke { user, sessions } => {
                ("revoke", json!({"user": user, "sessions": sessions}))
            }
            Self::Say {
                chat_id,
                text,
                user,
                stranger,
            } => (
                "say",
                json!({
                    "chat_id": chat_id,
                    "text": text.join(" "),
                    "user": user,
                    "stranger": stranger,
                }),
            ),
            Self::Edit {
                chat_id,
                message_id,
                text,
            } => (
                "edit",
                json!({"chat_id": chat_id, "message_id": message_id, "text": text.join(" ")}),
            ),
            Self::Chats => ("chats", json!({})),
            Self::Mail {
                to,
                from,
                subject,
                body,
                html,
            } => (
                "mail",
                json!({"to": to, "from": from, "subject": subject, "body": body, "html": html}),
            ),
            Self::Mailbox { user } => ("mailbox", json!({"user": user})),
            Self::Calendar { user } => ("calendar", json!({"user": user})),
            Self::Presence { user } => ("presence", json!({"user": user})),
            Self::Meeting {
                user,
                subject,
                start,
                end,
                all_day,
                attendees,
                recurrence,
                zone,
            } => {
                let recurrence = recurrence.as_deref().map(serde_json::from_str::<Value>);
                let recurrence = recurrence
                    .transpose()
                    .context("the recurrence is not JSON")?;
                (
                    "meeting",
                    json!({
                        "user": user, "subject": subject, "start": start, "end": end,
                        "all_day": all_day, "attendees": attendees, "recurrence": recurrence,
                        "zone": zone,
                    }),
                )
            }
            other => return other.order(),
        })
    }

    /// The commands that order faults, change settings and read reports.
    fn order(&self) -> Result<(&'static str, Value)> {
        let on = |switch: Switch| switch == Switch::On;
        Ok(match self {
            Self::Fault { fault } => (
                "fault",
                serde_json::from_str(fault).context("the fault is not JSON")?,
            ),
            Self::Faults => ("faults", json!({})),
            Self::Seed {
                what: Seed::Desk,
                mark,
            } => ("seed", json!({"what": "desk", "mark": mark})),
            Self::Tenants => ("tenants", json!({})),
            Self::Clear { id } => ("clear", json!({"id": id})),
            Self::Skew { seconds } => ("skew", json!({"seconds": seconds})),
            Self::Propagation { seconds } => ("propagation", json!({"seconds": seconds})),
            Self::Lifetime { seconds } => ("lifetime", json!({"seconds": seconds})),
            Self::License { user, switch } => ("license", json!({"user": user, "on": on(*switch)})),
            Self::Account { user, switch } => ("account", json!({"user": user, "on": on(*switch)})),
            Self::Mfa { user, switch } => ("mfa", json!({"user": user, "on": on(*switch)})),
            Self::Application { client, switch } => {
                ("application", json!({"client": client, "on": on(*switch)}))
            }
            Self::Agents { switch } => ("agents", json!({"on": on(*switch)})),
            Self::Premium { switch } => ("premium", json!({"on": on(*switch)})),
            Self::AddTenant {
                name,
                domain,
                human,
            } => (
                "add-tenant",
                json!({"name": name, "domain": domain, "human": human}),
            ),
            Self::Unconsent { client, scopes } => {
                ("unconsent", json!({"client": client, "scopes": scopes}))
            }
            Self::ExpireDelta => ("expire-delta", json!({})),
            Self::ExpireSecrets { client } => ("expire-secrets", json!({"client": client})),
            Self::Report { what } => (
                "report",
                json!({"what": match what {
                    What::Unknown => "unknown",
                    What::Permissions => "permissions",
                    What::Early => "early",
                }}),
            ),
            other => bail!("{other:?} is no order"),
        })
    }
}

/// Runs one command and prints what the tenant answers.
pub(crate) async fn run(args: &CtlArgs) -> Result<()> {
    if matches!(args.command, Command::Desk) {
        let control = control(&args.dir)?;
        let (url, token) = (&control["url"], &control["token"]);
        let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (url, token) = (part(url), encoded(&part(token)));
        put(&format!("{url}{}?token={token}", crate::desk::PATH));
        return Ok(());
    }
    let (name, mut body) = args.command.request()?;
    if let Some(body) = body.as_object_mut() {
        body.insert("tenant".to_owned(), args.tenant.as_str().into());
    }
    let answer = send(&args.dir, name, &body).await?;
    if !answer.is_null() {
        put(&serde_json::to_string_pretty(&answer)?);
    }
    Ok(())
}

/// Where a running tenant is, and the token of its control API.
pub(crate) fn control(dir: &Path) -> Result<Value> {
    let hint = || unreadable(dir);
    let bytes = std::fs::read(dir.join("control.json")).with_context(hint)?;
    serde_json::from_slice(&bytes).with_context(hint)
}

fn unreadable(dir: &Path) -> String {
    let file = dir.join("control.json");
    format!(
        "cannot read {}; is the tenant running with this --dir?",
        file.display()
    )
}

/// Gives a command.
pub(crate) async fn send(dir: &Path, name: &str, body: &Value) -> Result<Value> {
    let control = control(dir)?;
    let token = control["token"].as_str().unwrap_or_default();
    let request = Request::post(format!("/control/{name}"))
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {token}"));
    let (status, answer) = ask(dir, request, body.to_string()).await?;
    let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
    if status != 200 {
        let why = answer["error"].as_str().unwrap_or("the tenant refused");
        bail!("{why}");
    }
    Ok(answer)
}

/// Asks a running tenant for something.
pub(crate) async fn ask(
    dir: &Path,
    request: http::request::Builder,
    body: String,
) -> Result<(u16, Bytes)> {
    let hint = || unreadable(dir);
    let control = control(dir)?;
    let uri: Uri = control["url"].as_str().with_context(hint)?.parse()?;
    let authority = uri.authority().with_context(hint)?.as_str().to_owned();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(dir.join("ca.pem"))?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(&authority)
        .await
        .with_context(|| format!("no tenant answers on {authority}"))?;
    let host = ServerName::try_from(uri.host().with_context(hint)?.to_owned())?;
    let stream = tokio_rustls::TlsConnector::from(Arc::new(config))
        .connect(host, stream)
        .await?;
    let request = request
        .header("host", authority)
        .body(Full::new(Bytes::from(body)))?;
    exchange(stream, request, ANSWER_MAX).await
}
