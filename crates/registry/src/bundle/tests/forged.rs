//! Archives that no library would write.

use bytes::Bytes;
use serde_json::Value;

/// A file of a forged archive, stored as it is.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) content: Vec<u8>,
    /// As Unix has it, the kind of file included.
    pub(super) mode: u32,
    pub(super) flags: u16,
    pub(super) method: u16,
    /// A checksum other than its own.
    pub(super) crc: Option<u32>,
    /// A length other than its own.
    pub(super) size: Option<u32>,
}

#[derive(Debug, Default)]
pub(super) struct Forged {
    files: Vec<File>,
}

// === impl File ===

impl File {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            content: b"evil".to_vec(),
            mode: 0o100_644,
            flags: 0,
            method: 0,
            crc: None,
            size: None,
        }
    }

    /// What both headers have of it, after the version and before the lengths of what follows.
    fn shared(&self) -> Vec<u8> {
        let length = u32::try_from(self.content.len()).expect("short");
        let mut bytes = Vec::new();
        bytes.extend((self.flags | 1 << 11).to_le_bytes());
        bytes.extend(self.method.to_le_bytes());
        bytes.extend([0, 0, 0x21, 0x5a]);
        bytes.extend(
            self.crc
                .unwrap_or_else(|| crc32(&self.content))
                .to_le_bytes(),
        );
        bytes.extend(length.to_le_bytes());
        bytes.extend(self.size.unwrap_or(length).to_le_bytes());
        bytes.extend(u16::try_from(self.name.len()).expect("short").to_le_bytes());
        bytes
    }
}

// === impl Forged ===

impl Forged {
    /// A good bundle to begin with.
    pub(super) fn of(manifest: &Value) -> Self {
        let file = |name: &str, content: Vec<u8>| File {
            content,
            ..File::new(name)
        };
        Self {
            files: vec![
                file("manifest.json", manifest.to_string().into_bytes()),
                file("server/index.js", b"// server".to_vec()),
            ],
        }
    }

    pub(super) fn with(mut self, file: File) -> Self {
        self.files.push(file);
        self
    }

    pub(super) fn bytes(&self) -> Bytes {
        let mut archive = Vec::new();
        let mut directory = Vec::new();
        for file in &self.files {
            let offset = u32::try_from(archive.len()).expect("short");
            archive.extend(b"PK\x03\x04\x14\x00");
            archive.extend(file.shared());
            archive.extend([0, 0]);
            archive.extend(file.name.as_bytes());
            archive.extend(&file.content);
            // Made by Unix, so that the mode counts.
            directory.extend(b"PK\x01\x02\x14\x03\x14\x00");
            directory.extend(file.shared());
            directory.extend([0; 8]);
            directory.extend((file.mode << 16).to_le_bytes());
            directory.extend(offset.to_le_bytes());
            directory.extend(file.name.as_bytes());
        }
        let start = u32::try_from(archive.len()).expect("short");
        let size = u32::try_from(directory.len()).expect("short");
        let count = u16::try_from(self.files.len()).expect("few");
        archive.extend(directory);
        archive.extend(b"PK\x05\x06\0\0\0\0");
        archive.extend(count.to_le_bytes());
        archive.extend(count.to_le_bytes());
        archive.extend(size.to_le_bytes());
        archive.extend(start.to_le_bytes());
        archive.extend([0, 0]);
        Bytes::from(archive)
    }
}

/// The checksum of archives (ISO 3309).
fn crc32(bytes: &[u8]) -> u32 {
    let rest = bytes.iter().fold(u32::MAX, |mut rest, byte| {
        rest ^= u32::from(*byte);
        for _ in 0..8 {
            let low = rest & 1;
            rest >>= 1;
            rest ^= 0xedb8_8320 * low;
        }
        rest
    });
    !rest
}
