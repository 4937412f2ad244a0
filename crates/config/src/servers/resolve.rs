//! Following the references of one server, right before it is started.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use legation_core::{Secret, ServerName};
use thiserror::Error;

use super::reach::SocketUrl;
use super::{
    EnvFile, EnvMode, Reach, ResolvedHelper, ResolvedOAuth, ResolvedReach, ServerSpec, Source,
    Transport, is_socket,
};
use crate::environment::{Environment, SecretTemplate, Template, TemplateError, expand};

/// A server whose references have been followed. Whatever came out of the
/// environment may be a secret, so nothing of it is printed; show the
/// [`ServerSpec`] instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// A child process.
    Stdio(ResolvedStdio),
    /// An address.
    Http(ResolvedHttp),
    /// A server of the hub's own; nothing is started or reached.
    Memory,
}

/// What to start.
#[derive(Clone, PartialEq, Eq)]
pub struct ResolvedStdio {
    /// The program, to be looked up in the `PATH` of `env`.
    pub command: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it runs; absolute when present.
    pub cwd: Option<PathBuf>,
    /// Its whole environment: nothing is inherited beside it.
    pub env: Vec<(OsString, OsString)>,
}

/// What to reach.
#[derive(Clone)]
pub struct ResolvedHttp {
    /// The endpoint; begins with `https://` or `http://`.
    pub url: Secret,
    /// Sent with every request; values have no control characters.
    pub headers: Vec<(Box<str>, Secret)>,
    /// How it is reached.
    pub reach: ResolvedReach,
    /// What prints further headers.
    pub helper: Option<ResolvedHelper>,
}

/// A server that cannot be started as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResolveError {
    /// A reference leads nowhere.
    #[error("server {server}: {field} cannot be resolved, the server is not started")]
    Reference {
        /// The server.
        server: ServerName,
        /// The field, as in the file.
        field: String,
        /// Which reference.
        #[source]
        source: TemplateError,
    },
    /// With `envMode: indirect`, a value that names no variable.
    #[error(
        "server {server}: {field} names the variable {variable:?}, which is not set, the server is not started"
    )]
    Indirect {
        /// The server.
        server: ServerName,
        /// The field, as in the file.
        field: String,
        /// The variable.
        variable: Box<str>,
    },
    /// Something that is not what the field takes once its references are
    /// followed. The value is left out: it may be a secret.
    #[error("server {server}: {field} {problem}, the server is not started")]
    Value {
        /// The server.
        server: ServerName,
        /// The field, as in the file.
        field: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// Carries what an error has to name.
pub(super) struct Resolver<'a> {
    server: &'a ServerName,
    environment: &'a Environment,
    env_mode: EnvMode,
}

// === impl ServerSpec ===

impl ServerSpec {
    /// Follows the references of its sign-in.
    ///
    /// # Errors
    ///
    /// [`ResolveError`], as for [`ServerSpec::resolve`].
    pub fn resolve_oauth(&self, environment: &Environment) -> Result<ResolvedOAuth, ResolveError> {
        Resolver::new(self, environment, EnvMode::Direct).oauth(&self.oauth)
    }

    /// Follows every reference. `env_mode` is the hub's `env_value_mode`,
    /// which an entry's own `envMode` overrides.
    ///
    /// References in `command`, `args` and `cwd` see the entry's own `env`
    /// before the environment of the hub. A relative `cwd` starts at the
    /// folder of a workspace file or of an `@file`, and at the user's home
    /// directory otherwise; a workspace server without one runs in its folder.
    ///
    /// # Errors
    ///
    /// [`ResolveError`], which names the server, the field and the variable.
    pub fn resolve(
        &self,
        environment: &Environment,
        env_mode: EnvMode,
    ) -> Result<Resolved, ResolveError> {
        let resolver = Resolver::new(self, environment, env_mode);
        match &self.transport {
            Transport::Stdio {
                command,
                args,
                cwd,
                env,
            } => resolver
                .stdio(
                    &self.source,
                    command,
                    args,
                    cwd.as_ref(),
                    env,
                    self.env_file.as_ref(),
                )
                .map(Resolved::Stdio),
            Transport::Http {
                url,
                headers,
                reach,
            } => resolver
                .http(&self.source, url, headers, reach)
                .map(Resolved::Http),
            Transport::Memory { .. } => Ok(Resolved::Memory),
        }
    }
}

// === impl Resolver ===

