//! Variables that are set for a command: which of them decide what it loads or runs, and the line that sets them.

use std::collections::BTreeMap;

/// Variables that make a command load or run something else, separated by spaces.
const LOADERS: &str = "PATH IFS ENV PS0 PS4 PROMPT_COMMAND SHELL SHELLOPTS CDPATH FPATH ZDOTDIR INPUTRC PAGER LESS LESSOPEN \
                       LESSCLOSE EDITOR VISUAL BROWSER HOME TMPDIR XDG_DATA_DIRS XDG_CONFIG_DIRS LOCPATH \
                       MAKEFILES MAKEOVERRIDES RUSTC RUSTDOC RUSTFMT RUSTUP_TOOLCHAIN CC CXX CPP LD AR AS NM RANLIB STRIP CLASSPATH \
                       GOROOT GOENV GOTOOLDIR GOTOOLCHAIN GOPROXY GOBIN PHPRC PHP_INI_SCAN_DIR PERL5LIB PERLLIB PERL5DB \
                       PERL5SHELL RUBYLIB PYTHONSTARTUP PYTHONINSPECT PYTHONWARNINGS PYTHONBREAKPOINT PYTHONEXECUTABLE \
                       PYTHONPLATLIBDIR PYTHONUSERBASE COVERAGE_PROCESS_START COVERAGE_FILE LUA_INIT R_PROFILE \
                       R_PROFILE_USER R_ENVIRON R_ENVIRON_USER R_LIBS OPENSSL_CONF OPENSSL_MODULES GLIBC_TUNABLES";

/// Prefixes of the names of such variables.
const STARTS: &str = "LD_ DYLD_ GIT_ BASH_ BASHOPTS npm_config_ NPM_CONFIG_ yarn_ YARN_ PNPM_ BUN_ DENO_ CARGO_TARGET_ \
                      CARGO_BUILD_ CARGO_ALIAS_ CARGO_PROFILE_ CARGO_REGISTR CARGO_SOURCE_ PIP_ PIPENV_ POETRY_ UV_ PDM_ HATCH_ TOX_ \
                      NOX PYTEST_ CMAKE_ CTEST_ NINJA_ DOTNET_ CORECLR_ COMPlus_ MSBUILD NUGET_ COMPOSER_ BUNDLE_ GEM_ MIX_ \
                      ERL_ JULIA_ ORG_GRADLE_ MAVEN_ DOCKER_ CCACHE_ SCCACHE_ PKG_CONFIG GCONV_ HARNESS_ TS_NODE_";

/// Ends of the names of such variables, which programs without number follow: options to be added, programs in
/// the place of others, files and folders to load from.
const ENDS: &str = "FLAGS OPTS OPTIONS ADDOPTS OPT ARGS WRAPPER LAUNCHER PRELOAD PATH _HOME _CONFIG RCFILE _RC \
                    ASKPASS _RSH _SSH PAGER EDITOR PLUGINS HOOKS";

/// Returns whether a variable makes a command load or run something else.
pub(super) fn is_loader(name: &str) -> bool {
    LOADERS.split_whitespace().any(|known| known == name)
        || STARTS.split_whitespace().any(|start| name.starts_with(start))
        || ENDS.split_whitespace().any(|end| name.ends_with(end))
}

/// Error for a variable that no shell can set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidVariable {
    /// A name with other characters than letters, digits and `_`.
    #[error("invalid variable name {0:?}")]
    Name(String),
    /// A value with a null byte.
    #[error("the value of {0} contains a NUL byte")]
    Value(String),
}

/// Returns a command line that sets variables before it continues as `line` does. This line is what is judged, shown and
/// run, so that it makes no difference how variables were given, and none of them reaches what starts the command.
pub fn with_variables(line: &str, variables: &BTreeMap<String, String>) -> Result<String, InvalidVariable> {
    if variables.is_empty() {
        return Ok(line.to_owned());
    }
    let mut text = "export".to_owned();
    for (name, value) in variables {
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && name.starts_with(|c: char| !c.is_ascii_digit());
        if !is_name {
            return Err(InvalidVariable::Name(name.clone()));
        }
        let value = shlex::try_quote(value).map_err(|_| InvalidVariable::Value(name.clone()))?;
        text += &format!(" {name}={value}");
    }
    Ok(format!("{text}; {line}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Class, Containment, CustomRules, Policy};

    fn set(variables: &[(&str, &str)], line: &str) -> Result<String, InvalidVariable> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        with_variables(line, &variables.collect())
    }

    #[test]
    fn variables_stand_before_the_line() {
        assert_eq!(set(&[], "make").as_deref(), Ok("make"));
        assert_eq!(
            set(&[("A", "1"), ("B", "it's $(x)\ny")], "a && b").as_deref(),
            Ok("export A=1 B=\"it's \"'$(x)\ny'; a && b")
        );
        for name in ["", "A=B", "1A", "A B", "A;x", "é"] {
            assert_eq!(set(&[(name, "x")], "make"), Err(InvalidVariable::Name(name.to_owned())));
        }
        assert_eq!(set(&[("A", "a\0b")], "make"), Err(InvalidVariable::Value("A".to_owned())));
    }

    #[test]
    fn variables_are_judged_as_assignments_however_they_are_given() {
        let policy = Policy::new(CustomRules::default(), Path::new("/work")).expect("valid rules");
        for (name, loads) in [
            ("MAKEFILES", true),
            ("MAKEFLAGS", true),
            ("GNUMAKEFLAGS", true),
            ("PYTEST_ADDOPTS", true),
            ("PYTEST_PLUGINS", true),
            ("PYTHONPATH", true),
            ("LD_PRELOAD", true),
            ("PATH", true),
            ("BASH_ENV", true),
            ("GIT_SSH_COMMAND", true),
            ("RUSTC_WRAPPER", true),
            ("CARGO_BUILD_RUSTC_WRAPPER", true),
            ("CARGO_ENCODED_RUSTFLAGS", true),
            ("NODE_OPTIONS", true),
            ("DOTNET_STARTUP_HOOKS", true),
            ("GOFLAGS", true),
            ("RUBYOPT", true),
            ("PERL5OPT", true),
            ("JAVA_TOOL_OPTIONS", true),
            ("MAVEN_ARGS", true),
            ("RIPGREP_CONFIG_PATH", true),
            ("SSH_ASKPASS", true),
            ("DEBUG", false),
            ("NODE_ENV", false),
            ("RUST_BACKTRACE", false),
            ("RUST_LOG", false),
            ("PYTHONUNBUFFERED", false),
            ("PYTHONDONTWRITEBYTECODE", false),
            ("CARGO_TERM_COLOR", false),
            ("CARGO_INCREMENTAL", false),
            ("FORCE_COLOR", false),
            ("TZ", false),
            ("DATABASE_URL", false),
        ] {
            for containment in [Containment::None, Containment::Sandbox] {
                let policy = policy.clone().within(containment);
                let class = |line: &str| policy.judge(line, "").verdict.class;
                let given = class(&set(&[(name, "x")], "cat a").expect("a line"));
                assert_eq!(given, class(&format!("{name}=x cat a")), "{name}");
                let expected = match (loads, containment) {
                    (false, _) => Class::Safe,
                    (true, Containment::Sandbox) => Class::Dev,
                    (true, Containment::None) => Class::Dangerous,
                };
                assert_eq!(given, expected, "{name}");
            }
        }
    }
}
