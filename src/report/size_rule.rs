//! Rule by which big reports are cut: nobody reads megabytes of changes, and the exact ones are in the plan.

use serde_json::Value;

use super::RunReport;

/// Maximum size of the changes of all files, and of all calls and of all actions of the plan, in bytes each.
const MAX_BYTES: usize = 2 * 1024 * 1024;

/// Stands where a change was.
const CUT: &str = "(in plan.patch)\n";

impl RunReport {
    /// Leaves out the texts of changes beyond the first two megabytes; the files, calls and actions themselves stay.
    pub fn cut_changes(&mut self) {
        let mut left = MAX_BYTES;
        for file in &mut self.files {
            cut(&mut file.diff, &mut left);
        }
        let mut left = MAX_BYTES;
        for call in &mut self.calls {
            cut(&mut call.diff, &mut left);
        }
        let mut left = MAX_BYTES;
        for action in self.plan.iter_mut().flat_map(|plan| &mut plan.actions) {
            let Value::Object(input) = &mut action.tool_input else { continue };
            for text in input
                .values_mut()
                .filter_map(|value| if let Value::String(text) = value { Some(text) } else { None })
            {
                cut(text, &mut left);
            }
            cut(&mut action.diff, &mut left);
        }
    }
}

/// Takes the size of a text off what is left, or leaves the text out.
fn cut(text: &mut String, left: &mut usize) {
    match left.checked_sub(text.len()) {
        Some(rest) => *left = rest,
        None if text.len() > CUT.len() => {
            *left = 0;
            CUT.clone_into(text);
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{CUT, cut};

    #[test]
    fn texts_are_whole_until_the_first_that_is_too_much() {
        let mut left = 100;
        let texts = [60, 50, 30, 5].map(|size| {
            let mut text = "x".repeat(size);
            cut(&mut text, &mut left);
            text
        });
        assert_eq!(texts, ["x".repeat(60), CUT.to_owned(), CUT.to_owned(), "x".repeat(5)]);
    }
}
