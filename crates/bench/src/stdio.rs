//! The echo server on standard input and output: one message a line, one thread, no runtime.

use std::io::{self, BufRead, BufReader, Write};

use crate::answer::{Answered, Server};

/// Answers until standard input ends.
///
/// Answers are held back only while more requests are already here, so that a burst costs one write.
///
/// # Errors
/// The pipe's.
pub fn run(server: &Server) -> io::Result<()> {
    let mut input = BufReader::with_capacity(64 << 10, io::stdin().lock());
    let mut output = io::stdout().lock();
    let (mut line, mut answers) = (Vec::new(), Vec::with_capacity(64 << 10));
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if server.answer(&line, &mut answers) != Answered::Silent {
            answers.push(b'\n');
        }
        if input.buffer().is_empty() {
            output.write_all(&answers)?;
            output.flush()?;
            answers.clear();
        }
    }
}
