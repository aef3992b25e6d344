//! Programs that run files of the checkout: interpreters, and runners that read files next to them.

/// An interpreter, and how it finds what it runs.
#[derive(Debug)]
pub(super) struct Interpreter {
    names: &'static [&'static str],
    /// Letters of options without a value.
    plain: &'static str,
    /// Letters of options with a value, which may follow immediately.
    values: &'static str,
    /// Letters of options behind which no script follows.
    ends: &'static str,
    /// Options whose values are loaded, without their first dash.
    loads: &'static [&'static str],
    /// Endings that are tried for a name without one.
    pub(super) endings: &'static [&'static str],
    /// Files next to a script or above it that decide what it loads.
    pub(super) settings: &'static [&'static str],
    /// Whether modules are looked for in the folder that it is started in, unless a script says where.
    pub(super) imports_from_start: bool,
}

const NONE: &[&str] = &[];

const INTERPRETERS: [Interpreter; 9] = [
    Interpreter {
        names: &["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox", ".", "source"],
        plain: "abefhkmnptuvxBCEHPTilrs",
        values: "oO",
        ends: "c",
        loads: &["-rcfile", "-init-file"],
        endings: NONE,
        settings: NONE,
        imports_from_start: false,
    },
    Interpreter {
        names: &["python", "pypy"],
        plain: "bBdEhiIOPqRsSuvVx",
        values: "WX",
        ends: "mc",
        loads: NONE,
        endings: NONE,
        settings: NONE,
        imports_from_start: true,
    },
    Interpreter {
        names: &["node", "nodejs", "tsx", "ts-node", "bun", "deno"],
        plain: "vhic",
        values: "rC",
        ends: "ep",
        loads: &["r", "-require", "-import", "-loader", "-experimental-loader", "-preload"],
        endings: &[".js", ".cjs", ".mjs", ".json", ".node", ".ts", ".mts", ".tsx"],
        settings: &[
            "package.json",
            "node_modules",
            "bunfig.toml",
            "deno.json",
            "deno.jsonc",
            "tsconfig.json",
        ],
        imports_from_start: false,
    },
    Interpreter {
        names: &["ruby", "jruby"],
        plain: "acdhlnpsSUvwWy",
        values: "rICEFTKX",
        ends: "e",
        loads: &["r", "I"],
        endings: &[".rb"],
        settings: NONE,
        imports_from_start: false,
    },
    Interpreter {
        names: &["perl"],
        plain: "acfhnpsStTuUvwWX",
        values: "IMmCDFi0",
        ends: "eE",
        loads: &["I"],
        endings: NONE,
        settings: NONE,
        imports_from_start: false,
    },
    Interpreter {
        names: &["php"],
        plain: "aehilmnqsvwH",
        values: "dfczBRFESt",
        ends: "r",
        loads: &["f", "c", "z", "B", "R", "F", "E"],
        endings: NONE,
        settings: NONE,
        imports_from_start: false,
    },
    Interpreter {
        names: &[
            "lua",
            "luajit",
            "Rscript",
            "julia",
            "elixir",
            "escript",
            "tclsh",
            "guile",
            "groovy",
            "osascript",
        ],
        plain: "iEvh",
        values: "lL",
        ends: "e",
        loads: &["l", "L"],
        endings: &[".lua"],
        settings: NONE,
        imports_from_start: false,
    },
    Interpreter {
        names: &["pwsh", "powershell"],
        plain: "",
        values: "",
        ends: "cC",
        loads: &["File", "file", "f"],
        endings: NONE,
        settings: NONE,
        imports_from_start: false,
    },
    Interpreter {
        names: &["awk", "gawk", "mawk", "sed", "java", "dotnet"],
        plain: "",
        values: "",
        ends: "",
        loads: &["f", "-file", "jar", "cp", "-class-path", "classpath"],
        endings: NONE,
        settings: NONE,
        imports_from_start: false,
    },
];

/// Interpreters whose first operand is a script only behind one of their options.
const BY_OPTION: [&str; 6] = ["awk", "gawk", "mawk", "sed", "java", "dotnet"];

/// Returns the interpreter of a name without folder and version.
pub(super) fn interpreter(name: &str) -> Option<&'static Interpreter> {
    INTERPRETERS.iter().find(|interpreter| interpreter.names.contains(&name))
}

impl Interpreter {
    /// Returns whether behind these letters follows a module or code.
    pub(super) fn ends_options(&self, option: &str) -> bool {
        let named = option.strip_prefix('-').is_some_and(|long| matches!(long, "eval" | "print"));
        named || self.letters(option).any(|letter| self.ends.contains(letter))
    }

    /// Returns whether an option has a value that is loaded.
    pub(super) fn loads(&self, option: &str) -> bool {
        self.loads.contains(&option)
    }

    /// Returns whether behind an option its value may follow as a word.
    pub(super) fn may_have_value(&self, option: &str) -> bool {
        let is_cluster = !option.starts_with('-');
        let is_plain = is_cluster && option.chars().all(|letter| self.plain.contains(letter));
        // The value of `-Wdefault` is there already.
        let is_attached = is_cluster && self.letters(option).count() + 1 < option.chars().count();
        !is_plain && !is_attached && !option.contains('=')
    }

