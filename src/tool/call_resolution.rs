//! Resolution of calls: which tool a call means, and with which arguments, before anything is decided about it. Models bring names and
//! habits from other agents; what can be understood in one way only is taken, and the rest is answered with the right call.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::abilities::{self, Ability};
use super::arguments::Arguments;
use super::fitting::{finished, plain_names, take_keywords};
use super::foreign_tools::ForeignTool;
use super::names::{OF_SOME_RUNS, meaning, normalized_name};
use super::namespaces::{Parts, parts};
use super::programs;
use super::resolved_call::{ResolvedCall, UnresolvedCall, usage};
use super::restraint::Restraints;
use super::wrapped::object;
use super::{Registry, Tool};
use crate::base::text::shortened;
use crate::event::ToolCall;

impl Registry {
    /// Returns what a call means. `root` is the path of the checkout.
    pub fn understand(&self, call: &ToolCall, root: &Path) -> Result<ResolvedCall, UnresolvedCall> {
        self.meant(call, root).map_err(|UnresolvedCall(mut reason)| {
            // A call that helps in most runs may not be possible in this one.
            let missing = |tool: &&&str| reason.contains(&format!("{tool}(")) && !self.has(tool);
            let missing: Vec<&str> = OF_SOME_RUNS.iter().filter(missing).copied().collect();
            for tool in missing {
                reason += &format!("; {tool} is not available in this run");
            }
            UnresolvedCall(reason)
        })
    }

    fn meant(&self, call: &ToolCall, root: &Path) -> Result<ResolvedCall, UnresolvedCall> {
        let named = ToolCall { name: self.plain_name(&call.name).to_owned(), ..call.clone() };
        let call = &named;
        let own = self.get(&call.name);
        if let Some(tool) = own.filter(|tool| tool.takes_arguments_as_given()) {
            return Ok(ResolvedCall { tool: Arc::clone(tool), call: call.clone(), ignored: Vec::new() });
        }
        let mut arguments = Arguments::new();
        for (name, value) in plain_names(object(&call.arguments)?) {
            match value {
                // One change or command, as an object of its own.
                Value::Object(inner) if matches!(name.as_str(), "operation" | "action") => {
                    arguments.extend(plain_names(inner));
                }
                value => {
                    arguments.insert(name, value);
                }
            }
        }
        let restraints = Restraints::take(&mut arguments);
        let as_own = own.map(|tool| self.translated(call, arguments.clone(), tool, root));
        let understood = match (as_own, meaning(&call.name)) {
            (Some(Ok(understood)), other) => {
                let fits = |understood: &ResolvedCall| {
                    Arc::clone(&understood.tool).prepare(&understood.call.arguments).is_ok()
                };
                // A name that means one thing here and another elsewhere: what the arguments fit is meant.
                if other.is_none() || fits(&understood) {
                    Ok(understood)
                } else {
                    let foreign = self.foreign(call, arguments, other, root).ok().filter(fits);
                    Ok(foreign.unwrap_or(understood))
                }
            }
            (Some(Err(reason)), _) => Err(reason),
            (None, other) => self.foreign(call, arguments, other, root),
        };
        let mut understood = understood?;
        restraints.obeyed(&*understood.tool, &mut understood.call.arguments)?;
        Ok(understood.without_unknown())
    }

    /// Understands a call by a name that is not one of ours.
    fn foreign(
        &self,
        call: &ToolCall,
        mut arguments: Arguments,
        meaning: Option<ForeignTool>,
        root: &Path,
    ) -> Result<ResolvedCall, UnresolvedCall> {
        if let Some(tool) = meaning.and_then(ForeignTool::tool).and_then(|name| self.get(name)) {
            take_keywords(&mut arguments, &**tool);
        }
        let name = match meaning {
            Some(ForeignTool::Advice(advice)) => {
                return Err(UnresolvedCall(format!("Tool not found: {}; {advice}", call.name)));
            }
            Some(ForeignTool::Tool(name)) => name.to_owned(),
            Some(ForeignTool::Fitted(name, change)) => {
                change(&mut arguments);
                name.to_owned()
            }
            Some(ForeignTool::Changed(name, change)) => {
                let changed = change(&mut arguments)
                    .map_err(|advice| UnresolvedCall(format!("{}: {advice}", call.name)))?;
                changed.unwrap_or(name).to_owned()
            }
            None => {
                let wanted = normalized_name(&call.name);
                match self.all().find(|tool| normalized_name(tool.name()) == wanted) {
                    Some(own) => {
                        take_keywords(&mut arguments, &**own);
                        own.name().to_owned()
                    }
                    None => return self.guessed(call, arguments, root),
                }
            }
        };
        let Some(tool) = self.get(&name) else {
            return Err(UnresolvedCall(format!(
                "Tool not found: {} ({name} is not available in this run)",
                call.name
            )));
        };
        finished(call, arguments, tool, root)
    }

    /// Understands the arguments of a tool that was called by its own name.
    fn translated(
        &self,
        call: &ToolCall,
        mut arguments: Arguments,
        tool: &Arc<dyn Tool>,
        root: &Path,
    ) -> Result<ResolvedCall, UnresolvedCall> {
        let mut tool = tool;
        take_keywords(&mut arguments, &**tool);
        match meaning(&call.name) {
            Some(ForeignTool::Fitted(name, change)) if name == tool.name() => change(&mut arguments),
            Some(ForeignTool::Changed(name, change)) if name == tool.name() => {
                let changed =
                    change(&mut arguments).map_err(|advice| UnresolvedCall(format!("{name}: {advice}")))?;
                tool = changed.and_then(|name| self.get(name)).unwrap_or(tool);
            }
            _ => {}
        }
        finished(call, arguments, tool, root)
    }

