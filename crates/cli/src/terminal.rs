//! What a person types at the terminal, and nothing they typed before they were
//! asked.

use std::io::{self, IsTerminal as _, Write as _};

use rustix::termios::{self, LocalModes, OptionalActions, QueueSelector};

/// Whether there is a person to ask.
pub(crate) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks, and reads one line. What was typed before the question stood there is
/// thrown away: keys meant for something else must answer nothing.
pub(crate) fn ask(question: &str) -> io::Result<String> {
    let stdin = io::stdin();
    let mut err = io::stderr().lock();
    write!(err, "{question} ")?;
    err.flush()?;
    termios::tcflush(&stdin, QueueSelector::IFlush)?;
    let mut line = String::new();
    stdin.read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

/// Asks for something that is not shown while it is typed.
pub(crate) fn ask_hidden(question: &str) -> io::Result<String> {
    let stdin = io::stdin();
    let before = termios::tcgetattr(&stdin)?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    hidden.local_modes.insert(LocalModes::ECHONL);
    termios::tcsetattr(&stdin, OptionalActions::Flush, &hidden)?;
    let answer = ask(question);
    termios::tcsetattr(&stdin, OptionalActions::Now, &before)?;
    answer
}

/// One line of standard input, for programs that pipe it in.
pub(crate) fn piped() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
