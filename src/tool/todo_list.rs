//! Lists of work as other agents' models write them.

use serde_json::{Value, json};

use super::door::NotUnderstood;
use super::names::Arguments;
use super::translate::{Changed, parsed, take, text};

/// Gives the entries of a list their own names: what is to be done, and how far it is.
pub(super) fn todo_list(arguments: &mut Arguments) -> Changed {
    let names = ["items", "todos", "plan", "todo_list", "tasks", "steps", "input"];
    let Some(Value::Array(entries)) = take(arguments, &names).map(parsed) else {
        return Err(NotUnderstood(
            "give the whole list: todo(items=[{\"task\": \"…\", \"status\": \"open\"}])".to_owned(),
        ));
    };
    let own: Option<Vec<Value>> = entries.into_iter().map(entry).collect();
    let Some(own) = own else {
        return Err(NotUnderstood(
            "an entry is {\"task\": \"…\", \"status\": \"open\", \"doing\" or \"done\"}: todo(items=[…])"
                .to_owned(),
        ));
    };
    *arguments = Arguments::from_iter([("items".to_owned(), Value::Array(own))]);
    Ok(None)
}

/// Returns an entry in our form, or `None` if it does not say what is to be done.
fn entry(entry: Value) -> Option<Value> {
    let mut entry = match parsed(entry) {
        Value::Object(entry) => entry,
        Value::String(task) => Arguments::from_iter([("task".to_owned(), json!(task))]),
        _ => return None,
    };
    let task = take(&mut entry, &["task", "content", "step", "title", "description", "text"])?;
    let status = take(&mut entry, &["status", "state"]).unwrap_or_default();
    let status = status.as_str().unwrap_or_default().to_lowercase().replace(['-', ' '], "_");
    let status = match status.as_str() {
        "doing" | "in_progress" | "active" | "started" => "doing",
        "done" | "completed" | "complete" | "finished" | "cancelled" => "done",
        _ => "open",
    };
    text(&task).map(|task| json!({"task": task, "status": status}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn understood(arguments: Value) -> Result<Value, String> {
        let Value::Object(mut arguments) = arguments else { unreachable!("an object") };
        todo_list(&mut arguments).map_err(|error| error.to_string())?;
        Ok(Value::Object(arguments))
    }

    #[test]
    fn lists_of_other_agents_become_ours() {
        let own =
            Ok(json!({"items": [{"task": "Fix", "status": "doing"}, {"task": "Test", "status": "open"}]}));
        for arguments in [
            json!({"items": [{"task": "Fix", "status": "doing"}, {"task": "Test"}]}),
            json!({"todos": [
                {"content": "Fix", "status": "in_progress", "activeForm": "Fixing", "id": "1"},
                {"content": "Test", "status": "pending", "priority": "high"},
            ]}),
            json!({"explanation": "why", "plan": [{"step": "Fix", "status": "in_progress"}, {"step": "Test", "status": "pending"}]}),
            json!({"todo_list": [{"title": "Fix", "status": "in-progress"}, {"title": "Test", "status": "not-started"}]}),
            json!({"todos": "[{\"content\": \"Fix\", \"status\": \"in_progress\"}, \"Test\"]"}),
        ] {
            assert_eq!(understood(arguments.clone()), own, "{arguments}");
        }
    }

    #[test]
    fn what_is_no_list_is_answered_with_the_right_call() {
        for arguments in [json!({}), json!({"todos": "Fix"}), json!({"todos": [{"status": "done"}]})] {
            let error = understood(arguments).expect_err("not understood");
            assert!(error.contains("todo(items=["), "{error}");
        }
    }
}
