//! Lists of work as other agents' models write them.

use serde_json::{Value, json};

use super::argument_values::{parsed, take, text};
use super::arguments::Arguments;
use super::resolved_call::UnresolvedCall;
use super::translate::{Changed, is_true};

/// Gives the entries of a list their own names: what is to be done, and how far it is.
pub(super) fn todo_list(arguments: &mut Arguments) -> Changed {
    let names = ["items", "todos", "plan", "todo_list", "tasks", "steps", "progress", "input"];
    let is_merged = take(arguments, &["merge"]).as_ref().is_some_and(is_true);
    let given = take(arguments, &names).map(parsed).map(|given| match given {
        Value::String(text) => checklist(&text).unwrap_or(Value::String(text)),
        other => other,
    });
    let Some(Value::Array(entries)) = given else {
        return Err(UnresolvedCall(
            "give the whole list: todo(items=[{\"task\": \"…\", \"status\": \"open\"}])".to_owned(),
        ));
    };
    let own: Option<Vec<Value>> = entries.into_iter().map(entry).collect();
    let Some(own) = own else {
        return Err(UnresolvedCall(
            "an entry is {\"task\": \"…\", \"status\": \"open\", \"doing\" or \"done\"}: todo(items=[…])"
                .to_owned(),
        ));
    };
    *arguments = Arguments::from_iter([("items".to_owned(), Value::Array(own))]);
    if is_merged {
        arguments.insert("merge".to_owned(), json!(true));
    }
    Ok(None)
}

/// Returns the tool that adds one entry to the list.
pub(super) fn one_todo(arguments: &mut Arguments) -> Changed {
    let names = ["task", "subject", "content", "title", "text", "description"];
    let task = names.iter().find_map(|name| arguments.get(*name).and_then(text).map(str::to_owned));
    let status = arguments.get("status").cloned().unwrap_or_default();
    let item = task.map(|task| json!({"task": task, "status": status}));
    *arguments = Arguments::from_iter([
        ("items".to_owned(), Value::Array(item.into_iter().collect())),
        ("merge".to_owned(), json!(true)),
    ]);
    todo_list(arguments)
}

/// Returns the entries of a list in Markdown, or with a mark before each line.
fn checklist(text: &str) -> Option<Value> {
    let line = |line: &str| {
        let line = line.trim().trim_start_matches(['-', '*']).trim_start();
        let (mark, task) = line.strip_prefix('[')?.split_once(']')?;
        let status = match mark.trim() {
            "" => "open",
            "x" | "X" | "✓" => "done",
            "-" | "~" | ">" | "/" => "doing",
            _ => return None,
        };
        Some(json!({"task": task.trim(), "status": status}))
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(line).collect::<Option<Vec<_>>>().filter(|items| !items.is_empty()).map(Value::Array)
}

/// Returns an entry in our form, or `None` if it does not say what is to be done.
fn entry(entry: Value) -> Option<Value> {
    let mut entry = match parsed(entry) {
        Value::Object(entry) => entry,
        Value::String(task) => Arguments::from_iter([("task".to_owned(), json!(task))]),
        _ => return None,
    };
    let task = take(&mut entry, &["task", "content", "step", "title", "description", "text"])?;
    let is_done = ["done", "completed", "complete", "checked", "is_done"]
        .iter()
        .any(|name| take(&mut entry, &[name]).as_ref().is_some_and(is_true));
    let status = take(&mut entry, &["status", "state"]).unwrap_or_default();
    let status = status.as_str().unwrap_or_default().to_lowercase().replace(['-', ' '], "_");
    let task = text(&task)?.to_owned();
    let (task, status) = match status.as_str() {
        // What was given up is not open any more, and was not done either.
        "cancelled" | "canceled" | "skipped" | "dropped" => (format!("{task} (cancelled)"), "done"),
        "doing" | "in_progress" | "active" | "started" if !is_done => (task, "doing"),
        "done" | "completed" | "complete" | "finished" => (task, "done"),
        _ if is_done => (task, "done"),
        _ => (task, "open"),
    };
    Some(json!({"task": task, "status": status}))
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
    fn entries_are_done_cancelled_and_added_as_they_are_said_to_be() {
        for (arguments, expected) in [
            (
                json!({"items": [{"task": "a", "done": true}]}),
                json!({"items": [{"task": "a", "status": "done"}]}),
            ),
            (
                json!({"items": [{"task": "a", "completed": true, "status": "pending"}]}),
                json!({"items": [{"task": "a", "status": "done"}]}),
            ),
            (
                json!({"todos": [{"content": "a", "status": "cancelled"}]}),
                json!({"items": [{"task": "a (cancelled)", "status": "done"}]}),
            ),
            (
                json!({"merge": true, "todos": [{"content": "a", "status": "completed"}]}),
                json!({"items": [{"task": "a", "status": "done"}], "merge": true}),
            ),
            (json!({"merge": false, "todos": ["a"]}), json!({"items": [{"task": "a", "status": "open"}]})),
            (
                json!({"todos": "[x] a\n[-] b\n- [ ] c"}),
                json!({"items": [
                {"task": "a", "status": "done"}, {"task": "b", "status": "doing"}, {"task": "c", "status": "open"}]}),
            ),
        ] {
            assert_eq!(understood(arguments.clone()), Ok(expected), "{arguments}");
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
