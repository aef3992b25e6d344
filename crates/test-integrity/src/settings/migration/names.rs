//! Names of rules and thresholds: which of different tools, or of different ages of one, stand for the same.

/// Names without signs, each with the one that counts for both.
#[rustfmt::skip]
const SUCCESSORS: &[(&str, &str)] = &[
    // Python's thresholds of coverage.
    ("coverminpercentage", "failunder"), ("covfailunder", "failunder"), ("mincoverage", "failunder"),
    // TSLint's.
    ("tripleequals", "eqeqeq"), ("cyclomaticcomplexity", "complexity"), ("novarkeyword", "novar"), ("noany", "noexplicitany"),
    ("nounusedvariable", "nounusedvars"), ("noshadowedvariable", "noshadow"), ("noswitchcasefallthrough", "nofallthrough"), ("forin", "guardforin"),
    ("nostringthrow", "onlythrowerror"), ("noconditionalassignment", "nocondassign"), ("noarg", "nocaller"), ("noduplicatevariable", "noredeclare"),
    ("onlyarrowfunctions", "preferarrowcallback"), ("maxfilelinecount", "maxlines"), ("switchdefault", "defaultcase"),
    ("awaitpromise", "awaitthenable"), ("nounusedexpression", "nounusedexpressions"), ("interfaceovertypeliteral", "consistenttypedefinitions"),
    ("noimplicitdependencies", "noextraneousdependencies"), ("noanglebrackettypeassertion", "consistenttypeassertions"),
    // Biome's.
    ("nodoubleequals", "eqeqeq"), ("useconst", "preferconst"), ("nounusedvariables", "nounusedvars"), ("noconsolelog", "noconsole"),
    ("useblockstatements", "curly"), ("noexcessivecognitivecomplexity", "complexity"), ("noglobaleval", "noeval"),
    ("noemptyblockstatements", "noempty"), ("usearrowfunction", "preferarrowcallback"), ("nofallthroughswitchclause", "nofallthrough"),
    ("noparameterassign", "noparamreassign"), ("useexhaustivedependencies", "exhaustivedeps"), ("usehookattoplevel", "rulesofhooks"),
    ("useimporttype", "consistenttypeimports"), ("noundeclaredvariables", "noundef"), ("usetemplate", "prefertemplate"),
    ("noassigninexpressions", "nocondassign"),
    // ESLint's and its plugins' own, by their successors.
    ("bantypes", "norestrictedtypes"), ("noreturnawait", "returnawait"), ("nothrowliteral", "onlythrowerror"), ("novarrequires", "norequireimports"),
    ("noemptyinterface", "noemptyobjecttype"), ("prefertsexpecterror", "bantscomment"), ("camelcase", "namingconvention"),
    ("nonewsymbol", "nonewnativenonconstructor"), ("noparameterproperties", "parameterproperties"), ("sortkeysfix", "sortkeys"),
    ("nocatchshadow", "noshadow"), ("nonegatedinlhs", "nounsafenegation"), ("nonativereassign", "noglobalassign"), ("noglobalrequire", "globalrequire"),
];

/// Rules on how code is laid out, which formatters have taken over.
#[rustfmt::skip]
const LAYOUT: &[&str] = &[
    "quotes", "quotemark", "semi", "semicolon", "indent", "whitespace", "eofline", "eollast", "trailingcomma", "commadangle", "maxlinelength", "maxlen",
    "linebreakstyle", "arrowparens", "spacebeforefunctionparen", "noconsecutiveblanklines", "nomultipleemptylines", "notrailingspaces",
    "notrailingwhitespace", "typedefwhitespace", "oneline", "align", "objectcurlyspacing", "spacedcomment", "commentformat", "orderedimports",
    "memberdelimiterstyle", "keyspacing", "operatorlinebreak", "bracestyle", "nomixedspacesandtabs", "jsdocformat", "quoteprops",
    "objectliteralkeyquotes", "newlineperchainedcall", "typeannotationspacing", "arraybracketspacing", "importspacing", "nomultispaces", "spaceinfixops",
    "keywordspacing", "nofloatingdecimal", "nowhitespacebeforeproperty", "spacebeforeblocks", "paddedblocks", "commaspacing", "funccallspacing",
    "arrowspacing", "noextraparens", "noextrasemi",
];

/// Rules that the recommended sets of `ESLint`, of its TypeScript plugin, and of Biome have on.
#[rustfmt::skip]
const RECOMMENDED: &[&str] = &[
    "nounusedvars", "nodebugger", "noempty", "noundef", "nofallthrough", "nocondassign", "noredeclare", "useisnan", "nounreachable",
    "noconstantcondition", "nodupekeys", "noexplicitany", "nounsafefinally", "nosparsearrays", "validtypeof", "nodupeargs", "nocasedeclarations",
    "noprototypebuiltins", "noselfassign", "bantscomment", "norequireimports", "noemptyobjecttype", "preferasconst", "nomisusednew",
];

/// Returns a name without its plugin and signs, or that of its successor.
pub(super) fn canonical(name: &str) -> String {
    let own = name.rsplit('/').next().unwrap_or(name);
    let plain: String =
        own.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>().to_lowercase();
    SUCCESSORS.iter().find(|(old, _)| *old == plain).map_or(plain, |(_, new)| (*new).to_owned())
}

/// Returns whether a rule, by its canonical name, is one of layout.
pub(super) fn is_of_layout(name: &str) -> bool {
    LAYOUT.contains(&name)
}

/// Returns whether a rule, by its canonical name, is on in the recommended sets.
pub(super) fn is_recommended(name: &str) -> bool {
    RECOMMENDED.contains(&name)
}

/// Returns a pattern of files, of lines or of modules without what tools write around it: `<rootDir>/src/old/` and `src/old/**`.
pub(super) fn bare_pattern(pattern: &str) -> String {
    let plain = pattern.trim_matches(['"', '\'', '`', ' ', ',']).replace("<rootDir>/", "").replace('\\', "");
    let begin = plain.trim_start_matches(['^', '.']).trim_start_matches("**/").trim_start_matches('/');
    begin.trim_end_matches('$').trim_end_matches("/**/*").trim_end_matches(['*', '/']).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tools_stand_for_the_same() {
        for (one, other) in [
            ("triple-equals", "eqeqeq"),
            ("style/noVar", "no-var"),
            ("@typescript-eslint/ban-types", "@typescript-eslint/no-restricted-types"),
            ("cover-min-percentage", "fail_under"),
        ] {
            assert_eq!(canonical(one), canonical(other), "{one} {other}");
        }
        assert_eq!(bare_pattern("<rootDir>/src/old/"), bare_pattern("src/old/**"));
        assert_ne!(bare_pattern("pkg/*"), bare_pattern("pkg/old.py"));
    }
}
