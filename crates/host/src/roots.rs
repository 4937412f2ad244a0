//! The root of an instance that works in one folder.

use std::path::Path;

use legation_wire::json::{Object, Raw};

/// The answer to `roots/list` of an instance that works in one folder.
pub(crate) fn of_folder(folder: &Path) -> Raw {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let root = Object::new()
        .with("uri", Raw::str(&file_uri(folder)))
        .with("name", Raw::str(&name));
    Object::new()
        .with("roots", Raw::array([&root.to_raw()]))
        .to_raw()
}

/// RFC 8089, with everything percent-encoded that RFC 3986 does not call
/// unreserved.
fn file_uri(path: &Path) -> String {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt as _;

    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            // Writing to a string cannot fail.
            byte => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri
}
