//! What a process complains about.

use legation_wire::framing::LineDecoder;
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStderr;

use super::StdioSpec;
use crate::transport::log_file::LogFile;

/// Longest line kept; a longer one is cut out, not the log with it.
const LINE_MAX: usize = 64 * 1024;

/// Copies stderr, line by line, until it ends.
pub(super) fn copy(
    mut stderr: ChildStderr,
    spec: &StdioSpec,
) -> impl Future<Output = ()> + Send + 'static {
    let sink = spec.stderr.clone();
    let path = spec.log_file.clone();
    async move {
        let mut file = path.as_deref().map(LogFile::open);
        let mut lines = LineDecoder::new(LINE_MAX);
        let mut take = |line: &[u8]| {
            sink(&String::from_utf8_lossy(line));
            if let Some(file) = &mut file {
                file.line(line);
            }
        };
        let mut chunk = vec![0_u8; 4096];
        while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
            lines.push(&chunk[..read]);
            loop {
                match lines.next() {
                    Ok(Some(line)) => take(&line),
                    Ok(None) => break,
                    Err(error) => take(error.to_string().as_bytes()),
                }
            }
        }
        if let Some(rest) = lines.finish_stream() {
            take(&rest);
        }
    }
}
