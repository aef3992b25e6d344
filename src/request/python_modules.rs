//! Names of modules that Python programs import: those of the standard library, which any program may, and those that a text
//! names.

use std::collections::BTreeSet;

use regex::Regex;

/// Modules of the standard library in all versions that are in use, and what Python imports by itself when it starts. A file
/// of such a name takes the module's place.
const STANDARD: &str = "
    __future__ _abc _aix_support _android_support _apple_support _ast _asyncio _bisect _blake2 _bootsubprocess
    _bz2 _codecs _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw _collections
    _collections_abc _colorize _compat_pickle _compression _contextvars _crypt _csv _ctypes _curses
    _curses_panel _datetime _dbm _decimal _elementtree _frozen_importlib _frozen_importlib_external _functools
    _gdbm _hashlib _heapq _hmac _imp _interpchannels _interpqueues _interpreters _io _ios_support _json
    _locale _lsprof _lzma _markupbase _md5 _multibytecodec _multiprocessing _opcode _opcode_metadata _operator
    _osx_support _overlapped _pickle _posixshmem _posixsubprocess _py_abc _pydatetime _pydecimal _pyio _pyrepl
    _queue _random _scproxy _sha1 _sha256 _sha3 _sha512 _signal _sitebuiltins _socket _sqlite3 _sre _ssl _stat
    _statistics _string _strptime _struct _suggestions _symtable _sysconfig _testcapi _testinternalcapi
    _thread _threading_local _tkinter _tokenize _tracemalloc _types _typing _uuid _warnings _weakref
    _weakrefset _zoneinfo _zstd abc aifc annotationlib antigravity argparse array ast asynchat asyncio
    asyncore atexit audioop base64 bdb binascii bisect builtins bz2 calendar cgi cgitb chunk cmath cmd code
    codecs codeop collections colorsys compileall compression concurrent configparser contextlib contextvars
    copy copyreg cProfile crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils
    doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch formatter
    fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac
    html http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3
    linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder multiprocessing
    netrc nis nntplib ntpath nturl2path numbers opcode operator optparse os ossaudiodev pathlib pdb pickle
    pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd
    py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter
    runpy sched secrets select selectors shelve shlex shutil signal site sitecustomize smtpd smtplib sndhdr
    socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep
    struct subprocess sunau symbol symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios
    textwrap this threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle
    types typing unicodedata unittest urllib usercustomize uu uuid venv warnings wave weakref webbrowser
    wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo
";

/// Returns the names of the standard library's modules.
pub(super) fn standard_modules() -> impl Iterator<Item = &'static str> {
    STANDARD.split_whitespace()
}

/// Returns the modules that a program's text imports, with a dot between the names; those of the package around it begin
/// with dots. What may be a name within a module is among them as if it were one.
pub(super) fn imported(text: &str) -> BTreeSet<String> {
    const IMPORT: &str = r"(?m)(?:^|[;:])[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(?:\(([^)]*)\)|([^\n#;]*))|import[ \t]+([^\n#;]+))";
    let Ok(pattern) = Regex::new(IMPORT) else { return BTreeSet::new() };
    let first_words = |list: &str| -> Vec<String> {
        list.split(',').filter_map(|part| part.split_whitespace().next()).map(str::to_owned).collect()
    };
    let is_name = |name: &String| name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    let mut found = BTreeSet::new();
    for import in pattern.captures_iter(text) {
        if let Some(list) = import.get(4) {
            found.extend(first_words(list.as_str()).into_iter().filter(is_name));
        }
        let Some(package) = import.get(1).map(|package| package.as_str()) else { continue };
        let names = import.get(2).or(import.get(3)).map_or("", |names| names.as_str());
        let dot = if package.ends_with('.') { "" } else { "." };
        let names = first_words(names).into_iter().filter(is_name);
        found.extend(names.map(|name| format!("{package}{dot}{name}")));
        found.extend((!package.ends_with('.')).then(|| package.to_owned()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_in_a_text() {
        let text = "import json, guard.rules as rules\nfrom lib import (\n    one,\n    two as three,\n)\n\
                    def f():\n    from . import near; import os\n    from ..far.x import y # z\n# import no\nimportant = 1\n";
        let found: Vec<String> = imported(text).into_iter().collect();
        let expected =
            ["..far.x", "..far.x.y", ".near", "guard.rules", "json", "lib", "lib.one", "lib.two", "os"];
        assert_eq!(found, expected);
    }

    #[test]
    fn standard_modules_are_names() {
        assert!(standard_modules().any(|name| name == "json"));
        assert!(standard_modules().all(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_')));
    }
}
