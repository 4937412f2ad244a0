//! One line of a trace: a call, its arguments and what came of it.

/// One call that succeeded, in parts.
pub(super) struct Call<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
    pub(super) result: &'a str,
    pub(super) begun: usize,
}

// === impl Call ===

impl Call<'_> {
    /// The path that it is about.
    pub(super) fn path(&self) -> Result<Option<String>, String> {
        match self.name {
            "openat" => described(self.result),
            "unlink" | "rename" | "mkdir" | "rmdir" => Ok(quoted(self.arguments)?.map(text_of)),
            "unlinkat" | "renameat" | "mkdirat" => self.below(self.arguments),
            _ => described(self.arguments),
        }
    }

    /// A folder that is open, and a name in it.
    pub(super) fn below(&self, arguments: &str) -> Result<Option<String>, String> {
        let Some(name) = quoted(arguments)?.map(text_of) else {
            return Ok(None);
        };
        if name.starts_with('/') {
            return Ok(Some(name));
        }
        let folder = described(arguments)?;
        Ok(folder.map(|folder| format!("{folder}/{name}")))
    }

    pub(super) fn second_path(&self) -> Result<String, String> {
        let (_, rest) = self
            .arguments
            .split_once("\", ")
            .ok_or("a rename has one name")?;
        let path = self.below(rest)?;
        path.ok_or_else(|| "a rename has one name".to_owned())
    }

    /// What was written, which must be all of it.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, String> {
        let bytes = quoted(self.arguments)?.ok_or("a write without bytes")?;
        if number(self.result)? != bytes.len() {
            return Err(format!("a short write: {} bytes", self.result));
        }
        Ok(bytes)
    }

    pub(super) fn number_of_file(&self) -> String {
        let number = self.arguments.split('<').next().unwrap_or_default();
        number.to_owned()
    }

    pub(super) fn last(&self) -> &str {
        self.arguments.rsplit(", ").next().unwrap_or_default()
    }
}

pub(super) fn number(text: &str) -> Result<usize, String> {
    let number = text.trim().parse();
    number.map_err(|_| format!("{text} is no number"))
}

/// The first argument in quotes.
pub(super) fn quoted(text: &str) -> Result<Option<Vec<u8>>, String> {
    let Some((_, rest)) = text.split_once('"') else {
        return Ok(None);
    };
    let (inner, after) = rest.split_once('"').ok_or("an open quote")?;
    if after.starts_with("...") {
        return Err("the trace leaves bytes out".to_owned());
    }
    hexadecimal(inner).map(Some)
}

/// The path that `-y` puts behind a number of a file.
fn described(text: &str) -> Result<Option<String>, String> {
    let Some((_, rest)) = text.split_once('<') else {
        return Ok(None);
    };
    let (inner, after) = rest.split_once('>').ok_or("an open bracket")?;
    if after.starts_with("(deleted)") {
        return Ok(None);
    }
    hexadecimal(inner).map(|bytes| Some(text_of(bytes)))
}

pub(super) fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `\x2f\x74…`
fn hexadecimal(text: &str) -> Result<Vec<u8>, String> {
    text.split("\\x")
        .skip(1)
        .map(|pair| u8::from_str_radix(pair, 16).map_err(|_| format!("{pair} is no byte")))
        .collect()
}
