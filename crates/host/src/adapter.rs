//! The real transports behind the port.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use legation_config::{EnvMode, Environment, Resolved, ResolvedHttp, SandboxPolicy};
use legation_core::error::chain;
use legation_core::net::Destinations;
use legation_core::process::{ChildSpec, GuardPath};
use legation_core::{Home, Secret};
use legation_gate::ListKind;
use legation_oauth::Upstream;
use legation_wire::caps::ServerCapabilities;
use legation_wire::json::{Object, Raw};
use legation_wire::listen::ListenFilter;
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;
use legation_wire::translate::{InputAnswers, put_input_answers};
use legation_wire::upstream::{self, CallRequest, EraChoice, LinkConfig};

use crate::names::sanitise;
use crate::oauth;
use crate::oidc::{self, IssueError, Issuer};
use crate::port::{
    About, AskKey, CallEvent, DialError, Dialer, EventSource, Exchange, Face, ListenWish, Order,
    Plan, Port, PortEvent, Ready,
};
use crate::transport::{
    self, CallOrder, CallStream, Connection, Event, Events, HeadersHelper, HttpError, HttpSpec,
    LineSink, StartError, StartSpec, StdioSpec, TransportSpec,
};

mod reach;
mod walls;

pub(crate) use walls::Walls;

/// How long a process may take to end by itself before it is made to.
const STOP_GRACE: Duration = Duration::from_secs(2);
/// Why a folder's `headersHelper` does not run.
const NO_WALLS: &str = "its headersHelper would run without the sandbox that `server_sandbox` wants around what \
     folders run; put the entry into your own mcp.json if you trust it";
/// What reads the line of a `headersHelper`.
const SHELL: &str = "/bin/sh";
/// How long reaching a URL may take.
const REACH: Duration = Duration::from_secs(30);

/// Opens real connections.
#[derive(Debug, Clone)]
pub(crate) struct Transports {
    /// What references in configurations mean.
    pub(crate) environment: Environment,
    /// How `env` is read where an entry does not say.
    pub(crate) env_mode: EnvMode,
    /// What guards child processes.
    pub(crate) guard: GuardPath,
    /// Where logs of servers go.
    pub(crate) home: Home,
    /// The hub's own version.
    pub(crate) version: &'static str,
    /// Largest message accepted from a server, in bytes.
    pub(crate) max_message: usize,
    /// Which programs run behind walls that they did not ask for.
    pub(crate) sandbox: SandboxPolicy,
    /// What those reach.
    pub(crate) sandbox_hosts: Destinations,
    /// Puts them up.
    pub(crate) walls: Walls,
}

#[derive(Debug)]
struct Connected {
    connection: Connection,
    face: Face,
    /// Which changes the server says it tells of.
    tells: ListenFilter,
}

#[derive(Debug)]
struct Unasked(Events);

struct Stream(CallStream);

impl Dialer for Transports {
    fn dial(&self, plan: Plan) -> BoxFuture<'static, Result<Ready, DialError>> {
        let Some(oidc) = &plan.spec.oidc else {
            return self.dial_with(plan, None);
        };
        let issuer = match Issuer::of(&self.environment, oidc) {
            Ok(issuer) => issuer,
            Err(error) => return Box::pin(std::future::ready(Err(no_token(&error)))),
        };
        let own = self.clone();
        Box::pin(async move {
            let token = issuer.token().await.map_err(|error| no_token(&error))?;
            // References of this entry, and of no other, find it too.
            let named = (oidc::VARIABLE.into(), token.reveal().into());
            let environment = own.environment.clone().with([named]);
            let own = Self { environment, ..own };
            own.dial_with(plan, Some((issuer, token))).await
        })
    }
}

