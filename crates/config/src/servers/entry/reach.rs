//! `proxy`, `tls` and `headersHelper`.

use serde_json::Value;

use super::Fields;
use super::check::{Wrong, check_references, not_a, wrong};
use crate::environment::SecretTemplate;
use crate::servers::reach::{ProxyChoice, Reach};

impl Fields<'_> {
    /// How the address is reached, as far as it is said.
    pub(super) fn reach(&mut self, sse: bool) -> Result<Reach, Wrong> {
        let mut reach = Reach {
            sse,
            proxy: self.proxy()?,
            headers_helper: self.headers_helper()?,
            ..Reach::default()
        };
        match self.take("tls") {
            None => {}
            Some(Value::Object(members)) => {
                let mut inner = Fields {
                    rest: members,
                    warnings: Vec::new(),
                    source: self.source,
                };
                inner.tls(&mut reach).map_err(|inner| Wrong {
                    message: format!("tls.{}", inner.message),
                    ..inner
                })?;
                for name in inner.rest.keys() {
                    let name = name.escape_debug();
                    self.warn(
                        format!("without effect here: `tls.{name}`"),
                        "Check the spelling.",
                    );
                }
            }
            Some(other) => return Err(not_a("tls", "an object", &other)),
        }
        Ok(reach)
    }

    fn headers_helper(&mut self) -> Result<Option<Box<str>>, Wrong> {
        let Some(helper) = self.text("headersHelper")? else {
            return Ok(None);
        };
        if helper.trim().is_empty() {
            return Err(wrong(
                "headersHelper is empty",
                "Write the command that prints the headers, or remove the field.",
            ));
        }
        if helper.contains("${keyring:") {
            return Err(wrong(
                "headersHelper names a secret of the keystore, which everybody on this machine could \
                 then read in the list of processes",
                "Put the secret into `headers`, or have the command fetch it.",
            ));
        }
        Ok(Some(helper))
    }

    fn proxy(&mut self) -> Result<ProxyChoice, Wrong> {
        match self.take("proxy") {
            None => Ok(ProxyChoice::Environment),
            Some(Value::Bool(false)) => Ok(ProxyChoice::Off),
            Some(Value::String(url)) if !url.trim().is_empty() => {
                check_references("proxy", &url)?;
                Ok(ProxyChoice::At(SecretTemplate::new(&url)))
            }
            Some(other) => Err(not_a("proxy", "the address of a proxy or false", &other)),
        }
    }

    fn tls(&mut self, reach: &mut Reach) -> Result<(), Wrong> {
        reach.ca_file = self.maybe_template("caFile")?;
        reach.client_cert = self.maybe_template("clientCert")?;
        reach.client_key = self.maybe_secret("clientKey")?;
        match (&reach.client_cert, &reach.client_key) {
            (Some(_), None) => Err(wrong(
                "clientCert is given without clientKey",
                "Add the key of the certificate.",
            )),
            (None, Some(_)) => Err(wrong(
                "clientKey is given without clientCert",
                "Add the certificate of the key.",
            )),
            (Some(_), Some(_)) | (None, None) => Ok(()),
        }
    }
}
