//! Exit codes of the parts of a pipe. The shell's own exit code is that of the last part, so a test run that
//! fails before `| tail` looks like a success.

use std::fmt;

/// Exit code of a part that was ended by SIGPIPE because nobody read on.
const UNREAD: i32 = 141;

/// Shell code that records the codes of the last pipe if a part before the last one failed, because what follows hides them. What
/// one shell records is limited, since there are loops; its subshells write to the same file.
const NOTE: &str = "__codes=\"${PIPESTATUS[*]}\"; case $__codes in *[1-9]*\" \"*) case ${__seen-} in *\";$__codes;\"*) ;; \
                    ????????????????????????*) ;; *) __seen=\"${__seen-};$__codes;\"; \
                    printf \";%s\" \"$__codes\" >>\"$__notes\";; esac;; esac";

/// Shell code that has a subshell, as parentheses and `$(…)` start it, look at its last pipe when it ends.
const BELOW: &str =
    "if [[ $BASH_SUBSHELL != \"$__level\" ]]; then __level=$BASH_SUBSHELL; trap \"$__note\" EXIT; fi";

/// Shell code around a command line that prints the exit codes of its pipes, and the marker that finds them in the output.
pub struct PipeStatus {
    marker: String,
}

impl PipeStatus {
    /// Returns the code for a command line of this shell, or `None` if the line has no pipe, or the shell is not bash.
    pub fn of(line: &str, shell: &str) -> Option<Self> {
        let is_bash = shell.rsplit('/').next().is_some_and(|name| name == "bash");
        let has_pipe = line.replace("||", "").contains('|');
        (is_bash && has_pipe)
            .then(|| Self { marker: format!("pipe-status-{}", uuid::Uuid::new_v4().simple()) })
    }

    /// Returns the command line with the code around it. Its exit code is the same.
    pub fn wrap(&self, line: &str) -> String {
        let marker = &self.marker;
        let answer = format!(
            "trap - EXIT DEBUG RETURN; if [ -e \"$__notes\" ]; then __all=$(<\"$__notes\"); rm -f \"$__notes\"; fi; \
             printf \"\\n{marker} %s%s\\n\" \"${{__pipe[*]}}\" \"${{__all-}}\" 2>/dev/null"
        );
        let codes = "__pipe=(\"$?\" \"${PIPESTATUS[@]}\")";
        let before = format!(
            "__notes=\"${{TMPDIR:-/tmp}}/.{marker}\" __level=0 __note='{NOTE}' __answer='{answer}'; set -o functrace; \
             trap '{codes}; eval \"$__answer\"' EXIT; trap \"$__note\" RETURN; trap \"$__note\"'; {BELOW}' DEBUG; "
        );
        // A here-document, or a line that continues, would take in what is added; the end of the shell answers then, as it does
        // where the line itself ends it.
        if line.contains("<<") || line.trim_end().ends_with('\\') {
            return before + line;
        }
        format!("{before}{line}\n{codes}; eval \"$__answer\"; exit \"${{__pipe[0]}}\"")
    }

    /// Removes the codes from the output. Returns the pipes in which a part before the last one failed. A part that was ended
    /// because its output was no longer read (141) has not failed.
    pub fn take(&self, output: &mut String) -> Vec<PipeCodes> {
        let Some(at) = output.rfind(&format!("\n{} ", self.marker)) else { return Vec::new() };
        let end = output[at + 1..].find('\n').map_or(output.len(), |end| at + 1 + end);
        let answer = output[at + 1..end].to_owned();
        output.replace_range(at..end, "");
        // Marker and exit code of the whole come before the codes of the last pipe.
        let answer = answer.splitn(3, ' ').nth(2).unwrap_or_default();
        let (last, masked) = answer.split_once(';').unwrap_or((answer, ""));
        let mut pipes: Vec<PipeCodes> = Vec::new();
        for codes in masked.split(';').chain([last]) {
            let codes = PipeCodes(codes.split(' ').filter_map(|code| code.parse().ok()).collect());
            if codes.has_early_failure() && !pipes.contains(&codes) {
                pipes.push(codes);
            }
        }
        pipes
    }
}

/// Returns whether a line shows all that its commands print: no pipe leads to anything that leaves out some of it.
pub fn shows_whole_output(line: &str) -> bool {
    let line = line.replace("||", ";");
    let behind = line.split('|').skip(1).map(|part| part.trim_start_matches('&').split_whitespace().next());
    behind.into_iter().all(|program| matches!(program, Some("tee" | "cat")))
}

/// Exit codes of the parts of a pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipeCodes(pub Vec<i32>);

