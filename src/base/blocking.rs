//! Work that keeps a thread busy or waiting, apart from the runtime's other tasks.

use std::panic::resume_unwind;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{block_in_place, spawn_blocking};

/// Does work that takes its time where it is. The runtime's other tasks, such as its clocks, go on elsewhere meanwhile.
pub(crate) fn in_place<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
    if matches!(flavor, Ok(RuntimeFlavor::MultiThread)) { block_in_place(work) } else { work() }
}

/// Does such work on a thread of its own, and resumes a panic of it here.
pub(crate) async fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => resume_unwind(error.into_panic()),
    }
}
