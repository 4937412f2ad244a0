//! Streamable HTTP, the old SSE pair and the Unix socket.
