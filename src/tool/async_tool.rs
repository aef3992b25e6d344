//! Tools that wait for somebody else: a model, a server, a process.

use std::sync::Arc;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ArgumentsError, Call, Context, Tool, ToolError, ToolInfo, ToolResult, arguments, schema};
use crate::event::Effects;

/// Tool that waits for somebody else. What it touches is known from its arguments alone.
pub trait AsyncTool: Send + Sync + 'static {
    /// Arguments; the model gets their JSON Schema.
    type Args: DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// Returns name, description and sensitivity.
    fn info(&self) -> ToolInfo;

    /// Checks arguments that have the right form, and tidies them up.
    fn check(&self, args: &mut Self::Args) -> Result<(), ArgumentsError>;

    /// Returns what a call would touch.
    fn effects(&self, args: &Self::Args) -> Effects;

    /// Returns whether calls have to wait for those before them in their turn although they change no file.
    fn keeps_order(&self) -> bool {
        false
    }

    /// Executes the call.
    fn run(self: Arc<Self>, args: Self::Args) -> BoxFuture<'static, ToolResult>;
}

/// [`AsyncTool`] as the registry holds it.
pub(super) struct Registered<T>(pub(super) Arc<T>);

impl<T: AsyncTool> Tool for Registered<T> {
    fn name(&self) -> &str {
        self.0.info().name
    }

    fn description(&self) -> &str {
        self.0.info().description
    }

    fn sensitive(&self) -> bool {
        self.0.info().sensitive
    }

    fn successor(&self) -> Option<&str> {
        self.0.info().successor
    }

    fn parameters(&self) -> Value {
        schema::of::<T::Args>()
    }

    fn prepare(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn Call>, ArgumentsError> {
        let mut args = arguments::parse::<T::Args>(arguments)?;
        self.0.check(&mut args)?;
        Ok(Box::new(AsyncCall { tool: Arc::clone(&self.0), args }))
    }
}

struct AsyncCall<T: AsyncTool> {
    tool: Arc<T>,
    args: T::Args,
}

impl<T: AsyncTool> Call for AsyncCall<T> {
    fn effects(&self, _: &Context) -> Result<Effects, ToolError> {
        Ok(self.tool.effects(&self.args))
    }

    fn keeps_order(&self) -> bool {
        self.tool.keeps_order()
    }

    fn run(self: Box<Self>, _: Context) -> BoxFuture<'static, ToolResult> {
        let Self { tool, args } = *self;
        tool.run(args)
    }
}
