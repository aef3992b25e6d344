//! Package managers, and what their files are called.

use super::table::{Ecosystem, Manifest, Reach};

const fn any(name: &'static str) -> Manifest {
    Manifest { name, keys: &[] }
}

const fn of(name: &'static str, keys: &'static [&'static str]) -> Manifest {
    Manifest { name, keys }
}

const NPM_KEYS: &[&str] = &[
    "dependencies",
    "devDependencies",
    "optionalDependencies",
    "peerDependencies",
    "peerDependenciesMeta",
    "bundleDependencies",
    "bundledDependencies",
    "dependenciesMeta",
    "overrides",
    "resolutions",
    "pnpm",
    "workspaces",
    "packageManager",
    "catalog",
    "catalogs",
    "patchedDependencies",
    "trustedDependencies",
];

const PYTHON_KEYS: &[&str] = &[
    "project.dependencies",
    "project.optional-dependencies",
    "project.requires-python",
    "dependency-groups",
    "build-system",
    "tool.poetry.dependencies",
    "tool.poetry.dev-dependencies",
    "tool.poetry.group",
    "tool.poetry.extras",
    "tool.poetry.source",
    "tool.uv",
    "tool.pdm",
    "tool.pixi",
    "tool.hatch.envs",
];

const CARGO_KEYS: &[&str] = &[
    "dependencies",
    "dev-dependencies",
    "build-dependencies",
    "target",
    "patch",
    "replace",
    "workspace.members",
    "workspace.dependencies",
];

/// What most have in common.
const DEFAULT: Ecosystem = Ecosystem {
    locks: &[],
    manifests: &[],
    settings: &[],
    public: &[],
    reach: Reach::Own,
    any_account: false,
};

/// All that are known. The first that fits a name is meant; the last holds what nobody knows.
pub(super) static ECOSYSTEMS: [Ecosystem; 27] = [
    Ecosystem {
        locks: &[
            "package-lock.json",
            "npm-shrinkwrap.json",
            "yarn.lock",
            "pnpm-lock.yaml",
            "bun.lock",
            "bun.lockb",
        ],
        manifests: &[of("package.json", NPM_KEYS), any("pnpm-workspace.yaml")],
        settings: &[
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            "bunfig.toml",
            "pnpm-workspace.yaml",
            ".pnpmfile.cjs",
        ],
        public: &["https://registry.npmjs.org", "https://registry.yarnpkg.com"],
        reach: Reach::Members,
        ..DEFAULT
    },
    Ecosystem {
        locks: &["deno.lock"],
        manifests: &[
            of("deno.json", &["imports", "scopes", "importMap", "workspace", "dependencies"]),
            of("deno.jsonc", &["imports", "scopes", "importMap", "workspace", "dependencies"]),
            of("package.json", NPM_KEYS),
        ],
        public: &["https://jsr.io", "https://registry.npmjs.org", "https://deno.land"],
        reach: Reach::Members,
        ..DEFAULT
    },
    Ecosystem {
        locks: &["cargo.lock"],
        manifests: &[of("cargo.toml", CARGO_KEYS)],
        settings: &[".cargo/config.toml", ".cargo/config"],
        public: &["https://github.com/rust-lang", "https://index.crates.io"],
        reach: Reach::Members,
        ..DEFAULT
    },
    Ecosystem {
        locks: &[
            "poetry.lock",
            "pdm.lock",
            "uv.lock",
            "pipfile.lock",
            "pylock.toml",
            "pylock.*.toml",
            "*.py.lock",
            "requirements*.lock",
            "*conda-lock.yml",
            "*conda-lock.yaml",
            "pixi.lock",
        ],
        manifests: &[
            of("pyproject.toml", PYTHON_KEYS),
            any("pipfile"),
            any("setup.py"),
            any("setup.cfg"),
            any("*requirements*.in"),
            of("environment*.yml", &["dependencies", "channels", "platforms"]),
            of("environment*.yaml", &["dependencies", "channels", "platforms"]),
            any("pixi.toml"),
            of("requirements.yaml", &["dependencies"]),
            any("*.py"),
        ],
        settings: &["pip.conf", "pip.ini", "uv.toml", "poetry.toml", ".pypirc", ".condarc"],
        public: &[
            "https://pypi.org",
            "https://files.pythonhosted.org",
            "https://pypi.python.org",
            "https://conda.anaconda.org",
            "https://repo.anaconda.com",
        ],
        reach: Reach::Members,
        ..DEFAULT
    },
    Ecosystem {
        locks: &["composer.lock"],
        manifests: &[of(
            "composer.json",
            &[
                "require",
                "require-dev",
                "repositories",
                "config",
                "minimum-stability",
                "prefer-stable",
                "replace",
                "provide",
                "conflict",
            ],
        )],
        public: &[
            "https://packagist.org",
            "https://repo.packagist.org",
            "https://github.com",
            "https://gitlab.com",
            "https://bitbucket.org",
        ],
        any_account: true,
        ..DEFAULT
    },
    Ecosystem {
        locks: &["gemfile.lock", "gems.locked"],
        manifests: &[any("gemfile"), any("gems.rb"), any("*.gemspec")],
        settings: &[".bundle/config", ".gemrc"],
        public: &["https://rubygems.org"],
        ..DEFAULT
    },
    Ecosystem { locks: &["go.sum"], manifests: &[any("go.mod")], ..DEFAULT },
    Ecosystem {
        locks: &["go.work.sum"],
        manifests: &[any("go.work"), any("go.mod")],
        reach: Reach::Below,
        ..DEFAULT
    },
    Ecosystem {
        locks: &["mix.lock"],
        manifests: &[any("mix.exs")],
        public: &["https://hex.pm", "https://repo.hex.pm"],
        reach: Reach::Below,
        ..DEFAULT
    },
    Ecosystem {
        locks: &["rebar.lock"],
        manifests: &[any("rebar.config")],
        public: &["https://hex.pm", "https://repo.hex.pm"],
        ..DEFAULT
    },
    Ecosystem { locks: &["flake.lock"], manifests: &[any("flake.nix")], ..DEFAULT },
    Ecosystem {
        locks: &["*.lockfile", "gradle/verification-metadata.xml"],
        manifests: &[any("*.gradle"), any("*.gradle.kts"), any("*.versions.toml"), any("gradle.properties")],
        settings: &[
            "settings.gradle",
            "settings.gradle.kts",
            "init.gradle",
            "init.gradle.kts",
            "gradle-wrapper.properties",
            "maven-wrapper.properties",
            ".mvn/settings.xml",
        ],
        public: &[
            "https://repo.maven.apache.org",
            "https://repo1.maven.org",
            "https://plugins.gradle.org",
            "https://services.gradle.org",
            "https://dl.google.com",
            "https://maven.google.com",
            // Names of schemas, which nothing is fetched from.
            "https://schema.gradle.org",
            "http://www.w3.org",
            "http://maven.apache.org",
        ],
        reach: Reach::Below,
        ..DEFAULT
    },
    Ecosystem {
        locks: &["packages.lock.json"],
        manifests: &[any("*.csproj"), any("*.fsproj"), any("*.vbproj"), any("directory.*.props")],
        settings: &["nuget.config"],
        public: &["https://api.nuget.org", "https://www.nuget.org"],
        reach: Reach::Shared,
        ..DEFAULT
    },
    Ecosystem {
        locks: &[".terraform.lock.hcl"],
        manifests: &[any("*.tf"), any("*.tofu"), any("*.tf.json")],
        public: &["https://registry.terraform.io", "https://registry.opentofu.org"],
        reach: Reach::Below,
        ..DEFAULT
    },
    Ecosystem { locks: &["chart.lock"], manifests: &[of("chart.yaml", &["dependencies"])], ..DEFAULT },
    Ecosystem {
        locks: &["stack.yaml.lock", "cabal.project.freeze", "cabal.project.*.freeze"],
        manifests: &[any("stack.yaml"), any("*.cabal"), any("package.yaml"), any("cabal.project*")],
        public: &[
            "https://hackage.haskell.org",
            "https://casa.stackage.org",
            "https://github.com/commercialhaskell",
        ],
        reach: Reach::Below,
        ..DEFAULT
    },
    Ecosystem {
        locks: &["manifest.toml", "manifest-v*.toml", "juliamanifest.toml"],
        manifests: &[
            of("project.toml", &["deps", "compat", "extras", "weakdeps", "sources", "workspace"]),
            of("juliaproject.toml", &["deps", "compat", "extras", "weakdeps", "sources", "workspace"]),
            of("gleam.toml", &["dependencies", "dev-dependencies", "dev_dependencies"]),
        ],
        ..DEFAULT
    },
    Ecosystem {
        locks: &["renv.lock"],
        manifests: &[any("description")],
        public: &[
            "https://cran.r-project.org",
            "https://cloud.r-project.org",
            "https://cran.rstudio.com",
            "https://packagemanager.posit.co",
            "https://p3m.dev",
        ],
        ..DEFAULT
    },
    Ecosystem {
        locks: &["package.resolved"],
        manifests: &[any("package.swift"), any("package@swift-*.swift")],
        public: &["https://github.com"],
        reach: Reach::Below,
        any_account: true,
        ..DEFAULT
    },
    Ecosystem {
        locks: &["podfile.lock", "cartfile.resolved"],
        manifests: &[any("podfile"), any("cartfile"), any("cartfile.private"), any("*.podspec")],
        public: &["https://github.com", "https://cdn.cocoapods.org", "https://trunk.cocoapods.org"],
        any_account: true,
        ..DEFAULT
    },
    Ecosystem {
        locks: &["pubspec.lock"],
        manifests: &[of(
            "pubspec.yaml",
            &["dependencies", "dev_dependencies", "dependency_overrides", "environment", "workspace"],
        )],
        public: &["https://pub.dev", "https://pub.dartlang.org"],
        reach: Reach::Members,
        ..DEFAULT
    },
    Ecosystem {
        locks: &["conan.lock", "vcpkg-lock.json"],
        manifests: &[
            any("conanfile.txt"),
            any("conanfile.py"),
            of("vcpkg.json", &["dependencies", "overrides", "builtin-baseline", "features"]),
        ],
        settings: &["vcpkg-configuration.json"],
        public: &["https://center2.conan.io", "https://center.conan.io", "https://github.com/microsoft"],
        ..DEFAULT
    },
    Ecosystem {
        locks: &["module.bazel.lock"],
        manifests: &[any("module.bazel")],
        settings: &[".bazelrc"],
        public: &["https://bcr.bazel.build"],
        ..DEFAULT
    },
    Ecosystem {
        locks: &["buf.lock"],
        manifests: &[of("buf.yaml", &["deps", "modules"])],
        public: &["https://buf.build"],
        ..DEFAULT
    },
    Ecosystem {
        locks: &[
            "shard.lock",
            "paket.lock",
            "cpanfile.snapshot",
            "dub.selections.json",
            "devbox.lock",
            "mise.lock",
            "*.opam.locked",
            "nimble.lock",
        ],
        manifests: &[
            of("shard.yml", &["dependencies", "development_dependencies"]),
            any("paket.dependencies"),
            any("cpanfile"),
            any("dub.json"),
            any("dub.sdl"),
            any("devbox.json"),
            any("mise.toml"),
            any("*.opam"),
            any("*.nimble"),
        ],
        ..DEFAULT
    },
    // Submodules are fetched as well.
    Ecosystem { settings: &[".gitmodules"], ..DEFAULT },
    Ecosystem {
        locks: &[
            "*.lock",
            "*-lock.json",
            "*-lock.yaml",
            "*-lock.yml",
            "*.lock.json",
            "*.lock.yaml",
            "*.lock.hcl",
        ],
        ..DEFAULT
    },
];
