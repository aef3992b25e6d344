//! Programs that nobody can read: known by their names, or by how they begin.

use workspace::WorkspacePath;

/// Endings of names of what is run or loaded.
const PROGRAMS: [&str; 22] = [
    "a", "apk", "class", "com", "dex", "dll", "dylib", "ear", "efi", "exe", "jar", "ko", "lib", "node", "o",
    "obj", "pickle", "pkl", "pyc", "rlib", "so", "war",
];

/// Beginnings of programs: ELF, Mach-O (of either byte order, and of several kinds, as Java's classes begin), Windows, WebAssembly,
/// libraries, archives that Java and Python run, and what Android, Lua and LLVM run.
const STARTS: [&[u8]; 17] = [
    b"\x7fELF",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
    b"\xca\xfe\xba\xbf",
    b"\xbe\xba\xfe\xca",
    b"MZ",
    b"\0asm",
    b"!<arch>\n",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"dex\n",
    b"\x1bLua",
    b"\x1bLJ",
    b"BC\xc0\xde",
];

/// Returns whether a file is run, or loaded by what runs, although nobody can read it.
pub(super) fn is_program(path: &WorkspacePath, content: &[u8]) -> bool {
    let name = path.file_name().unwrap_or_default().to_ascii_lowercase();
    let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix);
    // Bytecode of Python has its version, then the end of a line.
    let is_bytecode = content.get(2..4) == Some(b"\r\n") && content.first() != Some(&b'\n');
    content.contains(&0)
        && (PROGRAMS.contains(&suffix)
            || is_bytecode
            || STARTS.iter().any(|start| content.starts_with(start)))
}