impl Transports {
    /// Connects, with a token of this machine's identity for a server that asks for one.
    fn dial_with(
        &self,
        plan: Plan,
        token: Option<(Issuer, Secret)>,
    ) -> BoxFuture<'static, Result<Ready, DialError>> {
        let spec = match self.start_spec(&plan, token) {
            Ok(spec) => spec,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let (policy, hosts) = (self.sandbox, &self.sandbox_hosts);
        let wanted = plan.spec.resolve_sandbox(policy, hosts, &self.environment);
        let walls = self.walls.clone();
        Box::pin(async move {
            let mut spec = spec;
            let wanted = wanted.map_err(|error| DialError::Misconfigured(chain(&error)))?;
            if let (Some(wanted), TransportSpec::Stdio(stdio)) = (wanted, &mut spec.transport) {
                walls.put_up(stdio, &wanted, &plan.log).await?;
            }
            let started = Connection::start(spec).await.map_err(dial_error)?;
            let ready = started.ready;
            let capabilities = ready.capabilities;
            let connected = Connected {
                connection: started.connection,
                face: plan.face,
                tells: tells(&capabilities),
            };
            Ok(Ready {
                port: Arc::new(connected),
                events: Box::new(Unasked(started.events)),
                about: About {
                    revision: ready.revision,
                    capabilities: capabilities.raw,
                    server_info: ready.server_info,
                    instructions: ready.instructions.map(String::from),
                },
                pid: started.pid,
            })
        })
    }

