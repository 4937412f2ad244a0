//! A form whose text is wiped: it holds secrets.

use bytes::Bytes;
use zeroize::Zeroizing;

use crate::base::form_encode;

/// `application/x-www-form-urlencoded`.
#[derive(Default)]
pub(crate) struct Form(String);

// === impl Form ===

impl Form {
    pub(crate) fn put(&mut self, name: &str, value: &str) {
        // Growing would leave copies behind; a form is at most three times the
        // size of what is put into it.
        let needed = self.0.len() + name.len() + 3 * value.len() + 2;
        if self.0.capacity() < needed {
            let mut wider = String::with_capacity(needed + 4096);
            wider.push_str(&self.0);
            drop(Zeroizing::new(std::mem::replace(&mut self.0, wider)));
        }
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.push_str(name);
        self.0.push('=');
        form_encode(value, &mut self.0);
    }

    pub(crate) fn into_bytes(mut self) -> Bytes {
        let text = std::mem::take(&mut self.0);
        super::wiped(Zeroizing::new(text.into_bytes()))
    }
}

impl Drop for Form {
    fn drop(&mut self) {
        drop(Zeroizing::new(std::mem::take(&mut self.0)));
    }
}
