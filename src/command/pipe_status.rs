//! Exit codes of the parts of a pipe. The shell's own exit code is that of the last part, so a test run that
//! fails before `| tail` looks like a success.

/// Question put to the shell behind a command line, and how its answer is found in the output.
pub struct PipeStatus {
    marker: String,
}

impl PipeStatus {
    /// Returns the question for a command line of this shell, or `None` if it has no pipe, or if nothing can be
    /// added behind it.
    pub fn of(line: &str, shell: &str) -> Option<Self> {
        let is_bash = shell.rsplit('/').next().is_some_and(|name| name == "bash");
        let has_pipe = line.replace("||", "").contains('|');
        // A here-document, or a line that goes on, would take in what is added.
        let is_open = line.contains("<<") || line.trim_end().ends_with('\\');
        if !is_bash || !has_pipe || is_open {
            return None;
        }
        Some(Self { marker: format!("pipe-status-{}", uuid::Uuid::new_v4().simple()) })
    }

    /// Returns the command line with the question behind it. Its exit code is the same.
    pub fn ask(&self, line: &str) -> String {
        format!(
            "{line}\n__pipe=(\"$?\" \"${{PIPESTATUS[@]}}\"); printf '\\n{} %s\\n' \"${{__pipe[*]}}\" 2>/dev/null; exit \
             \"${{__pipe[0]}}\"",
            self.marker
        )
    }

    /// Takes the answer out of the output. Returns the exit codes if there was a pipe and a part before the last
    /// one failed. A part that was ended because nobody read on (141) has not.
    pub fn take(&self, output: &mut String) -> Option<String> {
        let at = output.rfind(&format!("\n{} ", self.marker))?;
        let end = output[at + 1..].find('\n').map_or(output.len(), |end| at + 1 + end);
        let answer = output[at + 1..end].to_owned();
        output.replace_range(at..end, "");
        // The first number is that of the whole.
        let codes: Vec<&str> = answer.split(' ').skip(2).collect();
        let (_, before) = codes.split_last()?;
        before.iter().any(|code| !matches!(*code, "0" | "141")).then(|| codes.join(" | "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_lines_with_a_pipe_are_asked() {
        for (line, is_asked) in [
            ("pytest | tail", true),
            ("cd x && pytest 2>&1 | tail -5", true),
            ("a || b", false),
            ("pytest", false),
            ("cat <<E | sort\nE", false),
            ("a | b \\", false),
        ] {
            assert_eq!(PipeStatus::of(line, "/bin/bash").is_some(), is_asked, "{line}");
        }
        assert!(PipeStatus::of("a | b", "pwsh").is_none());
    }

    #[test]
    fn failures_before_the_last_part_are_told() {
        let status = PipeStatus { marker: "mark".to_owned() };
        for (answer, codes) in
            [("0 1 0", Some("1 | 0")), ("0 0 0", None), ("0 141 0", None), ("1 0 1", None), ("0 0", None)]
        {
            let mut output = format!("out\n\nmark {answer}\n");
            assert_eq!(status.take(&mut output).as_deref(), codes, "{answer}");
            assert_eq!(output, "out\n\n");
        }
        assert_eq!(status.take(&mut "out\n".to_owned()), None);
    }

    #[cfg(unix)]
    #[test]
    fn the_shell_answers_and_keeps_its_exit_code() {
        for (line, code, codes) in [
            ("(exit 3) | cat", 0, Some("3 | 0")),
            ("echo x | grep y", 1, None),
            ("exit 5 | exit 4", 4, Some("5 | 4")),
        ] {
            let status = PipeStatus::of(line, "bash").expect("a pipe");
            let ran =
                std::process::Command::new("bash").args(["-c", &status.ask(line)]).output().expect("bash");
            let mut output = String::from_utf8(ran.stdout).expect("text");
            assert_eq!(ran.status.code(), Some(code), "{line}");
            assert_eq!(status.take(&mut output).as_deref(), codes, "{line}");
        }
    }
}
