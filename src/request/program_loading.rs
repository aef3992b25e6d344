//! Files that programs load by themselves from the folder that they start in, as far as these are known.

use super::program_tables::common_name;

/// A program that loads files from the folder in which it starts, whatever it runs. Lists are separated by spaces.
#[derive(Debug)]
pub(super) struct Loader {
    names: &'static str,
    /// Extensions of files that it loads by a module's name.
    endings: &'static str,
    /// Paths that it always loads, such as its settings.
    files: &'static str,
    /// Whether it imports Python modules.
    pub(super) is_python: bool,
}

const fn loader(names: &'static str, endings: &'static str, files: &'static str) -> Loader {
    Loader { names, endings, files, is_python: false }
}

const fn python(names: &'static str, files: &'static str) -> Loader {
    Loader { names, endings: "", files, is_python: true }
}

const LOADERS: &[Loader] = &[
    loader("lua luajit luau texlua resty", "lua luac so", ""),
    loader(
        "java javaw jshell jrunscript kotlin kotlinc scala scala-cli groovy jbang",
        "java class jar groovy kts kt scala",
        "META-INF/services",
    ),
    loader("clojure clj lein", "clj cljc bb class jar", "deps.edn META-INF/services"),
    loader("bb nbb", "clj cljc cljs bb", "bb.edn nbb.edn"),
    loader("R Rscript littler r", "R r rds RData", ".Rprofile .Renviron .RData renv/activate.R"),
    loader("julia", "jl", ""),
    loader("octave octave-cli matlab", "m oct mex", ".octaverc startup.m"),
    loader("ghci ghc runghc runhaskell", "hs lhs", ".ghci"),
    loader("elixir iex erl escript", "ex exs beam erl", ".iex.exs .erlang"),
    loader("php hhvm", "php inc phar", ""),
    loader("tclsh wish expect", "tcl tm", ""),
    loader("guile racket sbcl clisp chicken csi gosh", "scm rkt lisp fasl go", ".sbclrc"),
    loader("gawk", "awk", ""),
    loader("pwsh powershell osascript", "ps1 psm1", ""),
    loader("bun", "", ".env .env.local"),
    python("uvicorn hypercorn daphne granian litestar starlette sanic waitress-serve uwsgi", ""),
    python("gunicorn", "gunicorn.conf.py"),
    python("flask", ".flaskenv .env app.py wsgi.py"),
    python("celery dramatiq rq huey", "celeryconfig.py"),
    python("fastmcp mcp mcpo fastapi", "fastmcp.json"),
    python("streamlit gradio chainlit", ".streamlit"),
    python("ipython jupyter", "ipython_config.py"),
    python("scrapy django-admin locust faust", "scrapy.cfg"),
    python("pdb xonsh datasette llm micropython graalpy", ".pdbrc"),
    loader("gdb", "", ".gdbinit"),
    loader("lldb", "", ".lldbinit"),
    loader("vim vi nvim ex", "", ".vimrc .exrc .nvimrc .nvim.lua"),
    loader("emacs", "", ".dir-locals.el"),
    loader("foreman honcho overmind hivemind forego", "", "Procfile .env"),
    loader("dotenv dotenvx env-cmd", "", ".env"),
    loader("psql mysql sqlite3", "", ".psqlrc"),
];

/// Returns the row of a program that loads files from where it starts.
pub(super) fn loader_of(program: &str) -> Option<&'static Loader> {
    let plain = program.rsplit(['/', '\\']).next().unwrap_or(program);
    LOADERS.iter().find(|loader| loader.is_of(plain) || loader.is_of(common_name(program)))
}

impl Loader {
    fn is_of(&self, name: &str) -> bool {
        self.names.split(' ').any(|known| known == name)
    }

    /// Returns whether a word has the extension of a file that it loads.
    pub(super) fn is_code(&self, word: &str) -> bool {
        let has_ending = |ending: &str| word.strip_suffix(ending).is_some_and(|stem| stem.ends_with('.'));
        self.is_python && has_ending("py") || self.endings().any(has_ending)
    }

    /// Returns the extensions of files that it loads by a module's name.
    pub(super) fn endings(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.endings.split_whitespace()
    }

    /// Returns the paths that it always loads, relative to the folder in which it starts.
    pub(super) fn files(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.files.split_whitespace()
    }
}

/// Returns the interpreter that the first line of a script names, or `sh` without one; `None` if the file is not text.
pub(super) fn interpreter_of(content: &[u8]) -> Option<String> {
    let start = &content[..content.len().min(1024)];
    if start.contains(&0) {
        return None;
    }
    let text = String::from_utf8_lossy(start);
    let Some(line) = text.strip_prefix("#!").and_then(|rest| rest.lines().next()) else {
        return Some("sh".to_owned());
    };
    let mut words = line.split_whitespace().map(common_name);
    let is_name = |word: &&str| !word.starts_with('-') && !word.contains('=');
    match words.next() {
        Some("env") => words.find(is_name).map(str::to_owned),
        first => first.map(str::to_owned),
    }
}

/// Returns the paths that a dotted word such as `ci.m` stands for as the name of a module: in Python, and without an extension.
pub(super) fn dotted_paths(word: &str) -> Option<[String; 2]> {
    let is_part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    let is_dotted = word.contains('.') && word.split('.').all(is_part);
    let path = word.replace('.', "/");
    is_dotted.then(|| [format!("{path}.py"), path])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_known_by_their_first_lines() {
        for (content, expected) in [
            (&b"#!/usr/bin/env lua\n"[..], Some("lua")),
            (b"#!/usr/bin/env -S deno run -A\n", Some("deno")),
            (b"#!/usr/bin/python3 -I\n", Some("python")),
            (b"echo fine\n", Some("sh")),
            (b"\x7fELF\0\0", None),
        ] {
            assert_eq!(interpreter_of(content).as_deref(), expected, "{content:?}");
        }
    }

    #[test]
    fn dotted_words_are_paths() {
        assert_eq!(dotted_paths("ci.m"), Some(["ci/m.py".to_owned(), "ci/m".to_owned()]));
        for word in ["ci", ".env", "../x.y", "ci/m.py", "a..b", ""] {
            assert_eq!(dotted_paths(word), None, "{word}");
        }
    }
}
