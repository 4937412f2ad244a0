//! The tools, as models read of them.

use legation_gate::policy::NativeTool;

use crate::Tool;
use crate::native::READS;

/// The facts of a tool that changes something and has no draft.
const CHANGES: NativeTool = NativeTool {
    changes: true,
    drafts: false,
};

pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "read_file",
        title: "Read a file",
        description: "Reads a text file of the folder you work in. Paths are relative to it. Gives at most 2000 lines; for a part of a longer file say with which line to begin (offset, from 1) and how many lines you want (limit).",
        input: r#"{"type":"object","properties":{"path":{"type":"string","minLength":1,"description":"The file, relative to the folder"},"offset":{"type":"integer","minimum":1,"description":"The first line, from 1"},"limit":{"type":"integer","minimum":1,"description":"How many lines"}},"required":["path"],"additionalProperties":false}"#,
        reads: true,
        facts: READS,
    },
    Tool {
        name: "write_file",
        title: "Write a file",
        description: "Makes a text file, or replaces all of one. Folders above it are made. To change a part of a file use edit.",
        input: r#"{"type":"object","properties":{"path":{"type":"string","minLength":1,"description":"The file, relative to the folder"},"content":{"type":"string","description":"All of its new text"}},"required":["path","content"],"additionalProperties":false}"#,
        reads: false,
        facts: CHANGES,
    },
    Tool {
        name: "edit",
        title: "Edit a file",
        description: "Replaces text in a file. old_text must be in the file exactly, with its indentation, and once only (or set replace_all). For several changes of one file give a list as edits; all of them are made or none.",
        input: r#"{"type":"object","properties":{"path":{"type":"string","minLength":1,"description":"The file, relative to the folder"},"old_text":{"type":"string","minLength":1,"description":"The text as it stands in the file"},"new_text":{"type":"string","description":"The text in its place"},"replace_all":{"type":"boolean","default":false},"edits":{"type":"array","minItems":1,"items":{"type":"object","properties":{"old_text":{"type":"string","minLength":1},"new_text":{"type":"string"},"replace_all":{"type":"boolean","default":false}},"required":["old_text","new_text"],"additionalProperties":false}}},"required":["path"],"additionalProperties":false}"#,
        reads: false,
        facts: CHANGES,
    },
    Tool {
        name: "glob",
        title: "Find files",
        description: "Lists files whose paths match a pattern, such as *.rs (in any folder) or src/**/*.ts. Leaves out what ignore files leave out, unless ignored is true.",
        input: r#"{"type":"object","properties":{"pattern":{"type":"string","minLength":1},"path":{"type":"string","description":"The folder to look in, relative to the folder you work in"},"limit":{"type":"integer","minimum":1,"maximum":2000,"default":200},"ignored":{"type":"boolean","default":false}},"required":["pattern"],"additionalProperties":false}"#,
        reads: true,
        facts: READS,
    },
    Tool {
        name: "grep",
        title: "Search in files",
        description: "Finds lines that match a regular expression (or a plain text, with literal). Shows path:line:text. With output files or count it shows the files only. Leaves out what ignore files leave out, unless ignored is true.",
        input: r#"{"type":"object","properties":{"pattern":{"type":"string","minLength":1},"path":{"type":"string","description":"The folder or file to look in"},"glob":{"type":"string","description":"Only files that match, such as *.py"},"ignore_case":{"type":"boolean","default":false},"literal":{"type":"boolean","default":false},"context":{"type":"integer","minimum":0,"maximum":20,"default":0,"description":"Lines shown around each match"},"output":{"type":"string","enum":["lines","files","count"],"default":"lines"},"limit":{"type":"integer","minimum":1,"maximum":2000,"default":200},"ignored":{"type":"boolean","default":false}},"required":["pattern"],"additionalProperties":false}"#,
        reads: true,
        facts: READS,
    },
    Tool {
        name: "bash",
        title: "Run a command",
        description: "Runs a shell command in the folder you work in and waits for its end. It can read the system's programs and change files of the folder; /tmp and the home folder are empty at each call, nothing keeps running afterwards, there is no input, and usually no network. Read files with read_file and change them with edit instead.",
        input: r#"{"type":"object","properties":{"command":{"type":"string","minLength":1},"cwd":{"type":"string","description":"A folder below to run it in"},"timeout_ms":{"type":"integer","minimum":1,"description":"After how long it is stopped"}},"required":["command"],"additionalProperties":false}"#,
        reads: false,
        facts: CHANGES,
    },
    Tool {
        name: "lsp_diagnostics",
        title: "Check a file",
        description: "Asks the project's language server what is wrong with a file: errors and warnings with their lines.",
        input: r#"{"type":"object","properties":{"path":{"type":"string","minLength":1,"description":"The file, relative to the folder"}},"required":["path"],"additionalProperties":false}"#,
        reads: true,
        facts: READS,
    },
];
