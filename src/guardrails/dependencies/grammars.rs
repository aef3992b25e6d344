//! Selects the parts of manifests that are about dependencies.

use super::ecosystem::{How, Part};
use super::languages::{Language, Span};

const BLOCK: Span = Span::comment("/*", "*/");

/// A language whose comments end with the line.
const fn simple(comments: &'static [&'static str], quotes: &'static str) -> Language {
    Language { comments, quotes, spans: &[], has_documents: false }
}

pub(super) const HASH: Language = simple(&["#"], "");
pub(super) const HASH_OR_SLASHES: Language = simple(&["#", "//"], "");
pub(super) const PYTHON: Language =
    Language { spans: &[Span::text("\"\"\""), Span::text("'''")], ..simple(&["#"], "\"'") };
pub(super) const RUBY: Language = Language {
    spans: &[
        Span::lines("=begin", "\n=end"),
        Span::lines("__END__", "\0"),
        Span::text("\""),
        Span::text("'"),
    ],
    has_documents: true,
    ..simple(&["#"], "")
};
pub(super) const PERL: Language = Language {
    spans: &[
        Span::lines("=pod", "\n=cut"),
        Span::lines("=head", "\n=cut"),
        Span::lines("=begin", "\n=cut"),
        Span::lines("=for", "\n=cut"),
        Span::lines("=over", "\n=cut"),
        Span::lines("=item", "\n=cut"),
        Span::lines("=encoding", "\n=cut"),
        Span::lines("__END__", "\0"),
        Span::lines("__DATA__", "\0"),
        Span::text("\""),
        Span::text("'"),
    ],
    has_documents: true,
    ..simple(&["#"], "")
};
pub(super) const ELIXIR: Language = Language {
    spans: &[Span::text("\"\"\""), Span::text("'''"), Span::text("\""), Span::text("'")],
    ..simple(&["#"], "")
};
pub(super) const ERLANG: Language = Language { spans: &[Span::text("\"")], ..simple(&["%"], "") };
pub(super) const SLASHES: Language =
    Language { spans: &[BLOCK, Span::text("\"\"\""), Span::text("'''")], ..simple(&["//"], "\"'") };
pub(super) const HCL: Language =
    Language { spans: &[BLOCK], has_documents: true, ..simple(&["#", "//"], "\"") };
pub(super) const NIX: Language =
    Language { spans: &[BLOCK, Span::text("''"), Span::text("\"")], ..simple(&["#"], "") };

pub(super) const GEMFILE: &[Part] =
    &[Part::Line(r"^(?:gem|source|ruby|gemspec|git_source|git|github|path|plugin|eval_gemfile)\b")];
pub(super) const GEMSPEC: &[Part] =
    &[Part::Line(r"\badd_(?:runtime_|development_)?dependency\b|\brequired_\w+_version\b")];
pub(super) const SETUP: &[Part] = &[
    Part::Block(r"(?i)\b\w*(?:requires?|requirements?|dependency|dependencies|deps|extras)\w*\s*=[^=]"),
    Part::Line(r"\bself\.\w*requires\("),
];
pub(super) const MIX: &[Part] = &[
    Part::Function(r"(?m)^[ \t]*defp?\s+\w*deps\w*", r#"\{\s*:\w+\s*,\s*(?:"|[a-z_]+:)"#),
    Part::Block(r"\bdeps:\s*\["),
];
pub(super) const REBAR: &[Part] =
    &[Part::Block(r"\{\s*(?:deps|plugins|project_plugins|overrides|profiles)\s*,")];
pub(super) const GRADLE: &[Part] = &[
    Part::Block(
        r"\b(?:dependencies|plugins|repositories|constraints|dependencyManagement|resolutionStrategy)\s*\{",
    ),
    Part::Used(r#"^(?:def |val |var |ext\.|extra\[|set\()?\W*(\w+[vV]ersion)\b.*[=,].*["']"#),
];
pub(super) const GRADLE_PROPERTIES: &[Part] = &[Part::Line(r"^[\w.-]+[._-]?[vV]ersion\s*=")];
pub(super) const SWIFT: &[Part] = &[Part::Block(r"\.package\s*\(")];
pub(super) const PODS: &[Part] = &[Part::Line(r"^(?:pod|source|plugin|platform)\b|\.(?:\w+_)?dependency\b")];
pub(super) const TERRAFORM: &[Part] = &[
    Part::Block(r"\brequired_providers\s*\{"),
    Part::Line(r"^required_version\s*="),
    Part::Within(r#"\bmodule\s+"[^"]*"\s*\{"#, r"^(?:source|version)\s*="),
    Part::Within(r#"\bprovider\s+"[^"]*"\s*\{"#, r"^version\s*="),
    Part::Name(r#"\bprovider\s+"([^"]*)""#),
    Part::Name(r#"\b(?:resource|data|ephemeral)\s+"([A-Za-z0-9-]+)_"#),
];
pub(super) const TERRAFORM_KEYS: &[&str] = &[
    "terraform.required_providers",
    "terraform.required_version",
    "provider.*.version",
    "module.*.source",
    "module.*.version",
];
pub(super) const FLAKE: &[Part] = &[Part::Block(r"\binputs\s*=\s*\{"), Part::Block(r"\binputs\.[\w.-]+\s*=")];
pub(super) const CONAN: &[Part] = &[Part::Block(r"\b(?:\w+_)?requires\s*[=(]")];
pub(super) const BAZEL: &[Part] = &[Part::Block(
    r"(?m)^(?:[A-Za-z_]\w*\.\w+|\w*_dep|use_\w+|\w+_override|include|register_\w+|\w+\s*=\s*use_extension)\s*\(",
)];
pub(super) const CPANFILE: &[Part] =
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
/// What a build of Cabal is made of.
pub(super) const CABAL_PROJECT: How = How::Fields(&[
    "packages",
    "optional-packages",
    "extra-packages",
    "constraints",
    "preferences",
    "allow-newer",
    "allow-older",
    "index-state",
    "active-repositories",
    "with-compiler",
    "flags",
    "location",
    "url",
    "tag",
    "subdir",
    "tests",
    "benchmarks",
]);
pub(super) const PIXI: &[&str] = &[
    "**.dependencies",
    "**.host-dependencies",
    "**.build-dependencies",
    "**.pypi-dependencies",
    "**.pypi-options",
    "**.channels",
    "**.platforms",
    "**.system-requirements",
    "environments",
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
    "pnpm.overrides",
    "pnpm.packageExtensions",
    "pnpm.patchedDependencies",
    "workspaces",
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
    "build-system.requires",
    "tool.poetry.dependencies",
    "tool.poetry.dev-dependencies",
    "tool.poetry.group.*.dependencies",
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
    "tool.pixi.**.dependencies",
    "tool.pixi.**.host-dependencies",
    "tool.pixi.**.build-dependencies",
    "tool.pixi.**.pypi-dependencies",
    "tool.pixi.**.pypi-options",
    "tool.pixi.**.channels",
    "tool.pixi.**.platforms",
    "tool.pixi.**.system-requirements",
    "tool.pixi.environments",
    "tool.hatch.envs.*.dependencies",
    "tool.hatch.envs.*.extra-dependencies",
    "tool.hatch.envs.*.features",
];

pub(super) const CARGO_KEYS: &[&str] = &[
    "dependencies",
    "dev-dependencies",
    "build-dependencies",
    "target.*.dependencies",
    "target.*.dev-dependencies",
    "target.*.build-dependencies",
    "patch",
    "replace",
    "workspace.members",
    "workspace.dependencies",
];
