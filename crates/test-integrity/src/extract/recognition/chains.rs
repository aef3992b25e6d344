//! Chains of calls of which each demands something of the same value: a response, or the end of a program.

use crate::assertion::{Assertion, Strength, vocabulary};
use crate::syntax::At;

/// Longest chain of calls that is read.
const MAX_CHAIN: usize = 60;

/// One call of a chain.
pub(in crate::extract) struct Link<'a> {
    pub(in crate::extract) name: &'a str,
    call: At<'a>,
}

impl<'a> Link<'a> {
    /// Returns the arguments, each as its tokens joined by blanks.
    pub(in crate::extract) fn given(&self) -> Vec<String> {
        self.arguments().into_iter().map(At::normal).collect()
    }

    /// Returns the name of what is called, also of a plain function.
    pub(in crate::extract) fn called(&self) -> &'a str {
        let function = self.call.field("function").filter(|function| function.kind() == "identifier");
        function.map_or(self.name, At::text)
    }

    /// Returns what it is called on, if that is a plain name.
    pub(in crate::extract) fn receiver(&self) -> &'a str {
        let function = self.call.field("function").unwrap_or(self.call);
        let object = function
            .field("operand")
            .or_else(|| function.field("object"))
            .or_else(|| function.field("value"));
        object.filter(|object| object.kind() == "identifier").map_or("", At::text)
    }

    fn arguments(&self) -> Vec<At<'a>> {
        self.call.field("arguments").map(At::children).unwrap_or_default()
    }

    /// Makes an assertion of what this call is given; `said` are the arguments that count.
    fn assertion(&self, said: &[String]) -> Assertion {
        let list = said.join(" , ");
        let words = [self.name, "(", &list, ")"].into_iter().filter(|word| !word.is_empty());
        let words: Vec<&str> = words.flat_map(|word| word.split(' ')).collect();
        let subject = format!(". {}", self.name);
        let arguments = [vec![subject], said.to_vec()].concat();
        let line = self.call.field("arguments").map_or(self.call.line(), At::line);
        let mut assertion = Assertion::of_call(self.name, &arguments, line, &words);
        assertion.sides = None;
        assertion.strength = demand(said.last().map_or("", String::as_str));
        assertion
    }
}

