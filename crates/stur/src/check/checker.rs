//! What all checks of a file use: the rules that were found, the errors so far, and functions that walk over terms.

use std::collections::{BTreeMap, BTreeSet};

use dastac_formats::format::Definitions;

use crate::ast::{
    Aspect, Expr, File, FormatItem, LayoutItem, Name, RuleItem, ScheduleItem, Span, Term, TypeItem,
};
use crate::diagnostic::{Diagnostic, Severity};

/// A warning with its primary label.
pub(super) fn warning(code: &'static str, message: String, span: Span, label: &str) -> Diagnostic {
    Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, message, span, label) }
}

/// A rule of the file and the block that it stands in.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) rule: &'a RuleItem,
    pub(super) preprocess: bool,
}

pub(super) struct Checker<'a> {
    pub(super) file: &'a File,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) symbols: Vec<(String, Span)>,
    pub(super) outputs: Option<&'a [Name]>,
    /// Loop orders by head.
    pub(super) orders: BTreeMap<&'a str, &'a [Name]>,
    pub(super) order_heads: Vec<&'a Name>,
    /// Value rules in source order, one a head.
    pub(super) values: Vec<Source<'a>>,
    /// Structure rules, one a tensor and aspect.
    pub(super) structures: BTreeMap<(&'a str, u8), &'a RuleItem>,
    pub(super) used_symbols: BTreeSet<String>,
    /// Entries of `layout:`.
    pub(super) layouts: &'a [LayoutItem],
    /// Entries of `schedule:`.
    pub(super) schedules: &'a [ScheduleItem],
    /// Entries of `types:`.
    pub(super) types: &'a [TypeItem],
    /// `:F` lines in source order.
    pub(super) formats: Vec<&'a FormatItem>,
    /// `format` lines.
    pub(super) definitions: Definitions,
}

/// A key that orders aspects: `:D`, `:U`, `:R`.
pub(super) fn aspect_key(aspect: Aspect) -> u8 {
    match aspect {
        Aspect::Domain => 0,
        Aspect::Unique => 1,
        Aspect::Redundancy => 2,
        Aspect::Value => 3,
    }
}

/// Calls `visit` with name, rank and span of each access, left to right.
pub(super) fn collect_accesses<'t>(term: &'t Term, visit: &mut dyn FnMut(&'t str, usize, Span)) {
    match term {
        Term::Access { tensor, subscripts, span, .. } => {
            visit(&tensor.text, subscripts.len(), *span)
        }
        other => other.parts().iter().for_each(|term| collect_accesses(term, visit)),
    }
}

/// A function that is called for each position, with its iterator, the tensor, the subscripts, and its span.
pub(super) type Position<'t> = (&'t Name, &'t Name, &'t [Expr], Span);

/// Calls `visit` with each position, left to right.
pub(super) fn collect_positions<'t>(term: &'t Term, visit: &mut dyn FnMut(Position<'t>)) {
    match term {
        Term::Access { position: Some(iterator), tensor, subscripts, span, .. } => {
            visit((iterator, tensor, subscripts, *span));
        }
        other => other.parts().iter().for_each(|term| collect_positions(term, visit)),
    }
}