impl PipeCodes {
    /// Returns the parts before the last one that failed, each with its index and exit code.
    pub fn early_failures(&self) -> impl Iterator<Item = (usize, i32)> + '_ {
        let before = self.0.split_last().map_or(&[][..], |(_, before)| before);
        before.iter().copied().enumerate().filter(|(_, code)| !matches!(*code, 0 | UNREAD))
    }

    fn has_early_failure(&self) -> bool {
        self.early_failures().next().is_some()
    }
}

impl fmt::Display for PipeCodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let codes: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&codes.join(" | "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_to_programs_that_pass_all_on_leave_nothing_out() {
        for (line, is_whole) in [
            ("pytest", true),
            ("pytest || true", true),
            ("pytest 2>&1 | tee log.txt", true),
            ("pytest |& cat", true),
            ("pytest | tail -3", false),
            ("pytest | tee log.txt | grep passed", false),
        ] {
            assert_eq!(shows_whole_output(line), is_whole, "{line}");
        }
    }

    #[test]
    fn only_lines_with_a_pipe_are_wrapped() {
        for (line, is_wrapped) in [
            ("pytest | tail", true),
            ("cd x && pytest 2>&1 | tail -5", true),
            ("a || b", false),
            ("pytest", false),
            ("cat <<E | sort\nE", true),
            ("a | b \\", true),
        ] {
            assert_eq!(PipeStatus::of(line, "/bin/bash").is_some(), is_wrapped, "{line}");
        }
        assert!(PipeStatus::of("a | b", "pwsh").is_none());
    }

    fn failed_pipes(status: &PipeStatus, output: &mut String) -> String {
        status.take(output).iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn failures_before_the_last_part_are_returned() {
        let status = PipeStatus { marker: "mark".to_owned() };
        for (answer, codes) in [
            ("0 1 0", "1 | 0"),
            ("0 0 0", ""),
            ("0 141 0", ""),
            ("1 0 1", ""),
            ("0 0", ""),
            ("0 0;1 0;141 0;2 0 0", "1 | 0; 2 | 0 | 0"),
            ("0 1 0;1 0", "1 | 0"),
        ] {
            let mut output = format!("out\n\nmark {answer}\n");
            assert_eq!(failed_pipes(&status, &mut output), codes, "{answer}");
            assert_eq!(output, "out\n\n");
        }
        assert!(status.take(&mut "out\n".to_owned()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn the_shell_answers_and_keeps_its_exit_code() {
        for (line, code, codes) in [
            ("(exit 3) | cat", 0, "3 | 0"),
            ("echo x | grep y", 1, ""),
            ("exit 5 | exit 4", 4, "5 | 4"),
            ("(exit 3) | cat && true", 0, "3 | 0"),
            ("set -eu; (exit 3) | cat; (exit 4) | cat", 0, "3 | 0; 4 | 0"),
            ("(exit 3) | false || true", 0, "3 | 1"),
            ("(exit 3) | grep x; echo done", 0, "3 | 1"),
            ("((exit 3) | cat)", 0, "3 | 0"),
            ("for part in a b; do (cd / && (exit 3) | cat); done", 0, "3 | 0"),
            ("f() { (exit 3) | cat; }; f", 0, "3 | 0"),
            ("f() { (exit 3) | cat; }; f; echo done", 0, "3 | 0"),
            ("out=$((exit 3) | cat); echo \"$out\"", 0, "3 | 0"),
            ("source <(echo '(exit 3) | cat')", 0, "3 | 0"),
            ("(exit 3) | cat; exit 0", 0, "3 | 0"),
            ("set -e; ((exit 3) | cat); exit 6", 6, "3 | 0"),
            ("(exit 3) | cat <<E\nx\nE\n", 0, "3 | 0"),
            ("if ((exit 3) | cat); then true; fi", 0, "3 | 0"),
            ("yes | head -n 1 && (exit 2) | cat && exit 7", 7, "2 | 0"),
            ("for i in 1 2 3; do (exit $i) | cat; done", 0, "1 | 0; 2 | 0; 3 | 0"),
            (
                "# first\nfalse | true; test $? = 0 && false | true && test \"${PIPESTATUS[*]}\" = \"1 0\"",
                0,
                "1 | 0",
            ),
        ] {
            let status = PipeStatus::of(line, "bash").expect("a pipe");
            let ran =
                std::process::Command::new("bash").args(["-c", &status.wrap(line)]).output().expect("bash");
            let mut output = String::from_utf8(ran.stdout).expect("text");
            assert_eq!(ran.status.code(), Some(code), "{line}");
            assert_eq!(failed_pipes(&status, &mut output), codes, "{line}");
        }
    }
}
