//! The plan that a comment means: of those that comments of this program show, the one of its digest, or of its own key.

use crate::github::{ApiError, CALL, PlanMark, ShownPlan};

/// Reason why no plan is applied.
pub(super) enum NoPlan {
    /// GitHub could not be asked.
    Failed(ApiError),
    /// Why it is not applied, for the person who asked.
    Refused(String),
}

impl NoPlan {
    /// Makes a refusal.
    pub(super) fn refused(reason: &str) -> Self {
        Self::Refused(reason.to_owned())
    }
}

impl From<ApiError> for NoPlan {
    fn from(error: ApiError) -> Self {
        Self::Failed(error)
    }
}

/// Returns the plan of that digest, whatever the key of its comment; without a digest, that of our own key. `why` says why a plan
/// that is shown is not offered to be applied.
pub(super) fn choose(
    mut all: Vec<ShownPlan>,
    key: &str,
    digest: Option<&str>,
    why: Option<&str>,
) -> Result<ShownPlan, NoPlan> {
    if all.is_empty() {
        return Err(NoPlan::Refused(match why {
            Some(why) => format!("the plan that is shown cannot be applied: {}", why.trim_end_matches('.')),
            None => "no comment on this pull request shows a plan".to_owned(),
        }));
    }
    let listed = |all: &[ShownPlan]| {
        let each = |plan: &ShownPlan| format!("`{CALL} apply {}` ({})", short_digest(&plan.mark), plan.key);
        all.iter().map(each).collect::<Vec<_>>().join(", ")
    };
    let Some(digest) = digest else {
        return match all.iter().position(|plan| plan.key == key) {
            Some(at) => Ok(all.swap_remove(at)),
            None => Err(NoPlan::Refused(format!(
                "the comment of this job shows no plan; other comments do, comment one of {}",
                listed(&all)
            ))),
        };
    };
    let digest = digest.to_ascii_lowercase();
    let fits = |plan: &ShownPlan| digest.len() >= 8 && plan.mark.digest.starts_with(&digest);
    let mut fitting = all.iter().filter(|plan| fits(plan)).map(|plan| &plan.mark.digest);
    let first = fitting.next();
    if fitting.any(|other| Some(other) != first) {
        return Err(NoPlan::Refused(format!(
            "several plans that are shown have a digest that begins with `{digest}`; give more of its characters"
        )));
    }
    match all.iter().position(fits) {
        Some(at) => Ok(all.swap_remove(at)),
        None if digest.len() < 8 => Err(NoPlan::refused("a digest must have at least 8 characters")),
        None => Err(NoPlan::Refused(format!(
            "no comment now shows a plan with that digest; what is shown now is {}",
            listed(&all)
        ))),
    }
}

fn short_digest(mark: &PlanMark) -> &str {
    mark.digest.get(..16).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_that_two_plans_begin_with_chooses_none() {
        let shown = |key: &str, digest: &str| ShownPlan {
            key: key.to_owned(),
            mark: PlanMark { digest: digest.to_owned(), run: 1, head: String::new() },
        };
        let all = || vec![shown("a", "0123456789a"), shown("b", "0123456789b"), shown("c", "0123456789b")];
        for (digest, expected) in [("01234567", None), ("0123456789a", Some("a")), ("0123456789b", Some("b"))]
        {
            let found = choose(all(), "a", Some(digest), None).ok().map(|plan| plan.key);
            assert_eq!(found.as_deref(), expected, "{digest}");
        }
        for (why, expected) in [
            (Some("it is incomplete: x."), "the plan that is shown cannot be applied: it is incomplete: x"),
            (None, "no comment on this pull request shows a plan"),
        ] {
            let found = choose(Vec::new(), "a", None, why);
            assert!(matches!(found, Err(NoPlan::Refused(told)) if told == expected), "{expected}");
        }
    }
}
