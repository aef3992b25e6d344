//! Operations on GitHub: the method of a request, and its purpose.

/// An HTTP method, and whether the request may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    /// A POST that creates something new each time.
    Post,
    /// A POST that may be sent twice: the same content is the same object, or the second request is
    /// refused.
    PostAgain,
    /// The same for a GraphQL query that changes something.
    Mutation,
    Patch,
    Put,
}

/// The operation that a request is for, in words that an error can use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose {
    /// The operation, as in "the token is not allowed to …".
    pub(super) doing: &'static str,
    /// The required permission, as a workflow writes it.
    pub(super) permission: &'static str,
}

/// Reviews and their comments are posted, read and changed.
pub(super) const REVIEW: Purpose = Purpose { doing: "suggest changes", permission: "pull-requests: write" };
