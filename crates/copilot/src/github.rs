//! GitHub's API, as far as it is asked: two addresses, read and nothing else.

use std::io;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri, header};
use http_body_util::Full;
use legation_net::{Answer, BodyEnd, ExchangeError, Tls, TlsError};
use tokio::net::TcpStream;

/// The largest answer that is read.
const ANSWER_MAX: usize = 64 * 1024;
/// How long one question may take, all in all.
const LIMIT: Duration = Duration::from_secs(10);

/// GitHub's API did not answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GithubError {
    /// The address in the settings is none.
    #[error("the address of GitHub's API cannot be used")]
    Address,
    /// It could not prove who it is.
    #[error("GitHub's API was not reached safely")]
    Tls(#[source] TlsError),
    /// It was not reached.
    #[error("GitHub's API was not reached")]
    Unreached(#[source] io::Error),
    /// It went away.
    #[error("GitHub's API went away")]
    Gone(#[source] ExchangeError),
    /// It took too long.
    #[error("GitHub's API did not answer within {} s", LIMIT.as_secs())]
    Late,
    /// It answered with something else than was asked for.
    #[error("GitHub's API answered with status {0}")]
    Status(u16),
    /// Its answer cannot be read.
    #[error("an answer of GitHub's API could not be read")]
    Unreadable,
}

/// A client of it.
#[derive(Debug)]
pub(crate) struct Github {
    base: String,
    tls: Tls,
}

// === impl Github ===

impl Github {
    pub(crate) fn new(base: &str, ca_pem: Option<Vec<u8>>) -> Self {
        Self {
            base: base.trim_end_matches('/').to_owned(),
            tls: Tls::new(ca_pem),
        }
    }

    /// Reads one address below the base.
    pub(crate) async fn get(
        &self,
        path: &str,
        fields: &[(HeaderName, HeaderValue)],
    ) -> Result<Answer, GithubError> {
        let exchange = Box::pin(self.exchange(path, fields));
        tokio::time::timeout(LIMIT, exchange)
            .await
            .unwrap_or(Err(GithubError::Late))
    }

    async fn exchange(
        &self,
        path: &str,
        fields: &[(HeaderName, HeaderValue)],
    ) -> Result<Answer, GithubError> {
        let uri: Uri = format!("{}{path}", self.base)
            .parse()
            .map_err(|_| GithubError::Address)?;
        let authority = uri.authority().ok_or(GithubError::Address)?;
        if uri.scheme_str() != Some("https") {
            // A token may come along.
            return Err(GithubError::Address);
        }
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let port = authority.port_u16().unwrap_or(443);
        let tcp = TcpStream::connect((host.as_str(), port))
            .await
            .map_err(GithubError::Unreached)?;
        let stream = self.tls.connect(&host, tcp).await;
        let stream = stream.map_err(GithubError::Tls)?;
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let mut request = http::Request::get(target)
            .header(header::HOST, authority.as_str())
            .header(header::ACCEPT, "application/vnd.github+json")
            .header(header::USER_AGENT, legation_net::USER_AGENT);
        for (name, value) in fields {
            request = request.header(name, value);
        }
        let request = request
            .body(Full::default())
            .map_err(|_| GithubError::Address)?;
        let answer = legation_net::exchange(stream, request, ANSWER_MAX).await;
        let answer = answer.map_err(GithubError::Gone)?;
        match answer.end {
            BodyEnd::Whole => Ok(answer),
            BodyEnd::TooLong | BodyEnd::Broken => Err(GithubError::Unreadable),
        }
    }
}