    fn start_spec(
        &self,
        plan: &Plan,
        token: Option<(Issuer, Secret)>,
    ) -> Result<StartSpec, DialError> {
        let resolved = plan.spec.resolve(&self.environment, self.env_mode);
        let resolved = resolved.map_err(|error| DialError::Misconfigured(chain(&error)))?;
        let log = Arc::clone(&plan.log);
        let note: LineSink = Arc::new(move |line: &str| log.note(line));
        let transport = match resolved {
            Resolved::Stdio(mut stdio) => {
                if let Some((_, token)) = &token {
                    stdio.env.retain(|(name, _)| name != oidc::VARIABLE);
                    let value = token.reveal().into();
                    stdio.env.push((oidc::VARIABLE.into(), value));
                }
                let log = Arc::clone(&plan.log);
                let folder = plan.folder.as_deref().map(PathBuf::from);
                TransportSpec::Stdio(StdioSpec {
                    child: ChildSpec {
                        name: plan.spec.name.to_string(),
                        program: stdio.command,
                        args: stdio.args,
                        cwd: folder.or(stdio.cwd),
                        env: stdio.env,
                        guard: self.guard.clone(),
                    },
                    preamble: Vec::new(),
                    stderr: Arc::new(move |line: &str| log.stderr(line)),
                    log_file: Some(self.log_file(plan)),
                    stop_grace: STOP_GRACE,
                })
            }
            Resolved::Memory => {
                let why = "it lives in the hub and is not connected to".to_owned();
                return Err(DialError::Misconfigured(why));
            }
            Resolved::Http(_) if plan.spec.lacks_walls_for_helper(self.sandbox) => {
                return Err(DialError::Misconfigured(NO_WALLS.to_owned()));
            }
            Resolved::Http(http) => {
                let auth = self.sign_in(plan, &http)?;
                let sse = http.reach.sse;
                let http = self.http_spec(plan, &http, auth, token)?;
                match sse {
                    true => TransportSpec::Sse(http),
                    false => TransportSpec::Http(http),
                }
            }
        };
        let info = plan.face.info.clone().unwrap_or_else(|| {
            Object::new()
                .with("name", Raw::from_static(r#""legation""#))
                .with("version", Raw::str(self.version))
                .to_raw()
        });
        Ok(StartSpec {
            link: LinkConfig {
                era: match plan.spec.era {
                    legation_config::EraChoice::Auto => EraChoice::Auto,
                    legation_config::EraChoice::Legacy => EraChoice::Legacy,
                    legation_config::EraChoice::Modern => EraChoice::Modern,
                },
                http: matches!(transport, TransportSpec::Http(_)),
                client_info: info,
                offered: (*plan.face.capabilities).clone(),
                legacy_revision: Revision::LATEST_LEGACY,
            },
            transport,
            max_message: self.max_message,
            note,
        })
    }

    /// The hub's sign-in at a server, as it is configured now.
    fn sign_in(
        &self,
        plan: &Plan,
        http: &ResolvedHttp,
    ) -> Result<Option<Arc<Upstream>>, DialError> {
        let Some(auth) = plan.auth.as_ref().filter(|_| http.reach.socket.is_none()) else {
            return Ok(None);
        };
        let resolved = plan.spec.resolve_oauth(&self.environment);
        let resolved = resolved.map_err(|error| DialError::Misconfigured(chain(&error)))?;
        let settings = oauth::settings(&plan.spec, http, &resolved);
        let mut settings = settings.map_err(DialError::Misconfigured)?;
        settings.proxies = reach::own_proxies(&http.reach.proxy)?;
        settings.ca = reach::ca(&http.reach)?.map(Arc::from);
        auth.configure(settings);
        Ok(Some(Arc::clone(auth)))
    }

    fn http_spec(
        &self,
        plan: &Plan,
        http: &ResolvedHttp,
        auth: Option<Arc<Upstream>>,
        token: Option<(Issuer, Secret)>,
    ) -> Result<HttpSpec, DialError> {
        let mut headers = Vec::with_capacity(http.headers.len());
        for (name, value) in &http.headers {
            let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
            let value = HeaderValue::from_str(value.reveal()).ok();
            let (Some(parsed), Some(mut value)) = (parsed, value) else {
                return Err(DialError::Misconfigured(format!(
                    "headers.{name} is no HTTP header"
                )));
            };
            value.set_sensitive(true);
            headers.push((parsed, value));
        }
        let url = http.url.reveal();
        let says_who = headers.iter().any(|(name, _)| *name == AUTHORIZATION);
        let helper = match (&http.helper, token) {
            (Some(helper), _) => Some(HeadersHelper::new(ChildSpec {
                name: plan.spec.name.to_string(),
                program: SHELL.into(),
                args: vec!["-c".into(), (&*helper.command).into()],
                cwd: helper.cwd.clone(),
                env: helper.env.clone(),
                guard: self.guard.clone(),
            })),
            (None, Some((issuer, token))) if !says_who => {
                Some(HeadersHelper::of_issuer(issuer, &token))
            }
            (None, Some(_) | None) => None,
        };
        Ok(HttpSpec {
            reach: reach::reach(&self.environment, url, &http.reach)?,
            url: url.to_owned(),
            headers,
            connect_timeout: REACH,
            auth,
            helper: helper.map(Arc::new),
        })
    }

    fn log_file(&self, plan: &Plan) -> PathBuf {
        let name = sanitise(plan.spec.name.as_str());
        self.home.logs().join(format!("server-{name}.log"))
    }
}

fn no_token(error: &IssueError) -> DialError {
    let why = format!("{error}; {}", error.hint());
    match error.is_lasting() {
        true => DialError::Misconfigured(why),
        false => DialError::Failed(why),
    }
}

fn dial_error(error: StartError) -> DialError {
    match error {
        StartError::NeedsAuth { .. } => DialError::NeedsAuth,
        StartError::Http {
            source: HttpError::SignIn { source },
        } if !source.is_passing() => {
            DialError::Misconfigured(format!("{}; {}", chain(&source), source.hint()))
        }
        other => DialError::Failed(format!("{}; {}", chain(&other), other.hint())),
    }
}

fn tells(capabilities: &ServerCapabilities) -> ListenFilter {
    ListenFilter {
        tools: capabilities.tools_list_changed,
        prompts: capabilities.prompts_list_changed,
        resources: capabilities.resources_list_changed,
        ..ListenFilter::default()
    }
}

// === impl Connected ===

impl Port for Connected {
    fn open(&self, order: Order) -> Box<dyn Exchange> {
        let mut params = order.params;
        if let Some(retry) = order.retry {
            let state = retry.state.as_ref().and_then(Raw::to_str);
            let answers = InputAnswers {
                responses: retry.responses,
                request_state: state.map(Into::into),
            };
            put_input_answers(&mut params, &answers);
        }
        let face = order.face.as_ref().unwrap_or(&self.face);
        let call = CallOrder {
            request: CallRequest {
                method: order.method.into(),
                params,
                caps: Arc::clone(&face.capabilities),
                client_info: face.info.clone(),
                log_level: order.log_level,
                want_progress: order.progress,
            },
            declared: order.declared,
        };
        Box::new(Stream(self.connection.call(call)))
    }

    fn notify(&self, method: &'static str, params: Option<Raw>) {
        self.connection.notify(method, params);
    }

    fn listen(&self, wish: ListenWish) {
        let filter = ListenFilter {
            uris: wish.resources,
            task_ids: wish.tasks,
            ..self.tells.clone()
        };
        self.connection.listen(filter);
    }

    fn answer(&self, key: AskKey, answer: Result<Raw, ErrorObject>) {
        self.connection.answer(upstream::AskKey(key.0), answer);
    }

    fn stop(&self) -> BoxFuture<'static, ()> {
        let connection = self.connection.clone();
        Box::pin(async move { connection.stop().await })
    }
}

// === impl Stream ===

impl Exchange for Stream {
    fn next(&mut self) -> BoxFuture<'_, CallEvent> {
        Box::pin(async {
            match self.0.next().await {
                transport::CallEvent::Progress(params) => CallEvent::Progress(params),
                transport::CallEvent::Log(params) => CallEvent::Log(params),
                transport::CallEvent::Ask {
                    key,
                    method,
                    params,
                } => CallEvent::Ask {
                    key: AskKey(key.0),
                    method,
                    params,
                },
                transport::CallEvent::AskWithdrawn(key) => CallEvent::AskWithdrawn(AskKey(key.0)),
                transport::CallEvent::Done(answer) => CallEvent::Done(answer),
                transport::CallEvent::Lost(reason) => CallEvent::Lost(reason),
                transport::CallEvent::NotMade(reason) => CallEvent::NotMade(reason),
                transport::CallEvent::NeedsAuth { .. } => CallEvent::NeedsAuth,
            }
        })
    }

