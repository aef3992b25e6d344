//! Files of settings that are known by the words of their names alone, whatever tool reads them.

use super::{Format, extension, file_name};

/// Returns the format of a file whose name says that it steers checks, whatever tool reads it.
pub(super) fn format(path: &str) -> Option<Format> {
    const NAMES: &[&str] = &[
        "CMakeLists.txt",
        "Rakefile",
        "mix.exs",
        ".rspec",
        "build.sbt",
        ".bazelrc",
        "BUILD.bazel",
        "meson.build",
        "Earthfile",
    ];
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "test", "tests", "testing", "testng", "lint", "linter", "cover", "coverage", "check", "checks", "checkstyle", "quality", "sonar", "audit",
        "deny", "mutants", "mutation", "nextest", "ci", "pipeline", "pipelines", "rules", "ruleset", "analysis", "detekt", "spotbugs", "pmd",
        "ktlint", "phpstan", "psalm", "phpunit", "infection", "rubocop", "swiftlint", "codeclimate", "stryker", "junit", "jacoco", "kover",
        "clippy", "tasks", "mise", "turbo", "nx", "gradle", "conf", "spec", "vet", "typos", "cspell", "semgrep", "trivy", "gitleaks", "danger",
        "overcommit", "lefthook", "proptest",
    ];
    // What tests are given is no setting.
    const DATA: &[&str] = &[
        "testdata",
        "fixtures",
        "data",
        "golden",
        "snapshots",
        "examples",
        "docs",
        "node_modules",
        "vendor",
        "locales",
        "templates",
        "static",
        "assets",
    ];
    let name = file_name(path);
    let folders = path.strip_suffix(name).unwrap_or_default();
    let extension = extension(path);
    let of_platform = matches!(name, "junit-platform.properties" | "testng.xml");
    let in_tests = folders
        .split('/')
        .any(|folder| DATA.contains(&folder) || matches!(folder, "test" | "tests" | "spec" | "resources"));
    if in_tests && !of_platform {
        return None;
    }
    let format = match extension {
        "toml" | "ini" | "cfg" | "properties" => Format::Sections,
        "yml" | "yaml" | "neon" => Format::Yaml,
        "json" | "jsonc" | "json5" => Format::Json,
        "xml" | "gradle" | "csproj" | "fsproj" | "vbproj" | "props" | "targets" | "mk" | "cmake" | "conf" => {
            Format::Text
        }
        _ if NAMES.contains(&name) => return Some(Format::Text),
        _ => return None,
    };
    let stem = name.strip_suffix(extension).unwrap_or(name);
    let mut words = stem.split(|letter: char| !letter.is_ascii_alphanumeric()).map(str::to_ascii_lowercase);
    let is_hidden = name.starts_with('.')
        || folders.split('/').any(|folder| matches!(folder, ".config" | ".cargo" | ".github"));
    let is_build = matches!(extension, "csproj" | "fsproj" | "vbproj" | "gradle" | "mk" | "cmake")
        || name == "Directory.Build.props"
        || name == "Makefile.toml";
    let says = words.any(|word| {
        WORDS.contains(&word.as_str())
            || word.contains("coverage")
            || word.ends_with("lint")
            || word.starts_with("test")
    });
    let is_lock = name.contains("lock") || name == "dependabot.yml";
    ((is_hidden || is_build || says || of_platform) && !is_lock).then_some(format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_unknown_tools_are_known_by_their_names() {
        for (path, expected) in [
            (".testcoverage.yml", Some(Format::Yaml)),
            ("config/checkstyle/checkstyle.xml", Some(Format::Text)),
            ("deny.toml", Some(Format::Sections)),
            ("sonar-project.properties", Some(Format::Sections)),
            ("src/test/resources/testng.xml", Some(Format::Text)),
            ("cpp/CMakeLists.txt", Some(Format::Text)),
            ("tests/data/checks.yml", None),
            ("config/database.yml", None),
            ("docs/testing.toml", None),
            ("package-lock.json", None),
        ] {
            assert_eq!(format(path), expected, "{path}");
        }
    }
}
