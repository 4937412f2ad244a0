//! A new server, asked for step by step.

use legation_config::edit::{NewServer, NewTransport};
use legation_core::Secret;

use crate::commands::secret;
use crate::{CliError, Context, Exit, terminal};

/// Asks for what a server needs. Values that are not to be shown go to the keystore, and references
/// to them into the entry.
pub(super) fn server(context: &Context, name: &str) -> Result<NewServer, CliError> {
    let ask = |question: &str| terminal::ask(question).map_err(|error| CliError::failed(&error));
    let target = ask("The command line, or the address (https://…):")?;
    let is_address = target.starts_with("https://") || target.starts_with("http://");
    let what = if is_address { "header" } else { "variable" };
    let mut pairs = Vec::new();
    loop {
        let pair = ask(&format!(
            "A {what} as NAME=VALUE, NAME alone for a secret, or nothing to go on:"
        ))?;
        if pair.is_empty() {
            break;
        }
        pairs.push(match pair.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => {
                let kept = legation_config::foreign::secret_name(name, &pair);
                let typed = terminal::ask_hidden(&format!("{pair} (not shown):"));
                let typed = typed.map_err(|error| CliError::failed(&error))?;
                if typed.is_empty() {
                    return Err(CliError::new(
                        Exit::Usage,
                        "nothing was typed; nothing was added",
                    ));
                }
                secret::keep(&secret::open(context)?, &kept, &Secret::new(typed))?;
                let scheme = if pair.eq_ignore_ascii_case("authorization") {
                    "Bearer "
                } else {
                    ""
                };
                (pair, format!("{scheme}${{keyring:{kept}}}"))
            }
        });
    }
    let transport = if is_address {
        NewTransport::Http {
            url: target,
            headers: pairs,
        }
    } else {
        let words = words(&target).ok_or_else(|| {
            CliError::new(Exit::Usage, "the quotes are not closed; nothing was added")
        })?;
        let (command, args) = words
            .split_first()
            .ok_or_else(|| CliError::new(Exit::Usage, "nothing was typed; nothing was added"))?;
        NewTransport::Stdio {
            command: command.clone(),
            args: args.to_vec(),
            cwd: None,
            env: pairs,
        }
    };
    Ok(NewServer {
        transport,
        ..NewServer::default()
    })
}

/// The words of a command line, as a shell would cut it: spaces, quotes and backslashes, and nothing
/// else of a shell. `None` where quotes are not closed.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some('\''), letter) => word.get_or_insert_default().push(letter),
            (_, '\\') => word.get_or_insert_default().push(letters.next()?),
            (Some(_), letter) => word.get_or_insert_default().push(letter),
            (None, '"' | '\'') => {
                word.get_or_insert_default();
                quote = Some(letter);
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (None, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_command_line_is_cut_like_a_shell_does() {
        for (line, expected) in [
            ("npx -y  x", Some(vec!["npx", "-y", "x"])),
            (
                r#"a "b c" 'd "e' f\ g """#,
                Some(vec!["a", "b c", "d \"e", "f g", ""]),
            ),
            (r#"a"b"c $HOME ;"#, Some(vec!["abc", "$HOME", ";"])),
            ("", Some(vec![])),
            ("a 'b", None),
            ("a \\", None),
        ] {
            let found = words(line);
            let found = found
                .as_ref()
                .map(|words| words.iter().map(String::as_str).collect());
            assert_eq!(found, expected, "{line}");
        }
    }
}
