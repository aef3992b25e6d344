//! What of manifests is about dependencies.

use super::table::{Comments, How, Part};

pub(super) const HASH: Comments = Comments { lines: &["#"], is_block: false, quotes: "\"'" };
pub(super) const SLASHES: Comments = Comments { lines: &["//"], is_block: true, quotes: "\"'" };
pub(super) const BOTH: Comments = Comments { lines: &["#", "//"], is_block: true, quotes: "\"" };
pub(super) const NIX: Comments = Comments { lines: &["#"], is_block: true, quotes: "\"" };
pub(super) const PERCENT: Comments = Comments { lines: &["%"], is_block: false, quotes: "\"" };
pub(super) const DASHES: Comments = Comments { lines: &["--"], is_block: false, quotes: "" };

pub(super) const RUBY: &[Part] = &[Part::Line(
    r"^(?:gem|source|ruby|gemspec|git_source|git|github|path|platforms?|group|plugin|eval_gemfile|install_if)\b",
)];
pub(super) const GEMSPEC: &[Part] =
    &[Part::Line(r"\badd_(?:runtime_|development_)?dependency\b|\brequired_\w+_version\b")];
pub(super) const SETUP: &[Part] = &[
    Part::Block(r"(?i)\b\w*(?:requires?|requirements?|dependency|dependencies|deps|extras)\w*\s*=[^=]"),
    Part::Line(r"\bself\.\w*requires\("),
];
pub(super) const MIX: &[Part] = &[Part::Block(r#"\{\s*:\w+\s*,\s*(?:"|[a-z_]+:)"#)];
pub(super) const REBAR: &[Part] =
    &[Part::Block(r"\{\s*(?:deps|plugins|project_plugins|overrides|profiles)\s*,")];
pub(super) const GRADLE: &[Part] = &[
    Part::Block(
        r"\b(?:dependencies|plugins|buildscript|repositories|constraints|dependencyManagement|resolutionStrategy)\s*\{",
    ),
    Part::Line(r#"^(?:def |val |ext\.|set\()?\W*\w+[vV]ersion\W.*=.*["']"#),
];
pub(super) const GRADLE_PROPERTIES: &[Part] = &[Part::Line(r"^[\w.-]+[._-]?[vV]ersion\s*=")];
pub(super) const SWIFT: &[Part] = &[Part::Block(r"\.package\s*\(")];
pub(super) const PODS: &[Part] =
    &[Part::Line(r"^(?:pod|source|plugin|platform|target|abstract_target)\b|\.(?:\w+_)?dependency\b")];
pub(super) const TERRAFORM: &[Part] = &[
    Part::Block(r"\brequired_providers\s*\{"),
    Part::Line(r"^required_version\s*="),
    Part::Within(r#"\bmodule\s+"[^"]*"\s*\{"#, r"^(?:source|version)\s*="),
    Part::Within(r#"\bprovider\s+"[^"]*"\s*\{"#, r"^version\s*="),
    Part::Name(r#"\bprovider\s+"([^"]*)""#),
    Part::Name(r#"\b(?:resource|data|ephemeral)\s+"([A-Za-z0-9-]+)_"#),
];
pub(super) const FLAKE: &[Part] = &[Part::Block(r"\binputs\s*=\s*\{"), Part::Block(r"\binputs\.[\w.-]+\s*=")];
pub(super) const CONAN: &[Part] = &[Part::Block(r"\b(?:\w+_)?requires\s*[=(]")];
pub(super) const BAZEL: &[Part] = &[Part::Block(
    r"(?m)^(?:[A-Za-z_]\w*\.\w+|\w*_dep|use_\w+|\w+_override|include|register_\w+|\w+\s*=\s*use_extension)\s*\(",
)];
pub(super) const PERL: &[Part] =
    &[Part::Line(r"\b(?:\w*requires|recommends|suggests|conflicts|feature|mirror)\b")];
pub(super) const OPAM: &[Part] = &[Part::Block(r"(?m)^(?:depends|depopts|conflicts|pin-depends)\s*:\s*\[")];
pub(super) const CABAL: How = How::Fields(&[
    "build-depends",
    "build-tool-depends",
    "build-tools",
    "setup-depends",
    "pkgconfig-depends",
    "extra-libraries",
]);
pub(super) const DESCRIPTION: How =
    How::Fields(&["depends", "imports", "suggests", "enhances", "linkingto", "remotes"]);
pub(super) const STACK: How = How::Keys(&[
    "resolver",
    "snapshot",
    "extra-deps",
    "packages",
    "compiler",
    "allow-newer",
    "drop-packages",
]);
pub(super) const PIXI: &[&str] = &[
    "dependencies",
    "host-dependencies",
    "build-dependencies",
    "pypi-dependencies",
    "pypi-options",
    "feature",
    "environments",
    "target",
    "workspace.channels",
    "workspace.platforms",
    "project.channels",
    "project.platforms",
    "system-requirements",
];

pub(super) const NPM_KEYS: &[&str] = &[
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

pub(super) const PYTHON_KEYS: &[&str] = &[
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
    "tool.uv.sources",
    "tool.uv.index",
    "tool.uv.workspace",
    "tool.uv.dev-dependencies",
    "tool.uv.constraint-dependencies",
    "tool.uv.override-dependencies",
    "tool.uv.environments",
    "tool.uv.resolution",
    "tool.uv.prerelease",
    "tool.uv.exclude-newer",
    "tool.pdm.dev-dependencies",
    "tool.pdm.source",
    "tool.pdm.resolution",
    "tool.pixi",
    "tool.hatch.envs",
];

pub(super) const CARGO_KEYS: &[&str] = &[
    "dependencies",
    "dev-dependencies",
    "build-dependencies",
    "target",
    "patch",
    "replace",
    "workspace.members",
    "workspace.dependencies",
];
