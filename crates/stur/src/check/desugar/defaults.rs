//! The type of all tensors of which `types:` says none: `types: * = f32, s = f64`.

use std::collections::BTreeSet;

use super::names::collect;
use crate::ast::{Aspect, File, Item, TypeItem};

/// The entries with one for each tensor of the rules that has none, instead of the one for all others. A second one of
/// these stays, and is reported as one of a tensor is.
pub(super) fn expanded(
    entries: &[TypeItem],
    file: &File,
    symbols: &BTreeSet<String>,
) -> Vec<TypeItem> {
    let is_of_others = |entry: &TypeItem| entry.tensor.text == TypeItem::OTHERS;
    let mut of_others = entries.iter().filter(|entry| is_of_others(entry));
    let (Some(default), None) = (of_others.next(), of_others.next()) else {
        return entries.to_vec();
    };
    let mut tensors = BTreeSet::new();
    for item in &file.items {
        if let Item::Rule(rule) = item
            && rule.aspect == Aspect::Value
        {
            tensors.insert(rule.tensor.text.clone());
            collect(&rule.body, &mut tensors);
        }
    }
    let mut all: Vec<TypeItem> =
        entries.iter().filter(|entry| !is_of_others(entry)).cloned().collect();
    for entry in &all {
        tensors.remove(&entry.tensor.text);
    }
    let named = tensors.into_iter().filter(|tensor| !symbols.contains(tensor)).map(|text| {
        let mut entry = default.clone();
        (entry.tensor.text, entry.by_default) = (text, true);
        entry
    });
    all.extend(named);
    all
}