    /// Returns the letters of a cluster of short options, up to one that has a value.
    fn letters<'a>(&'a self, option: &'a str) -> impl Iterator<Item = char> + 'a {
        let letters = if option.starts_with('-') { "" } else { option };
        letters.chars().take_while(|letter| letter.is_ascii_alphabetic() && !self.values.contains(*letter))
    }

    /// Returns whether the letters keep Python from looking for modules where it is started.
    pub(super) fn isolates(&self, letters: &str) -> bool {
        let before = self.letters(letters).take_while(|letter| !self.ends.contains(*letter));
        self.imports_from_start && before.into_iter().any(|letter| matches!(letter, 'I' | 'P'))
    }

    /// Returns whether an operand is a script.
    pub(super) fn takes_scripts(&self) -> bool {
        !self.names.iter().any(|name| BY_OPTION.contains(name))
    }
}

/// A program that runs what files next to it say.
#[derive(Debug)]
pub(super) struct Runner {
    names: &'static [&'static str],
    /// The sub-commands that this is about; empty for all.
    subs: &'static [&'static str],
    /// The files that say what is run.
    pub(super) task_files: &'static [&'static str],
    /// The files that change how that is done.
    pub(super) settings: &'static [&'static str],
    /// Whether anything of the checkout may be run or built.
    pub(super) is_project: bool,
    /// Whether the sub-command may be the name of a folder with the program.
    pub(super) names_folder: bool,
}

impl Runner {
    const fn new(names: &'static [&'static str], task_files: &'static [&'static str]) -> Self {
        Self { names, subs: NONE, task_files, settings: NONE, is_project: true, names_folder: false }
    }
}

/// Files that decide what a package manager for JavaScript runs.
const NODE: &[&str] =
    &[".npmrc", "package.json", "node_modules", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml"];

/// Files that decide which Python, and which packages, are used.
const PYTHON: &[&str] = &["uv.toml", "pyproject.toml", ".python-version", ".env", "pipx.toml"];

/// Cargo's own sub-commands; others are aliases or programs.
const CARGO: &[&str] = &[
    "add",
    "b",
    "bench",
    "build",
    "c",
    "check",
    "clean",
    "clippy",
    "d",
    "doc",
    "fetch",
    "fix",
    "fmt",
    "help",
    "info",
    "init",
    "install",
    "locate-project",
    "login",
    "metadata",
    "new",
    "nextest",
    "package",
    "publish",
    "r",
    "remove",
    "report",
    "run",
    "search",
    "t",
    "test",
    "tree",
    "uninstall",
    "update",
    "vendor",
    "version",
];

/// The first that fits counts.
const RUNNERS: [Runner; 17] = [
    Runner::new(
        &["make", "gmake", "bmake", "nmake"],
        &["Makefile", "makefile", "GNUmakefile", "BSDmakefile"],
    ),
    Runner::new(&["just"], &["justfile", "Justfile", ".justfile"]),
    Runner {
        subs: &["exec", "x", "dlx", "create", "init"],
        settings: NODE,
        is_project: false,
        ..Runner::new(&["npm", "pnpm", "yarn", "bun"], NONE)
    },
    Runner { settings: NODE, ..Runner::new(&["npm", "pnpm", "yarn", "bun"], &["package.json"]) },
    Runner { settings: NODE, is_project: false, ..Runner::new(&["npx", "pnpx", "bunx"], NONE) },
    Runner { subs: CARGO, settings: &[".cargo"], ..Runner::new(&["cargo"], NONE) },
    Runner { names_folder: true, ..Runner::new(&["cargo"], &[".cargo/config.toml", ".cargo/config"]) },
    Runner {
        subs: &["tool", "pip", "python", "cache", "self", "version"],
        settings: PYTHON,
        is_project: false,
        ..Runner::new(&["uv"], NONE)
    },
    Runner { settings: PYTHON, is_project: false, ..Runner::new(&["uvx", "pipx"], NONE) },
    Runner {
        settings: PYTHON,
        ..Runner::new(&["uv", "poetry", "pdm", "hatch", "pipenv", "rye", "pixi"], NONE)
    },
    Runner::new(&["task", "go-task"], &["Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"]),
    Runner::new(&["rake"], &["Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"]),
    Runner::new(&["nox"], &["noxfile.py"]),
    Runner::new(&["invoke", "inv", "fab"], &["tasks.py", "fabfile.py"]),
    Runner::new(&["mage"], &["magefile.go"]),
    Runner::new(&["ant"], &["build.xml"]),
    Runner { subs: &["task"], ..Runner::new(&["deno"], &["deno.json", "deno.jsonc", "package.json"]) },
];

/// Returns the runner of a name that is given a sub-command.
pub(super) fn runner(name: &str, sub: &str) -> Option<&'static Runner> {
    RUNNERS
        .iter()
        .find(|runner| runner.names.contains(&name) && (runner.subs.is_empty() || runner.subs.contains(&sub)))
}

/// Returns the name of a program without its folder, its version and the ending that it has on Windows.
pub(super) fn common_name(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let name = name.strip_suffix(".cmd").unwrap_or(name);
    let common = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    if common.is_empty() { name } else { common }
}
