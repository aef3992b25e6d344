//! Usual folders of programs, caches and settings of systems and build tools.

/// Folders that belong to the system.
pub(super) const SYSTEM: [&str; 17] = [
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr",
    "/etc",
    "/opt",
    "/nix",
    "/snap",
    "/gnu",
    "/System",
    "/Library",
    "/var/lib/dpkg",
    "/var/lib/gems",
    "/var/cache/fontconfig",
];

/// Those that only a package manager changes.
pub(super) const OWNED: [&str; 7] = ["/bin", "/sbin", "/lib", "/usr", "/etc", "/nix", "/snap"];

/// Toolchains below a home folder. What build tools write to them, or elsewhere in it, is discarded.
pub(super) const TOOLCHAINS: [&str; 36] = [
    ".cargo/bin",
    ".cargo/env",
    ".rustup",
    ".pyenv",
    ".local/bin",
    ".local/lib",
    ".local/share/uv",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/virtualenv",
    ".local/share/fnm",
    ".nvm",
    ".fnm",
    ".volta",
    ".nodenv",
    ".bun/bin",
    ".deno/bin",
    ".rbenv",
    ".rvm",
    ".goenv",
    ".sdkman",
    ".jenv",
    ".jdks",
    ".dotnet",
    ".phpenv",
    ".asdf",
    ".ghcup",
    ".opam",
    ".elan",
    ".juliaup",
    ".swiftly",
    ".foundry/bin",
    ".miniconda3",
    "miniconda3",
    "anaconda3",
    "sdk",
];

/// Folders below a home folder in which build tools keep what they share between projects.
pub(super) const CACHES: [&str; 24] = [
    ".cache",
    ".cargo/registry",
    ".cargo/git",
    ".npm",
    ".pnpm-store",
    ".local/share/pnpm",
    ".yarn/cache",
    ".yarn/berry",
    ".m2/repository",
    ".m2/wrapper",
    ".gradle/caches",
    ".gradle/wrapper",
    ".gradle/native",
    "go/pkg",
    ".nuget/packages",
    ".bundle/cache",
    ".gem/ruby",
    ".bun/install",
    ".deno/cache",
    ".ivy2/cache",
    ".sbt/boot",
    ".mix",
    ".hex",
    ".composer/cache",
];

/// Configuration files below a home folder that tools need; they are visible unless they contain a
/// credential.
pub(super) const SETTINGS: [&str; 16] = [
    ".gitconfig",
    ".config/git/config",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pip/pip.conf",
    ".config/pip/pip.conf",
    ".cargo/config.toml",
    ".cargo/config",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".condarc",
    ".bundle/config",
    ".gemrc",
    ".tool-versions",
    ".python-version",
];

/// Variables that name the folder of a toolchain.
pub(super) const TOOLCHAIN_VARIABLES: [&str; 24] = [
    "RUNNER_TOOL_CACHE",
    "AGENT_TOOLSDIRECTORY",
    "RUSTUP_HOME",
    "PYENV_ROOT",
    "NVM_DIR",
    "NVM_BIN",
    "VOLTA_HOME",
    "GOROOT",
    "DOTNET_ROOT",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "ANDROID_NDK_HOME",
    "VIRTUAL_ENV",
    "CONDA",
    "CONDA_PREFIX",
    "PYTHONHOME",
    "pythonLocation",
    "RBENV_ROOT",
    "SDKMAN_DIR",
    "M2_HOME",
    "MAVEN_HOME",
    "GRADLE_HOME",
    "CHROME_BIN",
    "PLAYWRIGHT_BROWSERS_PATH",
];

/// Variables that name the folder of a cache.
pub(super) const CACHE_VARIABLES: [&str; 12] = [
    "GOCACHE",
    "GOMODCACHE",
    "PIP_CACHE_DIR",
    "npm_config_cache",
    "XDG_CACHE_HOME",
    "CARGO_TARGET_DIR",
    "SCCACHE_DIR",
    "CCACHE_DIR",
    "UV_CACHE_DIR",
    "POETRY_CACHE_DIR",
    "GRADLE_USER_HOME",
    "BUNDLE_PATH",
];

/// Those for what builds have made, which is of no use elsewhere.
pub(super) const RESULT_VARIABLES: [&str; 4] = ["GOCACHE", "CARGO_TARGET_DIR", "SCCACHE_DIR", "CCACHE_DIR"];
