//! YAML as a tree, by indentation: keys, lists and blocks of text, which is all that CI consists of.

/// Key or item with what is below it.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// Key; empty for an item of a list that has none.
    pub(super) key: String,
    /// Text on the line of the key, or the lines of a block.
    pub(super) value: String,
    /// Line, from 1.
    pub(super) line: usize,
    pub(super) below: Vec<Node>,
}

/// Deepest nesting that is read.
const MAX_DEPTH: usize = 40;

impl Node {
    /// Returns what is below a key of this node.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.below.iter().find(|node| node.key == key)
    }

    /// Returns the text of a key of this node.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).map(|node| node.value.as_str())
    }

    /// Returns the words of a list, in whatever way it is written, or the keys below.
    pub(super) fn words(&self) -> Vec<String> {
        let inner = self.value.trim_matches(['[', ']', '{', '}', ' ']);
        let of_line = inner.split(',').map(|word| word.split(':').next().unwrap_or(word)).map(plain);
        let of_below =
            self.below.iter().map(|node| plain(if node.key.is_empty() { &node.value } else { &node.key }));
        of_line.chain(of_below).filter(|word| !word.is_empty()).collect()
    }
}

fn plain(text: &str) -> String {
    text.trim().trim_matches(['"', '\'']).to_owned()
}

/// Reads a text.
pub(super) fn read(text: &str) -> Node {
    let lines: Vec<(usize, String)> =
        text.lines().enumerate().map(|(at, line)| (at + 1, line.replace('\t', "  "))).collect();
    let mut at = 0;
    Node { below: block(&lines, &mut at, 0, 0), ..Node::default() }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#') || line == "---"
}

/// Reads what is indented by at least so much.
fn block(lines: &[(usize, String)], at: &mut usize, least: usize, depth: usize) -> Vec<Node> {
    let mut nodes = Vec::new();
    while let Some((number, line)) = lines.get(*at) {
        if is_blank(line) {
            *at += 1;
            continue;
        }
        let inner = indent(line);
        if inner < least {
            break;
        }
        let content = line.trim();
        if let Some(rest) = content.strip_prefix("- ").or_else(|| (content == "-").then_some("")) {
            // The item begins behind the dash, as if it had a line of its own.
            let column = inner + content.len() - rest.trim_start().len();
            let mut item = Node { line: *number, ..Node::default() };
            if depth < MAX_DEPTH && (rest.is_empty() || key(rest.trim()).is_some()) {
                let behind = &lines[*at + 1..];
                let end = behind.iter().position(|(_, line)| !is_blank(line) && indent(line) <= inner);
                let first = (*number, format!("{}{}", " ".repeat(column), rest.trim_start()));
                let rest = behind[..end.unwrap_or(behind.len())].iter().cloned();
                let below: Vec<_> = std::iter::once(first).chain(rest).collect();
                let mut read = 0;
                item.below = block(&below, &mut read, inner + 1, depth + 1);
                *at += below.len();
            } else {
                rest.trim().clone_into(&mut item.value);
                *at += 1;
            }
            nodes.push(item);
            continue;
        }
        *at += 1;
        let Some((name, value)) = key(content) else {
            nodes.push(Node { value: content.to_owned(), line: *number, ..Node::default() });
            continue;
        };
        let value = value.split(" #").next().unwrap_or(value).trim();
        let mut node = Node { key: plain(name), value: value.to_owned(), line: *number, below: Vec::new() };
        if value.starts_with(['|', '>']) {
            let mut text = Vec::new();
            while let Some((_, line)) =
                lines.get(*at).filter(|(_, line)| line.trim().is_empty() || indent(line) > inner)
            {
                text.push(line.as_str());
                *at += 1;
            }
            let margin = text
                .iter()
                .filter(|line| !line.trim().is_empty())
                .map(|line| indent(line))
                .min()
                .unwrap_or(0);
            node.value =
                text.iter().map(|line| line.get(margin..).unwrap_or("")).collect::<Vec<_>>().join("\n");
        } else if value.is_empty() && depth < MAX_DEPTH {
            let next = lines[*at..].iter().find(|(_, line)| !is_blank(line));
            let is_list =
                next.is_some_and(|(_, line)| indent(line) == inner && line.trim_start().starts_with("- "));
            if is_list {
                node.below = list(lines, at, inner, depth + 1);
            } else {
                node.below = block(lines, at, inner + 1, depth + 1);
            }
        }
        nodes.push(node);
    }
    nodes
}

/// Reads a list that is not indented more than its key.
fn list(lines: &[(usize, String)], at: &mut usize, inner: usize, depth: usize) -> Vec<Node> {
    let rest = &lines[*at..];
    let is_end = |line: &str| {
        !is_blank(line)
            && (indent(line) < inner || indent(line) == inner && !line.trim_start().starts_with('-'))
    };
    let end = rest.iter().position(|(_, line)| is_end(line)).unwrap_or(rest.len());
    let mut read = 0;
    let nodes = block(&rest[..end], &mut read, inner, depth);
    *at += end;
    nodes
}

/// Splits `key: value`; a command with a colon is none.
fn key(content: &str) -> Option<(&str, &str)> {
    let (name, value) =
        content.split_once(": ").or_else(|| content.strip_suffix(':').map(|name| (name, "")))?;
    let is_name = !name.contains([' ', '(', '{', '[']) || name.starts_with(['"', '\'']);
    is_name.then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_lists_and_blocks_are_read() {
        let root = read(
            "on:\n  push:\n    branches: [main, \"a/**\"]\njobs:\n  a:\n    steps:\n    - uses: x\n    - name: b\n      run: |\n        one: two\n\n          three\n      if: always()\n  c: {}\n",
        );
        assert_eq!(
            root.get("on").unwrap().get("push").unwrap().get("branches").unwrap().words(),
            ["main", "a/**"]
        );
        let steps = root.get("jobs").unwrap().get("a").unwrap().get("steps").unwrap();
        assert_eq!(steps.below.len(), 2);
        assert_eq!(steps.below[1].text("run"), Some("one: two\n\n  three"));
        assert_eq!(steps.below[1].text("if"), Some("always()"));
        assert_eq!(root.get("jobs").unwrap().words(), ["a", "c"]);
    }
}
