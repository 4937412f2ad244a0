//! The tenant's own certificate authority and the keys in its directory.
//!
//! The authority's certificate is written for clients to trust by name of the file; it is never
//! put into a store of the system, where it would outlive the tenant.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use legation_core::home::write_private;
use legation_core::{SharedClock, Wall};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PKCS_RSA_SHA256,
};
use ring::signature::RsaKeyPair;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::rsa;

/// The real names that the CONNECT listener ends TLS for.
pub(crate) const REAL_HOSTS: [&str; 8] = [
    "login.microsoftonline.com",
    "login.microsoft.com",
    "login.windows.net",
    "sts.windows.net",
    "graph.microsoft.com",
    "microsoft.com",
    "www.microsoft.com",
    "enterpriseregistration.windows.net",
];

const LOCAL_NAMES: [&str; 4] = ["localhost", "*.localhost", "127.0.0.1", "::1"];

/// Keys and certificates of one directory.
#[derive(Debug, Clone)]
pub(crate) struct Certs {
    folder: PathBuf,
}

/// What signs tokens.
pub(crate) struct Signer {
    pub(crate) pair: RsaKeyPair,
    /// Its certificate, DER: what the key set shows as `x5c`.
    pub(crate) certificate: Vec<u8>,
}

// === impl Certs ===

impl Certs {
    pub(crate) fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// The authority's certificate, for clients.
    pub(crate) fn authority(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// The TLS settings of a listener: a fresh certificate under the kept authority.
    pub(crate) fn server(&self, clock: &SharedClock) -> Result<Arc<rustls::ServerConfig>> {
        let today = clock.wall();
        let authority_key = self.key("ca-key.pem", || Ok(KeyPair::generate()?))?;
        let params = authority_params(today)?;
        if !self.authority().exists() {
            let certificate = params.self_signed(&authority_key)?;
            // The file is for reading by any client; what is private is the key.
            write_private(&self.authority(), certificate.pem().as_bytes())?;
        }
        let names: Vec<String> = LOCAL_NAMES
            .iter()
            .chain(&REAL_HOSTS)
            .map(|name| (*name).to_owned())
            .collect();
        let mut leaf = CertificateParams::new(names)?;
        leaf.distinguished_name = named("Legation development tenant");
        leaf.use_authority_key_identifier_extension = true;
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let (from, until) = years(today, 1)?;
        leaf.not_before = rcgen::date_time_ymd(from, 1, 1);
        leaf.not_after = rcgen::date_time_ymd(until, 12, 31);
        let leaf_key = KeyPair::generate()?;
        let issuer = Issuer::from_params(&params, &authority_key);
        let certificate = leaf.signed_by(&leaf_key, &issuer)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(leaf_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    /// What signs tokens, made at the first start.
    pub(crate) fn signer(&self, clock: &SharedClock) -> Result<Signer> {
        let key = self.rsa("signing-key.pem")?;
        let certificate = self_signed(&key, "accounts.accesscontrol.windows.net", clock)?;
        let pair = RsaKeyPair::from_pkcs8(&key.serialize_der())
            .map_err(|error| anyhow::anyhow!("the signing key is rejected: {error}"))?;
        Ok(Signer { pair, certificate })
    }

    /// A key and a certificate for client assertions; both files' paths, and the certificate as
    /// PEM. They are made when they are not there.
    pub(crate) fn credential(
        &self,
        name: &str,
        clock: &SharedClock,
    ) -> Result<(PathBuf, PathBuf, String)> {
        let key_name = format!("{name}-key.pem");
        let cert = self.folder.join(format!("{name}-cert.pem"));
        let key = self.rsa(&key_name)?;
        let pem = match std::fs::read_to_string(&cert) {
            Ok(pem) => pem,
            Err(_) => {
                let der = self_signed(&key, name, clock)?;
                let pem = pem(&der);
                write_private(&cert, pem.as_bytes())?;
                pem
            }
        };
        Ok((cert, self.folder.join(key_name), pem))
    }

    fn rsa(&self, name: &str) -> Result<KeyPair> {
        self.key(name, || {
            let der = rsa::generate();
            Ok(KeyPair::from_pkcs8_der_and_sign_algo(
                &PrivatePkcs8KeyDer::from(der.as_slice()),
                &PKCS_RSA_SHA256,
            )?)
        })
    }

    fn key(&self, name: &str, make: impl FnOnce() -> Result<KeyPair>) -> Result<KeyPair> {
        let path = self.folder.join(name);
        match std::fs::read_to_string(&path) {
            Ok(pem) => KeyPair::from_pem(&pem).with_context(|| {
                format!(
                    "{} is damaged; remove it with ca.pem to get new keys",
                    path.display()
                )
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let key = make()?;
                write_private(&path, key.serialize_pem().as_bytes())?;
                Ok(key)
            }
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer")
    }
}

fn authority_params(today: Wall) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.distinguished_name = named("Legation development CA");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    let (from, until) = years(today, 10)?;
    params.not_before = rcgen::date_time_ymd(from, 1, 1);
    params.not_after = rcgen::date_time_ymd(until, 12, 31);
    Ok(params)
}

fn self_signed(key: &KeyPair, name: &str, clock: &SharedClock) -> Result<Vec<u8>> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.distinguished_name = named(name);
    let (from, until) = years(clock.wall(), 2)?;
    params.not_before = rcgen::date_time_ymd(from, 1, 1);
    params.not_after = rcgen::date_time_ymd(until, 12, 31);
    Ok(params.self_signed(key)?.der().to_vec())
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

/// From last year, so that a client with a slow clock accepts it.
fn years(today: Wall, ahead: i32) -> Result<(i32, i32)> {
    let year: i32 = today.to_string()[..4]
        .parse()
        .context("the clock shows no year")?;
    Ok((year - 1, year + ahead))
}

/// DER as PEM.
fn pem(der: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let mut out = String::from("-----BEGIN CERTIFICATE-----\n");
    for line in text.as_bytes().chunks(64) {
        out.push_str(&String::from_utf8_lossy(line));
        out.push('\n');
    }
    out.push_str("-----END CERTIFICATE-----\n");
    out
}