impl<'a> Resolver<'a> {
    pub(super) fn new(
        spec: &'a ServerSpec,
        environment: &'a Environment,
        env_mode: EnvMode,
    ) -> Self {
        Self {
            server: &spec.name,
            environment,
            env_mode: spec.env_mode.unwrap_or(env_mode),
        }
    }

    fn stdio(
        &self,
        source: &Source,
        command: &Template,
        args: &[Template],
        cwd: Option<&Template>,
        env: &[(Box<str>, SecretTemplate)],
        env_file: Option<&EnvFile>,
    ) -> Result<ResolvedStdio, ResolveError> {
        let mut own = self.env_file(env_file)?;
        for (name, value) in env {
            let value = self.env_value(name, value)?;
            own.retain(|(known, _)| known != &**name);
            own.push((name.to_string(), value));
        }
        let lookup = |name: &str| {
            let configured = own.iter().find(|(known, _)| *known == name);
            configured
                .map(|(_, value)| Cow::Borrowed(value.as_str()))
                .or_else(|| self.environment.lookup(name))
        };
        let follow = |field: &str, text: &Template| {
            expand(text.as_str(), lookup).map_err(|source| self.reference(field, source))
        };
        let resolved_command = follow("command", command)?;
        if resolved_command.is_empty() {
            return Err(self.value("command", "is empty"));
        }
        let resolved_args = args
            .iter()
            .enumerate()
            .map(|(index, arg)| follow(&format!("args[{index}]"), arg).map(OsString::from))
            .collect::<Result<_, _>>()?;
        let cwd = cwd.map(|cwd| follow("cwd", cwd)).transpose()?;
        let cwd = self.working_directory(source, cwd.as_deref())?;
        let configured = own
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        Ok(ResolvedStdio {
            command: resolved_command.into(),
            args: resolved_args,
            cwd,
            env: self.environment.child(configured),
        })
    }

    pub(super) fn env_value(
        &self,
        name: &str,
        value: &SecretTemplate,
    ) -> Result<String, ResolveError> {
        let field = || format!("env.{name}");
        match self.env_mode {
            EnvMode::Direct => expand(value.reveal(), |name| self.environment.lookup(name))
                .map_err(|source| self.reference(&field(), source)),
            EnvMode::Indirect => {
                let variable = value.reveal();
                self.environment
                    .get(variable)
                    .map(str::to_owned)
                    .ok_or_else(|| ResolveError::Indirect {
                        server: self.server.clone(),
                        field: field(),
                        variable: shown_variable(variable),
                    })
            }
        }
    }

    fn working_directory(
        &self,
        source: &Source,
        cwd: Option<&str>,
    ) -> Result<Option<PathBuf>, ResolveError> {
        let Some(cwd) = cwd.filter(|cwd| !cwd.is_empty()) else {
            return Ok(source.trusted_folder().map(Path::to_path_buf));
        };
        self.absolute(source, "cwd", Path::new(cwd)).map(Some)
    }

    /// A path of an entry: a relative one begins at the folder of a workspace
    /// file or of an `@file`, and at the user's home directory otherwise.
    pub(super) fn absolute(
        &self,
        source: &Source,
        field: &str,
        path: &Path,
    ) -> Result<PathBuf, ResolveError> {
        if path.is_absolute() {
            return Ok(path.to_path_buf());
        }
        let base = match source {
            Source::Workspace { folder, .. } | Source::Plugin { folder, .. } => {
                Some(folder.clone())
            }
            Source::Default { file } => file.parent().map(Path::to_path_buf),
            Source::Agent { .. } => source.folder().map(Path::to_path_buf),
            Source::Additional { file: Some(file) } => file.parent().map(Path::to_path_buf),
            Source::Builtin | Source::Additional { file: None } | Source::User { .. } => None,
        };
        base.or_else(|| self.environment.user_home())
            .map(|base| base.join(path))
            .ok_or_else(|| {
                self.value(
                    field,
                    "is relative and there is no home directory to start from",
                )
            })
    }