    /// Returns the name of a tool without what models leave around it: `<|channel|>commentary`, `:0`, elements.
    fn plain_name<'a>(&self, name: &'a str) -> &'a str {
        let is_known = |name: &str| {
            let wanted = normalized_name(name);
            !wanted.is_empty()
                && (meaning(name).is_some() || self.all().any(|tool| normalized_name(tool.name()) == wanted))
        };
        if is_known(name) {
            return name;
        }
        let parts = name.split(['<', '>', '|', '"', '`', '=', ' ', '\n']);
        let without_number = |part: &'a str| match part.rsplit_once([':', '#']) {
            Some((before, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => before,
            _ => part,
        };
        parts.map(without_number).find(|part| is_known(part)).unwrap_or(name)
    }

    /// Returns what to do instead of calling a tool of a server that this run does not have: the same on the files and the shell here
    /// may not be what is meant.
    fn of_no_server(&self, namespace: &str, tool: &str) -> String {
        let here = match meaning(tool) {
            Some(ForeignTool::Advice(advice)) => return advice.to_owned(),
            Some(meaning) => meaning.tool(),
            None => match abilities::nearest(tool) {
                Some(Ability::Tool(name)) => Some(name),
                Some(Ability::As(other)) => meaning(other).and_then(ForeignTool::tool),
                _ => None,
            },
        };
        let here = if let Some(tool) = here.and_then(|name| self.get(name)) {
            format!("for the files and the shell here there is {}", usage(&**tool))
        } else {
            let all: Vec<&str> = self.list().map(|tool| tool.name()).collect();
            format!("the tools are {}", all.join(", "))
        };
        format!("this run has no tools of {}; {here}", shortened(namespace, 100))
    }

    /// Understands a call by a name that is in no table: as what the words in it are about, if that changes nothing. Otherwise the error
    /// has the call to make.
    fn guessed(
        &self,
        call: &ToolCall,
        arguments: Arguments,
        root: &Path,
    ) -> Result<ResolvedCall, UnresolvedCall> {
        let name = &shortened(&call.name, 100);
        let unknown = |way: &str| UnresolvedCall(format!("Tool not found: {name}; {way}"));
        if let Parts { tool, elsewhere: Some(namespace) } = parts(&call.name) {
            return Err(unknown(&self.of_no_server(namespace, tool)));
        }
        let program = programs::program(&call.name, &arguments).filter(|_| self.has("run_command"));
        if let Some((line, is_plain)) = program {
            if is_plain {
                return self.foreign(call, programs::as_command(&line), meaning("run_command"), root);
            }
            return Err(unknown(&format!("a program is run by a command: run_command(command={line:?})")));
        }
        let ability = abilities::nearest(&call.name).filter(|_| !call.name.starts_with("mcp"));
        let other = match ability {
            Some(Ability::As(other)) => meaning(other),
            _ => None,
        };
        let tool = match ability {
            Some(Ability::Tool(tool)) => self.get(tool),
            Some(Ability::As(_)) => other.and_then(ForeignTool::tool).and_then(|tool| self.get(tool)),
            Some(Ability::Advice(advice)) => {
                let web = ["web_search", "fetch_url"].map(|tool| self.get(tool));
                let is_search = abilities::is_search(&call.name);
                let tool = web.into_iter().flatten().find(|tool| (tool.name() == "web_search") == is_search);
                match tool.filter(|_| abilities::is_of_web(advice)) {
                    Some(tool) => Some(tool),
                    None => return Err(unknown(advice)),
                }
            }
            None => self.closest(name).and_then(|near| self.get(near)),
        };
        let Some(tool) = tool else {
            let all: Vec<&str> = self.list().map(|tool| tool.name()).collect();
            return Err(unknown(&format!("the tools are {}", all.join(", "))));
        };
        let near = ToolCall { name: tool.name().to_owned(), ..call.clone() };
        let as_near = self.foreign(&near, arguments, other.or(meaning(tool.name())), root);
        match as_near.map(ResolvedCall::without_unknown) {
            Err(UnresolvedCall(reason)) => {
                let of_near = format!("{}: ", near.name);
                Err(unknown(reason.strip_prefix(&of_near).unwrap_or(&reason)))
            }
            Ok(near) if Arc::clone(&near.tool).prepare(&near.call.arguments).is_err() => {
                Err(unknown(&format!("did you mean {}?", usage(&*near.tool))))
            }
            Ok(near) if near.tool.sensitive() => {
                Err(unknown(&format!("did you mean {}?", written_out(&near.call))))
            }
            Ok(near) => Ok(near),
        }
    }
}

/// Longest value that stands in a call that is written out, in bytes. A part of one would be another value.
const MAX_VALUE: usize = 100;

/// Returns a call as it could be made.
fn written_out(call: &ToolCall) -> String {
    let arguments = call.arguments.as_object().into_iter().flatten();
    let arguments = arguments.map(|(name, value)| {
        let value = value.to_string();
        format!("{name}={}", if value.len() > MAX_VALUE { "…" } else { value.as_str() })
    });
    format!("{}({})", call.name, arguments.collect::<Vec<_>>().join(", "))
}
