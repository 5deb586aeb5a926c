//! A rule that reads dynamic tensors, and what it is made of.

use dastac_iterate::{Kernel, Kind, Walking, Walks, Works};
use dastac_layout::Layout;
use dastac_loops::Element;
use dastac_stur::infer::Inferred;
use dastac_stur::program::TensorId;

use super::shift::Lowers;
use crate::elements::buffer;

/// What rules that read dynamic tensors are made of.
pub(crate) struct Dynamic<'a> {
    pub inferred: &'a Inferred,
    pub layouts: &'a [Layout],
    /// The type of positions and coordinates.
    pub indices: Element,
    /// Whether results may be made in memory of which only a bound is known.
    pub reserves: bool,
    /// How subscripts of several iterators go over sparse levels.
    pub walking: Walking,
    /// The kinds of workspaces that schedules do not say.
    pub choice: &'a dyn Fn(&Gathered<'_>) -> Option<Kind>,
}

/// Which part of a result comes together in a workspace: dimensions, in the order of its levels.
#[derive(Clone, Copy, Debug)]
pub struct Gathered<'a> {
    /// The result.
    pub head: TensorId,
    /// Those outside: there is one workspace for each of their coordinates.
    pub outside: &'a [usize],
    /// Those in it.
    pub inside: &'a [usize],
    /// Those of blocks.
    pub block: &'a [usize],
    /// Whether it may have a place for every coordinate: it has one level.
    pub one_level: bool,
}

/// A rule that reads dynamic tensors, or makes one.
#[derive(Clone, Debug)]
pub struct Walked {
    /// Its head.
    pub head: TensorId,
    /// What is computed.
    pub kernel: Kernel,
    /// Which tensors the kernel's operands are.
    pub tensors: Vec<TensorId>,
    /// What its loops go over.
    pub walks: Walks,
    /// What other loops do on its workspace.
    pub works: Works,
    /// If its elements come together in a workspace, why.
    pub why: Option<Why>,
    /// So many of its loops append elements of the result.
    pub(super) appended: usize,
    /// Whether loops over its ranges come to all elements of the head that are stored.
    pub(super) covered: bool,
    /// Whether parts stand for tensors in hybrid formats, none of which a copy may stand for.
    pub(super) divided: bool,
    /// Where its iterators begin.
    pub(super) lowers: Lowers,
}

/// Why elements of a result come together in a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The program asks for it, or for an order of loops that needs it.
    Asked,
    /// Sparse tensors meet in a sum, and none of them says where the elements of the result are.
    Meets,
    /// Integers in memory choose what is walked.
    Chosen,
    /// What is stored says which elements of the result there are, and loops over these would look for it.
    Sent,
    /// Tensors are stored in an order in which loops come to the sums first.
    Discordant,
    /// No loops come to the elements in their order.
    Scattered,
}

impl Walked {
    /// The tensors of which copies are read.
    pub(crate) fn copied(&self) -> Vec<TensorId> {
        let operands = self.kernel.operands.iter().zip(&self.tensors);
        let copies = operands.filter(|(operand, id)| operand.values != buffer(**id));
        copies.map(|(_, id)| *id).collect()
    }
}
