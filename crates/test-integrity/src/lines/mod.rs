//! Checks of lines apart from the assertions of tests: statements that steer, silence or exempt, and tests that are written as
//! examples or scripts. It uses what [`crate::extract`] reads of a file and the words of [`crate::assertion`], and compares no
//! tests.

pub(crate) mod doctests;
mod efforts;
pub(crate) mod endings;
pub(crate) mod exemptions;
mod hunks;
pub(crate) mod lenient;
pub(crate) mod marks;
mod own_t;
pub(crate) mod reported;
mod rows;
pub(crate) mod scripted;
pub(crate) mod signs;
pub(crate) mod silenced;
pub(crate) mod statements;
pub(crate) mod unbuilt;