    fn answer(&mut self, key: AskKey, answer: Result<Raw, ErrorObject>) {
        self.0.answer(upstream::AskKey(key.0), answer);
    }
}

// === impl Unasked ===

impl EventSource for Unasked {
    fn next(&mut self) -> BoxFuture<'_, Option<PortEvent>> {
        Box::pin(async {
            loop {
                let event = self.0.recv().await?;
                if let Some(event) = port_event(event) {
                    return Some(event);
                }
            }
        })
    }
}

fn port_event(event: Event) -> Option<PortEvent> {
    match event {
        Event::ListChanged(kind) => Some(PortEvent::ListChanged(match kind {
            upstream::ListKind::Tools => ListKind::Tools,
            upstream::ListKind::Resources => ListKind::Resources,
            upstream::ListKind::Prompts => ListKind::Prompts,
        })),
        Event::ResourceUpdated { uri } => {
            let params = Object::new().with("uri", Raw::str(&uri));
            Some(PortEvent::ResourceUpdated { uri, params })
        }
        Event::TaskStatus(params) => Some(PortEvent::Task(params)),
        Event::Ask {
            key,
            method,
            params,
        } => Some(PortEvent::Ask {
            key: AskKey(key.0),
            method,
            params,
        }),
        Event::AskWithdrawn(key) => Some(PortEvent::AskWithdrawn(AskKey(key.0))),
        Event::Closed(reason) => Some(PortEvent::Closed(reason)),
        Event::Unattributed(notification) if &*notification.method == "notifications/message" => {
            notification.params.map(PortEvent::Logged)
        }
        // The rest is bookkeeping of the connection's, or of no meaning here.
        Event::Unattributed(_)
        | Event::ElicitationComplete(_)
        | Event::ListenAcknowledged(_)
        | Event::ListenEnded(_) => None,
    }
}
