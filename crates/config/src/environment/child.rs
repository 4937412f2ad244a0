//! Which variables a child process inherits.
//!
//! An allow-list, because the environment of a developer's shell holds tokens
//! for everything, and a server that needs one should be given it by name. A
//! deny-list of known secret names was rejected: it is wrong about the next
//! one. Sockets of agents (`SSH_AUTH_SOCK`, `DBUS_SESSION_BUS_ADDRESS`) and
//! options that load code (`NODE_OPTIONS`, `PYTHONPATH`, `LD_PRELOAD`) are
//! authority and therefore not in it.

use std::ffi::OsStr;

const NAMES: &[&str] = &[
    // Who and where.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TEMP",
    "TMP",
    // Language and terminal.
    "LANG",
    "LANGUAGE",
    "TZ",
    "TZDIR",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    // How the network is reached; both spellings are in use.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    // Whom TLS believes.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

const PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Compared without regard to case, as that system does.
const WINDOWS_NAMES: &[&str] = &[
    "PATH",
    "PATHEXT",
    "COMSPEC",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "USERPROFILE",
    "USERNAME",
    "HOMEDRIVE",
    "HOMEPATH",
    "TEMP",
    "TMP",
    "PROCESSOR_ARCHITECTURE",
    "NUMBER_OF_PROCESSORS",
];

pub(super) fn inherits(name: &OsStr, value: &OsStr) -> bool {
    // Old shells export functions as values of this form, and a child shell
    // would run what follows.
    if value.as_encoded_bytes().starts_with(b"()") {
        return false;
    }
    let Some(name) = name.to_str() else {
        return false;
    };
    NAMES.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || (cfg!(windows)
            && WINDOWS_NAMES
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name)))
}
