//! How a tensor is stored, drawn: the tree of its levels' coordinates, and the arrays with their bytes.

use std::fmt::Write;

use crate::format::default_names;
use crate::storage::Tensor;

/// So many coordinates of a tree are drawn.
const NODES: usize = 400;
/// So many elements of an array are shown.
const ELEMENTS: usize = 60;

/// A coordinate of a level below another one.
struct Node {
    level: usize,
    /// `i = 3`, and the value at a leaf.
    label: String,
    parent: Option<usize>,
}

/// The first coordinates of a tensor's tree, each behind the one that it is below; and whether these are all.
fn nodes(tensor: &Tensor) -> (Vec<Node>, bool) {
    let names = tensor.format().map().names(&default_names(tensor.shape().len()));
    let exprs: Vec<String> =
        tensor.format().map().levels().iter().map(|expr| expr.text(&names)).collect();
    let mut path: Vec<usize> = Vec::new();
    let (mut all, mut whole) = (Vec::new(), true);
    tensor.for_each_node(&mut |level, value, position| {
        if all.len() == NODES {
            whole = false;
            return false;
        }
        path.truncate(level);
        let mut label = match tensor.levels()[level].kind().is_derived() {
            true => exprs[level].clone(),
            false => format!("{} = {value}", exprs[level]),
        };
        if level + 1 == tensor.levels().len()
            && let Some(value) =
                usize::try_from(position).ok().and_then(|at| tensor.values().get(at))
        {
            let _ = write!(label, ": {value}");
        }
        let parent = path.last().copied();
        path.push(all.len());
        all.push(Node { level, label, parent });
        true
    });
    (all, whole)
}

/// The arrays of a tensor: a name, how many bytes, and the first elements.
fn arrays(tensor: &Tensor) -> Vec<[String; 3]> {
    let shown = |mut numbers: Vec<String>, count: usize| {
        numbers.extend((count > ELEMENTS).then(|| "..".to_owned()));
        numbers.join(" ")
    };
    let mut rows = Vec::new();
    for (at, level) in tensor.levels().iter().enumerate() {
        for (role, array) in level.kind().arrays().iter().zip(level.arrays()) {
            let numbers = array.iter().take(ELEMENTS).map(|number| number.to_string()).collect();
            let bytes = array.len() as u64 * array.width();
            let numbers = shown(numbers, array.len());
            rows.push([format!("{}{at}", role.suffix()), bytes.to_string(), numbers]);
        }
    }
    let values = tensor.values();
    let bytes = values.len() as u64 * values.element().bytes() as u64;
    let numbers =
        (0..values.len().min(ELEMENTS)).filter_map(|at| Some(values.get(at)?.to_string()));
    let numbers = shown(numbers.collect(), values.len());
    rows.push(["values".into(), bytes.to_string(), numbers]);
    rows
}

/// The tree and the arrays as text.
pub fn text(tensor: &Tensor) -> String {
    let names = default_names(tensor.shape().len());
    let mut text = format!("{}\n", tensor.format().spelled(&names));
    let (nodes, whole) = nodes(tensor);
    for node in &nodes {
        let _ = writeln!(text, "{:1$}{2}", "", 2 + 2 * node.level, node.label);
    }
    if !whole {
        text += "  ..\n";
    }
    text += "\narray   bytes\n";
    for [name, bytes, numbers] in arrays(tensor) {
        let _ = writeln!(text, "{name:6}  {bytes:>5}  {numbers}");
    }
    let _ = writeln!(text, "{:6}  {:>5}", "all", tensor.bytes());
    text
}

/// The tree and the arrays as an image.
pub fn svg(tensor: &Tensor) -> String {
    const ROW: usize = 18;
    const COLUMN: usize = 190;
    let (nodes, _) = nodes(tensor);
    // A coordinate stands in the row of the first one below it.
    let mut rows = vec![0usize; nodes.len()];
    let mut next = 0;
    for at in 0..nodes.len() {
        rows[at] = next;
        let below = nodes.get(at + 1).is_some_and(|other| other.level > nodes[at].level);
        next += usize::from(!below);
    }
    let place = |at: usize| (12 + nodes[at].level * COLUMN, 20 + rows[at] * ROW);
    let arrays = arrays(tensor);
    let first = 20 + (next + 1) * ROW;
    let height = first + (arrays.len() + 1) * ROW;
    let widest = arrays.iter().map(|[.., numbers]| 130 + 8 * numbers.len()).max().unwrap_or(0);
    let width = widest.max(12 + tensor.levels().len() * COLUMN);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"monospace\" font-size=\"12\">\n"
    );
    for (at, node) in nodes.iter().enumerate() {
        let (x, y) = place(at);
        if let Some((from, row)) = node.parent.map(place) {
            let (from, row, to) = (from + COLUMN - 24, row - 4, y - 4);
            let _ = writeln!(
                text,
                "<path d=\"M{from} {row}L{} {to}\" stroke=\"#999\" fill=\"none\"/>",
                x - 6
            );
        }
        let _ = writeln!(text, "<text x=\"{x}\" y=\"{y}\">{}</text>", escaped(&node.label));
    }
    for (at, [name, bytes, numbers]) in arrays.iter().enumerate() {
        let y = first + at * ROW;
        let _ = writeln!(
            text,
            "<text x=\"12\" y=\"{y}\" fill=\"#05c\">{name}</text><text x=\"64\" y=\"{y}\" fill=\"#777\">{bytes} B\
             </text><text x=\"130\" y=\"{y}\">{}</text>",
            escaped(numbers)
        );
    }
    text + "</svg>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
