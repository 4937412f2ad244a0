//! JSON-RPC with raw payloads, MCP revisions and the translation between them; sans-IO.
