//! Lines that nobody wrote: something to do, wrapped by the grammar of the shell again and again.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fastrand::Rng;

use super::effect::Effect;
use super::table::Attack;

/// What is to be done, and what it achieves where nothing stops it.
const PAYLOADS: &[(Effect, &str)] = &[
    (Effect::Outside, "echo x >> @outside@/marker"),
    (Effect::Outside, "cp README.md @outside@/new"),
    (Effect::Outside, "touch @home@/.bash_login"),
    (Effect::Metadata, "chmod 777 @outside@/program"),
    (Effect::Outside, "tools/evil"),
    (Effect::Outside, "rm @runner@/step-2.sh"),
    (Effect::Protected, "echo x >> .github/workflows/ci.yml"),
    (Effect::Protected, "rm .github/actions/a/action.yml"),
    (Effect::Protected, "git config core.pager x"),
    (Effect::Secret, "rev .env"),
    (Effect::Secret, "cat @outside@/secret"),
    (Effect::Secret, "git show HEAD:.env"),
    (Effect::Secret, "rev < @home@/.netrc"),
    (Effect::Network, ": > /dev/tcp/127.0.0.1/@tcp@"),
    (Effect::Network, "echo x > /dev/udp/127.0.0.1/@udp@"),
    (Effect::Bystander, "kill -9 @bystander@"),
];

/// Ways to say a line again: `@` stands for it as it is, `'@'` for it as one word, `%@%` for it in base64.
const WRAPPERS: &[&str] = &[
    "{ @\n}",
    "(@\n)",
    "f() { @\n}; f",
    "function f {\n@\n}\nf",
    "f() (@\n); f",
    "if true; then @\nfi",
    "if @\nthen :; fi",
    "for i in 1; do @\ndone",
    "for ((i = 0; i < 1; i++)); do @\ndone",
    "while :; do @\nbreak; done",
    "until @\ndo break; done",
    "case x in x) @\n;; esac",
    "select x in 1; do @\nbreak; done <<< 1",
    "true && {\n@\n}",
    "false || {\n@\n}",
    "! {\n@\n}",
    "{ @\n} | cat",
    "{ @\n} |& cat",
    "cat <(@\n)",
    "echo \"$(@\n)\"",
    "x=$(@\n); echo \"$x\"",
    "echo \"${x:-$(@\n)}\"",
    ": $(( $(@\n) ))",
    "cat << E0F\n$(@\n)\nE0F",
    "cat <<< \"$(@\n)\"",
    "{ @\n} & wait",
    "coproc { @\n}; cat <&\"${COPROC[0]}\"; wait",
    "exec 5>&1; { @\n} >&5",
    "eval '@'",
    "builtin eval '@'",
    "command eval '@'",
    "trap '@' EXIT",
    "trap '@' ERR; false",
    "trap '@' USR1; kill -USR1 $$; :",
    "x='@'; eval \"$x\"",
    "x=('@'); eval \"${x[0]}\"",
    "read -r -d '' x << 'E0F'\n@\nE0F\neval \"$x\"",
    "mapfile -d '' x << 'E0F'\n@\nE0F\neval \"${x[0]}\"",
    "set -- '@'; eval \"$1\"",
    "printf -v x %s '@'; eval \"$x\"",
    "declare -n r=x; x='@'; eval \"$r\"",
    "shopt -s expand_aliases\nalias zz='@'\nzz",
    "bash -c '@'",
    "bash -ec '@'",
    "bash -c 'eval \"$0\"' '@'",
    "sh -c 'exec bash -c \"$1\"' x '@'",
    "echo '@' | bash",
    "bash <<< '@'",
    "bash << 'E0F'\n@\nE0F",
    "bash <(echo '@')",
    ". <(echo '@')",
    "source /dev/stdin <<< '@'",
    "echo '@' > run.sh; bash run.sh",
    "echo '@' > run.sh; chmod +x run.sh; bash ./run.sh",
    "BASH_ENV=<(echo 'unset BASH_ENV'; echo '@') bash -c :",
    "exec bash -c '@'",
    "env bash -c '@'",
    "env -u X -- bash -c '@'",
    "nice -n 1 bash -c '@'",
    "timeout 5 bash -c '@'",
    "nohup bash -c '@' 2>/dev/null",
    "stdbuf -o0 bash -c '@'",
    "time bash -c '@'",
    "printf '%s\\0' '@' | xargs -0 bash -c",
    "printf %s '@' | xargs -0 -I{} bash -c {}",
    "find README.md -exec bash -c '@' \\;",
    "awk 'BEGIN { system(ARGV[1]) }' '@'",
    "x='@' awk 'BEGIN { system(ENVIRON[\"x\"]) }'",
    "x='@' make -s -f - <<< 'all: ; @eval \"$$x\"'",
    "x='@' git -c alias.zz='!bash -c \"$x\"' zz",
    "perl -e 'system \"bash\", \"-c\", $ARGV[0]' '@'",
    "python3 -c 'import subprocess, sys; subprocess.run([\"bash\", \"-c\", sys.argv[1]])' '@'",
    "base64 -d <<< %@% | bash",
    "eval \"$(base64 -d <<< %@%)\"",
    "bash <(base64 -d <<< %@%)",
    "x='a[$(eval \"$y\" >&2)0]'; y='@'; : $((x))",
    "y='@'; [[ 'a[$(eval \"$y\" >&2)]' -eq 0 ]]",
    "y='@'; test -v 'a[$(eval \"$y\" >&2)]'",
    "y='@'; x='$(eval \"$y\")'; echo \"${x@P}\"",
    "y='@'; mapfile -C 'eval \"$y\" #' -c 1 x <<< z",
    "y='@'; compgen -C 'eval \"$y\" #' z",
    "ls() { @\n}; export -f ls; bash -c ls",
];

/// Returns `count` lines, always the same ones, each wrapped up to three times.
pub fn generated(count: usize) -> Vec<Attack> {
    let mut random = Rng::with_seed(14_300_719);
    let attack = |_| {
        let (aim, payload) = PAYLOADS[random.usize(..PAYLOADS.len())];
        let mut line = payload.to_owned();
        for depth in 0..random.usize(1..=3) {
            // A here-document must not end with the one inside.
            let wrapper = WRAPPERS[random.usize(..WRAPPERS.len())].replace("E0F", &format!("E{depth}"));
            line = wrapped(&wrapper, &line);
        }
        Attack { theme: "generated".to_owned(), line, aim, needs: Vec::new(), alone: false, plain: true }
    };
    (0..count).map(attack).collect()
}

/// Puts a line into a wrapper.
fn wrapped(wrapper: &str, line: &str) -> String {
    if wrapper.contains("%@%") {
        return wrapper.replace("%@%", &encoded(line));
    }
    if wrapper.contains("'@'") {
        return wrapper.replace("'@'", &format!("'{}'", line.replace('\'', "'\\''")));
    }
    // Only the first stands for the line: what follows may be a word of another language.
    wrapper.replacen('@', line, 1)
}

/// Returns what stands for the line in base64 until the scene has put its places into it.
fn encoded(line: &str) -> String {
    format!("@base64:{}@", STANDARD.encode(line))
}
