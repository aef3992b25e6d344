//! Values of PowerShell scripts that are texts for certain, and the methods that may be called on them.

use tree_sitter::Node;

use super::powershell::{MAX_DEPTH, Walk, is_in};

/// Methods of texts. Other values have methods of the same names that write: `Replace` of a file replaces another
/// one.
const TEXT_METHODS: &str = "replace split trim trimstart trimend tolower toupper tolowerinvariant toupperinvariant \
                            contains startswith endswith substring indexof lastindexof padleft padright insert remove \
                            tostring";

/// Cmdlets that return texts, with their aliases.
const TEXT_READERS: &str = "get-content gc cat type";

impl Walk<'_> {
    /// Returns what is wrong with a call of a method.
    pub(super) fn unknown_method(&self, call: Node<'_>) -> String {
        let part = |at: u32| call.named_child(at).map_or("", |part| self.text(part));
        let (value, method) = (part(0), part(1));
        if call.child(1).is_some_and(|mark| mark.kind() == "::") {
            return format!("it calls a .NET method, {value}::{method}");
        }
        format!(
            "it calls the method {method} of {value}; only methods of texts are followed, such as `Replace` of a string or of what \
             Get-Content reads"
        )
    }

    /// Returns whether a call is one of a method that only computes, of a value that is a text for certain.
    pub(super) fn is_text_method(&self, call: Node<'_>, assumed: &mut Vec<String>, depth: usize) -> bool {
        let (Some(value), Some(method)) = (call.named_child(0), call.named_child(1)) else { return false };
        // After `::`, it would be a method of a type.
        let is_of_value = call.child(1).is_some_and(|dot| dot.kind() == ".");
        is_of_value
            && is_in(TEXT_METHODS, &self.text(method).to_ascii_lowercase())
            && self.is_text(value, assumed, depth + 1)
    }

    /// Returns whether a value is a text for certain.
    fn is_text(&self, value: Node<'_>, assumed: &mut Vec<String>, depth: usize) -> bool {
        if depth > MAX_DEPTH {
            return false;
        }
        match value.kind() {
            "string_literal" => true,
            "invokation_expression" => self.is_text_method(value, assumed, depth + 1),
            "variable" => self.is_text_variable(self.text(value), assumed, depth + 1),
            "command" => {
                let mut cursor = value.walk();
                let name = value.named_children(&mut cursor).find(|part| part.kind() == "command_name");
                name.is_some_and(|name| is_in(TEXT_READERS, &self.text(name).to_ascii_lowercase()))
            }
            // Whatever holds nothing but one value.
            _ if value.named_child_count() == 1 => {
                value.named_child(0).is_some_and(|inner| self.is_text(inner, assumed, depth + 1))
            }
            _ => false,
        }
    }

    /// Returns whether all that a script assigns to a variable are texts. What is assigned may be computed from the
    /// variable itself, which is assumed to be a text meanwhile.
    fn is_text_variable(&self, name: &str, assumed: &mut Vec<String>, depth: usize) -> bool {
        let name = name.trim().to_ascii_lowercase();
        if assumed.contains(&name) {
            return true;
        }
        assumed.push(name.clone());
        let Some(root) = self.root else { return false };
        let mut open = vec![root];
        let mut is_assigned = false;
        while let Some(node) = open.pop() {
            let is_it = |left: Node<'_>| self.text(left).trim().eq_ignore_ascii_case(&name);
            if node.kind() == "assignment_expression" && node.named_child(0).is_some_and(is_it) {
                let value = node.named_child(
                    u32::try_from(node.named_child_count()).unwrap_or(u32::MAX).saturating_sub(1),
                );
                if !value.is_some_and(|value| self.is_text(value, assumed, depth + 1)) {
                    return false;
                }
                is_assigned = true;
            }
            // A loop assigns to its variable as well.
            if node.kind() == "foreach_statement" && node.named_child(0).is_some_and(is_it) {
                return false;
            }
            let mut cursor = node.walk();
            open.extend(node.named_children(&mut cursor));
        }
        is_assigned
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::policy::CustomRules;
    use crate::{Class, Policy};

    #[test]
    fn refusals_name_what_the_script_says() {
        for (script, expected) in [
            (
                "(Get-Content a.py -Raw).Replace('a', 'b') | Set-Content a.py",
                "'Set-Content' is not an allowed command. Use the file tools, such as `write_file` and `edit_file`.",
            ),
            (
                "Set-Content h.py @'\nprint(1)\n'@\npython h.py\nRemove-Item h.py",
                "'Set-Content' is not an allowed command. Use the file tools, such as `write_file` and `edit_file`.",
            ),
            (
                "[IO.File]::WriteAllText('a.txt', 'x')",
                "it calls a .NET method, [IO.File]::WriteAllText. Split it into simpler parts with one command each.",
            ),
            (
                "$x.Replace('a', 'b')",
                "it calls the method Replace of $x; only methods of texts are followed, such as `Replace` of a string or of what \
                 Get-Content reads. Split it into simpler parts with one command each.",
            ),
            (
                "Get-Content ..\\..\\secret.txt",
                "..\\..\\secret.txt is outside of the workspace (read by Get-Content). Use a file in the workspace.",
            ),
            (
                "gc C:\\Windows\\win.ini",
                "C:\\Windows\\win.ini is outside of the workspace (read by gc). Use a file in the workspace.",
            ),
            (
                "Get-Content $file",
                "the argument $file of Get-Content is decided at run time. Write the words literally, so that they are known \
                 before the command runs.",
            ),
            (
                "Invoke-WebRequest https://example.com",
                "'Invoke-WebRequest' is not an allowed command. Use the tool `fetch_url`, or let a step of the workflow fetch it \
                 before the run.",
            ),
        ] {
            let verdict = Policy::default().for_powershell().judge(script, ".").verdict;
            assert_eq!(verdict.explained(), expected, "{script}");
        }
    }

    #[test]
    fn what_is_printed_and_blocks_that_are_called_are_followed() {
        let policy =
            Policy::new(CustomRules::default(), Path::new("/work")).expect("valid rules").for_powershell();
        for (script, expected) in [
            ("& { Get-Content a.txt }", Class::Safe),
            ("& { Get-Content a.txt } b.txt", Class::Safe),
            ("& { Remove-Item a.txt }", Class::Dangerous),
            ("& { Get-Date } (Remove-Item a.txt)", Class::Dangerous),
            ("& { Get-Date } > b.txt", Class::Dev),
            ("& { Get-Date } > ../b.txt", Class::Dangerous),
            ("& { param($x) Remove-Item $x } a.txt", Class::Dangerous),
            ("'x' > a.txt", Class::Dev),
            ("'x' > ..\\a.txt", Class::Dangerous),
            ("'x' > $target", Class::Dangerous),
            ("Get-Content .\\src\\main.rs", Class::Safe),
            ("Get-Content .\\src\\..\\..\\a.txt", Class::Dangerous),
            ("Get-Content \\\\server\\share\\a.txt", Class::Dangerous),
            ("if ($?) { exit 0 }", Class::Safe),
            ("exit (Remove-Item a.txt)", Class::Dangerous),
        ] {
            let verdict = policy.judge(script, ".").verdict;
            assert_eq!(verdict.class, expected, "{script}: {}", verdict.reason);
        }
    }
}
