//! Package managers, and what their files are called.

use super::ecosystem::{DEFAULT, Ecosystem, How, Manifest, Part, Reach};
use super::grammars::{
    BAZEL, CABAL, CABAL_PROJECT, CARGO_KEYS, CONAN, CPANFILE, DESCRIPTION, ELIXIR, ERLANG, FLAKE, GEMFILE,
    GEMSPEC, GRADLE, GRADLE_PROPERTIES, HASH, HASH_OR_SLASHES, HCL, MIX, NIX, NPM_KEYS, OPAM, PERL, PIXI,
    PODS, PYTHON, PYTHON_KEYS, REBAR, RUBY, SETUP, SLASHES, STACK, SWIFT, TERRAFORM, TERRAFORM_KEYS,
};
use super::languages::Language;

const fn of(name: &'static str, keys: &'static [&'static str]) -> Manifest {
    Manifest { name, how: How::Keys(keys) }
}

const fn lines(name: &'static str, language: Language) -> Manifest {
    Manifest { name, how: How::Lines(language) }
}

const fn code(name: &'static str, language: Language, parts: &'static [Part]) -> Manifest {
    Manifest { name, how: How::Code(language, parts) }
}

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
        manifests: &[
            of("package.json", NPM_KEYS),
            of(
                "pnpm-workspace.yaml",
                &["packages", "catalog", "catalogs", "overrides", "patchedDependencies", "packageExtensions"],
            ),
        ],
        settings: &[
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            "bunfig.toml",
            "pnpm-workspace.yaml",
            ".pnpmfile.cjs",
            ".pnpmfile.mjs",
            ".pnp.cjs",
            ".pnp.loader.mjs",
            ".yarn/releases/*",
            ".yarn/plugins/*/*",
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
            of("pipfile", &["packages", "dev-packages", "requires", "source"]),
            code("setup.py", PYTHON, SETUP),
            Manifest { name: "setup.cfg", how: How::Setup },
            lines("*requirements*.in", HASH),
            of("environment*.yml", &["dependencies", "channels", "platforms"]),
            of("environment*.yaml", &["dependencies", "channels", "platforms"]),
            of("pixi.toml", PIXI),
            of("requirements.yaml", &["dependencies"]),
            Manifest { name: "*.py", how: How::Script },
        ],
        settings: &[
            "pip.conf",
            "pip.ini",
            "uv.toml",
            "poetry.toml",
            "pdm.toml",
            ".pdm.toml",
            ".pypirc",
            ".condarc",
            "condarc",
            ".mambarc",
            ".pydistutils.cfg",
            ".pixi/config.toml",
        ],
        public: &[
            "https://pypi.org",
            "https://files.pythonhosted.org",
            "https://pypi.python.org",
            "https://conda.anaconda.org/conda-forge",
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
                "config.platform",
                "minimum-stability",
                "prefer-stable",
                "replace",
                "provide",
                "conflict",
            ],
        )],
        settings: &["auth.json"],
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
        manifests: &[
            code("gemfile", RUBY, GEMFILE),
            code("gems.rb", RUBY, GEMFILE),
            code("*.gemspec", RUBY, GEMSPEC),
        ],
        settings: &[".bundle/config", ".gemrc"],
        builds: &["*.gemfile"],
        public: &["https://rubygems.org"],
        ..DEFAULT
    },
    Ecosystem {
        locks: &["go.sum"],
        settings: &["go.env"],
        manifests: &[Manifest { name: "go.mod", how: How::Modules }],
        ..DEFAULT
    },
    Ecosystem {
        locks: &["go.work.sum"],
        manifests: &[
            Manifest { name: "go.work", how: How::Modules },
            Manifest { name: "go.mod", how: How::Modules },
        ],
        reach: Reach::Below,
        ..DEFAULT
    },
    Ecosystem {
        locks: &["mix.lock"],
        manifests: &[code("mix.exs", ELIXIR, MIX)],
        public: &["https://hex.pm", "https://repo.hex.pm"],
        reach: Reach::Below,
        ..DEFAULT
    },
    Ecosystem {
        locks: &["rebar.lock"],
        manifests: &[code("rebar.config", ERLANG, REBAR)],
        public: &["https://hex.pm", "https://repo.hex.pm"],
        ..DEFAULT
    },
    Ecosystem { locks: &["flake.lock"], manifests: &[code("flake.nix", NIX, FLAKE)], ..DEFAULT },
    Ecosystem {
        locks: &["*.lockfile", "gradle/verification-metadata.xml"],
        manifests: &[
            code("*.gradle", SLASHES, GRADLE),
            code("*.gradle.kts", SLASHES, GRADLE),
            Manifest { name: "*.versions.toml", how: How::Catalog },
            code("gradle.properties", HASH, GRADLE_PROPERTIES),
        ],
        settings: &[
            "settings.gradle",
            "settings.gradle.kts",
            "init.gradle",
            "init.gradle.kts",
            "gradle-wrapper.properties",
            "maven-wrapper.properties",
            "init.d/*.gradle",
            "init.d/*.gradle.kts",
            "gradle.properties",
            "gradle-daemon-jvm.properties",
            ".mvn/*",
            ".sbtopts",
            ".jvmopts",
            ".mill-jvm-opts",
        ],
        builds: &["pom.xml", "*.pom", "*.sbt", "build.mill", "build.sc"],
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
        manifests: &[
            Manifest { name: "*.csproj", how: How::Xml },
            Manifest { name: "*.fsproj", how: How::Xml },
            Manifest { name: "*.vbproj", how: How::Xml },
            Manifest { name: "directory.*.props", how: How::Xml },
        ],
        settings: &["nuget.config"],
        builds: &["*.props", "*.targets"],
        public: &["https://api.nuget.org", "https://www.nuget.org"],
        reach: Reach::Shared,
        ..DEFAULT
    },
    Ecosystem {
        locks: &[".terraform.lock.hcl"],
        manifests: &[
            code("*.tf", HCL, TERRAFORM),
            code("*.tofu", HCL, TERRAFORM),
            of("*.tf.json", TERRAFORM_KEYS),
        ],
        settings: &[".terraformrc", "terraform.rc", "*.tfrc", "*.tofurc"],
        public: &["https://registry.terraform.io", "https://registry.opentofu.org"],
        reach: Reach::Below,
        ..DEFAULT
    },
    Ecosystem { locks: &["chart.lock"], manifests: &[of("chart.yaml", &["dependencies"])], ..DEFAULT },
    Ecosystem {
        locks: &["stack.yaml.lock", "cabal.project.freeze", "cabal.project.*.freeze"],
        manifests: &[
            Manifest { name: "stack.yaml", how: STACK },
            Manifest { name: "*.cabal", how: CABAL },
            of("package.yaml", &["**.dependencies", "**.build-tools", "**.system-build-tools"]),
            Manifest { name: "cabal.project", how: CABAL_PROJECT },
            Manifest { name: "cabal.project.local", how: CABAL_PROJECT },
        ],
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
        manifests: &[Manifest { name: "description", how: DESCRIPTION }],
        settings: &[".rprofile"],
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
        manifests: &[code("package.swift", SLASHES, SWIFT), code("package@swift-*.swift", SLASHES, SWIFT)],
        settings: &[".swiftpm/configuration/*", ".swiftpm/config"],
        public: &["https://github.com"],
        reach: Reach::Below,
        any_account: true,
        is_by_address: true,
        ..DEFAULT
    },
    Ecosystem {
        locks: &["podfile.lock", "cartfile.resolved"],
        manifests: &[
            code("podfile", RUBY, PODS),
            lines("cartfile", HASH),
            lines("cartfile.private", HASH),
            code("*.podspec", RUBY, PODS),
        ],
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
            lines("conanfile.txt", HASH),
            code("conanfile.py", PYTHON, CONAN),
            of("vcpkg.json", &["**.dependencies", "overrides", "builtin-baseline"]),
        ],
        settings: &["vcpkg-configuration.json"],
        builds: &["remotes.json"],
        public: &["https://center2.conan.io", "https://center.conan.io", "https://github.com/microsoft"],
        ..DEFAULT
    },
    Ecosystem {
        locks: &["module.bazel.lock"],
        manifests: &[code("module.bazel", PYTHON, BAZEL)],
        settings: &[".bazelrc", "*.bazelrc", ".bazeliskrc"],
        builds: &["workspace", "workspace.bazel"],
        public: &["https://bcr.bazel.build"],
        ..DEFAULT
    },
    Ecosystem {
        locks: &["buf.lock"],
        manifests: &[of("buf.yaml", &["deps"])],
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
            lines("paket.dependencies", HASH_OR_SLASHES),
            code("cpanfile", PERL, CPANFILE),
            of("dub.json", &["**.dependencies"]),
            code("dub.sdl", SLASHES, &[Part::Line("^dependency")]),
            of("devbox.json", &["packages", "include", "nixpkgs"]),
            of("mise.toml", &["tools"]),
            code("*.opam", PYTHON, OPAM),
            code("*.nimble", PYTHON, &[Part::Line("^requires")]),
        ],
        ..DEFAULT
    },
    // Submodules are fetched as well.
    Ecosystem { settings: &[".gitmodules", ".lfsconfig"], ..DEFAULT },
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