    fn http(
        &self,
        source: &Source,
        url: &Template,
        headers: &[(Box<str>, SecretTemplate)],
        reach: &Reach,
    ) -> Result<ResolvedHttp, ResolveError> {
        let lookup = |name: &str| self.environment.lookup(name);
        let mut url =
            expand(url.as_str(), lookup).map_err(|source| self.reference("url", source))?;
        let helper = reach.headers_helper.as_deref();
        let helper = helper.map(|helper| self.helper(source, helper, &url));
        let mut socket = None;
        if is_socket(&url) {
            let named = SocketUrl::parse(&url).map_err(|problem| self.value("url", problem))?;
            url = named.url();
            socket = Some(named.socket);
        }
        if !url.starts_with("https://") && !url.starts_with("http://") {
            return Err(self.value("url", "does not start with https:// or http://"));
        }
        if url
            .chars()
            .any(|letter| letter.is_control() || letter == ' ')
        {
            return Err(self.value("url", "has a space or a control character"));
        }
        let headers = headers
            .iter()
            .map(|(name, value)| {
                let field = || format!("headers.{name}");
                let value = expand(value.reveal(), lookup)
                    .map_err(|source| self.reference(&field(), source))?;
                // A line break here would let a variable add headers.
                if value
                    .chars()
                    .any(|letter| letter.is_control() && letter != '\t')
                {
                    return Err(self.value(&field(), "has a control character"));
                }
                Ok((name.clone(), Secret::new(value)))
            })
            .collect::<Result<_, _>>()?;
        Ok(ResolvedHttp {
            url: Secret::new(url),
            headers,
            reach: self.reach(source, reach, socket)?,
            helper,
        })
    }

    /// The server whose references are followed.
    pub(super) fn server(&self) -> &ServerName {
        self.server
    }

    /// What its children inherit from.
    pub(super) fn environment(&self) -> &Environment {
        self.environment
    }

    /// What a reference stands for.
    pub(super) fn variable(&self, name: &str) -> Option<Cow<'_, str>> {
        self.environment.lookup(name)
    }

    /// The variables of its `envFile`.
    pub(super) fn env_file(
        &self,
        env_file: Option<&EnvFile>,
    ) -> Result<Vec<(String, String)>, ResolveError> {
        let Some(env_file) = env_file else {
            return Ok(Vec::new());
        };
        let lookup = |name: &str| self.environment.lookup(name);
        let path = expand(env_file.path.as_str(), lookup)
            .map_err(|source| self.reference("envFile", source))?;
        env_file
            .read(Path::new(&path), self.environment.user_home())
            .map_err(|problem| self.value("envFile", problem))
    }

    pub(super) fn reference(&self, field: &str, source: TemplateError) -> ResolveError {
        ResolveError::Reference {
            server: self.server.clone(),
            field: field.to_owned(),
            source,
        }
    }

    pub(super) fn value(&self, field: &str, problem: &'static str) -> ResolveError {
        ResolveError::Value {
            server: self.server.clone(),
            field: field.to_owned(),
            problem,
        }
    }
}

/// A value that is not the name of a variable may be the secret itself, put
/// there by someone who did not know of the indirect mode.
fn shown_variable(text: &str) -> Box<str> {
    let looks_like_a_name = text.len() <= 64
        && !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    if looks_like_a_name { text } else { "****" }.into()
}

// === impl ResolvedStdio ===

impl fmt::Debug for ResolvedStdio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResolvedStdio")
            .field("args", &self.args.len())
            .field("env", &self.env.len())
            .finish_non_exhaustive()
    }
}

// === impl ResolvedHttp ===

impl PartialEq for ResolvedHttp {
    fn eq(&self, other: &Self) -> bool {
        self.url.reveal() == other.url.reveal()
            && self.reach == other.reach
            && self.helper == other.helper
            && self.headers.len() == other.headers.len()
            && self
                .headers
                .iter()
                .zip(&other.headers)
                .all(|(a, b)| a.0 == b.0 && a.1.reveal() == b.1.reveal())
    }
}

impl Eq for ResolvedHttp {}

impl fmt::Debug for ResolvedHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResolvedHttp")
            .field("headers", &self.headers.len())
            .finish_non_exhaustive()
    }
}

// === impl ResolveError ===

impl ResolveError {
    /// The server that cannot be started.
    pub fn server(&self) -> &ServerName {
        match self {
            Self::Reference { server, .. }
            | Self::Indirect { server, .. }
            | Self::Value { server, .. } => server,
        }
    }

    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Reference {
                source: TemplateError::Undefined { variable },
                ..
            } => format!(
                "Set {variable} where the hub is started, or write ${{{variable}:-default}}."
            ),
            Self::Reference {
                source: TemplateError::NoSecret { name },
                ..
            } => format!(
                "Keep it: `legation secret set {name}`. `legation secret list` says whether the keystore opens."
            ),
            Self::Reference { .. } => "Write $$ where a dollar sign itself is meant.".to_owned(),
            Self::Indirect { .. } => {
                "With the indirect mode a value is the name of a variable of the hub's \
                 environment: set it there, or set envMode to direct."
                    .to_owned()
            }
            Self::Value { field, .. } => format!("Correct {field}, or the variable it refers to."),
        }
    }
}
