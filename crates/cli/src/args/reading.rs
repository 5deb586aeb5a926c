//! Flags that say what files of a program's tensors do not say themselves.

use clap::{Args, ValueEnum};

use super::tensor::DuplicateRule;

/// How files of tensors are read, for all of them or for one.
#[derive(Debug, Default, Args)]
pub struct ReadingArgs {
    /// The extents of a tensor in a .tns file, such as `A=2,3,6` [default: those that other inputs or `-p` decide, else
    /// those of its largest coordinates]
    #[arg(long = "shape", value_name = "NAME=EXTENT,..", value_parser = shape)]
    pub shapes: Vec<(String, Shape)>,
    /// Coordinates in .tns files count from 0, not from 1; with `=NAME,..` in those of these tensors
    #[arg(
        long,
        value_name = "NAME,..",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        value_delimiter = ','
    )]
    pub zero_based: Option<Vec<String>>,
    /// Lines of .tns files are coordinates without a value; with `=NAME,..` those of these tensors
    #[arg(
        long,
        value_name = "NAME,..",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        value_delimiter = ','
    )]
    pub pattern: Option<Vec<String>>,
    /// What several entries of one element become, in all files or in that of one tensor: sum, last, refuse [default:
    /// sum]
    #[arg(long, value_name = "[NAME=]RULE", value_parser = rule)]
    pub duplicates: Vec<(Option<String>, DuplicateRule)>,
    /// By which part of the larger magnitude redundant elements of an input may differ, such as 1e-6; of elements that
    /// are zero by the structure, of the largest magnitude of all [default: none but rounding]
    #[arg(long, value_name = "[NAME=]PART", value_parser = tolerance)]
    pub tolerance: Vec<(Option<String>, f64)>,
}

/// Extents.
pub type Shape = Vec<u64>;

impl ReadingArgs {
    /// The tensors that are named.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let lists = [&self.zero_based, &self.pattern].into_iter().flatten().flatten();
        let shapes = self.shapes.iter().map(|(name, _)| name);
        let rules = self.duplicates.iter().filter_map(|(name, _)| name.as_ref());
        let parts = self.tolerance.iter().filter_map(|(name, _)| name.as_ref());
        let all = lists.chain(shapes).chain(rules).chain(parts);
        all.map(String::as_str).filter(|name| !name.is_empty())
    }

    /// Whether a list of names holds for a tensor: an empty name stands for all.
    pub fn holds(list: &Option<Vec<String>>, tensor: &str) -> bool {
        list.iter().flatten().any(|name| name.is_empty() || name == tensor)
    }

    /// What is said for a tensor, else for all of them; the last one counts.
    pub fn of<T: Copy>(list: &[(Option<String>, T)], tensor: &str) -> Option<T> {
        let own = list.iter().rfind(|(name, _)| name.as_deref() == Some(tensor));
        own.or_else(|| list.iter().rfind(|(name, _)| name.is_none())).map(|(_, value)| *value)
    }
}

fn shape(text: &str) -> Result<(String, Shape), String> {
    let form = "write `NAME=EXTENT,..`, such as `A=2,3,6`";
    let (name, extents) = text.split_once('=').ok_or(form)?;
    let extents: Option<Shape> = extents.split(',').map(|word| word.trim().parse().ok()).collect();
    match extents {
        Some(extents) if !name.trim().is_empty() => Ok((name.trim().into(), extents)),
        _ => Err(form.into()),
    }
}

fn named(text: &str) -> (Option<String>, &str) {
    match text.split_once('=') {
        Some((name, value)) => (Some(name.trim().into()), value.trim()),
        None => (None, text),
    }
}

fn rule(text: &str) -> Result<(Option<String>, DuplicateRule), String> {
    let (name, rule) = named(text);
    let rule = DuplicateRule::from_str(rule, false);
    Ok((name, rule.map_err(|_| "write `sum`, `last` or `refuse`, or `NAME=RULE` for one tensor")?))
}

fn tolerance(text: &str) -> Result<(Option<String>, f64), String> {
    let (name, part) = named(text);
    match part.parse() {
        Ok(part) if (0.0..1.0).contains(&part) => Ok((name, part)),
        _ => Err("write a number from 0 to 1, such as 1e-6, or `NAME=PART` for one tensor".into()),
    }
}