/// Returns the calls of a chain in their order, if a node is the last one of it.
pub(in crate::extract) fn chain(at: At<'_>) -> Vec<Link<'_>> {
    const CALLS: &[&str] = &["call_expression", "method_invocation"];
    let continues = at.node.parent().is_some_and(|parent| match parent.kind() {
        "member_expression" | "field_expression" | "selector_expression" => true,
        "method_invocation" => parent.child_by_field_name("object").is_some_and(|object| object == at.node),
        _ => false,
    });
    let mut links = Vec::new();
    let mut next = Some(at).filter(|_| !continues);
    while let Some(call) = next.filter(|call| CALLS.contains(&call.kind()) && links.len() < MAX_CHAIN) {
        let function = call.field("function").unwrap_or(call);
        let name =
            function.field("property").or_else(|| function.field("field")).or_else(|| function.field("name"));
        links.push(Link { name: name.map_or("", At::text), call });
        next = function
            .field("object")
            .or_else(|| function.field("value"))
            .or_else(|| function.field("operand"));
    }
    links.reverse();
    links
}

/// Matchers of `TestCafe`.
const OF_TESTCAFE: &[&str] = &[
    "eql",
    "notEql",
    "ok",
    "notOk",
    "contains",
    "notContains",
    "typeOf",
    "gt",
    "gte",
    "lt",
    "lte",
    "within",
    "match",
    "notMatch",
];

/// Returns the names of supertest and Cypress: `request(app).get("/").expect(200, "ok")`, `cy.get("p").should("have.text", "ok")`.
pub(in crate::extract) fn of_scripts(links: &[Link<'_>]) -> Vec<Assertion> {
    let mut found = Vec::new();
    for (place, link) in links.iter().enumerate() {
        let is_function = |at: &At<'_>| matches!(at.kind(), "arrow_function" | "function_expression");
        let given = link.arguments();
        match link.name {
            // TestCafe says behind it what is expected: `t.expect(a).eql(b)`.
            "expect" if links.get(place + 1).is_some_and(|next| OF_TESTCAFE.contains(&next.name)) => {
                let next = &links[place + 1];
                let mut assertion = next.assertion(&next.given());
                assertion.subject = link.given().into_iter().next().unwrap_or_default();
                assertion.text = format!("expect ( {} ) . {}", assertion.subject, assertion.text);
                assertion.strength = vocabulary::strength(next.name);
                found.push(assertion);
            }
            "expect" if !given.iter().any(is_function) => {
                // The last one of several may be the function that is told of the end.
                let told = given.len() > 1 && given.last().is_some_and(|last| last.kind() == "identifier");
                let count = given.len() - usize::from(told);
                let mut said: Vec<String> =
                    given.into_iter().take(count).map(At::normal).filter(|text| text != "done").collect();
                if said.first().is_some_and(|first| first.parse::<u16>().is_ok()) {
                    // The status of a response is a part of it.
                    let status = link.assertion(&[said.remove(0)]);
                    found.push(Assertion { strength: Strength::Partial, ..status });
                }
                if !said.is_empty() {
                    found.push(link.assertion(&said));
                }
            }
            "should" | "and" if given.first().is_some_and(|first| vocabulary::is_literal(first.text())) => {
                let said = link.given();
                let name = said[0].trim_matches(['"', '\'', '`']).to_owned();
                let mut assertion = link.assertion(&said);
                assertion.strength = vocabulary::strength(&name);
                found.push(assertion);
            }
            _ => {}
        }
    }
    found
}

/// Returns what `assert_cmd` demands of a program: `command.assert().success().stdout("ok")`.
pub(in crate::extract) fn of_programs(links: &[Link<'_>]) -> Vec<Assertion> {
    const DEMANDS: &[&str] = &["success", "failure", "code", "stdout", "stderr", "interrupted"];
    let start = links.iter().position(|link| link.name == "assert" && link.arguments().is_empty());
    let behind = start.map_or(&[][..], |start| &links[start + 1..]);
    behind
        .iter()
        .filter(|link| DEMANDS.contains(&link.name))
        .map(|link| link.assertion(&link.given()))
        .collect()
}

/// Returns what Spring's `MockMvc` and REST Assured demand of a response.
pub(in crate::extract) fn of_responses(links: &[Link<'_>]) -> Vec<Assertion> {
    const DEMANDS: &[&str] =
        &["statusCode", "body", "header", "headers", "cookie", "cookies", "contentType", "statusLine"];
    let mut found = Vec::new();
    let mut is_response = false;
    for link in links {
        match link.name {
            "andExpect" => found.push(link.assertion(&link.given())),
            "andExpectAll" => found.extend(link.given().into_iter().map(|one| link.assertion(&[one]))),
            "then" => is_response = true,
            name if is_response && DEMANDS.contains(&name) => found.push(link.assertion(&link.given())),
            _ => {}
        }
    }
    found
}

/// Returns what the calls of a chain expect, each with those behind it: `.expectStatus().isOk().expectBody().jsonPath("$.id").isEqualTo(1)`.
pub(in crate::extract) fn of_expectations(links: &[Link<'_>]) -> Vec<Assertion> {
    let begins = |name: &str| {
        let is_one =
            |start: &str| name.strip_prefix(start).is_some_and(|rest| rest.starts_with(char::is_uppercase));
        is_one("expect") || is_one("verify") || is_one("assert") || is_one("consumeNext")
    };
    let starts: Vec<usize> = (1..links.len()).filter(|at| begins(links[*at].name)).collect();
    let groups = starts.iter().enumerate().map(|(number, start)| {
        let end = starts.get(number + 1).copied().unwrap_or(links.len());
        &links[*start..end]
    });
    // What is to come is compared only where somebody asks for it.
    let is_open = links.first().is_some_and(|first| first.receiver() == "StepVerifier")
        && !links.iter().any(|link| link.name.starts_with("verify"));
    groups.map(|group| Assertion { is_swallowed: is_open, ..of_group(group) }).collect()
}

/// Makes an assertion of one expectation and the calls that say more about it.
fn of_group(group: &[Link<'_>]) -> Assertion {
    let said: Vec<String> =
        group.iter().map(|link| format!("{} ( {} )", link.name, link.given().join(" , "))).collect();
    let (first, last) = (&group[0], &group[group.len() - 1]);
    let mut assertion = last.assertion(&said);
    let name = if group.len() > 1 { last.name } else { first.name };
    let is_bare =
        group.iter().all(|link| link.given().is_empty()) && group.len() == 1 && !name.starts_with("verify");
    assertion.subject = format!(". {}", first.name);
    assertion.strength = if is_bare || name.contains("NotEmpty") || name.contains("exists") {
        Strength::Present
    } else if name.to_lowercase().contains("count") {
        Strength::Partial
    } else {
        said.iter().map(|said| demand(said)).min().unwrap_or(Strength::Exact)
    };
    assertion
}

/// Returns how much a matcher demands, by the names in it: `equalTo ( 3 )`, `predicate :: str :: contains ( "a" )`.
fn demand(matcher: &str) -> Strength {
    let words: Vec<&str> = matcher.split(' ').collect();
    let called: Vec<&str> = words.windows(2).filter(|two| two[1] == "(").map(|two| two[0]).collect();
    let has = |names: &[&str]| called.iter().any(|name| names.contains(name));
    if matcher.is_empty() {
        Strength::Present
    } else if has(&["always"]) {
        Strength::Nothing
    } else if has(&["anything", "notNullValue", "exists", "isNotEmpty"]) {
        Strength::Present
    } else if has(&[
        "lessThan",
        "greaterThan",
        "lessThanOrEqualTo",
        "greaterThanOrEqualTo",
        "anyOf",
        "not",
        "containsString",
        "startsWith",
        "contains",
        "is_match",
        "starts_with",
        "is2xxSuccessful",
        "is4xxClientError",
        "is5xxServerError",
        "or",
    ]) || words.first().is_some_and(|first| first.starts_with('/'))
    {
        Strength::Bounded
    } else {
        Strength::Exact
    }
}
