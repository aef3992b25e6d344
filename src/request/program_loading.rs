//! Which files programs load by themselves from the folder in which they start. Only for those in [`KNOWN`], and for some
//! interpreters with known options, it is certain that they load nothing but what their command line names.

use super::program_tables::common_name;
use shell::Word;

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

/// Which files of the folder in which it starts a program loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loading {
    /// Only files that its command line names, and what these import by the rules of their language.
    NamedOnly,
    /// Any file.
    AnyFile,
    /// Unknown: assumed to be any file if its command line names something in the checkout.
    Unknown,
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
    // Their settings files are known, but not the files that these name in turn.
    loader("deno tsx ts-node", "", ""),
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
    loader("mise rtx asdf direnv volta fnm nvm corepack", "", ""),
    loader("nodemon pm2 concurrently", "", ""),
    loader("pylint mypy semgrep poe conda mamba micromamba", "", ""),
    loader("terraform tofu ansible ansible-playbook", "", ""),
    loader("mono wasmtime wasmer", "", ""),
    loader("crystal nim v dart flutter", "", ""),
];

/// Programs that load nothing by themselves from the folder in which they start, apart from what their options name.
const KNOWN: &str = "sh bash dash zsh ksh ash fish . source : [ [[ true false test echo printf cat head tail tee tr cut sort uniq wc grep egrep \
                     fgrep rg jq base base32 date sleep basename dirname realpath readlink mktemp mkdir rmdir rm cp mv ln ls touch chmod \
                     pwd cd pushd popd export set unset shift trap wait read exit return local declare typeset readonly umask \
                     ulimit type command exec eval env timeout nice nohup setsid time stdbuf ionice xargs find sudo doas tini \
                     dumb-init curl wget sed python pypy";

/// Options of Node.js that load no file, or only the one that they name.
const NODE: [&str; 14] = [
    "-e",
    "-p",
    "--eval",
    "--print",
    "--input-type",
    "--no-warnings",
    "--disable-warning",
    "--enable-source-maps",
    "--max-old-space-size",
    "--env-file",
    "--env-file-if-exists",
    "--experimental-strip-types",
    "--use-system-ca",
    "--unhandled-rejections",
];

/// Options of Node.js that load the module that they name, with everything that it loads in turn.
const NODE_LOADS: [&str; 5] = ["-r", "--require", "--import", "--loader", "--experimental-loader"];

/// Returns the row of a program, if it loads files from the folder in which it starts.
pub(super) fn loader_of(program: &str) -> Option<&'static Loader> {
    let plain = program.rsplit(['/', '\\']).next().unwrap_or(program);
    LOADERS.iter().find(|loader| loader.is_of(plain) || loader.is_of(common_name(program)))
}

/// Returns which files a program with these arguments loads.
pub(super) fn loading(program: &str, arguments: &[Word]) -> Loading {
    let texts: Vec<&str> = arguments.iter().filter_map(Word::text).collect();
    let options = || texts.iter().copied().take_while(|text| text.starts_with('-'));
    let has_letter =
        |letters: [char; 2]| options().any(|option| !option.starts_with("--") && option.contains(letters));
    let named_only_if = |is_certain: bool| if is_certain { Loading::NamedOnly } else { Loading::AnyFile };
    match common_name(program) {
        // The class path is the archive.
        "java" if texts.contains(&"-jar") => Loading::Unknown,
        "node" | "nodejs" => named_only_if(is_plain_node(&texts)),
        // `-rbundler/setup` and the like.
        "ruby" | "jruby" => named_only_if(!has_letter(['r', 'S'])),
        "perl" => named_only_if(!has_letter(['M', 'm'])),
        "uv" if texts.contains(&"--no-project") => Loading::NamedOnly,
        _ if loader_of(program).is_some() => Loading::AnyFile,
        name if KNOWN.split_whitespace().any(|known| known == name) => Loading::NamedOnly,
        _ => Loading::Unknown,
    }
}

/// Returns whether these arguments have Node.js load nothing but files that they name.
fn is_plain_node(texts: &[&str]) -> bool {
    let mut rest = texts.iter();
    while let Some(text) = rest.next().filter(|text| text.starts_with('-')) {
        let (option, value) = text.split_once('=').unzip();
        let option = option.unwrap_or(text);
        if NODE_LOADS.contains(&option) {
            // A package decides for itself what else it loads.
            let value = value.or_else(|| rest.next().copied()).unwrap_or_default();
            if !value.starts_with(['.', '/']) {
                return false;
            }
        } else if !NODE.contains(&option) {
            return false;
        } else if option == "--env-file" && value.is_none() {
            rest.next();
        }
    }
    true
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

    fn of(line: &str) -> Loading {
        let analysis = shell::analyse(line);
        let command = &analysis.commands[0];
        loading(command.name().unwrap(), command.arguments())
    }

    #[test]
    fn only_what_is_known_to_load_nothing_is_certain() {
        for line in [
            "sh ci/h.sh",
            "python3.12 -X dev ci/x.py",
            "node ci/x.js",
            "node --no-warnings --env-file=.env --require ./ci/a.js ci/x.js",
            "ruby -w ci/x.rb",
            "perl -w ci/x.pl",
            "uv run --no-project ci/x.py",
            "cat ci/x",
        ] {
            assert_eq!(of(line), Loading::NamedOnly, "{line}");
        }
        for line in [
            "java ci/M.java",
            "lua5.4 ci/m.lua",
            "/usr/bin/luajit ci/m.lua",
            "Rscript ci/m.R",
            "deno run -A ci/m.ts",
            "bun ci/m.ts",
            "tsx ci/m.ts",
            "node --import tsx ci/m.ts",
            "node --test",
            "node --run model",
            "node --experimental-default-config-file ci/m.js",
            "ruby -rbundler/setup ci/m.rb",
            "perl -Mblib ci/m.pl",
            "bb ci/m.clj",
            "clojure -M -m ci.m",
            "ghci -e main ci/m.hs",
            "octave ci/m.m",
            "gunicorn ci.m",
            "uvicorn ci.m:app",
            "dotenv run tool",
            "foreman run tool",
            "php ci/m.php",
            "mise run x",
            "gdb -batch -x ci/g",
        ] {
            assert_eq!(of(line), Loading::AnyFile, "{line}");
        }
        for line in
            ["java -jar /opt/x.jar", "npx -y server", "some-server --stdio", "/opt/server", "docker run x"]
        {
            assert_eq!(of(line), Loading::Unknown, "{line}");
        }
    }

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
